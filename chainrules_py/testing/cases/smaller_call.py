"""A smaller version of a large call, from which other calls are derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.cases.operand_variants import is_numpy
from chainrules_py.values.pytree import map_leaves

_SHORT = 6


def smaller(case: Case) -> Case | None:
    """Cut the arrays of a call to a few elements along each axis; None if f rejects them.

    Axes of one length keep one length, and others stay different. Integers may be indices: if the
    function rejects them, they are reduced modulo the shortest length.
    """
    lengths: set[int] = set()
    map_leaves(lambda x: lengths.update(np.shape(x)) if is_numpy(x) else None, case.operands)
    short = _shortened(lengths)
    for change in (lambda x: x, lambda x: _inside(x, min(short.values(), default=1))):
        cut = _cutter(short, change)
        operands = tuple([map_leaves(cut, x) for x in case.operands])
        try:
            small = case.another(operands, brief=case.brief)
        except Exception:  # the function itself rejects it
            continue
        if np.all(np.isfinite(small.vector_of_values())) and not small.is_large:
            return small
    return None


def _shortened(lengths: set[int]) -> dict[int, int]:
    """Map each long length to a short one, distinct while there are any left."""
    short = {n: n for n in lengths if n <= _SHORT}
    free = [n for n in (5, 4, 6, 3, 2) if n not in short]
    for n in sorted(lengths - short.keys()):
        short[n] = free.pop(0) if free else _SHORT
    return short


def _cutter(short: dict[int, int], change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def cut(x: Any) -> Any:
        if not is_numpy(x):
            return x
        return change(x[tuple([slice(short[n]) for n in x.shape])].copy())

    return cut


def _inside(x: Any, n: int) -> Any:
    return x % n if x.dtype.kind in "iu" else x
