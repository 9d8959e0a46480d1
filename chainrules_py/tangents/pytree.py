"""Values taken apart into arrays and the rest, as engines work with them: flat lists of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

from chainrules_py.tangents.arithmetic import canonicalize
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import unthunk
from chainrules_py.tangents.zeros import ZeroTangent, is_zero
from chainrules_py.values.structure import (
    TreeDef,
    flatten,
    is_structure_type,
    structure_of,
    unflatten,
)

__all__ = ["FlatLayout", "Opened", "exactly"]


@final
class FlatLayout:
    """A value without its arrays: what stands where they stood, and what else it holds.

    Attributes
    ----------
    tree : TreeDef or None
        The shape of a structure; None for one array, or one value that is none.
    statics : tuple
        One entry per leaf: ``ARRAY`` for an array, else ``(value,)``.
    count : int
        How many arrays there are.

    Examples
    --------
    >>> import numpy as np
    >>> arrays, layout = FlatLayout.split(
    ...     {"w": np.ones(2), "name": "b"}, lambda x: hasattr(x, "dtype")
    ... )
    >>> arrays, layout
    ([array([1., 1.])], FlatLayout({'w': array, 'name': 'b'}))
    >>> layout.join(["new"])
    {'w': 'new', 'name': 'b'}
    >>> layout.tangent([3.0])
    Tangent[dict]({'w': 3.0, 'name': ZeroTangent()})
    >>> layout.read(layout.tangent([3.0]))
    [3.0]
    """

    ARRAY = ()
    __slots__ = ("count", "statics", "tree")

    def __init__(self, tree: TreeDef | None, statics: tuple[tuple[Any, ...], ...]) -> None:
        self.tree = tree
        self.statics = statics
        self.count = sum([entry == FlatLayout.ARRAY for entry in statics])

    @classmethod
    def split(cls, x: Any, is_array: Callable[[Any], bool]) -> tuple[list[Any], FlatLayout]:
        """Split a value into its arrays, in order, and its layout: the value without them."""
        if is_array(x):
            return [x], _ONE_ARRAY
        if not is_structure_type(type(x)):
            return [], FlatLayout(None, ((x,),))
        leaves, tree = flatten(x, is_array)
        found = [is_array(leaf) for leaf in leaves]
        statics = tuple([() if is_a else (x,) for is_a, x in zip(found, leaves, strict=True)])
        return [x for is_a, x in zip(found, leaves, strict=True) if is_a], FlatLayout(tree, statics)

    def join(self, arrays: Sequence[Any]) -> Any:
        """Rebuild the value around other arrays."""
        if self.tree is None:
            return self.statics[0][0] if self.statics[0] else arrays[0]
        rest = iter(arrays)
        return unflatten(self.tree, [entry[0] if entry else next(rest) for entry in self.statics])

    def tangent(self, ts: Sequence[Any]) -> Any:
        """Make the tangent of the value with these entries at its arrays, and zero elsewhere."""
        rest = iter(ts)
        if self.tree is None:
            return ZeroTangent() if self.statics[0] else next(rest)
        return _tangent(
            self.tree, iter([ZeroTangent() if entry else next(rest) for entry in self.statics])
        )

    def read(self, t: Any) -> list[Any]:
        """Read the entries of a tangent at the arrays; they may be zero tangents."""
        if self.tree is None:
            return [] if self.statics[0] else [unthunk(t)]
        entries = zip(self.statics, _entries(self.tree, t), strict=True)
        return [unthunk(part) for entry, part in entries if not entry]

    def key(self) -> Any:
        """Return a key that layouts of the same value share; None for structures, which lack one.

        It may not be hashable.
        """
        if self.tree is not None:
            return None
        return exactly(self.statics[0][0]) if self.statics[0] else "array"

    def __repr__(self) -> str:
        shown = self.join([_Shown()] * self.count)
        return f"FlatLayout({shown!r})"


_ONE_ARRAY = FlatLayout(None, ((),))


@final
class Opened:
    """A function of structures as one of the arrays in them that move, for an engine to call.

    Parameters
    ----------
    f : callable
        Of structures, which gives one.
    operands, options
        Of the call.
    takes, gives : callable
        Which leaves of the operands, and of the result, derivatives are taken in; whatever else
        there is, is part of the function.

    Attributes
    ----------
    moved : list
        The leaves that it is a function of.
    out : FlatLayout
        That of the result, once it was called.

    Examples
    --------
    >>> from chainrules_py import NoTangent
    >>> is_float = lambda x: type(x) is float
    >>> call = Opened(
    ...     lambda p, n: {"y": p["a"] * n, "n": n}, ({"a": 2.0}, 3), {}, is_float, is_float
    ... )
    >>> call.moved, call(5.0)
    ([2.0], (15.0,))
    >>> call.closed([6.0])
    {'y': 6.0, 'n': 3}
    >>> call.bars({"y": 6.0, "n": 3}, {"y": 1.0, "n": NoTangent()}), call.tangents([4.0])
    ([1.0], (Tangent[dict]({'a': 4.0}), ZeroTangent()))
    """

    __slots__ = ("_layout", "f", "gives", "moved", "operands", "options", "out")

    def __init__(
        self,
        f: Callable[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        takes: Callable[[Any], bool],
        gives: Callable[[Any], bool],
    ) -> None:
        self.f = f
        self.operands = operands
        self.options = options
        self.gives = gives
        self.moved, self._layout = FlatLayout.split(operands, takes)
        self.out = _ONE_ARRAY

    def __call__(self, *moved: Any) -> tuple[Any, ...]:
        """Compute the arrays of the result."""
        found, self.out = FlatLayout.split(
            self.f(*self._layout.join(moved), **self.options), self.gives
        )
        return tuple(found)

    def closed(self, found: Sequence[Any]) -> Any:
        """Rebuild the result around these arrays."""
        return self.out.join(found)

    def dots(self, tangents: tuple[Any, ...]) -> list[Any]:
        """Read the tangents of the moving arrays off the operands'; some may be zero tangents."""
        return self._layout.read(canonicalize(self.operands, tangents))

    def bars(self, y: Any, y_bar: Any) -> list[Any]:
        """Read the cotangents of a result's arrays off its own; some may be zero tangents."""
        return self.out.read(canonicalize(y, y_bar))

    def tangents(self, bars: Sequence[Any]) -> tuple[Any, ...]:
        """Return one cotangent for each operand, from those of the moving arrays."""
        return tuple([unthunk(part) for _, part in self._layout.tangent(bars).fields()])


class _Shown:
    def __repr__(self) -> str:
        return "array"


def exactly(x: Any) -> Any:
    """Make a key equal for the same value of the same type: not 1 and True, nor 0.0 and -0.0."""
    if isinstance(x, (float, complex)):
        return type(x), repr(x)
    return type(x), tuple(map(exactly, x)) if type(x) is tuple else x


def _tangent(tree: TreeDef, ts: Iterator[Any]) -> Any:
    if tree.children is None:
        return next(ts)
    cls = type(tree.template)
    entries = {
        key: _tangent(child, ts) for key, child in zip(tree.keys, tree.children, strict=True)
    }
    structure = structure_of(cls)
    by_position = structure is not None and structure.kind == "positions"
    return Tangent.of(cls, entries, len(entries) if by_position else None)


def _entries(tree: TreeDef, t: Any) -> Iterator[Any]:
    t = unthunk(t)
    if tree.children is None:
        yield t
    elif is_zero(t):
        yield from [t] * tree.num_leaves
    else:
        for key, child in zip(tree.keys, tree.children, strict=True):
            yield from _entries(child, t[key])
