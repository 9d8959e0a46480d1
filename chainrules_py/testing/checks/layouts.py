"""The check of layouts: the same numbers, otherwise in memory, have the same derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from chainrules_py.testing.checks.derived import value_at
from chainrules_py.testing.data.case import Case
from chainrules_py.testing.diagnosis import is_numpy, read_only, strided, upside_down
from chainrules_py.testing.errors import WrongError, not_judged_if

_LAYOUTS: Mapping[str, tuple[str, Callable[[Any], Any], int]] = {
    "non-contiguous": ("wrong for non-contiguous input", strided, 1),
    "negative stride": ("wrong for non-contiguous input (negative strides)", upside_down, 1),
    "Fortran order": ("wrong for non-contiguous input (Fortran order)", np.asfortranarray, 2),
    "read-only": ("wrong for read-only input", read_only, 0),
}


def check_layouts(case: Case) -> None:
    """Check that the same numbers in another layout of memory have the same derivatives."""
    arrays = any(map(is_numpy, (*case.operands, case.y)))
    not_judged_if(not arrays, "no operand is an array of NumPy")
    want = _numbers(case, lambda x: x)
    for name, (pattern, lay, ndim) in _LAYOUTS.items():

        def laid(x: Any, lay: Any = lay, ndim: int = ndim) -> Any:
            return lay(x) if is_numpy(x) and x.ndim >= ndim and x.size else x

        _check_layout(case, f"operands and tangents in {name}", pattern, laid, None, want)
        if ndim == 2:  # what lies unlike the others
            there = [i for i, x in enumerate(case.operands) if laid(x) is not x]
            told = f"and the others not, in {name}"
            for i in there:
                _check_layout(case, f"argument {i + 1}, {told}", pattern, laid, [i], want)
            if len(there) > 1:
                _check_layout(case, f"operands, {told}", pattern, laid, there, want)


def _check_layout(
    case: Case, told: str, pattern: str, laid: Callable[[Any], Any], places: Any, want: Any
) -> None:
    """Check both halves with all arrays in a layout, or operands at some places alone."""
    try:
        again = _numbers(case, laid, places)
    except Exception as error:
        if value_at(case, _laid_at(case, laid, places)) is None:
            return
        msg = f"with {told} layout: {type(error).__name__}: {error}"
        raise WrongError(msg, pattern) from error
    for half, have, there in zip(("push", "pull"), again, want, strict=True):
        if have is not None and not agree(case, half, have, there):
            msg = f"with {told} layout the {half} is another one"
            raise WrongError(f"{msg}\n  have {have[:6]}\n  want {there[:6]}", pattern)


def agree(case: Case, half: str, have: Any, want: Any) -> bool:
    """Whether two images along the last direction are equal but for rounding, where finite."""
    finite = np.isfinite(want)
    rows = case.sizes_of_result if half == "push" else 1.0 / case.steps
    allowed = case.allowed(want, rows, np.ones(()), max(1e-9, 1e4 * case.precision))
    return bool(np.all(np.abs(have - want)[finite] <= allowed[finite]))


def _laid_at(case: Case, change: Callable[[Any], Any], places: Any) -> tuple[Any, ...]:
    chosen = range(len(case.operands)) if places is None else places
    return tuple([change(x) if i in chosen else x for i, x in enumerate(case.operands)])


def _numbers(case: Case, change: Callable[[Any], Any], places: Any = None) -> tuple[Any, Any]:
    """Compute both halves along the last directions, as vectors, with changed arrays.

    With places these operands alone are changed, and no tangents.
    """
    push = pull = None
    varied = case.beside(_laid_at(case, change, places))
    own = change if places is None else lambda t: t
    if case.has_push:
        push = case.raw.vector(varied.frule(tuple(map(own, case.tangents(case.u[:, -1]))))[1])
    if case.has_pull:
        bars = varied.pullback()[1](own(case.cotangent(case.w[:, -1])))
        pull = case.bars_vector(bars)
    return push, pull
