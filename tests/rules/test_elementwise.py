"""Rules for functions that act element by element, as users of NumPy call them.

The samples of each operation are judged in ``tests/testing/test_samples.py``; here are another
library as the oracle, values, dtypes, and the calls of NumPy that are more than an operation. See
``test_kinks`` and, for operators, ``tests/core/tracing``.
"""

import itertools
import math

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    NoTangent,
    UnsupportedKeywordError,
    ZeroTangent,
    frule,
    primitive,
    rrule,
    rule,
)
from chainrules_py import ops as v
from chainrules_tape import grad, hessian, hvp, jvp, linearize, vjp

INF, NAN = math.inf, math.nan


def total(f):
    return lambda *xs: np.sum(f(*xs))


def forward(f):
    """The derivative of a function of one number, by forward mode."""
    return lambda x: jvp(f, (x,), (np.ones(x.shape, x.dtype) if hasattr(x, "shape") else 1.0,))[1]


# ------------------------------------------------------------------------------ JAX as the oracle

EVERYWHERE = np.array([-1.7, -0.6, 0.3, 1.2])
POSITIVE = np.array([0.2, 0.9, 1.7, 3.0])
INSIDE = np.array([-0.9, -0.3, 0.2, 0.8])
ABOVE = np.array([1.1, 1.9, 4.0, 9.0])

UNARY = [
    ("negative", EVERYWHERE),
    ("positive", EVERYWHERE),
    ("square", EVERYWHERE),
    ("reciprocal", EVERYWHERE),
    ("sqrt", POSITIVE),
    ("cbrt", EVERYWHERE),
    ("exp", EVERYWHERE),
    ("exp2", EVERYWHERE),
    ("expm1", EVERYWHERE),
    ("log", POSITIVE),
    ("log1p", POSITIVE),
    ("log2", POSITIVE),
    ("log10", POSITIVE),
    ("sin", EVERYWHERE),
    ("cos", EVERYWHERE),
    ("tan", EVERYWHERE),
    ("arcsin", INSIDE),
    ("arccos", INSIDE),
    ("arctan", EVERYWHERE),
    ("sinh", EVERYWHERE),
    ("cosh", EVERYWHERE),
    ("tanh", EVERYWHERE),
    ("arcsinh", EVERYWHERE),
    ("arccosh", ABOVE),
    ("arctanh", INSIDE),
    ("absolute", EVERYWHERE),
    ("fabs", EVERYWHERE),
    ("sign", EVERYWHERE),
    ("deg2rad", EVERYWHERE),
    ("radians", EVERYWHERE),
    ("rad2deg", EVERYWHERE),
    ("degrees", EVERYWHERE),
    ("sinc", EVERYWHERE),
    ("floor", EVERYWHERE),
    ("ceil", EVERYWHERE),
    ("trunc", EVERYWHERE),
    ("rint", EVERYWHERE),
    ("round", EVERYWHERE),
    ("real", EVERYWHERE),
    ("conjugate", EVERYWHERE),
    ("nan_to_num", EVERYWHERE),
]
OTHER = np.array([0.7, 1.3, -0.4, 2.5])
BINARY = [
    ("add", EVERYWHERE, OTHER),
    ("subtract", EVERYWHERE, OTHER),
    ("multiply", EVERYWHERE, OTHER),
    ("divide", EVERYWHERE, OTHER),
    ("true_divide", EVERYWHERE, OTHER),
    ("power", POSITIVE, OTHER),
    ("float_power", POSITIVE, OTHER),
    ("remainder", EVERYWHERE, OTHER),
    ("mod", EVERYWHERE, OTHER),
    ("fmod", EVERYWHERE, OTHER),
    ("floor_divide", EVERYWHERE, OTHER),
    ("hypot", EVERYWHERE, OTHER),
    ("arctan2", EVERYWHERE, OTHER),
    ("logaddexp", EVERYWHERE, OTHER),
    ("logaddexp2", EVERYWHERE, OTHER),
    ("maximum", EVERYWHERE, OTHER),
    ("minimum", EVERYWHERE, OTHER),
    ("fmax", EVERYWHERE, OTHER),
    ("fmin", EVERYWHERE, OTHER),
    ("copysign", EVERYWHERE, OTHER),
]


@pytest.fixture(scope="module")
def jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax


@pytest.mark.parametrize("name, x", UNARY, ids=lambda p: p if isinstance(p, str) else "")
def test_unary_against_jax(jax, name, x):
    ours, theirs = getattr(np, name), getattr(jax.numpy, name)
    first = jax.vmap(jax.grad(theirs))
    second = jax.vmap(jax.grad(jax.grad(theirs)))
    third = jax.vmap(jax.grad(jax.grad(jax.grad(theirs))))
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    d1 = grad(total(ours))
    d2 = grad(total(d1))
    close(d1(x), first(x))
    close(forward(ours)(x), first(x))
    close(d2(x), second(x))
    close(forward(d1)(x), second(x))
    close(grad(total(forward(ours)))(x), second(x))
    close(forward(forward(ours))(x), second(x))
    close(grad(total(d2))(x), third(x))


@pytest.mark.parametrize("name, x, y", BINARY, ids=lambda p: p if isinstance(p, str) else "")
def test_binary_against_jax(jax, name, x, y):
    ours = getattr(np, name)
    theirs = getattr(jax.numpy, "power" if name == "float_power" else name)
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
    for argnums in (0, 1):
        d1, d1_theirs = grad(total(ours), argnums), jax.grad(lambda *a: theirs(*a).sum(), argnums)
        close(d1(x, y), d1_theirs(x, y))
        for second in (0, 1):
            d2 = grad(total(d1), second, unused="zero")(x, y)
            close(d2, jax.grad(lambda *a, g=d1_theirs: g(*a).sum(), second)(x, y))
            tangents = [ZeroTangent(), ZeroTangent()]
            tangents[second] = np.ones(4)
            close(jvp(d1, (x, y), tuple(tangents))[1], d2)


COMPLEX = [
    ("square", 1.0),
    ("reciprocal", 1.0),
    ("sqrt", 1.0),
    ("exp", 1.0),
    ("expm1", 1.0),
    ("log", 1.0),
    ("log1p", 1.0),
    ("log2", 1.0),
    ("log10", 1.0),
    ("sin", 1.0),
    ("cos", 1.0),
    ("tan", 1.0),
    ("arcsin", 1.0),
    ("arccos", 1.0),
    ("arctan", 1.0),
    ("sinh", 1.0),
    ("cosh", 1.0),
    ("tanh", 1.0),
    ("arcsinh", 1.0),
    ("arccosh", 1.0),
    ("arctanh", 1.0),
    ("absolute", 1.0),
    ("sign", 1.0),
    ("real", 1.0),
    ("imag", 1.0),
    ("angle", 1.0),
    ("conjugate", 1.0),
]


@pytest.mark.parametrize("name", [name for name, _ in COMPLEX])
def test_complex_is_a_plane(name):
    """The pullback of w is dL/dx + i dL/dy for L = Re(conj(w) f), by differences along 1 and i."""
    f = getattr(np, name)
    z = np.array([1.3 + 0.4j, -0.7 + 1.1j, -1.6 - 0.3j, 0.2 - 0.9j])
    w = np.array([0.5 - 1.0j, 1.0 + 2.0j, -0.3 + 0.1j, 1.5 + 0.7j])
    y, pullback = vjp(f, z)
    w = w if np.iscomplexobj(y) else w.real
    loss = lambda z: (np.conj(w) * f(z)).real
    h = 1e-5
    along = lambda d: (
        (8 * (loss(z + h * d) - loss(z - h * d)) - loss(z + 2 * h * d) + loss(z - 2 * h * d))
        / (12 * h)
    )
    (z_bar,) = pullback(w)
    assert z_bar.dtype == z.dtype
    np.testing.assert_allclose(z_bar, along(1) + 1j * along(1j), rtol=1e-8, atol=1e-9)
    dz = np.array([0.3 + 1j, -1 + 0.2j, 0.5j, 2.0])
    y_dot = jvp(f, (z,), (dz,))[1]
    assert y_dot.dtype == y.dtype
    np.testing.assert_allclose((np.conj(w) * y_dot).real, (np.conj(z_bar) * dz).real, rtol=1e-9)


# ------------------------------------------------------------------------------------ same values

AWKWARD = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e300, -1e-310, INF, -INF, NAN])


@pytest.mark.parametrize("name", sorted({n for n, *_ in UNARY + BINARY}))
def test_tracing_changes_no_bit(name):
    f = getattr(np, name)
    arity = 2 if name in {n for n, *_ in BINARY} else 1
    operands = (AWKWARD[:, None], AWKWARD)[:arity] if arity == 2 else (AWKWARD,)
    with np.errstate(all="ignore"):
        expected = f(*operands)
        assert vjp(f, *operands)[0].tobytes() == expected.tobytes()
        assert (
            jvp(f, operands, tuple(np.ones_like(x) for x in operands))[0].tobytes()
            == expected.tobytes()
        )
        for xs in itertools.product(AWKWARD.tolist(), repeat=arity):
            y, expected = vjp(f, *xs)[0], f(*xs)
            assert type(y) is type(expected)  # np.real(0.5) is a float
            assert np.float64(y).tobytes() == np.float64(expected).tobytes()


def test_warnings_are_numpys():
    for f, x in ((np.log, 0.0), (np.sqrt, -1.0), (np.reciprocal, 0.0)):
        with pytest.warns(RuntimeWarning):
            vjp(f, x)
    with np.errstate(all="raise", under="ignore"):
        grad(grad(np.sinc))(1e16)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", sorted({n for n, *_ in UNARY + BINARY} - {"float_power"}))
def test_dtypes_stay(name, dtype):
    f = getattr(np, name)
    operands = next((p[1:] for p in UNARY + BINARY if p[0] == name), None)
    operands = tuple(np.asarray(x, dtype) for x in operands)
    for xs in (operands, tuple(x[0] for x in operands), tuple(x[:1] for x in operands)):
        y, pullback = vjp(f, *xs)
        assert y.dtype == f(*xs).dtype
        bars = pullback(np.ones_like(y))
        assert all(b.dtype == dtype and b.shape == x.shape for b, x in zip(bars, xs, strict=True))
        y_dot = jvp(f, xs, tuple(np.ones_like(x) for x in xs))[1]
        assert y_dot.dtype == y.dtype
        assert y_dot.shape == y.shape


def test_no_record_is_wider_than_its_operands():
    """The partials have the dtype of the result: nothing is twice as wide on the way back."""
    x = np.full(3, 0.5, np.float32)
    for f in (
        lambda x: np.maximum(x, 1),
        lambda x: np.clip(x, 0, 2),
        lambda x: np.hypot(x, x),
        lambda x: x**2,
        lambda x: np.where(x > 0, x, 0),
        np.sinc,
        np.log2,
        np.deg2rad,
        lambda x: np.arctan2(x, 1.0),
        lambda x: x**0.5,
    ):
        seen = []

        @primitive
        def spied(x):
            return x

        @rule(spied)
        def spied_rule(x):
            return x, (LinearMap(None, lambda t: (seen.append(t.dtype), t)[1]),)  # noqa: B023

        grad(total(lambda x, f=f, spied=spied: f(spied(x))))(x)
        assert seen == [np.float32]


# ------------------------------------------------------------------------- calls that are no
# operations


X = np.array([-1.0, 0.5, 2.0])


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: np.clip(x, 0, 1), [0, 1, 0]),
        (lambda x: np.clip(x, a_min=0, a_max=1), [0, 1, 0]),
        (lambda x: np.clip(x, min=0, max=1), [0, 1, 0]),
        (lambda x: np.clip(x, None, 1), [1, 1, 0]),
        (lambda x: np.clip(x, 0, None), [0, 1, 1]),
        (lambda x: np.clip(x, min=0), [0, 1, 1]),
        (lambda x: np.clip(x, max=1), [1, 1, 0]),
        (lambda x: np.clip(x), [1, 1, 1]),
        (lambda x: np.clip(a=x, a_min=0, a_max=None, out=None), [0, 1, 1]),
        (lambda x: x.clip(0, 1), [0, 1, 0]),
        (lambda x: x.clip(0), [0, 1, 1]),
        (lambda x: x.clip(max=1), [1, 1, 0]),
        (lambda x: np.clip(X, x, 3), [0.5, 0.5, 0.5]),
        (lambda x: np.where(x > 0, x, 3 * x), [3, 1, 1]),
        (lambda x: np.where(X > 0, 1.0, x), [1, 0, 0]),
        (lambda x: x + np.round(x), [1, 1, 1]),
        (lambda x: x + np.around(x, 1), [1, 1, 1]),
        (lambda x: x + np.round(x, decimals=-1), [1, 1, 1]),
        (lambda x: x + x.round(2), [1, 1, 1]),
        (lambda x: np.nan_to_num(x), [1, 1, 1]),
        (lambda x: np.nan_to_num(np.where(x > 1, INF, x), posinf=7.0), [1, 1, 0]),
        (lambda x: np.nan_to_num(np.where(x > 1, NAN, x), nan=7.0), [1, 1, 0]),
        (lambda x: np.angle(x) * x, [math.pi, 0, 0]),
        (lambda x: np.angle(x, deg=True) * x, [180, 0, 0]),
        (lambda x: x.real + np.imag(x) + x.imag, [1, 1, 1]),
        (lambda x: x.conj() + x.conjugate() + np.real(x), [3, 3, 3]),
    ],
)
def test_calls_of_numpy(f, expected):
    assert np.array_equal(vjp(f, X)[0], f(X))
    if expected != [0.5, 0.5, 0.5]:
        np.testing.assert_allclose(grad(total(f))(X), expected, rtol=1e-14)
        np.testing.assert_allclose(jvp(f, (X,), (np.ones(3),))[1], expected, rtol=1e-14)


def test_bounds_are_differentiated():
    f = lambda lo, hi: np.clip(X, lo, hi)
    assert grad(total(f), (0, 1))(0.0, 1.0) == (1, 1)
    assert grad(total(lambda lo: np.clip(X, lo, None)))(np.array([0.0, 0.0, 0.0])).tolist() == [
        1,
        0,
        0,
    ]
    assert grad(total(lambda x: np.clip(X, x, 3)))(X).tolist() == [0, 0, 0]


def test_clip_with_bounds_of_two_names():
    with pytest.raises(ValueError, match="not as both"):
        grad(total(lambda x: np.clip(x, 0, 1, min=0)))(X)


def test_where_with_one_argument():
    assert grad(total(lambda x: x[np.where(x - 0.5)]))(X).tolist() == [1, 0, 1]


def test_condition_gets_no_cotangent():
    condition = np.array([True, False, True])
    _, pullback = rrule(v.where, condition, X, 2.0)
    c_bar, x_bar, y_bar = pullback(np.ones(3))
    assert c_bar is NoTangent() or c_bar == NoTangent()
    assert x_bar.tolist() == [1, 0, 1]
    assert y_bar == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sin(x, where=np.array([True, False, True])),
        lambda x: np.add(x, 1.0, dtype=int),
        lambda x: np.exp(x, signature="d->d"),
        lambda x: np.clip(x, 0, 1, where=np.array([True, False, True])),
        lambda x: np.round(x, out=np.empty(3)),
    ],
)
def test_refused_keywords(call):
    with pytest.raises(UnsupportedKeywordError):
        grad(total(call))(X)
    with pytest.raises(UnsupportedKeywordError):
        jvp(call, (X,), (np.ones(3),))


def test_defaults_are_not_refused():
    assert grad(total(lambda x: np.square(x, out=None, where=True, casting="same_kind")))(
        X
    ).tolist() == [-2, 1, 4]


def test_nan_to_num_in_place():
    with pytest.raises(UnsupportedKeywordError, match="leave copy out"):
        vjp(lambda x: np.nan_to_num(x, copy=False), X)


# ---------------------------------------------------------------------------------------- mixtures


def test_mixed_realness_and_dtypes():
    x = np.array([1.0, 2.0], np.float32)
    z = np.array([[1 + 2j], [0.5 - 1j]])
    for f in (np.multiply, np.add, np.divide, np.subtract, np.power):
        y, pullback = vjp(f, x, z)
        x_bar, z_bar = pullback(np.ones_like(y))
        assert (x_bar.dtype, x_bar.shape, z_bar.dtype, z_bar.shape) == (
            x.dtype,
            x.shape,
            z.dtype,
            z.shape,
        )
        dx, dz = np.array([0.3, -1.0]), np.array([[1j], [2 - 1j]])
        h = 1e-6
        x64 = x.astype(float)
        expected = (f(x64 + h * dx, z + h * dz) - f(x64 - h * dx, z - h * dz)) / (2 * h)
        y_dot = jvp(f, (x64, z), (dx, dz))[1]
        np.testing.assert_allclose(y_dot, expected, rtol=1e-7)
        left = np.sum(y_dot).real
        right = np.sum(x_bar * dx) + np.sum(np.conj(z_bar) * dz).real
        np.testing.assert_allclose(left, right, rtol=1e-5)


def test_sinc_near_zero_to_third_order():
    third = grad(grad(grad(lambda x: np.sinc(x))))
    second = grad(grad(lambda x: np.sinc(x)))
    assert math.isclose(second(0.0), -(math.pi**2) / 3, rel_tol=1e-14)
    assert math.isclose(second(1e-9), -(math.pi**2) / 3, rel_tol=1e-12)
    assert math.isclose(third(1e-3), math.pi**4 / 5 * 1e-3, rel_tol=1e-4)
    for x in (0.49999, 0.50001):
        h = 1e-5
        assert math.isclose(
            grad(lambda x: np.sinc(x))(x), (np.sinc(x + h) - np.sinc(x - h)) / (2 * h), rel_tol=1e-9
        )


def test_small_partials_keep_their_digits():
    assert math.isclose(grad(lambda x: np.expm1(x))(-40.0), math.exp(-40), rel_tol=1e-14)
    x = 1 - 1e-12
    assert math.isclose(
        grad(lambda x: np.arcsin(x))(x), 1 / math.sqrt((1 - x) * (1 + x)), rel_tol=1e-12
    )
    assert math.isclose(grad(lambda x: np.hypot(x, 1e200))(3e200), 3 / math.sqrt(10), rel_tol=1e-14)
    assert math.isclose(grad(lambda x: np.arctan2(x, 1e200))(1e200), 0.5e-200, rel_tol=1e-14)


def test_logaddexp_of_far_numbers():
    with np.errstate(all="raise", under="ignore"):
        assert grad(lambda x: np.logaddexp(x, 0.0))(1000.0) == 1
        assert grad(lambda x: np.logaddexp(x, 0.0))(-1000.0) == 0
        assert grad(lambda x: np.logaddexp(x, -INF))(1.0) == 1


@pytest.mark.parametrize("f", [np.multiply, np.maximum, np.power, np.hypot, np.add])
def test_booleans_of_python_are_data(f):
    x, ones = np.array([1.0, -2.0]), np.ones(2)
    (bar, nothing), (truth, _) = rrule(f, x, True)[1](ones), rrule(f, x, np.ones(2))[1](ones)
    assert np.array_equal(bar, truth)
    assert isinstance(nothing, NoTangent)
    assert np.array_equal(rrule(f, True, x)[1](ones)[1], rrule(f, np.ones(2), x)[1](ones)[1])


@pytest.mark.parametrize("f", [np.copysign, np.nextafter])
def test_numbers_that_a_function_is_constant_in_have_zero_tangents(f):
    x, y = np.array([1.0, -2.0]), np.array([-1.0, 2.0])
    for operands, t in (((x, y), np.ones(2)), ((1.0, 2.0), 1.0)):
        pullback = rrule(f, *operands)[1]
        assert isinstance(pullback(t)[1], ZeroTangent)
        assert isinstance(pullback(t, wanted=(False, True))[1], ZeroTangent)
        assert isinstance(pullback(ZeroTangent())[1], ZeroTangent)
        assert isinstance(frule((ZeroTangent(), t), f, *operands)[1], ZeroTangent)
    assert isinstance(rrule(np.heaviside, x, y)[1](np.ones(2))[0], ZeroTangent)


@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
def test_logaddexp_of_infinities(f):
    """The greater one has all of it."""
    for x, y, bars in (
        (INF, 0.0, (1, 0)),
        (0.0, -INF, (1, 0)),
        (1.0, 1.0, (0.5, 0.5)),
    ):
        assert np.array_equal(grad(f, (0, 1))(x, y), bars)
    assert np.allclose(hessian(lambda x: f(x[0], x[1]))(np.array([INF, 0.0])), 0)
    far = hessian(lambda x: f(x[0], x[1]))(np.array([0.0, 1000.0]))
    assert np.allclose(far, 0)
    near = hessian(lambda x: f(x[0], x[1]))(np.zeros(2))
    scale = 1.0 if f is np.logaddexp else math.log(2)
    assert np.allclose(near, scale * np.array([[0.25, -0.25], [-0.25, 0.25]]))


def test_fmod_where_the_quotient_is_nearly_whole():
    """trunc(x / y) is one too many: the quotient rounds up to a whole number."""
    y = 0.1
    x = np.nextafter(0.3, 0.0)
    n = round((x - np.fmod(x, y)) / y)
    assert grad(lambda y: np.fmod(x, y))(y) == -n


def test_rules_of_operations_and_aliases_agree():
    for f, operation in (
        (np.sin, v.sin),
        (np.power, v.pow),
        (np.arctan2, v.atan2),
        (np.absolute, v.abs),
    ):
        operands = (X[1:],) * len(operation.operands)
        y, pullback = rrule(f, *operands)
        z, pullback_of_operation = rrule(operation, *operands)
        assert np.allclose(y, z, rtol=1e-15)
        for a, b in zip(pullback(np.ones(2)), pullback_of_operation(np.ones(2)), strict=True):
            assert np.array_equal(a, b)


def nestings(f, x, t):
    """The first derivative along t, and the second, in every nesting of the modes."""
    gradient, along = grad(f), lambda x: jvp(f, (x,), (t,))[1]
    first = [np.sum(gradient(x) * t), along(x), linearize(f, x)[1](t)]
    second = [
        np.sum(jvp(gradient, (x,), (t,))[1] * t),
        np.sum(grad(lambda x: np.sum(gradient(x) * t))(x) * t),
        np.sum(grad(along)(x) * t),
        jvp(along, (x,), (t,))[1],
        linearize(along, x)[1](t),
        np.sum(hvp(f, (x,), (t,))[0] * t),
        np.asarray(t) @ hessian(f)(x) @ t if np.ndim(x) else hessian(f)(x) * t * t,
    ]
    return first, second


@pytest.mark.parametrize("power", [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 7.5])
@pytest.mark.parametrize("base", [[0.0, 1, 2], [0, 0, 3], [0.0, -0.0, 1]])
def test_a_power_of_zero_in_its_exponent(power, base):
    """0**p is 0 for all p around: so are its derivatives, in every order and nesting."""
    x = np.array(base)
    logs = np.log(x[x > 0])
    first, second = nestings(lambda p: np.sum(x**p), power, 1.0)
    np.testing.assert_allclose(first, np.sum(x[x > 0] ** power * logs), rtol=1e-12)
    np.testing.assert_allclose(second, np.sum(x[x > 0] ** power * logs**2), rtol=1e-12)


@pytest.mark.parametrize("power", [2.0, 2.5, 3.0, 4.0])
def test_a_power_of_zero_in_both(power):
    at, t = np.array([0.0, 1.0, power]), np.array([1.0, 0.5, -2.0])
    f = lambda z: np.sum(z[:2] ** z[2])
    first, second = nestings(f, at, t)
    n, m = power, power - 1
    bent = 2.0 if power == 2 else 0.0  # of 0**p, twice in the base
    assert np.allclose(first, 0.5 * n, rtol=1e-12)
    assert np.allclose(second, bent + n * m * 0.25 - 2 * 0.5 * 2.0, rtol=1e-12)


def test_logaddexp_keeps_its_digits_and_is_smooth_where_both_are_equal():
    """Its slope is an operation of its own, whose formula has kinks that its rule does not see."""
    x, y = (
        np.array([0.0, -40.0, 1e6, -np.inf, np.inf, -800.0]),
        np.array([0.0, 0, 1e6 + 1, 0, 0, 0]),
    )
    found = grad(lambda x: np.sum(np.logaddexp(x, y)))(x)
    few = math.exp(-40.0)
    expected = [0.5, few / (1 + few), 1 / (1 + math.e), 0.0, 1.0, 0.0]
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=0)
    for at in (0.0, np.float64(0.0), np.float64(0.7)):
        s = 1 / (1 + math.exp(-at))
        slopes = [s, s * (1 - s), s * (1 - s) * (1 - 2 * s), s * (1 - s) * (1 - 6 * s + 6 * s * s)]
        f = lambda t: np.logaddexp(0.0, t)
        for expected in slopes:
            f = grad(f)
            assert f(at) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("x", [300.0, np.float64(300.0), np.array([300.0, 0.5])], ids=repr)
def test_curvature_of_a_reciprocal_whose_cube_is_no_number(x):
    """(1 / cosh)'' = (1 - 2 / cosh²) / cosh, where 1 / cosh³ is 0."""
    f = lambda x: 1 / np.cosh(x)
    along = lambda f: lambda x: jvp(f, (x,), (np.ones(np.shape(x))[()],))[1]
    slope = lambda f: grad(lambda x: np.sum(f(x)))
    truth = (1 - 2 / np.cosh(x) ** 2) / np.cosh(x)
    for outer, inner in itertools.product((along, slope), repeat=2):
        np.testing.assert_allclose(outer(inner(f))(x), truth, rtol=1e-13)
