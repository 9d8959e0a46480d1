"""The same call with less of everything; and what a large call costs."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import ops as v
from chainrules_py.testing import check_rule
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.differences import derivative
from chainrules_py.testing.cases.smaller_call import smaller

RNG = np.random.default_rng(3)


def case_of(f, *operands, **options):
    return Case(f, operands, options, None, True, 0, None)


def test_axes_of_one_length_keep_one_length_and_others_stay_apart():
    small = smaller(case_of(v.matmul, np.ones((70, 80)), np.ones((80, 90))))
    assert [x.shape for x in small.operands] == [(5, 4), (4, 6)]
    assert [x.shape for x in smaller(case_of(v.add, np.ones((3, 70)), np.ones(70))).operands] == [
        (3, 5),
        (5,),
    ]


def test_indices_are_made_to_lie_inside():
    small = smaller(case_of(v.take, np.arange(70.0), np.arange(30, 60), axis=0))
    assert np.max(small.operands[1]) < small.operands[0].size


def test_a_function_that_does_not_take_it_has_no_smaller_call():
    assert smaller(case_of(lambda x: x.reshape(7, 10), np.ones(70))) is None


MANY = RNG.standard_normal(100_000)
MATRIX = RNG.standard_normal((150, 150)) + 20 * np.eye(150)


@pytest.mark.parametrize(
    "call",
    [
        (v.sin, (MANY,), {}),
        (v.multiply, (MANY, MANY + 1.0), {}),
        (v.sum, (MANY,), {}),
        (v.sort, (MANY,), {}),
        (v.cumulative_sum, (MANY,), {"axis": 0}),
        (v.matmul, (MATRIX, MATRIX), {}),
        (v.inv, (MATRIX,), {}),
        (v.solve, (MATRIX, MATRIX), {}),
    ],
    ids=lambda call: call[0].__name__,
)
def test_large_call_is_judged_by_all_checks(call):
    f, operands, options = call
    report = check_rule(f, *operands, **options)
    passed = {g.check for g in report.findings if g.verdict == "passed"}
    assert {"adjoint", "second order", "other calls"} <= passed
    assert "push" in passed or f is v.sort  # some of many elements lie next to others


def test_differences_of_many_are_those_of_each():
    x = np.linspace(-2.0, 2.0, 5000)
    value, error = derivative(lambda t: np.abs(x + t) + np.sin(x + t))
    smooth = np.abs(x) > 1e-6
    np.testing.assert_allclose(value[smooth], (np.sign(x) + np.cos(x))[smooth], atol=1e-5)
    assert np.all(error[smooth] < 1e-5)
