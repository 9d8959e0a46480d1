"""Results of SciPy's solvers: each field has SciPy's value and a derivative, or refuses its use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.sparse
import scipy.stats
from scipy.optimize import Bounds, LinearConstraint
from scipy.sparse.linalg import aslinearoperator

import chainrules_scipy.integrate
import chainrules_scipy.optimize
import chainrules_scipy.stats
from chainrules_py import NoTangent, NotDifferentiableError
from chainrules_scipy.result_checks import Unstated
from chainrules_tape import grad, jvp, linearize, vjp

T = np.linspace(0.0, 2.0, 9)
Q = np.array([0.61, 0.83, -0.42, 0.37, 0.9, -0.55])
WAY = np.array([0.7, -0.4, 0.5, 0.9, -0.3, 0.6])
A = np.array([[1.0, 2, 3], [0, 1, 4], [5, 6, 0], [1, 1, 1]])


def _data(q):
    return 2 * np.exp(-0.7 * T) + 0.1 * np.sin(9 * T) + 0.05 * q[0] * T + 0.03 * q[1]


def _misfit(q):
    return lambda p: p[0] * np.exp(-p[1] * T) - _data(q)


def _curve(t, a, b):
    return a * np.exp(-b * t)


def _bowl(q):
    return lambda p: np.sum((p - q[:2]) ** 4 + (p - q[2:4]) ** 2)


def _slope(q):
    return lambda p: 4 * (p - q[:2]) ** 3 + 2 * (p - q[2:4])


def _hollow(q):
    return lambda t: (t - q[0]) ** 4 + (t - q[1]) ** 2


def _cubes(q):
    return lambda t: t**3 + t - q[:2]


def _cube(q):
    return lambda t: t**3 + t - q[0]


TIGHT = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}
QUIET = {"full_output": True, "disp": False}
BOX = [(-3, 3)] * 2
ZEROS = np.zeros(2)


def _minimize(**how):
    return lambda m, q: m.minimize(_bowl(q), ZEROS, **how)


LINE = {"type": "eq", "fun": lambda p: p[0] + p[1] - 0.3}
OPTIMIZE = {
    "least_squares": lambda m, q: m.least_squares(_misfit(q), [1.0, 1.0], **TIGHT),
    "least_squares lm": lambda m, q: m.least_squares(_misfit(q), [1.0, 1.0], method="lm", **TIGHT),
    "least_squares bounds": lambda m, q: m.least_squares(
        _misfit(q), [1.0, 0.3], bounds=([0, 0], [9, 0.5]), **TIGHT
    ),
    "least_squares loss": lambda m, q: m.least_squares(
        _misfit(q), [1.0, 1.0], loss="soft_l1", f_scale=0.1, **TIGHT
    ),
    "lsq_linear": lambda m, q: m.lsq_linear(A + 0.1 * q[0], q[:4], bounds=(-0.1, 0.2)),
    "lsq_linear free": lambda m, q: m.lsq_linear(A + 0.1 * q[0], q[:4]),
    "lsq_linear sparse": lambda m, q: m.lsq_linear(scipy.sparse.csr_array(A), q[:4]),
    "lsq_linear operator": lambda m, q: m.lsq_linear(aslinearoperator(A), q[:4]),
    "nnls": lambda m, q: m.nnls(A + 0.1 * q[0], q[:4]),
    "linprog": lambda m, q: m.linprog(
        q[:2] - 3, np.array([[1.0, 2], [3, 1]]) + 0.1 * q[2:6].reshape(2, 2), [4, 6 + q[0]]
    ),
    "linprog equal": lambda m, q: m.linprog(
        np.append(q[:2] - 3, 0.0),
        A_eq=np.array([[1.0, 2, 1]]) + 0.1 * q[2:5][None],
        b_eq=[4.0],
        bounds=(0, 2.5),
    ),
    "linprog costs": lambda m, q: m.linprog(q[:2] - 3, [[1.0, 2], [3, 1]], [4, 6]),
    "root hybr": lambda m, q: m.root(_cubes(q), ZEROS),
    "root lm": lambda m, q: m.root(_cubes(q), ZEROS, method="lm"),
    "root broyden": lambda m, q: m.root(_cubes(q), ZEROS, method="broyden1", tol=1e-10),
    "root krylov": lambda m, q: m.root(_cubes(q), ZEROS, method="krylov", tol=1e-10),
    "root_scalar": lambda m, q: m.root_scalar(_cube(q), bracket=(-5, 5)),
    "fsolve": lambda m, q: m.fsolve(_cubes(q), ZEROS, full_output=True),
    **{
        name: lambda m, q, name=name: getattr(m, name)(_cube(q), -5, 5, full_output=True)
        for name in ("bisect", "brenth", "brentq", "ridder", "toms748")
    },
    "minimize": _minimize(tol=1e-10),
    "minimize bounds": _minimize(bounds=[(-0.1, 0.1)] * 2),
    "minimize slsqp": _minimize(method="SLSQP", constraints=LINE, tol=1e-12),
    "minimize trust-constr": _minimize(
        method="trust-constr", constraints=LinearConstraint([[1, 1]], 0.3, 0.3), tol=1e-10
    ),
    "minimize tnc": _minimize(
        method="TNC", tol=1e-12, bounds=Bounds(*np.array([[-3, -3], [0.2, 3]]))
    ),
    **{
        f"minimize {name}": _minimize(method=name, tol=1e-10)
        for name in ("Nelder-Mead", "Powell", "CG", "L-BFGS-B", "COBYLA", "COBYQA")
    },
    "minimize newton": lambda m, q: m.minimize(
        _bowl(q), ZEROS, method="Newton-CG", jac=_slope(q), tol=1e-12
    ),
    **{
        f"minimize_scalar {name}": lambda m, q, name=name: m.minimize_scalar(
            _hollow(q), method=name, bounds=(-3, 3) if name == "bounded" else None
        )
        for name in ("brent", "golden", "bounded")
    },
    "minimize_scalar end": lambda m, q: m.minimize_scalar(
        _hollow(q), method="bounded", bounds=(-3, 0.1)
    ),
    "curve_fit": lambda m, q: m.curve_fit(_curve, T, _data(q), [1.0, 1.0], full_output=True),
    "curve_fit absolute": lambda m, q: m.curve_fit(
        _curve, T, _data(q), [1.0, 1.0], absolute_sigma=True
    ),
    "curve_fit sigma": lambda m, q: m.curve_fit(
        _curve, T, _data(q), [1.0, 1.0], sigma=0.5 + T, full_output=True
    ),
    "curve_fit exact": lambda m, q: m.curve_fit(_curve, T[:2], _data(q)[:2], [1.0, 1.0]),
    "curve_fit bounds": lambda m, q: m.curve_fit(
        _curve, T, _data(q), [1.0, 1.0], bounds=(0, 9), full_output=True
    ),
    "isotonic": lambda m, q: m.isotonic_regression(q, weights=np.arange(1.0, 7.0)),
    **{
        name: lambda m, q, name=name: getattr(m, name)(_bowl(q), ZEROS, **QUIET)
        for name in ("fmin", "fmin_cg", "fmin_powell", "fmin_bfgs", "fmin_slsqp")
    },
    "fmin way": lambda m, q: m.fmin(_bowl(q), ZEROS, retall=True, disp=False),
    "fmin_ncg": lambda m, q: m.fmin_ncg(_bowl(q), ZEROS, _slope(q), **QUIET),
    "fmin_l_bfgs_b": lambda m, q: m.fmin_l_bfgs_b(_bowl(q), ZEROS, approx_grad=True),
    "fmin_l_bfgs_b slope": lambda m, q: m.fmin_l_bfgs_b(_bowl(q), ZEROS, _slope(q)),
    "fmin_tnc": lambda m, q: m.fmin_tnc(_bowl(q), ZEROS, approx_grad=True, disp=0),
    "fminbound": lambda m, q: m.fminbound(_hollow(q), -3, 3, full_output=True),
    "brent": lambda m, q: m.brent(_hollow(q), full_output=True),
    "golden": lambda m, q: m.golden(_hollow(q), full_output=True),
    "shgo": lambda m, q: m.shgo(_bowl(q), BOX),
    "differential_evolution": lambda m, q: m.differential_evolution(
        _bowl(q), BOX, rng=1, tol=1e-10
    ),
    "dual_annealing": lambda m, q: m.dual_annealing(_bowl(q), BOX, rng=1, maxiter=30),
    "direct": lambda m, q: m.direct(_bowl(q), BOX, eps=1e-8, maxfun=4000),
    "basinhopping": lambda m, q: m.basinhopping(_bowl(q), ZEROS + 0.3, niter=2, rng=1),
}


def _stop(t, y):
    return y[0] - 0.3


_stop.terminal = True  # type: ignore[attr-defined]


def _growth(q):
    return lambda x: np.exp(q[0] * x)


INTEGRATE = {
    "quad": lambda m, q: m.quad(_growth(q), 0, q[1]),
    "quad all": lambda m, q: m.quad(_growth(q), 1.0, q[1], full_output=True),
    "quad complex": lambda m, q: m.quad(lambda x: np.exp(1j * q[0] * x), 0, 1, complex_func=True),
    "dblquad": lambda m, q: m.dblquad(lambda y, x: np.exp(q[0] * x * y), 0, 1, 0, 1),
    "nquad": lambda m, q: m.nquad(lambda y, x: np.exp(q[0] * x * y), [(0, 1), (0, q[1])]),
    "quad_vec": lambda m, q: m.quad_vec(lambda x: np.exp(q[:3] * x), 0.0, 1.0),
    "cubature": lambda m, q: m.cubature(lambda p: np.exp(q[0] * p[:, 0]), [0.0], [1.0]),
    "fixed_quad": lambda m, q: m.fixed_quad(_growth(q), 0.0, 1.0),
    "solve_ivp": lambda m, q: m.solve_ivp(
        lambda t, y: -q[1] * y,
        (0, 1.0),
        q[:1],
        t_eval=[0.1, 0.6, 1.0],
        events=lambda t, y: y[0] - 0.4,
        rtol=1e-9,
        atol=1e-9,
    ),
    "solve_ivp stopped": lambda m, q: (
        lambda found: (found.sol(0.4), found.sol.t_max, found.sol.t_min, found.t[-1], found.message)
    )(
        m.solve_ivp(
            lambda t, y: -q[1] * y, (0, 5.0), q[:1], events=_stop, dense_output=True, rtol=1e-9
        )
    ),
    "odeint": lambda m, q: m.odeint(lambda y, t: -q[1] * y, q[:1], [0, 0.5, 1], full_output=True),
    "solve_bvp": lambda m, q: m.solve_bvp(
        lambda x, y: np.stack([y[1], -q[1] * y[0]]),
        lambda a, b: np.stack([a[0] - q[0], b[0]]),
        [0.0, 0.5, 1.0],
        np.ones((2, 3)),
        tol=1e-7,
    ),
}
PROGRAMS = {
    **{name: (scipy.optimize, chainrules_scipy.optimize, f) for name, f in OPTIMIZE.items()},
    **{name: (scipy.integrate, chainrules_scipy.integrate, f) for name, f in INTEGRATE.items()},
}
FIXED = (
    *("least_squares", "lsq_linear", "linprog", "root lm", "brentq", "minimize slsqp", "quad"),
    *("minimize bounds", "curve_fit absolute", "fmin", "fmin_l_bfgs_b", "brent", "fsolve"),
    "solve_bvp",
)


def _leaves(result: Any, name: str = "") -> dict[str, Any]:
    """All that a result holds, by what leads to it."""
    if hasattr(result, "items") and not isinstance(result, Unstated):
        pairs = result.items()
    elif isinstance(result, (list, tuple)):
        pairs = enumerate(result)
    else:
        return {name: result}
    return {k: x for key, part in pairs for k, x in _leaves(part, f"{name}.{key}").items()}


def _is_real(x):
    try:
        return np.asarray(x).dtype.kind in "fc"
    except NotDifferentiableError:
        return False


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [n if n in FIXED else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS]
)
def test_fields(name):
    theirs, ours, program = PROGRAMS[name]
    known = _leaves(program(theirs, Q))
    refused: dict[str, Any] = {}

    def stated(q):
        found = _leaves(program(ours, q))
        assert known.keys() - found.keys() <= {".nfev", ".njev", ".nlu", ".sol"}
        assert [k for k in found if k in known] == [k for k in known if k in found]
        refused.update({k: x for k, x in found.items() if isinstance(x, Unstated)})
        return {
            k: x
            for k, x in found.items()
            if k not in refused and k.rpartition(".")[2] != "execution_time" and _is_real(known[k])
        }

    values, slopes = jvp(stated, (Q,), (WAY,))
    truths = {h: [_leaves(program(theirs, Q + s * h * WAY)) for s in (1, -1)] for h in (1e-3, 3e-4)}
    for k, value in values.items():
        if np.size(known[k]) == 0:
            continue
        np.testing.assert_allclose(value, known[k], rtol=1e-5, atol=1e-6, err_msg=k)
        near, far = (
            (np.asarray(truths[h][0][k]) - np.asarray(truths[h][1][k])) / (2 * h)
            for h in (3e-4, 1e-3)
        )
        atol = 2e-3 * (1 + np.nanmax(abs(near))) + 2 * np.nanmax(abs(near - far))
        slope = np.broadcast_to(slopes[k] if _is_real(slopes[k]) else 0.0, np.shape(near))
        held = np.isfinite(near)  # a bound that is infinite has no difference
        np.testing.assert_allclose(slope[held], near[held], atol=atol, err_msg=k)
    assert not any(_is_real(x) and np.size(x) and k not in values for k, x in refused.items())


def test_uses_are_refused():
    def found(a):
        return chainrules_scipy.optimize.minimize(lambda x: np.sum((x - a) ** 2), [0.0, 1.0])

    uses = {
        "product": lambda x: x * 2.0,
        "sum": np.sum,
        "of NumPy": lambda x: np.ones((2, 2)) @ x,
        "part": lambda x: x[0, 0],
        "number": lambda x: float(x),
        "method": lambda x: x.sum(),
    }
    for use in uses.values():
        with pytest.raises(NotDifferentiableError, match=r"hess_inv depends on"):
            grad(lambda a, use=use: use(found(a).hess_inv))(0.3)
    assert grad(lambda a: a * found(a).hess_inv.plain[0, 0])(0.3) > 0
    assert "without a derivative" in repr(jvp(lambda a: repr(found(a)), (0.3,), (1.0,))[0])
    assert type(found(0.3).hess_inv) is np.ndarray


def _minimum(a):
    return chainrules_scipy.optimize.minimize(lambda x: np.sum((x - a) ** 2), [0.0, 1.0])


WHOLE = {
    "minimize": (_minimum, ("hess_inv", "jac")),
    "root": (lambda a: chainrules_scipy.optimize.root(lambda p: p**3 - a, [1.0]), ("fjac", "x")),
    "least_squares": (
        lambda a: chainrules_scipy.optimize.least_squares(lambda p: p - a, [0.0]),
        ("optimality", "grad"),
    ),
    "quad": (lambda a: chainrules_scipy.integrate.quad(lambda t: t * a, 0, 1), (1, 0)),
}
"""Results that are given whole, with a field that has no derivative, and one that has."""


@pytest.mark.parametrize("find, fields", WHOLE.values(), ids=list(WHOLE))
def test_whole_results_have_plain_numbers_outside(find, fields):
    bare, stated = fields
    known = find(0.3)
    for found in (
        vjp(find, 0.3)[0],
        jvp(find, (0.3,), (1.0,))[0],
        linearize(find, 0.3)[0],
        grad(lambda a: (a * a, find(a)), has_aux=True)(0.3)[1],
        jvp(lambda a: (a * a, {"r": find(a)}), (0.3,), (1.0,), has_aux=True)[2]["r"],
    ):
        assert type(found[bare]) is type(known[bare])
        np.testing.assert_allclose(found[bare], known[bare], atol=1e-6)
        np.testing.assert_allclose(found[stated], known[stated], atol=1e-6)
    for dot in (jvp(find, (0.3,), (1.0,))[1], linearize(find, 0.3)[1](1.0)):
        assert dot[bare] == NoTangent() != dot[stated]


def test_what_hangs_on_a_differentiation_outside_still_does():
    """Inside of it SciPy's number would have a derivative of zero."""
    inner = lambda a: grad(lambda z: (z * a, _minimum(z * a)), has_aux=True)(2.0)[1]
    assert isinstance(vjp(inner, 0.3)[0].hess_inv, np.ndarray)
    with pytest.raises(NotDifferentiableError, match="hess_inv depends on"):
        grad(lambda a: np.sum(inner(a).hess_inv))(0.3)
    alone = lambda a: grad(lambda z: (z * a, _minimum(z)), has_aux=True)(2.0)[1]
    assert grad(lambda a: a * np.sum(alone(a).hess_inv))(0.3) > 0


SAMPLE, OTHER = np.array([1.0, 2.0, 3.5, 2.2, 5.0]), np.array([2.0, 1.0, 4.0, 3.0, 7.0])
TESTS = {
    "ttest_1samp": lambda s, x: s.ttest_1samp(x, 0.4),
    "ttest_ind": lambda s, x: s.ttest_ind(x, OTHER),
    "ttest_rel": lambda s, x: s.ttest_rel(x, OTHER),
    "Welch": lambda s, x: s.ttest_ind(x, OTHER, equal_var=False),
    "pearsonr": lambda s, x: s.pearsonr(x, OTHER),
    "spearmanr": lambda s, x: s.spearmanr(x, OTHER),
    "linregress": lambda s, x: s.linregress(x, OTHER),
}


@pytest.mark.parametrize("test", TESTS.values(), ids=list(TESTS))
def test_whole_tests_of_samples(test):
    """They keep what their statistic was made of, as attributes."""
    known, way = test(scipy.stats, SAMPLE), np.array([0.3, -1.0, 0.5, 0.2, 1.0])
    f = lambda x: test(chainrules_scipy.stats, x)
    aux = grad(lambda x: (np.sum(x), f(x)), has_aux=True)(SAMPLE)[1]
    value, dot = jvp(f, (SAMPLE,), (way,))
    for found in (value, aux, vjp(f, SAMPLE)[0], linearize(f, SAMPLE)[0]):
        assert type(found) is type(known)
        np.testing.assert_allclose(found, known, rtol=1e-12)
        for name, x in vars(known).items():
            if _is_real(x):
                assert type(getattr(found, name)) is type(x)
                np.testing.assert_allclose(getattr(found, name), x, rtol=1e-12)
    if hasattr(known, "confidence_interval"):
        np.testing.assert_allclose(value.confidence_interval(), known.confidence_interval())
    up, down = (test(scipy.stats, SAMPLE + h * way) for h in (1e-5, -1e-5))
    if hasattr(known, "confidence_interval"):
        slope = jvp(lambda x: f(x).confidence_interval().low, (SAMPLE,), (way,))[1]
        near, far = (y.confidence_interval().low for y in (up, down))
        np.testing.assert_allclose(slope, (near - far) / 2e-5, atol=1e-7)
    for name, x in [*enumerate(known), *vars(known).items()]:
        if _is_real(x):
            near, far = (y[name] if type(name) is int else getattr(y, name) for y in (up, down))
            np.testing.assert_allclose(dot[name], (near - far) / 2e-5, atol=1e-7)


def test_a_cotangent_of_a_value_without_a_derivative_is_an_error():
    """It was ignored, as that of a constant."""

    def fitted(p):
        found = chainrules_scipy.optimize.minimize(lambda x: (x - p) @ (x - p), np.ones(2))
        return {"x": found.x, "hess_inv": found.hess_inv}

    pullback = vjp(fitted, 1.2)[1]
    np.testing.assert_allclose(pullback({"x": np.ones(2), "hess_inv": NoTangent()}), 2.0)
    with pytest.raises(NotDifferentiableError, match="compute it from the solution"):
        pullback({"x": np.ones(2), "hess_inv": np.eye(2)})
