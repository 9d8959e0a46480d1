"""What is taken to be constant is so in every engine; a hook is never passed over."""

import numpy as np
import pytest

from chainrules_py import TracerError
from chainrules_py import ops as v
from chainrules_tape import hook, stop_gradient
from tests.fuzz.constants import DOORS, X, sample, verdict

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries


def judge(draws):
    """Raise on a derivative that is not that of the program with its constants."""
    wrong = [f"{draw}: {said}" for draw in draws if (said := verdict(*draw))]
    assert not wrong, "\n".join(wrong[:5])


def test_random_programs(engines):
    judge(sample(0, 45))


@pytest.mark.nightly
def test_many_random_programs(engines):
    judge(sample(1000, 6000))


def hooked(x):
    hook(x, lambda bar: 0.0 * bar)
    return v.sum(x * x)


ENGINES = pytest.mark.parametrize("engine", ["torch", "jax", "autograd"])


@ENGINES
def test_a_hook_is_not_passed_over(engines, engine):
    with pytest.raises(TracerError, match="hook takes values of a tape"):
        DOORS[engine, "grad"](hooked)


@ENGINES
def test_what_is_stopped_is_stopped_in_every_engine(engines, engine):
    found = DOORS[engine, "grad"](lambda x: v.sum(stop_gradient(x * x) * x))
    assert np.asarray(found) == pytest.approx(np.square(X))
