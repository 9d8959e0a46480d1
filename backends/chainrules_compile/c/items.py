"""Items of a native program: groups of elementwise operations, texts of C, guards."""

from __future__ import annotations

from typing import Any, TypeAlias, final

import numpy as np

from chainrules_compile.c.memory import Shape, View


@final
class Literal:
    """Number that is the same in each run, as C spells it."""

    __slots__ = ("dtype", "text")

    def __init__(self, text: str, dtype: np.dtype[Any]) -> None:
        self.text = text
        self.dtype = dtype


@final
class Argument:
    """Array as an operation reads it: dims and strides along the elements of the group."""

    __slots__ = ("dims", "strides", "view")

    def __init__(self, view: View, dims: Shape, strides: Shape) -> None:
        self.view = view
        self.dims = dims
        self.strides = strides

    @property
    def dtype(self) -> np.dtype[Any]:
        """What its elements are."""
        return self.view.dtype

    @property
    def is_number(self) -> bool:
        """Whether it is one element for all."""
        return not any(self.strides)

    @property
    def is_flat(self) -> bool:
        """Whether its elements lie one after the other."""
        return len(self.dims) == 1 and self.strides[0] == self.view.dtype.itemsize


RAISES = "raises"
"""The check of a power of Python's: what is not finite, of finite operands, raises there."""

Operand: TypeAlias = Argument | Literal


@final
class Operation:
    """One operation on each element: an expression, a loop of NumPy's, or sums.

    Attributes
    ----------
    expression : str or None
        Text of C with a place for each operand.
    loop : int
        Which loop of NumPy's computes it, where it is no expression.
    operands : list of Operand
    out : View
        What it gives.
    is_total : bool
        Whether it gives the sums of the blocks of its operand.
    types : tuple of str
        The types of C that the operands of an expression are converted to.
    vector : str or None
        Which function of vectors computes it, where it is neither.
    check : str or None
        A condition on the operands under which the program does not fit, or `RAISES`.
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
    """Operations on arrays of so many elements, which run over these in blocks."""

    __slots__ = ("operations", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.operations: list[Operation] = []


@final
class Kernel:
    """Text of C of its own: a sum, a product, a factor, places of a mask.

    Attributes
    ----------
    text : str
        What it does: with what it writes to, and then reads, as ``a0``, ``a1`` and so on.
    outs, given : list of View
        What it writes to, and what it reads.
    may_miss : bool
        Whether it says in ``*s`` that the program does not fit.
    """

    __slots__ = ("given", "may_miss", "outs", "text")

    def __init__(self, text: str, outs: list[View], given: list[View], may_miss: bool) -> None:
        self.text = text
        self.outs = outs
        self.given = given
        self.may_miss = may_miss


@final
class Guard:
    """Answer that a number has to have: whether it is zero or not, or which number it is."""

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
