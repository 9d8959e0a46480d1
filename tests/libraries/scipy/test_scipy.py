"""SciPy: its own values, rules of its functions, errors that name the line to write, loading."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import warnings

import mpmath
import numpy as np
import pytest
import scipy.fft
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats
from scipy.optimize import elementwise

import chainrules_scipy
from chainrules_kit import resolved
from chainrules_py import (
    DegeneracyWarning,
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    TracerError,
    UnsupportedKeywordError,
    frule,
    rrule,
)
from chainrules_py import ops as v
from chainrules_py.primitives.aliases.alias import aliases
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.values.structure import fields_of, is_structure_type
from chainrules_scipy import fft, integrate, interpolate, linalg, optimize, special, stats
from chainrules_tape import grad, hvp, jvp
from tests.libraries.scipy.samples.judge import samples
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.point import Point

RNG = np.random.default_rng(5)
OURS = [f"{m.__name__}.{name}" for m in (linalg, special) for name in m.__all__]
NAMES = [name for name in OURS if name in names_with_calls("scipy")]


def native(name):
    """SciPy's function of a name here."""
    module, _, last = name.removeprefix("chainrules_").rpartition(".")
    return getattr(sys.modules[module], last)


def leaves(y):
    if not is_structure_type(type(y)):
        return [y]
    return [leaf for _, field in fields_of(y) for leaf in leaves(field)]


# -------------------------------------------------------------------------------------- values

OWN = [call for name in NAMES for call in surface_calls(name)]


def comparable(call, y):
    """Without phases, and without what SciPy leaves lying about."""
    name = call.name.rpartition(".")[2]
    if name == "cho_factor":
        return (np.tril if np.all(y[1]) else np.triu)(y[0])
    if name in ("cosm", "sinm"):
        return np.asarray(y)
    return y if call.sample.gauge is None else call.sample.gauge(y)


@pytest.mark.parametrize("call", OWN, ids=str)
def test_values_are_those_of_scipy(call):
    point = Point(call)
    operands, keywords = point.arguments(point.xs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = comparable(call, point.f(*operands, **keywords))
        try:
            expected = comparable(call, native(call.name)(*operands, **keywords))
        except NotImplementedError:
            pytest.skip("SciPy cannot")
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        if a is b is None:
            continue
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9, atol=1e-11)
        assert np.shape(a) == np.shape(b)


def test_every_function_has_calls():
    entered = set(names_with_calls("scipy"))
    others = {f"chainrules_scipy.{name}" for name in samples()}
    assert not set(OURS) - entered - others
    rows = {f for f in aliases if type(f) is np.ufunc and f not in vars(np).values()}
    named = {getattr(scipy.special, n.rpartition(".")[2], None) for n in entered}
    private = {f.__name__ for f in rows - named if not f.__name__.startswith("_")}
    # Of itairy SciPy's values have six digits, pbvv gives NaN in single precision, and stdtridf
    # ends at 1e10: see below.
    judged = {name.removeprefix("special.") for name in samples()}
    assert private & set(scipy.special.__all__) <= {"itairy", "pbvv", "stdtridf"} | judged


def test_degrees_of_freedom():
    p, t, h = np.array([0.7, 0.8]), np.array([0.6, 0.95]), 1e-6
    for k in (0, 1):
        f = lambda z, k=k: scipy.special.stdtridf(
            *(z if i == k else x for i, x in enumerate((p, t)))
        )
        x = (p, t)[k]
        truth = (f(x + h) - f(x - h)) / (2 * h)
        found = grad(lambda z, f=f: np.sum(f(z)))(x)
        np.testing.assert_allclose(found, truth, rtol=1e-6)


@pytest.mark.parametrize("p, t", [(0.8, 0.5), (0.3, 0.7), (0.5, 0.7), (0.3, -0.5), (0.8, 0.0)])
def test_degrees_of_freedom_that_do_not_exist(p, t):
    assert grad(scipy.special.stdtridf, (0, 1))(p, t) == (0.0, 0.0)
    assert jvp(scipy.special.stdtridf, (p, t), (1.0, 1.0))[1] == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_exporters_find_what_computes_a_function(name):
    """SciPy's own, and the one here: an operation, or a composite of operations."""
    call = next(c for c in surface_calls(name) if c.sample.smooth)
    point = Point(call)
    operands, keywords = point.arguments(point.xs)
    expected = point.f(*operands, **keywords)
    for f in (native(name), point.f):
        found = resolved(f, tuple(operands), keywords)
        y = (
            found.call()
            if found.operation is None
            else found.operation(*found.operands, **found.options)
        )
        for after in found.after:
            y = after(y)
        for a, b in zip(leaves(y), leaves(expected), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", NAMES)
def test_rules_of_scipys_functions(name):
    """`rrule` and `frule` of the function itself, on plain arrays, are those of the one here."""
    call = next(c for c in surface_calls(name) if c.sample.smooth)
    point = Point(call)
    operands, keywords = point.arguments(point.xs)
    if not all(isinstance(x, np.ndarray) for x in operands):
        pytest.skip("structures and numbers are seen to by the calls")
    y, pullback = rrule(native(name), *operands, **keywords)
    z, other = rrule(getattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2]),
                     *operands, **keywords)  # fmt: skip
    fields = list(y) if type(y) is tuple else [y]
    bars = [
        RNG.standard_normal(np.shape(t)) if np.asarray(t).dtype.kind in "fc" else NoTangent()
        for t in fields
    ]
    y_bar = tuple(bars) if type(y) is tuple else bars[0]
    # SciPy's own results may differ in the last bit from call to call.
    for a, b in zip(leaves(y), leaves(z), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    for a, b in zip(pullback(y_bar), other(y_bar), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    ts = tuple([RNG.standard_normal(x.shape) for x in operands])
    _, y_dot = frule(ts, native(name), *operands, **keywords)
    parts = [y_dot[i] for i in range(len(y))] if type(y) is tuple else [y_dot]
    pairs = [(a, b) for a, b in zip(parts, bars, strict=True) if not (is_zero(a) or is_zero(b))]
    pushed = sum(np.sum(np.real(a * b)) for a, b in pairs)
    pulled = sum(np.sum(a * t) for a, t in zip(pullback(y_bar), ts, strict=True))
    np.testing.assert_allclose(pushed, pulled, rtol=1e-9)


# -------------------------------------------------------------------------------------- errors

OTHER_ARGUMENTS = {
    "cho_solve": lambda f, x: f((np.eye(len(x)), True), x),
    "lu_solve": lambda f, x: f((np.eye(len(x)), np.arange(2)), x),
    "solve": lambda f, x: f(np.eye(len(x)), x),
    "solve_triangular": lambda f, x: f(np.eye(len(x)), x),
    "lstsq": lambda f, x: f(np.eye(len(x)), x),
    "solve_sylvester": lambda f, x: f(np.eye(len(x)), np.eye(len(x)), x),
    "solve_continuous_lyapunov": lambda f, x: f(np.eye(len(x)), x),
    "solve_discrete_lyapunov": lambda f, x: f(0.5 * np.eye(len(x)), x),
    "khatri_rao": lambda f, x: f(x, x),
    "polygamma": lambda f, x: f(1, x),
    "comb": lambda f, x: f(x, 1.0),
    "multigammaln": lambda f, x: f(x, 1),
}


@pytest.mark.parametrize("name", NAMES)
def test_scipys_function_says_what_to_write(name):
    module, _, last = name.rpartition(".")
    call = OTHER_ARGUMENTS.get(last, lambda f, x: f(x))
    f = native(name)
    large = 0.1 * np.ones((11, 11)) + np.eye(11)  # too many for an array of objects
    with pytest.raises((TracerError, AttributeError)) as caught:
        grad(lambda x: np.sum(call(f, x)))(large)
    assert f"from {module} import {last}" in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_scipys_function_of_an_array_of_objects_is_right_or_refused(name):
    call = OTHER_ARGUMENTS.get(name.rpartition(".")[2], lambda f, x: f(x))
    f, x = native(name), np.array([[2.0, 1.0], [1.0, 3.0]])
    total = lambda x: np.sum(call(f, x))
    try:
        slope = grad(total)(x)
    except (TracerError, AttributeError):
        return
    except Exception as error:
        if "array of objects" not in "".join(getattr(error, "__notes__", ())):
            raise
        return
    rows = 1e-6 * np.eye(4).reshape(4, 2, 2)
    truth = np.reshape([(total(x + row) - total(x - row)) / 2e-6 for row in rows], (2, 2))
    np.testing.assert_allclose(slope, truth, rtol=1e-6, atol=1e-8)


QR = np.linalg.qr(np.array([[2.0, 1.0], [1.0, 3.0]]))
PAIR = np.array([0.5, 1.25])
OF_OBJECTS = {
    "a type of the arguments": lambda x: scipy.linalg.qr_update(np.stack([x, x]), QR[1], x, x)[0],
    "a type in C": scipy.ndimage.binary_dilation,
    "a letter of LAPACK's": lambda x: scipy.linalg.rsf2csf(np.stack([x, x]), QR[0])[0],
    "a number that has no axes": lambda x: scipy.stats.chatterjeexi(x, PAIR).statistic,
    "a root": lambda x: elementwise.find_root(lambda t, x: t - x, (-9.0, 9.0), args=(x,)).x,
}


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_scipys_error_about_objects_says_what_to_write(name):
    with pytest.raises(TracerError, match=r"takes (numbers only|plain values).*\n.*\n  make it"):
        grad(lambda x: np.sum(OF_OBJECTS[name](x)))(PAIR)


OTHERS_OF_SCIPY = {
    "a function that calls one of ours": lambda x: (
        scipy.signal.place_poles(np.eye(2), np.outer(x, x) + np.eye(2), [-1.0, -2.0]).gain_matrix
    ),
    "a class with the constructor of another": lambda x: scipy.interpolate.BPoly(
        x[:, None], np.array([0.0, 1.0])
    )(0.5),
}


@pytest.mark.parametrize("name", OTHERS_OF_SCIPY)
def test_what_another_function_calls_is_not_written_in_its_place(name):
    with pytest.raises(TracerError) as caught:
        grad(lambda x: np.sum(OTHERS_OF_SCIPY[name](x)))(PAIR)
    assert "which takes the same" not in str(caught.value)


@pytest.mark.parametrize("module", [fft, scipy.fft], ids=["ours", "installed"])
def test_an_option_without_a_derivative_is_to_be_constant(module):
    """The advice to call ours would lead back here."""
    constant = r"ignore_derivatives\(x\) if that is constant, as dct"
    with chainrules_scipy.install(), pytest.raises(TracerError, match=constant):
        grad(lambda x: np.sum(module.dct(np.ones(3), type=x)))(2.0)


AT = np.array([0.0, 1.0, 2.0])
WITH_ARRAYS_OF_NUMBERS = {
    "root": lambda x, a: (
        optimize.root(lambda z: a([z[0] ** 3 + x[0] * z[0] - 1.0, z[1] + z[0] * x[1]]), PAIR).x
    ),
    "fsolve": lambda x, a: optimize.fsolve(
        lambda z, x: a([z[0] ** 3 + x[0] * z[0] - 1.0, z[1] + z[0] * x[1]]), PAIR, args=(x,)
    ),
    "a constraint": lambda x, a: (
        optimize.minimize(
            lambda z: np.sum((z - x) ** 2),
            np.zeros(2),
            constraints={"type": "eq", "fun": lambda z: a([z[0] + z[1] - x[0]])},
        ).x
    ),
    "quad_vec": lambda x, a: integrate.quad_vec(lambda t: a([x[0] * t, x[1] * t**2]), 0, 1)[0],
    "values of a spline": lambda x, a: interpolate.CubicSpline(AT, a([x[0], 1.0, x[1]]))(0.3),
    "points of a spline": lambda x, a: interpolate.CubicSpline(AT, AT**2)(a([x[0], x[1]])),
    "points by name": lambda x, a: interpolate.CubicSpline(AT, AT**2)(x=a([x[0], x[1]])),
    "a normal distribution": lambda x, a: stats.multivariate_normal.logpdf(
        PAIR, a([x[0], 0.5]), cov=a([[x[1], 0.5], [0.5, 2.0]])
    ),
    "a frozen one": lambda x, a: stats.multivariate_normal(mean=a([x[0], x[1]])).logpdf(AT[:2]),
}


@pytest.mark.parametrize("name", WITH_ARRAYS_OF_NUMBERS)
def test_an_array_of_traced_numbers_is_as_one_by_stack(name):
    f = WITH_ARRAYS_OF_NUMBERS[name]
    stacked = lambda rows: np.stack([np.stack(r) if isinstance(r, list) else r for r in rows])
    found, truth = [grad(lambda x, a=a: np.sum(f(x, a)))(PAIR) for a in (np.array, stacked)]
    np.testing.assert_allclose(found, truth, rtol=1e-9)
    assert np.any(truth)


def test_a_number_that_scipy_takes_for_an_array_says_what_to_write():
    tested = scipy.stats.quantile_test(np.arange(9.0), q=3.5, p=0.5)
    with pytest.raises(TracerError, match="make it an operation"):
        grad(lambda p: tested.confidence_interval(p).low)(0.9)


def test_a_ufunc_without_a_row_is_named():
    with pytest.raises(
        NotDifferentiableError, match=r"scipy\.special\.pro_ang1_cv has no derivative"
    ):
        grad(lambda c: scipy.special.pro_ang1_cv(1, 2, c, 1.7, 0.3)[0])(1.0)


REFUSED = [
    (lambda x: special.factorial(x, exact=True), "exact"),
    (lambda x: special.comb(x, 2, exact=True), "exact"),
    (lambda x: linalg.qr(np.eye(2) * x, mode="raw")[0], "raw"),
    (lambda x: linalg.eig(np.eye(2) * x, np.eye(2), left=True, right=False), "left"),
    (lambda x: linalg.eigvals(np.eye(2) * x, homogeneous_eigvals=True), "homogeneous"),
    (lambda x: scipy.special.erf(x, out=np.zeros(())), "plain float64"),
    (lambda x: scipy.special.erf(x, dtype=float), "dtype"),
    (lambda x: scipy.special.lambertw(x, tol=1e-3), "tol"),
]


@pytest.mark.parametrize("f, operation", REFUSED)
def test_keywords_without_a_derivative_are_refused(f, operation):
    with pytest.raises((UnsupportedKeywordError, TracerError), match=operation):
        jvp(f, (2.0,), (1.0,))


@pytest.mark.parametrize("x", [-7.3, -2.5, -0.4, 0.3, 1.7, 2.5, 8.0, 30.0])
def test_riemanns_zeta(x):
    truth = float(mpmath.diff(mpmath.zeta, x))
    assert abs(grad(scipy.special.zeta)(x) - truth) < 1e-11 * abs(truth)
    with pytest.raises(NotDifferentiableError, match="zeta"):
        grad(lambda z: scipy.special.zeta(z).real)(2.5 + 1j)


def _shape_calls():
    rng = np.random.default_rng(0)
    for _ in range(40):
        a, b = 10 ** rng.uniform(-2, 3, 2)
        x = a * 10 ** rng.uniform(-0.3, 0.3)
        # Each from its nearer end: the other part is 1, whose derivative has no digits.
        yield "gammainc", (a, x), 0, _gamma_part(x, a)
        y = float(np.clip(rng.beta(a, b), 1e-6, 1 - 1e-6))
        for place in (0, 1):
            yield "betainc", (a, b, y), place, _beta_part(a, b, y)


def _gamma_part(x, a):
    if x < a + 1:
        return lambda s, x: mpmath.gammainc(s, 0, x, regularized=True)
    return lambda s, x: -mpmath.gammainc(s, x, mpmath.inf, regularized=True)


def _beta_part(a, b, y):
    if y * (a + b) <= a:
        return lambda a, b, y: mpmath.betainc(a, b, 0, y, regularized=True)
    return lambda a, b, y: -mpmath.betainc(b, a, 0, 1 - y, regularized=True)


def test_shapes_against_many_digits():
    with mpmath.workdps(50):
        for name, xs, place, f in _shape_calls():
            found = grad(getattr(scipy.special, name), place)(*xs)
            exact = [mpmath.mpf(x) for x in xs]
            by = lambda s: f(*exact[:place], s, *exact[place + 1 :])  # noqa: B023
            truth = float(mpmath.diff(by, exact[place], h=mpmath.mpf(10) ** -18))
            assert abs(found - truth) < 2e-9 * abs(truth) + 1e-250, (name, xs, place)


def test_check_finite():
    x = np.array([[1.0, np.nan], [0.0, 1.0]])
    for f in (linalg.inv, linalg.cholesky, linalg.svdvals, linalg.solve_triangular):
        with pytest.raises(ValueError, match="infs or NaNs"):
            f(*[x] * (2 if f is linalg.solve_triangular else 1))
    with pytest.raises(ValueError, match="infs or NaNs"):
        grad(lambda t: np.sum(linalg.inv(x * t)))(1.0)


def test_multigammaln_checks_its_domain_as_scipy_does():
    with pytest.raises(ValueError, match="condition a"):
        special.multigammaln(0.2, 3)
    with pytest.raises(ValueError, match="positive integer"):
        grad(lambda a: special.multigammaln(a, 1.5))(2.0)


# ------------------------------------------------------------------------------- hard places


@pytest.mark.parametrize("n", [3, 30], ids=["small", "large"])
@pytest.mark.parametrize("complex", [False, True], ids=["real", "complex"])
def test_expm_on_both_sides_of_its_switch(n, complex):
    draw = lambda: RNG.standard_normal((n, n)) + 1j * complex * RNG.standard_normal((n, n))
    a, t, w = [x if complex else x.real for x in (draw() / n, draw(), draw())]
    h = 1e-5
    expected = (scipy.linalg.expm(a + h * t) - scipy.linalg.expm(a - h * t)) / (2 * h)
    y_dot = jvp(linalg.expm, (a,), (t,))[1]
    np.testing.assert_allclose(y_dot, expected, rtol=1e-6, atol=1e-7)
    _, pullback = rrule(linalg.expm, a)
    inner = lambda a, b: np.sum(np.real(np.conj(a) * b))
    np.testing.assert_allclose(inner(pullback(w)[0], t), inner(w, y_dot), rtol=1e-10)
    loss = lambda a: np.sum(np.real(linalg.expm(a)) ** 2)
    second = hvp(loss, (a,), (t,))
    second = second[-1] if isinstance(second, tuple) else second
    expected = (grad(loss)(a + h * t) - grad(loss)(a - h * t)) / (2 * h)
    np.testing.assert_allclose(second, expected, rtol=1e-5, atol=1e-5)


def test_logarithms_of_matrices_on_the_cut():
    """The logarithm of a real matrix with a negative eigenvalue is complex."""
    a = np.array([[-1.0, 0.3], [0.2, 2.0]])
    t, w = RNG.standard_normal((2, 2)), RNG.standard_normal((2, 2)) + 1j
    y_dot = jvp(linalg.logm, (a,), (t,))[1]
    assert np.iscomplexobj(linalg.logm(a))
    (bar,) = rrule(linalg.logm, a)[1](w)
    np.testing.assert_allclose(np.sum(bar * t), np.sum(np.real(np.conj(w) * y_dot)), rtol=1e-10)


ROWS = np.ones((3, 1)) * [1.3, 0.2, 0.5]  # whether its eigenvectors form a basis is rounding


@pytest.mark.parametrize(
    "f, matrix, message",
    [
        (lambda a: linalg.funm(a, np.exp), np.diag([0.7, 0.0], 1), "write expm"),
        (linalg.logm, ROWS, "logarithm of a singular matrix"),
        (lambda a: linalg.fractional_matrix_power(a, 0.5), ROWS, "logarithm of a singular matrix"),
    ],
)
@pytest.mark.filterwarnings("ignore")  # SciPy's, of its value
def test_functions_of_a_matrix_of_rank_1_are_refused(f, matrix, message):
    with pytest.raises(NotDifferentiableError, match=message):
        jvp(f, (matrix,), (np.eye(3),))


def test_the_square_root_of_a_singular_matrix_is_reported():
    slope = grad(lambda a: np.sum(linalg.sqrtm(a)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
        with pytest.warns(DegeneracyWarning, match="singular"):
            slope(np.diag([0.0, 1.0]))
    slope(np.diag([0.5, 1.0]))  # nothing is said


def test_polar_factors_of_an_orthogonal_matrix():
    """Equal singular values do no harm to what does not depend on singular vectors."""
    a, t = np.array([[0.0, -1.0], [1.0, 0.0]]), RNG.standard_normal((2, 2))
    h = 1e-6
    expected = (scipy.linalg.polar(a + h * t)[0] - scipy.linalg.polar(a - h * t)[0]) / (2 * h)
    found = jvp(lambda a: linalg.polar(a)[0], (a,), (t,))[1]
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_what_a_structure_does_not_read_has_no_derivative():
    a = RNG.standard_normal((3, 3)) + 4 * np.eye(3)
    for structure, read in (
        ("sym", np.triu),
        ("pos", np.triu),
        ("upper triangular", np.triu),
        ("lower triangular", np.tril),
        ("diagonal", lambda x: np.diag(np.diag(x))),
    ):
        f = lambda a, s=structure: np.sum(linalg.solve(a, np.arange(3.0), assume_a=s))
        found = grad(f)(a)
        np.testing.assert_array_equal(found, read(found))
        assert np.any(found)


def test_the_inverse_of_a_diagonal_that_scipy_leaves_numbers_beside():
    f = lambda a: linalg.inv(a, assume_a="diagonal")
    found = jvp(f, (np.diag([2.0, 4.0]),), (np.array([[1.0, 3.0], [3.0, 1.0]]),))
    np.testing.assert_allclose(found[1], np.diag([-0.25, -0.0625]))
    with pytest.raises(NotDifferentiableError, match=r"give it a \* np.eye\(n\)"):
        jvp(f, (np.array([[1.0, 2.0], [3.0, 4.0]]),), (np.eye(2),))


def test_a_gaussian_log_likelihood_shares_its_factor():
    """Cholesky, two triangular systems, the determinant off the diagonal: against the inverse."""
    n = 40
    x = RNG.standard_normal((n, n))
    k, y = x @ x.T + n * np.eye(n), RNG.standard_normal(n)

    def loss(k):
        c, lower = linalg.cho_factor(k, lower=True)
        quadratic = y @ linalg.cho_solve((c, lower), y)
        return 0.5 * quadratic + np.sum(np.log(np.diagonal(c)))

    inverse = np.linalg.inv(k)
    alpha = inverse @ y
    expected = 0.5 * (inverse - np.outer(alpha, alpha))
    found = grad(loss)(k)
    np.testing.assert_allclose(0.5 * (found + found.T), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", ["solve_continuous_are", "solve_discrete_are"])
def test_riccatis_equations_by_nested_differentiations(name):
    """Each operand has one level, and the mixed derivative the order 2."""
    a, b, h = np.array([[0.0, 1.0], [2.0, -0.3]]), np.array([[0.0], [1.0]]), 1e-5
    f = lambda q, r: getattr(linalg, name)(a, b, q * np.eye(2), r * np.eye(1))[0, 0]
    slope = lambda r: grad(f, 0)(1.0, r)
    truth = (slope(1.3 + h) - slope(1.3 - h)) / (2 * h)
    mixed = grad(slope)(1.3), grad(lambda q: grad(f, 1)(q, 1.3))(1.0)
    np.testing.assert_allclose(mixed, truth, rtol=1e-7)


@pytest.mark.parametrize("name", ["solve_continuous_are", "solve_discrete_are"])
def test_riccatis_equations_with_a_matrix_that_is_not_symmetric(name):
    """With it and ``balanced=True`` SciPy 1.17 gives what does not solve the equation."""
    a, one = np.array([[2.0, 0.3], [0.2, 1.5]]), np.eye(2)
    f = lambda e, of, **how: getattr(of, name)(a, one, a @ a.T, one, e, 0.1 * a, **how)[0, 1]
    e, h = np.array([[1.2, 0.3], [0.1, 0.9]]), 1e-6
    known = lambda e: f(e, scipy.linalg, balanced=False)
    steps = h * np.eye(4).reshape(4, 2, 2)
    truth = [(known(e + step) - known(e - step)) / (2 * h) for step in steps]
    found = grad(lambda e: f(e, linalg, balanced=False))(e)
    np.testing.assert_allclose(np.ravel(found), truth, rtol=1e-6)
    if not np.isclose(f(e, scipy.linalg), known(e)):
        with pytest.raises(NotDifferentiableError, match="balanced=False"):
            grad(lambda e: f(e, linalg))(e)


def test_float32_stays():
    x = np.ones((2, 2), np.float32) + np.eye(2, dtype=np.float32)
    for f in (linalg.expm, linalg.logm, linalg.sqrtm, linalg.inv, linalg.cholesky):
        assert grad(lambda x, f=f: np.sum(f(x)))(x).dtype == np.float32
    assert grad(lambda x: np.sum(scipy.special.gammaln(x)))(x).dtype == np.float32
    assert grad(lambda x: np.sum(scipy.special.digamma(x)))(x).dtype == np.float32


# -------------------------------------------------------------------------------------- loading


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_ufunc_of_scipys_loads_its_rows():
    out = run(
        """
        import sys, numpy as np, scipy.special
        from chainrules_tape import grad
        grad(lambda x: np.sum(np.sin(x)))(np.ones(2))
        print("chainrules_scipy" in sys.modules)
        print(grad(lambda x: np.sum(scipy.special.erf(x)))(np.zeros(1)) ** 2 * np.pi)
        """
    )
    assert out.splitlines() == ["False", "[4.]"]


def test_one_part_of_scipy_does_not_load_the_others():
    """`scipy.stats` takes most of a second."""
    out = run(
        """
        import sys, numpy as np
        from scipy.special import erf, gammaln
        from chainrules_scipy.special import logsumexp
        from chainrules_tape import grad
        grad(lambda x: np.sum(erf(x) * gammaln(x)) + logsumexp(x))(np.ones(2))
        print([name for name in sys.modules if name.startswith("scipy.stats")])
        """
    )
    assert out == "[]"


def test_an_operation_of_numpys_arrays_is_computed_by_scipy():
    out = run(
        """
        import sys, numpy as np
        import chainrules_py.ops as v
        print("scipy" in sys.modules)
        print(v.digamma(np.ones(1)), v.gamma(4.0), "chainrules_scipy" in sys.modules)
        """
    )
    assert out.splitlines() == ["False", "[-0.57721566] 6.0 True"]


def test_without_scipy_the_error_says_what_is_missing():
    out = run(
        """
        import sys, numpy as np
        sys.modules["scipy"] = None
        import chainrules_py as cr
        try:
            cr.ops.digamma(np.ones(1))
        except cr.NoRuleError as error:
            print(error)
        """
    )
    assert "nothing computes digamma(ndarray)" in out
    assert "call it on NumPy's arrays" not in out
    assert "pip install 'chainrules-py[scipy]'" in out.splitlines()[1]


def test_rules_of_the_users_own_come_first():
    out = run(
        """
        import numpy as np, scipy.special
        from chainrules_py import rrule, scalar_rule
        scalar_rule(scipy.special.erf, lambda _y, _x: 7.0)
        print(rrule(scipy.special.erf, np.ones(1))[1](np.ones(1)))
        """
    )
    assert out == "(array([7.]),)"


def test_implementations_by_ufuncs_are_of_the_backends_layer():
    """A ufunc names no module, and would pass for the user's."""
    from chainrules_py.primitives.plugins import Layer, layer_of

    for operation in (v.erf, v.xlogy, v.jv):
        layers = {layer_of(module) for _, _, module in operation._methods.methods}
        assert Layer.BACKEND in layers
        assert Layer.USER not in layers


def test_the_contract_is_stated():
    assert chainrules_scipy.chainrules_contract == 1
    with pytest.raises(NoRuleError, match="not a primitive"):
        rrule(scipy.linalg.cossin, np.eye(2))
    assert v.expm is not linalg.expm


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (3, 2), (1, 3), (3, 1)])
@pytest.mark.parametrize("mode", ["full", "r", "economic"])
def test_rq_of_every_shape(shape, mode):
    rng = np.random.default_rng(3)
    a, t = rng.normal(size=(2, *shape))

    def factors(a, rq=scipy.linalg.rq):
        found = rq(a, mode=mode)
        return found if isinstance(found, tuple) else (found,)

    y, y_dot = jvp(lambda a: factors(a, linalg.rq), (a,), (t,))
    known = factors(a)
    after, before = factors(a + 1e-6 * t), factors(a - 1e-6 * t)
    for i, (found, moved) in enumerate(zip(y, y_dot, strict=True)):
        np.testing.assert_allclose(found, known[i], atol=1e-12)
        free = max(shape[1] - shape[0], 0) if (mode, i) == ("full", 1) else 0  # rows that are free
        np.testing.assert_allclose(moved[free:], ((after[i] - before[i]) / 2e-6)[free:], atol=1e-6)
    bar = rng.normal(size=y[0].shape)
    gradient = grad(lambda a: np.sum(bar * factors(a, linalg.rq)[0]))(a)
    np.testing.assert_allclose(np.sum(gradient * t), np.sum(bar * y_dot[0]), rtol=1e-9)


def test_scipys_array_api_dispatch():
    """It has ufuncs inside of functions, and was an error at import."""
    program = (
        "import numpy as np, scipy.special, scipy.stats, chainrules_scipy\n"
        "from chainrules_tape import grad\n"
        "with chainrules_scipy.install():\n"
        "    print(grad(lambda x: scipy.special.betainc(2.0, 3.0, x))(0.5).round(6))\n"
        "    print(grad(lambda x: scipy.stats.norm.logpdf(x))(0.5).round(6))\n"
    )
    environment = os.environ | {"SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert run.stdout == "1.5\n-0.5\n", run.stderr


def test_an_updated_factorisation_of_traced_matrices_is_refused_by_our_error():
    def f(x):
        return np.sum(scipy.linalg.qr_delete(*np.linalg.qr(x), 0)[1])

    with pytest.raises(TracerError, match="make it an operation"):
        grad(f)(np.eye(3) + np.arange(9.0).reshape(3, 3))


def test_ufuncs_are_found_beside_the_functions_that_are_replaced():
    """As a program of autograd imports both kinds."""
    from chainrules_scipy.special import gammaln, logsumexp

    slope = grad(lambda x: logsumexp(gammaln(x)))
    x, h = np.array([1.5, 2.5, 4.0]), 1e-6
    value = lambda x: scipy.special.logsumexp(scipy.special.gammaln(x))
    truth = [(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(slope(x), truth, rtol=1e-7)
