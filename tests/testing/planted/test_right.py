"""No right rule is called wrong, whatever the draw."""

from __future__ import annotations

import pytest

from tests.testing.planted.corpora import RIGHT, RIGHT_BY_TOPIC
from tests.testing.planted.judging import judge_right
from tests.testing.planted.test_wrong import marked

DAILY = {name for rights in RIGHT_BY_TOPIC.values() for name in list(rights)[1::5]}
"""Every fifth of each topic; the others are judged at night."""


@pytest.mark.parametrize("name", marked(RIGHT, DAILY))
def test_right_rule_is_not_called_wrong(name):
    answer = judge_right(RIGHT[name])
    assert not answer.is_alarm, str(answer.error)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 20))
@pytest.mark.parametrize("name", RIGHT)
def test_right_rule_is_not_called_wrong_in_another_draw(name, seed):
    answer = judge_right(RIGHT[name], seed)
    assert not answer.is_alarm, str(answer.error)


def test_names_are_unique():
    assert len(RIGHT) == sum(map(len, RIGHT_BY_TOPIC.values()))
