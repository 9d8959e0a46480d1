"""Common slips in rules of functions are found from operands as one would try them with."""

from __future__ import annotations

import itertools

import pytest

from tests.testing.planted.judging import judge_right, judge_wrong
from tests.testing.planted.slips import plant, right, single_operands, single_rights, wrong

SINGLE = dict(single_operands())
DAILY = (
    "places [0, -1]: duplicates_lost",
    "power 2: of two and three",
    "whole factor: from two on",
)
SLIPPED = (
    ("|x| to 1.5", "sign lost below zero", 0),
    ("cbrt", "NaN below zero", 0),
    ("mean", "rows for size", 0),
    ("softmax", "diagonal only", 0),
    ("sum along rows", "axes", 1),
    ("cumsum", "single precision", 0),
)
"""What is judged every day; the others are at night."""


@pytest.mark.parametrize("name", DAILY)
def test_slip_of_places_and_whole_numbers_is_found(name):
    assert judge_wrong(SINGLE[name]).is_alarm


@pytest.mark.parametrize("slipped", SLIPPED)
def test_slip_is_found(slipped):
    assert judge_wrong(plant(*slipped)).is_alarm


@pytest.mark.nightly
def test_every_slip_is_found():
    plants = itertools.chain(single_operands(), wrong())
    assert [name for name, slipped in plants if not judge_wrong(slipped).is_alarm] == []


@pytest.mark.nightly
def test_no_right_rule_is_called_wrong():
    rights = itertools.chain(single_rights(), right())
    assert [name for name, one in rights if judge_right(one).is_alarm] == []
