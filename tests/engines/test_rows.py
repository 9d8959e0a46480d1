"""Functions of NumPy and SciPy that are exported have the derivatives that they have on the tape.

Each function is asked as it was entered for the tape, and where a program may take another branch:
at numbers that are equally far from each other, and at ones that are all the same. What a row reads
off values, it reads of what an engine traces as well; and what it takes to be constant is not what
an engine differentiates.
"""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import ChainRulesError, export, is_zero
from chainrules_tape import vjp
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.names import function_named
from tests.surface.point import Point

pytestmark = [
    pytest.mark.filterwarnings("ignore::chainrules_py.errors.DegeneracyWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning"),  # PyTorch's vmap
]

NAMES = [
    name
    for library in ("numpy", "scipy")
    for name in names_with_calls(library)
    if not name.startswith("ndarray.")
]
CHOOSES = "JAX finds equal numbers by looking at values, which has no derivative there"
REFUSED = {
    "unique": CHOOSES,
    "unique_values": CHOOSES,
    "apply_along_axis": "functions that they are given are NumPy's, which sees no other arrays",
    "apply_over_axes": "functions that they are given are NumPy's, which sees no other arrays",
    "piecewise": "functions that they are given are NumPy's, which sees no other arrays",
}
"""By function, why an engine has no derivative of some calls."""
NO_ORDER = ("complex", "Complex", "sort_complex", "non-zero size", "numel() == 0")
"""What engines say of complex numbers that are compared, and of extremes of no elements."""
DEGENERATE = ("linalg.", "corrcoef")
"""Functions without one derivative where rows are the same: their results are not determined."""


def layouts(point):
    yield "drawn", point.xs
    if not point.call.name.removeprefix("chainrules_scipy.").startswith(DEGENERATE):
        line = lambda x: np.linspace(0.25, 0.75, x.size).reshape(x.shape).astype(x.dtype)
        for name, change in (("line", line), ("same", lambda x: np.full_like(x, 0.5))):
            yield name, [change(x) if isinstance(x, np.ndarray) else x for x in point.xs]


def seeds(ys):
    rng = np.random.default_rng(3)
    return [np.asarray(rng.standard_normal(np.shape(y))) for y in ys]


def dense(bar, x):
    return np.zeros(np.shape(x)) if is_zero(bar) else np.asarray(bar)


class Torch:
    """Pulls back by `torch.func`."""

    refuses = False

    def __init__(self):
        self.torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def tensor(self, x):
        torch = self.torch
        if isinstance(x, np.ndarray):
            return torch.from_numpy(np.array(x))
        return torch.tensor(x, dtype=torch.complex128 if type(x) is complex else torch.float64)

    def floats(self, y):
        leaves = self.torch.utils._pytree.tree_leaves(y)
        tensors = [leaf for leaf in leaves if isinstance(leaf, self.torch.Tensor)]
        return tuple([t for t in tensors if t.is_floating_point() or t.is_complex()])

    def vjp(self, f, xs):
        ys, pull = self.torch.func.vjp(lambda *a: self.floats(f(*a)), *map(self.tensor, xs))
        bars = pull(tuple([self.tensor(c).to(y.dtype) for c, y in zip(seeds(ys), ys, strict=True)]))
        return len(ys), [bar.resolve_conj().numpy() for bar in bars]


class Jax:
    """Pulls back by `jax.vjp`, whose cotangents are conjugate."""

    refuses = False

    def __init__(self):
        self.jax = pytest.importorskip("jax", reason="JAX is not installed")

    def floats(self, y):
        numpy = self.jax.numpy
        leaves = [x for x in self.jax.tree_util.tree_leaves(y) if hasattr(x, "dtype")]
        return [x for x in leaves if numpy.issubdtype(x.dtype, numpy.inexact)]

    def vjp(self, f, xs):
        numpy = self.jax.numpy
        ys, pull = self.jax.vjp(lambda *a: self.floats(f(*a)), *map(numpy.asarray, xs))
        bars = pull([numpy.asarray(c, y.dtype) for c, y in zip(seeds(ys), ys, strict=True)])
        return len(ys), [np.conj(bar) for bar in bars]


class TorchMapped(Torch):
    """Pulls back within `torch.func.vmap`."""

    refuses = True

    def vjp(self, f, xs):
        torch, count = self.torch, []

        def one(*a):
            ys, pull = torch.func.vjp(lambda *a: self.floats(f(*a)), *a)
            count.append(len(ys))
            shapes = [np.empty(tuple(y.shape)) for y in ys]
            bars = zip(seeds(shapes), ys, strict=True)
            return pull(tuple([self.tensor(c).to(y.dtype) for c, y in bars]))

        bars = torch.func.vmap(one)(*[torch.stack([t, t]) for t in map(self.tensor, xs)])
        return count[0], [bar[1].resolve_conj().numpy() for bar in bars]


class JaxCompiled(Jax):
    """Pulls back within `jax.jit`."""

    refuses = True

    def vjp(self, f, xs):
        numpy, count = self.jax.numpy, []

        def one(*a):
            ys, pull = self.jax.vjp(lambda *a: self.floats(f(*a)), *a)
            count.append(len(ys))
            return pull([numpy.asarray(c, y.dtype) for c, y in zip(seeds(ys), ys, strict=True)])

        bars = self.transformed(one, list(map(numpy.asarray, xs)))
        return count[0], [np.conj(bar) for bar in bars]

    def transformed(self, f, xs):
        return self.jax.jit(f)(*xs)


class JaxMapped(JaxCompiled):
    """Pulls back within `jax.vmap`."""

    def transformed(self, f, xs):
        return [bar[1] for bar in self.jax.vmap(f)(*[self.jax.numpy.stack([x, x]) for x in xs])]


TRANSFORMED = {"torch vmap": TorchMapped, "jax jit": JaxCompiled, "jax vmap": JaxMapped}


def check(engine, call, f):
    """Return how many layouts were compared."""
    native, exported = Point(call), Point(call, f=f)
    compared = 0
    for layout, xs in layouts(native) if native.xs else ():
        try:
            ys, pull = vjp(native, *xs)
        except Exception:  # outside of the domain: the tape's own tests are elsewhere
            continue
        if not ys:
            continue
        bars = pull([c.astype(np.asarray(y).dtype) for c, y in zip(seeds(ys), ys, strict=True)])
        try:
            n, found = engine.vjp(exported.gauged, xs)
        except (ChainRulesError, TypeError) as error:
            lacking = "nothing computes" in str(error)  # an operation that the engine has not
            ours = engine.refuses and isinstance(error, ChainRulesError)  # it asks for values
            if not (ours or lacking or call.name in REFUSED or "like" in call.sample.options):
                raise
            continue
        except (RuntimeError, IndexError, NotImplementedError, ValueError) as error:
            if call.sample.gauge or any(part in str(error) for part in NO_ORDER):
                continue  # a gauge may be NumPy's
            raise
        if n != len(ys):  # a part that is a constant, which is no array of the engine's
            continue
        compared += 1
        for have, bar, x in zip(found, bars, xs, strict=True):
            want = dense(bar, x)
            scale = max(1.0, float(np.max(np.abs(want[np.isfinite(want)]), initial=0.0)))
            np.testing.assert_allclose(
                have, want, rtol=1e-7, atol=1e-8 * scale, err_msg=f"{call} {layout}"
            )
    return compared


def calls(every):
    smooth = [[c for c in surface_calls(name) if c.sample.smooth] for name in NAMES]
    return [c for found in smooth for c in (found if every else found[-1:])]


@pytest.mark.parametrize("call", calls(every=False)[::2], ids=str)
def test_in_pytorch(call):
    check(Torch(), call, export(function_named(call.name), to="torch"))


@pytest.mark.parametrize("call", calls(every=False)[::24], ids=str)
def test_in_jax(call, double):
    check(Jax(), call, export(function_named(call.name), to="jax"))


@pytest.mark.nightly
@pytest.mark.parametrize("call", calls(every=True), ids=str)
def test_every_call_in_pytorch(call):
    check(Torch(), call, export(function_named(call.name), to="torch"))


@pytest.mark.nightly
@pytest.mark.parametrize("call", calls(every=True), ids=str)
def test_every_call_in_jax(call, double):
    check(Jax(), call, export(function_named(call.name), to="jax"))


@pytest.mark.parametrize("call", calls(every=False)[::60], ids=str)
def test_some_within_vmap(call):
    check(TorchMapped(), call, export(function_named(call.name), to="torch"))


@pytest.mark.nightly
@pytest.mark.parametrize("call", calls(every=False), ids=str)
@pytest.mark.parametrize("way", TRANSFORMED)
def test_within_transformations(way, call, double):
    """Right, or refused in our words where a function asks for values."""
    check(TRANSFORMED[way](), call, export(function_named(call.name), to=way.split()[0]))
