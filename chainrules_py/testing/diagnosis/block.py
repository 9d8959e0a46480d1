"""Evidence: two Jacobians at a point, and the part of them that belongs to one operand."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, final

import numpy as np

_LEAST = float(np.finfo(float).tiny)


class Axes(Protocol):
    """The numbers that rows or columns stand for.

    Attributes
    ----------
    x : array, number or structure
        The value that they are of.
    size : int
        How many there are; a complex number is two.
    is_leaf : bool
        Whether the value is an array or number.
    kind : {"real", "complex", "none"}
        What an array consists of.
    shape : tuple of int
        The shape of an array.
    """

    x: Any
    size: int
    is_leaf: bool
    kind: str
    shape: tuple[int, ...]

    @property
    def fields(self) -> Mapping[Any, Any]:
        """The axes of the fields of a structure."""
        ...

    def labels(self) -> Sequence[str]:
        """Name each of the numbers."""
        ...


@final
@dataclasses.dataclass(frozen=True)
class Place:
    """A call: its operands, its result and its numbers of options.

    Attributes
    ----------
    operands : sequence of Axes
        What the columns stand for.
    result : Axes
        What the rows stand for.
    names : sequence of str
        How the operands are called.
    gathers : bool
        Whether there are integers that may be indices.
    """

    operands: Sequence[Axes]
    result: Axes
    names: Sequence[str]
    gathers: bool = False


@final
@dataclasses.dataclass(frozen=True)
class Evidence:
    """Two Jacobians at one call.

    Attributes
    ----------
    have, want, allowed : matrix
        What is given, what is right, and what they may differ by.
    place : Place
        The call.
    digits : float
        What equal numbers may differ by, relative to them: more in half precision.
    """

    have: Any
    want: Any
    allowed: Any
    place: Place
    digits: float = 1e-6

    def blocks(self) -> dict[int, Block]:
        """Cut both Jacobians into one block for each operand that has columns."""
        allowed = np.broadcast_to(self.allowed, self.want.shape)
        known = np.isfinite(allowed)
        matrices = (np.where(known, self.have, 0.0), np.where(known, self.want, 0.0), allowed)
        ends = np.cumsum([part.size for part in self.place.operands])[:-1]
        cut = zip(*(np.split(m, ends, axis=1) for m in matrices), strict=True)
        return {
            number: Block(parts[0], parts[1], parts[2], number, self)
            for number, (part, parts) in enumerate(zip(self.place.operands, cut, strict=True))
            if part.size
        }


@final
@dataclasses.dataclass(frozen=True)
class Block:
    """The part of the Jacobians that belongs to one operand, or to a field of something.

    Attributes
    ----------
    have, want, allowed : matrix
        One row per number of the result, one column per number of the operand.
    number : int
        Which operand it is.
    evidence : Evidence
        Of which it is a part.
    of, to : Axes, optional
        What rows and columns stand for, where it is a part of the operand or of the result.
    """

    have: Any
    want: Any
    allowed: Any
    number: int
    evidence: Evidence
    of: Axes | None = None
    to: Axes | None = None

    @property
    def x(self) -> Axes:
        """What the columns stand for."""
        return self.of or self.evidence.place.operands[self.number]

    @property
    def y(self) -> Axes:
        """What the rows stand for."""
        return self.to or self.evidence.place.result

    @property
    def digits(self) -> float:
        """What equal numbers may differ by, relative to them."""
        return self.evidence.digits

    @property
    def is_wrong(self) -> Any:
        """Where the two differ by more than they may."""
        with np.errstate(all="ignore"):
            apart = np.abs(self.have - self.want)
            same = (self.have == self.want) | (np.isnan(self.have) & np.isnan(self.want))
            return ~same & np.isfinite(self.allowed) & ~(apart <= self.allowed)

    @property
    def stands(self) -> bool:
        """Whether rows and columns are those of two arrays."""
        return (
            self.x.is_leaf
            and self.y.is_leaf
            and self.want.shape == (self.y.size, self.x.size)
            and 0 not in self.want.shape
        )

    def equals(self, guess: Any) -> bool:
        """Tell whether what is given is this guess, to about six digits."""
        return guess.shape == self.have.shape and close(self.have, guess, self.digits)

    def axes(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """List the axes of operand and result: the matrix's side, the axis, and the side's shape.

        The first number of a shape is 2 where numbers are complex.
        """
        for side, of in ((1, self.x), (0, self.y)):
            if of.is_leaf and of.size and self.want.shape[side] == of.size:
                for k, n in enumerate(of.shape):
                    if n > 1:
                        yield side, k, shape_of(of)


def shape_of(of: Axes) -> tuple[int, ...]:
    """Return the shape of an array with its real and imaginary parts along a first axis."""
    return (of.size // int(np.prod(of.shape, dtype=int)), *of.shape)


def scale_of(derivatives: Any) -> float:
    """Return the largest absolute value of some derivatives; the least number there is of zeros."""
    finite = derivatives[np.isfinite(derivatives)]
    return max(_LEAST, float(np.max(np.abs(finite), initial=0.0)))


def close(a: Any, b: Any, digits: float = 1e-6) -> bool:
    """Tell whether numbers are equal to so many digits, or next to nothing beside the largest."""
    return bool(np.allclose(a, b, rtol=digits, atol=1e-2 * digits * scale_of(b)))
