"""Installed names, called where JAX and our words compute: each is JAX's own there.

Truth: the same calls of JAX's functions, with nothing installed.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chainrules_compat.install import find, native_of
from chainrules_jax import install
from chainrules_jax.engine import install as module
from chainrules_py import NoRuleError, NotDifferentiableError
from chainrules_py import vocabulary as v

pytestmark = pytest.mark.usefixtures("double")

X, Y = np.array([0.3, 0.7, 0.2]), np.array([0.5, 0.2, 0.9])
A, B = np.array([[2.0, 0.3], [0.3, 3.0]]), np.array([[0.7, 0.1], [0.2, 1.5]])
C, PLACES = np.array([True, False, True]), np.array([1, 0, 2])
GIVEN: tuple[tuple[Any, ...], ...] = (
    *((X,), (X, Y), (X, 0.4), (A,), (A, B), (C, X, Y), (2, X), (X, 2), (X, 0.1, 0.5), (X, PLACES)),
    *((X, PLACES, 0), ("i,i->", X, Y), (X, (3, 1)), (X, Y, X), (A, 0, 1), (PLACES, PLACES)),
)
"""What a function is tried on, in turn, until JAX takes it."""
OTHERS = {"roll": ((X, 2),), "expand_dims": ((X, 0),)}

TRIANGLES = ("linalg.cholesky", "linalg.eigh", "linalg.eigvalsh")
"""What reads one triangle of a symmetric matrix; the derivative is in that one."""

# Called as NumPy's are, they ask for values, or give what NumPy gives where JAX gives another.
NUMPYS = (
    *("array_split", "digitize", "einsum_path", "empty", "eye", "histogram", "histogram2d"),
    *("histogram_bin_edges", "histogramdd", "identity", "insert", "intersect1d", "ix_"),
    *("nanpercentile", "nanquantile", "ones", "percentile", "piecewise", "polydiv", "arange"),
    *("compress", "extract", "select", "trim_zeros", "linalg.lstsq", "result_type"),
    # Of sorted values JAX's derivative is zero; ours moves with what is sorted.
    *("setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts"),
    *("unique_inverse", "unique_values"),
)
QUICK = (
    *("maximum", "minimum", "where", "divide", "logaddexp2", "diff", "nan_to_num", "convolve"),
    *("linalg.pinv", "linalg.eigh", "linalg.cholesky", "cumulative_sum", "expand_dims"),
)


REFUSED = object()
"""Stands for what our rule or body refuses, in our words, and JAX's own has."""


def _is_known(name: str) -> bool:
    try:
        native_of(np, name)
    except (NoRuleError, TypeError):
        return False
    return callable(find(jnp, name))


NAMES = [
    space + name
    for space in ("", "linalg.", "fft.")
    for name in dir(find(np, space[:-1]) if space else np)
    if not name.startswith("_") and _is_known(space + name) and space + name not in NUMPYS
]


def _total(name: str, xs: tuple[Any, ...]) -> Any:
    leaves = [jnp.asarray(y) for y in jax.tree.leaves(find(jnp, name)(*xs))]
    return sum([jnp.sum(jnp.real(y)) for y in leaves if y.dtype.kind in "fc"]) + jnp.zeros(())


def _outcomes(name: str, xs: tuple[Any, ...]) -> list[Any]:
    """Return value, jit, grad and jit of grad, where they are; floating operands are traced."""
    places = [i for i, x in enumerate(xs) if np.asarray(x).dtype.kind == "f"]

    def filled(f: Any) -> Any:
        def of(*some: Any) -> Any:
            given = dict(zip(places, some, strict=True))
            return f(tuple([given.get(i, x) for i, x in enumerate(xs)]))

        return of

    moved = [jnp.asarray(xs[i]) for i in places]
    value = filled(lambda xs: find(jnp, name)(*xs))
    slope: Any = jax.grad(filled(lambda xs: _total(name, xs)))
    found = [find(jnp, name)(*xs), value(*moved)]
    for f in (jax.jit(value), slope, jax.jit(slope)) if places else ():
        try:
            found.append(f(*moved))
        except NotDifferentiableError:
            found.append(REFUSED)
        except (TypeError, ValueError, NotImplementedError, jax.errors.ConcretizationTypeError):
            found.append(None)  # JAX has none
    return found


def _given(name: str) -> Any:
    for xs in OTHERS.get(name, GIVEN):
        try:
            find(jnp, name)(*xs)
        except Exception:
            continue
        return xs
    return None


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NAMES]
)
def test_an_installed_name_computes_what_jax_does(name: str) -> None:
    xs = _given(name)
    if xs is None:
        pytest.skip("it takes other operands")
    expected = _outcomes(name, xs)
    with install(name):
        found = _outcomes(name, xs)
    for one, other in zip(expected, found, strict=True):
        if one is None or other is REFUSED:
            continue
        pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
        for y, z in pairs:
            if name in TRIANGLES and y.ndim == 2:  # JAX takes the half of each
                y, z = y + y.T, z + z.T
            np.testing.assert_allclose(z, y, rtol=1e-7, atol=1e-12)


def test_all_that_stand_in_the_list_are_known() -> None:
    assert set(QUICK) <= set(NAMES)
    assert not set(NUMPYS) & set(NAMES)


def test_jax_hands_an_installed_function_to_its_transformations() -> None:
    with install("abs"):
        assert jax.grad(jnp.abs)(0.0) == jax.vmap(jax.grad(jnp.abs))(np.zeros(1))[0] == 0
        assert jax.grad(lambda x: v.map(jnp.abs, x)[0])(np.zeros(1))[0] == 0


def test_modules_that_compute_are_told_from_those_that_call() -> None:
    inside = module._is_inside
    assert inside("jax._src.numpy.linalg")
    assert inside("chainrules_jax.array_types")
    assert not inside("jax._src.api_util")
    assert not inside("jax._src.numpy.vectorize")
    assert not inside("jax.numpyro")
