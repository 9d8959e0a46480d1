"""Linear systems that are small enough for a dense matrix."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, TypeAlias, final

import numpy as np

from chainrules_kit.solvers.vectors import Vector, eps_of
from chainrules_py import ConvergenceError
from chainrules_py import ops as v
from chainrules_py.extend import kind_of, namespace

Flat: TypeAlias = Any
"""Real coordinates, on the last axis of an array; a NumPy array if there are no leaves."""


@final
class Coordinates:
    """Real coordinates of a vector: a complex number has two.

    Parameters
    ----------
    leaves : list
        Arrays and numbers.
    batch : int
        Number of leading axes of all leaves that count independent problems.
    """

    def __init__(self, leaves: Vector, batch: int = 0) -> None:
        self.leaves = leaves
        self.batch = batch
        arrays = [x for x in leaves if hasattr(x, "dtype")]
        self.lead: tuple[int, ...] = tuple(arrays[0].shape[:batch]) if arrays else ()
        if any(tuple(getattr(x, "shape", ())[:batch]) != self.lead for x in leaves):
            shapes = [tuple(getattr(x, "shape", ())) for x in leaves]
            raise ValueError(f"batch={batch}: the leading axes of shapes {shapes} are not the same")
        # The dtype with the highest precision, so that no leaf loses digits.
        self.like = v.real(min(arrays, key=lambda x: eps_of([x]), default=np.zeros(())))
        self.eps = eps_of([self.like])
        self.size = sum(self._count(x) * (2 if kind_of(x) == "complex" else 1) for x in leaves)
        one = not batch and len(arrays) == len(leaves) == 1
        self.is_flat = one and arrays[0].ndim == 1 and kind_of(arrays[0]) == "real"

    def _count(self, x: Any) -> int:
        """Return the number of elements of a leaf in each of the problems."""
        return math.prod(tuple(getattr(x, "shape", ()))[self.batch :])

    def flat(self, leaves: Vector) -> Flat:
        """Return the coordinates of a vector."""
        if self.is_flat and leaves[0].dtype == self.like.dtype:
            return leaves[0]
        columns = [
            v.astype(v.reshape(part, shape=(*self.lead, self._count(of))), dtype=self.like.dtype)
            for x, of in zip(leaves, self.leaves, strict=True)
            for part in self._arrays(x, kind_of(of) == "complex")
        ]
        return columns[0] if len(columns) == 1 else v.concat(*columns, axis=-1)

    def _arrays(self, x: Any, two: bool) -> tuple[Any, ...]:
        if hasattr(x, "dtype"):
            return (v.real(x), v.imag(x)) if two else (x,)
        parts = (x.real, x.imag) if two else (x,)
        return tuple([v.full_like(self.like, shape=(), fill=float(part)) for part in parts])

    def vector(self, flat: Flat) -> Vector:
        """Return the vector with these coordinates."""
        if self.is_flat:
            return [flat]
        found, start = [], 0
        for x in self.leaves:
            part, start = self._cut(flat, start, x)
            if kind_of(x) == "complex":
                imaginary, start = self._cut(flat, start, x)
                part = part + 1j * imaginary
            found.append(v.astype(part, dtype=x.dtype) if hasattr(x, "dtype") else part)
        return found

    def _cut(self, flat: Flat, start: int, x: Any) -> tuple[Any, int]:
        shape = tuple(getattr(x, "shape", ()))
        stop = start + self._count(x)
        part = v.reshape(v.index(flat, (..., slice(start, stop))), shape=shape)
        return (float(part) if not hasattr(x, "dtype") else part), stop

    def lent(self, x: Any) -> Flat:
        """Convert coordinates in a NumPy array to the library and dtype of all coordinates."""
        how = {} if getattr(self.like, "device", None) is None else {"device": self.like.device}
        return namespace(self.like).asarray(x, dtype=self.like.dtype, **how)

    def basis(self) -> Iterator[Vector]:
        """Yield the vectors with one coordinate of 1, in each of the independent problems."""
        eye = v.eye_like(self.like, rows=self.size)
        for i in range(self.size):
            yield self.vector(v.broadcast_to(v.index(eye, i), shape=(*self.lead, self.size)))

    @functools.cached_property
    def probe(self) -> Flat:
        """Coordinates of a vector with parts in all directions."""
        dtype = _solvable(self.like.dtype)
        places = v.astype(v.arange_like(self.like, stop=self.size), dtype=dtype)
        return v.broadcast_to(v.cos(1.0 + 2.4 * places), shape=(*self.lead, self.size))

    def solve(self, matrix: Any, rhs: Flat) -> Flat:
        """Solve for the weights x with which the columns of a matrix sum to the right-hand side.

        Raises
        ------
        ConvergenceError
            If the matrix is singular to working precision.
        """
        if not self.size:
            return rhs
        own = rhs.dtype
        dtype = _solvable(own)
        if dtype is not own:
            found = self.solve(v.astype(matrix, dtype=dtype), v.astype(rhs, dtype=dtype))
            return v.astype(found, dtype=own)
        # Scale equations and unknowns: only then is the condition number meaningful.
        rows = 1.0 / not_zero(v.max(abs(matrix), axis=-1, keepdims=True))
        matrix = matrix * rows
        units = 1.0 / not_zero(v.max(abs(matrix), axis=-2, keepdims=True))
        try:  # the second right-hand side shows the size of the inverse
            found = v.solve(matrix * units, v.stack(rhs * rows[..., 0], self.probe, axis=-1))
        except (ValueError, ArithmeticError, RuntimeError) as error:
            raise ConvergenceError(_singular(math.inf)) from error
        condition = v.max(abs(found[..., 1])) if math.prod(rhs.shape) else 0.0
        if not bool(condition * self.eps < 0.1):
            raise ConvergenceError(_singular(float(condition)))
        return found[..., 0] * units[..., 0, :]


def _solvable(dtype: Any) -> Any:
    """Return the dtype of LAPACK for half and longer floats, of which NumPy solves no systems."""
    return {"e": np.dtype("f"), "g": np.dtype("d")}.get(getattr(dtype, "char", ""), dtype)


def falls(matrix: Any) -> bool:
    """Return whether a symmetric matrix has a direction in which its form is negative.

    Rows and columns are divided by the square roots of the diagonal, which preserves signs; values
    that may be 0 up to rounding are not negative.
    """
    matrix = v.astype(matrix, dtype=_solvable(matrix.dtype))
    eps = eps_of([matrix])
    diagonal = v.abs(v.diagonal(matrix))
    least = eps * v.max(v.abs(matrix), axis=-1)
    units = v.sqrt(not_zero(v.where(diagonal < least, least, diagonal)))
    scaled = matrix / (v.expand_dims(units, axis=-1) * v.expand_dims(units, axis=-2))
    return bool(v.any(v.index(v.eigvalsh(scaled), (..., 0)) < -10 * eps**0.5))


def not_zero(largest: Any) -> Any:
    """Replace zeros by 1, to divide by the largest of each row or column."""
    return v.where(largest == 0.0, 1.0, largest)


def _singular(condition: float) -> str:
    about = f", with a condition number of about {condition:.0e}" if condition < math.inf else ""
    return (
        f"the linear system is singular to working precision{about}; its matrix, which is the "
        f"derivative of f where root solves f(x) = 0, has no inverse: start elsewhere"
    )
