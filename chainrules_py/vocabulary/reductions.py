"""Words that reduce along axes, all axes by default, or accumulate along one."""

from __future__ import annotations

from typing import Any, TypeAlias

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.arrays import Array

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "nanmax",
    "nanmin",
    "prod",
    "std",
    "sum",
    "var",
]

Axes: TypeAlias = int | tuple[int, ...] | None


@primitive
def sum(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Compute the sum Σ x along axes, all by default."""


@primitive
def mean(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Compute the mean Σ x / n along axes, all by default."""


@primitive
def prod(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Compute the product Π x along axes, all by default."""


@primitive
def max(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Find the largest element along axes, all by default."""


@primitive
def min(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Find the smallest element along axes, all by default."""


@primitive
def nanmax(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Find the largest element that is not NaN along axes; NaN if there is none."""


@primitive
def nanmin(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Find the smallest element that is not NaN along axes; NaN if there is none."""


@primitive
def var(x: Array, /, *, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Any:
    """Compute the variance Σ |x - m|² / (n - correction) along axes, where m is the mean."""


@primitive
def std(x: Array, /, *, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Any:
    """Compute the standard deviation along axes, the square root of the variance."""


@primitive
def any(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Tell whether any element is not zero, along axes, all by default."""


@primitive
def all(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Tell whether no element is zero, along axes, all by default."""


@primitive
def count_nonzero(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Count the elements that are not zero, along axes, all by default."""


@primitive
def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the largest element is; of several, the first."""


@primitive
def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the smallest element is; of several, the first."""


@primitive
def cumulative_sum(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Any:
    """Sum the first elements, y_k = Σ_{j≤k} x_j, along an axis; of all in C order if None.

    With ``include_initial`` the empty sum, 0, comes first.
    """


@primitive
def cumulative_prod(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Any:
    """Multiply the first elements, y_k = Π_{j≤k} x_j, along an axis; of all in C order if None.

    With ``include_initial`` the empty product, 1, comes first.
    """
