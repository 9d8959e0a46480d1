"""Composites: differentiable functions without a rule of their own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.extend import aliases, name_of, see
from chainrules_tape import Tape

_VECTOR = np.array([0.2, 0.5, 0.7])
_TRIED: tuple[Any, ...] = (np.outer(_VECTOR, _VECTOR) + np.eye(3), _VECTOR, 0.4)


def composite(f: Any) -> str | None:
    """Return the primitives that compute a library's function, or None if it has no alias.

    They are the primitives recorded in a call with the first small operands that it accepts, up to
    three.

    Examples
    --------
    >>> composite(np.kron)
    'reshape, multiply'
    """
    see(f, (np.ndarray,))
    if f not in aliases:
        return None
    for n in (1, 2, 3):
        for operands in itertools.product(_TRIED, repeat=n):
            found = _recorded(f, operands) or _recorded(f, (np.sin, *operands[1:]), 1)
            if found and "positive" not in found:  # as of np.clip without bounds
                return ", ".join(dict.fromkeys(found))
    return f"{aliases[f].operation.__module__}.{name_of(aliases[f].operation)}"


def _recorded(f: Callable[..., Any], operands: tuple[Any, ...], static: int = 0) -> list[str]:
    """List the primitives recorded in a call; none if it raises."""
    try:
        with Tape(differentiable=True) as tape, np.errstate(all="ignore"):
            traced = [tape.variable(x) for x in operands[static:]]
            f(*operands[:static], *traced)
        statements = [getattr(record[0], "statement", None) for record in tape]
        return [s.primal.__name__ for s in statements if s is not None]
    except Exception:  # operands may not fit
        return []
