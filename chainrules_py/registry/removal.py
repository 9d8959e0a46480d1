"""Taking rules back: for good, or for the time of a block."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from chainrules_py.errors import RuleError
from chainrules_py.primitives.dispatch import checked_annotation
from chainrules_py.registry.checks import Types
from chainrules_py.registry.explain import rules_for
from chainrules_py.registry.pens import rule
from chainrules_py.registry.statement import Statement
from chainrules_py.registry.table import name_of, remove

_blocks = itertools.count(2)
"""The layers of blocks, each over all that was stated before it; below is ``override=True``."""


def unregister(f: Callable[..., Any], *types: Any) -> list[Statement]:
    """Take back what was stated about a function, of all types or of these.

    Parameters
    ----------
    f : callable
        The function.
    *types : type
        The types that the statements are dispatched on; without any, all statements go.

    Returns
    -------
    list of Statement
        What was taken out; `chainrules_py.extend.enter` puts each back.

    Raises
    ------
    RuleError
        If there is none.

    Examples
    --------
    >>> from chainrules_py import primitive, rrule, scalar_rule
    >>> @primitive
    ... def cube(x):
    ...     return x * x * x
    >>> scalar_rule(cube, lambda _y, x: 2.0 * x)
    >>> len(unregister(cube))
    1
    >>> scalar_rule(cube, lambda _y, x: 3.0 * x * x)
    >>> rrule(cube, 2.0)[1](1.0)
    (12.0,)
    """
    wanted = tuple([checked_annotation(t, "an operand", f, True) for t in types])
    mine = [s for s in rules_for(f) if s.override < 2]  # those of blocks go with their blocks
    found = [s for s in mine if not types or s.signature == wanted]
    if not found:
        shown = ", ".join(map(str, types))
        msg = f"nothing is stated about {name_of(f)}({shown}); rules_for({name_of(f)}) lists all"
        raise RuleError(msg)
    remove(found)
    return found


@contextlib.contextmanager
def overriding(
    f: Callable[..., Any], stated: Callable[..., Any], *, types: Types = None
) -> Iterator[None]:
    """Have another rule for a function in a ``with`` block, in the whole process.

    Parameters
    ----------
    f : callable
        The function.
    stated : callable
        As under `rule`: ``stated(*operands) -> (y, (LinearMap, ...))``. It beats all others for the
        types that it is annotated with.
    types : tuple, optional
        Dispatched on instead of the annotations.

    Notes
    -----
    A block is a layer over what is stated: for other types, and other rules of `override`, nothing
    changes, and of two blocks for a type the later one counts. What was recorded inside is played
    back by the rule of the block, also after it.

    Examples
    --------
    >>> from chainrules_py import LinearMap, rrule
    >>> from chainrules_py.vocabulary import sin
    >>> def straight(x):
    ...     return sin(x), (LinearMap(lambda t: t, lambda t: t),)
    >>> with overriding(sin, straight):
    ...     rrule(sin, 1.0)[1](1.0)
    (1.0,)
    >>> rrule(sin, 0.0)[1](2.0)
    (2.0,)
    """
    block = next(_blocks)
    try:
        rule(f, types=types, override=block)(stated)
        yield
    finally:
        try:
            _end(f, block)
        finally:
            _end(f, block)  # what an interrupt has left


def _end(f: Callable[..., Any], block: int) -> None:
    """Take out what a block has stated, with what was hung on it; the second time nothing."""
    remove([s for s in rules_for(f) if s.override == block])
