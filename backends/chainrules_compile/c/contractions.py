"""Lowering of products of two arrays, summed along some axes, to products of matrices.

The axes have labels, as in `np.einsum`. Axes that only one array has are summed first. Small
products are C loops; others call the loop of ``np.matmul``, which calls BLAS.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import Shape, UnwritableError, View, contiguous
from chainrules_compile.c.expression_text import c_type
from chainrules_compile.c.item_builder import Lowering, argument_of, form, is_array, only
from chainrules_compile.c.kernels import nest
from chainrules_compile.c.reductions import reduce, times
from chainrules_py import ops as v
from chainrules_py.program import Call, Value

Labels = tuple[Any, ...]


def contracted(
    s: Lowering, y: Value, a: View, left: Labels, b: View, right: Labels, wanted: Labels
) -> View:
    """Lower a product of arrays with labelled axes, summed along labels that are not wanted."""
    (whole, dtype), given = form(y), (a.dtype, b.dtype)
    if given != (dtype, dtype) or dtype.char not in "fd" or not a.size * b.size * math.prod(whole):
        raise UnwritableError
    (a, left), (b, right) = _long(a, left), _long(b, right)
    order = tuple([c for c, n in zip(wanted, whole, strict=True) if n != 1])
    a, left = _summed(s, a, left, {*right, *order})
    b, right = _summed(s, b, right, {*left, *order})
    if {*left, *right} == {*order}:
        xs = [s.held(_spread(*each, wanted, whole)) for each in ((a, left), (b, right))]
        return s.computed(y, tuple(xs), "{0} * {1}", [dtype] * 2)
    rows, columns = [[c for c in order if c not in of] for of in (right, left)]
    if rows and columns and order.index(columns[0]) < order.index(rows[0]):
        a, left, rows, b, right, columns = b, right, columns, a, left, rows
    stack = [c for c in order if c in left and c in right]
    inside = [c for c in left if c not in order]
    one, two = (
        _matrices(s, a, left, stack, rows, inside),
        _matrices(s, b, right, stack, inside, columns),
    )
    out = _product(s, one, two)
    parts = [(c, n) for of, x in ((left, a), (right, b)) for c, n in zip(of, x.shape, strict=True)]
    shape = tuple([dict(parts)[c] for c in (*stack, *rows, *columns)])
    out = out._replace(shape=shape, strides=contiguous(shape, dtype.itemsize))
    return s.laid_out(_spread(out, (*stack, *rows, *columns), wanted, whole), y)


def _long(view: View, labels: Labels) -> tuple[View, Labels]:
    """Return a view without its axes of length one, which may be broadcast."""
    axes = [d for d, n in enumerate(view.shape) if n != 1]
    return _permuted(view, axes), tuple([labels[d] for d in axes])


def _permuted(view: View, axes: list[int]) -> View:
    shape, strides = [tuple([xs[d] for d in axes]) for xs in (view.shape, view.strides)]
    return view._replace(shape=shape, strides=strides)


def _spread(view: View, labels: Labels, wanted: Labels, shape: Shape) -> View:
    """Return a view with the wanted axes, broadcast along those that it lacks."""
    steps = dict(zip(labels, view.strides, strict=True))
    return view._replace(shape=shape, strides=tuple([steps.get(c, 0) for c in wanted]))


def _summed(s: Lowering, view: View, labels: Labels, others: set[Any]) -> tuple[View, Labels]:
    """Sum a view along the axes that neither the other array nor the result has."""
    axes = tuple([d for d, c in enumerate(labels) if c not in others])
    if not axes:
        return view, labels
    rest = [d for d in range(len(labels)) if d not in axes]
    shape, step = tuple([view.shape[d] for d in rest]), view.dtype.itemsize
    cls = np.ndarray if shape else view.dtype.type
    y = Value("", cls, shape, view.dtype, layout=contiguous(shape, step))
    return reduce(s, np.add, view, y, axes), tuple([labels[d] for d in rest])


def _matrices(s: Lowering, view: View, labels: Labels, *parts: list[Any]) -> View:
    """Return a view as a stack of matrices: each of the three axes merges a part of the labels."""
    view = _permuted(view, [labels.index(c) for part in parts for c in part])
    sizes = iter(view.shape)
    shape = tuple([math.prod([next(sizes) for _ in part]) for part in parts])
    array, memory = view.shadow()
    found = array.reshape(shape)
    if np.shares_memory(found, memory):
        return view.part(found, memory)
    return s.copy(view)._replace(shape=shape, strides=contiguous(shape, view.dtype.itemsize))


_SMALL, _OF_VECTOR, _OF_THIN = 1024, 2048, 32768
"""Maximum numbers of multiplications for which loops take less time than the overhead of BLAS."""


def _product(s: Lowering, a: View, b: View) -> View:
    """Lower the products of the matrices in two stacks."""
    (stack, m, n), q = a.shape, b.shape[-1]
    most = _SMALL if min(m, q) > 1 else _OF_THIN if min(n, max(m, q)) <= 8 else _OF_VECTOR
    is_small = m * n * q <= most
    if not is_small:
        a, b = [x if _is_blas(x) else s.copy(x) for x in (a, b)]
    out = s.new((stack, m, q), a.dtype)
    xs = (out, a, b)
    places = [f"a{k} + i0 * {x.strides[0]}L" for k, x in enumerate(xs)]
    if is_small:
        text = _loops(xs, places)
    else:
        _, *ends = [
            f"{place}, {x.strides[1]}, {x.strides[2]}" for place, x in zip(places, xs, strict=True)
        ]
        ends.append(f"{places[0]}, {out.strides[1]}, {out.strides[2]}")
        loop = s.loop(np.matmul, f"{a.dtype.char * 2}->{a.dtype.char}")
        text = f"matmul(L, {loop}, {', '.join(ends)}, {m}, {n}, {q});"
    s.kernel(f"  {nest((stack,))}{text}\n", [out], [a, b])
    return out


def _is_blas(x: View) -> bool:
    """Return whether BLAS accepts the layout of a stack of matrices."""
    (m, n), (down, along), step = x.shape[1:], x.strides[1:], x.dtype.itemsize
    if min(m, n) == 1:
        return (along if m == 1 else down) > 0
    return (along == step and down >= n * step) or (down == step and along >= m * step)


def _loops(views: tuple[View, View, View], places: list[str]) -> str:
    """Write a product as loops, the innermost along contiguous memory."""
    (o, a, b), kind, step = places, c_type(views[0].dtype), views[0].dtype.itemsize
    (om, oq), (am, an), (bn, bq) = [x.strides[1:] for x in views]
    (m, n), q = views[1].shape[1:], views[2].shape[2]
    if q == 1 or (bq != step and am == step):  # transpose the product
        a, b, m, q, am, an, bn, bq, om, oq = b, a, q, m, bq, bn, an, am, oq, om
    each = f"AT(const {kind}, {a} + i * {am} + k * {an})"
    other = f"AT(const {kind}, {b} + k * {bn} + j * {bq})"
    out, columns = f"AT({kind}, {o} + i * {om} + j * {oq})", f"for (I j = 0; j < {q}; j++)"
    rows, sums = f"for (I i = 0; i < {m}; i++)", f"for (I k = 0; k < {n}; k++)"
    if bq != step and bn == an == step:
        total = f"{kind} r = 0; SUMS {sums} r += {each} * {other};"
        return f"{rows} {columns} {{\n    {total}\n    {out} = r; }}"
    first = f"{kind} r[{q}]; {columns} r[j] = 0;"
    body = f"{sums} {{ const {kind} x = {each};\n    IVDEP {columns} r[j] += x * {other}; }}"
    return f"{rows} {{\n    {first}\n    {body}\n    {columns} {out} = r[j]; }}"


# -------------------------------------------------------------------------------- what is lowered


def _labels(a: Any, b: Any) -> tuple[Labels, Labels, Labels]:
    """Return the labels of two arrays, or spaces, and of their ``np.matmul``."""
    n, m = [len(getattr(x, "shape", None) or ()) for x in (a, b)]
    if not n * m:
        raise UnwritableError
    left, right = (*range(-n, -2), "i", "k")[-n:], (*range(-m, -2), "k", "j")[:m]
    return left, right, (*range(-max(n, m), -2), *"i" * (n > 1), *"j" * (m > 1))


def _views(s: Lowering, call: Call, *xs: Any) -> list[View]:
    if call.options or not all([type(x) is Value for x in xs]):
        raise UnwritableError
    return [s.view(x) for x in xs]


def _matmul(s: Lowering, call: Call) -> View:
    a, b = call.operands
    left, right, both = _labels(a, b)
    if call.function in _DOTS and len(both) > 2:  # `dot` of stacks differs from `matmul`
        raise UnwritableError
    one, two = _views(s, call, a, b)
    return contracted(s, call.results[0], one, left, two, right, both)


def _left(s: Lowering, call: Call) -> View:
    """Lower Ȳ Bᵀ."""
    y_bar, a, b = call.operands
    left, right, both = _labels(a, b)
    one, two = _views(s, call, y_bar, b)
    return contracted(s, call.results[0], one, both, two, right, left)


def _right(s: Lowering, call: Call) -> View:
    """Lower Aᵀ Ȳ."""
    y_bar, a, b = call.operands
    left, right, both = _labels(a, b)
    one, two = _views(s, call, a, y_bar)
    return contracted(s, call.results[0], one, left, two, both, right)


def _vdot(s: Lowering, call: Call) -> View:
    """Lower a dot product of all elements as an elementwise product and a sum."""
    a, b = call.operands
    view, other = _views(s, call, a, b)
    number = form(call.results[0]) == ((), view.dtype) and view.dtype.char in "fd"
    if not number or form(a) != form(b) or view.strides != other.strides:
        raise UnwritableError
    return reduce(s, np.add, times(s, view, other), call.results[0], tuple(range(len(view.shape))))


def _outer(s: Lowering, call: Call) -> View:
    one, two = [_in_a_row(s, view) for view in _views(s, call, *call.operands)]
    return contracted(s, call.results[0], one, ("i",), two, ("j",), ("i", "j"))


def _in_a_row(s: Lowering, view: View) -> View:
    """Return all elements of an array, or a number, along one axis."""
    if len(view.shape) == 1:
        return view
    view = view if view.in_c_order else s.copy(view)
    return view._replace(shape=(view.size,), strides=(view.dtype.itemsize,))


def _inner(s: Lowering, call: Call) -> View:
    a, b = call.operands
    one, two = _views(s, call, a, b)
    if not one.shape or not two.shape:
        raise UnwritableError
    left, right = [
        (*[(k, d) for d in range(len(x.shape) - 1)], "k") for k, x in enumerate((one, two))
    ]
    return contracted(s, call.results[0], one, left, two, right, (*left[:-1], *right[:-1]))


def _tensordot(s: Lowering, call: Call) -> View:
    only(call, "axes")
    (a, b, *_), (y,) = call.operands, call.results
    if not (is_array(a) and is_array(b)):
        raise UnwritableError
    one, two = s.view(a), s.view(b)
    n, m = len(one.shape), len(two.shape)
    axes = argument_of(call, 2, "axes", 2)
    if type(axes) is int:
        axes = range(n - axes, n), range(axes)
    pairs = [[axis] if type(axis) is int else list(axis) for axis in axes]
    of = {d % m: c % n for c, d in zip(*pairs, strict=True)}
    right = tuple([of.get(d, n + d) for d in range(m)])
    wanted = [*[c for c in range(n) if c not in right], *[c for c in right if c >= n]]
    return contracted(s, y, one, tuple(range(n)), two, right, tuple(wanted))


def _einsum(s: Lowering, call: Call) -> View:
    """Lower sums of products by subscripts, of one array or of two."""
    only(call, "subscripts", "optimize")  # the order of products, which of two arrays is one
    named = [x for name, x in call.options.items() if name != "optimize"]
    text, *xs = (*named, *call.operands)
    if type(text) is not str or "." in text or "->" not in text or len(xs) > 2:
        raise UnwritableError
    given, _, wanted = text.replace(" ", "").partition("->")
    names, (y,) = given.split(","), call.results
    if any([len({*name}) < len(name) for name in (*names, wanted)]):  # diagonals
        raise UnwritableError
    if any([type(x) is not Value or form(x)[1] != form(y)[1] for x in xs]):
        raise UnwritableError
    views = [s.view(x) for x in xs]
    if len(views) == 2:
        return contracted(s, y, views[0], (*names[0],), views[1], (*names[1],), (*wanted,))
    ((view,), (name,)) = views, names
    rest = [c for c in name if c not in wanted]
    view = _permuted(view, [name.index(c) for c in (*wanted, *rest)])
    axes = tuple(range(len(wanted), len(name)))
    return reduce(s, np.add, view, y, axes) if rest else s.laid_out(view, y)


_DOTS = (np.dot, np.ndarray.dot)
CONTRACTIONS: dict[Any, Callable[[Lowering, Call], View]] = {
    **dict.fromkeys((np.matmul, operator.matmul, *_DOTS), _matmul),
    "matmul_left_numpy": _left,
    "matmul_right_numpy": _right,
    np.vdot: _vdot,
    **dict.fromkeys((v.outer, np.outer), _outer),
    **dict.fromkeys((v.inner, np.inner), _inner),
    **dict.fromkeys((v.tensordot, np.tensordot), _tensordot),
    **dict.fromkeys((v.einsum, np.einsum), _einsum),
}
