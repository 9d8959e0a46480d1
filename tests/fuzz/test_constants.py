"""What is taken to be constant is so in every engine; a hook is never passed over."""

from typing import Any

import numpy as np
import pytest

from chainrules_py import TracerError, export
from chainrules_tape import hook, stop_gradient
from tests.fuzz.constants import X, sample, verdict

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries


def judge(draws):
    """Raise on a derivative that is not that of the program with its constants."""
    wrong = [f"{draw}: {said}" for draw in draws if (said := verdict(*draw))]
    assert not wrong, "\n".join(wrong[:5])


@pytest.fixture
def engines():
    pytest.importorskip("torch")
    pytest.importorskip("autograd")
    with pytest.importorskip("jax").enable_x64(True):
        yield


def test_random_programs(engines):
    judge(sample(0, 45))


@pytest.mark.nightly
def test_many_random_programs(engines):
    judge(sample(1000, 6000))


def hooked(x):
    hook(x, lambda bar: 0.0 * bar)
    return x * x


@pytest.mark.parametrize("engine", ["torch", "jax", "autograd"])
def test_a_hook_is_not_passed_over(engines, engine):
    import autograd
    import jax
    import torch

    grad: Any = {"torch": torch.func.grad, "jax": jax.grad, "autograd": autograd.grad}[engine]
    x = torch.tensor(X) if engine == "torch" else np.array(X)
    of = export(hooked, to=engine)
    with pytest.raises(TracerError, match="hook hangs on values of a tape"):
        grad(lambda x: of(x).sum())(x)


@pytest.mark.parametrize("engine", ["torch", "jax", "autograd"])
def test_what_is_stopped_is_stopped_in_every_engine(engines, engine):
    import autograd
    import jax
    import torch

    grad: Any = {"torch": torch.func.grad, "jax": jax.grad, "autograd": autograd.grad}[engine]
    x = torch.tensor(X) if engine == "torch" else np.array(X)
    of = export(lambda x: stop_gradient(x * x) * x, to=engine)
    assert np.asarray(grad(lambda x: of(x).sum())(x)) == pytest.approx(np.square(X))
