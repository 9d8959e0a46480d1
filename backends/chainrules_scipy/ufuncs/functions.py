"""Functions of mathematical physics of ``scipy.special``: rules of a line each, aliases."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import alias, kind_of, zeta_shape
from chainrules_scipy._private import private
from chainrules_scipy.implementations import FUNCTIONS, ufunc_of
from chainrules_scipy.rows import reject
from chainrules_scipy.ufuncs.declared import asking, composite, cut, flat, row, several, stated

# ------------------------------------------------------------------------------- elementary

_DEGREE = math.pi / 180

sindg: Any = stated("sindg", "x", lambda _y, x: _DEGREE * v.cos(_DEGREE * x))
cosdg: Any = stated("cosdg", "x", lambda _y, x: -_DEGREE * v.sin(_DEGREE * x))
tandg: Any = stated("tandg", "x", lambda y, _x: _DEGREE * (1 + y * y))
cotdg: Any = stated("cotdg", "x", lambda y, _x: -_DEGREE * (1 + y * y))
composite("radian")(lambda d, m, s: _DEGREE * (d + m / 60 + s / 3600))
wrightomega: Any = stated("wrightomega", "z", lambda y, _z: y / (1 + y), complex="holomorphic")


@composite("agm")
def agm(a: Any, b: Any) -> Any:
    """Compute π a / (2 K) of the modulus 1 - (b / a)²: 19.8.5."""
    ratio = b / a
    return 0.5 * math.pi * a / v.ellipkm1(ratio * ratio)


@composite("voigt_profile")
def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """Take the real part of Faddeeva's function: 7.19; near sigma = 0 that of the heat equation."""
    sharp = v.equal(sigma, 0)
    width = math.sqrt(2) * v.where(sharp, 1.0, sigma)
    r = v.where(sharp, x * x + gamma * gamma, 1.0)
    line = gamma / (math.pi * r) * (1 + sigma * sigma * (3 * x * x - gamma * gamma) / (r * r))
    wide = v.real(v.wofz((x + 1j * gamma) / width)) / (math.sqrt(math.pi) * width)
    return v.where(sharp, line, wide)


# ----------------------------------------------------------------------------- Riemann's zeta


def _zetac(_y: Any, x: Any) -> Any:
    """By the reflection 25.4.1 where x is negative."""
    left = x < 0
    right = zeta_shape(v.where(left, 2.0, x), 1.0)
    s = v.where(left, 1 - x, 2.0)
    value = v.zeta(s, 1.0)
    mirror = 2 * v.exp(-s * math.log(2 * math.pi)) * v.gamma(s)
    angle = 0.5 * math.pi * s
    rate = math.log(2 * math.pi) - v.digamma(s)
    by_s = mirror * (
        v.cos(angle) * (zeta_shape(s, 1.0) - rate * value) - 0.5 * math.pi * v.sin(angle) * value
    )
    return v.where(left, -by_s, right)


zetac: Any = stated("zetac", "x", _zetac)

# -------------------------------------------------------------------- Bessel and Airy functions

airy: Any = several(
    "airy", "z", lambda y, z: (y[1], z * y[0], y[3], z * y[2]), complex="holomorphic"
)


def _airye(y: Any, z: Any) -> Any:
    """Differentiate the scaled ones, which for real z ≥ 0 have factors exp(±2/3 z^1.5)."""
    root = v.sqrt(v.where(z < 0, 0.0, z))
    return (
        y[1] + root * y[0],
        z * y[0] + root * y[1],
        y[3] - root * y[2],
        z * y[2] - root * y[3],
    )


airye: Any = several("airye", "z", _airye)
ber: Any
bei: Any
ker: Any
kei: Any


def _near(x: Any, terms: list[float], far: Any) -> Any:
    """Σ cₖ x^(2k) about 0, where the quotient far(x) loses its digits."""
    near = v.abs(x) < 1
    small = v.where(near, x, 0.0)
    square, total = small * small, 0.0
    for c in reversed(terms):
        total = total * square + c
    return v.where(near, total, far(v.where(near, 1.0, x)))


# Of berp(x) / x, beip(x) / x: 10.65.1.
_KELVIN = [
    [
        (-1) ** (n // 2) * 0.25**n * n * 2 / math.factorial(n) ** 2 if n % 2 == odd else 0.0
        for n in range(1 - 1, 12)
    ]
    for odd in (0, 1)
]
_BER, _BEI = [terms[1:] for terms in _KELVIN]

berp: Any = stated(
    "berp", "x", lambda y, x: -bei(x) - _near(x, _BER, lambda z: v.where(v.abs(x) < 1, 1.0, y) / z)
)
beip: Any = stated(
    "beip", "x", lambda y, x: ber(x) - _near(x, _BEI, lambda z: v.where(v.abs(x) < 1, 1.0, y) / z)
)
kerp: Any = stated("kerp", "x", lambda y, x: -kei(x) - y / x)
keip: Any = stated("keip", "x", lambda y, x: ker(x) - y / x)
ber = stated("ber", "x", lambda _y, x: berp(x))
bei = stated("bei", "x", lambda _y, x: beip(x))
ker = stated("ker", "x", lambda _y, x: kerp(x))
kei = stated("kei", "x", lambda _y, x: keip(x))
kelvin: Any = several(
    "kelvin",
    "x",
    lambda y, x: (
        y[2],
        y[3],
        1j * y[0]
        - (_near(x, _BER, lambda z: berp(z) / z) + 1j * _near(x, _BEI, lambda z: beip(z) / z)),
        1j * y[1] - y[3] / x,
    ),
)


def _struve_part(order: Any, x: Any) -> Any:
    """(x/2)^ν / (√π Γ(ν + 3/2)): 11.4.25."""
    return v.pow(0.5 * x, order) * v.rgamma(order + 1.5) / math.sqrt(math.pi)


struve: Any = stated(
    "struve",
    "v x",
    None,
    lambda _y, v_, x: 0.5 * (struve(v_ - 1, x) - struve(v_ + 1, x) + _struve_part(v_, x)),
)
modstruve: Any = stated(
    "modstruve",
    "v x",
    None,
    lambda _y, v_, x: 0.5 * (modstruve(v_ - 1, x) + modstruve(v_ + 1, x) + _struve_part(v_, x)),
)
hankel1: Any = stated(
    "hankel1",
    "v z",
    None,
    lambda _y, v_, z: 0.5 * (hankel1(v.real(v_) - 1, z) - hankel1(v.real(v_) + 1, z)),
    complex="holomorphic",
)
hankel2: Any = stated(
    "hankel2",
    "v z",
    None,
    lambda _y, v_, z: 0.5 * (hankel2(v.real(v_) - 1, z) - hankel2(v.real(v_) + 1, z)),
    complex="holomorphic",
)
hankel1e: Any = stated(
    "hankel1e",
    "v z",
    None,
    lambda y, v_, z: 0.5 * (hankel1e(v.real(v_) - 1, z) - hankel1e(v.real(v_) + 1, z)) - 1j * y,
    complex="holomorphic",
)
hankel2e: Any = stated(
    "hankel2e",
    "v z",
    None,
    lambda y, v_, z: 0.5 * (hankel2e(v.real(v_) - 1, z) - hankel2e(v.real(v_) + 1, z)) + 1j * y,
    complex="holomorphic",
)
# For real arguments the factor exp(-|Im z|) is 1.
jve: Any = stated("jve", "v z", None, lambda _y, v_, z: 0.5 * (jve(v_ - 1, z) - jve(v_ + 1, z)))
yve: Any = stated("yve", "v z", None, lambda _y, v_, z: 0.5 * (yve(v_ - 1, z) - yve(v_ + 1, z)))
wright_bessel: Any = stated(
    "wright_bessel", "a b x", None, None, lambda _y, a, b, x: wright_bessel(a, b + a, x)
)
log_wright_bessel: Any = stated(
    "log_wright_bessel",
    "a b x",
    None,
    None,
    lambda y, a, b, x: v.exp(log_wright_bessel(a, b + a, x) - y),
)

# Integrals of Bessel and Airy functions from 0 on; those of H₀ and Y₀, K₀ over t from x on.
itairy: Any = several(
    "itairy",
    "x",
    lambda _y, x: (airy(x)[0], airy(x)[2], airy(-x)[0], airy(-x)[2]),
)
itj0y0: Any = several("itj0y0", "x", lambda _y, x: (v.j0(x), v.y0(x)))
iti0k0: Any = several("iti0k0", "x", lambda _y, x: (v.i0(x), v.k0(x)))
_J0 = [(-0.25) ** k / math.factorial(k) ** 2 for k in range(1, 12)]
_I0 = [abs(c) for c in _J0]
_H0 = [2 / math.pi * (-1) ** k / math.prod(range(1, 2 * k + 2, 2)) ** 2 for k in range(10)]
it2j0y0: Any = several(
    "it2j0y0",
    "x",
    lambda _y, x: (-x * _near(x, _J0, lambda z: (v.j0(z) - 1) / (z * z)), -v.y0(x) / x),
)
it2i0k0: Any = several(
    "it2i0k0",
    "x",
    lambda _y, x: (x * _near(x, _I0, lambda z: (v.i0(z) - 1) / (z * z)), -v.k0(x) / x),
)
itstruve0: Any = stated("itstruve0", "x", lambda _y, x: struve(0.0, x))
it2struve0: Any = stated(
    "it2struve0", "x", lambda _y, x: -_near(x, _H0, lambda z: struve(0.0, z) / z)
)
itmodstruve0: Any = stated("itmodstruve0", "x", lambda _y, x: modstruve(0.0, x))

# Parabolic cylinder functions and their derivatives: 12.2.2, where a = -v - 1/2.
pbdv: Any = several("pbdv", "v x", None, lambda y, v_, x: (y[1], (0.25 * x * x - v_ - 0.5) * y[0]))
pbvv: Any = several("pbvv", "v x", None, lambda y, v_, x: (y[1], (0.25 * x * x - v_ - 0.5) * y[0]))
pbwa: Any = several("pbwa", "a x", None, lambda y, a, x: (y[1], (a - 0.25 * x * x) * y[0]))

# -------------------------------------------------------------------------------- integrals

_SINH = [1 / math.factorial(2 * k + 1) for k in range(10)]
shichi: Any = several(
    "shichi",
    "x",
    lambda _y, x: (_near(x, _SINH, lambda z: v.sinh(z) / z), v.divide(v.cosh(x), x)),
)


def _expn(n: Any, x: Any) -> Any:
    """By 8.19.13, and of exp(-x) / x."""
    zero = n == 0
    return v.where(zero, -v.exp(-x) * (x + 1) / (x * x), -expn(v.where(zero, 1, n) - 1, x))


expn: Any = stated(
    "expn",
    "n x",
    flat,
    lambda y, n, x: _expn(cut(n), x),
)
hyperu: Any = stated(
    "hyperu", "a b x", None, None, lambda _y, a, b, x: -a * hyperu(a + 1, b + 1, x)
)

# ------------------------------------------------------------------------------ polynomials


def _constant(n: Any) -> Any:
    """Tell the degrees at which recurrences begin: there polynomials are constant in x."""
    return (n == 0) | (n == -1)


def _lower(n: Any) -> Any:
    """n - 1, or 0 where the derivative is 0."""
    return v.where(_constant(n), 0, n - 1)


def _factor(n: Any, c: Any) -> Any:
    return v.where(_constant(n), 0.0, c)


def _mirrored(n: Any, c: int) -> Any:
    """-c - n of degrees below 0, of functions that are even or odd there."""
    return v.where(n < 0, -c - n, n)


eval_jacobi: Any = stated(
    "eval_jacobi",
    "n alpha beta x",
    None,
    None,
    None,
    lambda _y, n, alpha, beta, x: (
        _factor(n, 0.5 * (n + alpha + beta + 1)) * eval_jacobi(_lower(n), alpha + 1, beta + 1, x)
    ),
)
eval_gegenbauer: Any = stated(
    "eval_gegenbauer",
    "n alpha x",
    None,
    None,
    lambda _y, n, alpha, x: _factor(n, 2 * alpha) * eval_gegenbauer(_lower(n), alpha + 1, x),
)
eval_genlaguerre: Any = stated(
    "eval_genlaguerre",
    "n alpha x",
    None,
    None,
    lambda _y, n, alpha, x: _factor(n, -1.0) * eval_genlaguerre(_lower(n), alpha + 1, x),
)


def _legendre(n: Any, x: Any) -> Any:
    return _factor(n, 0.5 * (n + 1)) * eval_jacobi(_lower(n), 1.0, 1.0, x)


eval_legendre: Any = stated(
    "eval_legendre",
    "n x",
    None,
    lambda _y, n, x: _legendre(_mirrored(n, 1), x),
)
eval_laguerre: Any = stated(
    "eval_laguerre",
    "n x",
    None,
    lambda _y, n, x: _factor(n, -1.0) * eval_genlaguerre(_lower(n), 1.0, x),
)
eval_hermite: Any = stated(
    "eval_hermite", "n x", None, lambda _y, n, x: 2.0 * n * eval_hermite(_lower(n), x)
)
eval_hermitenorm: Any = stated(
    "eval_hermitenorm", "n x", None, lambda _y, n, x: 1.0 * n * eval_hermitenorm(_lower(n), x)
)


def _chebyu(_y: Any, n: Any, x: Any) -> Any:
    """2 C(n - 1, 2), which overflows at orders beyond 170: there that of sin((n + 1) θ) / sin θ."""
    by_c = _factor(n, 2.0) * eval_gegenbauer(_lower(_mirrored(n, 2)), 2.0, x)
    by_c = v.where(n < 0, -1.0, 1.0) * by_c
    known = v.logical_or(v.isfinite(by_c), v.abs(x) >= 1)
    inside = v.where(known, 0.5, x)
    turn, sine = (n + 1) * v.acos(inside), v.sqrt(1 - inside * inside)
    far = (inside * v.sin(turn) / sine - (n + 1) * v.cos(turn)) / (sine * sine)
    return v.where(known, by_c, far)


eval_chebyu: Any = stated("eval_chebyu", "n x", None, _chebyu)
eval_chebyt: Any = stated(
    "eval_chebyt", "n x", None, lambda _y, n, x: 1.0 * n * eval_chebyu(v.where(n == 0, 0, n - 1), x)
)
composite("eval_chebyc")(lambda n, x: 2 * eval_chebyt(n, 0.5 * x))
composite("eval_chebys")(lambda n, x: eval_chebyu(n, 0.5 * x))
composite("eval_sh_legendre")(lambda n, x: eval_legendre(n, 2 * x - 1))
composite("eval_sh_chebyt")(lambda n, x: eval_chebyt(n, 2 * x - 1))
composite("eval_sh_chebyu")(lambda n, x: eval_chebyu(n, 2 * x - 1))
composite("eval_sh_jacobi")(
    lambda n, p, q, x: eval_jacobi(n, p - q, q - 1, 2 * x - 1) / v.binom(2 * n + p - 1, n)
)
lpmv: Any = stated(
    "lpmv",
    "m v x",
    None,
    None,
    lambda y, m, v_, x: (v_ * x * y - (v_ + m) * lpmv(m, v_ - 1, x)) / (x * x - 1),
)


_smirnov_slope = private("_smirnovp")

stated("besselpoly", "a lmb nu", None, None, None)
for _name in ("mathieu_a", "mathieu_b"):
    stated(_name, "m q", None, None)
for _name in ("cem", "sem", "modcem1", "modcem2", "modsem1", "modsem2"):
    several(f"mathieu_{_name}", "m q x", None, None, None)
for _name in ("pro", "obl"):
    stated(f"{_name}_cv", "m n c", None, None, None)
    for _kind in ("ang1", "rad1", "rad2"):
        several(f"{_name}_{_kind}", "m n c x", None, None, None, None)


def _fresnel(sign: float) -> Any:
    """-exp(±ix²), and -+2ix K less that with K's factor exp(-+i(x² + π/4)) / √π."""

    def slope(y: Any, x: Any) -> Any:
        by_x = -v.exp(sign * 1j * x * x) * v.where(x < 0, math.nan, 1.0)  # SciPy mixes the parts
        factor = v.exp(-sign * 1j * (x * x + math.pi / 4)) / math.sqrt(math.pi)
        return by_x, -sign * 2j * x * y[1] + factor * by_x

    return slope


several("modfresnelp", "x", _fresnel(1.0))
several("modfresnelm", "x", _fresnel(-1.0))
if _smirnov_slope is not None:
    stated("smirnov", "n d", flat, lambda _y, n, d: _smirnov_slope(n, d))
    stated("smirnovi", "n p", flat, lambda y, n, _p: 1 / _smirnov_slope(n, y))


_word: Any
_ufunc: Any


for _word in FUNCTIONS:
    row(ufunc_of(_word.__name__), _word, _word.operands)

# Under another name; ``psi`` and ``jn`` are the same objects as ``digamma`` and ``jv``.
for _name, _word in (
    ("cbrt", v.cbrt),
    ("exp2", v.exp2),
    ("expm1", v.expm1),
    ("log1p", v.log1p),
    ("round", v.round),
):
    row(ufunc_of(_name), _word, _word.operands)


def _in_double(word: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a word: its order is cut, and with whole ones narrower x are double, as in SciPy."""

    def function(v_: Any, x: Any) -> Any:
        wide = getattr(x, "dtype", None) in (None, np.dtype(float))
        narrow = kind_of(v_) == "int" and not wide
        return word(cut(v_), v.astype(x, dtype=np.dtype(float)) if narrow else x)

    return function


for _name, _word in (("kn", v.kv), ("yn", v.yv)):
    _ufunc = ufunc_of(_name)
    row(_ufunc, asking(_ufunc, _in_double(_word)), ("v_", "x"))

# ---------------------------------------------------------- functions that let traced values pass

# What ``zeta`` and ``lambertw`` call, where tracers get to.


def _zeta(x: Any, q: Any = None) -> Any:
    """Riemann's function is that of q = 1; where that has no series, by `zetac`."""
    if q is None and kind_of(x) == "complex":
        reject("zeta(x) of complex x has no derivative here")
    return zetac(x) + 1 if q is None else v.zeta(x, q)


def _branch(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    """Compute a branch of Lambert's W; refuse a tolerance, which the word does not have."""
    if tol != 1e-8:
        reject("lambertw(tol=...) has no derivative here; leave tol out", UnsupportedKeywordError)
    return v.lambertw(z, k)


alias(scipy.special.zeta, to=_zeta, refuse=("out",))
alias(scipy.special.lambertw, to=_branch)
if private("_zeta") is not None:
    row(private("_zeta"), v.zeta, ("x", "q"))
if private("_riemann_zeta") is not None:
    row(private("_riemann_zeta"), asking(private("_riemann_zeta"), _zeta), ("x",))
if private("_lambertw") is not None:
    row(private("_lambertw"), _branch, ("z", "k", "tol"))
if hasattr(scipy.special, "softplus"):  # since SciPy 1.17
    alias(scipy.special.softplus, to=lambda x: v.logaddexp(0, x), parameters={"x": None})
