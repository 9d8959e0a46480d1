"""Rules of extrema, bounds, absolute values and signs.

At kinks they follow docs/conventions.md.
"""

import math

from chainrules_py.ops import (
    abs,
    arange_like,
    choose,
    clip,
    clip_above,
    clip_below,
    conj,
    copysign,
    cumulative_max,
    cumulative_min,
    equal,
    fmax,
    fmin,
    full_like,
    heaviside,
    imag,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    maximum,
    minimum,
    nan_to_num,
    nextafter,
    real,
    report,
    reshape,
    sign,
    strong_multiply,
    tie_share,
    where,
)
from chainrules_py.primitives.primitive import primitive
from chainrules_py.registry.constructors import (
    linear_rule,
    non_differentiable,
    rule,
    scalar_rule,
    scalar_rules,
)
from chainrules_py.rules.elementwise import BENT
from chainrules_py.rules.support.reads_along_axis import reading
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import ZeroTangent

# Jointly linear in x and y; each gets the cotangents of the elements taken from it.
linear_rule(
    where,
    None,
    lambda z_bar, condition, x, y: where(condition, z_bar, 0),
    lambda z_bar, condition, x, y: where(condition, 0, z_bar),
    batched="broadcast",
)

linear_rule(
    choose,
    None,
    lambda z_bar, a, *choices, argnum: where(equal(a, argnum), z_bar, 0),
    batched="broadcast",
)


# ---------------------------------------------------------------------------------- extrema


non_differentiable(tie_share)  # constant wherever it is continuous


def _other_than_nan_rule(extremum):
    """Make the rule of an extremum that skips NaN, whose tangent may be NaN or absent."""

    def extremum_rule(x, y):
        z = extremum(x, y)
        shares = tie_share(z, x, y), tie_share(z, y, x)
        return z, [LinearMap(_shared, _shared, share) for share in shares]

    return extremum_rule


def _shared(t, of_x):
    return strong_multiply(of_x, t)


rule(fmax, batched="broadcast")(_other_than_nan_rule(fmax))
rule(fmin, batched="broadcast")(_other_than_nan_rule(fmin))


def _running_rule(running):
    """Make the rule of a running extremum: each result is an element, the last of equal ones."""

    def running_rule(x, *, axis):
        y = running(x, axis=axis)
        lengths = [-1 if a == axis % x.ndim else 1 for a in range(x.ndim)]
        own = reshape(arange_like(x, stop=x.shape[axis]), shape=tuple(lengths))
        return y, (reading(cumulative_max(where(equal(x, y), own, 0), axis=axis), axis),)

    return running_rule


rule(cumulative_max, batched=True, whole=True)(_running_rule(cumulative_max))
rule(cumulative_min, batched=True, whole=True)(_running_rule(cumulative_min))


# ----------------------------------------------------------------------------------- bounds


def indicator(condition, z):
    """Return 1 where the condition holds and 0 elsewhere, in the dtype of z."""
    return where(condition, full_like(z, shape=(), fill=1), zero(z))


def zero(z):
    """Return 0 in the dtype of z."""
    return full_like(z, shape=(), fill=0)


# -------------------------------------------------------------------- absolute values, signs

# |z| = √(z z̄), so 2 ∂|z|/∂z = z̄ / |z|, the conjugate of the sign.
scalar_rule(abs, lambda _y, x: conj(slope_of_abs(x)), complex="real")


def slope_of_abs(x):
    return direction(x) if kind_of(x) == "complex" else sign(x)


@primitive
def direction(z, /):
    """Compute z / |z|, and 0 at 0."""
    return sign(z)


@rule(direction, batched=True)
def direction_rule(z):
    """Differentiate as the sign, but report at 0: only second derivatives use this."""
    y = direction(z)
    return y, (LinearMap(across_length, across_length, y, abs(z)),)


def across_length(t, y, r):
    report(r == 0, message=BENT)
    return across_radius(t, y, r)


@rule(sign, batched=True)
def sign_rule(x):
    """y = x / |x|, so ẏ = (ẋ - y Re(ȳ ẋ)) / |x|, across the radius; self-adjoint over ℝ²."""
    y = sign(x)
    if kind_of(x) != "complex":
        return y, (ZeroTangent(),)
    return y, (LinearMap(across_radius, across_radius, y, abs(x)),)


def across_radius(t, y, r):
    return where(r == 0, 0, t - y * real(conj(y) * t)) / where(r == 0, 1, r)


# --------------------------------------------------------------------- NaN and infinity


@rule(nan_to_num, batched="broadcast")
def nan_to_num_rule(x, nan, posinf, neginf):
    """Pass finite parts; each other part is a constant, real and imaginary parts separately."""
    y = nan_to_num(x, nan, posinf, neginf)
    tests = (isnan, lambda x: equal(x, math.inf), lambda x: equal(x, -math.inf))
    constants = [LinearMap(spread_over, gather_from, x, test) for test in tests]
    return y, (LinearMap(keep_finite, keep_finite, x), *constants)


def each_part(f, *xs):
    """Apply a function to real and imaginary parts separately, or to real numbers."""
    parted = kind_of(xs[0]) == "complex"
    return f(*map(real, xs)) + 1j * f(*map(imag, xs)) if parted else f(*xs)


def keep_finite(t, x):
    return each_part(lambda x, t: where(isfinite(x), t, 0), x, t)


def spread_over(t, x, test):
    """Spread the tangent of a replacement over the parts that it replaces."""
    return each_part(lambda x: where(test(x), t, zero(x)), x)


def gather_from(y_bar, x, test):
    """Gather the cotangents of the parts that a number replaces; the projection adds them up."""
    if kind_of(x) != "complex":
        return where(test(x), y_bar, 0)
    return where(test(real(x)), real(y_bar), 0) + where(test(imag(x)), imag(y_bar), 0)


# ---------------------------------------------------------------------------------- formulas

_OF_EACH = (
    lambda z, x, y: tie_share(z, x, y),  # noqa: PLW0108 (its parameters are what is saved)
    lambda z, x, y: tie_share(z, y, x),
)
scalar_rules(
    # Complex numbers are ordered by their real parts, then by their imaginary parts.
    (maximum, *_OF_EACH),
    (minimum, *_OF_EACH),
    # At a bound, x gets the whole derivative.
    (
        clip_below,
        lambda z, x, lo: indicator(less_equal(lo, x), z),
        lambda z, x, lo: indicator(less(x, lo), z),
    ),
    (
        clip_above,
        lambda z, x, hi: indicator(less_equal(x, hi), z),
        lambda z, x, hi: indicator(less(hi, x), z),
    ),
    # clip(x, lo, hi) is clip_above(clip_below(x, lo), hi).
    (
        clip,
        lambda z, x, lo, hi: indicator(logical_and(less_equal(lo, x), less_equal(x, hi)), z),
        lambda z, x, lo, hi: indicator(logical_and(less(x, lo), less_equal(lo, hi)), z),
        lambda z, x, lo, hi: indicator(less(hi, maximum(x, lo)), z),
    ),
    complex="holomorphic",
)

scalar_rules(
    # None: constant except for a jump.
    (copysign, lambda z, x, _y: sign(z) * sign(x), None),
    # The distance to the neighbour is constant between two powers of 2.
    (nextafter, lambda _z, _x, _y: 1, None),
    # A step, constant except for its value at the step.
    (heaviside, None, lambda z, x, _h: indicator(equal(x, zero(z)), z)),
)
