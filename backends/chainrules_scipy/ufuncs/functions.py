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
from chainrules_scipy.ufuncs.declared import asking, composite, cut, flat, row, stated, u

_DEGREE = math.pi / 180


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


def _airye(y: Any, z: Any) -> Any:
    """Differentiate the scaled ones, which for real z ≥ 0 have factors exp(±2/3 z^1.5)."""
    root = v.sqrt(v.where(z < 0, 0.0, z))
    return (
        y[1] + root * y[0],
        z * y[0] + root * y[1],
        y[3] - root * y[2],
        z * y[2] - root * y[3],
    )


def _near(x: Any, terms: list[float], far: Any) -> Any:
    """Σ cₖ x^(2k) about 0, where the quotient far(x) loses its digits."""
    near = v.abs(x) < 1
    small = v.where(near, x, 0.0)
    square, total = small * small, 0.0
    for c in reversed(terms):
        total = total * square + c
    return v.where(near, total, far(v.where(near, 1.0, x)))


# Of berp(x) / x, beip(x) / x: 10.65.1.
_BER, _BEI = (
    [
        (-1) ** (n // 2) * 0.25**n * n * 2 / math.factorial(n) ** 2 if n % 2 == odd else 0.0
        for n in range(1, 12)
    ]
    for odd in (0, 1)
)
_J0 = [(-0.25) ** k / math.factorial(k) ** 2 for k in range(1, 12)]
_I0 = [abs(c) for c in _J0]
_H0 = [2 / math.pi * (-1) ** k / math.prod(range(1, 2 * k + 2, 2)) ** 2 for k in range(10)]
_SINH = [1 / math.factorial(2 * k + 1) for k in range(10)]


def _struve_part(order: Any, x: Any) -> Any:
    """(x/2)^ν / (√π Γ(ν + 3/2)): 11.4.25."""
    return v.pow(0.5 * x, order) * v.rgamma(order + 1.5) / math.sqrt(math.pi)


def _expn(n: Any, x: Any) -> Any:
    """By 8.19.13, and of exp(-x) / x."""
    zero = n == 0
    return v.where(zero, -v.exp(-x) * (x + 1) / (x * x), -u.expn(v.where(zero, 1, n) - 1, x))


def _lower(n: Any) -> Any:
    """n - 1, or any degree where recurrences begin: there polynomials are constant."""
    return v.where((n == 0) | (n == -1), 0, n - 1)


def _factor(n: Any, c: Any) -> Any:
    return v.where((n == 0) | (n == -1), 0.0, c)


def _mirrored(n: Any, c: int) -> Any:
    """-c - n of degrees below 0, of functions that are even or odd there."""
    return v.where(n < 0, -c - n, n)


def _legendre(n: Any, x: Any) -> Any:
    return _factor(n, 0.5 * (n + 1)) * u.eval_jacobi(_lower(n), 1.0, 1.0, x)


def _chebyu(_y: Any, n: Any, x: Any) -> Any:
    """2 C(n - 1, 2), which overflows at orders beyond 170: there that of sin((n + 1) θ) / sin θ."""
    by_c = _factor(n, 2.0) * u.eval_gegenbauer(_lower(_mirrored(n, 2)), 2.0, x)
    by_c = v.where(n < 0, -1.0, 1.0) * by_c
    known = v.logical_or(v.isfinite(by_c), v.abs(x) >= 1)
    inside = v.where(known, 0.5, x)
    turn, sine = (n + 1) * v.acos(inside), v.sqrt(1 - inside * inside)
    far = (inside * v.sin(turn) / sine - (n + 1) * v.cos(turn)) / (sine * sine)
    return v.where(known, by_c, far)


def _fresnel(sign: float) -> Any:
    """-exp(±ix²), and -+2ix K less that with K's factor exp(-+i(x² + π/4)) / √π."""

    def slope(y: Any, x: Any) -> Any:
        by_x = -v.exp(sign * 1j * x * x) * v.where(x < 0, math.nan, 1.0)  # SciPy mixes the parts
        factor = v.exp(-sign * 1j * (x * x + math.pi / 4)) / math.sqrt(math.pi)
        return by_x, -sign * 2j * x * y[1] + factor * by_x

    return slope


_HOLOMORPHIC: dict[str, list[Any]] = {
    "wrightomega z": [lambda y, _z: y / (1 + y)],
    "airy z": [lambda y, z: (y[1], z * y[0], y[3], z * y[2])],
    "hankel1 v z": [
        None,
        lambda _y, v_, z: 0.5 * (u.hankel1(v.real(v_) - 1, z) - u.hankel1(v.real(v_) + 1, z)),
    ],
    "hankel2 v z": [
        None,
        lambda _y, v_, z: 0.5 * (u.hankel2(v.real(v_) - 1, z) - u.hankel2(v.real(v_) + 1, z)),
    ],
    "hankel1e v z": [
        None,
        lambda y, v_, z: (
            0.5 * (u.hankel1e(v.real(v_) - 1, z) - u.hankel1e(v.real(v_) + 1, z)) - 1j * y
        ),
    ],
    "hankel2e v z": [
        None,
        lambda y, v_, z: (
            0.5 * (u.hankel2e(v.real(v_) - 1, z) - u.hankel2e(v.real(v_) + 1, z)) + 1j * y
        ),
    ],
}
_REAL: dict[str, list[Any]] = {
    "sindg x": [lambda _y, x: _DEGREE * v.cos(_DEGREE * x)],
    "cosdg x": [lambda _y, x: -_DEGREE * v.sin(_DEGREE * x)],
    "tandg x": [lambda y, _x: _DEGREE * (1 + y * y)],
    "cotdg x": [lambda y, _x: -_DEGREE * (1 + y * y)],
    "zetac x": [_zetac],
    # Bessel, Airy, Kelvin and Struve functions. For real arguments the factor exp(-|Im z|) is 1.
    "airye z": [_airye],
    "berp x": [
        lambda y, x: -u.bei(x) - _near(x, _BER, lambda z: v.where(v.abs(x) < 1, 1.0, y) / z)
    ],
    "beip x": [lambda y, x: u.ber(x) - _near(x, _BEI, lambda z: v.where(v.abs(x) < 1, 1.0, y) / z)],
    "kerp x": [lambda y, x: -u.kei(x) - y / x],
    "keip x": [lambda y, x: u.ker(x) - y / x],
    "ber x": [lambda _y, x: u.berp(x)],
    "bei x": [lambda _y, x: u.beip(x)],
    "ker x": [lambda _y, x: u.kerp(x)],
    "kei x": [lambda _y, x: u.keip(x)],
    "kelvin x": [
        lambda y, x: (
            y[2],
            y[3],
            1j * y[0]
            - (
                _near(x, _BER, lambda z: u.berp(z) / z)
                + 1j * _near(x, _BEI, lambda z: u.beip(z) / z)
            ),
            1j * y[1] - y[3] / x,
        )
    ],
    "struve v x": [
        None,
        lambda _y, v_, x: 0.5 * (u.struve(v_ - 1, x) - u.struve(v_ + 1, x) + _struve_part(v_, x)),
    ],
    "modstruve v x": [
        None,
        lambda _y, v_, x: (
            0.5 * (u.modstruve(v_ - 1, x) + u.modstruve(v_ + 1, x) + _struve_part(v_, x))
        ),
    ],
    "jve v z": [None, lambda _y, v_, z: 0.5 * (u.jve(v_ - 1, z) - u.jve(v_ + 1, z))],
    "yve v z": [None, lambda _y, v_, z: 0.5 * (u.yve(v_ - 1, z) - u.yve(v_ + 1, z))],
    "wright_bessel a b x": [None, None, lambda _y, a, b, x: u.wright_bessel(a, b + a, x)],
    "log_wright_bessel a b x": [
        None,
        None,
        lambda y, a, b, x: v.exp(u.log_wright_bessel(a, b + a, x) - y),
    ],
    # Integrals of them from 0 on; those of H₀ and Y₀, K₀ over t from x on.
    "itairy x": [lambda _y, x: (u.airy(x)[0], u.airy(x)[2], u.airy(-x)[0], u.airy(-x)[2])],
    "itj0y0 x": [lambda _y, x: (v.j0(x), v.y0(x))],
    "iti0k0 x": [lambda _y, x: (v.i0(x), v.k0(x))],
    "it2j0y0 x": [
        lambda _y, x: (-x * _near(x, _J0, lambda z: (v.j0(z) - 1) / (z * z)), -v.y0(x) / x)
    ],
    "it2i0k0 x": [
        lambda _y, x: (x * _near(x, _I0, lambda z: (v.i0(z) - 1) / (z * z)), -v.k0(x) / x)
    ],
    "itstruve0 x": [lambda _y, x: u.struve(0.0, x)],
    "it2struve0 x": [lambda _y, x: -_near(x, _H0, lambda z: u.struve(0.0, z) / z)],
    "itmodstruve0 x": [lambda _y, x: u.modstruve(0.0, x)],
    # Parabolic cylinder functions and their derivatives: 12.2.2, where a = -v - 1/2.
    "pbdv v x": [None, lambda y, v_, x: (y[1], (0.25 * x * x - v_ - 0.5) * y[0])],
    "pbvv v x": [None, lambda y, v_, x: (y[1], (0.25 * x * x - v_ - 0.5) * y[0])],
    "pbwa a x": [None, lambda y, a, x: (y[1], (a - 0.25 * x * x) * y[0])],
    "shichi x": [lambda _y, x: (_near(x, _SINH, lambda z: v.sinh(z) / z), v.divide(v.cosh(x), x))],
    "expn n x": [flat, lambda y, n, x: _expn(cut(n), x)],
    "hyperu a b x": [None, None, lambda _y, a, b, x: -a * u.hyperu(a + 1, b + 1, x)],
    "modfresnelp x": [_fresnel(1.0)],
    "modfresnelm x": [_fresnel(-1.0)],
    # Polynomials.
    "eval_jacobi n alpha beta x": [
        None,
        None,
        None,
        lambda _y, n, alpha, beta, x: (
            _factor(n, 0.5 * (n + alpha + beta + 1))
            * u.eval_jacobi(_lower(n), alpha + 1, beta + 1, x)
        ),
    ],
    "eval_gegenbauer n alpha x": [
        None,
        None,
        lambda _y, n, alpha, x: _factor(n, 2 * alpha) * u.eval_gegenbauer(_lower(n), alpha + 1, x),
    ],
    "eval_genlaguerre n alpha x": [
        None,
        None,
        lambda _y, n, alpha, x: _factor(n, -1.0) * u.eval_genlaguerre(_lower(n), alpha + 1, x),
    ],
    "eval_legendre n x": [None, lambda _y, n, x: _legendre(_mirrored(n, 1), x)],
    "eval_laguerre n x": [
        None,
        lambda _y, n, x: _factor(n, -1.0) * u.eval_genlaguerre(_lower(n), 1.0, x),
    ],
    "eval_hermite n x": [None, lambda _y, n, x: 2.0 * n * u.eval_hermite(_lower(n), x)],
    "eval_hermitenorm n x": [None, lambda _y, n, x: 1.0 * n * u.eval_hermitenorm(_lower(n), x)],
    "eval_chebyu n x": [None, _chebyu],
    "eval_chebyt n x": [
        None,
        lambda _y, n, x: 1.0 * n * u.eval_chebyu(v.where(n == 0, 0, n - 1), x),
    ],
    "lpmv m v x": [
        None,
        None,
        lambda y, m, v_, x: (v_ * x * y - (v_ + m) * u.lpmv(m, v_ - 1, x)) / (x * x - 1),
    ],
    # Without a formula in any operand.
    "besselpoly a lmb nu": [None, None, None],
    **{f"mathieu_{name} m q": [None, None] for name in "ab"},
    **{
        f"mathieu_{name} m q x": [None, None, None]
        for name in ("cem", "sem", "modcem1", "modcem2", "modsem1", "modsem2")
    },
    **{f"{name}_cv m n c": [None, None, None] for name in ("pro", "obl")},
    **{
        f"{name}_{kind} m n c x": [None, None, None, None]
        for name in ("pro", "obl")
        for kind in ("ang1", "rad1", "rad2")
    },
}
"""Partials of ufuncs with their operands, as `stated` takes them."""

_COMPOSITES: dict[str, Callable[..., Any]] = {
    "radian": lambda d, m, s: _DEGREE * (d + m / 60 + s / 3600),
    "eval_chebyc": lambda n, x: 2 * u.eval_chebyt(n, 0.5 * x),
    "eval_chebys": lambda n, x: u.eval_chebyu(n, 0.5 * x),
    "eval_sh_legendre": lambda n, x: u.eval_legendre(n, 2 * x - 1),
    "eval_sh_chebyt": lambda n, x: u.eval_chebyt(n, 2 * x - 1),
    "eval_sh_chebyu": lambda n, x: u.eval_chebyu(n, 2 * x - 1),
    "eval_sh_jacobi": lambda n, p, q, x: (
        u.eval_jacobi(n, p - q, q - 1, 2 * x - 1) / v.binom(2 * n + p - 1, n)
    ),
}
"""Ufuncs in words."""

_smirnov_slope = private("_smirnovp")
if _smirnov_slope is not None:
    _REAL |= {
        "smirnov n d": [flat, lambda _y, n, d: _smirnov_slope(n, d)],
        "smirnovi n p": [flat, lambda y, n, _p: 1 / _smirnov_slope(n, y)],
    }
for _key, _partials in _HOLOMORPHIC.items():
    stated(_key, *_partials, complex="holomorphic")
for _key, _partials in _REAL.items():
    stated(_key, *_partials)
for _name, _function in _COMPOSITES.items():
    composite(_name)(_function)

# ``psi`` and ``jn`` are the same objects as ``digamma`` and ``jv``.
for _word in (*FUNCTIONS, v.cbrt, v.exp2, v.expm1, v.log1p, v.round):
    row(ufunc_of(_word.__name__), _word, _word.operands)


def _in_double(word: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a word: its order is cut, and with whole ones narrower x are double, as in SciPy."""

    def function(v_: Any, x: Any) -> Any:
        wide = getattr(x, "dtype", None) in (None, np.dtype(float))
        narrow = kind_of(v_) == "int" and not wide
        return word(cut(v_), v.astype(x, dtype=np.dtype(float)) if narrow else x)

    return function


for _name, _word in (("kn", v.kv), ("yn", v.yv)):
    row(ufunc_of(_name), asking(ufunc_of(_name), _in_double(_word)), ("v_", "x"))

# ---------------------------------------------------------- functions that let traced values pass

# What ``zeta`` and ``lambertw`` call, where tracers get to.


def _zeta(x: Any, q: Any = None) -> Any:
    """Riemann's function is that of q = 1; where that has no series, by `zetac`."""
    if q is None and kind_of(x) == "complex":
        reject("zeta(x) of complex x has no derivative here")
    return u.zetac(x) + 1 if q is None else v.zeta(x, q)


def _branch(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    """Compute a branch of Lambert's W; refuse a tolerance, which the word does not have."""
    if tol != 1e-8:
        reject("lambertw(tol=...) has no derivative here; leave tol out", UnsupportedKeywordError)
    return v.lambertw(z, k)


alias(scipy.special.zeta, to=_zeta, refuse=("out",))
alias(scipy.special.lambertw, to=_branch)
for _name, _to, _operands in (
    ("_zeta", v.zeta, ("x", "q")),
    ("_riemann_zeta", asking(private("_riemann_zeta"), _zeta), ("x",)),
    ("_lambertw", _branch, ("z", "k", "tol")),
):
    if private(_name) is not None:
        row(private(_name), _to, _operands)
if hasattr(scipy.special, "softplus"):  # since SciPy 1.17
    alias(scipy.special.softplus, to=lambda x: v.logaddexp(0, x), parameters={"x": None})
