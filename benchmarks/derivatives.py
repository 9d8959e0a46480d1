"""Whole derivatives: Hessians, Jacobians, products with them, and a checkpointed chain.

Each is computed by the tape, by hand in NumPy (in batches, as one would write it knowing the
function), and by the peers.
"""

from __future__ import annotations

import importlib
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_tape import grad, hessian, hvp, jacobian
from chainrules_tape.tools import checkpoint_chain

N = 100
BUDGETS = {"hvp": 12, "Hessian": 40, "Jacobian, forward": 6, "Jacobian, reverse": 6}
"""How many times the hand-written program a case may take."""
CASES = tuple(BUDGETS)
PEERS = (
    "autograd",
    "PyTorch, torch.func",
    "PyTorch, torch.autograd",
    "JAX, eager",
    "JAX, jit",
)

_rng = np.random.default_rng(0)
X, V = _rng.normal(size=N), _rng.normal(size=N)
A, B = _rng.normal(size=(N, N)) / 10, _rng.normal(size=(N, N)) / 10


def rosenbrock(xp: Any, x: Any) -> Any:
    """Rosenbrock's function of a vector."""
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def network(xp: Any, x: Any, a: Any, b: Any) -> Any:
    """Two layers, from 100 numbers to 100."""
    return xp.tanh(b @ xp.tanh(a @ x))


# ------------------------------------------------------------------------------------- by hand


def hvp_by_hand(x: Any, v: Any) -> Any:
    """Compute the Hessian's product with v: the gradient and its derivative, line by line."""
    a, b, va, vb = x[:-1], x[1:], v[:-1], v[1:]
    d, vd = b - a**2, vb - 2.0 * a * va
    e, ve = 1.0 - a, -va
    g, vg = 200.0 * d, 200.0 * vd
    left, vleft = -2.0 * (a * g + e), -2.0 * (va * g + a * vg + ve)
    bar, product = np.zeros_like(x), np.zeros_like(x)
    bar[1:] += g
    product[1:] += vg
    bar[:-1] += left
    product[:-1] += vleft
    return product


def hessian_by_hand(x: Any) -> Any:
    """Compute the Hessian: the derivatives of the gradient in all directions at once."""
    v = np.eye(x.size)
    a, b, va, vb = x[:-1], x[1:], v[:, :-1], v[:, 1:]
    d, vd = b - a * a, vb - 2.0 * a * va
    product = np.zeros((x.size, x.size))
    product[:, :-1] = -400.0 * (va * d + a * vd) + 2.0 * va
    product[:, 1:] += 200.0 * vd
    return product


def jacobian_by_hand(x: Any, a: Any, b: Any) -> Any:
    """Compute the product of the layers' Jacobians."""
    h = np.tanh(a @ x)
    y = np.tanh(b @ h)
    return ((1.0 - y * y)[:, None] * b) @ ((1.0 - h * h)[:, None] * a)


def by_hand(case: str) -> Callable[[], Any]:
    """Build the computation of a case in NumPy alone."""
    if case == "hvp":
        return lambda: hvp_by_hand(X, V)
    return lambda: hessian_by_hand(X) if case == "Hessian" else jacobian_by_hand(X, A, B)


# ------------------------------------------------------------------------------ ours, and others


def by_tape(case: str) -> Callable[[], Any]:
    """Build the computation of a case by the tape."""
    if case == "hvp":
        return lambda: hvp(lambda x: rosenbrock(np, x), (X,), (V,))[0]
    if case == "Hessian":
        second = hessian(lambda x: rosenbrock(np, x))
        return lambda: second(X)
    first = jacobian(lambda x: network(np, x, A, B), mode="forward" if "f" in case else "reverse")
    return lambda: first(X)


def peer(name: str, case: str) -> Callable[[], Any]:
    """Build the computation of a case by a peer.

    ImportError where it is not installed, NotImplementedError where it has no such function.
    """
    if name == "autograd":
        return _by_autograd(case)
    return _by_jax(case, name == "JAX, jit") if "JAX" in name else _by_torch(case, "func" in name)


def _by_autograd(case: str) -> Callable[[], Any]:
    autograd = importlib.import_module("autograd")
    xp = importlib.import_module("autograd.numpy")
    if case == "hvp":
        product = autograd.hessian_vector_product(lambda x: rosenbrock(xp, x))
        return lambda: product(X, V)
    if case == "Hessian":
        second = autograd.hessian(lambda x: rosenbrock(xp, x))
        return lambda: second(X)
    if case == "Jacobian, forward":
        msg = "has no forward Jacobian"
        raise NotImplementedError(msg)
    first = autograd.jacobian(lambda x: network(xp, x, A, B))
    return lambda: first(X)


def _by_torch(case: str, functional: bool) -> Callable[[], Any]:
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    x, v, a, b = map(torch.tensor, (X, V, A, B))
    loss, net = lambda x: rosenbrock(torch, x), lambda x: network(torch, x, a, b)
    old = torch.autograd.functional
    if case == "hvp":
        if functional:
            return lambda: torch.func.jvp(torch.func.grad(loss), (x,), (v,))[1]
        return lambda: old.hvp(loss, x, v)[1]
    if case == "Hessian":
        second = torch.func.hessian(loss)
        return lambda: second(x) if functional else old.hessian(loss, x)
    forward = case == "Jacobian, forward"
    first = (torch.func.jacfwd if forward else torch.func.jacrev)(net)
    if functional:
        return lambda: first(x)
    mode = "forward-mode" if forward else "reverse-mode"
    return lambda: old.jacobian(net, x, strategy=mode, vectorize=True)


def _by_jax(case: str, jit: bool) -> Callable[[], Any]:
    jax = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    x, v, a, b = map(jax.numpy.asarray, (X, V, A, B))
    loss = lambda x: rosenbrock(jax.numpy, x)
    net = lambda x: network(jax.numpy, x, a, b)
    derivatives: dict[str, Callable[[Any], Any]] = {
        "hvp": lambda x: jax.jvp(jax.grad(loss), (x,), (v,))[1],
        "Hessian": jax.hessian(loss),
        "Jacobian, forward": jax.jacfwd(net),
        "Jacobian, reverse": jax.jacrev(net),
    }
    derivative = jax.jit(derivatives[case]) if jit else derivatives[case]
    return lambda: jax.block_until_ready(derivative(x))


# ------------------------------------------------------------------------------ a long chain

STEPS = 1000
CHAINS = {"1e5 numbers": 100_000, "1e3 numbers": 1000}
"""How much each step of the chain holds, by the name of the case."""


def chain(case: str, *, checkpointed: bool) -> Callable[[], Any]:
    """Build the gradient through a chain of a thousand sines, with or without checkpoints."""
    x = np.full(CHAINS[case], 0.5)
    step = lambda x, k: np.sin(x)

    def plain(x: Any) -> Any:
        for k in range(STEPS):
            x = step(x, k)
        return x

    run = checkpoint_chain(step, STEPS) if checkpointed else plain
    gradient = grad(lambda x: np.sum(run(x)))
    return lambda: gradient(x)


def peak(run: Callable[[], Any], case: str) -> float:
    """Measure the most memory that a run holds at once, in arrays of one step."""
    run()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / (8.0 * CHAINS[case])
    finally:
        tracemalloc.stop()
