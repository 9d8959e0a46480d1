"""The functions of ``scipy.fft``, for traced values too.

Cosine and sine transforms are Fourier transforms of twice the length, with factors: Makhoul, IEEE
Trans. ASSP 28 (1980) 27; Wang, IEEE Trans. ASSP 32 (1984) 803. The fast Hankel transform is a
product in the space of logarithms: Hamilton, MNRAS 312 (2000) 257, appendix B.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
import scipy.fftpack
import scipy.special

from chainrules_py import UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import advise, fourier_composites, kind_of, varies
from chainrules_scipy.composites_and_operand_conversions import (
    array_of,
    attribute,
    one_of,
    operations,
    part,
    readable,
    reject,
)

_NORMS = {None: "backward", "backward": "backward", "ortho": "ortho", "forward": "forward"}
_SWAPPED = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _along_one(transform: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, n, axis, norm: transform(x, n=n, axis=int(axis), norm=_NORMS[norm])


def _along_several(transform: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, s, axes, norm: transform(x, _listed(s), _listed(axes), _NORMS[norm])


def _listed(x: Any) -> list[int] | None:
    return None if x is None else [int(i) for i in np.atleast_1d(x)]


_of: Any = fourier_composites
_ONE: dict[str, Any] = {
    f.__name__: _along_one(f) for f in (v.fft, v.ifft, v.rfft, v.irfft, _of.hfft, _of.ihfft)
}
_SEVERAL: dict[str, Any] = {
    f"{name}{n}": _along_several(f)
    for name, f in (
        *((name, getattr(_of, f"{name}n")) for name in ("fft", "ifft", "rfft", "irfft")),
        ("hfft", lambda x, s, axes, norm: _of.irfftn(v.conj(x), s, axes, _SWAPPED[norm])),
        ("ihfft", lambda x, s, axes, norm: v.conj(_of.rfftn(x, s, axes, _SWAPPED[norm]))),
    )
    for n in ("n", "2")
}

# ------------------------------------------------------------------- cosine and sine transforms


# By sines or cosines, and type: α and β, the period minus n, and the indices where x is halved.
_SHIFTS: dict[tuple[bool, int], tuple[float, float, int, tuple[int, ...]]] = {
    (False, 1): (0.0, 0.0, -1, (0, -1)),
    (False, 2): (0.5, 0.0, 0, ()),
    (False, 3): (0.0, 0.5, 0, (0,)),
    (False, 4): (0.5, 0.5, 0, ()),
    (True, 1): (1.0, 1.0, 1, ()),
    (True, 2): (0.5, 1.0, 0, ()),
    (True, 3): (1.0, 0.5, 0, (-1,)),
    (True, 4): (0.5, 0.5, 0, ()),
}


def _transformed(x: Any, sines: bool, kind: int, axis: int) -> Any:
    """Compute 2 Σ_j w_j x_j cos(π (j + α) (k + β) / m), or sines: SciPy's, without a norm."""
    n, (before, behind, more, halved) = x.shape[axis], _SHIFTS[sines, kind]
    k, turn = np.arange(n), -1j * np.pi / (n + more)
    weights = _at_ends(halved, n, 0.5) * np.exp(turn * behind * k)
    y = v.fft(v.multiply(x, _along(weights, x, axis)), n=2 * (n + more), axis=axis)
    y = v.multiply(part(y, axis, 0, n), _along(np.exp(turn * before * (k + behind)), x, axis))
    return -2 * v.imag(y) if sines else 2 * v.real(y)


def _along(factors: Any, x: Any, axis: int) -> Any:
    """Reshape a vector of factors to be along one axis of x."""
    return np.reshape(factors, (-1,) + (1,) * (x.ndim - 1 - axis))


_INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}


def _normed(
    sines: bool, inverse: bool, x: Any, kind: int, n: Any, axis: int, norm: Any, ends: Any
) -> Any:
    """Compute a cosine or sine transform along one axis."""
    one_of("type", kind, _INVERSE)
    if kind_of(x) == "complex":
        if ends is not None and bool(ends) != (norm == "ortho"):
            reject(
                "SciPy leaves orthogonalize out where x is complex: transform its two parts",
                UnsupportedKeywordError,
            )
        re, im = (
            _normed(sines, inverse, y, kind, n, axis, norm, ends) for y in (v.real(x), v.imag(x))
        )
        return re + 1j * im
    axis = range(x.ndim)[axis]
    x = _of_length(x, x.shape[axis] if n is None else int(n), axis)
    n, dtype, kind = x.shape[axis], x.dtype, _INVERSE[kind] if inverse else kind
    if n < 1 + (not sines and kind == 1):
        reject(f"{n} elements along axis {axis}, of which type {kind} has no transform", ValueError)
    # An orthogonal transform multiplies some ends by √2 before, and divides some by it after.
    before, behind = (_SHIFTS[sines, k][3] for k in (kind, _INVERSE[kind]))
    orthogonal = norm == "ortho" if ends is None else bool(ends)
    if orthogonal and before:
        x = v.multiply(x, _along(_at_ends(before, n, math.sqrt(2)), x, axis))
    y = _transformed(x, sines, kind, axis)
    if orthogonal and behind:
        y = v.multiply(y, _along(_at_ends(behind, n, math.sqrt(0.5)), y, axis))
    scale = 2 * (n + _SHIFTS[sines, kind][2])
    power = {"backward": float(inverse), "ortho": 0.5, "forward": float(not inverse)}[_NORMS[norm]]
    return v.astype(y if power == 0 else y / scale**power, dtype=dtype)


def _at_ends(places: tuple[int, ...], n: int, factor: float) -> Any:
    factors = np.ones(n)
    factors[list(places)] = factor
    return factors


def _of_length(x: Any, n: int, axis: int) -> Any:
    """Truncate x, or pad it with zeros, along an axis."""
    missing = n - x.shape[axis]
    if missing <= 0:
        return x if missing == 0 else part(x, axis, 0, n)
    return v.pad(x, 0.0, widths=tuple((0, missing * (i == axis)) for i in range(x.ndim)))


def _trigonometric(name: str) -> Any:
    inverse, sines = name[0] == "i", "s" in name

    def along_several(x: Any, type: int, s: Any, axes: Any, norm: Any, orthogonalize: Any) -> Any:
        for axis, n in fourier_composites.lengths(x, _listed(s), _listed(axes)):
            x = _normed(sines, inverse, x, type, n, axis, norm, orthogonalize)
        return x

    along_one: Any = lambda x, type, n, axis, norm, orthogonalize: _normed(  # noqa: A006 - SciPy's
        sines, inverse, x, type, n, axis, norm, orthogonalize
    )
    return along_several if name[-1] == "n" else along_one


FUNCTIONS = operations(
    scipy.fft,
    arrays="x",
    **_ONE,
    **_SEVERAL,
    **{
        name: _trigonometric(name)
        for name in ("dct", "dctn", "idct", "idctn", "dst", "dstn", "idst", "idstn")
    },
) | operations(
    scipy.fft,
    fftshift=lambda x, axes: _of.fftshift(array_of(x, floating=False), axes),
    ifftshift=lambda x, axes: _of.ifftshift(array_of(x, floating=False), axes),
)

# ------------------------------------------------------------------------ fast Hankel transform


def _singular(inverse: bool, mu: Any, bias: Any) -> float:
    """Compute the first coefficient where the transform is singular, as SciPy does."""
    if varies((mu, bias)):
        reject(
            "a Hankel transform that is singular has no derivative in mu and bias; change the bias"
        )
    first = float(2**bias * scipy.special.poch((mu + 1 - bias) / 2, bias))
    if np.isinf(first) and not inverse:
        return 0.0
    return np.inf if first == 0 and inverse else first


def _hankel(inverse: bool, a: Any, dln: Any, mu: Any, offset: Any, bias: Any) -> Any:
    """Compute a Hankel transform of values on a logarithmic grid."""
    n = a.shape[-1]
    way = v.multiply(1j, v.divide(2 * np.pi * np.arange(n // 2 + 1) / n, dln))
    rise, fall = (v.loggamma(v.add(mu + 1 + s * bias, s * way) / 2) for s in (1, -1))
    log = v.subtract(rise, fall)
    first = None if np.isfinite(readable(log)[0]) else _singular(inverse, mu, bias)
    if first is not None:
        log = v.where(np.arange(n // 2 + 1) == 0, 0.0, log)
    u = v.exp(v.add(v.add(log, bias * math.log(2)), way * (math.log(2) - offset)))
    u = u if first is None else v.where(np.arange(n // 2 + 1) == 0, first, u)
    u = u if n % 2 else v.where(np.arange(n // 2 + 1) == n // 2, v.real(u), u)
    steps = v.multiply(np.arange(n) - (n - 1) / 2, dln)
    if inverse:
        y = v.rfft(v.multiply(a, v.exp(bias * (steps + offset))))
        y = v.irfft(v.divide(y, v.conj(u)), n=n)
        return v.multiply(v.flip(y, axis=-1), v.exp(bias * steps))
    y = v.irfft(v.multiply(v.rfft(v.multiply(a, v.exp(-bias * steps))), u), n=n)
    return v.multiply(v.flip(y, axis=-1), v.exp(-bias * (steps + offset)))


FUNCTIONS |= operations(
    scipy.fft,
    arrays="a A",
    fht=lambda a, dln, mu, offset, bias: _hankel(False, a, dln, mu, offset, bias),
    ifht=lambda A, dln, mu, offset, bias: _hankel(True, A, dln, mu, offset, bias),
)
advise(
    scipy.fftpack.hilbert,
    "use -np.imag(scipy.signal.hilbert({x})), after chainrules_scipy.install()",
)
__getattr__ = functools.partial(attribute, __name__, FUNCTIONS)
