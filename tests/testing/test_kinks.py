"""At a kink, and near one, a right rule is not wrong: it is skipped there."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import LinearMap, primitive, rule
from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, check_rrule, check_rule

DISTANCES = (0.0, 1e-9, 1e-6, 1e-3)


@primitive
def relu(x, /):
    """The positive part."""
    return v.maximum(x, 0.0)


@rule(relu)
def relu_rule(x):
    """0 at the kink."""
    half = lambda t, inside: v.where(inside, t, 0.0)
    return v.maximum(x, 0.0), (LinearMap(half, half, x > 0),)


@primitive
def wrong_relu(x, /):
    """The positive part, with a slope of 2."""
    return v.maximum(x, 0.0)


@rule(wrong_relu)
def wrong_relu_rule(x):
    half = lambda t, inside: v.where(inside, 2.0 * t, 0.0)
    return v.maximum(x, 0.0), (LinearMap(half, half, x > 0),)


def at(distance):
    return np.asarray([distance, 1.3, -0.7])


CALLS = {
    "abs": lambda d: (v.abs, at(d)),
    "abs below": lambda d: (v.abs, -at(d)),
    "maximum": lambda d: (v.maximum, at(d), np.asarray([0.0, 2.0, -1.0])),
    "minimum": lambda d: (v.minimum, 1.0 + at(d), np.asarray([1.0, 2.0, -1.0])),
    "max": lambda d: (v.max, np.asarray([1.0, 1.0 + d, 0.5])),
    "relu": lambda d: (relu, at(d)),
    "relu below": lambda d: (relu, -at(d)),
    "clip": lambda d: (v.clip, at(d), 0.0, 2.0),
    "sqrt": lambda d: (v.sqrt, np.asarray([d, 1.0])),
    "python number": lambda d: (v.abs, d),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("distance", DISTANCES)
def test_right_rule_near_a_kink_is_never_wrong(name, distance):
    f, *operands = CALLS[name](distance)
    report = check_rule(f, *operands)
    assert report.passed
    if distance == 0.0:
        assert report.verdict("push") == "skipped"
        assert "not smooth here" in str(report)


@pytest.mark.parametrize("name", ["abs", "maximum", "relu"])
@pytest.mark.parametrize("distance", [0.0, 1e-15])
def test_what_differences_cannot_tell_is_no_pass(name, distance):
    f, *operands = CALLS[name](distance)
    report = check_rule(f, *operands)
    assert report.verdict("push") == "skipped"
    assert "not smooth here" in str(report)


@pytest.mark.parametrize("distance", DISTANCES)
def test_wrong_rule_near_a_kink_is_found_by_its_other_elements(distance):
    with pytest.raises(RuleCheckError, match="factor 2"):
        check_rule(wrong_relu, at(distance))


@pytest.mark.parametrize("distance", DISTANCES)
def test_reverse_mode_alone_near_a_kink(distance):
    assert check_rrule(relu, at(distance)).passed
    with pytest.raises(RuleCheckError, match="factor 2"):
        check_rrule(wrong_relu, at(distance))
