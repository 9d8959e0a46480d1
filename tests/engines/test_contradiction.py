"""Rules that state on purpose what is not the derivative of their function, to second order."""

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule, custom_vjp
from chainrules_py import LinearMap, export, frule, primitive, rrule, rule
from chainrules_tape import Tape, grad, jvp

X = 3.0


def _same(x):
    return 1.0 * x


def by_rule(value):
    f = primitive(lambda x: _same(x))
    given = f if value == "called" else _same

    @rule(f)
    def reversed_rule(x):
        return given(x), (LinearMap(lambda t: -t, lambda t: -t),)

    return f


def by_both_modes(value):
    f = primitive(lambda x: _same(x))
    given = f if value == "called" else _same
    rrule.register(f)(lambda x: (given(x), lambda y_bar: (-y_bar,)))
    frule.register(f)(lambda tangents, x: (given(x), -tangents[0]))
    return f


def by_custom_vjp(value):
    f = custom_vjp(lambda x: _same(x))
    given = f if value == "called" else _same
    f.defvjp(lambda x: (given(x), None), lambda _, g: (-g,))
    return f


def by_augmented_rule(value):
    f = primitive(lambda x: _same(x))
    given = f if value == "called" else _same
    augmented_rule(f, lambda x: (given(x), ()), lambda g: (-g,))
    return f


STYLES = (by_rule, by_both_modes, by_custom_vjp, by_augmented_rule)


def along(f, push):
    return lambda x: push(f, (x,), (1.0 + 0 * x,))[1]


def nestings(grad, push):
    """The four ways to a second derivative."""
    forward = lambda f: along(f, push)
    return [lambda f, a=a, b=b: a(b(f)) for a in (grad, forward) for b in (grad, forward)]


def of_tape(f):
    return [second(f)(X) for second in nestings(grad, jvp)]


def of_one_tape(f):
    with Tape(differentiable=True) as tape:
        x = tape.variable(np.float64(X))
        y = f(x)
        slope = tape.grad(y, x)
        return [tape.grad(slope, x).value]


def of_jax(f):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    return [t(second(f))(X) for second in nestings(jax.grad, jax.jvp) for t in (jax.jit, _bare)]


def of_autograd(f):
    autograd = pytest.importorskip("autograd", reason="autograd is not installed")
    push = lambda f, xs, ts: autograd.make_jvp(f)(*xs)(*ts)
    return [second(f)(X) for second in nestings(autograd.grad, push)]


def of_torch(f):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.tensor(X, requires_grad=True)
    (slope,) = torch.autograd.grad(f(x), x, create_graph=True)
    found = [second(f)(x.detach()) for second in nestings(torch.func.grad, torch.func.jvp)]
    return [torch.autograd.grad(slope, x)[0], *found]


def _bare(f):
    return f


TRACED_BY_LEVELS = {"tape": of_tape, "jax": of_jax, "autograd": of_autograd}
ENGINES = {**TRACED_BY_LEVELS, "torch": of_torch, "one tape": of_one_tape}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("value", ["called", "computed otherwise"])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_rule_that_calls_its_function_counts_again_at_second_order(engine, style, value):
    """As the documentation says: where the rule calls its function, the rule counts each time."""
    f = style(value)
    if engine in ("jax", "autograd", "torch"):
        f = export(f, to=engine)
    of_the_body = value != "called" and engine in TRACED_BY_LEVELS
    for second in ENGINES[engine](lambda x: 0.5 * f(x) ** 2):
        assert float(second) == (-1.0 if of_the_body else 1.0)
