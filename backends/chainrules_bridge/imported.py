"""Functions that were imported from an engine, and captured what is being traced.

A rule that is made of a function of an engine's has derivatives in its operands. In that engine the
function needs no rule: where it captured what the engine traces, the engine is given the function
itself, and sees all. To another engine it is a function with a rule like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from chainrules_bridge.reach import Reach, written
from chainrules_py import Primitive, TracerError, rules_for
from chainrules_py.extend import Cache, Tracer, in_words, lookups, name_of, type_info

_found = Cache()


def _captured(functions: Iterable[Any], is_it: Callable[[Any], bool]) -> list[str]:
    """List the names under which functions reach values that pass a test: layers hold layers."""
    found = [written(path) for path, x in Reach(functions).values() if is_it(x)]
    return [*dict.fromkeys(found)]


def imported_from(word: Primitive[..., Any]) -> tuple[Callable[..., Any], str] | None:
    """Return the function that a primitive is imported from, if it looks up values; its engine.

    Nothing of one that somebody has stated another rule of.
    """
    try:
        return _found.table[word]  # type: ignore[no-any-return]
    except KeyError:
        table, found = _found.open(), None
        recipes = [s.recipe for s in rules_for(word) if s.recipe]
        if recipes and all([getattr(recipe, "engine", None) for recipe in recipes]):
            f = recipes[0].functions[-1]
            found = (f, recipes[0].engine) if Reach((f,)) else None
        table[word] = found
        return found


def own_function(
    word: Primitive[..., Any], engine: str, is_traced: Callable[[Any], bool]
) -> Callable[..., Any] | None:
    """Return what an engine is to call in place of a function that was imported from it.

    Parameters
    ----------
    word : Primitive
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
    found = imported_from(word)
    if found is None or not (names := _captured((found[0],), is_traced)):
        return None
    if found[1] == engine:
        return found[0]
    raise _lost(found[0], names)


def of_own(x: Any, engine: str) -> Any:
    """Return an engine's own function for one that was imported from it, among operands."""
    found = imported_from(x) if isinstance(x, Primitive) else None
    return found[0] if found is not None and found[1] == engine else x


def refuse_inside(
    word: Primitive[..., Any], functions: Iterable[Any], is_traced: Callable[[Any], bool]
) -> None:
    """Raise for functions, operands of a word, that call one whose rule captured what is traced.

    What they captured themselves is found, and opened; a rule is of the operands of its function.

    Raises
    ------
    TracerError
        It names the function, and what that captured.
    """
    seen, waiting = set[Any](), list(functions)
    while waiting:
        x = waiting.pop()
        if isinstance(x, Primitive) and x not in seen:
            seen.add(x)
            found = imported_from(x)
            code = lookups(x) if found is None else (found[0],)
            if names := _captured(code, is_traced):
                msg = (
                    f"{x.__name__}, which a function given to {word.__name__} calls, has a rule "
                    f"and depends on {in_words(names)}, which is being differentiated, mapped over "
                    f"or compiled, and is no operand of it: that gradient would be lost; make it "
                    f"an operand"
                )
                raise TracerError(msg)
            waiting += [y for _, y in Reach(code).values() if isinstance(y, Primitive)]
        elif not isinstance(x, Primitive):
            waiting += [y for _, y in Reach((x,)).values() if isinstance(y, Primitive)]


def _is_traced(x: Any) -> bool:
    """Tell whether a value is traced; a parameter of a module of PyTorch's may be just kept."""
    info = type_info(type(x))
    varies = None if hasattr(type(x), "requires_grad") else info.varies
    return isinstance(x, Tracer) or (varies is not None and varies(x))


def refuse_traced_captures(
    f: Callable[..., Any], is_it: Callable[[Any], bool] | None = None, reach: Reach | None = None
) -> None:
    """Raise for an imported function that captured what some engine traces by now.

    Parameters
    ----------
    f : callable
        The function.
    is_it : callable, optional
        Tells whether a value is one; by default, whether its class, or its engine, says so.
    reach : Reach, optional
        What it looks up, if that is known already.

    Raises
    ------
    TracerError
        It names what was captured.
    """
    is_it = is_it or _is_traced
    reach = Reach((f,)) if reach is None else reach
    if any([is_it(x) for _, x in reach.values()]):
        raise _lost(f, _captured((f,), is_it))


def _lost(f: Callable[..., Any], names: list[str]) -> TracerError:
    msg = (
        f"{name_of(f)}, which is imported, depends on {in_words(names)}, which is being "
        f"differentiated, mapped over or compiled, and is no operand: that gradient would be lost; "
        f"make it an operand of the function that is imported"
    )
    return TracerError(msg)
