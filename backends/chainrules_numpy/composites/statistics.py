"""Means, variances, correlations and histograms, written in operations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from chainrules_numpy.composites.reductions import Axes, axes_of
from chainrules_numpy.keyword_lowerings import is_numpys
from chainrules_py import ops as v
from chainrules_py.extend import kind_of, moves, namespace_of, real_numbers, untraced
from chainrules_py.ops.linalg import resolution

# ------------------------------------------------------------------------- masked elements


def mean(x: Any, /, *, axis: Axes = None, keepdims: bool = False, where: Any = True) -> Any:
    """Compute the mean of the elements where a condition holds."""
    if (wide := _wide(x)) is not x:
        return v.astype(mean(wide, axis=axis, keepdims=keepdims, where=where), dtype=x.dtype)
    y = v.sum(v.where(where, x, 0), axis=axis, keepdims=keepdims)
    return v.divide(y, v.astype(_count(x, where, axis, keepdims), dtype=y.dtype))


def _wide(x: Any) -> Any:
    """Return half-precision numbers in single precision if their count exceeds half precision."""
    tight = kind_of(x) == "real" and math.prod(x.shape) >= 2**16 and resolution(x) > 2**-16
    return v.astype(x, dtype=namespace_of(type(x)).float32) if tight else x


def _count(x: Any, where: Any, axis: Axes, keepdims: bool) -> Any:
    """Count the elements where the condition holds."""
    every = v.full_like(x, shape=x.shape, fill=True, dtype=namespace_of(type(x)).bool)
    chosen = v.logical_and(every, where)
    if chosen.shape != x.shape:
        raise ValueError(
            f"where of shape {where.shape} does not broadcast to an array of shape {x.shape}"
        )
    return v.count_nonzero(chosen, axis=axis, keepdims=keepdims)


def _variance(
    x: Any, axis: Axes, correction: float, keepdims: bool, where: Any, m: Any, empty: float
) -> Any:
    if (wide := _wide(x)) is not x:
        of_wide = _variance(wide, axis, correction, keepdims, where, m, empty)
        return v.astype(of_wide, dtype=x.dtype)
    m = mean(x, axis=axis, keepdims=True, where=where) if m is None else m
    d, kind = v.where(where, real_numbers(x) - m, 0), kind_of(x)
    if empty and kind in ("real", "complex"):  # if it skips NaN, NumPy subtracts in place
        d = v.astype(v.real(d) if kind == "real" else d, dtype=x.dtype)
    # NumPy squares what is subtracted from real numbers, also where the given mean is complex.
    squares = v.real(v.conj(d) * d) if kind == "complex" else v.square(d)
    total = v.sum(squares, axis=axis, keepdims=keepdims)
    count = _count(x, where, axis, keepdims)
    freedom = v.astype(count - correction, dtype=v.real(total).dtype)
    return v.divide(total, v.where(v.greater(freedom, 0), freedom, empty))


def _root(variance: Any) -> Any:
    """Compute the square root, with derivative 0 at 0, where all elements are equal.

    At 0 it is computed as a length of 0, whose second derivative is reported.
    """
    constant = v.equal(variance, 0)
    root = v.sqrt(v.where(constant, 1, variance))
    return v.where(constant, v.hypot(v.real(variance), 0), root)


def nanmean(x: Any, /, *, axis: Axes = None, keepdims: bool = False, where: Any = True) -> Any:
    """Compute the mean, ignoring NaNs."""
    return mean(x, axis=axis, keepdims=keepdims, where=_numbers(x, where))


def _numbers(x: Any, where: Any) -> Any:
    """Return where the condition holds and x is not NaN."""
    return v.logical_and(v.logical_not(v.isnan(x)), where)


def _spread(name: str, measure: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function of the variance where a condition holds, optionally without NaNs.

    The variance is about the elements' mean or a given one. If NaNs are skipped, it is NaN where
    the number of elements is no more than the correction.
    """

    def spread(
        x: Any,
        /,
        *,
        axis: Axes = None,
        correction: float = 0,
        keepdims: bool = False,
        where: Any = True,
        mean: Any = None,
    ) -> Any:
        skips = name.startswith("nan")
        where, empty = (_numbers(x, where), math.nan) if skips else (where, 0.0)
        return measure(_variance(x, axis, correction, keepdims, where, mean, empty))

    spread.__name__ = name  # for messages
    return spread


var, nanvar = [_spread(name, lambda y: y) for name in ("var", "nanvar")]
std, nanstd = [_spread(name, _root) for name in ("std", "nanstd")]


# -------------------------------------------------------------------------------------- weights


def spread_weights(weights: Any, x: Any, axis: Axes) -> Any:
    """Return weights of x, or along axes of x, in a shape that broadcasts against x."""
    if weights.shape == x.shape:
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = axes_of(axis, x.ndim)
    if weights.shape != tuple([x.shape[a] for a in axes]):
        raise ValueError(
            f"weights of shape {weights.shape} for axes {axes} of an array of shape {x.shape}: "
            f"Shape of weights must be consistent with shape of a along specified axis."
        )
    if len(axes) > 1:
        weights = v.permute_dims(
            weights, axes=tuple(sorted(range(len(axes)), key=axes.__getitem__))
        )
    return v.reshape(weights, shape=tuple([n if a in axes else 1 for a, n in enumerate(x.shape)]))


def is_seen(x: Any) -> bool:
    """Return whether x can be tested: not where an engine maps over it, or compiles a program."""
    return not moves(untraced(x))


def average(
    x: Any,
    axis: Axes = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Compute the mean, weighted if weights are given; also return their sum if ``returned``."""
    if weights is None:
        y = v.mean(x, axis=axis, keepdims=keepdims)
        n = math.prod(y.shape)
        total = v.full_like(y, shape=y.shape, fill=math.prod(x.shape) / n if n else math.nan)
        total = total if total.shape else v.index(total, ())
        return (y, total) if returned else y
    if is_numpys(weights) and not is_numpys(x):
        weights = namespace_of(type(x)).asarray(weights)
    weights = spread_weights(weights, x, axis)
    weighted = real_numbers(x) * weights
    if weights.dtype != weighted.dtype:
        weights = v.astype(weights, dtype=weighted.dtype)
    # Weights along an axis are shared by other axes: only then is their sum broadcast.
    total = v.sum(weights, axis=axis, keepdims=keepdims)
    if is_seen(total) and bool(v.any(v.equal(total, 0))):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    y = v.sum(weighted, axis=axis, keepdims=keepdims) / total
    if not returned:
        return y
    return y, total if total.shape == y.shape else v.broadcast_to(total, shape=y.shape)


def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """Count how often each integer occurs, or sum the weights of each."""
    if weights is None:
        ones = v.ones_like(x, dtype=namespace_of(type(x)).float64)
        return v.astype(v.bincount(x, ones, minlength=minlength), dtype=namespace_of(type(x)).int64)
    if kind_of(weights) == "complex":
        raise TypeError(
            "bincount() takes real weights; count real and imaginary parts one after the other"
        )
    return v.bincount(x, weights, minlength=minlength)


# ---------------------------------------------------------------------------------- correlations


def correlate(x1: Any, x2: Any, mode: str = "valid") -> Any:
    """Sum the products of one vector with the conjugate of another, at all shifts."""
    if not (x1.ndim and x2.ndim):
        raise ValueError("object of too small depth for desired array")
    if x1.shape[0] >= x2.shape[0]:
        return v.convolve(x1, _backwards(x2), mode=mode)
    # For an even length the middle is nearer to one end: this is NumPy's choice.
    return _backwards(v.convolve(x2, _backwards(x1), mode=mode))


def _backwards(x: Any) -> Any:
    x = v.flip(x, axis=0)
    return v.conj(x) if kind_of(x) == "complex" else x


def cov(
    x: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """Compute the covariances of the rows of x and of y, or of their columns if not ``rowvar``.

    ``fweights`` is how often each observation was made, ``aweights`` how much it counts.
    """
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    rows = [_variables(z, rowvar, name) for z, name in ((x, "m"), (y, "y")) if z is not None]
    if not rows[0].shape[0]:  # for any y
        return v.full_like(rows[0], shape=(0, 0), fill=0, dtype=namespace_of(type(rows[0])).float64)
    z = v.concat(*rows, axis=0) if len(rows) > 1 else rows[0]
    z = _floating(z, dtype)
    ddof = (0 if bias else 1) if ddof is None else ddof
    how_often = _observations(fweights, "fweights", z)
    how_much = _observations(aweights, "aweights", z)
    if (
        fweights is not None
        and is_seen(how_often)
        and not bool(v.all(v.equal(how_often, v.round(how_often))))
    ):
        raise TypeError("fweights must be integer")
    given = [w for w in (how_often, how_much) if w is not None]
    if not given:
        weights, freedom = None, max(z.shape[1] - ddof, 0)
        centre = v.mean(z, axis=1, keepdims=True)
    else:
        weights = given[0] if len(given) == 1 else given[0] * given[1]
        total = v.sum(weights)
        if ddof == 0:
            freedom = total
        elif how_much is None:
            freedom = total - ddof
        else:
            freedom = total - ddof * v.sum(weights * how_much) / total
        freedom = v.where(v.greater(freedom, 0), freedom, 0)
        centre = v.sum(z * weights, axis=1, keepdims=True) / total
    z = z - centre
    other = z if weights is None else z * weights
    other = v.conj(other) if kind_of(other) == "complex" else other
    c = v.matmul(z, v.matrix_transpose(other)) * v.divide(1.0, freedom)
    return v.squeeze(c) if 1 in c.shape else c


def _variables(z: Any, rowvar: bool, name: str) -> Any:
    """Return variables as rows and their observations as columns."""
    if z.ndim > 2:
        raise ValueError(f"{name} has more than 2 dimensions")
    if z.ndim < 2:
        return v.reshape(z, shape=(1, -1))
    # NumPy does not transpose y if it is one row.
    return z if rowvar or (name == "y" and z.shape[0] == 1) else v.matrix_transpose(z)


def _floating(z: Any, dtype: Any) -> Any:
    if dtype is None:
        dtype = namespace_of(type(z)).result_type(z.dtype, namespace_of(type(z)).float64)
    return z if z.dtype == dtype else v.astype(z, dtype=dtype)


def _observations(weights: Any, name: str, z: Any) -> Any:
    """Check weights of observations, and return them as floats; None stays None."""
    if weights is None:
        return None
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != z.shape[1]:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if is_seen(weights) and bool(v.any(v.less(weights, 0))):
        raise ValueError(f"{name} cannot be negative")
    return _floating(weights, namespace_of(type(weights)).float64)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Compute the correlations: the covariances divided by both standard deviations."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    s = v.sqrt(v.real(v.diagonal(c)))
    r = c / v.expand_dims(s, axis=1) / v.expand_dims(s, axis=0)
    if kind_of(r) != "complex":
        return v.clip(r, -1, 1)
    return v.clip(v.real(r), -1, 1) + 1j * v.clip(v.imag(r), -1, 1)
