"""Regions with a derivative of their own in loops: each turn has its own names, in every engine."""

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import user_grad
from chainrules_py import ChainRulesError, export
from chainrules_py import ops as v
from chainrules_tape import grad

X = np.array([0.3, 0.4, 0.5])


def by_number(x):
    total = 0.0
    for k in range(3):

        @user_grad(x)
        def y(x):
            return v.sin(x) * (k + 1), lambda c: (c * (k + 1) * v.cos(x),)  # noqa: B023

        total = total + y
    return v.sum(total)


def by_helper(x):
    """Name a function that is another one in each turn."""
    total = 0.0
    for k in range(3):
        scaled = lambda y, k=k: y * (k + 1)

        @user_grad(x)
        def y(x):
            return scaled(v.sin(x)), lambda c: (scaled(c * v.cos(x)),)  # noqa: B023

        total = total + y
    return v.sum(total)


def by_parts(x):
    total = 0.0
    for k in range(3):

        @user_grad(x)
        def y(x):
            parts = {"a": v.sin(x), "b": x * k}  # noqa: B023
            return parts, lambda c: (c["a"] * v.cos(x) + c["b"] * k,)  # noqa: B023

        total = total + y["a"] + y["b"]
    return v.sum(total)


LOOPS = {by_number: 6 * np.cos(X), by_helper: 6 * np.cos(X), by_parts: 3 * np.cos(X) + 3}


def in_jax(f):
    jax = pytest.importorskip("jax")
    return jax.grad(export(f, to="jax"))(jax.numpy.asarray(X))


def in_compiled_jax(f):
    jax = pytest.importorskip("jax")
    return jax.jit(jax.grad(export(f, to="jax")))(jax.numpy.asarray(X))


def in_torch(f):
    torch = pytest.importorskip("torch")
    x = torch.tensor(X, requires_grad=True)
    export(f, to="torch")(x).backward()
    return x.grad


def in_autograd(f):
    return pytest.importorskip("autograd").grad(export(f, to="autograd"))(X)


def on_the_tape(f):
    return grad(f)(X)


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", [in_jax, in_compiled_jax, in_torch, in_autograd, on_the_tape])
def test_each_turn_of_a_loop_has_its_own_names(engine, f):
    """Exported, a loop was refused: the number had changed when the gradient was taken."""
    np.testing.assert_allclose(np.asarray(engine(f)), LOOPS[f], rtol=1e-5)


@pytest.mark.parametrize(
    "code",
    [
        lambda x, _: (x * x, lambda c: (c, c)),
        lambda x, _: (x * x, lambda c: None),
        lambda x, hidden: (x * hidden, lambda c: (c,)),
    ],
    ids=["two cotangents", "none", "a captured variable"],
)
def test_errors_name_the_region(code):
    def f(x):
        @user_grad(x)
        def y(x_in):
            return code(x_in, x)

        return y

    with pytest.raises(ChainRulesError) as error:
        grad(f)(2.0)
    line = f.__code__.co_firstlineno + 1
    shown = "\n".join([str(error.value), *getattr(error.value, "__notes__", ())])
    assert f"{__file__}:{line}" in shown
