"""A deep program on small arrays, where what is paid per operation is all there is to pay.

Sine, multiply, add, over and over, differentiated in the start and in both constants: by the tape,
by the peers, and by hand.
"""

from __future__ import annotations

import importlib
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

OPERATIONS = 1000
SHAPES = {"same shape": (4,), "broadcast": (1,)}
"""The shape of the array that is added, by the name of the case."""
PEERS = ("autograd", "PyTorch, eager", "JAX, eager", "JAX, jit")


def inputs(case: str) -> tuple[Any, Any, Any]:
    """Where the program starts, what it multiplies by, and what it adds."""
    rng = np.random.default_rng(0)
    return rng.normal(size=4), rng.normal(size=4), rng.normal(size=SHAPES[case])


def program(xp: Any, h: Any, w: Any, b: Any, operations: int = OPERATIONS) -> Any:
    """Run the chain of sine, multiply and add in any library, and sum up its result."""
    for _ in range(operations // 3):
        h = xp.sin(h)
        h = h * w
        h = h + b
    return xp.sum(h)


def by_tape(h: Any, w: Any, b: Any, operations: int = OPERATIONS) -> tuple[Any, tuple[Any, ...]]:
    """Compute the value and the three gradients by the tape."""
    from chainrules_tape import vjp

    y, pullback = vjp(lambda h, w, b: program(np, h, w, b, operations), h, w, b)
    return y, pullback(np.float64(1.0))


def by_hand(h: Any, w: Any, b: Any, operations: int = OPERATIONS) -> tuple[Any, tuple[Any, ...]]:
    """Compute value and gradients as one would write it in NumPy, knowing the program."""
    before: list[Any] = []
    keep, sin, cos = before.append, np.sin, np.cos
    for _ in range(operations // 3):
        keep(h)
        sine = sin(h)
        keep(sine)
        h = sine * w + b
    y = np.sum(h)
    h_bar = np.ones(h.shape)
    w_bar = b_bar = None
    broadcast = b.shape != h.shape
    for i in range(operations // 3 - 1, -1, -1):
        part = np.add.reduce(h_bar, keepdims=True) if broadcast else h_bar
        b_bar = part if b_bar is None else b_bar + part
        part = h_bar * before[2 * i + 1]
        w_bar = part if w_bar is None else w_bar + part
        h_bar = h_bar * w * cos(before[2 * i])
    return y, (h_bar, w_bar, b_bar)


def peer(name: str, h: Any, w: Any, b: Any, operations: int = OPERATIONS) -> Callable[[], Any]:
    """Build the computation of value and gradients by a peer.

    ImportError where it is not installed, NotImplementedError where it cannot be waited for.
    """
    if name == "autograd":
        autograd = importlib.import_module("autograd")
        xp = importlib.import_module("autograd.numpy")
        both = autograd.value_and_grad(lambda xs: program(xp, *xs, operations))
        return lambda: both((h, w, b))
    if name == "PyTorch, eager":
        torch = importlib.import_module("torch")
        torch.set_num_threads(1)
        tensors = [torch.tensor(x, requires_grad=True) for x in (h, w, b)]

        def run() -> Any:
            y = program(torch, *tensors, operations)
            return y, torch.autograd.grad(y, tensors)

        return run
    jax = importlib.import_module("jax")
    if name == "JAX, jit" and b.shape != h.shape:
        msg = "compiles for minutes"
        raise NotImplementedError(msg)
    jax.config.update("jax_enable_x64", True)
    arrays = [jax.numpy.asarray(x) for x in (h, w, b)]
    differentiated = jax.value_and_grad(
        lambda *xs: program(jax.numpy, *xs, operations), argnums=(0, 1, 2)
    )
    if name == "JAX, jit":
        differentiated = jax.jit(differentiated)
    return lambda: jax.block_until_ready(differentiated(*arrays))


def measure_tape(case: str, operations: int = OPERATIONS) -> dict[str, float]:
    """Measure the costs per operation that do not depend on the machine.

    The bytes and the blocks that the tape holds when the forward pass is over, its records, and the
    Python functions called in the forward and the backward pass.
    """
    from chainrules_tape import Tape

    xs = inputs(case)
    for _ in range(2):  # binds the rules, and loads what the first pass backwards needs
        by_tape(*xs, operations)
    tape = Tape()
    leaves = [tape.leaf(x) for x in xs]
    tracemalloc.start()
    try:
        bytes_before, blocks_before = _held()
        y = program(np, *leaves, operations)
        bytes_after, blocks_after = _held()
    finally:
        tracemalloc.stop()
    records = len(tape)
    del y

    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        by_tape(*xs, operations)
    finally:
        sys.setprofile(None)
    return {
        "bytes": (bytes_after - bytes_before) / operations,
        "blocks": (blocks_after - blocks_before) / operations,
        "records": (records - len(xs)) / operations,
        "calls": calls / operations,
    }


def _held() -> tuple[int, int]:
    held, blocks = tracemalloc.get_traced_memory()[0], sys.getallocatedblocks()
    return held, blocks
