"""Calls of which operands are of a class derived from NumPy's array, without arithmetic of its own.

So are the elements of a file (`np.memmap`). Such an array computes as one of NumPy's does.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np

from chainrules_py import ChainRulesError
from chainrules_tape import jvp, vjp
from tests.fuzz.widths import entered, numbers_of
from tests.surface.point import Point


class Derived(np.ndarray):
    """An array with a name."""


class Named(np.ndarray):
    """An array that hands its name on."""

    def __array_finalize__(self, obj: Any) -> None:
        self.name = getattr(obj, "name", "")


CLASSES = {"derived": Derived, "named": Named, "memmap": np.memmap}


def wrong(number: int, kind: str) -> str:
    """Tell what is wrong with a call at such operands, moving or beside what moves."""
    call, f = entered()[number]
    point = Point(call, f=f)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        plain, of_class = list(point.xs), [_as(x, CLASSES[kind]) for x in point.xs]
        arrays = [i for i, x in enumerate(plain) if isinstance(x, np.ndarray)]
        for moving in [range(len(plain)), *([i] for i in range(len(plain)) if len(plain) > 1)]:
            said = _wrong(functools.partial(numbers_of, point), plain, of_class, list(moving))
            if said or not arrays:
                return said and f"{call} of {kind}, in {list(moving)}: {said}"
    return ""


def _as(x: Any, cls: type) -> Any:
    return x.view(cls) if type(x) is np.ndarray else x


def _same(p: Any, q: Any) -> bool:
    return np.shape(p) == np.shape(q) and np.allclose(p, q, 1e-9, 1e-12, equal_nan=True)


def _wrong(function: Any, plain: list[Any], of_class: list[Any], moving: list[int]) -> str:
    alone = len(moving) < len(plain)

    def at(values: list[Any], *xs: Any) -> Any:
        full = [*values]
        for i, x in zip(moving, xs, strict=True):
            full[i] = x
        return function(*full)

    def both(values: list[Any], xs: tuple[Any, ...]) -> Any:
        f = functools.partial(at, values)
        y, pull = vjp(f, *xs)
        ones = [p * 0 + 1.0 for p in y]
        return y, pull(ones), jvp(f, xs, tuple([x * 0 + 1.0 for x in xs]))[1]

    try:
        value = at(of_class, *[of_class[i] for i in moving])
        if not all(map(_same, value, at(plain, *[plain[i] for i in moving]))):
            return ""  # NumPy computes something else of such
        want = both(plain, tuple([plain[i] for i in moving]))
    except Exception:  # NumPy itself does not take it, or nothing is known of it
        return ""
    try:
        found = both(of_class, tuple([(plain if alone else of_class)[i] for i in moving]))
    except ChainRulesError:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for a, b in zip(found, want, strict=True):
        for p, q in zip(a, b, strict=True):
            if not _same(p, q):
                return f"{p!r} for {q!r}"
    return ""
