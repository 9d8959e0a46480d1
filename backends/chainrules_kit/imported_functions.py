"""Functions that were imported from an engine and captured traced values.

A rule made of an engine's function has derivatives in its operands. In that engine the function
needs no rule: if it captured values that the engine traces, the engine gets the function itself and
differentiates it. In another engine it is a function with a rule like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import Primitive, TracerError, rules_for
from chainrules_py.extend import (
    Cache,
    Tracer,
    captured,
    in_operations,
    name_of,
    type_info,
)

_found = Cache()


def imported_from(operation: Primitive[..., Any]) -> tuple[Callable[..., Any], str] | None:
    """Return the function that a primitive is imported from, and its engine.

    Return None for a primitive with any other rule.
    """
    try:
        return _found.table[operation]  # type: ignore[no-any-return]
    except KeyError:
        table, found = _found.open(), None
        recipes = [s.recipe for s in rules_for(operation) if s.recipe]
        if recipes and all([getattr(recipe, "engine", None) for recipe in recipes]):
            found = recipes[0].functions[-1], recipes[0].engine
        table[operation] = found
        return found


def own_function(
    operation: Primitive[..., Any], engine: str, is_traced: Callable[[Any], bool]
) -> Callable[..., Any] | None:
    """Return the function that an engine calls instead of a primitive imported from it.

    Parameters
    ----------
    operation : Primitive
        The primitive that is called.
    engine : str
        The engine that runs the call.
    is_traced : callable
        Returns whether the engine traces a value.

    Returns
    -------
    callable or None
        The engine's own function, if it captured a traced value; otherwise None.

    Raises
    ------
    TracerError
        If the function is another engine's and captured a traced value.
    """
    found = imported_from(operation)
    if found is None:
        return None
    # Parameters of a PyTorch module are its own, at any depth.
    parts: Any = getattr(found[0], "named_parameters", dict)()
    held = [name for name, x in dict(parts).items() if is_traced(x)]
    names = captured((found[0],), is_it=is_traced) or held
    if not names:
        return None
    if found[1] == engine:
        return found[0]
    raise _lost(found[0], names)


def of_own(x: Any, engine: str) -> Any:
    """Return an engine's own function for an operand that was imported from it."""
    found = imported_from(x) if isinstance(x, Primitive) else None
    return found[0] if found is not None and found[1] == engine else x


def _is_traced(x: Any) -> bool:
    """Return whether a value is traced; not for a PyTorch tensor, which may be a parameter."""
    info = type_info(type(x))
    varies = None if hasattr(type(x), "requires_grad") else info.varies
    return isinstance(x, Tracer) or (varies is not None and varies(x))


def refuse_traced_captures(
    f: Callable[..., Any], is_it: Callable[[Any], bool] | None = None
) -> None:
    """Raise for an imported function that captured a value that some engine traces.

    Parameters
    ----------
    f : callable
        The function.
    is_it : callable, optional
        Returns whether a value is traced; by default, whether its class or its engine says so.

    Raises
    ------
    TracerError
        If a value was captured; the message names it.
    """
    if names := captured((f,), is_it=is_it or _is_traced):
        raise _lost(f, names)


def _lost(f: Callable[..., Any], names: list[str]) -> TracerError:
    return TracerError(
        f"{name_of(f)}, which is imported, depends on {in_operations(names)}, which is being "
        f"differentiated, mapped over or compiled, and is not an operand: that gradient would be "
        f"lost; make it an operand of the function that is imported"
    )
