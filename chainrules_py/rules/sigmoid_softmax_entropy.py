"""Rules of logistic functions, entropies and losses, and power transforms.

The formulas follow from the definitions in `chainrules_py.ops` by the rules of differentiation;
other formulas cite a source.
"""

import math

from chainrules_py.ops import (
    boxcox,
    boxcox1p,
    clip,
    conj,
    cosm1,
    divide,
    entr,
    equal,
    exp,
    exp10,
    expit,
    expm1,
    exprel,
    huber,
    hypot,
    inv_boxcox,
    inv_boxcox1p,
    kl_div,
    log,
    log1p,
    log_expit,
    log_softmax,
    logit,
    logsumexp,
    maximum,
    pow,
    pseudo_huber,
    real,
    rel_entr,
    sin,
    softmax,
    square,
    strong_multiply,
    sum,
    where,
    xlog1py,
    xlogy,
)
from chainrules_py.registry.constructors import rule, scalar_rules
from chainrules_py.rules.elementwise import cosine, unit
from chainrules_py.rules.reductions import kept, weighted_sum
from chainrules_py.rules.special.gamma_and_erf import series
from chainrules_py.rules.support.batching_rules import from_end
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.values.dispatch_types import Array

# ---------------------------------------------------------------------------------- logistic


@rule(logsumexp, batched=True)
def logsumexp_rule(x: Array, *, axis, keepdims):
    """dy = Σ exp(x - y) dx, and 0 where all x are minus infinity."""
    y = logsumexp(x, axis=axis, keepdims=keepdims)
    return y, (weighted_sum(shares, from_end(axis, x.ndim), keepdims, x, y, keepdims),)


def shares(x, y, keepdims, axis):
    size = real(y)
    y = where(equal(size, -math.inf), 0, where(equal(size, math.inf), math.nan, y))
    return exp(x - kept(y, axis, keepdims))


@rule(softmax, batched=True)
def softmax_rule(x: Array, *, axis):
    """dy = y (dx - Σ y dx); the adjoint is the same with conj(y)."""
    y = softmax(x, axis=axis)
    return y, (LinearMap(around, around_conj, y, from_end(axis, x.ndim)),)


def around(t, y, axis):
    return y * (t - sum(y * t, axis=axis, keepdims=True))


def around_conj(t, y, axis):
    return around(t, conj(y), axis)


@rule(log_softmax, batched=True)
def log_softmax_rule(x: Array, *, axis):
    """dy = dx - Σ exp(y) dx."""
    y = log_softmax(x, axis=axis)
    return y, (LinearMap(less_mean, less_share, y, from_end(axis, x.ndim)),)


def less_mean(x_dot, y, axis):
    return x_dot - sum(exp(y) * x_dot, axis=axis, keepdims=True)


def less_share(y_bar, y, axis):
    return y_bar - conj(exp(y)) * sum(y_bar, axis=axis, keepdims=True)


# ---------------------------------------------------------------------------------- information


def pseudo_huber_bend(delta, r):
    """(h - δ)² / h with h = √(δ² + r²), where h - δ = r² / (h + δ)."""
    h = hypot(delta, r)
    return square(cosine(r, delta, h) * unit(r, h + delta)) * h


def log_ratio(x, y):
    """log(x / y), also where the quotient over- or underflows."""
    near = log(divide(x, y))
    return where(abs(near) < 80, near, log(x) - log(y))


def strong_quotient(x, y):
    """x / y, and a strong 0 where x is 0; the reciprocal of a subnormal y would overflow."""
    product = strong_multiply(x, divide(1, y))
    return where(equal(product, 0), product, divide(x, y))


# ---------------------------------------------------------------------------------- powers


def exprel_series(x):
    """Compute the derivative of (exp(x) - 1) / x near 0: Σ (k + 1) xᵏ / (k + 2)!."""
    return series([(k + 1) / math.factorial(k + 2) for k in range(20)], x)


def exprel_slope(y, x):
    """Compute (exp(x) - y) / x without overflow for large x."""
    near = abs(x) < 1
    z = where(near, 1, x)
    return where(
        near,
        exprel_series(where(near, x, 0)),
        # Below -80 exp(-z) is so large that nothing is left of the quotient.
        y * (divide(z, -expm1(-maximum(z, -80))) - 1) / z,
    )


def boxcox_bend(y, log_x, lmbda):
    """(x^λ log(x) - y) / λ; near λ log(x) = 0, log(x)² times the derivative of `exprel` there."""
    t = lmbda * log_x
    near = abs(t) < 1
    small, width = where(near, t, 0), where(near, 1, lmbda)
    far = strong_multiply(exp(t), log_x) - y
    return where(near, square(where(near, log_x, 0)) * exprel_series(small), far / width)


def inv_boxcox_bend(z, y, lmbda):
    """z (s / (1 + s) - log(1 + s)) / λ² with s = λ y; near s = 0 by its series in s."""
    s = lmbda * y
    near = abs(s) < 0.1
    terms = [(-1) ** (k + 1) * (k + 1) / (k + 2) for k in range(20)]
    width = where(near, 1, lmbda)
    far = y * pow(z, 1 - width) - strong_multiply(z, log1p(where(near, 0, s))) / width
    close = z * square(where(near, y, 0)) * series(terms, where(near, s, 0))
    return where(near, close, far / width)


# ------------------------------------------------------------------------------- formulas

scalar_rules(
    (logit, lambda _y, p: divide(1, p * (1 - p))),
    (entr, lambda _y, x: -1 - log(x)),
    (rel_entr, lambda _z, x, y: log_ratio(x, y) + 1, lambda _z, x, y: -strong_quotient(x, y)),
    (kl_div, lambda _z, x, y: log_ratio(x, y), lambda _z, x, y: 1 - strong_quotient(x, y)),
    (
        boxcox,
        lambda _y, x, lmbda: pow(x, lmbda - 1),
        lambda y, x, lmbda: boxcox_bend(y, log(x), lmbda),
    ),
    (
        boxcox1p,
        lambda _y, x, lmbda: pow(1 + x, lmbda - 1),
        lambda y, x, lmbda: boxcox_bend(y, log1p(x), lmbda),
    ),
    (inv_boxcox, lambda z, _y, lmbda: pow(z, 1 - lmbda), inv_boxcox_bend),
    (
        inv_boxcox1p,
        lambda z, _y, lmbda: pow(1 + z, 1 - lmbda),
        lambda z, y, lmbda: inv_boxcox_bend(1 + z, y, lmbda),
    ),
    singular=True,
)

scalar_rules(
    # Not y (1 - y), which cancels for y near 1.
    (expit, lambda y, x: y * expit(-x)),
    (log_expit, lambda _y, x: expit(-x)),
    (
        huber,
        lambda _y, delta, r: maximum(abs(r) - delta, 0),
        lambda _y, delta, r: clip(r, -delta, delta),
    ),
    # δ (h - δ), with h as above.
    (
        pseudo_huber,
        lambda _y, delta, r: pseudo_huber_bend(delta, r),
        lambda _y, delta, r: delta * cosine(r, delta, hypot(delta, r)),
    ),
    (exprel, exprel_slope),
    (exp10, lambda y, _x: math.log(10) * y),
    (cosm1, lambda _y, x: -sin(x)),
)

scalar_rules(
    # 0 where x is 0, even if y is 0 too: x / y is a strong product, which is 0 there.
    (xlogy, lambda _z, _x, y: log(y), lambda _z, x, y: strong_quotient(x, y)),
    (xlog1py, lambda _z, _x, y: log1p(y), lambda _z, x, y: strong_multiply(x, divide(1, 1 + y))),
    singular=True,
    complex="holomorphic",
)
