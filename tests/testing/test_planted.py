"""What can be asked of `check_rule` besides one default call, at planted wrong rules.

The plants themselves, wrong ones and right ones, are in ``planted``, and are judged there.
"""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    primitive,
    rule,
)
from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, check_frule, check_rrule, check_rule
from tests.testing.planted.build import X, Z, scaled, sine, times, wrong_for
from tests.testing.planted.corpora import WRONG


@pytest.mark.parametrize("name", ["sine: sign", "keepdims", "product: in place"])
def test_report_says_how_to_check_again(name):
    plant = WRONG[name]
    with pytest.raises(RuleCheckError) as caught:
        check_rule(plant.f, *plant.operands, **plant.options)
    assert f"again: check_rule({plant.f.__name__}, " in str(caught.value)


@primitive
def scaled_by(x, /, *, mode="once"):
    """x, or twice x for what begins with a letter of an even number."""
    return x * (2.0 - ord(mode[0]) % 2)


@rule(scaled_by)
def scaled_by_rule(x, *, mode):
    half = lambda t: t
    return scaled_by(x, mode=mode), (LinearMap(half, half),)


def test_options_that_nobody_knows_are_varied_on_demand():
    assert check_rule(scaled_by, X).passed
    with pytest.raises(RuleCheckError, match=r"wrong only for mode='twice' \(factor 1/2"):
        check_rule(scaled_by, X, vary={"mode": ("once", "twice")})


def test_what_a_constructor_says_of_complex_operands_has_to_be_right():
    f = sine(lambda _y, x: v.conj(v.cos(x)), complex="holomorphic")
    with pytest.raises(RuleCheckError, match=r"says complex='holomorphic' \(conjugated"):
        check_rule(f, X)


def test_operands_are_varied_by_name():
    f = wrong_for(lambda x: x.shape == (4,))
    assert check_rule(f, X).passed
    with pytest.raises(RuleCheckError, match=r"wrong only for another x \(factor 2"):
        check_rule(f, X, vary={"x": (np.arange(1.0, 5.0),)})


def test_one_point_alone():
    plant = WRONG["keepdims"]
    assert check_rule(plant.f, *plant.operands, vary=False, **plant.options).passed


@pytest.mark.parametrize("check, halves_seen", [(check_frule, "push"), (check_rrule, "pull")])
def test_one_mode_alone(check, halves_seen):
    """A mistake in the other half is none of its business."""
    wrong_pull = WRONG["product: factor back"]
    if halves_seen == "push":
        assert check(wrong_pull.f, *wrong_pull.operands).passed
    else:
        with pytest.raises(RuleCheckError, match="factor 3"):
            check(wrong_pull.f, *wrong_pull.operands)


def test_complex_operands_that_nobody_gave_are_told_of():
    report = check_rule(times(scaled, scaled), X, Z)
    assert report.verdict("complex") == "skipped"
    assert "with complex operands" in str(report)


def test_line_to_paste_checks_the_same_again():
    plant = WRONG["sine: sign"]
    with pytest.raises(RuleCheckError) as caught:
        check_rule(plant.f, *plant.operands, seed=3)
    with pytest.raises(RuleCheckError) as again:
        eval(caught.value.report.again, {"check_rule": check_rule, "np": np, "f": plant.f})
    assert str(again.value) == str(caught.value)


def test_unknown_check_is_an_error():
    with pytest.raises(ValueError, match="there is no check"):
        check_rule(v.sin, X, checks=("pushes",))
