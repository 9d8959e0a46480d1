"""Halves of rules run on NumPy arrays, for engines whose values they do not support."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import (
    ChainRulesError,
    NotDifferentiableError,
    Primitive,
    ProjectionError,
    ZeroTangent,
    is_zero,
    unthunk,
)
from chainrules_py.extend import any_engine, bind, deliver, demand_rule, find_rule, see


def pulled_on_arrays(
    operation: Primitive[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    wanted: tuple[bool, ...],
    y_bar: Any,
) -> list[Any]:
    """Pull a cotangent back by the rule of a function, run on NumPy arrays.

    Returns
    -------
    list
        The cotangents of the operands, zero for operands that are not in ``wanted``.
    """
    bound, operands = _bound(operation, operands, wanted, "reverse")
    if bound is None:
        return [ZeroTangent()] * len(operands)
    _, record = bound.run(None, *operands, **options)
    answer = record[0](y_bar, *record[2:])
    rest = iter((answer,) if bound.wanted.count(True) == 1 else answer)
    return [unthunk(next(rest)) if w else ZeroTangent() for w in bound.wanted]


def pushed_on_arrays(
    operation: Primitive[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    wanted: tuple[bool, ...],
    tangents: list[Any],
) -> Any:
    """Push the tangents of the wanted operands by the rule, run on NumPy arrays."""
    bound, operands = _bound(operation, operands, wanted, "forward")
    if bound is None:
        return ZeroTangent()
    given = tuple([t for t, w in zip(tangents, bound.wanted, strict=True) if w])
    return unthunk(bound.run(given, *operands, **options)[1])


def _bound(
    operation: Primitive[..., Any], operands: tuple[Any, ...], wanted: tuple[bool, ...], mode: str
) -> tuple[Any, tuple[Any, ...]]:
    """Bind the rule for arrays, or for numbers if there is none for the arrays without axes."""
    see(operation, (np.ndarray, *map(type, operands)))
    if find_rule(operation, tuple(map(type, operands)), any_engine) is None:
        operands = tuple(
            [x.item() if isinstance(x, np.ndarray) and not x.ndim else x for x in operands]
        )
    classes = tuple(map(type, operands))
    rule = demand_rule(operation, classes, any_engine, mode)
    return bind(rule, classes, wanted, mode, config=any_engine), operands


def array_like(t: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an entry of a derivative as an array of this shape and dtype; zeros for a zero."""
    if t is None or is_zero(t):
        return np.zeros(shape, dtype)
    t = np.asarray(deliver(t))
    if t.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        t = t.real
    return np.array(np.broadcast_to(t, shape), dtype)


class AskedError(NotDifferentiableError):
    """Raised for code that needs values of an engine's array whose derivative may be needed."""


def refused_half(
    operation: Primitive[..., Any], engine: str, raised: Exception | None = None
) -> AskedError:
    """Return the error for a derivative of half of a rule that runs on NumPy arrays.

    Parameters
    ----------
    operation : Primitive
        The function with the rule.
    engine : str
        The name of the engine.
    raised : Exception, optional
        The error of the engine's values that shows it.
    """
    own = isinstance(raised, ChainRulesError) and not isinstance(raised, ProjectionError)
    shown = "" if own or raised is None else f" ({type(raised).__name__}: {raised})"
    if operation.__module__.startswith("chainrules_py.ops"):
        return AskedError(
            f"{operation.__name__} reads the numbers of its operands{shown}, which {engine} hides "
            f"in a mapped, linearized or compiled function: call it outside of these"
        )
    return AskedError(
        f"the rule of {operation.__name__} computes with NumPy, or asks for numbers{shown}, which "
        f"{engine} does not differentiate: state an frule for forward mode; for second "
        f"derivatives write the rule in operations of chainrules_py.ops, or primitives with rules"
    )
