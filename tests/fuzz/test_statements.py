"""Rules that are stated in part are used, transposed or refused, and never passed over."""

import pytest

from tests.fuzz.statements import PENS, everything, sample, wrong

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries


def judge(draws):
    """Raise on what is neither stated nor an error; and on an error where a rule fits."""
    found = [f"{draw}: {said}" for draw in draws if (said := wrong(*draw))]
    assert not found, "\n".join(found[:5])


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


def test_in_mlx():
    pytest.importorskip("mlx.core")
    judge(sample(3, 100, ("mlx",)))


@pytest.mark.nightly
@pytest.mark.parametrize("pen", [*PENS, "custom_vjp", "custom_jvp"])
def test_all_of_them(pen):
    pytest.importorskip("torch")
    pytest.importorskip("autograd")
    pytest.importorskip("mlx.core")
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        judge([draw for draw in everything() if draw[0] == pen])
