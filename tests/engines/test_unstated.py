"""A derivative that nobody has stated: an error where it is asked for, beside those that are."""

import functools
import operator

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule, custom_vjp
from chainrules_py import (
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    NotImplementedTangent,
    ZeroTangent,
    export,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import grad, jvp

WHY = "the order has no derivative, of which tables know none"
UNSTATED = NotImplementedTangent(WHY)


def product(x, y):
    return x * y


def by_rrule():
    f = primitive(lambda x, y: product(x, y))
    rrule.register(f)(lambda x, y: (product(x, y), lambda bar: (bar * y, UNSTATED)))
    return f


def by_rule():
    f = primitive(lambda x, y: product(x, y))

    @rule(f)
    def stated(x, y):
        unknown = LinearMap(lambda t: UNSTATED, lambda t: UNSTATED)
        return product(x, y), (LinearMap(lambda t: t * y, lambda t: t * y), unknown)

    return f


def by_scalar_rule():
    f = primitive(lambda x, y: product(x, y))
    scalar_rule(f, lambda out, x, y: y, lambda out, x, y: UNSTATED)
    return f


def by_custom_vjp():
    f = custom_vjp(lambda x, y: product(x, y))
    f.defvjp(lambda x, y: (product(x, y), y), lambda y, bar: (bar * y, UNSTATED))
    return f


def by_augmented_rule():
    f = primitive(lambda x, y: product(x, y))
    augmented_rule(f, lambda x, y: (product(x, y), (y,)), lambda y, bar: (bar * y, UNSTATED))
    return f


FORMS = (by_rrule, by_rule, by_scalar_rule, by_custom_vjp, by_augmented_rule)


def of_tape(f, place):
    return grad(f, place)(2.0, 3.0)


def of_tape_of_arrays(f, place):
    return grad(f, place)(np.float64(2.0), np.array(3.0))


def of_torch(f, place):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    xs = [torch.tensor(2.0), torch.tensor(3.0)]
    xs[place].requires_grad_()
    return torch.autograd.grad(f(*xs), xs[place])[0]


def of_torch_func(f, place):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.func.grad(f, place)(torch.tensor(2.0), torch.tensor(3.0))


def of_jax(f, place):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    return jax.grad(f, place)(2.0, 3.0)


def of_jit(f, place):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    return jax.jit(jax.grad(f, place))(2.0, 3.0)


def of_autograd(f, place):
    autograd = pytest.importorskip("autograd", reason="autograd is not installed")
    return autograd.grad(f, place)(2.0, 3.0)


DOORS = {
    of_tape: None,
    of_tape_of_arrays: None,
    of_torch: "torch",
    of_torch_func: "torch",
    of_jax: "jax",
    of_jit: "jax",
    of_autograd: "autograd",
}


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("door", DOORS)
def test_what_nobody_has_stated_raises_where_it_is_asked_for_and_nowhere_else(door, form):
    f = form()
    if form is by_scalar_rule and DOORS[door] == "torch":
        pytest.skip("PyTorch's engine refuses it in its own words: partials give numbers")
    if DOORS[door] is not None:
        f = export(f, to=DOORS[door])
    assert float(door(f, 0)) == 3.0
    with pytest.raises(NotDifferentiableError, match=WHY):
        door(f, 1)


@pytest.mark.parametrize("form", [by_rule, by_scalar_rule])
def test_forward_mode_as_well(form):
    f, x, y = form(), np.array(2.0), np.array([3.0, 4.0])
    np.testing.assert_array_equal(jvp(lambda x: f(x, y), (x,), (x,))[1], 2.0 * y)
    with pytest.raises(NotDifferentiableError, match=WHY):
        jvp(lambda y: f(x, y), (y,), (y,))


class Line:
    """A function that is an object."""

    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return self.a * x


FUNCTIONS = (lambda a: lambda x: a * x, lambda a: functools.partial(operator.mul, a), Line)
ZEROS = (
    ZeroTangent,
    NoTangent,
    lambda: LinearMap(lambda t: ZeroTangent(), lambda t: NoTangent()),
)


def applied_with(zero):
    """Three times what a function gives, by a rule that says nothing of the function."""
    f = primitive(lambda g, x: 3.0 * g(x))

    @rule(f)
    def applied_rule(g: object, x):
        return 3.0 * g(x), (zero(), LinearMap(lambda t: 6.0 * t, lambda t: 6.0 * t))

    return f


def applied_by_rrule():
    f = primitive(lambda g, x: 3.0 * g(x))
    rrule.register(f, types=(object, object))(
        lambda g, x: (3.0 * g(x), lambda bar: (NoTangent(), 6.0 * bar))
    )
    return f


APPLIED = (*[functools.partial(applied_with, zero) for zero in ZEROS], applied_by_rrule)
ENGINES = [(door, engine) for door, engine in DOORS.items() if engine is not None]


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("door, engine", ENGINES)
def test_zero_for_a_function_that_captured_what_is_differentiated_is_an_error(door, engine):
    """What a function captured is its operand in an engine; the other operand has its gradient."""
    for make in APPLIED:
        f = export(make(), to=engine)
        assert float(door(lambda a, x, f=f: a * f(lambda x: 2.0 * x, x), 1)) == 12.0
        for function in FUNCTIONS:
            with pytest.raises(NotDifferentiableError, match="gives zero for a function"):
                door(lambda a, x, f=f, of=function: a * f(of(a), x), 0)
