"""Taking rules back: for good, or for the time of a block."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from chainrules_py.errors import RuleError
from chainrules_py.primitives.aliases.alias import choose_rows
from chainrules_py.primitives.dispatch import checked_annotation
from chainrules_py.primitives.plugins import (
    RULES,
    announced,
    owner_of,
    preferred,
    see,
)
from chainrules_py.registry.checks import Types
from chainrules_py.registry.constructors import rule
from chainrules_py.registry.explain import rules_for
from chainrules_py.registry.statement import Source, Statement
from chainrules_py.registry.table import name_of, primal_of, remove, stated

_blocks = itertools.count(2)
"""The layers of blocks, each over all that was stated before it; below is ``override=True``."""


def unregister(f: Callable[..., Any], *types: Any) -> list[Statement]:
    """Take back what the caller's layer stated about a function, or all statements of some types.

    Parameters
    ----------
    f : callable
        The function.
    *types : type
        The types that the statements are dispatched on, whoever stated them. Without any, what the
        layer of the calling module stated goes: in a program what programs stated, in a package of
        rules what that package stated.

    Returns
    -------
    list of Statement
        What was taken out, which prints with its place; `chainrules_py.extend.enter` puts each
        back.

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
    caller = owner_of(Source.caller("unregister", 2).module)
    known = [s for s in rules_for(f) if s.override < 2]  # those of blocks go with their blocks
    found = [s for s in known if (s.signature == wanted if types else s.owner == caller)]
    if not found:
        shown = f"({', '.join(map(str, types))})" if types else " here"
        msg = f"nothing is stated about {name_of(f)}{shown}; rules_for({name_of(f)}) lists all"
        if known and not types:
            msg += ", and unregister with the types of one takes that"
        raise RuleError(msg)
    remove(found)
    return found


def settle(f: Callable[..., Any] | None = None, *, prefer: str) -> None:
    """Choose among packages of rules that state derivatives of one function for the same types.

    Parameters
    ----------
    f : callable, optional
        The function; by default all of which several packages have rules.
    prefer : str
        The package whose rules are taken, as the error names it. Rules of your own come before
        those of any package.

    Raises
    ------
    RuleError
        If there is no package of rules of that name.

    Examples
    --------
    >>> settle(print, prefer="anybody")
    Traceback (most recent call last):
    chainrules_py.errors.RuleError: no package of rules is called 'anybody', there are none
    """
    known = sorted({module for _, module in announced(RULES)})
    if prefer not in known:
        msg = f"no package of rules is called {prefer!r}, there are {', '.join(known) or 'none'}"
        raise RuleError(msg)
    see(f, ())
    preferred[f] = prefer
    choose_rows(f)
    primals = stated if f is None else filter(None, [primal_of(f)])
    for primal in list(primals):
        if f is not None:
            preferred[primal] = prefer
        remove((), primal.stated[0])


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
    """Take out what a block has stated, with what was hung on it; the second time nothing."""
    remove([s for s in rules_for(f) if s.override == block])
