"""Blocks in which nothing is recorded: values computed there count as constant."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from chainrules_py import MutationError, TracerError
from chainrules_py.extend import notes
from chainrules_py.ops import put_along_axis_add, put_at, reshape, scatter_add
from chainrules_tape.core.bare_tape import BareTape
from chainrules_tape.core.cotangent_routing import LEAF, parents
from chainrules_tape.rule_config import recorders
from chainrules_tape.tools._private import jax_traces

_WRITES = {put_at, scatter_add, put_along_axis_add}
_blocks: ContextVar[tuple[object, ...]] = ContextVar("no_record", default=())
"""The blocks that this thread or task is in."""


@contextlib.contextmanager
def no_record() -> Iterator[None]:
    """Treat all values that are computed in a ``with`` block as constant.

    Differentiations in progress in this thread record and keep nothing of the block; those that
    begin inside, and other tasks of ``asyncio``, are not affected. The block also enters
    ``torch.no_grad()`` if PyTorch is imported. An array that is overwritten as a whole, as by
    ``y += 1.0``, is constant from then on.

    A generator must not yield in the block, because the block would go on in its caller: compute
    the values in the block, and yield them behind it.

    Raises
    ------
    TracerError
        In `jvp` and in a Taylor series, whose tangents already exist, and in a function that JAX
        traces: `chainrules_tape.stop_gradient` makes single values constant everywhere.
    MutationError
        If the block writes to elements, or to a view, of a value that the gradient goes through:
        the other elements would lose their gradient.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> def f(x):
    ...     with no_record():
    ...         scale = x * x
    ...     return scale * x
    >>> grad(f)(3.0)
    9.0
    """
    if jax_traces():
        raise TracerError(
            "no_record() does not act on what JAX traces; write stop_gradient(x) for each value"
        )
    tapes = {id(tape): tape for tape in map(_tape_of, recorders.under_way)}
    tapes |= {k: tape for k, tape in recorders.made.items() if tape.state == "open"}
    with contextlib.ExitStack() as stack:
        if (torch := sys.modules.get("torch")) is not None:
            stack.enter_context(torch.no_grad())
        block, outside = object(), _blocks.get()
        stack.callback(_blocks.set, outside)
        _blocks.set((*outside, block))
        for tape in tapes.values():
            before = type(tape)
            muted = _muted(before, len(tape), block)
            if tape.level in notes:
                notes[tape.level].muted = True
            stack.callback(_restore, tape, muted, before)
            object.__setattr__(tape, "__class__", muted)
        yield


def _tape_of(run: Any) -> BareTape:
    tape = run if isinstance(run, BareTape) else getattr(run, "tape", None)
    if tape is None:
        raise TracerError(
            "no_record() does not act in forward mode or a Taylor series, whose tangents are there "
            "already; write stop_gradient(x) for each value that is to count as constant"
        )
    return tape


def _restore(tape: Any, muted: type, before: type) -> None:
    if type(tape) is muted:  # unless it was closed in between
        object.__setattr__(tape, "__class__", before)


def _muted(cls: Any, start: int, block: object) -> type:
    """Return a class of tapes whose records are those of inputs, in a block."""
    reshaped: set[int] = set()  # older values in another shape, which writes to views go through

    class Muted(cls):  # type: ignore[misc]
        """Tape in a block that records nothing."""

        __slots__ = ()

        def append(self, record: Any, /) -> None:
            """Record an input instead of a call, unless another task makes it."""
            if block in _blocks.get():
                operation = getattr(getattr(record[0], "statement", None), "primal", None)
                is_old = any([i < start or i in reshaped for i in parents(record[1])[:1]])
                if operation is reshape and is_old:
                    reshaped.add(len(self))
                # Where the buffer is constant, the first parent is the value.
                if operation in _WRITES and is_old and getattr(record[0], "wanted", (True,))[0]:
                    raise MutationError(
                        "a value that the gradient goes through is written to inside no_record(): "
                        "its other elements would lose theirs; write to a copy (v = x.copy())"
                    )
                record = (None, LEAF)
            super().append(record)

    Muted.__name__ = cls.__name__
    return Muted
