"""The values that a rule saved, as arrays that JAX keeps and a frame around them.

Arrays may be anywhere in them: in tuples, in dicts, in the cells of a half that is a closure. A
traced value must not stay in the frame, where JAX would not see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

from chainrules_jax.array_types import is_traced
from chainrules_jax.engine.values import is_value
from chainrules_py.extend import (
    Closure,
    Space,
    StructureSpace,
    TreeDef,
    closed,
    flatten,
    unflatten,
)

_EMPTY = (Space, StructureSpace, str, int, float, complex, bool, type(None), type)
_ARRAY: Final = object()
"""Where an array is missing."""


@final
class Kept:
    """The saved values of a record, in two parts.

    Parameters
    ----------
    saved : tuple
        What the rule saved.
    traced : bool
        Whether they may contain traced values.

    Attributes
    ----------
    residuals : list
        The arrays.
    count : int
        The number of arrays.
    frame : tuple
        Everything except the arrays, for comparison.
    """

    __slots__ = ("_inner", "_parts", "_tree", "count", "frame", "residuals")

    def __init__(self, saved: tuple[Any, ...], traced: bool) -> None:
        leaves, self._tree = flatten(saved, is_value)
        self._inner: TreeDef | None = None
        if traced:
            whole = lambda x: is_value(x) or isinstance(x, _EMPTY)
            leaves = [x if whole(x) else closed(x, is_traced) for x in leaves]
            if any([type(x) is Closure for x in leaves]):
                leaves, self._inner = flatten(tuple(leaves), is_value)
        self._parts = [_ARRAY if is_value(x) else x for x in leaves]
        self.residuals = [x for x, part in zip(leaves, self._parts, strict=True) if part is _ARRAY]
        self.count = len(self.residuals)
        # A function that captured arrays equals no other.
        known = self._inner is None or object()
        self.frame = self._tree, known, [(type(x), x) for x in self._parts]

    def taken(self) -> list[Any]:
        """Return the arrays and forget them: JAX's caches keep functions that use this object."""
        residuals, self.residuals = self.residuals, []
        return residuals

    def filled(self, residuals: Sequence[Any]) -> Any:
        """Rebuild the saved values around these arrays."""
        rest = iter(residuals)
        leaves = [next(rest) if x is _ARRAY else x for x in self._parts]
        if self._inner is not None:
            parts = unflatten(self._inner, leaves)
            leaves = [x.filled() if type(x) is Closure else x for x in parts]
        return unflatten(self._tree, leaves)
