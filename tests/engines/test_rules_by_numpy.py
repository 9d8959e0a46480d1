"""Rules whose halves compute with NumPy, SciPy or C, in PyTorch and JAX: first order, everywhere.

Truth: central differences of the same function by NumPy.
"""

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, export
from tests.engines.rules_by_numpy import RULES

X = np.array([0.4, 1.1, 0.7])
STEPS = 1e-6 * np.eye(3)
pytestmark = [
    pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
]


def truth(g):
    return sum(
        (np.sum(g(X + e)) - np.sum(g(X - e))) / 2e-6 * np.eye(3)[i] for i, e in enumerate(STEPS)
    )


def of_torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    def backward(f, x):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(f(x).sum(), x)[0]

    def grad(f, x):
        return torch.func.grad(lambda x: f(x).sum())(x)

    doors = {
        "backward": backward,
        "grad": grad,
        "vmap": lambda f, x: torch.func.vmap(lambda x: grad(f, x))(torch.stack([x, x]))[1],
    }
    return doors, [torch.tensor(X), torch.tensor(X, dtype=torch.float32)]


def of_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    grad = lambda f: jax.grad(lambda x: f(x).sum())
    doors = {
        "grad": lambda f, x: grad(f)(x),
        "jit": lambda f, x: jax.jit(grad(f))(x),
        "vmap": lambda f, x: jax.vmap(grad(f))(jax.numpy.stack([x, x]))[1],
    }
    return doors, [jax.numpy.asarray(X), jax.numpy.asarray(X, np.float32)]


ENGINES = {"torch": of_torch, "jax": of_jax}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", RULES)
def test_first_derivatives_are_right(engine, name):
    doors, points = ENGINES[engine]()
    f, g = RULES[name]()
    for x in points:
        for door in doors.values():
            found = door(export(f, to=engine), x)
            assert found.dtype == x.dtype
            np.testing.assert_allclose(np.asarray(found), truth(g), rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_first_derivatives_are_right_in_compiled_programs(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    f, g = RULES[name]()
    torch.compiler.reset()
    compiled = torch.compile(export(f, to="torch"), backend="aot_eager", fullgraph=True)
    x = torch.tensor(X, requires_grad=True)
    np.testing.assert_allclose(torch.autograd.grad(compiled(x).sum(), x)[0], truth(g), rtol=1e-4)


@pytest.mark.parametrize("name", ["ctypes_c", "differences", "saved_lu"])
def test_what_is_not_stated_is_refused_with_what_to_write(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    f = export(RULES[name]()[0], to="torch")
    x = torch.tensor(X)
    with pytest.raises(NotDifferentiableError, match="state an frule"):
        torch.func.jvp(f, (x,), (x,))
    with pytest.raises(NotDifferentiableError, match="state an frule"):
        torch.func.hessian(lambda x: (f(x) ** 2).sum())(x)
