"""Each planted wrong rule is caught by `check_rule`, and called by its name."""

from __future__ import annotations

import re

import pytest

from tests.testing.planted.corpora import RIGHT, WRONG, WRONG_BY_TOPIC
from tests.testing.planted.judging import judge_wrong


def kind_of(plant):
    """The name that is asked for, without its numbers."""
    return re.sub(r"[\d./]+", "#", plant.says)


ONE_OF_A_KIND = {kind_of(plant): name for name, plant in reversed(WRONG.items())}.values()
"""The first plant of each name; the others are judged at night."""
DAILY = {*list(ONE_OF_A_KIND)[::2], *[next(iter(plants)) for plants in WRONG_BY_TOPIC.values()]}
"""Every second of these, and the first of each topic."""


def marked(names, daily):
    """The names as parameters; few are judged every day."""
    nightly = pytest.mark.nightly
    return [pytest.param(name, marks=() if name in daily else nightly) for name in names]


@pytest.mark.parametrize("name", marked(WRONG, DAILY))
def test_wrong_rule_is_caught_and_named(name):
    plant = WRONG[name]
    answer = judge_wrong(plant)
    assert answer.is_alarm, "missed"
    assert answer.report is not None, answer.error
    assert answer.is_named(plant), f"{answer.name!r} is not {plant.says!r}\n{answer.report}"
    assert "planted/" in answer.report.where.replace("\\", "/")
    assert "seed 0" in str(answer.error)


def test_names_are_unique():
    assert len(WRONG) == sum(map(len, WRONG_BY_TOPIC.values()))
    assert not WRONG.keys() & RIGHT.keys()


@pytest.mark.parametrize("name", [name for name, plant in WRONG.items() if plant.cites])
def test_citation_is_an_issue(name):
    assert re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", WRONG[name].cites)
