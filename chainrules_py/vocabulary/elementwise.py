"""Words that act element by element. Operands broadcast against each other."""

from __future__ import annotations

from typing import Any

from chainrules_py.arrays import Array, Numeric
from chainrules_py.primitive import primitive

__all__ = ["add", "conj", "cos", "divide", "exp", "lift", "multiply", "negative", "real", "sin", "strong_multiply", "subtract"]


@primitive
def add(x: Numeric, y: Numeric, /) -> Any:
    """The sum x + y."""


@primitive
def subtract(x: Numeric, y: Numeric, /) -> Any:
    """The difference x - y."""


@primitive
def multiply(x: Numeric, y: Numeric, /) -> Any:
    """The product x y."""


@primitive
def divide(x: Numeric, y: Numeric, /) -> Any:
    """The quotient x / y."""


@primitive
def negative(x: Numeric, /) -> Any:
    """The negative -x."""


@primitive
def strong_multiply(c: Numeric, p: Numeric, /) -> Any:
    """The product c p, and 0 where c is 0, whatever p is there.

    What a cotangent c and a partial p that may be infinite or NaN are multiplied by.
    """


@primitive
def lift(x: Numeric, /, *, to: Any) -> Any:
    """A Python number as a scalar of the library ``to``, as its own functions would take it."""


@primitive
def conj(x: Numeric, /) -> Any:
    """The complex conjugate; of real x, x itself."""


@primitive
def real(x: Numeric, /) -> Any:
    """The real part; of real x, x itself."""


@primitive
def exp(x: Numeric, /) -> Any:
    """The exponential eˣ."""


@primitive
def sin(x: Numeric, /) -> Any:
    """The sine."""


@primitive
def cos(x: Numeric, /) -> Any:
    """The cosine."""
