"""What a rule looks up is what it was at the call, or there is an error; in every engine."""

import numpy as np
import pytest

from tests.fuzz.captures import HABITS, PENS, TAPE, X, everything, habitual, sample, verdict

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries


def judge(draws):
    """Raise on a derivative that is not that of the call, and on an error where nothing changed."""
    wrong = [f"{draw}: {said}" for draw in draws if "wrong" in (said := verdict(*draw))]
    assert not wrong, "\n".join(wrong[:5])


def test_on_the_tape():
    judge(sample(0, 600))


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
