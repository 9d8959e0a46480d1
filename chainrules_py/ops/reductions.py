"""Operations that reduce along axes, all axes by default, or accumulate along one."""

from typing import Any, TypeAlias

from chainrules_py.primitives.primitive import primitive
from chainrules_py.values.dispatch_types import Array

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


mean = sum.alike("mean", "Compute the mean Σ x / n along axes, all by default.")
prod = sum.alike("prod", "Compute the product Π x along axes, all by default.")
max = sum.alike("max", "Find the largest element along axes, all by default.")
min = sum.alike("min", "Find the smallest element along axes, all by default.")
nanmax = sum.alike(
    "nanmax", "Find the largest element that is not NaN along axes; NaN if there is none."
)
nanmin = sum.alike(
    "nanmin", "Find the smallest element that is not NaN along axes; NaN if there is none."
)


@primitive
def var(x: Array, /, *, axis: Axes = None, correction: float = 0, keepdims: bool = False) -> Any:
    """Compute the variance Σ |x - m|² / (n - correction) along axes, where m is the mean."""


std = var.alike(
    "std", "Compute the standard deviation along axes, the square root of the variance."
)
any = sum.alike("any", "Tell whether any element is not zero, along axes, all by default.")
all = sum.alike("all", "Tell whether no element is zero, along axes, all by default.")
count_nonzero = sum.alike(
    "count_nonzero", "Count the elements that are not zero, along axes, all by default."
)


@primitive
def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return the index of the largest element; of several, the first."""


argmin = argmax.alike("argmin", "Where the smallest element is; of several, the first.")


@primitive
def cumulative_sum(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Any:
    """Compute cumulative sums y_k = Σ_{j≤k} x_j along an axis; over all in C order if None.

    With ``include_initial`` the empty sum, 0, comes first.
    """


@primitive
def cumulative_prod(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Any:
    """Compute cumulative products y_k = Π_{j≤k} x_j along an axis; over all in C order if None.

    With ``include_initial`` the empty product, 1, comes first.
    """
