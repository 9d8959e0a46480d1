"""Checks of the result of a recorded function, and its comparison with that of the program."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from chainrules_compile.errors import Unfit, refused
from chainrules_compile.guards import PLAIN, Guards, equal
from chainrules_compile.recorded_values import Noted
from chainrules_compile.recorder import Recorder
from chainrules_compile.recording_refusals import recordable
from chainrules_py import is_zero
from chainrules_py.extend import flatten, unflatten
from chainrules_py.program import Program


def raise_first(recorder: Recorder) -> None:
    """Raise the first error of the recording, even if the function caught it.

    Raises
    ------
    Unfit
        If a call raised and the function went on: in the next call it may not raise.
    """
    for error in refused.get() or ():
        raise error
    if recorder.failed is not None:
        raise Unfit(
            f"it goes on after {type(recorder.failed).__name__}: {recorder.failed}", once=True
        )


def check_results(leaves: list[Any], guards: Guards) -> None:
    """Raise if a leaf of a result cannot be recomputed by a program."""
    for leaf in leaves:
        if (
            isinstance(leaf, (Noted, *PLAIN, slice, type))
            or recordable(type(leaf))
            or is_zero(leaf)  # as of a field that holds a text
            or any([leaf is x.value for x in guards.lookups])
        ):
            continue
        if callable(leaf) and not isinstance(leaf, type):
            raise Unfit(
                "its result holds a function, which it makes anew at each call; compile what is "
                "called: lambda x, y_bar: vjp(f, x)[1](y_bar) for the pullback of f"
            )
        raise Unfit(
            f"its result holds a {type(leaf).__qualname__}, which it makes anew at each call; give "
            f"arrays and numbers, in tuples, lists, dicts or dataclasses"
        )


@np.errstate(all="ignore")
def close(
    y: Any,
    expected: Any,
    moved: Callable[[], list[Any]] = list,
    rounding: float = 0.0,
    given: Any = (),
) -> bool:
    """Return whether the result of a program equals that of the function up to rounding.

    Results in double precision may be rounded in single precision on the way, so `rounding` is that
    of the least precise value of the program.
    Cancellation may leave no digit that two roundings share. Such numbers are compared within the
    spread of the function's results for arguments perturbed by about their rounding. Where all of a
    result has cancelled, as a gradient that is zero, only the arguments `given` have a scale.
    """
    (xs, tree), (wanted, of) = flatten(y), flatten(expected)
    if tree != of:
        return False
    others: list[list[Any]] | None = None
    for i, (x, want) in enumerate(zip(xs, wanted, strict=True)):
        if not isinstance(want, np.ndarray | np.generic | float | int | complex):
            told = isinstance(x, (*PLAIN, type)) or isinstance(want, (*PLAIN, type))
            if told and not equal(x, want):  # other objects cannot be compared
                return False
            continue
        x, want = np.asarray(x), np.asarray(want)
        if x.dtype != want.dtype or x.shape != want.shape:
            return False
        if x.dtype.kind in "fc":
            step = max(float(np.finfo(x.dtype).eps), rounding) ** 0.5
            if _near(x, want, step, step * largest([want])):
                continue
            if others is None:
                leaves = [flatten(other) for other in moved()]
                others = [each for each, tree in leaves if tree == of]
            noise = max([_apart(other[i], want) for other in others], default=0.0)
            top = largest(wanted)  # what cancels to 0 in one order of additions may not in another
            most = max(step * top, _NOISE * step * step * largest(flatten(given)[0]))
            if not _near(x, want, step, max(step * step * top, min(_NOISE * noise, most))):
                return False
        elif not np.array_equal(x, want):
            return False
    return True


def coarsest(program: Program) -> float:
    """Return the rounding of the least precise floating-point value of a program."""
    kinds = {x.dtype for call in program for x in (*call.values, *call.results)}
    return max(
        [float(np.finfo(kind).eps) for kind in kinds if getattr(kind, "kind", "") in ("f", "c")],
        default=0.0,
    )


_NOISE = 1000.0
"""Maximum ratio of a program's rounding to the effect of perturbed arguments."""


def _near(x: Any, want: Any, rtol: float, atol: Any) -> bool:
    """Return whether all numbers are close, or NaN in both; an infinity is close only to itself.

    `np.allclose` differs: its bound is infinite for complex numbers whose magnitude overflows
    their dtype, and it warns for a bound in more than double precision.
    """
    bound = np.asarray(atol) + np.abs(rtol * want)
    near = (np.abs(x - want) <= bound) & np.isfinite(bound)
    return bool(np.all(near | (x == want) | (np.isnan(x) & np.isnan(want))))


def largest(xs: Iterable[Any]) -> Any:
    """Return the largest finite magnitude in arrays, as a `longdouble` if it is one."""
    found: Any = 0.0
    for x in xs:
        if isinstance(x, np.ndarray | np.generic | float | complex):
            x = np.abs(np.asarray(x))
            top = np.max(x, initial=0.0, where=np.isfinite(x))
            found = max(found, top if x.dtype == np.longdouble else float(top))
    return found


def _apart(x: Any, want: Any) -> Any:
    """Return the largest difference of two results where both are finite."""
    if not isinstance(x, np.ndarray | np.generic | float | complex) or np.shape(x) != want.shape:
        return 0.0
    with np.errstate(all="ignore"):
        return largest([np.asarray(x) - want])


def moved_results(f: Callable[..., Any], args: Any, keywords: Any) -> list[Any]:
    """Return the results of a function for arguments perturbed by some units of rounding."""
    leaves, tree = flatten((args, keywords))
    rng, found = np.random.default_rng(0), []
    for lowest, highest in ((1.0, 4.0), (-4.0, -1.0), (-4.0, 4.0)):
        known = {id(x): _moved(x, rng.uniform(lowest, highest, np.shape(x))) for x in leaves}
        args, keywords = unflatten(tree, [known[id(x)] for x in leaves])
        with warnings.catch_warnings(), np.errstate(all="ignore"), suppress(Exception):
            warnings.simplefilter("ignore")
            found.append(f(*args, **keywords))
    return found


def _moved(x: Any, by: Any) -> Any:
    """Return a number or an array perturbed by a multiple of its rounding."""
    if type(x) not in (np.ndarray, float, complex) and not isinstance(x, np.inexact):
        return x
    y: Any = np.asarray(x)
    if y.dtype.kind not in "fc" or not y.size:
        return x
    eps = float(np.finfo(y.dtype).eps)  # applied first: magnitudes of complex numbers may overflow
    with np.errstate(all="ignore"):
        y = y + (by * (np.abs(eps * y) + eps * (largest([y]) or 1.0))).astype(y.dtype)
    return y if type(x) is np.ndarray else type(x)(y)
