"""Programs, and how each engine is asked for their values and gradients.

Nothing here imports an engine before it is asked for one: the time to a first gradient is measured
in new processes, and each pays for its own imports.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


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
    elements : int
        How many elements an operation makes at most.
    without : mapping
        The engines that cannot run it, or that nobody would wait for, with the reason.
    rtol : float
        How well gradients agree.
    scanned : callable or None
        ``scanned(jax)`` is the same function with its loop as a `jax.lax.scan`, which is compiled
        once and not unrolled. Data are arguments of it as well.
    """

    name: str
    inputs: Callable[[], tuple[Any, ...]]
    moving: int
    loss: Callable[[Any], Callable[..., Any]]
    by_hand: Callable[..., tuple[Any, tuple[Any, ...]]]
    budget: float
    aim: float
    elements: int
    without: Mapping[str, str] = dataclasses.field(default_factory=dict)
    rtol: float = 1e-7
    scanned: Callable[[Any], Callable[..., Any]] | None = None


Prepare = Callable[[Program, tuple[Any, ...]], Callable[[], Any]]


def ours(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare the program for `chainrules_tape`."""
    tape = importlib.import_module("chainrules_tape")
    both = tape.value_and_grad(program.loss(np), argnums=tuple(range(program.moving)))
    return lambda: both(*arguments)


def by_autograd(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare the program for autograd, which differentiates in one argument: a tuple."""
    autograd = importlib.import_module("autograd")
    loss = program.loss(importlib.import_module("autograd.numpy"))
    n = program.moving
    both = autograd.value_and_grad(lambda xs: loss(*xs, *arguments[n:]))
    return lambda: both(tuple(arguments[:n]))


def by_mygrad(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare the program for MyGrad, whose tensors keep their gradients."""
    mygrad = importlib.import_module("mygrad")
    loss = program.loss(mygrad)
    n = program.moving
    moving = [_each(lambda x: mygrad.tensor(x, dtype=float), x) for x in arguments[:n]]

    def run() -> Any:
        y = loss(*moving, *arguments[n:])
        y.backward()
        return y.data, tuple(_each(lambda x: x.grad, x) for x in moving)

    return run


def by_torch(threads: int, compiled: bool = False) -> Prepare:
    """Make the function that prepares programs for PyTorch, on so many threads."""

    def prepare(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
        torch = importlib.import_module("torch")
        loss = torch.compile(program.loss(torch)) if compiled else program.loss(torch)
        given = [_tensor(torch, x, i < program.moving) for i, x in enumerate(arguments)]
        moving = [t for x in given[: program.moving] for t in (x if isinstance(x, list) else [x])]

        def run() -> Any:
            y = loss(*given)
            bars = iter(torch.autograd.grad(y, moving))
            return y, tuple(_each(lambda _: next(bars), x) for x in given[: program.moving])

        run.before = lambda: torch.set_num_threads(threads)  # type: ignore[attr-defined]
        run.before()  # type: ignore[attr-defined]
        return run

    return prepare


def _each(f: Callable[[Any], Any], x: Any) -> Any:
    return [f(item) for item in x] if isinstance(x, list) else f(x)


def _tensor(torch: Any, x: Any, moves: bool) -> Any:
    if isinstance(x, list):
        return [_tensor(torch, item, moves) for item in x]
    if isinstance(x, (float, np.ndarray)):
        dtype = torch.float64 if moves and isinstance(x, float) else None
        return torch.tensor(x, dtype=dtype, requires_grad=moves)
    return x


def by_jax(how: str) -> Prepare:
    """Prepare for JAX in double precision: eager, compiled, or compiled with its loop as a scan."""

    def prepare(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        # A list of numbers is one array where JAX is to be at its best.
        kinds = (np.ndarray, list) if how == "scan" else np.ndarray
        given = [jax.numpy.asarray(x) if isinstance(x, kinds) else x for x in arguments]
        n = program.moving
        if how == "scan":
            if program.scanned is None:
                msg = "has no loop"
                raise NotImplementedError(msg)
            loss = program.scanned(jax)
        else:
            loss = program.loss(jax.numpy)
        both: Any = jax.value_and_grad(lambda *xs: loss(*xs, *given[n:]), argnums=tuple(range(n)))
        both = both if how == "eager" else jax.jit(both)
        return lambda: jax.block_until_ready(both(*given[:n]))

    return prepare


def by_pytensor(mode: str) -> Prepare:
    """Prepare for PyTensor, whose graph of symbols is compiled in a mode."""

    def prepare(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
        pytensor = importlib.import_module("pytensor")
        xp = importlib.import_module("pytensor.tensor")
        given = [_each(lambda x: _symbol(xp, x), x) for x in arguments]
        n = program.moving
        values = [np.asarray(x) for x in _flat(arguments) if isinstance(x, (float, np.ndarray))]
        inputs = [x for x in _flat(given) if hasattr(x, "owner")]
        y = program.loss(xp)(*given)
        bars = pytensor.grad(y, _flat(given[:n]))
        both = pytensor.function(inputs, [y, *bars], mode=mode, on_unused_input="ignore")

        def run() -> Any:
            value, *found = both(*values)
            rest = iter(found)
            return value, tuple(_each(lambda _: next(rest), x) for x in arguments[:n])

        return run

    return prepare


def _flat(xs: Any) -> list[Any]:
    return [y for x in xs for y in (x if isinstance(x, list) else [x])]


def _symbol(xp: Any, x: Any) -> Any:
    return xp.as_tensor(np.asarray(x)).type() if isinstance(x, (float, np.ndarray)) else x


def by_hand(program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare the program for NumPy alone."""
    return lambda: program.by_hand(*arguments)


OURS = "chainrules_tape"
ENGINES: dict[str, Prepare] = {
    "NumPy by hand": by_hand,
    OURS: ours,
    "autograd": by_autograd,
    "MyGrad": by_mygrad,
    "PyTorch, 1 thread": by_torch(1),
    "PyTorch, 2 threads": by_torch(2),
    "JAX, eager": by_jax("eager"),
    "JAX, jit": by_jax("jit"),
    "JAX, jit, scan": by_jax("scan"),
}
"""What prepares a program and its arguments for an engine: a call gives value and gradients."""
COMPILERS: dict[str, Prepare] = {
    "JAX, jit": ENGINES["JAX, jit"],
    "PyTensor, C": by_pytensor("CVM"),
    "PyTensor, numba": by_pytensor("NUMBA"),
    "torch.compile, 1 thread": by_torch(1, compiled=True),
}
"""Those that compile, and may take minutes for it."""


def engine(name: str, program: Program, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Build a call of a program by an engine.

    ImportError where it is not installed, NotImplementedError where the program is not for it.
    """
    if name in program.without:
        raise NotImplementedError(program.without[name])
    return {**ENGINES, **COMPILERS}[name](program, arguments)


def leaves(answer: Any) -> list[Any]:
    """Return the arrays in an engine's answer, as NumPy's; a list is one array of its items."""
    if isinstance(answer, tuple):
        return [leaf for item in answer for leaf in leaves(item)]
    if isinstance(answer, list):
        return [np.stack([leaf for item in answer for leaf in leaves(item)])]
    return [np.asarray(answer.detach() if hasattr(answer, "detach") else answer)]
