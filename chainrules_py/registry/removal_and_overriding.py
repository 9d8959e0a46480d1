"""Removal of rules, and their replacement within a block."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from chainrules_py.errors import RuleError
from chainrules_py.primitives.method_table import checked_annotation
from chainrules_py.primitives.plugins import owner_of
from chainrules_py.registry.constructors import Types, rule
from chainrules_py.registry.explain import rules_for
from chainrules_py.registry.statement_and_rule import Source, Statement
from chainrules_py.registry.table import name_of, remove

_blocks = itertools.count(2)
"""The layers of blocks, each above all earlier ones; below them is ``override=True``."""


def unregister(f: Callable[..., Any], *types: Any) -> list[Statement]:
    """Remove the statements of the caller's layer about a function, or those of given types.

    Parameters
    ----------
    f : callable
        The function.
    *types : type
        The types that the statements are dispatched on, whoever made them. Without types, the
        statements of the calling module's layer are removed: in a program those of users, in a
        package of rules those of that package.

    Returns
    -------
    list of Statement
        The removed statements, whose repr shows where they were made;
        `chainrules_py.extend.enter` adds each again.

    Raises
    ------
    RuleError
        If there are none.

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
    wanted = tuple([checked_annotation(t, "an operand", f) for t in types])
    caller = owner_of(Source.caller("unregister", 2).module)
    known = [s for s in rules_for(f) if s.override < 2]  # blocks remove their own
    found = [s for s in known if (s.signature == wanted if types else s.owner == caller)]
    if not found:
        shown = f"({', '.join(map(str, types))})" if types else " here"
        more = ", and unregister with the types of one takes that" if known and not types else ""
        raise RuleError(
            f"nothing is stated about {name_of(f)}{shown}; rules_for({name_of(f)}) lists all{more}"
        )
    remove(found)
    return found


@contextlib.contextmanager
def overriding(
    f: Callable[..., Any], stated: Callable[..., Any], *, types: Types = None
) -> Iterator[None]:
    """Replace the rule of a function in a ``with`` block, in the whole process.

    Parameters
    ----------
    f : callable
        The function.
    stated : callable
        As for `rule`: ``stated(*operands) -> (y, (LinearMap, ...))``. It takes precedence over all
        others for the annotated types.
    types : tuple, optional
        Dispatch types, instead of the annotations.

    Notes
    -----
    A block is a layer above all other statements: nothing changes for other types, or for other
    uses of `override`. Of two blocks for the same types, the later one applies. What was recorded
    inside the block uses its rule in the backward pass, even after the block.

    Examples
    --------
    >>> from chainrules_py import LinearMap, rrule
    >>> from chainrules_py.ops import sin
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
    """Remove the statements of a block, with hooks attached to them; idempotent."""
    remove([s for s in rules_for(f) if s.override == block])
