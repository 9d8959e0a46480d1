"""Softmax, logsumexp and products with logarithms, for libraries without the function."""

from __future__ import annotations

from typing import Any

from chainrules_py import Array
from chainrules_py import ops as v
from chainrules_py.extend import kind_of


def _top(x: Any, axis: Any) -> Any:
    """Return the largest element, by which exponents are shifted, and 0 where it is not finite."""
    top = v.max(v.real(x) if kind_of(x) == "complex" else x, axis=axis, keepdims=True)
    return v.where(v.isfinite(top), top, 0.0)


def _largest(x: Array, axis: Any) -> Any:
    """Return the largest element, for complex x by real part, or 0 where it is not finite."""
    top = _top(x, axis)
    if kind_of(x) != "complex":
        return top
    here = v.equal(v.real(x), top)
    count = v.sum(v.astype(here, dtype=top.dtype), axis=axis, keepdims=True)
    return v.divide(
        v.sum(v.where(here, x, 0.0), axis=axis, keepdims=True), v.clip_below(count, 1.0)
    )


@v.logsumexp.fallback
def logsumexp_standard(x: Array, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Shift by the largest element, and count the terms equal to it apart from the others."""
    if 0 in x.shape:
        return v.log(v.sum(v.exp(x), axis=axis, keepdims=keepdims))
    top = _top(x, axis)
    x = v.subtract(x, top)
    if kind_of(x) == "complex":
        y = v.log(v.sum(v.exp(x), axis=axis, keepdims=True))
    else:
        largest = v.equal(x, 0.0)
        rest = v.sum(v.where(largest, 0.0, v.exp(x)), axis=axis, keepdims=True)
        count = v.sum(v.astype(largest, dtype=x.dtype), axis=axis, keepdims=True)
        none = v.equal(count, 0.0)  # where no element is finite
        some = v.where(none, 0.0, v.log1p(v.divide(rest, v.where(none, 1.0, count))))
        y = v.add(v.log(v.where(none, rest, count)), some)
    y = v.add(y, top)
    return y if keepdims else v.sum(y, axis=axis)  # of one element each


@v.softmax.fallback
def softmax_standard(x: Array, *, axis: Any = None) -> Any:
    """Shift by the largest element."""
    if 0 in x.shape:
        return x
    shares = v.exp(v.subtract(x, _largest(x, axis)))
    return v.divide(shares, v.sum(shares, axis=axis, keepdims=True))


@v.log_softmax.fallback
def log_softmax_standard(x: Array, *, axis: Any = None) -> Any:
    """Shift by the largest element."""
    if 0 in x.shape:
        return x
    shifted = v.subtract(x, _largest(x, axis))
    return v.subtract(shifted, v.log(v.sum(v.exp(shifted), axis=axis, keepdims=True)))


def _times(x: Any, y: Any, logarithm: Any) -> Any:
    """Return the product, 0 where x is 0 for any logarithm; NaN where y is NaN."""
    product = v.multiply(x, logarithm)
    gone = v.logical_and(v.equal(x, v.zeros_like(product)), v.equal(y, v.add(y, 0)))
    return v.where(gone, 0.0, product)


# The hyperbolic tangent, scaled and shifted.
v.expit.fallback(lambda x: v.add(v.multiply(v.tanh(v.multiply(x, 0.5)), 0.5), 0.5))
# -log(1 + exp(-x)).
v.log_expit.fallback(lambda x: v.negative(v.logaddexp(v.zeros_like(x), v.negative(x))))
v.logit.fallback(lambda x: v.subtract(v.log(x), v.log1p(v.negative(x))))
v.xlogy.fallback(lambda x, y: _times(x, y, v.log(y)))
v.xlog1py.fallback(lambda x, y: _times(x, y, v.log1p(y)))
