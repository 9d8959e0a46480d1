"""Tangent spaces that users declare for their structures.

A symmetric, diagonal or banded matrix has fewer degrees of freedom than its fields have entries,
and the velocity of a rotation is not a rotation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, final

from chainrules_py.errors import ProjectionError, RuleError, describe
from chainrules_py.values.caches import forget_all, forgets
from chainrules_py.values.structure import is_structure_type


@final
class OwnSpace:
    """The functions that `register_tangent` declared for a class."""

    __slots__ = ("give", "project", "take")

    def __init__(self, project: Any, give: Any, take: Any) -> None:
        self.project, self.give, self.take = project or _same, give or _same, take or _same


def _same(t: Any) -> Any:
    return t


_spaces: dict[type, OwnSpace] = {object: OwnSpace(None, None, None)}


def register_tangent(
    cls: type,
    *,
    project: Callable[[Any], Any] | None = None,
    give: Callable[[Any], Any] | None = None,
    take: Callable[[Any], Any] | None = None,
) -> None:
    """Declare the tangent space of a structure whose fields do not determine it.

    Parameters
    ----------
    cls : type
        A structure: a dataclass, attrs class, namedtuple, or a registered class.
    project : callable, optional
        A linear map from a `Tangent` of the structure to the nearest one in its space. It is
        applied when a cotangent of the structure is returned to the user, or projected.
    give, take : callable, optional
        ``give(tangent)`` converts a `Tangent` to what users get instead, which is a structure too;
        ``take(given)`` converts that to a `Tangent`. Both are required if one is passed.

    Raises
    ------
    RuleError
        If the class is not a structure, or only one of give and take is passed.

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
        raise RuleError(
            f"{cls.__qualname__} is not a structure: make it a dataclass, or register_structure it"
        )
    if (give is None) != (take is None):
        raise RuleError(f"register_tangent({cls.__qualname__}) takes give and take together")
    _spaces[cls] = OwnSpace(project, give, take)
    forget_all()


@functools.cache
def own_space(cls: type) -> OwnSpace:
    """Return the declared space of a class, or of the nearest base that has one."""
    return next(_spaces[base] for base in cls.__mro__ if base in _spaces)


forgets(lambda: (own_space,))


def declares_space(tree: Any) -> bool:
    """Return whether a structure, or one nested in it, has a declared space."""
    own = tree.structure is not None and own_space(tree.cls) is not _spaces[object]
    return own or any(map(declares_space, tree.children))


def given_out(cls: type, t: Any) -> Any:
    """Convert a tangent of a structure to the form that users get."""
    own = own_space(cls)
    found = own.give(own.project(t))
    if own.give is not _same and not is_structure_type(type(found)):
        raise ProjectionError(
            f"the tangent {describe(found)} that was declared for {cls.__qualname__} is no "
            f"structure: what is traced in it would be lost; make it a dataclass"
        )
    return found
