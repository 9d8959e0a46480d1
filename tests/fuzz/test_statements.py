"""Rules that are stated in part are used, transposed or refused, and never passed over."""

import pytest

from tests.fuzz.statements import PENS, everything, sample, verdict

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries

_HALVES = ("rule without pull", "rule without push")


def judge(draws):
    """Raise on what is neither stated nor an error; and on an error where a rule fits."""
    wrong = []
    for draw in draws:
        pen, types, _, (_, door) = draw
        said = verdict(*draw)
        fits = types == "object" and pen not in ("scalar_rule", *_HALVES)
        if "requires" in pen and door in ("frule", "rrule"):
            fits = False  # they name no engine
        if said.startswith("wrong") or (fits and said != "stated"):
            wrong.append(f"{draw}: {said}")
    assert not wrong, "\n".join(wrong[:5])


def test_on_the_tape():
    judge(sample(0, 1000))


def test_in_torch_and_autograd():
    pytest.importorskip("torch")
    pytest.importorskip("autograd")
    judge(sample(1, 250, ("torch", "autograd")))


def test_in_jax():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        judge(sample(2, 25, ("jax",)))


@pytest.mark.nightly
@pytest.mark.parametrize("pen", [*PENS, "custom_vjp", "custom_jvp"])
def test_all_of_them(pen):
    pytest.importorskip("torch")
    pytest.importorskip("autograd")
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        judge([draw for draw in everything() if draw[0] == pen])
