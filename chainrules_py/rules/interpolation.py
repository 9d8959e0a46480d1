"""Rules of interpolation between given points."""

from chainrules_py.ops import (
    clip,
    conj,
    interp,
    less_equal,
    logical_and,
    minimum,
    real,
    searchsorted,
    take,
    where,
)
from chainrules_py.registry.constructors import non_differentiable, rule
from chainrules_py.rules.indexing import take_transpose
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.primal_promotion import promoted
from chainrules_py.tangents.space import Space

non_differentiable(searchsorted)


@rule(interp, batched=True)
def interp_rule(x, xp, fp):
    """y = (1 - t) fp_j + t fp_k between the knots j and k, with t = (x - xp_j) / (xp_k - xp_j).

    With the slope s = (fp_k - fp_j) / (xp_k - xp_j): dy = s (dx - (1 - t) dxp_j - t dxp_k) +
    (1 - t) dfp_j + t dfp_k. At a knot, s is the slope on the right; at the last one, on the left.
    """
    y = interp(x, xp, fp)
    x, xp, fp = promoted(x, real(y)), promoted(xp, real(y)), promoted(fp, y)
    in_x = LinearMap(lambda t, *at: slope(*at) * t, lambda t, *at: conj(slope(*at)) * t, x, xp, fp)
    in_knots = LinearMap(
        lambda t, x, xp, fp: -slope(x, xp, fp) * mixed(t, x, xp),
        lambda t, x, xp, fp: mixed_transpose(-conj(slope(x, xp, fp)) * t, x, xp),
        *(x, xp, fp),
    )
    return y, (in_x, in_knots, LinearMap(mixed, mixed_transpose, x, xp))


def piece(x, xp):
    """Find the knots on both sides of x, and its position t between them, clipped to the ends."""
    last = xp.shape[0] - 1
    j = clip(searchsorted(xp, x, side="right") - 1, 0, max(last - 1, 0))
    k = minimum(j + 1, last)
    start, width = take(xp, j, axis=0), take(xp, k, axis=0) - take(xp, j, axis=0)
    t = where(width == 0, 1, (x - start) / where(width == 0, 1, width))
    return j, k, clip(t, 0, 1), width


def slope(x, xp, fp):
    """Compute the slope of the piece that contains x; 0 beyond the ends."""
    j, k, _, width = piece(x, xp)
    within = logical_and(less_equal(take(xp, j, axis=0), x), less_equal(x, take(xp, k, axis=0)))
    rise = where(logical_and(within, width != 0), take(fp, k, axis=0) - take(fp, j, axis=0), 0)
    return rise / where(width == 0, 1, width)


def mixed(values, x, xp):
    """Interpolate between the values of two knots."""
    j, k, t, _ = piece(x, xp)
    return (1 - t) * take(values, j, axis=-1) + t * take(values, k, axis=-1)


def mixed_transpose(y_bar, x, xp):
    j, k, t, _ = piece(x, xp)
    onto = of_directions(xp, y_bar, x)
    to_j = take_transpose((1 - t) * y_bar, onto, j, axis=-1)
    return to_j + take_transpose(t * y_bar, onto, k, axis=-1)


def of_directions(xp, y_bar, x):
    """Return the space of the knots' cotangents, with a leading axis if there are several."""
    extra = getattr(y_bar, "ndim", 0) - getattr(x, "ndim", 0)
    return Space(xp).with_shape((*y_bar.shape[:extra], *xp.shape)) if extra else xp
