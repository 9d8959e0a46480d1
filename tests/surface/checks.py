"""Checks of a call of one of NumPy's functions."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable

import numpy as np

from chainrules_py import ChainRulesError
from tests.surface import derivatives as d
from tests.surface import kinds as k
from tests.surface.calls.call import SurfaceCall
from tests.surface.point import Point


def _at_a_point(check: Callable[[Point], bool]) -> Callable[[SurfaceCall], bool]:
    return lambda call: check(Point(call))


_CHECKS: dict[str, Callable[[SurfaceCall], bool]] = {
    "value": _at_a_point(d.check_value),
    "forward": _at_a_point(d.check_forward),
    "reverse": _at_a_point(d.check_reverse),
    "frule": _at_a_point(d.check_frule),
    "rrule": _at_a_point(d.check_rrule),
    "second order": _at_a_point(d.check_second),
    "constant": _at_a_point(d.check_constant),
    "float32": k.check_float32,
    "float32 frule": k.check_float32_frule,
    "float32 rrule": k.check_float32_rrule,
    "float32 second order": k.check_float32_second,
    "layout": k.check_layout,
    "integers": k.check_integers,
    "shapes": k.check_shapes,
}
CELLS = tuple(_CHECKS)
"""What is checked of a call, in this order."""


def complex_twin(call: SurfaceCall) -> SurfaceCall | None:
    """Make the call complex where its sample does not ask for it and NumPy allows it, or None."""
    if call.complex or call.sample.complex:
        return None
    twin = dataclasses.replace(call, complex=True)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            point = Point(twin)
            point.value(*point.xs)
        except Exception:  # whatever NumPy says
            return None
    return twin if any(map(np.size, point.xs)) else None


def check_twin(call: SurfaceCall) -> tuple[str, ...]:
    """Check the complex twin of a call: it is right, or refused in so many words."""
    twin = complex_twin(call)
    found: list[str] = []
    if twin is None:
        return ()
    for cell in CELLS:
        if cell == "shapes":  # those of the call itself will do
            continue
        with contextlib.suppress(ChainRulesError, d.NoTruthError):
            found += check_call(twin, (cell,))
    return tuple(found)


def check_call(call: SurfaceCall, cells: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Check a call of a function of NumPy, and say which cells were checked.

    Parameters
    ----------
    call : SurfaceCall
        What to call.
    cells : tuple of str, optional
        Out of `CELLS`; all of them if not given.

    Returns
    -------
    tuple of str
        The cells that had something to check.

    Raises
    ------
    AssertionError
        If something is wrong; the text says which cell, and what differences gave.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        chosen = CELLS if cells is None else cells
        return tuple([cell for cell in chosen if _CHECKS[cell](call)])
