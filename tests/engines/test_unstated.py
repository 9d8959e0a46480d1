"""A derivative that nobody has stated: an error where it is asked for, beside those that are."""

import numpy as np
import pytest

from chainrules_compat import augmented_rule, custom_vjp
from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    NotImplementedTangent,
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
