"""Which word each of Python's operators is, and what computes it where there is nothing to trace."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from chainrules_py.primitive import Primitive
from chainrules_py.vocabulary import elementwise as e

__all__ = ["binary_operators", "unary_operators"]

unary_operators: dict[str, tuple[Primitive[..., Any], Callable[[Any], Any]]] = {
    "__neg__": (e.negative, operator.neg),
}

# Each stands for its reflected form too: __add__ for __radd__.
binary_operators: dict[str, tuple[Primitive[..., Any], Callable[[Any, Any], Any]]] = {
    "__add__": (e.add, operator.add),
    "__sub__": (e.subtract, operator.sub),
    "__mul__": (e.multiply, operator.mul),
    "__truediv__": (e.divide, operator.truediv),
}
