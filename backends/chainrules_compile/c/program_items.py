"""Items of a native program: groups of elementwise operations, kernels, guards."""

from __future__ import annotations

from typing import Any, TypeAlias, final

import numpy as np

from chainrules_compile.c.buffers import Shape, Version, View


@final
class Literal:
    """Constant number, as C text."""

    __slots__ = ("dtype", "text")

    def __init__(self, text: str, dtype: np.dtype[Any]) -> None:
        self.text = text
        self.dtype = dtype


@final
class Argument:
    """Operand of an operation: a view, with dims and strides along the elements of the group."""

    __slots__ = ("dims", "strides", "view")

    def __init__(self, view: View, dims: Shape, strides: Shape) -> None:
        self.view = view
        self.dims = dims
        self.strides = strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the view."""
        return self.view.dtype

    @property
    def is_number(self) -> bool:
        """Whether all elements read the same number."""
        return not any(self.strides)

    @property
    def is_flat(self) -> bool:
        """Whether its elements are contiguous."""
        return len(self.dims) == 1 and self.strides[0] == self.view.dtype.itemsize


RAISES = "raises"
"""Check of a Python power, which raises if the result of finite operands is not finite."""

Operand: TypeAlias = Argument | Literal


@final
class Operation:
    """Elementwise operation: an expression, a NumPy loop, a vector function, or sums.

    Attributes
    ----------
    expression : str or None
        C text with a placeholder for each operand.
    loop : int
        The number of the NumPy loop that computes it, if it is not an expression.
    operands : list of Operand
    out : View
        The result.
    is_total : bool
        Whether it sums each block of its operand.
    types : tuple of str
        The C types that the operands of an expression are cast to.
    vector : str or None
        The name of the vector function that computes it, if it is neither.
    check : str or None
        A condition on the operands under which the program misses, or `RAISES`.
    """

    __slots__ = ("check", "expression", "is_total", "loop", "operands", "out", "types", "vector")

    def __init__(
        self,
        out: View,
        operands: list[Operand],
        expression: str | None = None,
        loop: int = -1,
        is_total: bool = False,
        types: tuple[str, ...] = (),
        check: str | None = None,
        vector: str | None = None,
    ) -> None:
        self.vector = vector
        self.types = types
        self.out = out
        self.operands = operands
        self.expression = expression
        self.loop = loop
        self.is_total = is_total
        self.check = check


@final
class Group:
    """Operations on arrays with the same number of elements, which run in blocks.

    Small groups keep the places that they read from and write to.
    """

    __slots__ = ("operations", "places", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.operations: list[Operation] = []
        self.places: set[tuple[Version, int]] = set()


@final
class Kernel:
    """C text for one step: a sum, a product, a factorisation, the indices of a mask.

    Attributes
    ----------
    text : str
        The text; its pointers ``a0``, ``a1``, ... are the outputs, then the inputs.
    outs, given : list of View
        The views that it writes to, and those that it reads.
    may_miss : bool
        Whether it may set ``*s`` to signal a miss.
    """

    __slots__ = ("given", "may_miss", "outs", "text")

    def __init__(self, text: str, outs: list[View], given: list[View], may_miss: bool) -> None:
        self.text = text
        self.outs = outs
        self.given = given
        self.may_miss = may_miss


@final
class Guard:
    """Required value of a number: its truth value, or the integer that it is."""

    __slots__ = ("answer", "view")

    def __init__(self, view: View, answer: bool | int) -> None:
        self.view = view
        self.answer = answer


Item: TypeAlias = Group | Kernel | Guard


def views_of(item: Item) -> tuple[list[View], list[View]]:
    """Return the views that an item reads, and those that it writes to."""
    if isinstance(item, Group):
        read = [x.view for op in item.operations for x in op.operands if isinstance(x, Argument)]
        return read, [op.out for op in item.operations]
    if isinstance(item, Kernel):
        return item.given, item.outs
    return [item.view], []
