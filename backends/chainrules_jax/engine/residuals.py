"""The values that a rule saved, as arrays that JAX keeps and a frame around them.

Arrays may be anywhere in them: in tuples, in dicts, in the cells of a half that is a closure. A
traced value must not stay in the frame, where JAX would not see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from chainrules_jax.array_types import is_traced
from chainrules_jax.engine.pytrees import is_value
from chainrules_py.extend import Closure, Space, StructureSpace, closed, flatten, unflatten

_EMPTY = (Space, StructureSpace, str, int, float, complex, bool, type(None), type)


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
    """

    __slots__ = ("_frame", "_tree", "count", "residuals")

    def __init__(self, saved: tuple[Any, ...], traced: bool) -> None:
        leaves, self._tree = flatten(saved, is_value)
        self.residuals: list[Any] = []
        self._frame: list[tuple[Any, int]] = []  # each entry, and how many arrays it encloses
        for leaf in leaves:
            if is_value(leaf):
                self._frame.append((None, 1))
                self.residuals.append(leaf)
                continue
            opened = leaf
            if traced and not isinstance(leaf, _EMPTY):
                opened = closed(leaf, is_traced)
            if isinstance(opened, Closure) and opened is not leaf:
                self._frame.append((opened.around(()), len(opened.captured)))
                self.residuals += opened.captured
            else:
                self._frame.append((leaf, 0))
        self.count = len(self.residuals)

    @property
    def frame(self) -> Any:
        """Everything except the arrays, for comparison."""
        return self._tree, *[(type(what), what, n) for what, n in self._frame]

    def taken(self) -> list[Any]:
        """Return the arrays and forget them: JAX's caches keep functions that use this object."""
        residuals, self.residuals = self.residuals, []
        return residuals

    def filled(self, residuals: Sequence[Any]) -> Any:
        """Rebuild the saved values around these arrays."""
        leaves, start = [], 0
        for what, n in self._frame:
            some = residuals[start : start + n]
            start += n
            if n == 0:
                leaves.append(what)
            elif what is None:
                leaves.append(some[0])
            else:
                leaves.append(what.around(some).filled())
        return unflatten(self._tree, leaves)
