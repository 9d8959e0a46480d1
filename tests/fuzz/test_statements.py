"""Rules that are stated in part are used, transposed or refused, and never passed over."""

import collections
import types

import numpy as np
import pytest

from chainrules_py import TracerError, primitive, rrule
from chainrules_tape import checkpoint, grad, jvp, linearize, value_and_grad
from tests.fuzz.statements import CONSTRUCTORS, everything, sample, wrong

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


class Held:
    """Nothing that anybody knows the inside of."""

    def __init__(self, *parts):
        self.parts = parts

    def __iter__(self):
        return iter(self.parts)


HIDING = {
    "an object": Held,
    "a deque": lambda *parts: collections.deque(parts),
    "an iterator": lambda *parts: iter(parts),
    "a generator": lambda *parts: (part for part in parts),
    "values of a dict": lambda *parts: dict(enumerate(parts)).values(),
}


@pytest.mark.parametrize("hidden", HIDING)
@pytest.mark.parametrize("x", [2.0, np.ones(3)])
def test_of_what_an_operand_hides_no_body_is_differentiated(hidden, x):
    @primitive
    def product(parts):
        first, second = parts
        return first * second

    @rrule.register(product)
    def product_rule(parts: tuple):
        return product(parts), lambda bar: (tuple([-bar * part for part in parts]),)

    f = lambda x: np.sum(product(HIDING[hidden](x, 3.0)))
    assert f(x) == np.sum(3.0 * x)
    runs = (
        lambda: grad(f)(x),
        lambda: value_and_grad(f)(x),
        lambda: grad(checkpoint(f))(x),
        lambda: jvp(f, (x,), (x,)),
        lambda: linearize(f, x),
    )
    for run in runs:
        with pytest.raises(TracerError, match="holds a value that is being differentiated"):
            run()


def test_what_stands_beside_a_result_and_holds_no_real_number_is_free():
    @primitive
    def f(x):
        return 2.0 * x, types.SimpleNamespace(steps=3, operation="done", seen=np.arange(3)), len

    @rrule.register(f)
    def f_rrule(x: float):
        return f(x), lambda bar: (7.0 * bar[0],)

    assert grad(lambda x: f(x)[0])(2.0) == jvp(lambda x: f(x)[0], (2.0,), (1.0,))[1] == 7.0


@pytest.mark.nightly
@pytest.mark.parametrize("constructor", [*CONSTRUCTORS, "custom_vjp", "custom_jvp"])
def test_all_of_them(constructor):
    pytest.importorskip("torch")
    pytest.importorskip("autograd")
    pytest.importorskip("mlx.core")
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        judge([draw for draw in everything() if draw[0] == constructor])
