"""Products of matrices and vectors: by NumPy's own loops, or of each element with each."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.items import Product
from chainrules_compile.c.lowering import Lowering, form, is_array
from chainrules_compile.c.memory import UnwritableError, View, contiguous
from chainrules_compile.c.sums import reduce, times
from chainrules_py.program import Call, Value


def product(s: Lowering, y: Value, a: View, b: View, *, rows: bool = False) -> View:
    """Lower a product as ``np.matmul`` computes it; what it gives may be all rows of a batch.

    What BLAS does not take as it lies is copied before, as `dot` does.
    """
    shape, dtype = form(y)
    if not (a.dtype == b.dtype == dtype) or dtype.char not in "fdFD":
        raise UnwritableError
    of_vectors = len(a.shape) == len(b.shape) == 2 and a.shape[0] == b.shape[1] == 1
    a, b = [x if len(x.shape) > 2 or _is_flat(x, of_vectors) else s.copy(x) for x in (a, b)]
    loop = s.loop(np.matmul, f"{dtype.char}{dtype.char}->{dtype.char}")
    out = s.result(y)
    step = dtype.itemsize
    target = tall(out) if rows else out
    if len(a.shape) == 1:
        a = a._replace(shape=(1, *a.shape), strides=(0, *a.strides))
        at = len(shape) - (len(b.shape) > 1)
        target = target._replace(
            shape=(*shape[:at], 1, *shape[at:]), strides=(*out.strides[:at], 0, *out.strides[at:])
        )
    if len(b.shape) == 1:
        b = b._replace(shape=(*b.shape, 1), strides=(*b.strides, 0))
        target = target._replace(shape=(*target.shape, 1), strides=(*target.strides, step))
    if not target.size:
        return out
    is_loop = dtype.kind == "f" and is_small(a, b)
    s.add(Product(target, a, b, loop, is_loop))
    return out


def is_small(a: View, b: View) -> bool:
    """Tell whether loops of C take less time for a product than BLAS takes to begin."""
    (m, n), q = a.shape[-2:], b.shape[-1]
    if min(m, q) > 1:
        return m * n * q <= _SMALL
    thin = min(n, max(m, q)) <= _THIN
    return m * n * q <= (16 * _OF_VECTOR if thin else _OF_VECTOR)


_SMALL = 1024
"""Up to so many products of elements: BLAS has registers for tiles of matrices."""

_OF_VECTOR = 2048
_THIN = 8


def multiplied(s: Lowering, y: Value, a: View, b: View) -> View:
    """Lower a product of each element of arrays that are spread over one shape."""
    if not (a.dtype == b.dtype == form(y)[1]) or a.dtype.kind != "f":
        raise UnwritableError
    return s.computed(y, (s.held(a), s.held(b)), "{0} * {1}", [a.dtype] * 2)


def stood_up(x: View) -> View:
    """Return a view with one more axis, the last."""
    return x._replace(shape=(*x.shape, 1), strides=(*x.strides, x.dtype.itemsize))


def transposed(x: View) -> View:
    """Return a view with its last two axes exchanged."""
    shape, strides = x.shape, x.strides
    return x._replace(
        shape=(*shape[:-2], shape[-1], shape[-2]), strides=(*strides[:-2], strides[-1], strides[-2])
    )


def tall(x: View) -> View:
    """Return a stack of matrices as one of all their rows."""
    if not x.in_c_order:
        raise UnwritableError
    *rows, columns = x.shape
    step = x.dtype.itemsize
    return x._replace(shape=(math.prod(rows), columns), strides=(columns * step, step))


def flattened(x: View) -> View:
    """Return a view with one axis."""
    step = x.dtype.itemsize
    if not x.in_c_order:
        raise UnwritableError
    return x._replace(shape=(x.size,), strides=(step,))


def _is_flat(x: View, is_vector: bool) -> bool:
    step = x.dtype.itemsize
    if len(x.shape) == 1 or is_vector:
        return all([t > 0 for n, t in zip(x.shape, x.strides, strict=True) if n != 1])
    return step in x.strides and (
        x.strides == contiguous(x.shape, step)
        or transposed(x).strides == contiguous(x.shape[::-1], step)
    )


def _matmul(s: Lowering, call: Call) -> View:
    if call.options or not all([is_array(x) for x in call.operands]):
        raise UnwritableError
    a, b = [s.view(x) for x in call.operands]
    return product(s, call.results[0], a, b)


def _dot(s: Lowering, call: Call) -> View:
    """Lower a product by ``np.dot``, of arrays of which it is the same."""
    a, b = call.operands
    if call.options or not (is_array(a) and is_array(b)):
        raise UnwritableError
    if max(len(form(a)[0]), len(form(b)[0])) > 2:
        raise UnwritableError
    return product(s, call.results[0], s.view(a), s.view(b))


def _axes(x: Any) -> int:
    return len(getattr(x, "shape", None) or ())


def _are_real(*xs: Any) -> bool:
    """Tell whether operands are values of floating numbers, whose adjoints have no conjugates."""
    return all([type(x) is Value and form(x)[1].kind == "f" for x in xs])


def _left(s: Lowering, call: Call) -> View:
    """Lower Ȳ Bᵀ."""
    (y_bar, a, b), (y,) = call.operands, call.results
    n, m = _axes(a), _axes(b)
    if not _are_real(y_bar, b) or not n or not m:
        raise UnwritableError
    view, other = s.view(y_bar), s.view(b)
    if m == 1:
        return multiplied(s, y, view if n == 1 else stood_up(view), other)
    if n == 1 and m > 2:
        raise UnwritableError
    if m == 2 and len(view.shape) == n > 2:
        return product(s, y, tall(view), transposed(other), rows=True)
    return product(s, y, view, transposed(other))


def _right(s: Lowering, call: Call) -> View:
    """Lower Aᵀ Ȳ."""
    (y_bar, a, b), (y,) = call.operands, call.results
    n, m = _axes(a), _axes(b)
    if not _are_real(y_bar, a) or not n or not m:
        raise UnwritableError
    view, other = s.view(y_bar), s.view(a)
    if n == 1:
        if m > 2:
            raise UnwritableError
        return multiplied(s, y, view, other if m == 1 else stood_up(other))
    if n > 2 and m < 3:
        other = tall(other)
        if m == 1 and len(view.shape) == n - 1:
            view = flattened(view)
        elif m == 2 and len(view.shape) == n:
            view = tall(view)
        else:
            raise UnwritableError
        return product(s, y, *((view, other) if m == 1 else (transposed(other), view)))
    return product(s, y, *((view, other) if m == 1 else (transposed(other), view)))


def _vdot(s: Lowering, call: Call) -> View:
    """Lower the sum of a product, which is added as other sums are, where that is allowed."""
    a, b = call.operands
    if call.options or not (is_array(a) and is_array(b)) or form(a) != form(b):
        raise UnwritableError
    if form(a)[1].char not in "fd" or form(call.results[0])[0]:
        raise UnwritableError
    view, other = s.view(a), s.view(b)
    if view.strides != other.strides:
        raise UnwritableError
    return reduce(s, np.add, times(s, view, other), call.results[0], tuple(range(len(view.shape))))


PRODUCTS: dict[Any, Callable[[Lowering, Call], View]] = {
    np.matmul: _matmul,
    operator.matmul: _matmul,
    np.dot: _dot,
    np.ndarray.dot: _dot,
    np.vdot: _vdot,
    "matmul_left_numpy": _left,
    "matmul_right_numpy": _right,
}
