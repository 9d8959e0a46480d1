"""Rules of arithmetic, powers and logarithms; the projection handles broadcasting.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 3.3 and 4.1 to 4.2.

A quotient whose denominator can be 0 is written with the operation ``divide``, which returns
infinity, since Python's ``/`` raises there.
"""

import math

from chainrules_py.ops import (
    add,
    astype,
    bessel_i,
    cbrt,
    complex_outside,
    conj,
    divide,
    divmod,
    equal,
    exp,
    exp2,
    expm1,
    floor_divide,
    fmod,
    frexp,
    full_like,
    greater,
    hypot,
    imag,
    ldexp,
    lift,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logaddexp_share,
    logical_and,
    modf,
    multiply,
    negative,
    positive,
    pow,
    real,
    real_if_close,
    reciprocal,
    remainder,
    report,
    round,
    sqrt,
    square,
    strong_multiply,
    subtract,
    unwrap,
    where,
)
from chainrules_py.ops.elementwise import QUOTIENTS
from chainrules_py.primitives.primitive import primitive
from chainrules_py.registry.constructors import (
    bilinear_rule,
    linear_rule,
    non_differentiable,
    rule,
    scalar_rules,
)
from chainrules_py.tangents.linear_map import LinearMap, identity
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import NoTangent, NotImplementedTangent, ZeroTangent
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import differentiates


@primitive
def over_again(z, y, /):
    """Compute z / y for a quotient z = x / y."""
    return divide(z, y)


@rule(over_again, batched="broadcast")
def over_again_rule(z, y):
    """dq = dz / y - q (dy / y): not (q / y) dy, since q / y may underflow to 0."""
    q, inverse = over_again(z, y), divide(1, y)
    times = lambda t, p: strong_multiply(t, conj(p))
    return q, (
        LinearMap(strong_multiply, times, inverse),
        LinearMap(
            lambda t, q, p: strong_multiply(strong_multiply(t, p), -q),
            lambda t, q, p: strong_multiply(strong_multiply(t, conj(p)), conj(-q)),
            q,
            inverse,
        ),
    )


# Bilinear, and its own derivative: although it is 0 where c is 0, it is linear in a tangent of c.
bilinear_rule(
    strong_multiply,
    lambda z_bar, c, p: strong_multiply(z_bar, conj(p)),
    lambda z_bar, c, p: strong_multiply(conj(c), z_bar),
    batched="broadcast",
)

linear_rule(lift, lambda y_bar, x, *, to: y_bar, batched=True)


# ------------------------------------------------------------------------------ integer parts

# x = n y + r with an integer n, which is constant wherever r is continuous.
non_differentiable(floor_divide)


@rule(divmod)
def divmod_rule(x, y):
    """Differentiate n, which is constant, and r = x - n y."""
    n, r = divmod(x, y)
    push_x, pull_x = lambda t: (ZeroTangent(), t), lambda z_bar: z_bar[1]
    push_y, pull_y = lambda t, n: (ZeroTangent(), -(t * n)), lambda z_bar, n: -(z_bar[1] * n)
    return (n, r), (LinearMap(push_x, pull_x), LinearMap(push_y, pull_y, n))


@rule(modf, batched=True)
def modf_rule(x):
    """x = r + n, where n is constant."""
    return modf(x), (LinearMap(lambda x_dot: (x_dot, ZeroTangent()), lambda y_bar: y_bar[0]),)


@rule(frexp, batched=True)
def frexp_rule(x):
    """m = x 2⁻ⁿ, where n is constant."""
    m, n = frexp(x)
    push, pull = lambda t, power: (t * power, NoTangent()), lambda y_bar, power: y_bar[0] * power
    return (m, n), (LinearMap(push, pull, ldexp(full_like(m, shape=(), fill=1), -n)),)


linear_rule(ldexp, lambda y_bar, x, n: ldexp(y_bar, n), None, batched="broadcast")


@rule(unwrap, batched="broadcast")
def unwrap_rule(x, period, *, axis, discont):
    """y = x + n p with integers n."""
    y = unwrap(x, period, axis=axis, discont=discont)
    turns = lambda t, n: n * t
    return y, (identity, LinearMap(turns, turns, round(divide(y - x, period))))


# ---------------------------------------------------------------------------------- powers


def log_of_base(y, x, p):
    """Compute log(x), and 0 where x**p is 0 for all p nearby: an infinity would be multiplied by 0.

    If x is traced, only for p > 1: the derivative in p of a power of at most 1 varies with x.
    """
    flat = equal(y, 0)
    if issubclass(type(x), Tracer):
        flat = logical_and(flat, greater(real(p), 1))
    if kind_of(y) == "complex":
        # Subtracted, so that zeros keep their signs, which determine the side of the cut.
        return log(x - where(flat, full_like(y, shape=(), fill=-1), full_like(y, shape=(), fill=0)))
    return log(x + (flat if type(flat) is bool else astype(flat, dtype=y.dtype)))


BENT = (
    "a root or length is 0, where its second derivative is not determined, and is given as 0: "
    "write what is even in it as a function of the sum of squares, even(sum(x * x), phi=f)"
)


def power_in_slope(x, q):
    """Compute x**q for a first derivative, and report a second derivative of a root at 0."""
    if type(q) is float and -1 < q < 0 and differentiates(type(x)):
        report(equal(x, 0), message=BENT)
    return pow(x, q)


@primitive
def over_root(c, y, /):
    """Compute c / y for a root y."""
    return divide(c, y)


QUOTIENTS += [over_again, over_root]


def bend_of_root(q, y):
    """Compute -q / y, which only second derivatives use."""
    report(y == 0, message=BENT)
    return divide(-q, y)


@primitive
def unit(x, z, /):
    """Compute x / z for a length z with component x, and 0 where z is 0."""
    return where(z == 0, 0, x / where(z == 0, 1, z))


def bend(u, z):
    """Compute -u / z, which only second derivatives use."""
    report(z == 0, message=BENT)
    return -unit(u, z)


@primitive
def cosine(x, y, z, /):
    """Compute x / z with z = hypot(x, y), which has no derivative of its own here."""
    return unit(x, z)


# ----------------------------------------------------------------- the parts of complex numbers

# Linear over the reals; the adjoints are those over ℝ², and the projection takes the real part if
# the operand is real.
linear_rule(conj, lambda y_bar, x: conj(y_bar), batched=True)
conj.implement(lambda t: t, types=(NotImplementedTangent,))  # a partial that is not implemented
linear_rule(real, lambda y_bar, x: y_bar, batched=True)
# Not 1j * ...: for a NumPy scalar that is a Python complex, without a dtype.
linear_rule(imag, lambda y_bar, x: astype(y_bar, dtype=x.dtype) * 1j, batched=True)


@rule(real_if_close, batched=True)
def real_if_close_rule(x, *, tol):
    """Differentiate as the identity; the projection takes real parts."""
    return real_if_close(x, tol=tol), (identity,)


@rule(complex_outside, batched=True)
def complex_outside_rule(x, *, low, high):
    """Differentiate as the identity; the projection takes real parts."""
    return complex_outside(x, low=low, high=high), (identity,)


# ------------------------------------------------------------------------------ Bessel functions


@rule(bessel_i, batched=True)
def bessel_i_rule(x, *, order):
    """Iₙ′ = (Iₙ₋₁ + Iₙ₊₁) / 2, where I₋₁ = I₁: 9.6.26 and 9.6.6."""
    return bessel_i(x, order=order), (LinearMap(bessel_i_slope, bessel_i_slope, x, order),)


def bessel_i_slope(t, x, order):
    return 0.5 * (bessel_i(x, order=abs(order - 1)) + bessel_i(x, order=order + 1)) * t


# ------------------------------------------------------------------------------- formulas

scalar_rules(
    (add, lambda _z, _x, _y: 1, lambda _z, _x, _y: 1),
    (subtract, lambda _z, _x, _y: 1, lambda _z, _x, _y: -1),
    (multiply, lambda _z, _x, y: y, lambda _z, x, _y: x),
    (negative, lambda _y, _x: -1),
    (positive, lambda _y, _x: 1),
    (square, lambda _y, x: 2 * x),
    (unit, lambda _u, x, z: -bend(1, z), lambda u, _x, z: bend(u, z)),
    (exp, lambda y, _x: y),
    (exp2, lambda y, _x: math.log(2) * y),
    # Not y + 1, which cancels for a small exponential.
    (expm1, lambda _y, x: exp(x)),
    complex="holomorphic",
)

scalar_rules(
    (divide, lambda _z, _x, y: divide(1, y), lambda z, _x, y: over_again(-z, y)),
    (reciprocal, lambda y, _x: -y * y),
    # p x**(p - 1) is 0 where p is 0, even at x = 0; y log(x) is 0 where y is. The 1.0 is for
    # integers, which have no negative powers in NumPy.
    (
        pow,
        lambda _y, x, p: strong_multiply(p, power_in_slope(x, p - 1.0)),
        lambda y, x, p: strong_multiply(y, log_of_base(y, x, p)),
    ),
    (over_root, lambda _q, _c, y: divide(1, y), lambda q, _c, y: bend_of_root(q, y)),
    (sqrt, lambda y, _x: over_root(0.5, y)),
    (log, lambda _y, x: divide(1, x)),
    (log1p, lambda _y, x: divide(1, 1 + x)),
    (log2, lambda _y, x: divide(1 / math.log(2), x)),
    (log10, lambda _y, x: divide(1 / math.log(10), x)),
    singular=True,
    complex="holomorphic",
)

scalar_rules(
    (remainder, lambda _r, _x, _y: 1, lambda _r, x, y: -floor_divide(x, y)),
    (fmod, lambda _r, _x, _y: 1, lambda r, x, y: round(divide(r - x, y))),
    # Not (1 - (x / z)²) / z, which cancels for small y.
    (
        cosine,
        lambda _c, _x, y, z: -bend(unit(y, z) ** 2, z),
        lambda c, _x, y, z: bend(c * unit(y, z), z),
        None,
    ),
    (
        logaddexp_share,
        lambda share, x, y: share * logaddexp_share(y, x),
        lambda share, x, y: -share * logaddexp_share(y, x),
    ),
)

scalar_rules(
    (cbrt, lambda y, _x: divide(1, 3 * y * y)),
    (hypot, lambda z, x, y: cosine(x, y, z), lambda z, x, y: cosine(y, x, z)),
    # Not e^(x - z), which is inf - inf for infinite x, and inaccurate for large x.
    (logaddexp, lambda _z, x, y: logaddexp_share(x, y), lambda _z, x, y: logaddexp_share(y, x)),
    (
        logaddexp2,
        lambda _z, x, y: exp2(-logaddexp2(0.0, y - x)),
        lambda _z, x, y: exp2(-logaddexp2(0.0, x - y)),
    ),
    singular=True,
)
