"""Structures that can be called, as operands: a rule of their method finds them in every engine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from chainrules_py import LinearMap, Tangent, export, primitive, rrule, rule
from chainrules_py import ops as v
from chainrules_tape import grad

pytestmark = pytest.mark.usefixtures("double")


@dataclass
class Line:
    w: object

    @primitive
    def __call__(self, x):
        return self.w * x


@rule(Line.__call__)
def line_rule(self: Line, x):
    pull_self = LinearMap(lambda t, x: t.w * x, lambda g, x: Tangent[Line](w=v.sum(g * x)), x)
    return self(x), (pull_self, LinearMap(lambda t, w: t * w, lambda g, w: g * w, self.w))


@dataclass
class Net:
    w: object

    def __call__(self, x):
        return self.w + x

    @primitive
    def power(self, x):
        return self.w * x * x


@rrule.register(Net.power)
def power_rrule(self: Net, x):
    return self.power(x), lambda g: (Tangent[Net](w=v.sum(g * x * x)), 2 * g * self.w * x)


CALLS = {
    "call": (lambda to: lambda w, x: export(Line(w), to=to)(x), lambda w, x: w * x),
    "direct": (lambda to: lambda w, x: Line(w)(x), lambda w, x: w * x),
    "function": (
        lambda to: lambda w, x: export(Line.__call__, to=to)(Line(w), x),
        lambda w, x: w * x,
    ),
    "method": (lambda to: lambda w, x: export(Net.power, to=to)(Net(w), x), lambda w, x: w * x * x),
}


def in_jax(f, w, x):
    jax = pytest.importorskip("jax")
    given = jax.numpy.asarray(w), jax.numpy.asarray(x)
    loss = lambda w, x: jax.numpy.sum(f(w, x))
    both = jax.grad(loss, (0, 1))
    return [both(*given), jax.jit(both)(*given), jax.jit(jax.jacfwd(loss, (0, 1)))(*given)]


def in_torch(f, w, x):
    torch = pytest.importorskip("torch")
    both = torch.func.grad(lambda w, x: f(w, x).sum(), (0, 1))
    return [both(torch.tensor(w), torch.tensor(x))]


def in_tape(f, w, x):
    return [grad(lambda w, x: np.sum(f(w, x)), (0, 1))(w, x)]


@pytest.mark.parametrize("engine", [in_tape, in_jax, in_torch])
@pytest.mark.parametrize("call", CALLS)
def test_the_rule_of_a_method_is_found(call, engine):
    w, x = np.array(2.0), np.array([0.5, 3.0])
    to = {in_jax: "jax", in_torch: "torch"}.get(engine)
    if to is None and call != "direct":
        pytest.skip("nothing is exported to the tape")
    f, plain = CALLS[call]
    wanted = grad(lambda w, x: np.sum(plain(w, x)), (0, 1))(w, x)
    for found in engine(f(to), w, x):
        for have, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(have), want, rtol=1e-12)
