"""SciPy's functions of what PyTorch or JAX differentiates: right, or an error in our words."""

from __future__ import annotations

import contextlib
import importlib
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.stats

import chainrules_scipy
from chainrules_py import (
    ChainRulesError,
    NoRuleError,
    NotDifferentiableError,
    RuleError,
    TracerError,
    export,
)
from chainrules_scipy import by_numpy, integrate, optimize
from chainrules_tape import grad, jvp
from tests.libraries.scipy.samples.judge import samples

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

_OPERATORS = "traced_sparse.py", "sparse_operators.py", "spatial.py", "linalg.py"
"""Files with operators of SciPy's own classes, which pass on what no tracer is in."""
_SLOW = ("integrate.tplquad", "integrate.dblquad", "optimize.shgo", "optimize.dual_annealing")
ALL = [s for of in samples().values() for s in of if s.operands and not s.name.startswith(_SLOW)]
LIBRARIES = {"torch": "chainrules_torch", "jax": "chainrules_jax"}


def _floats(y: Any) -> list[Any]:
    """List what floats in a result, of any library."""
    if isinstance(y, (tuple, list)):
        return [z for part in y for z in _floats(part)]
    name = str(getattr(y, "dtype", "float64" if type(y) in (float, complex) else ""))
    return [y] if "float" in name or "complex" in name else []


def _total(parts: list[Any], weights: list[Any], home: Any) -> Any:
    """Sum what floats, each weighted, in the library that the parts are of."""
    total: Any = 0.0
    for y, w in zip(parts, weights, strict=True):
        z = home.asarray(y)
        is_complex = "complex" in str(z.dtype)
        total = total + home.sum(home.real(z) * w[0] if is_complex else z * w[0])
        total = total + (home.sum(home.imag(z) * w[1]) if is_complex else 0.0)
    return total


def _slopes(sample: Any, library: str) -> tuple[Any, Any]:
    """Return the derivatives that another engine gives, and those of the tape."""
    rng = np.random.default_rng(1)
    xs = [np.asarray(x) for x in sample.operands]
    places = tuple([i for i, x in enumerate(xs) if x.dtype.kind == "f"])
    weights = [rng.normal(size=(2, *np.shape(y))) for y in _floats(sample.run(*xs))]
    if library == "torch":
        import torch

        ts = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in xs]
        made = [torch.tensor(w) for w in weights]
        y = _total(_floats(sample.run(*ts)), made, torch)
        of = [ts[i] for i in places]
        found = (
            torch.autograd.grad(y, of, allow_unused=True) if y.requires_grad else [None] * len(of)
        )
        theirs = [0.0 if t is None else t.numpy() for t in found]
    else:
        import jax
        import jax.numpy as jnp

        with jax.enable_x64(True):
            f = lambda *zs: _total(_floats(sample.run(*zs)), [jnp.asarray(w) for w in weights], jnp)
            theirs = [np.asarray(t) for t in jax.grad(f, places)(*map(jnp.asarray, xs))]
    ours = grad(lambda *zs: _total(_floats(sample.run(*zs)), weights, np), places)(*xs)
    return theirs, ours


def _compare(sample: Any, library: str) -> None:
    if not any(np.asarray(x).dtype.kind == "f" for x in sample.operands):
        return
    importlib.import_module(LIBRARIES[library])
    with warnings.catch_warnings(), chainrules_scipy.install():
        warnings.simplefilter("ignore")
        raised = None
        try:
            theirs, ours = _slopes(sample, library)
        except ChainRulesError:
            return
        except Exception as error:
            raised = error
    if raised is not None:  # ufuncs are never replaced, nor is what nothing of ours stands for
        frames = traceback.extract_tb(raised.__traceback__)
        ours = {Path(f.filename).name for f in frames if "chainrules_scipy" in f.filename}
        assert ours <= {"installation.py", "host_computation.py", *_OPERATORS}, raised
        return
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("sample", ALL[::61], ids=str)
def test_some_samples(sample: Any, library: str) -> None:
    pytest.importorskip(library)
    _compare(sample, library)


@pytest.mark.slow
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("sample", ALL, ids=str)
def test_every_sample(sample: Any, library: str) -> None:
    pytest.importorskip(library)
    _compare(sample, library)


def _density(x: Any, shape: Any) -> Any:
    import scipy.stats

    return scipy.stats.gamma.logpdf(x, shape)


X, SHAPE = np.array([0.5, 1.5]), 2.0


def test_pytorch_to_the_second_order() -> None:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    x = torch.tensor(X, requires_grad=True)
    shape = torch.tensor(SHAPE, dtype=torch.float64, requires_grad=True)
    with chainrules_scipy.install():
        first = torch.autograd.grad(_density(x, shape).sum(), (x, shape), create_graph=True)
        second = torch.autograd.grad(first[0].sum(), (x, shape))
        mapped = torch.func.vmap(torch.func.grad(_density), in_dims=(0, None))(x, shape)
        moved = torch.func.jvp(_density, (x, shape), (torch.ones_like(x), torch.ones_like(shape)))[
            1
        ]
        hessian = torch.func.hessian(lambda x: _density(x, shape).sum())(x)
    # (k - 1) log x - x - log Γ(k)
    assert torch.allclose(first[0], (shape - 1) / x - 1)
    assert torch.allclose(second[0], (1 - shape) / x**2)
    assert torch.allclose(second[1], (1 / x).sum())
    assert torch.allclose(mapped, first[0])
    assert torch.allclose(moved, first[0] + torch.log(x) - torch.digamma(shape))
    assert torch.allclose(hessian, torch.diag((1 - shape) / x**2))


def test_jax_compiled_and_mapped() -> None:
    jax: Any = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    with jax.enable_x64(True), chainrules_scipy.install():
        x = jax.numpy.asarray(X)
        of = lambda x: _density(x, SHAPE)
        slope = jax.jit(jax.vmap(jax.grad(of)))(x)
        bent = jax.hessian(lambda x: of(x).sum())(x)
    np.testing.assert_allclose(slope, (SHAPE - 1) / X - 1)
    np.testing.assert_allclose(bent, np.diag((1 - SHAPE) / X**2))


@pytest.mark.parametrize("dtype", ["float32", "complex128", "bfloat16"])
def test_dtypes_are_those_of_the_tensors(dtype: str) -> None:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    import scipy.signal

    x = torch.tensor([1.0, 2.0, 4.0], dtype=getattr(torch, dtype), requires_grad=True)
    with chainrules_scipy.install():
        y = scipy.signal.detrend(x)
        slope = torch.autograd.grad(torch.sum(y.abs()), x)[0]
    assert slope.dtype == x.dtype


def test_results_that_are_no_arrays_are_refused() -> None:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    import scipy.interpolate
    import scipy.stats

    x, at = np.arange(5.0), 1.5
    y = torch.tensor(np.sin(x), requires_grad=True)
    spline = lambda y: scipy.interpolate.make_interp_spline(x, y)(at)
    with chainrules_scipy.install():
        with pytest.raises(NotDifferentiableError, match="by_numpy"):
            spline(y)
        found = torch.autograd.grad(by_numpy(spline)(y), y)[0]
        np.testing.assert_allclose(found, grad(spline)(np.sin(x)))
        with pytest.raises(NotDifferentiableError, match=r"by_numpy\(function\)"):
            scipy.stats.multivariate_normal(cov=y[0] * torch.eye(2)).logpdf(np.ones(2))


def _gradient(f: Any, x: Any, library: str, compiles: bool = True) -> Any:
    """Return the gradient that a library computes under SciPy's names."""
    importlib.import_module(LIBRARIES[library])
    with chainrules_scipy.install():
        if library == "torch":
            torch: Any = importlib.import_module("torch")
            t = torch.tensor(x, requires_grad=True)
            return torch.autograd.grad(f(t), t)[0].numpy()
        jax: Any = importlib.import_module("jax")
        with jax.enable_x64(True):
            at = jax.numpy.asarray(x)
            slope = np.asarray(jax.grad(f)(at))
            if compiles:
                np.testing.assert_allclose(jax.jit(jax.grad(f))(at), slope, 1e-9)
            return slope


COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])
OBJECTS = {
    **{
        name: ((2.0, 1.5), lambda d, p, name=name: getattr(d.gamma, name)(p[0], scale=p[1]))
        for name in ("mean", "var", "std", "entropy", "median")
    },
    "stats": ((2.0, 1.5), lambda d, p: d.gamma.stats(p[0], scale=p[1])[1]),
    "ppf": ((2.0, 1.5), lambda d, p: d.gamma.ppf(0.3, p[0], scale=p[1])),
    "isf": ((2.0, 1.5), lambda d, p: d.beta.isf(0.3, p[0], p[1])),
    "entropy of counts": ((3.0, 0.4), lambda d, p: d.poisson.entropy(p[0])),
    "multivariate_normal": (
        COVARIANCE,
        lambda d, c: d.multivariate_normal.logpdf([0.3, 1.0], [0.0, 0.0], c),
    ),
    "matrix_normal": (
        COVARIANCE,
        lambda d, c: d.matrix_normal.logpdf(np.eye(2), np.zeros((2, 2)), c, np.eye(2)),
    ),
    "invwishart": (COVARIANCE, lambda d, c: d.invwishart.logpdf(np.eye(2), 3.0, c)),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", OBJECTS)
def test_methods_of_objects_of_scipy(name: str, library: str) -> None:
    """The objects are callable, and were taken for functions of the program."""
    pytest.importorskip(library)
    import scipy.stats

    x, method = OBJECTS[name]
    x, f = np.array(x), lambda x: method(scipy.stats, x)
    size = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    slopes = [(f(x + t) - f(x - t)) / 2e-6 for t in size]
    close = {"rtol": 1e-6, "atol": 1e-8}
    # SciPy reads one triangle of a covariance, or half of each: symmetric steps are in both.
    both = lambda y: y + y.T if y.ndim == 2 else y
    found = _gradient(f, x, library)
    np.testing.assert_allclose(both(found), both(np.reshape(slopes, x.shape)), **close)


def _equations(x: Any, p: Any) -> Any:
    return np.stack([x[0] ** 2 + p[0] * x[1] - 2.0, x[1] ** 3 - p[1] * x[0]])


def _jacobian(x: Any, p: Any) -> Any:
    return np.array([[2 * x[0], p[0]], [-p[1], 3 * x[1] ** 2]])


def _least(x: Any, p: Any) -> Any:
    return np.sum(_equations(x, p) ** 2) + np.sum(x**2)


AT = [1.0, 1.0]
SEARCHES: dict[str, Any] = {
    "root": lambda o, p: o.root(_equations, AT, args=(p,)).x,
    "root of a list": lambda o, p: o.root(lambda *xs: [*_equations(*xs)], AT, args=(p,)).x,
    "root and slope": lambda o, p: o.root(_equations, AT, args=(p,), jac=_jacobian).x,
    "fsolve": lambda o, p: o.fsolve(_equations, AT, args=(p,), full_output=True)[0],
    "brentq": lambda o, p: (
        o.brentq(lambda x, p: np.exp(x) * p[0] - p[1], -1.0, 2.0, args=(p,)) + 0.0 * p[:1]
    ),
    "minimize": lambda o, p: o.minimize(_least, AT, args=(p,), tol=1e-10).x,
    "least_squares": lambda o, p: o.least_squares(_equations, AT, args=(p,)).x,
    "linprog": lambda o, p: o.linprog(p, A_ub=[[-1.0, -1.0]], b_ub=[-1.0]).x * p,
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", SEARCHES)
def test_searches_with_functions_that_compute_with_numpy(name: str, library: str) -> None:
    pytest.importorskip(library)
    import scipy.optimize

    f = lambda p: SEARCHES[name](scipy.optimize, p).sum()
    p = np.array([1.0, 2.0])
    found = _gradient(f, p, library)
    steps = [(f(p + t) - f(p - t)) / 2e-4 for t in 1e-4 * np.eye(2)]
    np.testing.assert_allclose(found, steps, rtol=1e-5, atol=1e-6)


def test_searches_in_forward_mode_and_twice() -> None:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    import scipy.optimize

    p, t = (torch.tensor(x, dtype=torch.float64) for x in ([1.0, 2.0], [0.3, -1.0]))
    for name in ("root", "minimize", "least_squares"):
        f = lambda p, name=name: SEARCHES[name](scipy.optimize, p).sum()
        with chainrules_scipy.install():
            slope = torch.func.grad(f)(p)
            torch.testing.assert_close(torch.func.jvp(f, (p,), (t,))[1], slope @ t)
            bent = torch.autograd.functional.hessian(f, p) @ t
            steps = [torch.func.grad(f)(p + h * t) for h in (1e-4, -1e-4)]
        torch.testing.assert_close(bent, (steps[0] - steps[1]) / 2e-4, rtol=1e-4, atol=1e-5)


def test_fields_without_a_derivative_are_refused_where_they_are_used() -> None:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    import scipy.optimize

    p = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    search = lambda p: scipy.optimize.root(_equations, AT, args=(p,))
    with chainrules_scipy.install():
        found = search(p)
        with pytest.raises(NotDifferentiableError, match=r"root\(\.\.\.\)\.fjac\.plain"):
            found.fjac @ found.x
        assert found.fjac.plain.shape == (2, 2)
        whole = by_numpy(search)(p)  # SciPy's, in which the fields are floats
        with pytest.raises(NotDifferentiableError, match="by_numpy"):
            whole.x.sum().backward()


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_function_of_tensors_is_solved_by_their_library(library: str) -> None:
    pytest.importorskip(library)
    import scipy.optimize

    xp = importlib.import_module({"torch": "torch", "jax": "jax.numpy"}[library])

    def equations(x: Any, p: Any) -> Any:
        return xp.stack([x[0] ** 2 + p[0] * x[1] - 2.0, x[1] ** 3 - p[1] * x[0]])

    p = np.array([1.0, 2.0])
    wanted = _gradient(lambda p: SEARCHES["root"](scipy.optimize, p).sum(), p, library)
    for f in (
        lambda p: scipy.optimize.root(equations, AT, args=(p,)).x.sum(),
        lambda p: scipy.optimize.fsolve(lambda x: equations(x, p), AT).sum(),
    ):
        np.testing.assert_allclose(_gradient(f, p, library, False), wanted, rtol=1e-7)


def test_whole_numbers_alone_are_refused() -> None:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    f, x = by_numpy(lambda x: x / 2), torch.tensor([1, 2])
    with pytest.raises(NotDifferentiableError, match=r"pass .*int64.* as floating-point numbers"):
        f(x)
    assert f(x.double()).tolist() == [0.5, 1.0]


def test_what_flows_nowhere_is_no_nan() -> None:
    """Of three results one is used: through the others, which are not smooth, nothing flows."""
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    f = by_numpy(lambda x: (np.sqrt(x), 3.0 * x, "text", 7))
    x = torch.zeros(2, requires_grad=True)
    found = f(x)
    assert found[2:] == ("text", 7)
    (slope,) = torch.autograd.grad(found[1].sum(), x)
    assert slope.tolist() == [3.0, 3.0]


POSITIONS = by_numpy(lambda a: {"max": np.max(a), "at": np.argmax(a), "above": a > 2.0})
ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 1.0, 3.0]])


def test_positions_and_masks_are_computed_at_each_call_of_jax() -> None:
    """They were those of the numbers that JAX traced with."""
    jax: Any = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    compiled = jax.jit(POSITIONS)
    for row in ROWS:
        found = compiled(jax.numpy.asarray(row))
        assert (found["max"], found["at"]) == (np.max(row), np.argmax(row))
        assert found["above"].tolist() == (row > 2.0).tolist()
        assert found["above"].dtype == bool
    assert jax.vmap(POSITIONS)(jax.numpy.asarray(ROWS))["at"].tolist() == [2, 0]
    loss = lambda a: POSITIONS(a)["max"] * (POSITIONS(a)["at"] + 2)
    assert jax.jit(jax.grad(loss))(jax.numpy.asarray(ROWS[1])).tolist() == [2.0, 0.0, 0.0]


def test_positions_and_masks_are_tensors_of_pytorch() -> None:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    x = torch.tensor(ROWS[1], requires_grad=True)
    found = POSITIONS(x)
    assert (found["at"].item(), found["above"].tolist()) == (0, [True, False, True])
    (x[found["above"]] ** 2).sum().backward()
    assert x.grad.tolist() == [8.0, 0.0, 6.0]
    assert torch.func.vmap(POSITIONS)(torch.tensor(ROWS))["at"].tolist() == [2, 0]


def test_other_values_are_left_alone() -> None:
    assert by_numpy(np.sin)(0.5) == np.sin(0.5)
    assert grad(by_numpy(lambda x: np.sum(np.sin(x))))(X).tolist() == np.cos(X).tolist()


def _slow(*values: str) -> list[Any]:
    return [pytest.param(x, marks=pytest.mark.slow) for x in values]


SINGLE = {
    "softmax": ("special", np.array([0.5, 1.0, 2.0])),
    "logsumexp": ("special", np.array([0.5, 1.0, 2.0])),
    "log_softmax": ("special", np.array([0.5, 1.0, 2.0])),
    "expm": ("linalg", np.array([[0.5, 1.0], [0.2, -0.3]])),
    "dct": ("fft", np.array([0.5, 1.0, 2.0])),
}
QUICK = ("logsumexp", "dct")


@pytest.mark.parametrize("dtype", ["float32", *_slow("float16", "float64")])
@pytest.mark.parametrize("name", [*QUICK, *_slow(*[name for name in SINGLE if name not in QUICK])])
def test_functions_of_what_jax_traces_in_any_precision(name, dtype):
    jax = pytest.importorskip("jax")
    export = importlib.import_module("chainrules_jax").export
    of, x = SINGLE[name]
    ours = getattr(importlib.import_module(f"chainrules_scipy.{of}"), name)
    theirs = getattr(importlib.import_module(f"scipy.{of}"), name)
    if dtype == "float16" and name in ("expm", "dct"):
        pytest.skip("JAX has none of half precision")
    with jax.enable_x64(dtype == "float64"):
        x = jax.numpy.asarray(x, dtype)
        for f in (ours, export(ours), export(theirs)):
            slope = jax.grad(lambda x, f=f: jax.numpy.sum(f(x) ** 2))
            for one in (f, slope):
                want, close = one(x), {"rtol": 1e-2 if dtype == "float16" else 1e-5}
                found = {"jit": jax.jit(one)(x), "vmap": jax.vmap(one)(x[None])[0]}
                for how, y in found.items():
                    assert y.dtype == want.dtype, how
                    np.testing.assert_allclose(y, want, **close, err_msg=how)


def test_the_normal_distribution_keeps_its_digits_far_left_in_torch():
    torch, special = pytest.importorskip("torch"), pytest.importorskip("scipy.special")
    x = np.array([-30.0, -20.0, -10.0, -8.0, -1.0, 0.0, 2.0, 9.0])
    for dtype, digits in ((torch.float64, 1e-12), (torch.float32, 1e-4)):
        found = export(special.ndtr, to="torch")(torch.asarray(x, dtype=dtype)).numpy()
        wanted = special.ndtr(x.astype(found.dtype))
        assert np.allclose(found, wanted, rtol=digits, atol=np.finfo(found.dtype).tiny)


POLYNOMIALS = {
    "legendre_p": (2, 0.3),
    "legendre_p_all": (2, 0.3),
    "assoc_legendre_p": (2, 1, 0.3),
    "sph_legendre_p": (2, 1, 0.3),
    "sph_harm_y": (2, 1, 0.3, 0.4),
}


@pytest.mark.parametrize("engine", ["torch", "autograd"])
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_functions_whose_signature_tells_nothing_are_called(name, engine):
    pytest.importorskip(f"chainrules_{engine}")
    f = getattr(pytest.importorskip("scipy.special"), name, None)
    if f is None:
        pytest.skip("SciPy has it from 1.15 on")
    found = export(f, to=engine)(*POLYNOMIALS[name])
    assert np.allclose(found, f(*POLYNOMIALS[name]), rtol=1e-12)


@pytest.mark.parametrize("name", ["sinm", "coshm", "tanhm"])
def test_functions_that_follow_the_text_of_scipy_run_on_the_host(name):
    torch, linalg = pytest.importorskip("torch"), pytest.importorskip("scipy.linalg")
    f = getattr(linalg, name)
    a = np.array([[0.3 - 0.1j, 0.2], [0.1j, -0.4]])
    bar = np.array([[1.0, 0.5j], [-2.0, 0.3 + 1.0j]])
    _, pull = torch.func.vjp(export(f, to="torch"), torch.tensor(a))
    steps = 1e-6 * np.eye(4).reshape(4, 2, 2)
    slopes = [(f(a + t) - f(a - t)) / 2e-6 for t in steps]  # of analytic functions
    expected = np.reshape([np.vdot(slope, bar) for slope in slopes], (2, 2))
    np.testing.assert_allclose(pull(torch.tensor(bar))[0], expected, rtol=1e-7, atol=1e-8)


class NoModelError(Exception):
    pass


def _rate(t, a):
    if t > 0.9:
        raise NoModelError("there is no model above 0.9")
    return np.exp(-a * t)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: integrate.quad(lambda t: _rate(t, a), 0.0, 1.0)[0],
        lambda a: integrate.solve_ivp(lambda t, y: _rate(t, a) * y, (0.0, 1.0), [1.0]).y[0, -1],
        lambda a: optimize.brentq(lambda t: _rate(t, a) - 0.1, 0.0, 1.0),
    ],
)
def test_an_error_of_a_program_leaves_scipy_as_it_is(f):
    """Its class is of ``__main__`` or of a private module, as those of SciPy in C are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NoModelError, "__module__", "__main__")
        for run in (grad(f), lambda a: jvp(f, (a,), (1.0,))):
            with pytest.raises(NoModelError, match="no model"):
                run(2.0)


S = np.array([[2.0, 0.3], [0.3, 1.0]])
B = np.array([0.3, 0.7])
C = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
DEFINITE = {
    "cholesky": (lambda s: scipy.linalg.cholesky(s).sum(), S),
    "cho_solve": (lambda s: scipy.linalg.cho_solve(scipy.linalg.cho_factor(s), B).sum(), S),
    "cholesky_banded": (
        lambda s: scipy.linalg.cholesky_banded(s).sum(),
        np.array([[0.0, 0.3], [2.0, 1.0]]),
    ),
    "solve": (lambda s: scipy.linalg.solve(s, B, assume_a="pos").sum(), S),
    "eigh": (lambda s: scipy.linalg.eigh(S @ S, s, eigvals_only=True)[0], S),
    "matrix_normal": (
        lambda s: scipy.stats.matrix_normal.logpdf(np.ones((2, 2)), np.zeros((2, 2)), s, s),
        S,
    ),
    "wishart": (lambda s: scipy.stats.wishart.logpdf(S, 3.0, s), S),
    "multivariate_normal": (
        lambda s: scipy.stats.multivariate_normal.logpdf(np.ones(3), np.zeros(3), s),
        C,
    ),
    "pchip_interpolate": (
        lambda x: scipy.interpolate.pchip_interpolate(x, np.array([1.0, 0.2, 0.5]), 1.3),
        np.array([0.0, 1.0, 2.5]),
    ),
}


@pytest.mark.parametrize("name", DEFINITE)
def test_functions_of_definite_matrices_and_of_knots_under_jit(name):
    jax = pytest.importorskip("jax")
    f, at = DEFINITE[name]
    step = np.cos(np.arange(float(at.size))).reshape(at.shape)
    with chainrules_scipy.install(), jax.enable_x64(True):
        found = np.sum(np.asarray(jax.jit(jax.grad(f))(at)) * step)
    h = 1e-6
    np.testing.assert_allclose(found, (f(at + h * step) - f(at - h * step)) / (2 * h), rtol=1e-6)


def test_what_cannot_be_tried_is_named_with_what_to_write():
    jax = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")

    def picky(x):
        if x[0] != 1e6:
            raise ValueError("another number")
        return x

    with pytest.raises(NoRuleError, match=r"picky computes.*callback\(picky, result="):
        jax.jit(by_numpy(picky))(np.ones(2))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ["ttest_1samp", "ttest_ind", "ttest_rel"])
def test_results_that_name_their_library(name: str, library: str) -> None:
    """A result of a t-test holds the module that computed it, which is a constant."""
    pytest.importorskip(library)
    x, y = np.array([1.0, 2.0, 4.0]), 0.5 if name == "ttest_1samp" else np.array([2.0, 1.0, 0.5])
    f = lambda x: export(getattr(scipy.stats, name), to=library)(x, y).statistic
    plain = lambda x: getattr(scipy.stats, name)(x, y).statistic
    slopes = [(plain(x + t) - plain(x - t)) / 2e-6 for t in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(_gradient(f, x, library), slopes, rtol=1e-6, atol=1e-9)


def test_a_trial_says_what_converts_traced_numbers():
    jax = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    with pytest.raises(TracerError, match="cannot convert a traced"):
        jax.jit(jax.grad(by_numpy(lambda x: float(x[0]) * x[1])))(np.ones(2))


def test_whole_numbers_on_trial_do_not_round_what_comes_later():
    jax = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    f = lambda end: by_numpy(lambda x: np.array([0, 0]) if x < end else np.array([x, 2.5]))
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(f(1.0))(7.3), [7.3, 2.5])
        with pytest.raises(Exception, match=r"gives float64.*gave int64"):
            jax.jit(f(1e3))(2e3).block_until_ready()


IN_TENSORS: dict[str, Any] = {
    "minimize": lambda o, xp, a: o.minimize(lambda x: xp.sum(xp.exp(x) - a * x), np.zeros(2)).x,
    "arguments": lambda o, xp, a: (
        o.minimize(lambda x, a: xp.sum(xp.exp(x) - a * x), np.zeros(2), args=(a,)).x
    ),
    "root": lambda o, xp, a: o.root(lambda x: xp.exp(x) - a, np.zeros(2), method="hybr").x,
    "fsolve": lambda o, xp, a: o.fsolve(lambda x: xp.exp(x) - a, np.zeros(2)),
    "brentq": lambda o, xp, a: o.brentq(lambda x: xp.exp(x) - a[0], -1.0, 3.0) + 0.0 * a,
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", IN_TENSORS)
def test_searches_of_functions_of_tensors(name: str, library: str) -> None:
    """Each finds log(a), whose slopes are 1 / a; where no value is known, the error says how."""
    pytest.importorskip(library)
    import scipy.optimize

    xp: Any = importlib.import_module({"torch": "torch", "jax": "jax.numpy"}[library])
    f, a = IN_TENSORS[name], np.array([1.5, 2.0])
    traced: Any = importlib.import_module(library)
    slope = traced.func.grad if library == "torch" else lambda f: traced.jit(traced.grad(f))
    wanted = [2 / 1.5, 0.0] if name == "brentq" else 1 / a
    for module in (scipy.optimize, optimize):  # SciPy's own names, and ours
        found = _gradient(lambda a, m=module: xp.sum(f(m, xp, a)), a, library, False)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        with (
            chainrules_scipy.install(),
            pytest.raises(NotDifferentiableError, match=r"ops\.root\(f, x0\), minimize\(f, x0\)"),
        ):
            slope(lambda a, m=module: xp.sum(f(m, xp, a)))(xp.asarray(a))


UNREAD: dict[str, Any] = {
    "UnivariateSpline": lambda x: scipy.interpolate.UnivariateSpline(np.arange(5.0), x)(0.3),
    "shapiro": lambda x: scipy.stats.shapiro(x).statistic,
    "false_discovery_control": lambda x: scipy.stats.false_discovery_control(x),
    "multivariate_normal": lambda x: scipy.stats.multivariate_normal(x[:2], np.eye(2)).logpdf(X),
    "PchipInterpolator": lambda x: importlib.import_module(
        "chainrules_scipy.interpolate"
    ).PchipInterpolator(np.arange(5.0), x)(0.3),
    "norm": lambda x: importlib.import_module("chainrules_scipy.stats").norm(x[0], 2.0).logpdf(X),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", UNREAD)
def test_what_numpy_cannot_read_is_said_with_a_line(name: str, library: str) -> None:
    traced: Any = pytest.importorskip(library)
    importlib.import_module(LIBRARIES[library])
    xp: Any = importlib.import_module({"torch": "torch", "jax": "jax.numpy"}[library])
    grad = traced.func.grad if library == "torch" else lambda f: traced.jit(traced.grad(f))
    x = xp.asarray(np.array([0.02, 0.3, 0.1, 0.4, 0.5]))
    with (
        chainrules_scipy.install(),
        pytest.raises(NotDifferentiableError, match=r"by_numpy\(function\)|derivative: write"),
    ):
        grad(lambda x: xp.sum(UNREAD[name](x)))(x)


def _pair(x: Any) -> Any:
    return np.array([np.sum(x**2), x[0] * x[1]])


OBJECTS_OF: dict[str, Any] = {
    "no axes": lambda x: np.array(x[0] * x[1]),
    "one axis": _pair,
    "two axes": lambda x: np.array([[np.sum(x), x[0]], [x[1] ** 2, 3.0]]),
    "rows": lambda x: np.array([x, x**2]),
    "a tuple": lambda x: (_pair(x), x**3, [np.array([x[1] ** 2])]),
    "a dict": lambda x: {"a": _pair(x), "b": np.cos(x), "n": np.argmax(x)},
}


def _weighted(parts: Any, xp: Any) -> Any:
    """Sum all numbers of a result, with other weights for each part."""
    if isinstance(parts, (tuple, list, dict)):
        parts = parts.values() if isinstance(parts, dict) else parts
        return sum([(k + 1.5) * _weighted(y, xp) for k, y in enumerate(parts)])
    y = xp.asarray(parts).reshape(-1)
    return xp.sum(y * xp.asarray(np.cos(np.arange(float(y.shape[0])))))


def _steps(f: Any, x: Any) -> Any:
    return [(f(x + t) - f(x - t)) / 2e-6 for t in 1e-6 * np.eye(x.size)]


def _with_objects(form: str, xp: Any) -> tuple[Any, Any, Any]:
    """Return a loss of arrays of a library, two points, and its slopes there by differences."""
    f, xs = OBJECTS_OF[form], np.array([[1.5, 0.7, 2.5], [0.3, 1.2, -0.4]])
    wanted = [_steps(lambda x: _weighted(f(x), np), x) for x in xs]
    return lambda x: _weighted(by_numpy(f)(x), xp), xs, wanted


@pytest.mark.parametrize("form", OBJECTS_OF)
def test_arrays_of_traced_numbers_are_results_of_jax(form: str) -> None:
    """They were constants: the derivative was 0."""
    jax: Any = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    of, xs, wanted = _with_objects(form, jax.numpy)
    with jax.enable_x64(True):
        a = jax.numpy.asarray(xs)
        for slope in (jax.grad(of), jax.jit(jax.grad(of)), jax.jacfwd(of)):
            np.testing.assert_allclose(slope(a[0]), wanted[0], rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(jax.vmap(jax.grad(of))(a), wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("form", OBJECTS_OF)
def test_arrays_of_traced_numbers_are_results_of_pytorch(form: str) -> None:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    of, xs, wanted = _with_objects(form, torch)
    a = torch.tensor(xs)
    compiled = torch.compile(of, backend="aot_eager")
    for slope in (
        torch.func.grad(of),
        torch.func.jacfwd(of),
        lambda x: torch.autograd.functional.jacobian(of, x),
        lambda x: torch.autograd.functional.jacobian(compiled, x),
    ):
        np.testing.assert_allclose(slope(a[0]), wanted[0], rtol=1e-6, atol=1e-8)
    found = torch.func.vmap(torch.func.grad(of))(a)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("library", LIBRARIES)
def test_objects_that_hold_numbers_are_refused(library: str) -> None:
    pytest.importorskip(library)
    importlib.import_module(LIBRARIES[library])
    xp: Any = importlib.import_module({"torch": "torch", "jax": "jax.numpy"}[library])
    f = by_numpy(lambda x: np.array([np.sum(x), x, "text"], dtype=object))
    with pytest.raises(NotDifferentiableError, match="only arrays and numbers come out"):
        f(xp.asarray(X))
    assert by_numpy(lambda x: (x, np.array(["a", None])))(xp.asarray(X))[1][0] == "a"


OF_OTHER_FORMS: dict[str, Any] = {
    "shapes": lambda x: x[x > 0.6] ** 2,
    "splits": lambda x: (x[x > 0.6] ** 2, x[x <= 0.6] ** 3),
    "keys": lambda x: {"a": x**2, "b": x**3} if x[0] > 0.6 else {"b": x**3, "a": x**2},
    "parts": lambda x: (x**2, None) if x[0] > 0.6 else (x**2, x[1]),
    "axes": lambda x: x[:1] ** 2 if x[0] > 0.6 else x[0] ** 2,
    "kinds": lambda x: np.array([2.0, x[0]]) if x[0] > 0.6 else np.emath.sqrt(x[:2] - 0.5),
}


@pytest.mark.parametrize("form", OF_OTHER_FORMS)
def test_results_of_other_forms_than_those_traced_are_refused(form: str) -> None:
    """A part of a cotangent went to another result, as for `solve_ivp` without t_eval."""
    jax: Any = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    f, x = OF_OTHER_FORMS[form], np.array([0.2, 0.9, 0.5])
    real = lambda y: y.real if np.iscomplexobj(y) else y
    of = lambda x: sum(map(jax.numpy.sum, map(real, jax.tree.leaves(by_numpy(f)(x)))))
    with jax.enable_x64(True):
        for slope in (jax.grad(of), lambda x: jax.jvp(of, (x,), (x,))[1]):
            with pytest.raises(Exception, match="same parts, shapes and dtypes"):
                jax.block_until_ready(jax.jit(slope)(jax.numpy.asarray(x)))
        if form != "kinds":  # of real numbers
            plain = lambda x: sum([np.sum(y) for y in jax.tree.leaves(f(x))])
            np.testing.assert_allclose(jax.grad(of)(jax.numpy.asarray(x)), _steps(plain, x), 1e-6)


@pytest.mark.parametrize("form", ["shapes", "splits", "axes"])
def test_results_of_other_forms_than_those_mapped_are_refused(form: str) -> None:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    x = torch.tensor([[0.75, 0.3, 0.7], [0.2, 0.9, 0.5]], dtype=torch.float64)
    with pytest.raises(RuleError, match="same parts, shapes and dtypes"):
        torch.func.vmap(by_numpy(OF_OTHER_FORMS[form]))(x)


def test_a_solution_at_times_of_its_own_is_refused_where_jax_compiles() -> None:
    """The derivative was 0: it was that of a result of another length."""
    jax: Any = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    scipy_integrate: Any = importlib.import_module("scipy.integrate")

    def end(a: Any, **options: Any) -> Any:
        rate = lambda t, y, a: -100.0 * a * y
        given = {"args": (a,), "rtol": 1e-8, "atol": 1e-10, **options}
        return scipy_integrate.solve_ivp(rate, (0.0, 1.0), [1.0], **given).y[0, -1]

    with jax.enable_x64(True), chainrules_scipy.install():
        slope = -100.0 * np.exp(-1.0)
        np.testing.assert_allclose(jax.grad(end)(0.01), slope, rtol=1e-5)
        with pytest.raises(Exception, match=r"solve_ivp gives.*t_eval="):
            jax.block_until_ready(jax.jit(jax.grad(end))(0.01))
        at_end = lambda a: end(a, t_eval=np.ones(1))
        np.testing.assert_allclose(jax.jit(jax.grad(at_end))(0.01), slope, rtol=1e-5)


def _selected(x: Any, i: Any, mask: Any, big: Any) -> Any:
    return np.sum(x[i] ** 2) + np.sum(np.where(mask, x**3, 0.0)) + x[0] * np.float64(big % 1000)


@pytest.mark.parametrize("library", LIBRARIES)
def test_whole_numbers_and_masks_that_are_traced(library: str) -> None:
    traced: Any = pytest.importorskip(library)
    importlib.import_module(LIBRARIES[library])
    xp: Any = importlib.import_module({"torch": "torch", "jax": "jax.numpy"}[library])
    x, i, mask, big = np.array([1.0, 2.0]), np.array([0, 1, 1]), np.array([True, False]), 2**62 + 7
    wanted = _steps(lambda x: _selected(x, i, mask, big), x)
    scope = traced.enable_x64(True) if library == "jax" else contextlib.nullcontext()
    with scope:
        given = [xp.asarray(y) for y in (x, i, mask, np.array(big))]
        f, lib = by_numpy(_selected), traced.func if library == "torch" else traced
        assert np.allclose(lib.grad(f)(*given), wanted)
        assert np.allclose(lib.vmap(lib.grad(f))(*[y[None] for y in given])[0], wanted)
        if library == "jax":
            assert np.allclose(traced.jit(traced.grad(f))(*given), wanted)
            bent = traced.jit(traced.hessian(f))(*given)
        else:
            bent = lib.hessian(f)(*given)
    assert np.allclose(bent, [[2.0 + 6.0 * 1.0, 0.0], [0.0, 4.0]])


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_factorisation_with_pivots_is_traced(library: str) -> None:
    traced: Any = pytest.importorskip(library)
    importlib.import_module(LIBRARIES[library])
    xp: Any = importlib.import_module({"torch": "torch", "jax": "jax.numpy"}[library])
    a = np.array([[0.5, 2.0], [3.0, 1.0]])
    f = lambda x, a: scipy.linalg.lu_solve(scipy.linalg.lu_factor(a * x[0]), x)
    wanted = _steps(lambda x: np.sum(f(x, a)), X)
    scope = traced.enable_x64(True) if library == "jax" else contextlib.nullcontext()
    with scope, chainrules_scipy.install():
        of = lambda x: xp.sum(f(x, xp.asarray(a)))
        slope = traced.func.grad(of) if library == "torch" else traced.jit(traced.grad(of))
        np.testing.assert_allclose(slope(xp.asarray(X)), wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["sqrtm", "logm"])
def test_functions_of_a_definite_matrix_are_real_under_jit(name: str) -> None:
    jax: Any = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    a = np.array([[3.0, 1.0], [0.5, 2.0]]) @ np.array([[3.0, 0.5], [1.0, 2.0]])
    f = lambda x: np.sum(getattr(scipy.linalg, name)(a * x))
    with jax.enable_x64(True), chainrules_scipy.install():
        of = lambda x: jax.numpy.sum(getattr(scipy.linalg, name)(a * x))
        found = jax.jit(jax.grad(of))(2.0)
    np.testing.assert_allclose(found, (f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6, rtol=1e-6)


def test_numbers_that_numpy_lacks_arrive_wider() -> None:
    jax: Any = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    special: Any = importlib.import_module("scipy.special")
    seen: list[Any] = []

    @by_numpy
    def f(x: Any) -> Any:
        seen.append(x.dtype)
        return np.sum(special.gammaln(x))

    x = jax.numpy.asarray([0.5, 1.25], "bfloat16")
    for slope in (jax.grad(f), jax.jit(jax.grad(f)), lambda x: jax.vmap(jax.grad(f))(x[None])[0]):
        found = slope(x)
        assert found.dtype == x.dtype
        np.testing.assert_allclose(
            found.astype(float), special.digamma(np.asarray(x, float)), rtol=1e-2
        )
    assert {*map(str, seen)} == {"float32"}
