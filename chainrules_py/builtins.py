"""The words for Python's own numbers: operators compute what Python computes."""

from __future__ import annotations

import operator
from typing import Any

from chainrules_py.primitive import Primitive
from chainrules_py.vocabulary import conj, lift, real
from chainrules_py.vocabulary.operators import binary_operators, unary_operators

__all__: list[str] = []

Number = int | float | complex


def _implement(word: Primitive[..., Any], function: Any, arity: int) -> None:
    word.implement((lambda x: function(x)) if arity == 1 else (lambda x, y: function(x, y)), types=(Number,) * arity)


for _word, _function in unary_operators.values():
    _implement(_word, _function, 1)
for _word, _function2 in binary_operators.values():
    _implement(_word, _function2, 2)


@conj.implement
def conj_number(x: int | float | complex) -> Any:
    """Python's own conjugate."""
    return x.conjugate()


@lift.implement
def lift_number(x: int | float | complex, *, to: Any) -> Any:
    """A 0-d array, and the scalar in it."""
    return to.asarray(x)[()]


@real.implement
def real_number(x: int | float | complex) -> Any:
    """Python's own real part."""
    return x.real


_ = operator
