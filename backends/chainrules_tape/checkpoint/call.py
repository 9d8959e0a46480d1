"""Checkpoints: functions of which little is kept for the gradient, as a person asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from chainrules_py.extend import closed, highest_tracer, made, settled, traced_and_generators
from chainrules_tape.checkpoint.calls import run
from chainrules_tape.checkpoint.policies import Save, check_save
from chainrules_tape.checkpoint.segment import Segment
from chainrules_tape.core.tape import BareTape
from chainrules_tape.core.variable import BareVariable, OnTape

P = ParamSpec("P")
R = TypeVar("R")


def checkpoint(
    f: Callable[P, R],
    *,
    save: Save = "nothing",
    pack: Callable[[Any], Any] | None = None,
    unpack: Callable[[Any], Any] | None = None,
) -> Callable[P, R]:
    """Wrap a function to keep little of it for the gradient, and compute the rest again.

    Memory for time: what f computes on the way is not kept on the tape; when the backward pass
    comes to it, f is run once more. Under a policy it is not f that runs again, but single calls in
    it, whose values were not kept.

    Parameters
    ----------
    f : callable
        A function that gives the same whenever it is run. Random numbers are drawn once more: the
        generators among its arguments, those that it captured or that stand in its module, and
        the global ones are as they were, and are put back afterwards. Under a policy it may be any
        function.
    save : {"nothing", "cheap", "mincut", "all"}, collection of str, or int
        What is kept besides the arguments. "cheap" computes again what is cheap: element by
        element, or another view of an array. "mincut" keeps the fewest bytes of which all else can
        be computed so (SciPy finds them, when f is over). Names keep the values that `name` gave
        them to. A number is a budget in bytes, spent on what is dear first, and then evenly along
        the way. What people's own primitives gave is kept under any policy but "nothing".
    pack, unpack : callable, optional
        Put the kept arrays away when f is over, and get them back: ``unpack(pack(x))`` has the
        shape and dtype of x. To a file, to another device, in fewer digits.

    Returns
    -------
    callable
        Takes what f takes and gives what f gives, with the same derivatives, also in values that f
        uses by name. Outside of reverse mode, and on tapes that are kept to be looked at or
        differentiated themselves, it is f.

    Raises
    ------
    MutationError
        By the backward pass, if f gives something else when it is run again.

    Notes
    -----
    With n calls in a row, each of which records k operations, memory grows as n + k instead of
    n k, so that a single call saves nothing; `chainrules_tape.tools.checkpoint_chain` balances the
    two.
    Where differentiations are nested, the innermost reverse one is what forgets.

    A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in reverse
    automatic differentiation" (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> layer = checkpoint(lambda x, w: np.tanh(w * x))
    >>> bool(grad(lambda x: layer(layer(x, 2.0), 3.0))(0.0) == 6.0)
    True

    Products of matrices are kept, and the rest is computed again:

    >>> f = checkpoint(lambda x, w: np.sum(np.tanh(w @ x) ** 2), save="cheap")
    >>> bool(grad(f)(np.zeros(2), np.eye(2))[0] == 0.0)
    True
    """
    if (pack is None) != (unpack is None) or (pack is not None and save == "nothing"):
        msg = "pack and unpack come together, with a policy that keeps something: save='all'"
        raise ValueError(msg)
    check_save(save)
    packing = None if pack is None or unpack is None else (pack, unpack)

    def checkpointed(*operands: P.args, **keywords: P.kwargs) -> R:
        captured, generators = traced_and_generators(f)
        # Of differentiations that are under way. The innermost may have none among the operands,
        # and is yet the one that is over when the function is run again.
        outside = [x for x in captured if not isinstance(x, OnTape) or x.tape.state == "open"]
        tracer = highest_tracer((operands, keywords, outside))
        tape = tracer.tape if isinstance(tracer, BareVariable) else None
        if tape is None or (tape.notes is not None and tape.notes.calls is not None):
            return f(*operands, **keywords)
        if save == "all" and packing is None:
            return f(*operands, **keywords)
        if save != "nothing":
            return run(f, save, packing, tape, operands, keywords, outside)  # type: ignore[no-any-return]
        whole = settled(closed(f) if captured else f)
        segment = Segment(whole, (operands, keywords), tape, generators)
        held, hooks = len(tape.held), _hooks(tape)
        y = f(*operands, **keywords)
        if _hooks(tape) == hooks:
            segment.fold(tape, y, held)
        return y

    settings: Any = {"save": save, "pack": pack, "unpack": unpack}
    return made(checkpointed, f, checkpoint, **settings)  # type: ignore[no-any-return]


def _hooks(tape: BareTape) -> int:
    return 0 if tape.notes is None else sum(map(len, tape.notes.hooks.values()))
