"""Programs that ask for types take the branch that they take by themselves."""

import pytest

from tests.fuzz.questions import sample, verdict


def judge(draws):
    """Raise on draws whose answers are not those of the plain program."""
    wrong = [f"{draw}: {said}" for draw in draws if (said := verdict(*draw))]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.filterwarnings("ignore")
def test_a_thousand_and_a_half():
    judge(sample(0, 1500))


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_all_of_them():
    judge(sample(0))
