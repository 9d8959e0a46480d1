"""Results: what a recorded function may give, and whether a program gives the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_compile.alike import PLAIN, alike
from chainrules_compile.captures import Captures
from chainrules_compile.errors import Unfit, refused
from chainrules_compile.halves import GivesFunctions
from chainrules_compile.noted import Noted
from chainrules_compile.outside import is_lasting
from chainrules_compile.recorder import Recorder
from chainrules_compile.refusals import recordable
from chainrules_py.extend import flatten, type_info


def raise_first(recorder: Recorder) -> None:
    """Raise what was refused while the function was recorded, and let pass by it.

    Raises
    ------
    Unfit
        If a call raised, and the function went on: at the next call it may not raise.
    """
    for error in refused.get() or ():
        raise error
    if recorder.failed is not None:
        msg = f"it goes on after {type(recorder.failed).__name__}: {recorder.failed}"
        raise Unfit(msg, once=True)


def check_results(leaves: list[Any], captures: Captures) -> None:
    """Raise for a part of a result that a program cannot give at each call."""
    for leaf in leaves:
        if isinstance(leaf, Noted) or recordable(type(leaf)) or is_lasting(leaf):
            continue
        if captures.has(leaf):
            continue
        if callable(leaf):
            raise GivesFunctions
        msg = (
            f"its result holds a {type(leaf).__qualname__}, which it makes anew at each call; give "
            f"arrays and numbers, in tuples, lists, dicts or dataclasses"
        )
        raise Unfit(msg)


def is_on_device(x: Any) -> bool:
    """Tell whether a value is an array, and none of NumPy's."""
    return type_info(type(x)).is_array and not isinstance(x, np.ndarray)


def _said_alike(x: Any, want: Any) -> bool:
    """Tell whether texts, classes and their like are the same; of other objects, yes."""
    said = isinstance(x, (*PLAIN, type)) or isinstance(want, (*PLAIN, type))
    return not said or alike(x, want)


def same(y: Any, expected: Any) -> bool:
    """Tell whether a program gave what the function gives."""
    (xs, tree), (wanted, of) = flatten(y), flatten(expected)
    if tree != of:
        return False
    for x, want in zip(xs, wanted, strict=True):
        if not isinstance(want, np.ndarray | np.generic | float | int | complex):
            if not _said_alike(x, want):
                return False
            continue
        if type(x) is not type(want):
            return False
        x, want = np.asarray(x), np.asarray(want)
        if x.dtype != want.dtype or not np.array_equal(x, want, equal_nan=x.dtype.kind in "fc"):
            return False
    return True


def close(y: Any, expected: Any) -> bool:
    """Tell whether a program gave what the function gives, but for its rounding."""
    (xs, tree), (wanted, of) = flatten(y), flatten(expected)
    if tree != of:
        return False
    for x, want in zip(xs, wanted, strict=True):
        if is_on_device(x) or is_on_device(want):
            if type(x) is not type(want):
                return False
            x, want = x.get(), want.get()
        if not isinstance(want, np.ndarray | np.generic | float | int | complex):
            if not _said_alike(x, want):
                return False
            continue
        x, want = np.asarray(x), np.asarray(want)
        if x.dtype != want.dtype or x.shape != want.shape:
            return False
        if x.dtype.kind in "fc":
            step = float(np.finfo(x.dtype).eps) ** 0.5
            scale = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
            if not np.allclose(x, want, rtol=step, atol=step * scale, equal_nan=True):
                return False
        elif not np.array_equal(x, want):
            return False
    return True
