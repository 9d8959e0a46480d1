"""Integrals of functions, on intervals that are divided where it is needed."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from typing import Any

import numpy as np
import scipy.integrate

from chainrules_py import (
    UnsupportedKeywordError,
    linear_rule,
    primitive,
)
from chainrules_py import vocabulary as v
from chainrules_py.extend import Tree, closed, varies
from chainrules_scipy.agreeing import answer, plain
from chainrules_scipy.rows import anchored, array_of, readable, reject, stands_for

# As they are now: later ours may stand under their names, which would call themselves.
_quad, _quad_vec = (
    scipy.integrate.quad,
    scipy.integrate.quad_vec,
)

_STEP = 1 / 8
_GAUSS = tuple(
    ((1 + x) / 2, (1 - x) / 2, w / 2)
    for x, w in zip(*map(np.ndarray.tolist, np.polynomial.legendre.leggauss(24)), strict=True)
)
_AT_ENDS = tuple(
    (s, r, _STEP * math.pi * math.cosh(_STEP * k) * s * r)
    for k in range(-34, 35)
    for s, r in [[1 / (1 + math.exp(sign * math.pi * math.sinh(_STEP * k))) for sign in (-1, 1)]]
)
"""Parts of an interval before and behind a place, and weights: by Gauss, and, where a function may
be singular at an end, by Takahasi and Mori, Publ. RIMS 9 (1974) 721."""


@stands_for(scipy.integrate.quad)
def quad(
    func: Any,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    **options: Any,
) -> Any:
    """Integrate a function between two limits, each of which may be infinite.

    The value is QUADPACK's. Derivatives, in the limits, the arguments and what the function holds,
    are those of Gauss's formula on the intervals that QUADPACK came to.
    """
    args = args if isinstance(args, tuple) else (args,)
    if options.pop("complex_func", False):
        how: Any = (full_output, epsabs, epsrel, limit, points, weight)
        parts = [
            quad(lambda x, part=part: getattr(func(x, *args), part), a, b, (), *how, **options)
            for part in ("real", "imag")
        ]
        errors = [plain(error) for _, error, *_ in parts]
        value = parts[0][0] + 1j * parts[1][0]
        return answer("quad(...)", (0.0, errors[0] + 1j * errors[1]), _0=value)
    if weight is not None or any(value is not None for value in options.values()):
        reject(
            "quad(weight=...) has no derivative here: write the weight into the function",
            UnsupportedKeywordError,
        )

    f = _Integrand(lambda x: func(x, *args))
    low, high = float(readable(a)), float(readable(b))
    if low > high:
        value, *more = quad(f.f, b, a, (), full_output, epsabs, epsrel, limit, points)
        return -value, *more
    places = None if points is None else sorted(array_of(points), key=readable)
    within = [p for p in places or () if low < readable(p) < high]
    found = _quad(
        lambda x: float(f.seen(x)),
        low,
        high,
        full_output=1,
        epsabs=epsabs,
        epsrel=epsrel,
        limit=limit,
        points=None if places is None else list(map(readable, places)),
    )
    if varies(within):  # where it jumps, it jumps at another place
        how = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit}
        parts = [quad(f.f, *ends, **how)[0] for ends in itertools.pairwise([a, *within, b])]
        value = _agreeing("quad", found[0], functools.reduce(operator.add, parts), found[1])
        return answer("quad(...)", found if full_output else found[:2], _0=value)
    last = found[2]["last"]
    pieces = zip(found[2]["alist"][:last].tolist(), found[2]["blist"][:last].tolist(), strict=True)
    value = _agreeing("quad", found[0], _over_all(f, a, b, low, high, list(pieces)), found[1])
    return answer("quad(...)", found if full_output else found[:2], _0=value)


def _agreeing(name: str, value: Any, moving: Any, error: Any) -> Any:
    """Give the value found to what the derivatives are of, if that is the same integral."""
    known = readable(moving)
    near = abs(known - value) <= np.maximum(100 * error, 1e-6 * np.max(np.abs(value)))
    if not np.all(near | ~np.isfinite(value)):
        reject(
            f"{name} gives {value}, and the formula that is differentiated {known}: the function "
            "is singular inside; integrate from each place where it is to the next"
        )
    return anchored(value, moving)


@primitive
def _numbers(x: Any) -> Any:
    """Return x, with 0 where it is NaN; so with its tangents and cotangents, of any order."""
    return v.where(v.isnan(x), 0.0, x)


linear_rule(_numbers, lambda y_bar, x: _numbers(y_bar))


def _vanishing(f: Any, x: Any) -> Any:
    """Compute f where it is nothing: NaN counts as 0, and in derivatives too."""
    tree = Tree((closed(f), x))
    f, x = tree.build([z if readable(z) is z else _numbers(z) for z in tree.leaves])
    return _numbers(f(x))


class _Integrand:
    """A function, where it was looked at, and whether it is nothing at a place, by overflow.

    The formula reaches farther than SciPy looks. There ∞ times 0 is NaN, and 1 / ∞ is 0, with a
    derivative that is NaN.
    """

    def __init__(self, f: Any) -> None:
        self.f, self.ends = f, (math.inf, -math.inf)

    def seen(self, x: float) -> Any:
        self.ends = min(self.ends[0], x), max(self.ends[1], x)
        return readable(self.f(x))

    def at(self, x: Any) -> Any:
        """Compute it."""
        signals: list[Any] = []
        noted: Any = dict.fromkeys(("over", "invalid", "divide"), "call")
        try:
            with np.errstate(**noted, call=lambda *kind: signals.append(kind)):
                y = self.f(x)
        except OverflowError:  # of Python's floats
            return 0.0
        known = readable(y)
        is_far = not self.ends[0] <= readable(x) <= self.ends[1]
        is_nothing = (is_far or signals) and np.all((known == 0) | (np.isnan(known) & is_far))
        return _vanishing(self.f, x) if is_nothing else y


def _of_nothing(f: _Integrand, a: Any, b: Any) -> Any:
    """Integrate from a limit to itself: nothing, that grows as either limit moves."""
    if not varies((a, b)) or math.isinf(readable(a)):
        return 0.0
    total: Any = 0.0
    for before, _, weight in _GAUSS:
        total = total + weight * f.at(a + (b - a) * before)
    return (b - a) * total


def _over_all(f: _Integrand, a: Any, b: Any, low: float, high: float, pieces: Any) -> Any:
    """Integrate over pieces whose ends move with the limits."""
    if low == high:
        return _of_nothing(f, a, b)
    first, last = min(start for start, _ in pieces), max(end for _, end in pieces)
    is_finite = math.isfinite(low) and math.isfinite(high)
    total: Any = 0.0

    def add(x: Any, weight: float) -> None:
        nonlocal total
        total = total + weight * f.at(x)

    for start, end in pieces:
        for before, behind, weight in _AT_ENDS if start == first or end == last else _GAUSS:
            at, width = start + (end - start) * before, (end - start) * weight
            rest = last - end + (end - start) * behind
            if is_finite:
                part, rest = (at - low) / (high - low), rest / (high - low)
                if start == first:
                    part = (end - start) * before / (high - low)
                x = a + (b - a) * part if part < rest else b - (b - a) * rest
                if low < readable(x) < high:
                    add(x, width / (high - low))
                continue
            if at == 0 or rest == 0:
                continue
            # x = (1 - t) / t away from the finite limit, or from 0 to both sides.
            away, width = rest / at, width / at**2
            if math.isfinite(low):
                add(a + away, width)
            elif math.isfinite(high):
                add(b - away, width)
            else:
                add(away, width)
                add(-away, width)
    return total * (b - a) if is_finite else total


@stands_for(scipy.integrate.quad_vec)
def quad_vec(
    f: Any,
    a: Any,
    b: Any,
    epsabs: float = 1e-200,
    epsrel: float = 1e-8,
    norm: str = "2",
    cache_size: float = 100e6,
    limit: Any = 10000,
    workers: Any = 1,
    points: Any = None,
    quadrature: Any = None,
    full_output: bool = False,
    *,
    args: Any = (),
) -> Any:
    """Integrate a function whose values are arrays."""
    if full_output:
        reject(
            "quad_vec(full_output=True) is not for traced values; leave it out",
            UnsupportedKeywordError,
        )
    low, high = float(readable(a)), float(readable(b))
    integrand = _Integrand(lambda x: f(x, *args))
    value, error, info = _quad_vec(
        integrand.seen,
        low,
        high,
        epsabs,
        epsrel,
        norm,
        cache_size,
        limit,
        1,
        points,
        quadrature,
        True,
    )
    pieces = [tuple(map(float, piece)) for piece in info.intervals]
    if math.isinf(low) and math.isinf(high):  # SciPy's places are between -1 and 1 then
        edges = sorted({0.0, 1.0, *(abs(x) for piece in pieces for x in piece)})
        pieces = list(itertools.pairwise(edges))
    moving = _over_all(integrand, a, b, low, high, pieces)
    moving = _agreeing("quad_vec", value, moving, error)
    return answer("quad_vec(...)", (value, error), _0=moving)


@stands_for(scipy.integrate.nquad)
def nquad(
    func: Any, ranges: Any, args: Any = (), opts: Any = None, full_output: bool = False
) -> Any:
    """Integrate over several variables, one inside the other: as ``scipy.integrate.nquad``."""
    if full_output or not isinstance(opts, (dict, type(None))):
        reject(
            "nquad(full_output=True), and options for each variable, are not for traced values",
            UnsupportedKeywordError,
        )
    args = args if isinstance(args, tuple) else (args,)

    def over(k: int, outer: tuple[Any, ...]) -> Any:
        limits = ranges[k](*outer, *args) if callable(ranges[k]) else ranges[k]

        def f(x: Any) -> Any:
            return over(k - 1, (x, *outer))[0] if k else func(x, *outer, *args)

        return quad(f, *limits, **(opts or {}))

    return over(len(ranges) - 1, ())
