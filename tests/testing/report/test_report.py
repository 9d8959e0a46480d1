"""Reports as data, as JSON, as a picture."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from chainrules_py import LinearMap, primitive, rule, scalar_rule
from chainrules_py import ops as v
from chainrules_py.testing import RuleCheckError, Table, check_rule

A = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@primitive
def total(x, /, *, twice: bool = False):
    return v.multiply(v.matmul(A, x), 2.0 if twice else 1.0)


@rule(total)
def total_rule(x, *, twice):
    def push(t):
        return v.matmul(A, t)

    return total(x, twice=twice), (LinearMap(push, lambda t: v.matmul(A.T, t)),)


@primitive
def cubed(x, /):
    return x * x * x


scalar_rule(cubed, lambda _y, x: 2 * x * x)


def failed(f, *operands, **options):
    with pytest.raises(RuleCheckError) as caught:
        check_rule(f, *operands, **options)
    return caught.value.report


def svg(text):
    """What is drawn, as a tree: it is well-formed and loads nothing."""
    assert "href" not in text
    (found,) = re.findall(r"<svg.*</svg>", text, re.DOTALL)
    return ET.fromstring(found)


def cells(text):
    return [e for e in svg(text).iter() if e.tag.endswith("rect")]


def test_both_jacobians_are_arrays_with_names():
    table = check_rule(total, np.ones(3), vary=False).jacobian
    assert isinstance(table, Table)
    np.testing.assert_allclose(table.have, A)
    np.testing.assert_allclose(table.want, A, atol=1e-10)
    assert ([*table.rows], table.columns[0]) == (["y[0]", "y[1]"], "x[0]")
    assert table.titles == ("push", "differences")


def test_where_differences_mean_nothing_the_pull_is_beside_the_push():
    table = check_rule(v.abs, np.asarray([0.0, 1.0]), smooth=False).jacobian
    assert table.titles == ("pull", "push")
    assert table.is_within


def test_jacobian_is_of_the_call_in_which_the_mistake_was_found():
    report = failed(total, np.ones(3))
    np.testing.assert_allclose(report.jacobian.have, A)
    np.testing.assert_allclose(report.jacobian.want, 2 * A, atol=1e-10)


def test_what_is_too_large_has_none():
    assert check_rule(cubed, np.zeros(2100), vary=False, checks=("value",)).jacobian is None


def test_failure_has_a_heat_map():
    report = failed(cubed, np.asarray([1.0, -2.0]))
    text = report._repr_html_()
    assert "factor 2/3" in text
    assert len(cells(text)) == 4
    white = [cell for cell in cells(text) if cell.get("fill") == "#ffffff"]
    assert len(white) == 2  # beside the diagonal
    (told, *_) = cells(text)[0]
    assert told.text == "y[0] in x[0]: 2, and 3"


def test_pass_is_text_and_its_map_can_be_asked_for():
    report = check_rule(v.sin, np.ones(3), vary=False)
    assert report._repr_html_() is None
    drawn = report.jacobian._repr_html_()
    assert "no difference" in drawn
    assert {cell.get("fill") for cell in cells(drawn)} == {"#ffffff"}


def test_large_maps_are_pooled_so_that_no_difference_is_lost():
    report = failed(cubed, np.where(np.arange(100) == 41, 1.0, 0.0), vary=False)
    drawn = cells(report._repr_html_())
    assert len(drawn) == 32 * 32
    assert len([cell for cell in drawn if cell.get("fill") != "#ffffff"]) == 1


def test_a_rule_that_raises_has_a_report_all_the_same():
    @primitive
    def raising(x, /):
        return v.sin(x)

    @rule(raising)
    def raising_rule(x):
        raise ZeroDivisionError

    report = failed(raising, 1.0)
    assert report._repr_html_().startswith("<pre>")
    with pytest.raises(ZeroDivisionError):
        _ = report.jacobian


def test_infinite_differences_are_black():
    with np.errstate(all="ignore"):
        table = Table(np.asarray([[np.nan]]), np.ones((1, 1)), ["y"], ["x"], 1e-9, ("a", "b"))
        (cell,) = cells(table._repr_html_())
    assert cell.get("fill") == "#000"


def test_json():
    report = failed(cubed, np.asarray([1.0, -2.0]), seed=3)
    kept = json.loads(report.to_json())
    assert kept["verdict"] == "failed"
    assert kept["patterns"] == ["factor 2/3"]
    assert kept["seed"] == 3
    assert kept["call"] == "cubed(float64[2])"
    assert kept["again"] == report.again
    assert {"check", "verdict", "text", "pattern"} == kept["findings"][0].keys()
