"""Rules for NumPy's arrays alone: right to first order, and that is all that they say."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from chainrules_py import Array, LinearMap, linear_rule, primitive, rrule, rule
from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, check_rule
from tests.testing.planted.build import halves

X = np.asarray([0.5, -1.0, 2.0])


def through_a_buffer(t, x):
    given = np.zeros(3)
    for i in range(3):
        given[i] = t[i] * np.cos(x[i])
    return given


def through_asarray(t, x):
    return t * np.cos(np.asarray(x))


def by_a_branch(t, x):
    return t * np.cos(x) if float(x[0]) < 10.0 else t


def by_what_catches_errors(t, x):
    return t * np.array([float(mpmath.cos(x[i])) for i in range(3)])


@pytest.mark.parametrize("half", [through_a_buffer, by_a_branch, by_what_catches_errors])
def test_second_order_of_a_rule_for_numpy_is_skipped(half):
    f = halves(np.sin, half, half)
    report = check_rule(f, X, vary=False)
    assert report.verdict("second order") == "skipped"
    line = half.__code__.co_firstlineno
    told = next(found.text for found in report.findings if found.check == "second order")
    assert "the rule is for NumPy's arrays alone" in told
    assert any(f"test_second_order.py:{line + k}" in told for k in range(1, 5))


def test_a_rule_that_makes_arrays_of_objects_is_right_to_second_order():
    report = check_rule(halves(np.sin, through_asarray, through_asarray), X, vary=False)
    assert report.verdict("second order") == "passed"


def test_second_order_that_is_asked_for_by_name_is_judged():
    f = halves(np.sin, through_a_buffer, through_a_buffer)
    with pytest.raises(RuleCheckError, match="raised"):
        check_rule(f, X, checks=("push", "second order"))


def test_an_entry_that_nothing_flows_from_is_told_of():
    @primitive
    def moments(x, /):
        return np.mean(x), np.sum(x * x)

    @rule(moments)
    def moments_rule(x: Array):
        push = lambda t: (v.mean(t), v.sum(2 * x * t))
        pull = lambda t: t[0][None] / x.size + 2 * x * t[1][None]
        return moments(x), (LinearMap(push, pull),)

    with pytest.raises(RuleCheckError, match=r"y_bar\[1\] is ZeroTangent\(\) then") as caught:
        check_rule(moments, X)
    assert "fails where a result is not used" in caught.value.report.patterns


def test_a_whole_number_is_none_of_the_entries_that_nothing_flows_from():
    @primitive
    def fitted(x, /):
        return {"rounds": 7, "loss": np.sum(x * x), "mean": np.mean(x)}

    @rrule.register(fitted)
    def fitted_rule(x: Array):
        return fitted(x), lambda t: (2 * x * t["loss"] + v.expand_dims(t["mean"], axis=0) / 3,)

    with pytest.raises(RuleCheckError) as caught:
        check_rule(fitted, X)
    assert "fails where a result is not used" in caught.value.report.patterns
    (found,) = caught.value.report.failures
    assert "where only loss of the result is used" in found.text
    assert "\n  y_bar.mean is ZeroTangent() then" in found.text


def test_the_place_of_a_rule_that_always_runs_is_named():
    @primitive
    def regularised(x, /):
        return x

    @rrule.register(regularised, always=True)
    def regularised_rule(x: Array):
        return x, lambda y_bar: (y_bar + 0.1 * x,)

    with pytest.raises(RuleCheckError, match=r"rule: .*test_second_order.py:\d+"):
        check_rule(regularised, X)


def test_lengths_that_are_not_meant_are_told_of():
    @primitive
    def pairs(x, /):
        return x[: x.size // 2] + x[x.size // 2 : 2 * (x.size // 2)]

    linear_rule(pairs, lambda t, x: v.concat(t, t))
    assert check_rule(pairs, np.arange(1.0, 7.0)).passed
