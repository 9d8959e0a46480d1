"""Functions of engines as rules: what they take and give, and modules that keep statistics."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, RuleError, export, primitive, rrule
from chainrules_py import ops as v
from chainrules_tape import grad, hvp, jvp, value_and_grad

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

X = np.array([0.5, -1.2, 2.3, 1.0])


class Pair(NamedTuple):
    """A structure."""

    a: Any
    b: Any


@pytest.mark.parametrize("engine", ["torch", "autograd"])
@pytest.mark.parametrize("hold", [lambda x: [x, x], lambda x: (x, x), lambda x: Pair(x, x)])
def test_structures_of_arrays_are_refused(engine: str, hold: Any) -> None:
    pytest.importorskip(engine)
    f = importlib.import_module(f"chainrules_{engine}").import_rule(lambda p: (p[0] * p[1]).sum())
    for run in (
        lambda: grad(f)(hold(X)),
        lambda: grad(lambda x: f(hold(x)))(X),
        lambda: jvp(lambda x: f(hold(x)), (X,), (X,)),
        lambda: rrule(f, hold(X)),
    ):
        with pytest.raises(NotDifferentiableError, match="import a function of these"):
            run()


def test_functions_of_torch_that_leave_it_are_refused() -> None:
    torch: Any = pytest.importorskip("torch")
    import_rule = importlib.import_module("chainrules_torch").import_rule
    for leave in (
        lambda t: torch.tensor(t[0].item()) ** 2,
        lambda t: torch.tensor(t.tolist()).sum() ** 2,
        lambda t: t.sum() * float(t[0]),
    ):
        f = import_rule(leave)
        with pytest.raises(NotDifferentiableError, match="does not become a plain number"):
            grad(f)(X)
        with pytest.raises(NotDifferentiableError, match="does not become a plain number"):
            jvp(f, (X,), (X,))


@pytest.mark.parametrize("slope", [2.0, np.array([2.0, 0.5, -1.0, 3.0])])
def test_second_derivatives_of_what_is_linear_in_torch(slope: Any) -> None:
    """PyTorch's tangent of a constant is a tensor of zeros without memory."""
    torch: Any = pytest.importorskip("torch")
    c = torch.as_tensor(slope)
    f = importlib.import_module("chainrules_torch").import_rule(lambda t: t * c)
    found = hvp(lambda x: np.sum(f(x) ** 2), (X,), (X,))
    np.testing.assert_allclose(found[0], 2.0 * slope**2 * X, rtol=1e-15)


def test_a_class_of_functions_is_told_from_its_function() -> None:
    torch: Any = pytest.importorskip("torch")

    class Cube(torch.autograd.Function):
        """It has no derivative: its class is refused before."""

    with pytest.raises(RuleError, match=r"write import_rule\(Cube\.apply\)"):
        importlib.import_module("chainrules_torch").import_rule(Cube)


def test_parameters_behind_the_operands_are_options() -> None:
    jnp: Any = pytest.importorskip("jax.numpy")
    tile = importlib.import_module("chainrules_jax").import_rule(jnp.tile, operands=1)
    np.testing.assert_allclose(grad(lambda x: np.sum(tile(x, reps=3) ** 2))(X), 6.0 * X)


@pytest.mark.parametrize("of", [lambda t: t, lambda t: t[1:], lambda t: t.view(2, 2)])
def test_results_of_torch_are_memory_of_their_own(of: Any) -> None:
    pytest.importorskip("torch")
    f = importlib.import_module("chainrules_torch").import_rule(of)

    def program(x: Any) -> Any:
        y = f(x)
        y[0] = 9.0
        return np.sum(x * x) + np.sum(y)

    x = X.copy()
    assert program(x) == value_and_grad(program)(X)[0]
    np.testing.assert_array_equal(x, X)


def _batches() -> Any:
    import torch

    return torch.nn.BatchNorm1d(3).double()


MODULES: dict[str, Any] = {
    "batches": _batches,
    "their mean": lambda: (
        importlib.import_module("torch").nn.BatchNorm1d(3, momentum=None).double()
    ),
    "after another": lambda: importlib.import_module("torch").nn.Sequential(_batches(), _batches()),
    "instances": lambda: (
        importlib.import_module("torch").nn.InstanceNorm1d(5, track_running_stats=True).double()
    ),
}
"""Modules that write running statistics, of which their results do not depend."""


@pytest.mark.parametrize("module", MODULES)
def test_an_imported_module_that_is_trained_keeps_its_statistics_as_in_pytorch(module: str) -> None:
    torch: Any = pytest.importorskip("torch")
    import_rule = importlib.import_module("chainrules_torch").import_rule
    x = np.random.default_rng(0).normal(size=(5, 3))
    native, t = MODULES[module](), torch.tensor(x, requires_grad=True)
    bars = torch.autograd.grad((native(t) ** 3).sum(), t, create_graph=True)[0]
    twice = torch.autograd.grad((bars * t.detach()).sum(), t)[0]
    mine = MODULES[module]()
    f = import_rule(mine)
    cubes = lambda x: np.sum(f(x) ** 3)
    np.testing.assert_allclose(grad(cubes)(x), bars.detach(), rtol=1e-10)
    for found, wanted in zip(mine.buffers(), native.buffers(), strict=True):
        assert torch.equal(found, wanted)
    np.testing.assert_allclose(
        jvp(cubes, (x,), (x,))[1], (bars.detach() * t.detach()).sum(), atol=1e-10
    )
    np.testing.assert_allclose(
        grad(lambda q: np.sum(grad(cubes)(q) * x))(x), twice, rtol=1e-8, atol=1e-10
    )


@primitive
def dot(a: Any, b: Any) -> Any:
    return v.sum(a * b * b)


@rrule.register(dot)
def dot_rrule(a: Any, b: Any) -> Any:
    return v.sum(a * b * b), lambda g: (g * b * b, 2.0 * g * a * b)


@pytest.mark.parametrize("function", ["stated", "torch", "jax"])
@pytest.mark.parametrize("place", [0, 1])
def test_an_array_of_another_engine_beside_a_differentiated_one_is_a_constant(
    function: str, place: int
) -> None:
    """That engine's arithmetic would give its own array, a constant for the first engine."""
    torch: Any = pytest.importorskip("torch")
    jax: Any = pytest.importorskip("jax")
    f: Any = dot
    if function != "stated":
        import_rule = importlib.import_module(f"chainrules_{function}").import_rule
        f = import_rule(lambda a, b: (a * b * b).sum(), operands=2)
    w = np.array([1.0, -2.0, 0.5, 3.0], np.float32)
    xs = (w, X.astype(np.float32))[:: 1 if place else -1]
    truth = 2 * X + (2 * w * X if place else w * w)

    ours = export(f, to="torch")
    x = torch.tensor(X, dtype=torch.float32, requires_grad=True)
    y = ours(*[x if i == place else jax.numpy.asarray(xs[i]) for i in (0, 1)])
    torch.stack([torch.sum(x * x), torch.as_tensor(y)]).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), truth, rtol=1e-5)

    ours = export(f, to="jax")
    t = torch.tensor(w)
    loss = lambda x: (
        jax.numpy.sum(x * x) + jax.numpy.asarray(ours(x, t) if not place else ours(t, x))
    )
    for slope in (jax.grad(loss), jax.jit(jax.grad(loss))):
        np.testing.assert_allclose(slope(X.astype(np.float32)), truth, rtol=1e-5)


def test_a_raw_key_of_jax_beside_tensors_draws_for_them() -> None:
    torch: Any = pytest.importorskip("torch")
    jax: Any = pytest.importorskip("jax")
    from chainrules_jax import import_rule

    draw = lambda key: jax.random.normal(key, (4,), dtype=jax.numpy.float32)
    noise = export(import_rule(lambda key, x: (draw(key) * x).sum()), to="torch")
    for key in (jax.random.key(0), jax.random.PRNGKey(0)):
        x = torch.ones(4, requires_grad=True)
        torch.stack([torch.sum(x * x), torch.as_tensor(noise(key, x))]).sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 2.0 + np.asarray(draw(key)), rtol=1e-5)


FIRST = """
import numpy as np, {first}
from chainrules_py import export, ops as v, primitive, rrule
import jax.numpy as jnp, torch
@primitive
def dot(a, b):
    return v.sum(a * b)
@rrule.register(dot)
def dot_rrule(a, b):
    return v.sum(a * b), lambda g: (g * b, g * a)
x, t = torch.ones(2, requires_grad=True), jnp.array([3.0, 4.0])
y = export(dot, to="torch")(x, t)
(torch.sum(x * x) + torch.as_tensor(y)).backward()
print(x.grad.tolist())
"""


@pytest.mark.parametrize("first", ["torch", "jax"])
def test_the_first_array_of_another_engine_in_a_process_is_a_constant_too(first: str) -> None:
    """What supports it is loaded then."""
    pytest.importorskip("torch")
    pytest.importorskip("jax")
    run = [sys.executable, "-c", FIRST.format(first=first)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[5.0, 6.0]", done.stderr
