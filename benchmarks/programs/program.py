"""What a program is, and how each engine is asked for its value and gradient."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

import chainrules_tape

__all__ = ["ENGINES", "Program", "engine"]


@dataclasses.dataclass(frozen=True)
class Program:
    """A loss, where it is differentiated, and its gradient by hand.

    Attributes
    ----------
    name : str
        With its sizes, as tables show it.
    inputs : callable
        Gives the arguments: what is differentiated in comes first, then data.
    moving : int
        How many of the arguments are differentiated in.
    loss : callable
        ``loss(xp)`` is the function, written in the names of NumPy.
    by_hand : callable
        Takes the arguments; value and gradients as one would write them knowing the program.
    budget, aim : float
        How many times the hand-written program ours may take, and is to take.
    without : tuple of str
        The engines that cannot run it, or that nobody would wait for.
    rtol : float
        How well gradients agree.
    """

    name: str
    inputs: Callable[[], tuple[Any, ...]]
    moving: int
    loss: Callable[[Any], Callable[..., Any]]
    by_hand: Callable[..., tuple[Any, tuple[Any, ...]]]
    budget: float
    aim: float
    without: tuple[str, ...] = ()
    rtol: float = 1e-7


def ours(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """By `chainrules_tape`."""
    both = chainrules_tape.value_and_grad(program.loss(np), argnums=tuple(range(program.moving)))
    return lambda: both(*arguments)


def by_autograd(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """By autograd, which differentiates in one argument: a tuple."""
    autograd = importlib.import_module("autograd")
    loss = program.loss(importlib.import_module("autograd.numpy"))
    n = program.moving
    both = autograd.value_and_grad(lambda xs: loss(*xs, *arguments[n:]))
    return lambda: both(tuple(arguments[:n]))


def by_torch(threads: int) -> Callable[[Program, tuple[Any, ...]], Callable[[], Any]]:
    """By PyTorch, eager, on so many threads."""

    def prepare(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
        torch = importlib.import_module("torch")
        loss = program.loss(torch)
        given = [_tensor(torch, x, i < program.moving) for i, x in enumerate(arguments)]
        leaves = [t for x in given[: program.moving] for t in (x if isinstance(x, list) else [x])]

        def run() -> Any:
            torch.set_num_threads(threads)
            y = loss(*given)
            bars = list(torch.autograd.grad(y, leaves))
            grouped = [
                [bars.pop(0) for _ in x] if isinstance(x, list) else bars.pop(0)
                for x in given[: program.moving]
            ]
            return y, tuple(grouped)

        return run

    return prepare


def _tensor(torch: Any, x: Any, moves: bool) -> Any:
    if isinstance(x, list):
        return [_tensor(torch, item, moves) for item in x]
    if isinstance(x, (float, np.ndarray)):
        return torch.tensor(x, dtype=None if moves is False else torch.float64, requires_grad=moves)
    return x


def by_jax(jit: bool) -> Callable[[Program, tuple[Any, ...]], Callable[[], Any]]:
    """By JAX, eager or compiled, in double precision."""

    def prepare(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        given = [jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in arguments]
        n = program.moving
        loss = program.loss(jax.numpy)
        both: Any = jax.value_and_grad(
            lambda *xs: loss(*xs, *given[n:]), argnums=tuple(range(program.moving))
        )
        both = jax.jit(both) if jit else both
        return lambda: jax.block_until_ready(both(*given[:n]))

    return prepare


def by_hand(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """By NumPy alone."""
    return lambda: program.by_hand(*arguments)


ENGINES: dict[str, Callable[[Program, tuple[Any, ...]], Callable[[], Any]]] = {
    "NumPy by hand": by_hand,
    "chainrules_tape": ours,
    "autograd": by_autograd,
    "PyTorch, 1 thread": by_torch(1),
    "PyTorch, 2 threads": by_torch(2),
    "JAX, eager": by_jax(jit=False),
    "JAX, jit": by_jax(jit=True),
}
"""What prepares a program and its arguments for an engine: a call gives value and gradients."""


def engine(name: str, program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """A call of a program by an engine.

    ImportError where it is not installed, NotImplementedError where the program is not for it.
    """
    if name in program.without:
        msg = f"{program.name} is not run by {name}"
        raise NotImplementedError(msg)
    return ENGINES[name](program, arguments)
