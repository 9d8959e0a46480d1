"""Tangent spaces that people declare for their own structures.

Matrices that are symmetric, diagonal or banded have fewer directions than their fields hold, and a
rotation has a velocity that is no rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from chainrules_py.errors import ProjectionError, RuleError, describe
from chainrules_py.values.caches import forget_all, forgets
from chainrules_py.values.structure import is_structure_type


@final
class OwnSpace:
    """What was declared for a class: `register_tangent`."""

    __slots__ = ("give", "project", "take")

    def __init__(self, project: Any, give: Any, take: Any) -> None:
        self.project, self.give, self.take = project, give, take


_spaces: dict[type, OwnSpace] = {}
_found: dict[type, OwnSpace | None] = {}
forgets(lambda: (_found,))


def register_tangent(
    cls: type,
    *,
    project: Callable[[Any], Any] | None = None,
    give: Callable[[Any], Any] | None = None,
    take: Callable[[Any], Any] | None = None,
) -> None:
    """Declare the tangents of a structure, where they are not those of its fields.

    Parameters
    ----------
    cls : type
        A structure: a dataclass, attrs class, namedtuple, or one that is registered.
    project : callable, optional
        From a `Tangent` of it, field by field, to the one of its space that is nearest: linear.
        It is applied wherever a cotangent of the structure is handed out, or brought to its space.
    give, take : callable, optional
        ``give(tangent)`` makes of a `Tangent` what people get in its place, a structure as well;
        ``take(given)`` makes a `Tangent` of that again. One comes with the other.

    Raises
    ------
    RuleError
        If the class is no structure, or one of give and take is missing.

    Examples
    --------
    >>> import dataclasses
    >>> import numpy as np
    >>> from chainrules_py import Tangent
    >>> from chainrules_tape import grad
    >>> @dataclasses.dataclass
    ... class Symmetric:
    ...     full: np.ndarray
    >>> def even(t):
    ...     return Tangent[Symmetric](full=(t.full + t.full.T) / 2)
    >>> register_tangent(Symmetric, project=even)
    >>> grad(lambda s: s.full[0, 1] * 2.0)(Symmetric(np.eye(2))).full
    array([[0., 1.],
           [1., 0.]])
    """
    if not is_structure_type(cls):
        msg = (
            f"{cls.__qualname__} is not a structure: make it a dataclass, or register_structure it"
        )
        raise RuleError(msg)
    if (give is None) != (take is None):
        msg = f"register_tangent({cls.__qualname__}) takes give and take together"
        raise RuleError(msg)
    _spaces[cls] = OwnSpace(project, give, take)
    forget_all()


def own_space(cls: type) -> OwnSpace | None:
    """Return what was declared for a class, or for one that it derives from."""
    if not _spaces:
        return None
    try:
        return _found[cls]
    except KeyError:
        found = next((_spaces[base] for base in cls.__mro__ if base in _spaces), None)
        _found[cls] = found
        return found


def declares_space(tree: Any) -> bool:
    """Tell whether a structure, or one in it, has a space that was declared."""
    own = tree.structure is not None and own_space(tree.cls) is not None
    return own or any(map(declares_space, tree.children))


def projected(cls: type, t: Any) -> Any:
    """Return a tangent of a structure, brought to the space that was declared, if any."""
    own = own_space(cls)
    return t if own is None or own.project is None else own.project(t)


def given_out(cls: type, t: Any) -> Any:
    """Return a tangent of a structure as people get it."""
    own = own_space(cls)
    if own is None:
        return t
    t = t if own.project is None else own.project(t)
    if own.give is None:
        return t
    found = own.give(t)
    if not is_structure_type(type(found)):
        msg = (
            f"the tangent {describe(found)} that was declared for {cls.__qualname__} is no "
            f"structure: what is traced in it would be lost; make it a dataclass"
        )
        raise ProjectionError(msg)
    return found


def taken_in(cls: type, t: Any) -> Any:
    """Return what a person gave for a tangent of a structure in its usual form."""
    own = own_space(cls)
    return t if own is None or own.take is None else own.take(t)
