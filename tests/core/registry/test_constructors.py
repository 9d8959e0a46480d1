"""What a constructor is given in place of a function is refused at once, and not kept."""

from __future__ import annotations

import colorsys
import dataclasses
import functools
import itertools
import re

import numpy as np
import pytest
from scipy.linalg.lapack import dgtsv

import chainrules_py.ops as v
from chainrules_kit.custom_derivatives import augmented_rule
from chainrules_py import (
    ChainRulesError,
    LinearMap,
    NoTangent,
    RuleError,
    Tangent,
    ZeroTangent,
    bilinear_rule,
    explain,
    frule,
    linear_rule,
    primitive,
    rrule,
    rule,
    scalar_rule,
    unregister,
)
from chainrules_py.errors import NoRuleError
from chainrules_py.rule_config import ForwardMode
from chainrules_py.tangents.zeros import is_zero
from chainrules_tape import grad

NOT_FUNCTIONS = (
    1.0,
    True,
    "cos",
    [1],
    {},
    ...,
    np.float64(2.0),
    np.array([1.0, 2.0]),
    object(),
    NoTangent(),
    int,
)
OTHERS = (
    lambda: 0.0,
    lambda **names: 0.0,
    lambda x: x,
    lambda x, /, *, more: x,
    np.cos,  # whose second operand is ``out``
    np.flip,  # whose second one is an axis
    round,
)
CONSTRUCTORS = {
    "scalar_rule": lambda one, _two, given: scalar_rule(one, given),
    "scalar_rule, singular": lambda one, _two, given: scalar_rule(
        one, lambda _y, _x: 1.0, singular=given
    ),
    "scalar_rule, complex": lambda one, _two, given: scalar_rule(
        one, lambda _y, _x: 1.0, complex=given
    ),
    "linear_rule": lambda one, _two, given: linear_rule(one, given),
    "linear_rule, pull_into": lambda one, _two, given: linear_rule(
        one, lambda y_bar, _x: y_bar, pull_into=given
    ),
    "linear_rule, batched": lambda one, _two, given: linear_rule(
        one, lambda y_bar, _x: y_bar, batched=given
    ),
    "bilinear_rule": lambda _one, two, given: bilinear_rule(two, given, given),
    "bilinear_rule, batched": lambda _one, two, given: bilinear_rule(
        two, lambda y_bar, _a, b: y_bar * b, lambda y_bar, a, _b: y_bar * a, batched=given
    ),
    "rule": lambda one, _two, given: rule(one)(given),
    "rrule": lambda one, _two, given: rrule.register(one)(given),
    "frule": lambda one, _two, given: frule.register(one)(given),
    "primitive": lambda _one, _two, given: primitive(given),
}


def _primitives():
    @primitive
    def one(x):
        return np.sin(x)

    @primitive
    def two(a, b):
        return a * b

    return one, two


def _fits(constructor, given):
    return (
        ("batched" in constructor or "singular" in constructor)
        and isinstance(given, bool)
        and "bi" not in constructor
    ) or (constructor.startswith("linear_rule, ") and callable(given))


@pytest.mark.parametrize(
    "constructor, given",
    [(p, g) for p, g in itertools.product(CONSTRUCTORS, NOT_FUNCTIONS) if not _fits(p, g)],
)
def test_what_is_no_function_is_told_and_leaves_nothing(constructor, given):
    one, two = _primitives()
    with pytest.raises(RuleError):
        CONSTRUCTORS[constructor](one, two, given)
    for f, operands in ((one, (2.0,)), (two, (2.0, 3.0))):
        with pytest.raises(NoRuleError):
            rrule(f, *operands)


@pytest.mark.parametrize(
    "constructor, given",
    list(itertools.product(("scalar_rule", "linear_rule", "bilinear_rule", "rule"), OTHERS)),
)
def test_functions_of_other_parameters_are_told(constructor, given):
    if constructor == "rule" and given is OTHERS[2]:
        pytest.skip("a rule of x takes x")
    with pytest.raises(ChainRulesError):
        CONSTRUCTORS[constructor](*_primitives(), given)


@pytest.mark.parametrize("requires", ["jax", ("jax",)])
def test_what_is_no_capability_is_told(requires):
    with pytest.raises(RuleError, match=r"write Capability\('jax'\)"):
        rule(_primitives()[0], requires=requires)


def test_types_have_to_be_a_tuple():
    with pytest.raises(RuleError, match=r"types=<class 'float'> is no tuple of 1 types"):
        rule(_primitives()[0], types=float)(lambda x: x)


@pytest.mark.parametrize(
    "constructor, requires, wrong, write",
    [
        (frule.register, ForwardMode, lambda ts, x: 0.0, "one_rule(config, tangents, x)"),
        (frule.register, (), lambda x: 0.0, "one_rule(tangents, x)"),
        (rrule.register, ForwardMode, lambda x: 0.0, "one_rule(config, x)"),
        (rule, ForwardMode, lambda x, y: 0.0, "given the Config; write def one_rule(config, x)"),
    ],
)
def test_the_parameters_to_write_are_those_that_a_rule_is_given(
    constructor, requires, wrong, write
):
    with pytest.raises(RuleError, match=re.escape(write) + "$"):
        constructor(_primitives()[0], requires=requires)(wrong)


def test_options_have_to_be_taken():
    @primitive
    def scaled(x, *, by):
        return x * by

    with pytest.raises(RuleError, match=r"it has to take \(y_bar, x, \*, by\)"):
        linear_rule(scaled, lambda y_bar, _x: y_bar)
    linear_rule(scaled, lambda y_bar, _x, *, by: y_bar * by)
    assert rrule(scaled, 2.0, by=3.0)[1](1.0) == (3.0,)


def test_a_zero_and_nothing_are_transposes():
    @primitive
    def masked(x, mask, other):
        return np.where(mask, x, 0.0)

    linear_rule(masked, lambda y_bar, _x, mask, _other: y_bar * mask, None, ZeroTangent())
    pulled = rrule(masked, np.ones(2), np.array([True, False]), np.ones(2))[1](np.ones(2))
    assert pulled[0].tolist() == [1.0, 0.0]
    assert all(map(is_zero, pulled[1:]))


def test_a_rule_of_code_that_has_no_module():
    @primitive
    def f(x):
        return x * x

    made = {"f": f}
    exec("def f_rule(x):\n    return f(x), lambda bar: (2.0 * x * bar,)", made)
    rrule.register(f)(made["f_rule"])
    assert rrule(f, 3.0)[1](1.0) == (6.0,)


@pytest.mark.parametrize("constructor", [rule, rrule.register, frule.register])
def test_a_constructor_above_a_rule_without_its_primal_is_refused_at_once(constructor):
    with pytest.raises(RuleError, match=r"above hard_rule .* does not say whose rule it is; write"):

        @constructor
        def hard_rule(x):
            return x, (LinearMap(lambda t: t, lambda t: t),)


def test_a_second_scalar_rule_has_no_override_to_be_given():
    doubled = primitive(lambda x: x + x)
    scalar_rule(doubled, lambda _y, _x: 2.0)
    with pytest.raises(RuleError, match=r"; delete one, in a notebook by unregister\(.*\)$"):
        scalar_rule(doubled, lambda _y, _x: 2.0)


def test_a_method_gets_the_rule_that_it_is_told_to_write():
    class Model:
        @primitive
        def twice(self, x):
            return x + x

    with pytest.raises(RuleError, match=r"cannot take self.*; write @rule\(Model.twice\)"):
        scalar_rule(Model.twice, lambda _y, _x: 2.0)

    @rule(Model.twice)
    def twice_rule(self, x):
        return x + x, (NoTangent(), LinearMap(lambda t: t + t, lambda t: t + t))

    assert rrule(Model().twice, 3.0)[1](1.0)[-1] == 2.0


def test_what_a_rule_gives_in_place_of_a_map_is_named():
    doubled = primitive(lambda x: x + x)

    @rule(doubled)
    def doubled_rule(x):
        return x + x, (lambda t: t + t,)

    with pytest.raises(RuleError, match=r"doubled_rule .* LinearMap\(push.*not \(function\)"):
        rrule(doubled, 1.0)


def test_the_line_for_any_number_of_operands_gives_each_its_own_partial():
    @primitive
    def squares(*xs):
        return sum(x * x for x in xs)

    with pytest.raises(RuleError) as e:
        scalar_rule(squares, lambda y, *xs: 1.0)
    line = re.search(r"def rule_of_squares.* for x in xs\]", str(e.value)).group()
    names = {"squares": squares, "LinearMap": LinearMap}
    exec(line.replace("D", "2.0 * x"), names)
    rule(squares)(names["rule_of_squares"])
    partials = rrule(squares, 1.0, 3.0, 5.0)[1](1.0)
    assert partials == pytest.approx((2.0, 6.0, 10.0))


def test_lines_to_write_name_the_result_unlike_the_operands():
    two, of_y = primitive(lambda x, y: x * y), primitive(lambda y: 2.0 * y)
    with pytest.raises(ChainRulesError, match=r"lambda z, x, y: \.\.\., lambda z, x, y: \.\.\."):
        scalar_rule(two, lambda z, x, y: y)
    with pytest.raises(ChainRulesError, match=r"has to take \(z, y\)"):
        scalar_rule(of_y, lambda z: 2.0)


@pytest.mark.parametrize(
    "f, write",
    [
        (colorsys.rgb_to_hsv, "rgb_to_hsv = primitive(colorsys.rgb_to_hsv)"),
        (np.random.normal, "normal = primitive(numpy.random.normal)"),
        (abs, "abs = primitive(abs)"),
        (max, "a function that calls it, with @primitive above"),
        (dgtsv, "a function that calls it, with @primitive above"),
        (functools.partial(np.sum, axis=0), "a function that calls it, with @primitive above"),
    ],
    ids=[
        "of Python",
        "of NumPy, bound",
        "built in",
        "without a signature",
        "in Fortran",
        "partial",
    ],
)
def test_the_line_for_a_function_of_a_library_runs(f, write):
    with pytest.raises(RuleError) as error:
        rule(f)(lambda x: x)
    assert f"; write {write}, and " in str(error.value)
    if " = " in write:
        names = {"primitive": primitive, "numpy": np, "colorsys": colorsys}
        exec(write, names)
        assert names[write.split()[0]].__wrapped__ is f


@dataclasses.dataclass(frozen=True)
class Interval:
    low: float
    high: float

    def sin(self):  # which NumPy calls for np.sin
        return Interval(np.sin(self.low), np.sin(self.high))


def halves_of(t, c):
    return Tangent[Interval](low=c.low * t.low, high=c.high * t.high)


def of_interval(x: Interval):
    return x, ()


def of_tangents(tangents, x: Interval | float):
    return x, tangents[0]


@pytest.mark.parametrize(
    "state",
    [
        lambda f: rule(f)(of_interval),
        lambda f: rrule.register(f)(of_interval),
        lambda f: frule.register(f)(of_tangents),
        lambda f: augmented_rule(f, of_interval, lambda y_bar: (y_bar,)),
    ],
)
def test_a_rule_that_numpys_function_of_a_structure_would_bypass_is_refused(state):
    wrong = r"no engine sees numpy\.sin\(Interval\).*write @rule\(ops\.sin\).* and call ops\.sin"
    with pytest.raises(RuleError, match=wrong):
        state(np.sin)


def test_the_rule_of_an_operation_is_used_for_a_structure():
    @rule(v.sin)
    def sin_rule(x: Interval):
        slopes = Interval(10.0 * np.cos(x.low), 10.0 * np.cos(x.high))
        return x.sin(), (LinearMap(halves_of, halves_of, slopes),)

    try:
        found = grad(lambda x: v.sin(x).high)(Interval(0.0, 1.0))
        assert found.high == pytest.approx(10.0 * np.cos(1.0))
        assert "no engine sees" not in repr(explain(v.sin, Interval(0.0, 1.0)))
        assert "no engine sees numpy.sin(Interval)" in repr(explain(np.sin, Interval(0.0, 1.0)))
    finally:
        unregister(v.sin, Interval)
