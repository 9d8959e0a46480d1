"""SciPy's functions of what PyTorch or JAX differentiates: right, or an error in our words."""

from __future__ import annotations

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
from chainrules_py import ChainRulesError, NoRuleError, NotDifferentiableError, export
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


def test_whole_numbers_on_trial_do_not_round_what_comes_later():
    jax = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    f = by_numpy(lambda x: np.array([0, 0]) if x < 1.0 else np.array([x, 2.5]))
    with jax.enable_x64(True), pytest.raises(Exception, match=r"gives float64.*gave int64"):
        jax.jit(f)(7.3).block_until_ready()
