"""Object arrays beside what is differentiated: the derivative, or an error of ours."""

import pytest

from tests.fuzz.objects import sample, verdict


def judge(draws):
    """Raise on draws of which the derivative is neither right nor refused."""
    wrong = [f"{draw}: {said}" for draw in draws if (said := verdict(*draw))]
    assert not wrong, "\n".join(wrong[:20])


@pytest.mark.filterwarnings("ignore")
def test_some_of_them():
    judge(sample(0, 600))


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")
def test_all_of_them():
    judge(sample(0))
