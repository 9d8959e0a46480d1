"""Strong products: zeros where cotangents are zero, though their partials are infinite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.items import Finite
from chainrules_compile.c.lowering import Lowering, form, kind_of, resolved
from chainrules_compile.c.memory import UnwritableError, View
from chainrules_compile.calls import is_finite
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Value


def _strong(s: Lowering, call: Call) -> View:
    """Lower a strong product.

    A zero of the cotangent gives zero where the partial is not finite.
    """
    (y,), (c, p) = call.results, call.operands
    *wanted, given = resolved(np.multiply, tuple([kind_of(x) for x in (c, p)]))
    if given != form(y)[1] or given.kind != "f":
        raise UnwritableError
    absolute = "fabs" if given.itemsize == 8 else "fabsf"
    text = f"{{0}} == 0 && !({absolute}({{1}}) < INFINITY) ? 0 : {{0}} * {{1}}"
    return s.computed(y, (c, p), text, wanted)


def _finite(s: Lowering, call: Call) -> View:
    (x,), (y,) = call.operands, call.results
    s.asked[y] = x
    return _asked(s, x, s.result(y))


def _asked(s: Lowering, x: Value, out: View) -> View:
    """Lower the question whether all elements are finite, as BLAS sums their squares."""
    _, dtype = form(x)
    if dtype.kind != "f" or dtype.itemsize not in (4, 8):
        raise UnwritableError
    source = s.view(x)
    if source.shape and not source.is_whole:
        source = s.copy(source)
    char = dtype.char
    s.add(Finite(out, source, s.loop(np.matmul, f"{char}{char}->{char}")))
    return out


STRONG: dict[Any, Callable[[Lowering, Call], View]] = {
    v.strong_multiply: _strong,
    is_finite: _finite,
}
