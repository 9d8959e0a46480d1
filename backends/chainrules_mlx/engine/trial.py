"""Functions that are tried: whether they ask arrays for values, of which MLX sees nothing.

A function runs once as it is, and errors of its own are raised there. Then it runs on arrays that
have no values: what asks for one comes to grief. Calls with rules may ask, since their derivative
is the rule's: in the trial they give arrays of the shapes that they had.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import mlx.core as mx

from chainrules_mlx.engine.values import is_floating
from chainrules_mlx.namespace import kept
from chainrules_py import Primitive
from chainrules_py.extend import TreeDef

_mx: Any = mx
Key: TypeAlias = tuple[Any, ...]
Given: TypeAlias = tuple[list[Any], TreeDef]
Calls: TypeAlias = list[tuple[Key, Given]]
"""What was called, and arrays without numbers that are like those of the result, and its layout."""

_noted: contextvars.ContextVar[Calls | None] = contextvars.ContextVar("noted", default=None)
_given: contextvars.ContextVar[dict[Key, list[Given]] | None] = contextvars.ContextVar(
    "given", default=None
)


def trying() -> bool:
    """Tell whether a function is tried here, on arrays that have no values."""
    return _given.get() is not None


@contextlib.contextmanager
def noting() -> Iterator[Calls]:
    """Collect the calls of functions with rules that are made meanwhile."""
    around = _noted.get()
    calls: Calls = []
    token = _noted.set(calls)
    try:
        yield calls
    finally:
        _noted.reset(token)
        if around is not None:
            around.extend(calls)


def _key(word: Primitive[..., Any], leaves: Sequence[Any]) -> Key:
    return (word, *[(x.shape, x.dtype) for x in leaves])


def note(word: Primitive[..., Any], leaves: Sequence[Any], ys: list[Any], out: TreeDef) -> None:
    """Remember of a call what its result is like."""
    calls = _noted.get()
    if calls is not None:
        calls.append((_key(word, leaves), ([_mx.zeros(y.shape, y.dtype) for y in ys], out)))


def given(word: Primitive[..., Any], leaves: Sequence[Any]) -> Given | None:
    """Return arrays like those that a call gave, made of its operands; None if it was not made."""
    found = (_given.get() or {}).get(_key(word, leaves))
    if found is None:
        return None
    ys, out = found.pop(0) if len(found) > 1 else found[0]
    return [tied(y, leaves) for y in ys], out


def tied(y: Any, leaves: Sequence[Any]) -> Any:
    """Return an array that is made of others as well, and has as few values as they."""
    nothing: Any = sum([0.0 * x.sum() for x in leaves if is_floating(x)], _mx.zeros(()))
    return y + nothing.astype(y.dtype)


class _NothingAskedError(Exception):
    """A function came to its end."""


def asked_for_values(
    f: Callable[..., Any], arrays: Sequence[Any], moved: Sequence[bool], calls: Calls
) -> Exception | None:
    """Return what a function raises that asks those arrays for values that are moved, or None.

    Parameters
    ----------
    f : callable
        A function of these arrays, which has just run on them.
    arrays : sequence of array
        Its operands.
    moved : sequence of bool
        Which of them have no values in the trial.
    calls : Calls
        What it called.
    """

    def trial(*arrays: Any) -> Any:
        f(*arrays)
        raise _NothingAskedError

    before: dict[Key, list[Given]] = {}
    for key, ys in calls:
        before.setdefault(key, []).append(ys)
    operands = [x[None] if m else x for x, m in zip(arrays, moved, strict=True)]
    tokens = _given.set(before), _noted.set(None)
    try:
        kept(_mx.vmap(trial, in_axes=tuple([0 if m else None for m in moved])), *operands)
    except _NothingAskedError:
        return None
    except Exception as error:
        return error
    finally:
        _given.reset(tokens[0])
        _noted.reset(tokens[1])
    raise AssertionError
