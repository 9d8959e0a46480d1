"""Composites: differentiable functions without a rule of their own."""

from __future__ import annotations

import inspect
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

    They are the primitives recorded in a call with the first small operands that it accepts.

    Examples
    --------
    >>> composite(np.kron)
    'reshape, multiply'
    """
    see(f, (np.ndarray,))
    if f not in aliases:
        return None
    for n in range(_required(f), 4):
        for operands in itertools.product(_TRIED, repeat=n):
            if found := _recorded(f, operands) or _recorded(f, (np.sin, *operands[1:]), 1):
                return ", ".join(dict.fromkeys(found))
    return f"{aliases[f].operation.__module__}.{name_of(aliases[f].operation)}"


def _required(f: Callable[..., Any]) -> int:
    """Count the required parameters of a function, at least 1 and at most 3."""
    try:
        parameters = [*inspect.signature(f).parameters.values()]
    except (TypeError, ValueError):
        return 1
    missing = [p.default is p.empty or repr(p.default) == "<no value>" for p in parameters]
    given = [p for p, m in zip(parameters, missing, strict=True) if m and p.kind < p.VAR_POSITIONAL]
    return min(max(len(given), 1), 3)


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
