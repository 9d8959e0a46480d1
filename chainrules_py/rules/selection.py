"""Rules for extrema, bounds, absolute values and signs.

At kinks they give the values of docs/conventions.md.
"""

from chainrules_py.linear import LinearMap
from chainrules_py.project import kind_of
from chainrules_py.rule import linear_rule, rule, scalar_rule
from chainrules_py.tangents import ZeroTangent
from chainrules_py.vocabulary import (
    abs,
    clip,
    clip_above,
    clip_below,
    conj,
    copysign,
    fmax,
    fmin,
    full_like,
    less,
    less_equal,
    logical_and,
    maximum,
    minimum,
    nextafter,
    real,
    sign,
    where,
)

# Jointly linear in x and y; each gets the cotangent of the elements that came from it.
linear_rule(
    where,
    None,
    lambda z_bar, condition, x, y: where(condition, z_bar, 0),
    lambda z_bar, condition, x, y: where(condition, 0, z_bar),
)


# ---------------------------------------------------------------------------------- extrema


def share(z, x, y):
    """How much of the extremum z is x: 1, or 1/2 at a tie, or 0."""
    one = full_like(z, shape=(), fill=1)
    return where(x == z, where(y == z, one, 2 * one), 0 * one) / 2


scalar_rule(maximum, share, lambda z, x, y: share(z, y, x))
scalar_rule(minimum, share, lambda z, x, y: share(z, y, x))
scalar_rule(fmax, share, lambda z, x, y: share(z, y, x))
scalar_rule(fmin, share, lambda z, x, y: share(z, y, x))


# ----------------------------------------------------------------------------------- bounds


def indicator(condition, z):
    """1 where the condition holds and 0 elsewhere, of the dtype of z."""
    one = full_like(z, shape=(), fill=1)
    return where(condition, one, 0 * one)


# At a bound x is not beyond it: all goes to x.
scalar_rule(
    clip_below,
    lambda z, x, lo: indicator(less_equal(lo, x), z),
    lambda z, x, lo: indicator(less(x, lo), z),
)
scalar_rule(
    clip_above,
    lambda z, x, hi: indicator(less_equal(x, hi), z),
    lambda z, x, hi: indicator(less(hi, x), z),
)
# clip(x, lo, hi) is clip_above(clip_below(x, lo), hi).
scalar_rule(
    clip,
    lambda z, x, lo, hi: indicator(logical_and(less_equal(lo, x), less_equal(x, hi)), z),
    lambda z, x, lo, hi: indicator(logical_and(less(x, lo), less_equal(lo, hi)), z),
    lambda z, x, lo, hi: indicator(less(hi, maximum(x, lo)), z),
)


# -------------------------------------------------------------------- absolute values, signs

# |z| = √(z z̄), so 2 ∂|z|/∂z = z̄ / |z|, the conjugate of the sign.
scalar_rule(abs, lambda _y, x: conj(sign(x)), complex="real")


@rule(sign)
def sign_rule(x):
    """y = x / |x|, so ẏ = (ẋ - y Re(ȳ ẋ)) / |x|: across the radius; its own adjoint over ℝ²."""
    y = sign(x)
    if kind_of(x) != "complex":
        return y, (ZeroTangent(),)
    return y, (LinearMap(across_radius, across_radius, y, abs(x)),)


def across_radius(t, y, r):
    return where(r == 0, 0, t - y * real(conj(y) * t)) / where(r == 0, 1, r)


scalar_rule(copysign, lambda z, x, _y: sign(z) * sign(x), None)
# The distance to the neighbour is constant between two powers of 2.
scalar_rule(nextafter, lambda _z, _x, _y: 1, None)
