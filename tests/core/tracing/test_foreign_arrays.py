"""Arrays of other libraries beside NumPy's: values are plain NumPy's, derivatives lie in NumPy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from chainrules_compile import compile as compiled
from chainrules_py import ChainRulesError
from chainrules_tape import grad, jvp, linearize, vjp
from tests.fuzz.beside import OTHERS, PROGRAMS, points, seed_of, setting

NAMES = list(PROGRAMS)
DIRECTION = np.array([0.3, -0.7, 1.1])
KNOWN = {
    ("jax", "chain of operators"): "use np.sum(",  # methods of JAX's arrays are not followed
}
"""What is refused, by library and program."""


@pytest.fixture(autouse=True)
def _silent():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def plain(f: Any, x: Any, t: Any) -> Any:
    """Return what plain NumPy gives; None where it raises, or gives objects."""
    try:
        y = f(x.copy(), t)
    except Exception:
        return None
    return y if hasattr(y, "dtype") and np.asarray(y).dtype.kind in "fib" else None


def runs(f: Any, x: Any, t: Any, y: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """Differentiate a program in all modes: name, value, derivative, that with NumPy's alone."""

    def g(x):
        return f(x, t)

    def alone(x):
        return f(x, np.asarray(t))

    if np.asarray(y).dtype.kind != "f":
        yield "vjp", vjp(g, x)[0], None, None
        return
    x_dot = DIRECTION.astype(x.dtype)
    yield ("jvp", *jvp(g, (x,), (x_dot,)), jvp(alone, (x,), (x_dot,))[1])
    (value, pull), (known, pull_alone) = vjp(g, x), vjp(alone, x)
    y_bar = np.random.default_rng(3).standard_normal(np.shape(known)).astype(known.dtype)[()]
    yield "vjp", value, pull(seed_of(value, y_bar))[0], pull_alone(y_bar)[0]
    (value, push), push_alone = linearize(g, x), linearize(alone, x)[1]
    yield "linearize", value, push(x_dot), push_alone(x_dot)


def compare(name: str, program: str, dtype: str) -> str:
    """Compare a program with plain NumPy; say what became of it."""
    with setting(name):
        f, x, t = PROGRAMS[program], points()[dtype], OTHERS[name]()
        y = plain(f, x, t)
        if y is None:
            return "raises"
        wide = all(["64" in str(a.dtype) for a in (x, np.asarray(y))]) and "float64" in name
        near = {"rtol": 1e-12, "atol": 1e-12} if wide else {"rtol": 3e-5, "atol": 1e-5}
        try:
            found = list(runs(f, x, t, y))
        except ChainRulesError as error:
            library = name.partition(" ")[0]
            operations = KNOWN.get((library, program), "write np.asarray of it")
            if operations not in str(error) or library == "torch":
                raise
            return "refused"
        for mode, value, derivative, expected in found:
            where = f"{mode} of {program} beside {name} at {dtype}"
            if not name.startswith("mlx"):  # whose comparisons leave theirs to NumPy
                assert type(value) is type(y), where
                assert value.dtype == y.dtype, where
            np.testing.assert_array_equal(np.asarray(value), np.asarray(y), where)
            if derivative is not None:
                np.testing.assert_allclose(
                    np.asarray(derivative), np.asarray(expected), err_msg=where, **near
                )
                like = x if mode == "vjp" else y
                assert type(derivative) is type(like), where
                assert derivative.dtype == like.dtype, where
        return "right"


@pytest.mark.parametrize("name", OTHERS)
def test_some_programs_are_those_of_plain_numpy(name):
    k = list(OTHERS).index(name)
    pytest.importorskip(MODULES[name.partition(" ")[0]])
    done = [
        compare(name, program, ("float64", "float32")[(i + k) % 2])
        for i, program in enumerate(NAMES)
        if (i + k) % 6 == 0
    ]
    assert done.count("right") > len(done) // 2, done


MODULES = {"torch": "torch", "jax": "jax", "mlx": "mlx.core", "strict": "array_api_strict"}
MODULES |= {"list": "numpy", "pandas": "pandas", "dask": "dask.array", "cupy": "cupy"}


@pytest.mark.slow
@pytest.mark.parametrize("dtype", points())
@pytest.mark.parametrize("name", OTHERS)
def test_programs_are_those_of_plain_numpy(name, dtype):
    pytest.importorskip(MODULES[name.partition(" ")[0]])
    done = [compare(name, program, dtype) for program in NAMES]
    assert done.count("right") > len(done) // 2, done


def test_gradients_beside_arrays_of_float32_keep_their_digits():
    jnp = pytest.importorskip("jax.numpy")
    with setting("jax float32"):
        x, j = np.array([1 / 3, 2 / 3]), jnp.ones(2)
        found = grad(lambda x: np.sum(np.multiply(x, j)) * 1e-9 + np.sum(x**3))(x)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, 1e-9 + 3 * x**2, rtol=1e-15)


@pytest.mark.parametrize("name", ["torch float64", "jax float64"])
@pytest.mark.parametrize("program", ["np.multiply", "mul left", "stack", "interp in it"])
def test_both_may_be_differentiated(name, program):
    pytest.importorskip(MODULES[name.partition(" ")[0]])
    with setting(name):
        f, x, t = PROGRAMS[program], points()["float64"], OTHERS[name]()
        y, pull = vjp(f, x, t)
        known, pull_alone = vjp(f, x, np.asarray(t))
        y_bar = np.ones(np.shape(known))
        for of, found, expected in zip(
            (x, t), pull(seed_of(y, y_bar)), pull_alone(y_bar), strict=True
        ):
            assert type(found) is type(of)
            np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["torch float64", "jax float32"])
@pytest.mark.parametrize("program", ["stack", "set", "itruediv", "np.multiply", "mul left"])
def test_compiled_programs_give_the_same(name, program):
    pytest.importorskip(MODULES[name.partition(" ")[0]])
    with setting(name):
        f, x, t = PROGRAMS[program], points()["float64"], OTHERS[name]()
        found, expected = compiled(lambda x: f(x, t))(x), f(x, t)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))
