"""NumPy's ufuncs in any dtypes, with their keywords and methods, and operators with lists."""

from __future__ import annotations

import itertools
import operator
import warnings

import numpy as np
import pytest

from chainrules_py import (
    ChainRulesError,
    NoTangent,
    TracerError,
    UnsupportedKeywordError,
    ZeroTangent,
    frule,
    rrule,
)
from chainrules_py.extend import plain
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.zeros import is_zero
from chainrules_tape import grad, jvp, vjp

X = np.array([1.5, -0.5, 2.0])


def total(f):
    return lambda *xs: np.sum(f(*xs))


# ------------------------------------------------------------------------------- dtypes, mixed

DTYPES = ["float16", "float32", "float64", "int8", "int64", "bool", "complex64", "complex128"]
ARITHMETIC = ["add", "subtract", "multiply", "divide", "power", "float_power"]
REAL = ["hypot", "arctan2", "logaddexp", "maximum", "minimum", "fmax", "copysign", "remainder"]
PAIRS = [
    (name, *pair)
    for name in ARITHMETIC + REAL
    for pair in itertools.product(DTYPES, repeat=2)
    if not (name in REAL and any(d.startswith("complex") for d in pair))
]
WIDE = {"f": np.float64, "i": np.float64, "b": np.float64, "c": np.complex128}


def of_dtype(values, dtype):
    x = np.asarray(values)
    return x.astype(dtype) if dtype != "bool" else x > 2.5


@pytest.mark.parametrize("name, left, right", PAIRS)
def test_mixed_dtypes(name, left, right):
    """As precise as the result, though a partial would be computed in a smaller dtype of its own.

    The truth is the same rule where all is of double precision.
    """
    f = getattr(np, name)
    x, y = of_dtype([3.0, 2.0, 5.0], left), of_dtype([2.0, 3.0, 1.0], right)
    with np.errstate(all="ignore"):
        try:
            z = f(x, y)
        except TypeError:  # of two booleans, or of integers to a negative power
            return
        if z.dtype.kind not in "fc":
            return
        value, pullback = vjp(f, x, y)
        assert value.dtype == z.dtype
        assert value.tobytes() == z.tobytes()
        z_bar = np.ones_like(z) if z.dtype.kind == "f" else (1 + 0.5j) * np.ones_like(z)
        # Of one kind, unless realness is the point: a real operand has a real cotangent.
        wide = [t.astype(WIDE[t.dtype.kind]) for t in (x, y)]
        _, wide_pullback = vjp(f, *wide)
        eps = np.finfo(z.dtype).eps
        direct = rrule(f, x, y)[1](z_bar)
        for t, bar, same, truth in zip(
            (x, y), pullback(z_bar), direct, wide_pullback(z_bar.astype(complex)
            if any(w.dtype.kind == "c" for w in wide) else z_bar.astype(float)), strict=True
        ):  # fmt: skip
            if t.dtype == bool:
                assert bar is NoTangent()
                continue
            assert bar.dtype == t.dtype if t.dtype.kind in "fc" else bar.dtype.kind == "f"
            assert np.array_equal(bar, 0 * bar if is_zero(same) else same, equal_nan=True)
            coarse = max(eps, np.finfo(bar.dtype).eps)
            np.testing.assert_allclose(bar, truth, rtol=32 * coarse, atol=32 * coarse)


UNARY = """sin cos tan arctan arcsinh sinh tanh exp expm1 exp2 sqrt cbrt log log1p log2 log10 square
reciprocal absolute sign sinc deg2rad floor rint conjugate nan_to_num i0 angle real imag""".split()  # noqa: SIM905


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "complex64"])
@pytest.mark.parametrize("name", UNARY)
def test_one_operand_of_any_dtype(name, dtype):
    f, x = getattr(np, name), np.array([1, 3, 2], dtype)
    try:
        y = f(x)
    except TypeError:  # NumPy has no complex ones
        return
    value, pullback = vjp(f, x)
    assert (value.dtype, value.tobytes()) == (y.dtype, y.tobytes())
    if y.dtype.kind not in "fc":
        return
    (bar,) = pullback(np.ones_like(y))
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    (truth,) = vjp(f, x.astype(wide))[1](np.ones(3, wide if y.dtype.kind == "c" else float))
    assert bar.dtype == x.dtype if x.dtype.kind in "fc" else bar.dtype.kind == "f"
    eps = np.finfo(y.dtype).eps
    np.testing.assert_allclose(bar, truth, rtol=32 * eps, atol=32 * eps)


@pytest.mark.parametrize("left", ["int8", "float32", "float64"])
def test_the_logarithm_in_a_power_is_of_the_result(left):
    """log of int8 is of float16, and that of a float32 not what float64 needs."""
    x, p = np.array([3], left), np.array([1.7])
    expected = 3**1.7 * np.log(3.0)
    assert np.allclose(rrule(np.power, x, p)[1](np.ones(1))[1], expected, rtol=1e-15, atol=0)
    y_dot = frule((ZeroTangent(), np.ones(1)), np.power, x, p)[1]
    assert np.allclose(y_dot, expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("make", [float, np.float64, np.array, lambda x: np.array([x])])
def test_a_negative_base_with_a_complex_exponent(make):
    x, p = make(-3.0), np.array([1.7 + 1j])
    y = np.power(x, p)
    expected = y * np.log(-3 + 0j)
    p_dot = np.array([0.3 - 2j])
    assert np.allclose(jvp(lambda p: np.power(x, p), (p,), (p_dot,))[1], expected * p_dot)
    (p_bar,) = vjp(lambda p: np.power(x, p), p)[1](y)
    assert np.allclose(p_bar, np.conj(expected) * y)


def test_a_mask_as_a_factor_and_as_a_divisor():
    x = np.ones(2, np.float32)
    mask = np.array([True, True])
    for f in (np.multiply, np.divide, np.add, np.power):
        (x_bar,) = vjp(lambda x, f=f: f(x, mask), x)[1](x)
        assert x_bar.dtype == np.float32


# ------------------------------------------------------------------------------- lists as arrays


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: operator.add(x, [1.0, 2.0, 3.0]), [1, 1, 1]),
        (lambda x: [1.0, 2.0, 3.0] * x, [1, 2, 3]),
        (lambda x: (2, 4, 6) - x, [-1, -1, -1]),
        (lambda x: x ** [1, 2, 1], [1, -1, 1]),
        (lambda x: x * (x > [0, 0, 3]), [1, 0, 0]),
        (lambda x: operator.add(x[0], [1.0, 2.0]), [2, 0, 0]),
        (lambda x: np.multiply([1, 2, 3], x), [1, 2, 3]),
        (lambda x: np.maximum(x, [0, 0, 3]), [1, 0, 0]),
        (lambda x: np.where([True, False, True], x, [1, 2, 3]), [1, 0, 1]),
        (lambda x: np.clip(x, [0, 0, 0], [1, 3, 3]), [0, 0, 1]),
        (lambda x: np.matmul([[1, 2, 3]], x), [1, 2, 3]),
    ],
)
def test_lists_beside_traced_arrays(f, expected):
    assert np.array_equal(vjp(f, X)[0], f(X))
    assert grad(total(f))(X).tolist() == expected
    assert np.isclose(np.sum(jvp(f, (X,), (np.ones(3),))[1]), sum(expected))


def test_a_list_beside_a_traced_number_is_no_array():
    with pytest.raises(TypeError):
        grad(lambda x: operator.add(x, [1.0]))(2.0)


def test_a_list_with_a_traced_value_is_an_array_of_it():
    found = grad(lambda x: np.sum(np.multiply(x, [x[0], 1.0, 2.0])))(X)
    assert found.tolist() == [2.0 * X[0], 1.0, 2.0]


# ------------------------------------------------------------------------- divmod and its kin


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: divmod(x, 1.5)[1], 1),
        (lambda x: divmod(x, 1.5)[0] + x, 1),
        (lambda x: divmod(10.0, x)[1], -3),
        (lambda x: divmod(x, np.float64(1.5))[1], 1),
        (lambda x: divmod(np.float64(10.0), x)[1], -3),
        (lambda x: np.divmod(10.0, x)[1], -3),
        (lambda x: np.modf(x)[0] * np.modf(x)[1], 2),
        (lambda x: np.frexp(x)[0], 0.25),
        (lambda x: np.ldexp(np.frexp(x)[0], np.frexp(x)[1]), 1),
        (lambda x: np.ldexp(x, 3), 8),
    ],
)
def test_pairs_of_results(f, expected):
    for make in (float, np.float64, np.array):
        x = make(2.6)
        y, y_dot = jvp(f, (x,), (make(1.0),))
        assert type(y) is type(f(x))
        assert y == f(x)
        assert y_dot == expected
        assert grad(f)(x) == expected


def test_the_other_result_of_a_pair_may_have_no_cotangent():
    y, pullback = rrule(np.divmod, X, 1.2)
    assert type(y) is tuple
    zero = pullback(Tangent[tuple](np.ones(3), ZeroTangent()))[0]
    assert zero is ZeroTangent()
    both = pullback((np.ones(3), np.ones(3)))
    assert both[0].tolist() == [1, 1, 1]
    assert both[1] == -np.sum(y[0])


def test_what_a_pullback_gives_is_the_persons_also_out_of_a_pair():
    y_bar = np.ones(3)
    assert rrule(np.modf, X)[1]((y_bar, ZeroTangent()))[0] is not y_bar
    assert vjp(lambda x: (x, x), X)[1]((y_bar, ZeroTangent()))[0] is not y_bar


@pytest.mark.parametrize("op", [divmod, operator.mod, operator.floordiv])
def test_divmod_of_plain_arrays_from_the_left(op):
    plain = np.array([5.0, 7.0])
    f = lambda x: op(plain, x)
    y = f(np.array([1.6, 1.6]))
    traced = vjp(f, np.array([1.6, 1.6]))[0]
    assert np.array_equal(np.asarray(traced), np.asarray(y))


# ------------------------------------------------------------------------------------ keywords


def test_dtype_is_what_a_ufunc_computes_in():
    x = np.array([1, 2, 3], np.int32)
    y, pullback = vjp(lambda x: np.sqrt(x, dtype=np.float32), x)
    assert y.dtype == np.float32
    assert np.array_equal(y, np.sqrt(x, dtype=np.float32))
    assert pullback(np.ones(3, np.float32))[0].dtype.kind == "f"
    y, pullback = vjp(lambda x: np.add(x, 1.0, dtype=np.float32), X)
    assert y.dtype == np.float32
    assert pullback(np.ones(3, np.float32))[0].dtype == float


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.absolute(x, dtype=np.float32),
        lambda x: np.absolute((3 + 4j) * x, dtype=float),
        lambda x: np.fabs(x, dtype=np.longdouble),
        lambda x: np.sign(x, dtype=np.float16),
        lambda x: np.clip(x, -1, 9, dtype=None, casting="same_kind"),
    ],
)
def test_dtypes_of_functions_that_are_linear_in_pieces(call):
    x = np.array([1.5, -2.0, 4.0])
    y, pullback = vjp(call, x)
    assert y.dtype == call(x).dtype
    np.testing.assert_array_equal(y, call(x))
    slope = (call(x + 0.5) - call(x - 0.5)).astype(float)
    np.testing.assert_allclose(pullback(np.ones_like(y))[0], slope, rtol=1e-6)


@pytest.mark.parametrize(
    "call, name",
    [
        (lambda x: np.add(x, x, dtype=np.int64), "dtype"),
        (lambda x: np.add(x, 1j * x, dtype=float), "dtype"),
        (lambda x: np.absolute(1j * x, dtype=np.float32), "dtype"),
        (lambda x: np.divmod(x, x, dtype=np.float32), "dtype"),
        (lambda x: np.add(x, x, dtype=np.float32, casting="unsafe"), "casting"),
        (lambda x: np.add(x, x, where=[True, False, True]), "where"),
        (lambda x: np.greater(x, 2.0, where=x > 0), r"np\.greater\(.*\), False\)"),
        (lambda x: np.add(x, x, order="A"), "order"),
        (lambda x: np.rint(x, order="C"), "order"),
        (lambda x: np.add.reduce(x, out=np.zeros(())), "out"),
        (lambda x: np.add.outer(x, x, dtype=np.float32), "dtype"),
        (lambda x: np.modf(x, out=(np.empty(3), np.empty(3))), "out"),
        (lambda x: np.fix(x, out=np.empty(3)), "out"),
        (lambda x: np.clip(x, 0, 1, dtype=float), r"use np\.clip\(x, 0, 1\)\.astype\(float\)"),
        (lambda x: x.clip(0, 1, signature="ddd->d"), r"use x\.clip\(0, 1\)"),
        (lambda x: np.nanstd(1j * x, dtype=float), "nanstd of complex128"),
    ],
)
def test_other_keywords_are_refused(call, name):
    for run in (lambda: vjp(call, X), lambda: jvp(call, (X,), (np.ones(3),))):
        with pytest.raises(UnsupportedKeywordError, match=name):
            run()


@pytest.mark.parametrize("order", ["C", "F", None])
@pytest.mark.parametrize("x", [np.array(0.5), np.float64(0.5), 0.5, 0.5 + 0.25j])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, **how: np.conj(x, **how),
        lambda x, **how: np.exp(x, **how),
        lambda x, **how: np.power(x, np.float64(3), **how),
        lambda x, **how: np.add(np.ones((2, 3)), x, **how),
    ],
)
def test_with_an_order_numbers_have_the_types_of_numpy(call, x, order):
    seen = []
    y, pullback = vjp(lambda x: [y := call(x, order=order), seen.append(plain(y))][0], x)
    truth = call(x, order=order)
    assert type(seen[0]) is type(truth)
    np.testing.assert_array_equal(y, truth)
    assert seen[0].flags.c_contiguous == truth.flags.c_contiguous
    step = 1e-6
    slope = np.sum((call(x + step) - call(x - step)) / (2 * step))  # along a real direction
    (x_bar,) = pullback(np.ones_like(truth)[()])
    np.testing.assert_allclose(np.real(x_bar), np.real(slope), rtol=1e-8)
    assert np.ndim(x_bar) == 0


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize(
    "call",
    [
        lambda x, **how: np.exp(x, subok=False, **how),
        lambda x, **how: np.add(x, 2, **how),
        lambda x, **how: np.multiply(x, np.float32(3), **how),
        lambda x, **how: np.sqrt(x.astype(int), **how) * x,
        lambda x, **how: np.log(-3.0 * x[0], **how),
        lambda x, **how: np.clip(x, 0, None, **how),
        lambda x, **how: np.clip(x, np.arange(3), 2, **how),
        lambda x, **how: x.clip(max=[1.0, 2.0, 3.0], **how),
        lambda x, **how: x.astype(np.float32, subok=False, **how),
    ],
)
def test_casting_allows_what_numpy_allows(call, casting):
    with np.errstate(all="ignore"):
        try:
            want = call(X, casting=casting)
        except TypeError:
            with pytest.raises(TypeError):
                vjp(lambda x: call(x, casting=casting), X)
        else:
            y, pullback = vjp(lambda x: call(x, casting=casting), X)
            np.testing.assert_array_equal(y, want)
            np.testing.assert_array_equal(pullback(y)[0], vjp(call, X)[1](y)[0])


# ------------------------------------------------------------------------------------- methods


@pytest.mark.parametrize(
    "call, instead",
    [
        (lambda x: np.multiply.at(x, [0], 2.0), r"np\.multiply\.at .* np\.multiply\(x\[i\], y\)"),
        (lambda x: np.add.reduceat(x, [0, 1]), r"(?s)np\.add\.reduceat .* np\.stack"),
        (lambda x: np.subtract.reduce(x), r"use functools\.reduce\(np\.subtract, x\)"),
        (lambda x: np.divide.accumulate(x), r"itertools\.accumulate\(x, np\.divide\)"),
    ],
)
def test_methods_without_a_derivative_say_what_to_write(call, instead):
    for run in (lambda: vjp(call, X), lambda: jvp(call, (X,), (np.ones(3),))):
        with pytest.raises(TracerError, match=instead):
            run()


def test_reductions_of_extremes_want_an_initial_value_with_where():
    with pytest.raises(ValueError, match="identity"):
        grad(lambda x: np.maximum.reduce(x, where=X > 0))(X)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logaddexp_of_infinities(name):
    f = getattr(np, name).reduce
    x = np.array([-np.inf, 0.0, 800.0, -np.inf])
    y, pullback = vjp(f, x)
    assert y == f(x)
    np.testing.assert_allclose(pullback(np.float64(1.0))[0], [0, 0, 1, 0], atol=1e-200)


def test_running_extremes_take_the_last_of_equal_elements():
    x = np.array([1.0, 3.0, 3.0, 0.0, 3.0])
    for f, sign in ((np.maximum.accumulate, 1.0), (np.minimum.accumulate, -1.0)):
        _, pullback = vjp(f, sign * x)
        assert pullback(np.array([1.0, 10.0, 100.0, 1000.0, 1e4]))[0].tolist() == [
            1, 10, 1100, 0, 1e4
        ]  # fmt: skip
        t = np.arange(5.0)
        assert jvp(f, (sign * x,), (t,))[1].tolist() == [0, 1, 2, 2, 4]


def test_rules_of_methods_by_themselves():
    x = np.arange(6.0).reshape(2, 3)
    y, pullback = rrule(np.add.reduce, x)
    assert np.array_equal(y, x.sum(0))
    assert np.array_equal(pullback(np.array([1.0, 2.0, 3.0]))[0], [[1, 2, 3], [1, 2, 3]])
    y, y_dot = frule((np.ones(2), ZeroTangent()), np.multiply.outer, np.ones(2), X)
    assert np.array_equal(y_dot, [X, X])


# ---------------------------------------------------- methods of plain arrays with traced arguments


def test_clip_of_a_plain_array_with_traced_bounds():
    plain = np.array([-1.0, 0.5, 2.0])
    assert grad(lambda lo: np.sum(plain.clip(lo, 1.0)))(np.array(0.0)) == 1
    assert grad(lambda hi: np.sum(np.clip(plain, 0.0, hi)))(np.array([1.0, 1.0, 1.0])).tolist() == [
        0, 0, 1
    ]  # fmt: skip


@pytest.mark.parametrize("clip", [np.clip, lambda x, *given, out: x.clip(*given, out=out)])
def test_clip_into_a_traced_view(clip):
    """As of a ufunc, the result is written into the array that out= views."""

    def f(x):
        y = x * 1.0
        z = y[1:]
        assert clip(y[:2], -0.2 * x[2], 9.0, out=z) is z
        z[0] *= x[0]
        return y

    x_dot = np.array([1.0, 2.0, -1.0])
    y, y_dot = jvp(f, (X,), (x_dot,))
    np.testing.assert_array_equal(y, f(X))
    np.testing.assert_allclose(y_dot, (f(X + 1e-6 * x_dot) - f(X - 1e-6 * x_dot)) / 2e-6, rtol=1e-8)
    assert grad(total(f))(X) @ x_dot == pytest.approx(np.sum(y_dot), rel=1e-14)
    with pytest.raises(TracerError, match="written into the plain"):
        grad(total(lambda x: np.clip(x, 0, 1, out=np.empty(3))))(X)


def test_a_comparison_with_where_and_out():
    f = lambda x: x[np.greater(x, 0.0, where=np.isfinite(x), out=np.zeros(3, bool))]
    assert grad(total(f))(X).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "write",
    [
        lambda plain, x: operator.iadd(plain, x),
        lambda plain, x: operator.setitem(plain, 0, x[0]),
    ],
)
def test_writing_a_traced_value_into_a_plain_array_is_an_error(write):
    with pytest.raises((TracerError, UnsupportedKeywordError)):
        grad(lambda x: np.sum(write(np.zeros(3), x)))(X)


HOSTILE = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 1e308, 5e-324)


def test_no_derivative_warns_of_a_division_by_zero():
    """`docs/conventions.md`: of what is too large, or made of two infinities, NumPy may warn."""
    ufuncs = [f for f in vars(np).values() if isinstance(f, np.ufunc) and f.nin < 3 and f.nout == 1]
    for f in dict.fromkeys(ufuncs):
        for xs in itertools.product(HOSTILE, repeat=f.nin):
            with np.errstate(divide="raise", invalid="raise"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    y, pull = vjp(f, *xs)
                except (ChainRulesError, TypeError, ValueError, ArithmeticError):
                    continue  # NumPy warns of the value, or takes no such numbers
            with np.errstate(all="ignore", divide="raise"):
                try:
                    pull(np.ones_like(y))
                except (ChainRulesError, TypeError):
                    continue
