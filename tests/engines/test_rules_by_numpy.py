"""Rules whose halves compute with NumPy, SciPy or C, in PyTorch and JAX: first order, everywhere.

Truth: central differences of the same function by NumPy.
"""

import math

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, export, primitive, rrule
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
    f, g = RULES[name]()
    f, x = export(f, to="torch"), torch.tensor(X)
    if name == "saved_lu":  # the others pull through np.asarray, which is transposed
        with pytest.raises(NotDifferentiableError, match="state an frule"):
            torch.func.jvp(f, (x,), (x,))
    else:
        slope = (g(X * (1 + 1e-6)) - g(X * (1 - 1e-6))) / 2e-6
        np.testing.assert_allclose(torch.func.jvp(f, (x,), (x,))[1], slope, rtol=1e-6)
    with pytest.raises(NotDifferentiableError, match="state an frule"):
        torch.func.hessian(lambda x: (f(x) ** 2).sum())(x)


def filled_buffer():
    """A pull that writes the elements of an array of NumPy."""
    f = primitive(lambda x: x[0] ** 2 * x[1] + 0.0 * x[2])

    def rule(x):
        def pull(bar):
            found = np.zeros(3)
            found[0] = bar * 2 * x[0] * x[1]
            found[1] = bar * x[0] ** 2
            return (found,)

        return f(x), pull

    rrule.register(f)(rule)
    return f


def of_a_number():
    """A rule for Python's numbers, computed by `math`."""
    f = primitive(lambda x: math.exp(x))

    @rrule.register(f)
    def rule(x: float):
        return math.exp(x), lambda bar: (math.exp(x) * bar,)

    return f


def test_elements_that_are_written_to_numpys_arrays_are_called_back():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    gradient, x = jax.grad(export(filled_buffer(), to="jax")), jax.numpy.asarray(X)
    wanted = [2 * X[0] * X[1], X[0] ** 2, 0.0]
    for door in (gradient, jax.jit(gradient), lambda x: jax.vmap(gradient)(x[None])[0]):
        np.testing.assert_allclose(door(x), wanted, rtol=1e-6)


def test_a_rule_for_numbers_is_called_back_with_numbers():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    gradient = jax.grad(export(of_a_number(), to="jax"))
    for door in (gradient, jax.jit(gradient), lambda x: jax.vmap(gradient)(jax.numpy.array([x]))):
        np.testing.assert_allclose(door(0.3), np.exp(0.3), rtol=1e-6)


def test_a_second_derivative_of_a_rule_by_numpy_says_what_to_write():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    f = export(of_a_number(), to="jax")
    for form in (jax.hessian(f), jax.grad(jax.grad(f)), jax.jit(jax.grad(jax.grad(f)))):
        with pytest.raises(NotDifferentiableError, match="state an frule"):
            form(0.3)


def test_a_cotangent_that_is_not_traced_proves_nothing_of_those_that_are():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    f, g = RULES["saved_lu"]()
    f = export(f, to="jax")
    with jax.enable_x64(True):
        gradient, x = jax.grad(lambda x: f(x).sum()), jax.numpy.asarray(X)
        jax.vmap(gradient)(x[None])
        np.testing.assert_allclose(jax.jit(gradient)(x), truth(g), rtol=1e-4)
