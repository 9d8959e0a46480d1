"""No right rule is called wrong, whatever the draw."""

from __future__ import annotations

import pytest

from tests.testing.planted.corpora import RIGHT, RIGHT_BY_TOPIC
from tests.testing.planted.judging import judge_right
from tests.testing.planted.known import (
    KNOWN_AFTER_OTHERS,
    KNOWN_ALARMS,
    KNOWN_IN_SOME_DRAWS,
)
from tests.testing.planted.test_wrong import marked

SEEDS = 20
KNOWN_AT_ALL = {**KNOWN_ALARMS, **KNOWN_AFTER_OTHERS, **KNOWN_IN_SOME_DRAWS}
CLEAN = [name for name in RIGHT if name not in KNOWN_AT_ALL]
DAILY = {name for rights in RIGHT_BY_TOPIC.values() for name in list(rights)[1::5]}
"""Every fifth of each topic; the others are judged at night."""


@pytest.mark.parametrize("name", marked(RIGHT, KNOWN_ALARMS, DAILY))
def test_right_rule_is_not_called_wrong(name):
    answer = judge_right(RIGHT[name])
    if answer.is_alarm and name in KNOWN_AFTER_OTHERS:
        pytest.xfail(KNOWN_AFTER_OTHERS[name])
    assert not answer.is_alarm, str(answer.error)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, SEEDS))
@pytest.mark.parametrize("name", CLEAN)
def test_right_rule_is_not_called_wrong_in_another_draw(name, seed):
    answer = judge_right(RIGHT[name], seed)
    assert not answer.is_alarm, str(answer.error)


@pytest.mark.nightly
@pytest.mark.parametrize("name", marked(KNOWN_IN_SOME_DRAWS, KNOWN_IN_SOME_DRAWS))
def test_right_rule_is_not_called_wrong_in_any_draw(name):
    answers = [judge_right(RIGHT[name], seed) for seed in range(1, SEEDS)]
    assert not any(answer.is_alarm for answer in answers)


def test_names_are_unique_and_known_ones_exist():
    assert len(RIGHT) == sum(map(len, RIGHT_BY_TOPIC.values()))
    assert KNOWN_AT_ALL.keys() <= RIGHT.keys()
