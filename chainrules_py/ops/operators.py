"""Operations for Python's operators, with the functions that compute untraced values.

It also has the aliases of the members of Python's numbers.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

from chainrules_py.ops import elementwise as e
from chainrules_py.ops import linalg
from chainrules_py.ops import predicates as p
from chainrules_py.ops import selection as s
from chainrules_py.primitives.aliases.alias import alias
from chainrules_py.primitives.primitive import Primitive

__all__ = ["binary_operators", "square_operator", "unary_operators"]

unary_operators: dict[str, tuple[Primitive[..., Any], Callable[[Any], Any]]] = {
    "__neg__": (e.negative, operator.neg),
    "__pos__": (e.positive, operator.pos),
    "__abs__": (s.abs, operator.abs),
    "__invert__": (p.bitwise_invert, operator.invert),
    "__floor__": (p.floor, math.floor),
    "__ceil__": (p.ceil, math.ceil),
    "__trunc__": (p.trunc, math.trunc),
    "__round__": (p.round, round),
}

square_operator: tuple[Primitive[..., Any], Callable[[Any], Any]] = (e.square, lambda x: x**2)
"""The operation of ``x ** 2``: its derivative needs no power, and is finite everywhere."""

# Each is for its reflected form too: __add__ for __radd__.
binary_operators: dict[str, tuple[Primitive[..., Any], Callable[[Any, Any], Any]]] = {
    "__add__": (e.add, operator.add),
    "__sub__": (e.subtract, operator.sub),
    "__mul__": (e.multiply, operator.mul),
    "__matmul__": (linalg.matmul, operator.matmul),
    "__truediv__": (e.divide, operator.truediv),
    "__floordiv__": (e.floor_divide, operator.floordiv),
    "__mod__": (e.remainder, operator.mod),
    "__divmod__": (e.divmod, divmod),
    "__pow__": (e.pow, operator.pow),
    "__and__": (p.bitwise_and, operator.and_),
    "__or__": (p.bitwise_or, operator.or_),
    "__xor__": (p.bitwise_xor, operator.xor),
    "__lshift__": (p.bitwise_left_shift, operator.lshift),
    "__rshift__": (p.bitwise_right_shift, operator.rshift),
    "__eq__": (p.equal, operator.eq),
    "__ne__": (p.not_equal, operator.ne),
    "__lt__": (p.less, operator.lt),
    "__le__": (p.less_equal, operator.le),
    "__gt__": (p.greater, operator.gt),
    "__ge__": (p.greater_equal, operator.ge),
}

for _cls in (int, float, complex):
    for _name, _operation in (("real", e.real), ("imag", e.imag), ("conjugate", e.conj)):
        alias(vars(_cls)[_name], to=_operation, parameters={"self": None}, rename={"self": "x"})
