"""Hooks on operations that engines compute, and differentiate, by operations of their own."""

import importlib

import numpy as np
import pytest

from chainrules_py import ChainRulesError, export
from chainrules_py import ops as v
from chainrules_tape import hook

pytestmark = [
    pytest.mark.usefixtures("double"),
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
]

X = np.array([0.3, 0.7], np.float32)
OPERATIONS = {
    "exp": v.exp,
    "multiply": lambda x: v.multiply(x, x),
    "square": v.square,
    "tanh": v.tanh,
    "log1p": v.log1p,
    "sum": v.sum,
    "mean": v.mean,
    "reshape": lambda x: v.reshape(x, shape=(2, 1)),
    "flip": lambda x: v.flip(x, axis=0),
    "tile": lambda x: v.tile(x, repetitions=(2,)),
    "stack": lambda x: v.stack(x, x),
    "matmul": lambda x: v.matmul(x, x),
    "outer": lambda x: v.outer(x, x),
    "permute_dims": lambda x: v.permute_dims(v.expand_dims(x, axis=0), axes=(1, 0)),
    "where": lambda x: v.where(x > 0.5, x, 0.0 * x),
}


def torch_doors(f):
    torch = importlib.import_module("torch")
    x, f = torch.tensor(X), export(f, to="torch")
    one = torch.ones(2)
    # A sum is v.sum, on which a hook may hang as well.
    leaf = lambda: x.clone().requires_grad_()
    yield lambda: (lambda q: torch.autograd.grad((y := f(q)), q, torch.ones_like(y))[0])(leaf())
    yield lambda: (lambda y, pull: pull(torch.ones_like(y))[0])(*torch.func.vjp(f, x))
    yield lambda: torch.func.jvp(f, (x,), (one,))[1]


def jax_doors(f):
    jax, f = importlib.import_module("jax"), export(f, to="jax")
    yield lambda: (lambda y, pull: pull(np.ones(y.shape, y.dtype))[0])(*jax.vjp(f, X))
    yield lambda: jax.jvp(f, (X,), (np.ones_like(X),))[1]


def autograd_doors(f):
    autograd, f = importlib.import_module("autograd"), export(f, to="autograd")
    yield lambda: (lambda pull, y: pull(np.ones_like(y)))(*autograd.core.make_vjp(f, X))
    yield lambda: autograd.make_jvp(f)(X)(np.ones_like(X))[1]


def mlx_doors(f):
    mx, f = importlib.import_module("mlx.core"), export(f, to="mlx")
    x = mx.array(X)
    yield lambda: mx.vjp(f, [x], [mx.ones(f(x).shape)])[1][0]
    yield lambda: mx.jvp(f, [x], [mx.ones(2)])[1][0]


DOORS = {"torch": torch_doors, "jax": jax_doors, "autograd": autograd_doors, "mlx": mlx_doors}


@pytest.mark.parametrize("engine", DOORS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_a_hook_on_an_operation_is_met_in_every_engine(engine, name):
    """PyTorch and MLX ran their own operations for operations of theirs, and no hook."""
    pytest.importorskip("mlx.core" if engine == "mlx" else engine)
    doors = [*DOORS[engine](OPERATIONS[name])]
    before = [np.asarray(door()) for door in doors]
    with hook(getattr(v, name), lambda g: 2.0 * g, linear=True):
        for door, plain in zip(doors, before, strict=True):
            np.testing.assert_allclose(np.asarray(door()), 2.0 * plain, rtol=1e-6)
    with hook(getattr(v, name), lambda g: 2.0 * g):
        np.testing.assert_allclose(np.asarray(doors[0]()), 2.0 * before[0], rtol=1e-6)
        with pytest.raises(ChainRulesError, match="acts in reverse mode"):
            doors[-1]()
    for door, plain in zip(doors, before, strict=True):
        np.testing.assert_allclose(np.asarray(door()), plain, rtol=1e-6)


def test_a_hook_that_computes_by_its_own_operation_passes_once(near):
    """Forward mode transposes the hook, which met itself in what it computes."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with hook(v.multiply, lambda g: v.multiply(g, 2.0), linear=True):
        near(jax.jvp(export(lambda x: v.multiply(x, 3.0), to="jax"), (1.0,), (1.0,))[1], 6.0)
