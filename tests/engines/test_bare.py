"""NumPy's and SciPy's functions as they are, exported with nothing installed: right, or refused.

An engine hands its arrays to a function that was not written for them. It may raise anything, or
take them for something else than arrays, and go on. Every public function that takes one of some
operands is tried under each engine's gradient. Truth: differences of the library's own values.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import io
import signal
import warnings

import numpy as np
import pytest

from chainrules_py import ChainRulesError, NotDifferentiableError, export
from chainrules_py.extend import aliases, see
from chainrules_scipy.sparse.linalg import ITERATIVE

_rng = np.random.default_rng(0)
_X, _Y, _B = (_rng.uniform(0.2, 0.9, n) for n in (8, 8, 4))
_A = np.eye(4) * 2 + _rng.uniform(0.1, 0.5, (4, 4))
_A, _C = _A @ _A.T, _rng.uniform(0.1, 1.0, (4, 4))
OPERANDS = [
    (_X,), (_A,), (_X, _Y), (_A, _B), (_A, _C), (0.4, 0.6), (_X, 2), (2, _X), (_A, _C, _C),
    (_X, _Y, _Y), (_X, _Y, 2), (np.sin, 0.5), (3, 0.5, _X), (2.0, 3.0, _X), ([_X, _Y],),
    (_X, np.linspace(0.0, 1.0, 8), _Y), (np.linspace(0.0, 1.0, 8), _X, 0.33),
]  # fmt: skip
QUICK = {
    "scipy.sparse.linalg": ("spsolve", "cg", "expm", "onenormest", "lobpcg"),
    "scipy.sparse": ("find",),
    "scipy.sparse.csgraph": ("laplacian", "shortest_path"),
    "numpy.polynomial.polynomial": ("polyvalfromroots", "polyval", "polyfit"),
    "numpy.polynomial.chebyshev": ("chebval", "chebgrid2d"),
    "scipy.special": ("jvp",),
}
"""By module, what raised other libraries' errors, or gave another value in silence."""
MODULES = [
    "numpy", "numpy.fft", "numpy.linalg", "numpy.lib.scimath", "numpy.lib.stride_tricks",
    "numpy.polynomial.polynomial", "numpy.polynomial.chebyshev", "scipy.linalg", "scipy.special",
    "scipy.fft", "scipy.integrate", "scipy.interpolate", "scipy.optimize", "scipy.signal",
    "scipy.signal.windows", "scipy.spatial", "scipy.spatial.distance", "scipy.cluster.vq",
    "scipy.sparse", "scipy.sparse.linalg", "scipy.sparse.csgraph",
]  # fmt: skip
LOOSE = {*ITERATIVE, "lsqr", "lsmr", "eigsh", "eigs", "svds"}
"""Functions that give parts of their result roughly, or up to a choice, or of a triangle alone."""


def arrays_of(y):
    if isinstance(y, dict):
        y = tuple(y.values())
    if isinstance(y, (tuple, list)):
        return [leaf for part in y for leaf in arrays_of(part)]
    return [y]


def is_real(y):
    return isinstance(y, float) or (isinstance(y, np.ndarray) and y.dtype.kind == "f")


def total(f, operands):
    found = [np.sum(y) for y in arrays_of(f(*copy.deepcopy(operands))) if is_real(y)]
    return float(sum(found)) if found else np.nan


def differences(f, operands, i, h=1e-6):
    x = np.asarray(operands[i], float)
    slope = np.zeros(x.shape)
    for k in np.ndindex(x.shape):
        ends = []
        for step in (h, -h):
            moved = x.copy()
            moved[k] += step
            moved = moved if x.shape else float(moved)
            ends.append(total(f, (*operands[:i], moved, *operands[i + 1 :])))
        slope[k] = (ends[0] - ends[1]) / (2 * h)
    return slope


def by_jax(f, operands, i):
    jax = pytest.importorskip("jax")

    def summed(x):
        leaves = jax.tree.leaves(f(*operands[:i], x, *operands[i + 1 :]))
        real = lambda y: hasattr(y, "dtype") and jax.numpy.issubdtype(y.dtype, np.floating)
        return sum([jax.numpy.sum(y) for y in leaves if real(y)], jax.numpy.zeros(()))

    return jax.grad(summed)(jax.numpy.asarray(operands[i]))


def by_torch(f, operands, i):
    torch = pytest.importorskip("torch")
    given = [torch.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for x in operands]
    given[i] = x = torch.tensor(operands[i], dtype=torch.float64, requires_grad=True)
    leaves = torch.utils._pytree.tree_leaves(f(*given))
    real = [y for y in leaves if isinstance(y, torch.Tensor) and y.is_floating_point()]
    return torch.autograd.grad(sum([y.sum() for y in real]), x)[0]


def by_autograd(f, operands, i):
    autograd = pytest.importorskip("autograd")
    real = lambda y: hasattr(y, "_value") or is_real(y)

    def summed(x):
        found = arrays_of(f(*operands[:i], x, *operands[i + 1 :]))
        return sum([autograd.numpy.sum(y) for y in found if real(y)])

    return autograd.grad(summed)(np.asarray(operands[i], float))


def by_mlx(f, operands, i):
    mx = pytest.importorskip("mlx.core")
    narrow = lambda x: mx.array(x.astype(np.float32)) if isinstance(x, np.ndarray) else x

    def summed(x):
        found = arrays_of(f(*map(narrow, operands[:i]), x, *map(narrow, operands[i + 1 :])))
        real = [y for y in found if isinstance(y, mx.array) and y.dtype == mx.float32]
        return sum([mx.sum(y) for y in real], mx.array(0.0))

    return mx.grad(summed)(mx.array(np.asarray(operands[i], np.float32)))


ENGINES = {"jax": by_jax, "torch": by_torch, "autograd": by_autograd, "mlx": by_mlx}


UNSEEN = "onenormest", "mlx"
"""MLX gives NumPy the numbers of what it traces."""


def public(module):
    """Yield the names of the functions of a module, and what each takes."""
    home = importlib.import_module(module)
    for name in sorted(getattr(home, "__all__", vars(home))):
        f = getattr(home, name, None)
        left = inspect.isclass(f) or name.startswith(("_", "set", "save", "load", "show", "print"))
        if callable(f) and not left and (xs := taken(f)):
            yield name, xs


@contextlib.contextmanager
def within(seconds):
    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def taken(f):
    """Return operands of which a function gives real numbers, or None."""
    for operands in OPERANDS:
        with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()), within(2):
            if np.isfinite(total(f, operands)):
                return operands
    return None


def check(module, name, engine, operands=None):
    """Return how many derivatives were right; refused ones are none."""
    f = getattr(importlib.import_module(module), name)
    operands, right = operands or taken(f), 0
    see(f, ())
    for i, x in enumerate(operands):
        if not isinstance(x, (float, np.ndarray)):
            continue
        try:
            found = ENGINES[engine](export(f, to=engine), copy.deepcopy(operands), i)
        except ChainRulesError:
            continue
        except Exception as error:
            if "derivative would be lost" in str(error) or "asks for" in str(error):
                continue  # a library has said it again in its own words
            raise
        if name not in LOOSE:
            want = differences(f, operands, i)
            atol = 2e-2 if engine == "mlx" else 1e-4
            np.testing.assert_allclose(np.asarray(found), want, rtol=atol, atol=atol)
        right += 1
    return right


@pytest.fixture(autouse=True)
def _quiet(request):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("module, name", [(m, n) for m, names in QUICK.items() for n in names])
def test_right_or_refused(module, name, engine, double):
    if (name, engine) != UNSEEN:
        check(module, name, engine)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("module", MODULES)
def test_every_function_that_nothing_is_stated_of(module, engine, double):
    found = {}
    for name, operands in public(module):
        f = getattr(importlib.import_module(module), name)
        see(f, ())
        own = f in aliases and not module.startswith("scipy.sparse")  # has tests of its own
        if not own and (name, engine) != UNSEEN:
            try:
                check(module, name, engine, operands)
            except Exception as error:
                found[name] = f"{type(error).__name__}: {error}"
    assert not found


@pytest.mark.parametrize("engine", ENGINES)
def test_systems_have_a_gradient(engine, double):
    """`spsolve` of arrays, with nothing installed: it was SciPy's ValueError."""
    assert check("scipy.sparse.linalg", "spsolve", engine) == 2


def test_the_refusal_says_what_to_write():
    jax = pytest.importorskip("jax")
    f = export(np.polynomial.polynomial.polyvalfromroots, to="jax")
    with pytest.raises(
        NotDifferentiableError, match=r"is NumPy's.*write the operations of .*primitive"
    ):
        f(jax.numpy.ones(3), jax.numpy.ones(2))


def test_code_that_asks_for_a_class_is_told_what_is_differentiated():
    """In autograd it took a branch for what is no array, and gave another number."""
    autograd = pytest.importorskip("autograd")
    roots = np.array([0.1, 0.2, 0.4])
    f = export(lambda x: np.sum(np.polynomial.polynomial.polyvalfromroots(x, roots)), to="autograd")
    x = np.array([0.3, 0.5, 0.7])
    want = [-0.01, 0.19, 0.63]
    np.testing.assert_allclose(autograd.grad(f)(x), want, rtol=1e-10)
