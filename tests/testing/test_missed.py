"""What was missed, or called wrong without reason: each with the smallest rule that shows it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, check_rule
from chainrules_tape import grad, jacobian, jvp

RISING = np.array([0.1, 0.2, 0.3])
N = NoTangent()


def leaves(x):
    return [*x.values()] if isinstance(x, dict) else [x]


def of_numpy(value, body):
    """A function of NumPy's arrays, with a reverse rule whose body gives the pull."""
    f = primitive(lambda x, /: value(x))

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        return value(x), body(x)

    return f


def sorted_by_gathering():
    """The pull of a sort scatters; at what is sorted already a gather is the same."""
    return of_numpy(lambda x, /: np.sort(x), lambda x: lambda t: (t[np.argsort(x)],))


def running_maximum():
    """Right where each number is the largest so far."""
    return of_numpy(lambda x, /: np.maximum.accumulate(x), lambda x: lambda t: (t,))


def gini():
    """Sums of ranked numbers, with the ranks of what is sorted already."""
    weights = lambda x: (2.0 * np.arange(1, x.size + 1) - x.size - 1) / x.size

    def value(x, /):
        return float(weights(x) @ np.sort(x))

    return of_numpy(value, lambda x: lambda t: (t * weights(x),))


@pytest.mark.parametrize("make", [sorted_by_gathering, running_maximum, gini])
def test_functions_of_an_order_are_judged_in_disorder(make):
    with pytest.raises(RuleCheckError):
        check_rule(make(), RISING)


WRONG_BUT_AT_ZERO = {
    "half the slope": (lambda x: x * x, lambda _y, x: x),
    "the other sign": (np.cos, lambda _y, x: v.sin(x)),
    "conjugated": (lambda x: x * x, lambda _y, x: 2.0 * v.conj(x)),
}


@pytest.mark.parametrize("x", [0.0, np.zeros(3), np.zeros((2, 2)), np.zeros(3, complex)], ids=repr)
@pytest.mark.parametrize("name", WRONG_BUT_AT_ZERO)
def test_a_slope_that_is_right_at_zero_alone(name, x):
    value, partial = WRONG_BUT_AT_ZERO[name]
    f = primitive(lambda x, /: value(x))
    scalar_rule(f, partial, complex="holomorphic")
    if name == "conjugated" and type(x) is float:
        x = 0j
    with pytest.raises(RuleCheckError, match=r"nearby|complex"):
        check_rule(f, x)


def test_a_transpose_that_is_left_out_at_the_identity():
    f = of_numpy(lambda a, /: np.linalg.slogdet(a)[1], lambda a: lambda t: (t * np.linalg.inv(a),))
    with pytest.raises(RuleCheckError, match="transposed"):
        check_rule(f, np.eye(3))


@pytest.mark.parametrize("shape", [lambda x: x, lambda x: {"a": x}], ids=["an array", "a dict"])
def test_what_a_rule_overwrites_is_a_copy(shape):
    f, x = primitive(lambda x, /: sum(v.sum(a) for a in leaves(x))), np.ones(3)

    @rrule.register(f)
    def f_rrule(x: np.ndarray | dict):
        def pull(t):
            for a in leaves(x):
                a[...] = 0.0
            return (shape(np.full(3, t)),)

        return f(x), pull

    with pytest.raises(RuleCheckError, match="operand mutated"):
        check_rule(f, shape(x))
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_a_grid_that_has_to_rise_is_skipped_in_disorder():
    heights = np.array([0.0, 1.0, 3.0])
    f = primitive(lambda x, xp, /: np.interp(x, xp, heights))

    @rrule.register(f)
    def f_rrule(x: np.ndarray, xp: np.ndarray):
        k = np.searchsorted(xp, x) - 1
        low, width = xp[k], xp[k + 1] - xp[k]
        slope, part = np.diff(heights)[k] / width, (x - low) / width

        def pull(t):
            xp_bar = np.zeros_like(xp)
            np.add.at(xp_bar, k, -t * slope * (1.0 - part))
            np.add.at(xp_bar, k + 1, -t * slope * part)
            return t * slope, xp_bar

        return f(x, xp), pull

    assert check_rule(f, np.array([1.25, 0.5]), np.arange(3.0)).passed


@pytest.mark.parametrize("draw", [np.random.random, random.random])
def test_a_rule_that_draws_from_a_shared_generator(draw):
    def body(x):
        draw()
        return lambda t: (t * np.cos(x),)

    with pytest.raises(RuleCheckError, match="random state changed"):
        check_rule(of_numpy(lambda x, /: np.sin(x), body), RISING)


def test_a_vector_on_the_left_of_a_product_of_matrices():
    f = primitive(lambda a, b, /: a @ b)

    @rrule.register(f)
    def f_rrule(a: np.ndarray, b: np.ndarray):
        b_bar = lambda t: a.T @ t if a.ndim == 2 else np.outer(t, a).reshape(b.shape)
        return a @ b, lambda t: (t @ b.T, b_bar(t))

    a, b = np.arange(6.0).reshape(2, 3) + 1.0, np.arange(12.0).reshape(3, 4) + 1.0
    with pytest.raises(RuleCheckError, match="a vector for argument 1"):
        check_rule(f, a, b)


def test_a_rule_that_is_wrong_for_one_complex_operand_beside_another():
    f = primitive(lambda a, b, /: a * b)

    @rule(f)
    def f_rule(a, b):
        right = lambda t, c: t * np.conj(c)
        scaled = lambda t, c: t * c
        return a * b, (LinearMap(scaled, scaled, b), LinearMap(scaled, right, a))

    assert check_rule(f, RISING, 2.0 * RISING).passed
    with pytest.raises(RuleCheckError):
        check_rule(f, 1j * RISING, 2.0 * RISING)


def test_a_rule_that_is_wrong_for_single_precision():
    f = primitive(lambda x, /: np.sin(x))

    @rule(f)
    def f_rule(x: np.ndarray):
        half = lambda t, c: t * c
        slope = np.cos(x) * (0.5 if x.dtype == np.float32 else 1.0)
        return np.sin(x), (LinearMap(half, half, slope),)

    with pytest.raises(RuleCheckError, match="float32"):
        check_rule(f, RISING)


def test_a_wrong_partial_of_a_whole_number():
    f = primitive(lambda x, n, /: x**n)

    @rule(f)
    def f_rule(x: float, n: int):
        of_x, of_n = n * x ** (n - 1), x**n
        maps = [LinearMap(lambda t, c: t * c, lambda t, c: t * c, c) for c in (of_x, of_n)]
        return x**n, tuple(maps)

    with pytest.raises(RuleCheckError, match=r"argument 2 \(n\)"):
        check_rule(f, 1.5, 3)


def sine_with_value(value):
    """The sine, with right halves, and a rule whose value is another function of x and the sine."""
    f = primitive(lambda x, /: np.sin(x))

    @rule(f)
    def f_rule(x):
        push, pull = (lambda t, c: t * c), (lambda t, c: t * v.conj(c))
        return value(x, v.sin(x)), (LinearMap(push, pull, v.cos(x)),)

    return f


def test_a_value_that_is_wrong_in_single_precision_alone():
    f = sine_with_value(lambda x, y: y + x.dtype.type(5.0 * (x.dtype == np.float32)))
    with pytest.raises(RuleCheckError, match="float32: the value of frule is not"):
        check_rule(f, RISING)


def test_a_value_that_is_wrong_for_complex_operands_alone_is_reported():
    f = sine_with_value(lambda _x, y: v.conj(y))
    assert "complex: its value is wrong" in str(check_rule(f, RISING))
    assert check_rule(sine_with_value(lambda _x, y: y), RISING).verdict("complex") == "passed"


@pytest.mark.parametrize("factor", [-1.0, 0.0, 1.1, 2.0, 10.0])
def test_a_wrong_factor_in_half_precision(factor):
    def sine(factor):
        body = lambda x: lambda t: (t * np.cos(x) * np.float16(factor),)
        return of_numpy(lambda x, /: np.sin(x), body)

    x = np.array([0.5, -1.0, 2.0], np.float16)
    assert check_rule(sine(1.0), x).verdict("adjoint") == "passed"
    with pytest.raises(RuleCheckError, match="adjoint: pull and differences differ"):
        check_rule(sine(factor), x)


def product_of_wanted(scale_value, scale_pull):
    f = primitive(lambda a, b, /: a * b)

    @rule(f)
    def f_rule(a, b, *, wanted):
        of_b = lambda t, c: t * c * scale_pull(wanted)
        return a * b * scale_value(wanted), (LinearMap(times, times, b), LinearMap(times, of_b, a))

    return f


def rrule_of_wanted(scale_value, scale_pull):
    f = primitive(lambda a, b, /: a * b)

    @rrule.register(f)
    def f_rrule(a, b, *, wanted):
        pull = lambda t: (t * b, t * a * scale_pull(wanted))
        return a * b * scale_value(wanted), pull

    return f


@pytest.mark.parametrize("make", [product_of_wanted, rrule_of_wanted])
def test_what_a_rule_computes_where_another_operand_is_not_wanted(make):
    one, two_alone = lambda _: 1.0, lambda wanted: 1.0 if all(wanted) else 2.0
    assert check_rule(make(one, one), RISING, RISING + 1.0).passed
    for f in (make(one, two_alone), make(two_alone, one)):
        with pytest.raises(RuleCheckError, match="wrong when wanted alone"):
            check_rule(f, RISING, RISING + 1.0)


# ------------------------------------------------------------------------------- false alarms


@pytest.mark.parametrize("x", [0.5, np.float64(0.5), np.asarray(0.5), RISING, -1.5], ids=repr)
@pytest.mark.parametrize(
    "value, operation, slope",
    [
        (lambda x: np.logaddexp(0.0, x), lambda x: v.logaddexp(0.0, x), lambda x, y: v.exp(x - y)),
        (lambda x: np.where(x > 0, x, -x), v.abs, lambda x, _y: v.sign(x)),
        (lambda x: np.add(x, x), lambda x: 2.0 * x, lambda _x, _y: 2.0),
    ],
    ids=["softplus", "abs", "double"],
)
def test_a_number_of_another_class_is_the_same_value(value, operation, slope, x):
    f = primitive(lambda x, /: value(x))

    @rule(f)
    def f_rule(x):
        y = operation(x)
        return y, (LinearMap(times, times, slope(x, y)),)

    assert check_rule(f, x, thorough=True).passed


def test_a_python_number_is_the_value_of_single_precision_too():
    f = primitive(lambda x, /: float(np.sum(x * x)))

    @rrule.register(f)
    def f_rrule(x):
        return np.sum(x * x), lambda t: (2.0 * t * x,)

    assert ", float32" in str(check_rule(f, RISING)).partition("\n")[0]  # among what passed


@pytest.mark.parametrize("x, other", [(0.5, np.float32(0.25)), (0.5, 1), (np.ones(2), 1.0)])
def test_a_number_of_another_dtype_or_shape_is_another_value(x, other):
    f = primitive(lambda x, /: 2.0 * x)

    @rule(f)
    def f_rule(x):
        return other, (LinearMap(times, times, 2.0),)

    with pytest.raises(RuleCheckError, match="value"):
        check_rule(f, x)


def test_newtons_root_is_skipped_at_zero():
    def root(x, /):
        y = np.ones_like(x)
        for _ in range(60):
            y = (y + x / y) / 2
        return y

    f = of_numpy(root, lambda x: lambda t: (t / (2 * root(x)),))
    assert check_rule(f, np.array([0.5, 1.0, 2.0]), thorough=True).passed


def test_a_buffer_of_one_call_is_wrong_where_it_pulls_twice():
    def body(x):
        buffer = np.empty_like(x)
        return lambda t: (np.multiply(t, np.cos(x), out=buffer),)

    f = of_numpy(lambda x, /: np.sin(x), body)
    with pytest.raises(RuleCheckError, match="aliased cotangent"):
        check_rule(f, RISING)
    assert not np.allclose(jacobian(f)(RISING), np.diag(np.cos(RISING)))
    twice = grad(lambda x: np.sum(f(f(x))))(RISING)
    np.testing.assert_allclose(twice, np.cos(np.sin(RISING)) * np.cos(RISING))


def test_a_buffer_of_all_calls_is_wrong():
    buffer = np.empty(3)
    body = lambda x: lambda t: (np.multiply(t, np.cos(x), out=buffer),)
    with pytest.raises(RuleCheckError, match="aliased cotangent"):
        check_rule(of_numpy(lambda x, /: np.sin(x), body), RISING)


def test_a_kink_at_zero_is_not_wrong():
    def body(x):
        if x.ndim != 1:
            raise ValueError("a vector")
        n = np.sqrt(np.sum(x * x))
        u = x / n if n else 0.0 * x
        return lambda t: (((t - u * (u @ t)) / n) if n else 0.0 * t,)

    def value(x, /):
        n = np.sqrt(np.sum(x * x))
        return x / n if n else 0.0 * x

    f = of_numpy(value, body)
    assert check_rule(f, RISING, thorough=True).passed
    assert check_rule(f, np.zeros(3)).verdict("adjoint") == "skipped"


def test_none_may_mean_anything():
    f = primitive(lambda x, scale, /: np.sin(x) if scale is None else np.sin(x) * scale)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, scale: object):
        return f(x, scale), lambda t: (t * np.cos(x), N)

    assert check_rule(f, RISING, None).passed


def times(t, c):
    return t * c


def adding(buffer, t, c):
    buffer += t * c


def writing(buffer, t, c):
    buffer[...] = t * c


def product_adding_by(left, right):
    f = primitive(lambda x, y, /: x * y)

    @rule(f)
    def f_rule(x, y):
        into_y = LinearMap(times, times, x, pull_into=right)
        return x * y, (LinearMap(times, times, y, pull_into=left), into_y)

    return f


@pytest.mark.parametrize("halves", [(writing, adding), (adding, writing)])
def test_a_sum_in_place_that_is_stated_is_checked_of_each_operand(halves):
    with pytest.raises(RuleCheckError, match="in-place accumulation is not addition"):
        check_rule(product_adding_by(*halves), RISING, RISING + 1.0)
    report = check_rule(product_adding_by(adding, adding), RISING, RISING + 1.0)
    assert report.verdict("accumulation") == "passed"
    assert "accumulation" not in report.not_tried


@pytest.mark.parametrize("axis", [0, -1])
def test_batches_that_are_stated_are_checked(axis):
    f = primitive(lambda x, /: np.cumsum(x, axis=-1))

    @rule(f, batched=True)
    def f_rule(x: np.ndarray):
        push = lambda t: np.cumsum(t, axis=axis)
        pull = lambda t: np.flip(np.cumsum(np.flip(t, axis), axis=axis), axis)
        return f(x), (LinearMap(push, pull),)

    if axis == 0:
        with pytest.raises(RuleCheckError, match="wrong for several directions"):
            check_rule(f, RISING, vary=False)
    else:
        assert check_rule(f, RISING, vary=False).verdict("batched") == "passed"


@pytest.mark.parametrize("shape", [(2, 3), (3, 3)])
@pytest.mark.parametrize("option", ["keepdims", "axis"])
def test_a_rule_that_ignores_an_option(option, shape):
    """The engine's error about the shape of the tangent was taken for one that the rule raised."""
    fixed = {"axis": 1, "keepdims": False}

    @primitive
    def total(x, *, axis=1, keepdims=False):
        return np.sum(x, axis=axis, keepdims=keepdims)

    @rule(total)
    def total_rule(x: np.ndarray, *, axis, keepdims):
        known = {"axis": axis, "keepdims": keepdims, option: fixed[option]}
        spread = np.sum(x, axis=known["axis"], keepdims=True).shape
        push = lambda t: np.sum(t, **known)
        pull = lambda b: np.zeros_like(x) + np.reshape(b, spread)
        return total(x, axis=axis, keepdims=keepdims), (LinearMap(push, pull),)

    with pytest.raises(RuleCheckError, match=f"wrong only for {option}="):
        check_rule(total, np.random.default_rng(0).normal(size=shape))


def test_a_function_that_writes_to_an_operand():
    """Each further call wrote the same, so that none was seen to change anything."""
    doubled = primitive(lambda x, out, /: np.multiply(x, 2.0, out=out))

    @rule(doubled)
    def doubled_rule(x: np.ndarray, out: np.ndarray):
        return np.multiply(x, 2.0, out=out), (LinearMap(lambda t: 2 * t, lambda b: 2 * b), N)

    with pytest.raises(RuleCheckError, match="writes to an operand"):
        check_rule(doubled, RISING, np.zeros(3))


NOT_LINEAR = {
    "clipped": lambda c, y: np.clip(c, -1e-3, 1e-3) * 77.0 + 5.0,
    "constant": lambda c, y: np.zeros(3) + 5.0,
    "absolute": lambda c, y: np.abs(c) * y,
    "shifted": lambda c, y: c * y + 1e-2,
}


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_a_pull_to_the_first_of_two_operands_that_is_not_linear(name):
    f = primitive(lambda x, y, /: x * y)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, y: np.ndarray):
        return x * y, lambda c: (NOT_LINEAR[name](c, y), c * x)

    with pytest.raises(RuleCheckError, match="linear"):
        check_rule(f, RISING, RISING + 1.0)


def test_a_map_that_is_linear_in_one_operand_is_transposed_in_that_one_alone():
    f = primitive(lambda x, y, /: x * y)

    @rrule.register(f)
    def f_rrule(x: np.ndarray, y: np.ndarray):
        return x * y, lambda c: (np.abs(c) * y, c * x)

    assert jvp(lambda y: f(RISING, y), (RISING,), (RISING,))[1].tolist() == (RISING**2).tolist()
    with pytest.raises(NotDifferentiableError, match="not linear in the cotangent"):
        jvp(lambda x: f(x, RISING), (RISING,), (RISING,))


@pytest.mark.parametrize("error", [1e-6, 1e-7, 1e-5])
def test_a_constant_of_few_digits_is_not_called_misplaced(error):
    f = primitive(lambda x, /: x * x)
    scalar_rule(f, lambda y, x: 2.0 * x * (1.0 + error))
    with pytest.raises(RuleCheckError, match="wrong") as caught:
        check_rule(f, np.array([0.3, 1.2, 2.5]))
    assert "places" not in str(caught.value)


def test_results_of_objects_are_no_random_numbers():
    f = primitive(np.frompyfunc(lambda x: 2.5 * x, 1, 1))
    scalar_rule(f, lambda y, x: 2.5)
    with pytest.raises(RuleCheckError) as caught:
        check_rule(f, RISING)
    assert "random" not in str(caught.value)
    assert "give an array of a floating type" in str(caught.value)


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_sums_in_place_are_checked_where_the_result_is_a_number(factor):
    f = primitive(lambda x, /: 2.0 * x[1])

    def pull(y_bar, *_):
        return np.array([0.0, 2.0, 0.0]) * y_bar

    def add(buffer, y_bar, *_):
        buffer[1] += factor * 2.0 * y_bar

    @rule(f)
    def f_rule(x: np.ndarray):
        return f(x), (LinearMap(lambda t: 2.0 * t[1], pull, pull_into=add),)

    if factor == 1.0:
        assert check_rule(f, RISING[:3]).verdict("accumulation") == "passed"
    else:
        with pytest.raises(RuleCheckError, match="accumulation"):
            check_rule(f, RISING[:3])


# ----------------------------------------------------------------------------------------- NaN


def of_slope(value, slope, stated):
    """A function of NumPy's arrays, with its slope as a rule of both modes, or of the reverse."""
    f = primitive(lambda x, /: value(x))
    if stated == "both":
        scalar_rule(f, lambda y, x: slope(x))
    else:
        rrule.register(f)(lambda x: (value(x), lambda t: (slope(x) * t,)))
    return f


def root(x):
    return np.sqrt(np.maximum(x, 0.0))


def slope_of_root(x):
    """The famous 0 times infinity."""
    return v.where(x > 0.0, 1.0, 0.0) * 0.5 / v.sqrt(v.maximum(x, 0.0))


UNDEFINED = {
    "root": (root, slope_of_root),
    "sine": (np.sin, lambda x: v.where(x > 0.0, v.cos(x), np.nan)),
    "infinite": (np.sin, lambda x: v.where(x > 0.0, v.cos(x), np.inf)),
}


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("n", [3, 20, 100, 1000])
@pytest.mark.parametrize("stated", ["both", "reverse"])
@pytest.mark.parametrize("name", UNDEFINED)
def test_nan_where_a_function_is_smooth(name, stated, n, thorough):
    x = np.random.default_rng(0).standard_normal(n)
    f = of_slope(*UNDEFINED[name], stated)
    with pytest.raises(RuleCheckError, match=r"NaN|inf"):
        check_rule(f, x, thorough=thorough)


@pytest.mark.parametrize("stated", ["both", "reverse"])
@pytest.mark.parametrize("n", [2, 3, 30])
def test_nan_at_a_call_that_is_derived(stated, n):
    f = of_slope(*UNDEFINED["sine"], stated)
    with pytest.raises(RuleCheckError, match="NaN"):
        check_rule(f, np.linspace(0.4, 0.9, n)[::-1].copy())


def test_nan_beside_a_kink_of_another_element():
    x = np.abs(np.random.default_rng(0).standard_normal(1000)) + 0.1
    x[[3, 500]] = 0.0, -1.0  # a kink, where NaN is allowed, and a number that is none
    f = of_slope(lambda x: np.abs(x), lambda x: v.where(x < 0.0, np.nan, v.sign(x)), "reverse")
    with pytest.raises(RuleCheckError, match="NaN"):
        check_rule(f, x)


@pytest.mark.parametrize("stated, n", [("reverse", 3), ("reverse", 1000), ("both", 1000)])
def test_nan_where_a_slope_is_infinite_is_not_wrong(stated, n):
    x = np.random.default_rng(0).uniform(0.5, 1.5, n)
    x[1] = 0.0
    slope = lambda x: v.where(x > 0.0, 0.5 / v.sqrt(x), np.nan)
    f = of_slope(np.sqrt, slope, stated)
    assert check_rule(f, x, checks=("push", "adjoint"))


# ---------------------------------------------------------------------------------------- options


@pytest.mark.parametrize("given", [{"axis": 0, "keepdims": True}, {"axis": 0}])
def test_a_pull_that_forgets_the_axis_that_is_not_kept(given):
    @primitive
    def power(x, *, axis=None, keepdims=False):
        return np.mean(x**2, axis=axis, keepdims=keepdims)

    @rrule.register(power)
    def power_rule(x, *, axis=None, keepdims=False):
        n = x.size if axis is None else np.prod([x.shape[k] for k in np.atleast_1d(axis)])
        kept = keepdims or axis is None
        y = power(x, axis=axis, keepdims=keepdims)
        return y, lambda t: (2.0 * x * (t if kept else t[0]) / n,)

    with pytest.raises(RuleCheckError):
        check_rule(power, np.arange(1.0, 13.0).reshape(3, 4) / 7.0, **given)


@pytest.mark.parametrize("axis", [-1, 0])
def test_a_pull_that_is_wrong_for_the_first_axis_from_the_end(axis):
    @primitive
    def total(x, *, axis=0):
        return np.cumsum(x**2, axis=axis)

    @rrule.register(total)
    def total_rule(x, *, axis=0):
        def pull(t):
            if axis == -2:
                return (2.0 * x * t,)
            return (2.0 * x * np.flip(np.cumsum(np.flip(t, axis), axis), axis),)

        return total(x, axis=axis), pull

    with pytest.raises(RuleCheckError, match="negative axis"):
        check_rule(total, np.arange(1.0, 7.0).reshape(2, 3) / 7.0, axis=axis)
