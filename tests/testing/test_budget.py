"""What a judgement costs: the default, and a budget of calls or seconds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from chainrules_py import LinearMap, primitive, rule
from chainrules_py.testing import RuleCheckError, check_rule
from tests.testing.planted.build import sine

RISING = np.array([0.1, 0.2, 0.3])


def counted():
    calls = []

    def value(x):
        calls.append(1)
        return np.sin(x)

    f = primitive(lambda x, /: value(x))

    @rule(f)
    def f_rule(x: np.ndarray):
        half = lambda t, c: t * c
        return value(x), (LinearMap(half, half, np.cos(x)),)

    return f, calls


def test_three_numbers_take_sixty_calls():
    f, calls = counted()
    report = check_rule(f, RISING[[2, 0, 1]])
    assert len(calls) <= 60
    assert "shapes" in report.not_tried
    assert "not tried: " in str(report)


def test_a_budget_is_kept_and_the_report_says_what_was_not_tried():
    f, calls = counted()
    report = check_rule(f, RISING, budget=12)
    assert len(calls) <= 16
    assert report.verdict("value") == "passed"
    nothing = check_rule(f, RISING, budget=0.0)
    assert {f.verdict for f in nothing.findings} == {"skipped"}
    with pytest.raises(RuleCheckError, match="is wrong"):  # and named, whatever that takes
        check_rule(sine(lambda y, _x: y), RISING, checks=("push",), budget=8)
    assert "second order" in report.not_tried
    assert json.loads(report.to_json())["not_tried"] == report.not_tried
