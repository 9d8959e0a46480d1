"""What operands hide from the rules of a function, in objects of classes that nobody registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import NotDifferentiableError, Primitive
from chainrules_py.extend import describe, flatten, hidden, is_opaque, is_structure_type, knows


def check_hidden(
    word: Primitive[..., Any],
    operands: tuple[Any, ...],
    is_traced: Callable[[Any], bool],
    shows: Callable[[], bool] | None = None,
) -> None:
    """Raise for operands of a function with a rule that hide what another engine differentiates.

    Parameters
    ----------
    word : Primitive
        The function.
    operands : tuple
        What it is called with.
    is_traced : callable
        Tells whether a value is differentiated.
    shows : callable, optional
        Tells whether the function's value depends on what is hidden: there may be more in an object
        than it uses. An iterator is not run through to know.

    Raises
    ------
    TracerError
        It names the operand: no rule sees what it holds.
    NotDifferentiableError
        If one is an iterator: the function and its rule are called several times.
    """
    leaves = flatten(operands)[0]
    opaque = [x for x in leaves if is_opaque(type(x))]
    once = [x for x in opaque if hasattr(type(x), "__next__")]
    # A function that is an operand is opened before; in a structure it is a leaf like others.
    inner = [x for x in leaves if callable(x) and not any([x is y for y in operands])]
    held = [x for x in (*opaque, *inner) if knows(x, is_traced)]
    if held and (shows is None or once or shows()):
        raise hidden(held, word.__qualname__)
    if once and any(map(is_traced, leaves)):
        msg = (
            f"{describe(once[0])} gives its items once, and an engine that differentiates "
            f"{word.__qualname__} calls it several times: pass a list of them"
        )
        raise NotDifferentiableError(msg)


def may_hide(word: Primitive[..., Any], classes: tuple[type, ...]) -> bool:
    """Tell whether operands of these classes may hide what a rule of a person's should see."""
    own = [s for s in word.stated[0] if not (word.opaque and s.source.is_ours)]
    return (
        word.has_body
        and bool(own)
        and any([is_opaque(cls) or is_structure_type(cls) for cls in classes])
    )
