"""What a rule looks up is what it was at the call, or there is an error; in every engine."""

import importlib.util
import random

import numpy as np
import pytest

from tests.fuzz.captures import (
    HABITS,
    PENS,
    TAPE,
    X,
    everything,
    everything_traced,
    habitual,
    sample,
    verdict,
    verdict_traced,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries


INSTALLED = ["torch", "jax", "autograd"]
if importlib.util.find_spec("mlx"):
    INSTALLED.append("mlx")


def traced():
    """All draws of what is traced, in the engines that are installed."""
    return [draw for draw in everything_traced() if draw[3][0] in INSTALLED]


def judge(draws, verdict=verdict):
    """Raise on a derivative that is not that of the call, and on an error where nothing changed."""
    wrong = [f"{draw}: {said}" for draw in draws if "wrong" in (said := verdict(*draw))]
    assert not wrong, "\n".join(wrong[:5])


def test_on_the_tape():
    judge(sample(0, 400))


def test_in_other_engines(engines):
    judge(sample(1, 60, ("torch", "jax", "autograd")))


def test_in_mlx():
    pytest.importorskip("mlx.core")
    judge(sample(3, 200, ("mlx",)))


def test_what_another_engine_traces_is_not_captured_in_silence(engines):
    judge(random.Random(2).sample(traced(), 40), verdict_traced)


@pytest.mark.parametrize("door", TAPE)
@pytest.mark.parametrize("habit", HABITS)
def test_what_a_rule_changes_itself_is_its_own_business(habit, door):
    for pen in ("scalar_rule", "linear_rule", "rule", "rrule", "frule"):
        if (pen, door) == ("frule", "rrule"):
            continue  # it names no engine that would transpose it
        draw = habitual(pen, habit)
        np.testing.assert_allclose(TAPE[door](draw.f, draw.change), draw.slope(X))


@pytest.mark.nightly
@pytest.mark.parametrize("pen", PENS)
def test_all_of_them_on_the_tape(pen):
    judge([draw for draw in everything() if draw[0] == pen and draw[4][0] == "tape"])


@pytest.mark.nightly
@pytest.mark.parametrize("pen", PENS)
def test_all_of_them_in_other_engines(engines, pen):
    judge([draw for draw in everything() if draw[0] == pen and draw[4][0] in INSTALLED])


@pytest.mark.nightly
@pytest.mark.parametrize("pen", PENS)
def test_all_that_is_captured_while_traced(engines, pen):
    judge([draw for draw in traced() if draw[0] == pen], verdict_traced)
