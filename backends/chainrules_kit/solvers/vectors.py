"""Vectors as lists of arrays and numbers, for iterative methods.

A complex number counts as two real ones: the inner product is Re(aᴴb). With ``batch`` leading axes
of independent problems, norms and factors have one entry for each problem.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from chainrules_py import ops as v
from chainrules_py.extend import kind_of
from chainrules_py.ops.linalg import resolution

Vector: TypeAlias = list[Any]


def floating(leaves: Vector) -> Vector:
    """Convert integers to floating-point numbers."""
    return [x * 1.0 if kind_of(x) == "int" else x for x in leaves]


def eps_of(leaves: Vector) -> float:
    """Return the largest machine epsilon of the leaves' dtypes."""
    return max([2.0**-52, *[resolution(x) for x in leaves if hasattr(x, "dtype")]])


def inner(x: Any, y: Any) -> Any:
    """Return Re(xᴴy) of two arrays or numbers, as their library returns it."""
    product = v.conj(x) * y if kind_of(x) == "complex" else x * y
    product = v.sum(product) if getattr(product, "ndim", 0) else product
    return v.real(product) if kind_of(product) == "complex" else product


def dot(a: Vector, b: Vector) -> float:
    """Return Re(aᴴb)."""
    return sum([number(inner(x, y)) for x, y in zip(a, b, strict=True)], 0.0)


def number(x: Any) -> float:
    """Return a 0-d value as a float; PyTorch warns of ``float(x)`` if x has derivatives."""
    return float(x.item() if hasattr(x, "item") else x)


def square(x: Any) -> Any:
    """Return the squared length of an array or a number."""
    return inner(x, x)


def norm(a: Vector, batch: int = 0) -> Any:
    """Return √(aᴴa), one for each of the independent problems."""
    if not batch:
        squared = dot(a, a)
        return math.sqrt(squared) if squared >= 0.0 else squared
    total: Any = 0.0
    for x in a:
        squares = v.real(v.conj(x) * x)
        flat = v.reshape(squares, shape=(*x.shape[:batch], -1)) if math.prod(x.shape) else squares
        total = total + v.sum(flat, axis=-1)
    return v.sqrt(total)


def combine(a: Vector, c: Any, b: Vector, batch: int = 0) -> Vector:
    """Compute a + c b; c is a number, or one number for each of the independent problems."""
    return [x + sized(c, y, batch) * y for x, y in zip(a, b, strict=True)]


def sized(c: Any, like: Any, batch: int) -> Any:
    """Reshape a factor for each problem to have an axis for each axis of an array."""
    if not batch or isinstance(c, float):
        return c
    return v.reshape(c, shape=(*like.shape[:batch], *(1,) * (like.ndim - batch)))


def every(condition: Any) -> bool:
    """Return whether a condition holds for all independent problems."""
    return condition if type(condition) is bool else bool(v.all(condition))


def direction(like: Any, seed: float) -> Any:
    """Return a vector with parts in all directions; it is deterministic."""
    if not hasattr(like, "dtype"):
        wave = math.cos(1.0 + 0.7 * seed)
        return wave * (1.0 + 0.4j) if kind_of(like) == "complex" else wave
    real = v.real(like)
    places = v.astype(v.arange_like(real, stop=math.prod(like.shape)), dtype=real.dtype)
    wave = v.cos(1.0 + 0.7 * seed + 2.4 * places)
    if kind_of(like) == "complex":
        wave = wave + 1j * v.cos(2.0 + 0.7 * seed + 1.7 * places)
    return v.astype(v.reshape(wave, shape=like.shape), dtype=like.dtype)
