"""Functions that were imported from an engine, and captured what is being traced.

A rule that is made of a function of an engine's has derivatives in its operands. In that engine the
function needs no rule: where it captured what the engine traces, the engine is given the function
itself, and sees all. To another engine it is a function with a rule like any other.
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

    Nothing of one that somebody has stated another rule of.
    """
    try:
        return _found.table[operation]  # type: ignore[no-any-return]
    except KeyError:
        table, found = _found.open(), None
        recipes = [s.recipe for s in rules_for(operation) if s.recipe]
        if recipes and all([getattr(recipe, "engine", None) for recipe in recipes]):
            f = recipes[0].functions[-1]
            found = f, recipes[0].engine
        table[operation] = found
        return found


def own_function(
    operation: Primitive[..., Any], engine: str, is_traced: Callable[[Any], bool]
) -> Callable[..., Any] | None:
    """Return what an engine is to call in place of a function that was imported from it.

    Parameters
    ----------
    operation : Primitive
        What is called.
    engine : str
        The engine that runs the call.
    is_traced : callable
        Tells whether a value is one that it traces.

    Returns
    -------
    callable or None
        The engine's own function, if that captured such a value; it is differentiated as it is.

    Raises
    ------
    TracerError
        If it is the function of another engine that captured one.
    """
    found = imported_from(operation)
    if found is None:
        return None
    # What a module of PyTorch's has is its own, in whatever layer.
    parts: Any = getattr(found[0], "named_parameters", dict)()
    held = [name for name, x in dict(parts).items() if is_traced(x)]
    names = captured((found[0],), is_it=is_traced) or held
    if not names:
        return None
    if found[1] == engine:
        return found[0]
    raise _lost(found[0], names)


def of_own(x: Any, engine: str) -> Any:
    """Return an engine's own function for one that was imported from it, among operands."""
    found = imported_from(x) if isinstance(x, Primitive) else None
    return found[0] if found is not None and found[1] == engine else x


def _is_traced(x: Any) -> bool:
    """Tell whether a value is traced; a parameter of a module of PyTorch's may be just kept."""
    info = type_info(type(x))
    varies = None if hasattr(type(x), "requires_grad") else info.varies
    return isinstance(x, Tracer) or (varies is not None and varies(x))


def refuse_traced_captures(
    f: Callable[..., Any], is_it: Callable[[Any], bool] | None = None
) -> None:
    """Raise for an imported function that captured what some engine traces by now.

    Parameters
    ----------
    f : callable
        The function.
    is_it : callable, optional
        Tells whether a value is one; by default, whether its class, or its engine, says so.

    Raises
    ------
    TracerError
        It names what was captured.
    """
    if names := captured((f,), is_it=is_it or _is_traced):
        raise _lost(f, names)


def _lost(f: Callable[..., Any], names: list[str]) -> TracerError:
    msg = (
        f"{name_of(f)}, which is imported, depends on {in_operations(names)}, which is being "
        f"differentiated, mapped over or compiled, and is not an operand: that gradient would be "
        f"lost; make it an operand of the function that is imported"
    )
    return TracerError(msg)
