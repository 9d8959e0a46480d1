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
    """The sum Σ x."""


@primitive
def mean(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The mean Σ x / n."""


@primitive
def prod(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The product Π x."""


@primitive
def max(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The largest element."""


@primitive
def min(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The smallest element."""


@primitive
def nanmax(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The largest element that is not NaN; NaN if there is none."""


@primitive
def nanmin(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """The smallest element that is not NaN; NaN if there is none."""


@primitive
def var(x: Array, /, *, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Any:
    """The variance Σ |x - m|² / (n - correction), where m is the mean."""


@primitive
def std(x: Array, /, *, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Any:
    """The standard deviation, the square root of the variance."""


@primitive
def any(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Whether an element is not zero."""


@primitive
def all(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """Whether no element is zero."""


@primitive
def count_nonzero(x: Array, /, *, axis: Axes = None, keepdims: bool = False) -> Any:
    """How many elements are not zero."""


@primitive
def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the largest element is; of several, the first."""


@primitive
def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Where the smallest element is; of several, the first."""


@primitive
def cumulative_sum(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Any:
    """The sums of the first elements, y_k = Σ_{j≤k} x_j; of all in C order if there is no axis.

    With ``include_initial`` the empty sum, 0, comes first.
    """


@primitive
def cumulative_prod(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Any:
    """The products of the first elements, y_k = Π_{j≤k} x_j; of all in C order if there is no axis.

    With ``include_initial`` the empty product, 1, comes first.
    """
