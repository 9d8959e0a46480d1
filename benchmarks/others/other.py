"""Programs, and the ways that their derivatives are asked of each engine."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs import leaves


@dataclasses.dataclass(frozen=True)
class Other:
    """A function, where it is differentiated, and its derivative by hand.

    Attributes
    ----------
    name : str
        The name that the command line and the table know it by.
    inputs : callable
        Gives the arguments: what is differentiated in, then directions or data.
    moving : int
        How many of the arguments are differentiated in.
    loss : callable
        ``loss(xp)`` is the function, written in the names of NumPy.
    by_hand : callable
        Takes the arguments; the derivative in plain NumPy.
    kind : str
        Which derivative: a key of `KINDS`.
    scanned : callable or None
        ``scanned(jax)`` is the same function as a user of JAX would write it.
    small : bool
        Whether it is small enough to be run by the tests.
    rtol : float
        How well the engines agree, relative to the largest element of an array.
    """

    name: str
    inputs: Callable[[], tuple[Any, ...]]
    moving: int
    loss: Callable[[Any], Callable[..., Any]]
    by_hand: Callable[..., Any]
    kind: str = "gradient"
    scanned: Callable[[Any], Callable[..., Any]] | None = None
    small: bool = True
    rtol: float = 1e-9


Prepare = Callable[[Other, tuple[Any, ...]], Callable[[], Any]]
KINDS = ("gradient", "jvp", "hvp", "hessian", "forward", "reverse")
"""Value and gradient; value and derivative along a direction; a Hessian times a vector; a Hessian;
Jacobians by either mode."""


def ours(program: Other) -> Callable[..., Any]:
    """Build the derivative by the tape, in the way that people write it."""
    import chainrules_tape as tape

    f, n = program.loss(np), program.moving
    if program.kind == "gradient":
        return tape.value_and_grad(f, argnums=tuple(range(n)))
    if program.kind == "jvp":
        return lambda *given: tape.jvp(f, given[:n], given[n:])
    if program.kind == "hvp":
        return lambda x, v: tape.hvp(f, x, v)
    if program.kind == "hessian":
        return tape.hessian(f)
    return tape.jacobian(f, mode="forward" if program.kind == "forward" else "reverse")


def eager(program: Other, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare the derivative on the tape."""
    derivative = ours(program)
    return lambda: derivative(*arguments)


def compiled(target: str, program: Other, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare the compiled derivative."""
    import chainrules_compile

    derivative = chainrules_compile.compile(ours(program), target=target)
    return lambda: derivative(*arguments)


def by_hand(program: Other, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare NumPy alone."""
    return lambda: program.by_hand(*arguments)


def by_jax(program: Other, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare `jax.jit` of the derivative, in double precision; all arrays are arguments."""
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    form = program.loss(jax.numpy) if program.scanned is None else program.scanned(jax)
    n = program.moving
    given = jax.tree.map(jax.numpy.asarray, arguments)
    forms: dict[str, Callable[[], Callable[..., Any]]] = {
        "gradient": lambda: jax.value_and_grad(form, argnums=tuple(range(n))),
        "jvp": lambda: lambda *given: jax.jvp(form, given[:n], given[n:]),
        "hvp": lambda: lambda x, v: jax.jvp(jax.grad(form), (x,), (v,))[1],
        "hessian": lambda: jax.hessian(form),
        "forward": lambda: jax.jacfwd(form),
        "reverse": lambda: jax.jacrev(form),
    }
    run = jax.jit(forms[program.kind]())
    return lambda: jax.block_until_ready(run(*given))


def by_torch(program: Other, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare PyTorch on one thread; parameters that nothing uses have no gradient there."""
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    form, n = program.loss(torch), program.moving
    if program.kind == "gradient":
        given = [_tensor(torch, x, i < n) for i, x in enumerate(arguments)]
        moving = [t for x in given[:n] for t in (x if isinstance(x, list) else [x])]

        def run() -> Any:
            y = form(*given)
            bars = iter(torch.autograd.grad(y, moving, allow_unused=True))
            return y, tuple(
                [[next(bars) for _ in x] if isinstance(x, list) else next(bars) for x in given[:n]]
            )

        return run
    given = [_tensor(torch, x, False) for x in arguments]
    func = torch.func
    runs: dict[str, Callable[[], Any]] = {
        "jvp": lambda: func.jvp(form, tuple(given[:n]), tuple(given[n:])),
        "hvp": lambda: torch.autograd.functional.hvp(form, given[0], given[1])[1],
        "hessian": lambda: func.hessian(form)(*given),
        "forward": lambda: func.jacfwd(form)(*given),
        "reverse": lambda: func.jacrev(form)(*given),
    }
    return runs[program.kind]


def _tensor(torch: Any, x: Any, moves: bool) -> Any:
    if isinstance(x, list):
        return [_tensor(torch, item, moves) for item in x]
    return torch.tensor(np.asarray(x), requires_grad=moves)


def by_autograd(program: Other, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """Prepare autograd, whose Jacobians are all of reverse mode."""
    autograd = importlib.import_module("autograd")
    form = program.loss(importlib.import_module("autograd.numpy"))
    n, kind = program.moving, program.kind
    if kind == "gradient":
        both = autograd.value_and_grad(lambda xs: form(*xs, *arguments[n:]))
        return lambda: both(arguments[:n])
    if kind == "jvp":
        operators = importlib.import_module("autograd.differential_operators")
        along = operators.make_jvp(lambda xs: form(*xs))
        tuples = importlib.import_module("autograd.builtins")
        start, direction = tuples.tuple(arguments[:n]), tuples.tuple(arguments[n:])
        return lambda: along(start)(direction)
    words = {"hvp": "hessian_vector_product", "hessian": "hessian"}
    derivative = getattr(autograd, words.get(kind, "jacobian"))(form)
    return lambda: derivative(*arguments)


ENGINES: dict[str, Prepare] = {
    "hand": by_hand,
    "eager": eager,
    "np": functools.partial(compiled, "numpy"),
    "c": functools.partial(compiled, "c"),
    "jax": by_jax,
    "torch": by_torch,
    "autograd": by_autograd,
}
"""What prepares a program for an engine, by the engine's column: a call gives the derivative."""


def difference(program: Other, answer: Any) -> float:
    """Return the largest relative difference from the derivative by hand; infinite if not alike."""
    wanted = program.by_hand(*program.inputs())
    a = leaves(wanted)
    b = leaves(_filled(wanted, answer))
    if [x.shape for x in a] != [y.shape for y in b]:
        return float("inf")
    worst = 0.0
    for x, y in zip(a, b, strict=True):
        scale = max(float(np.max(np.abs(x), initial=0.0)), 1e-30)
        worst = max(worst, float(np.max(np.abs(x - y), initial=0.0)) / scale)
    return worst


def _filled(wanted: Any, answer: Any) -> Any:
    """Put zeros where an engine has no gradient."""
    if answer is None:
        return np.zeros_like(wanted)
    if isinstance(wanted, (tuple, list)) and isinstance(answer, (tuple, list)):
        pairs = [_filled(w, a) for w, a in zip(wanted, answer, strict=True)]
        return pairs if isinstance(wanted, list) else tuple(pairs)
    return answer
