"""Special functions over signs and regions of all parameters, against differences of the value.

Points have negative, zero, whole, half and large operands, in every mixture. Where SciPy's value is
finite and smooth, the derivative, in both modes, is that of the value.
"""

from __future__ import annotations

import math
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

import chainrules_scipy  # noqa: F401
from chainrules_tape import jvp, vjp

UFUNCS = {
    name: f
    for name, f in sorted(vars(scipy.special).items())
    if isinstance(f, np.ufunc)
    and not name.startswith("_")
    and name == f.__name__
    and name not in ("eval_hermite", "eval_hermitenorm")  # of whole degrees alone
    and not (name.endswith("_cv") and f.nin == 5)  # refused
}
PLACES = (
    *(-7.3, -3.0, -2.5, -1.0, -0.889, -0.5, -0.2, 0.0),
    *(0.108, 0.3, 0.5, 0.7, 0.95, 1.0, 1.5, 2.0, 3.0, 4.2, 9.5),
)
STEP = 1e-3
SEARCHED = frozenset(
    {"ncfdtridfd", "ncfdtridfn", "ncfdtrinc", "nctdtridf", "nctdtrit", "nctdtrinc"}
)
"""SciPy's searches for these end early, so that differences of them are right to three digits."""


@dataclass(frozen=True)
class Wrong:
    """A derivative that is another one than that of the value."""

    name: str
    place: int
    mode: str
    at: tuple[float, ...]
    found: float
    right: float

    @property
    def is_silent(self) -> bool:
        return not math.isnan(self.found)


def points(name: str, count: int, seed: int) -> list[np.ndarray]:
    """Draw operands of a ufunc: places, and numbers beside them."""
    rng = np.random.default_rng((zlib.crc32(name.encode()), seed))
    nin = UFUNCS[name].nin
    if nin == 1 and seed == 0:
        return [np.array(PLACES)]
    drawn = rng.choice(PLACES, (nin, count))
    beside = rng.normal(scale=0.3, size=drawn.shape) * (rng.random(drawn.shape) < 0.3)
    return list(drawn + beside)


def _parts(y: Any) -> list[np.ndarray]:
    """Return the results as real arrays."""
    results = y if isinstance(y, tuple) else (y,)
    return [part for z in results for part in (np.real(z), np.imag(z))[: 1 + np.iscomplexobj(z)]]


def _differences(f: Any, xs: list[np.ndarray], k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return differences of the fourth order of every result, and where they are trusted."""

    def moved(h: float) -> list[np.ndarray]:
        return _parts(f(*[x + h if i == k else x for i, x in enumerate(xs)]))

    def fourth(h: float) -> list[np.ndarray]:
        given = zip(moved(h), moved(-h), moved(2 * h), moved(-2 * h), strict=True)
        return [(8 * (a - b) - (c - d)) / (12 * h) for a, b, c, d in given]

    found = []
    sides = zip(moved(STEP / 4), moved(0.0), moved(-STEP / 4), strict=True)
    forms = zip(*[fourth(h) for h in (STEP, STEP / 3, STEP / 4)], strict=True)
    for (up, y, down), (wide, side, near) in zip(sides, forms, strict=True):
        size = 1e-6 * (abs(near) + abs(y)) + 1e-9
        trusted = np.isfinite(y) & (abs(wide - near) < size) & (abs(side - near) < size)
        kink = abs(up - 2 * y + down) > 0.05 * (abs(up - y) + abs(down - y)) + 1e-12 * abs(y)
        found.append((near, trusted & ~kink & (abs(y) < 1e8)))
    return found


def wrongs(name: str, count: int, seed: int) -> Iterator[Wrong]:
    """Judge a ufunc at drawn operands, in both modes."""
    f, xs = UFUNCS[name], points(name, count, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truths = [_differences(f, xs, k) for k in range(f.nin)]
        found = list(_derivatives(f, xs))
    for k, mode, slopes in found:
        for (right, trusted), slope in zip(truths[k], slopes, strict=True):
            allowed = (3e-3 if name in SEARCHED else 1e-4) * (abs(right) + 1e-2)
            apart = trusted & ~(abs(slope - right) <= allowed)
            for i in np.flatnonzero(apart):
                at = tuple(float(x[i]) for x in xs)
                yield Wrong(name, k, mode, at, float(slope[i]), float(right[i]))


def _derivatives(f: Any, xs: list[np.ndarray]) -> Iterator[tuple[int, str, list[np.ndarray]]]:
    for k, x in enumerate(xs):

        def along(z: Any, k: int = k) -> Any:
            return f(*[z if i == k else x for i, x in enumerate(xs)])

        yield k, "forward", _parts(jvp(along, (x,), (np.ones_like(x),))[1])
        y, pull = vjp(along, x)
        results = y if isinstance(y, tuple) else (y,)
        slopes = []
        for n, z in enumerate(results):
            for unit in (1.0, 1j)[: 1 + np.iscomplexobj(z)]:
                seed = [np.full_like(w, unit if m == n else 0) for m, w in enumerate(results)]
                slopes.append(pull(tuple(seed) if isinstance(y, tuple) else seed[0])[0])
        yield k, "reverse", slopes
