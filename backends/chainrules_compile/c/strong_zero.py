"""Lowering of strong products: zero where the cotangent is zero, whatever the partial is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import UnwritableError, View
from chainrules_compile.c.item_builder import Lowering, form, kind_of, resolved
from chainrules_compile.c.reductions import elementwise, reduce
from chainrules_compile.internal_functions import is_finite
from chainrules_py import ops as v
from chainrules_py.program import Call, Value


def _strong(s: Lowering, call: Call) -> View:
    """Lower a strong product.

    It is zero where the cotangent is zero and the partial is not finite.
    """
    (y,), (c, p) = call.results, call.operands
    *wanted, given = resolved(np.multiply, tuple([kind_of(x) for x in (c, p)]))
    if given != form(y)[1] or given.kind != "f":
        raise UnwritableError
    absolute = "fabs" if given.itemsize == 8 else "fabsf"
    text = f"{{0}} == 0 && !({absolute}({{1}}) < INFINITY) ? 0 : {{0}} * {{1}}"
    return s.computed(y, (c, p), text, wanted)


def _finite(s: Lowering, call: Call) -> View:
    """Lower the test whether all elements are finite: their differences from themselves are zero.

    Of a result that a saved program does not use later, test whether no element is NaN.
    """
    (x,), (y,) = call.operands, call.results
    view, (shape, dtype) = s.view(x), form(x)
    if dtype.kind != "f":
        raise UnwritableError
    text = "{0} != {0}" if y in s.ends else "{0} - {0}"
    if shape:
        view = elementwise(s, text, view)
        x, text = Value("", dtype.type, (), dtype), "{0}"
        s.views[x] = reduce(s, np.add, view, x, tuple(range(len(shape))))
    return s.computed(y, (x,), f"({text}) == 0", [dtype])


STRONG: dict[Any, Callable[[Lowering, Call], View]] = {
    v.strong_multiply: _strong,
    is_finite: _finite,
}
