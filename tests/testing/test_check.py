"""The judge finds wrong rules, says which check found them, and passes right ones."""

from __future__ import annotations

import dataclasses
import inspect

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    NoTangent,
    RuleError,
    frule,
    linear_rule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, check_frule, check_rrule, check_rule
from chainrules_py.testing.cases.case import Case

RNG = np.random.default_rng(5)
X = RNG.standard_normal((2, 3))
Y = RNG.standard_normal(3)


def unary(partial):
    """A primitive that computes the sine, with this for its derivative."""

    @primitive
    def wrong_sine(x, /):
        return v.sin(x)

    scalar_rule(wrong_sine, partial, complex="holomorphic")
    return wrong_sine


def product(push_a, pull_a, push_b, pull_b):
    """A primitive that computes a product, with these for the halves of its maps."""

    @primitive
    def wrong_product(a, b, /):
        return v.multiply(a, b)

    @rule(wrong_product)
    def wrong_product_rule(a, b):
        return v.multiply(a, b), (LinearMap(push_a, pull_a, b), LinearMap(push_b, pull_b, a))

    return wrong_product


def right(t, saved):
    return t * saved


def mutating(y_bar, saved):
    y_bar *= saved
    return y_bar


def linear(pull):
    """A primitive that sums, with this for its transpose."""

    @primitive
    def wrong_sum(x, /):
        return v.sum(x)

    linear_rule(wrong_sum, pull)
    return wrong_sum


class Counter:
    """A pull that gives something else each time."""

    def __init__(self):
        self.count = 0

    def __call__(self, y_bar, x):
        self.count += 1
        return v.broadcast_to(y_bar, shape=x.shape) * self.count


def constant(x_dot, saved):
    return v.sum(x_dot) * saved


def captured(x):
    """The derivative of the cube as numbers, without what they depend on."""
    return 3 * np.asarray(x) ** 2 if not hasattr(x, "__payload__") else captured(x.__payload__)


def cube(partial):
    @primitive
    def wrong_cube(x, /):
        return x * x * x

    scalar_rule(wrong_cube, partial)
    return wrong_cube


WRONG = {
    "sign": (unary(lambda _y, x: -v.cos(x)), (X,), "push", "wrong sign"),
    "factor": (unary(lambda _y, x: 2 * v.cos(x)), (X,), "push", "factor 2"),
    "zero for the first": (
        product(lambda t, b: t * 0.0, lambda t, b: t * 0.0, right, right),
        (X, X),
        "push",
        "y[0, 0] in a[0, 0]",
    ),
    "one element of a vector": (
        unary(lambda _y, x: v.cos(x) * np.asarray([1.0, 1.0, 1.001])),
        (Y,),
        "push",
        "x[2]",
    ),
    "pull is not the adjoint": (
        product(right, lambda t, b: t * b * 3.0, right, right),
        (X, X),
        "adjoint",
        "pull",
    ),
    "pull ignores the cotangent": (
        linear(lambda y_bar, x: v.full_like(y_bar, shape=x.shape, fill=1.0)),
        (X,),
        "linear",
        "ignores the cotangent",
    ),
    "conjugate missing in the pull": (
        product(right, right, right, right),
        (X + 1j, X - 2j),
        "adjoint",
        "imag",
    ),
    "mutates the cotangent": (
        product(right, mutating, right, right),
        (X, X),
        "conduct",
        "cotangent",
    ),
    "pulls another time something else": (linear(Counter()), (X,), "conduct", "runs again"),
    "second order from a captured number": (
        cube(lambda _y, x: captured(x)),
        (Y,),
        "second order",
        "differences",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rule_is_found(name):
    f, operands, check, says = WRONG[name]
    with pytest.raises(RuleCheckError) as caught:
        check_rule(f, *operands)
    report = caught.value.report
    assert report.verdict(check) == "failed", report
    assert says in str(caught.value)
    assert "test_check.py:" in report.where
    assert "seed 0" in str(caught.value)


def test_missing_sum_over_a_broadcast_axis_is_found_at_the_bottom_layer():
    @primitive
    def scaled(a, b, /):
        return v.multiply(a, b)

    @rrule.register(scaled)
    def scaled_rrule(a, b):
        return v.multiply(a, b), lambda y_bar: (y_bar * b, (y_bar * a)[:1].reshape(b.shape))

    with pytest.raises(RuleCheckError) as caught:
        check_rule(scaled, X, Y)
    assert caught.value.report.verdict("adjoint") == "failed"
    assert caught.value.report.verdict("push") == "skipped"  # it is the transpose of the pull


def test_value_that_is_another_is_found():
    @primitive
    def off(x, /):
        return v.sin(x)

    @rule(off)
    def off_rule(x):
        return v.sin(x) + 1e-6, (LinearMap(right, right, v.cos(x)),)

    with pytest.raises(RuleCheckError, match="value of frule is not that of the function"):
        check_rule(off, X)


def test_rule_that_raises_is_reported_with_its_cause():
    f = unary(lambda _y, x: v.cos(x)[5])
    with pytest.raises(RuleCheckError, match="IndexError") as caught:
        check_rule(f, Y)
    assert isinstance(caught.value.__cause__, IndexError)


def test_function_without_rule_fails():
    @primitive
    def lonely(x, /):
        return v.sin(x)

    with pytest.raises(RuleCheckError, match="no frule for") as told:
        check_rule(lonely, X)
    assert len(str(told.value).splitlines()) <= 3


def test_kink_is_no_wrong_rule():
    """Finite differences across a kink say nothing; that is no pass either."""
    report = check_rule(v.abs, np.asarray([0.0, 1.0]))
    assert report.passed
    assert report.verdict("push") == "skipped"
    assert "smooth" in str(report)


def test_smooth_false_leaves_differences_out():
    report = check_rule(v.abs, np.asarray([0.0, 1.0]), smooth=False)
    assert report.verdict("push") == "skipped"
    assert report.verdict("adjoint") == "passed"


@pytest.mark.parametrize(
    "operands",
    [
        (X, Y),
        (X, 2.0),
        (2.0, X),
        (2.0, 3.0),
        (np.float64(2.0), X),
        (np.asarray(2.0), X),
        (X.astype(np.float32), Y),
        (X.astype(np.float32), Y.astype(np.float32)),
        (X + 1j, Y),
        (np.zeros((0, 3)), Y),
        (X.T, np.ones((3, 1))),
        (RNG.standard_normal((9, 9)), RNG.standard_normal((9, 9))),
    ],
    ids=lambda xs: "-".join(f"{np.asarray(x).dtype}{list(np.shape(x))}" for x in xs),
)
def test_right_rule_passes(operands):
    report = check_rule(v.multiply, *operands)
    assert report.verdict("push") == report.verdict("adjoint") == "passed", report


def test_no_false_alarm_in_twenty_seeds():
    for seed in range(20):
        assert check_rule(v.divide, X, Y + 5.0, seed=seed).passed


@dataclasses.dataclass
class Layer:
    weight: np.ndarray
    bias: np.ndarray
    name: str = "layer"

    @primitive
    def __call__(self, x, /):
        return v.sin(self.weight * x) + self.bias


@rule(Layer.__call__)
def layer_rule(self: Layer, x):
    from chainrules_py import Tangent

    inside = self.weight * x
    slope = v.cos(inside)

    def push_self(t, x, slope):
        return slope * x * t.weight + t.bias

    def pull_self(y_bar, x, slope):
        return Tangent.of(Layer, {"weight": y_bar * slope * x, "bias": y_bar})

    push_x = pull_x = lambda t, weight, slope: t * slope * weight
    maps = (
        LinearMap(push_self, pull_self, x, slope),
        LinearMap(push_x, pull_x, self.weight, slope),
    )
    return v.sin(inside) + self.bias, maps


def test_dataclass_passes():
    """Broadcast fields too; the object that is called is the first operand."""
    report = check_rule(Layer(X, Y), X)
    assert report.verdict("push") == report.verdict("adjoint") == "passed", report
    assert report.verdict("second order") == "passed", report


def test_several_outputs_pass():
    @primitive
    def both(x, /):
        return v.sin(x), v.cos(x)

    @rule(both)
    def both_rule(x):
        y = v.sin(x), v.cos(x)
        push = lambda t, s, c: (c * t, -s * t)
        pull = lambda y_bar, s, c: c * y_bar[0] - s * y_bar[1]
        return y, (LinearMap(push, pull, *y),)

    report = check_rule(both, X)
    assert report.verdict("adjoint") == "passed", report


def test_operand_that_cannot_be_perturbed_has_no_tangent():
    @primitive
    def pick(x, mask, /):
        return v.where(mask, x, 0.0)

    @rule(pick)
    def pick_rule(x, mask):
        y = v.where(mask, x, 0.0)
        half = lambda t, m: v.where(m, t, 0.0)
        return y, (LinearMap(half, half, mask), NoTangent())

    report = check_rule(pick, X, X > 0)
    assert report.verdict("types") == "passed", report


def test_a_list_of_places_has_no_tangent():
    """The call turns it into an array, and a tangent of its own entries would be none of that."""
    assert check_rule(np.take, np.ones((3, 2)), [0, 2])


def test_gauge_takes_away_what_is_not_determined():
    """A direction of unknown sign: its derivative is right as far as the gauge can see."""

    @primitive
    def flipped(x, /):
        return -v.sin(x)

    scalar_rule(flipped, lambda _y, x: -v.cos(x))
    report = check_rule(flipped, X, gauge=lambda y: y * y)
    assert report.verdict("push") == report.verdict("adjoint") == "passed", report


def test_large_operands_are_looked_at_in_random_directions():
    case = Case(v.sin, (RNG.standard_normal(2000),), {}, None, True, 0, None)
    assert case.u.shape[1] < 10
    assert check_rule(v.sin, RNG.standard_normal(2000)).verdict("push") == "passed"


def test_frule_and_rrule_of_a_right_rule_are_what_is_checked():
    y, y_dot = frule((X,), v.sin, X)
    assert np.array_equal(y, np.sin(X))
    np.testing.assert_allclose(y_dot, np.cos(X) * X)


# ------------------------------------------------------------------- operands that are not given


@primitive
def scaled(x, factor=2.0, shift=1.0):
    return x * factor + shift


@rule(scaled)
def scaled_rule(x, factor, shift):
    by = LinearMap(right, right, factor), LinearMap(right, right, x)
    return scaled(x, factor, shift), (*by, LinearMap(lambda t: t, lambda t: t))


@pytest.mark.parametrize(
    "operands, named, call",
    [
        ((2.0,), {}, "scaled(float, float, float)"),
        ((2.0, 3.0), {"shift": 0.5}, "scaled(float, float, float)"),
        ((2.0,), {"factor": X}, "scaled(float, float64[2,3], float)"),
    ],
)
def test_operands_with_defaults_are_filled_in(operands, named, call):
    report = check_rule(scaled, *operands, checks=("value", "push", "adjoint"), **named)
    assert report.call == call
    assert len(report.operands) == 3
    assert report.verdict("push") == "passed"


class Circle:
    def __init__(self, radius):
        self.radius = radius


@primitive
def area(circle: Circle, unit):
    return 3.0 * circle.radius * unit


@rule(area)
def area_rule(circle: Circle, unit):
    return area(circle, unit), (NoTangent(), LinearMap(right, right, 3.0 * circle.radius))


@pytest.mark.parametrize("operands", [(), (Circle(1.0),), (1.0, 2.0)])
def test_values_of_a_class_of_ones_own_are_asked_for(operands):
    """In a sentence with the line to write, whatever the function itself would raise."""
    line = r"which cannot be drawn: give one, or enter_samples\(area, Sample\(<a Circle>"
    with pytest.raises(RuleError, match=line):
        check_rule(area, *operands)
    assert check_rule(area, Circle(1.0), 2.0).verdict("push") == "passed"


def test_missing_operands_are_named():
    with pytest.raises(
        RuleError, match=r"wrong_sine\(x, /\) misses x, without default; write check_rule\(.*, x\)$"
    ):
        check_rule(unary(lambda _y, x: v.cos(x)))


def test_what_the_function_raises_is_raised_as_it_is():
    with pytest.raises(TypeError, match=r"positional arguments?"):
        check_rule(scaled, 1.0, 2.0, 3.0, 4.0)


def test_halves_show_the_parameters_of_the_whole():
    assert inspect.signature(check_frule) == inspect.signature(check_rule)
    assert inspect.signature(check_rrule) == inspect.signature(check_rule)


@pytest.mark.parametrize("number", [4, np.asarray([1, 2])], ids=str)
def test_where_nothing_can_be_perturbed_nothing_is_judged(number):
    report = check_rule(v.equal, number, number)
    assert report.verdict("push") == report.verdict("adjoint") == "skipped"


def test_an_error_of_a_rule_at_more_axes_is_told_and_not_held_against_it():
    f = primitive(lambda x, /: np.linalg.inv(x))

    @rrule.register(f)
    def f_rrule(x: np.ndarray):
        y = np.linalg.inv(x)
        return y, lambda t: (-y.T @ t @ y.T,)

    report = check_rule(f, 4.0 * np.eye(5) + np.arange(25.0).reshape(5, 5) / 25.0)
    (finding,) = [f for f in report.findings if f.check == "other calls"]
    assert finding.verdict == "skipped"
    assert "raises an error with a leading axis" in finding.text


def test_halves_take_the_settings_of_the_whole():
    for check, half in ((check_frule, "push"), (check_rrule, "adjoint")):
        found = check(v.sum, X, axis=1, vary=False, seed=3, checks=("value", half), rtol=1e-6)
        assert [f.check for f in found.findings] == ["value", half]
        assert "axis=1, vary=False, rtol=1e-06, seed=3" in found.again


def test_an_array_of_a_subclass_is_named_by_its_place():
    f, labelled = primitive(lambda x: np.sin(x)), type("Labelled", (np.ndarray,), {})
    rrule.register(f, types=(labelled,))(lambda x: (f(x), lambda t: (t * np.cos(x),)))
    report = check_rule(f, Y.view(labelled), checks=("value",))
    assert report.again == "check_rule(f, report.operands[0], seed=0)"


def test_single_precision_is_checked_in_structures_too():
    f = primitive(lambda p: np.sin(p["x"]))
    rrule.register(f, types=(dict,))(lambda p: (f(p), lambda t: ({"x": t * np.cos(p["x"])},)))
    for x in (Y, np.float64(0.5)):
        assert check_rule(f, {"x": x}).verdict("float32") == "passed"


def test_a_push_alone_is_compared_with_differences():
    """Without a pull no other check sees a factor in it for what it is."""
    f = primitive(lambda x: np.sin(x))
    frule.register(f)(lambda ts, x: (f(x), 1.01 * np.cos(x) * ts[0]))
    with pytest.raises(RuleCheckError, match=r"factor 1\.01 .*\n.*push and differences differ"):
        check_rule(f, np.array([0.3, -0.7]))
