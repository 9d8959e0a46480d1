"""Factors of matrices, and what is solved with them: the loops of `numpy.linalg`, LAPACK's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrules_native.items import Factored
from chainrules_native.lowering import Lowering, form, is_array
from chainrules_native.memory import UnwritableError, View, contiguous
from chainrules_py import vocabulary as v
from chainrules_py.program import Call

_loops: Any = np.linalg._umath_linalg
_DOUBLE = np.dtype(np.float64)


def _matrices(s: Lowering, x: Any) -> View:
    """Return square matrices, in C order where they are a stack."""
    if not is_array(x) or form(x)[1] != _DOUBLE:
        raise UnwritableError  # NumPy computes in double precision, and rounds
    view = s.view(x)
    shape = view.shape
    if len(shape) < 2 or shape[-1] != shape[-2] or not view.size:
        raise UnwritableError
    return view if len(shape) == 2 else _in_order(s, view)


def _in_order(s: Lowering, view: View) -> View:
    return view if view.strides == contiguous(view.shape, view.dtype.itemsize) else s.copy(view)


def _of_matrices(name: str) -> Any:
    """Return how a function of a stack of matrices is lowered that gives as many."""

    def lower(s: Lowering, call: Call) -> View:
        (x, *rest), (y,) = call.operands, call.results
        if rest or any(call.options.values()) or form(y) != form(x):
            raise UnwritableError
        view = _matrices(s, x)
        loop = s.loop(getattr(_loops, name), "d->d")
        out = s.result(y)
        if len(view.shape) > 2 and out.strides != contiguous(out.shape, 8):
            raise UnwritableError
        s.add(Factored(out, [view], loop, view.shape[-1:], math.prod(view.shape[:-2])))
        return out

    return lower


def _solved(s: Lowering, call: Call) -> View:
    """Lower a system of equations with one matrix, and one right side or several."""
    (a, b), (y,) = call.operands, call.results
    if call.options or not is_array(b) or form(b)[1] != _DOUBLE or form(y)[1] != _DOUBLE:
        raise UnwritableError
    view, right = _matrices(s, a), s.view(b)
    if len(view.shape) > 2 or len(right.shape) > 2 or not right.size:
        raise UnwritableError
    one = len(right.shape) == 1
    loop = s.loop(_loops.solve1 if one else _loops.solve, "dd->d")
    out = s.result(y)
    s.add(Factored(out, [view, right], loop, right.shape, 1))
    return out


FACTORS: dict[Any, Any] = {
    **dict.fromkeys((v.cholesky, np.linalg.cholesky), _of_matrices("cholesky_lo")),
    **dict.fromkeys((v.inv, np.linalg.inv), _of_matrices("inv")),
    **dict.fromkeys((v.solve, np.linalg.solve), _solved),
}
