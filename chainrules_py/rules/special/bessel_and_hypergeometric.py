"""Rules of Bessel functions, elliptic and other integrals, hypergeometric functions.

Source: NIST Digital Library of Mathematical Functions, whose equations are cited by number.
"""

import math

from chainrules_py.ops import (
    conj,
    cos,
    divide,
    ellipe,
    ellipk,
    ellipkm1,
    exp,
    exp1,
    expi,
    fresnel,
    hyp0f1,
    hyp1f1,
    hyp2f1,
    i0,
    i0e,
    i1,
    i1e,
    iv,
    ive,
    j0,
    j1,
    jv,
    k0,
    k0e,
    k1,
    k1e,
    kv,
    kve,
    lambertw,
    log,
    real,
    sici,
    sign,
    sin,
    sinc,
    spence,
    strong_multiply,
    where,
    y0,
    y1,
    yv,
    zeta,
)
from chainrules_py.primitives.primitive import primitive
from chainrules_py.registry.constructors import rule, scalar_rules
from chainrules_py.rules.special.gamma_and_erf import series
from chainrules_py.rules.special.orders import (
    floating,
    lower_varied,
    of_order,
    times,
    times_conj,
    unstated,
    varied,
)
from chainrules_py.rules.special.quadrature import zeta_shape
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.zeros import is_zero

# ---------------------------------------------------------------------------------- Bessel


def by_x(y, x, s):
    """Compute J₁(x) / x, or I₁(x) / x with s = 1: near 0 by the series 10.2.2 and 10.25.2."""
    near = abs(x) < 0.5
    terms = [0.5 * (0.25 * s) ** k / (math.factorial(k) * math.factorial(k + 1)) for k in range(9)]
    small = where(near, x, 0)
    return where(near, series(terms, small * small), y / where(near, 1, x))


def scaled(y, x):
    """exp(-|x|) I₁(x) / x."""
    near = abs(x) < 0.5
    return where(near, exp(-x * sign(x)) * by_x(0, where(near, x, 0), 1), y / where(near, 1, x))


@rule(ive, batched="broadcast")
def ive_rule(v, x):
    """Differentiate as `iv`, with the factor exp(-|Re x|), which is not holomorphic."""
    y = ive(v, x)
    return y, (varied(ive, 0, v, x), LinearMap(ive_push, ive_pull, y, floating(v, x), x))


def ive_push(t, y, v, x):
    return 0.5 * (ive(v - 1, x) + ive(v + 1, x)) * t - sign(real(x)) * real(t) * y


def ive_pull(y_bar, y, v, x):
    along = real(conj(y) * y_bar)
    return conj(0.5 * (ive(v - 1, x) + ive(v + 1, x))) * y_bar - sign(real(x)) * along


# ---------------------------------------------------------------------------------- integrals


def hypergeometric(a, b, c, count):
    """Compute the first coefficients of ₂F₁(a, b; c; x)."""
    terms = [1.0]
    for k in range(count):
        terms.append(terms[-1] * (a + k) * (b + k) / ((c + k) * (1 + k)))
    return terms


def ellipk_slope(y, m):
    """(E - (1 - m) K) / (2m (1 - m)): 19.4.1; near 0 the slope of π/2 ₂F₁(½, ½; 1; m): 19.5.1."""
    near = abs(m) < 0.25
    small, q = where(near, m, 0), where(near, 0.5, m)
    terms = hypergeometric(1.5, 1.5, 2.0, 30)
    rest = ellipe(q) - strong_multiply(1 - q, where(near, 0, y))
    return where(near, math.pi / 8 * series(terms, small), divide(rest, 2 * q * (1 - q)))


def ellipe_slope(y, m):
    """(E - K) / (2m): 19.4.2; near 0 the slope of π/2 ₂F₁(-½, ½; 1; m): 19.5.2."""
    near = abs(m) < 0.25
    small, q = where(near, m, 0), where(near, 0.5, m)
    terms = hypergeometric(0.5, 1.5, 2.0, 30)
    return where(near, -math.pi / 8 * series(terms, small), (y - ellipk(q)) / (2 * q))


def ellipkm1_slope(y, p):
    """Compute -K′(1 - p), where p = 1 - m is more accurate than m."""
    near = p > 0.5
    q = where(near, 0.25, p)
    far = strong_multiply(q, where(near, 0, y)) - ellipem1(q)
    return where(near, -ellipk_slope(y, 1 - where(near, p, 1)), divide(far, 2 * q * (1 - q)))


@primitive
def ellipem1(p, /):
    """Compute E(1 - p), which has a slope where 1 - p rounds to 1."""
    return ellipe(1 - p)


def log_ratio(x):
    """Compute log(x) / (1 - x), which is -1 at 1."""
    u = x - 1
    near, terms = abs(u) < 0.1, [(-1) ** (k + 1) / (k + 1) for k in range(20)]
    small = series(terms, where(near, u, 0))
    return where(near, small, -log(where(near, 2, x)) / where(near, 1, u))


@rule(sici, batched=True)
def sici_rule(x):
    """sin(x) / x and cos(x) / x: 6.2.9 and 6.2.11."""
    return sici(x), (LinearMap(both, both_adjoint, sinc(x / math.pi), divide(cos(x), x)),)


@rule(fresnel, batched=True)
def fresnel_rule(x):
    """sin(πx²/2) and cos(πx²/2): 7.2.7 and 7.2.8."""
    angle = 0.5 * math.pi * x * x
    return fresnel(x), (LinearMap(both, both_adjoint, sin(angle), cos(angle)),)


def both(t, p, q):
    return p * t, strong_multiply(t, q)


def both_adjoint(y_bar, p, q):
    a, b = [0.0 if is_zero(t) else t for t in (y_bar[0], y_bar[1])]
    return conj(p) * a + strong_multiply(b, conj(q))


# ---------------------------------------------------------------------------------- others


@rule(lambertw, batched="broadcast")
def lambertw_rule(x, k):
    """W′ = 1 / (exp(W) + x): 4.13.4."""
    w = lambertw(x, k)
    return w, (LinearMap(times, times_conj, lambert_slope, w, x), unstated(lambertw, 1, x, k))


def lambert_slope(w, x):
    return divide(1, exp(w) + x)


# ------------------------------------------------------------------------------- formulas

# 10.6.2, 10.6.3, 10.29.1 to 10.29.3; functions that end in e have a factor exp(-|x|) or exp(x).
scalar_rules(
    (y0, lambda _y, x: -y1(x)),
    (y1, lambda y, x: y0(x) - divide(y, x)),
    (k0, lambda _y, x: -k1(x)),
    (k1, lambda y, x: -k0(x) - divide(y, x)),
    (k0e, lambda y, x: y - k1e(x)),
    (k1e, lambda y, x: y - k0e(x) - divide(y, x)),
    (ellipk, ellipk_slope),
    (ellipkm1, ellipkm1_slope),
    (ellipe, ellipe_slope),
    (ellipem1, lambda y, p: divide(ellipkm1(p) - y, 2 * (1 - p))),
    (
        zeta,
        lambda _y, x, q: zeta_shape(x, q),
        lambda _y, x, q: -floating(x, q) * zeta(floating(x, q) + 1, q),  # 25.11.17
    ),
    singular=True,
)

scalar_rules(
    (j0, lambda _y, x: -j1(x)),
    (j1, lambda y, x: j0(x) - by_x(y, x, -1)),
    (i0, lambda _y, x: i1(x)),
    (i1, lambda y, x: i0(x) - by_x(y, x, 1)),
    (i0e, lambda y, x: i1e(x) - sign(x) * y),
    (i1e, lambda y, x: i0e(x) - scaled(y, x) - sign(x) * y),
)

for _operation, _slope in (
    (jv, lambda _y, v, x: 0.5 * (jv(v - 1, x) - jv(v + 1, x))),
    (yv, lambda _y, v, x: 0.5 * (yv(v - 1, x) - yv(v + 1, x))),
    (iv, lambda _y, v, x: 0.5 * (iv(v - 1, x) + iv(v + 1, x))),
    (kv, lambda _y, v, x: -0.5 * (kv(v - 1, x) + kv(v + 1, x))),
    (kve, lambda y, v, x: y - 0.5 * (kve(v - 1, x) + kve(v + 1, x))),
):
    of_order(_operation, _slope)
for _of_poles, _rise in (
    (hyp0f1, lambda _y, v, x: hyp0f1(v + 1, x) / v),  # 16.3.1
    (hyp1f1, lambda _y, a, b, x: divide(a, b) * hyp1f1(a + 1, b + 1, x)),  # 13.3.15
    (hyp2f1, lambda _y, a, b, c, x: divide(a * b, c) * hyp2f1(a + 1, b + 1, c + 1, x)),  # 15.5.1
):
    of_order(_of_poles, _rise, lower_varied)

scalar_rules(
    (expi, lambda _y, x: divide(exp(x), x)),
    (exp1, lambda _y, x: divide(-exp(-x), x)),  # 6.2.1 and 6.2.5
    (spence, lambda _y, x: log_ratio(x)),  # 25.12.2
    singular=True,
    complex="holomorphic",
)
