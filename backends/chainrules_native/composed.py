"""Words that NumPy computes in several steps: means, variances, outer products, tiles, and others.

Each is lowered as the steps that NumPy takes, in their order, so it has NumPy's bits.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.passes.values import axes_of
from chainrules_native._private import UMATH, loop_named
from chainrules_native.items import Copy, Gather
from chainrules_native.lowering import Lowering, form, is_array
from chainrules_native.memory import Shape, UnwritableError, View, numpy_order
from chainrules_native.rearranged import argument_of, only
from chainrules_native.sums import reduce
from chainrules_native.text import raw_type
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Value


def _like(view: View, shape: Shape) -> Value:
    """Return a value of another shape, whose axes lie in the order of a view's."""
    step, strides = view.dtype.itemsize, [0] * len(shape)
    for d in reversed(numpy_order(view.shape, view.strides)):
        strides[d], step = step, step * shape[d]
    layout = tuple([t for n, t in zip(shape, strides, strict=True) if n != 1])
    return Value("", np.ndarray, shape, view.dtype, layout=layout)


def _floats(x: Any) -> np.dtype[Any]:
    """Return the dtype of an array with elements, of floating numbers."""
    if not is_array(x) or 0 in form(x)[0] or form(x)[1].char not in "fd":
        raise UnwritableError
    return form(x)[1]


def _divided(s: Lowering, y: Value, total: View, n: int) -> View:
    if n >= 2**24:
        raise UnwritableError  # in single precision this is another number
    return s.computed(y, (s.held(total),), f"{{0}} / {n}", [total.dtype])


def _mean(s: Lowering, call: Call) -> View:
    only(call, "axis", "keepdims")
    (x,), (y,) = call.operands, call.results
    _floats(x)
    axes, view = axes_of(call.options.get("axis"), len(form(x)[0])), s.view(x)
    n = math.prod([view.shape[d] for d in axes])
    return _divided(s, y, reduce(s, np.add, view, y, axes), n)


def _var(s: Lowering, call: Call) -> View:
    only(call, "axis", "keepdims", "correction", "ddof")
    (x,), (y,) = call.operands, call.results
    dtype, view = _floats(x), s.view(x)
    axes = axes_of(call.options.get("axis"), len(view.shape))
    n = math.prod([view.shape[d] for d in axes])
    freedom = n - call.options.get("correction", call.options.get("ddof", 0))
    if type(freedom) is not int or freedom < 1:
        raise UnwritableError
    kept = tuple([1 if d in axes else m for d, m in enumerate(view.shape)])
    mean = _like(view, kept)
    s.views[mean] = _divided(s, _like(view, kept), reduce(s, np.add, view, mean, axes), n)
    apart, squares = _like(view, view.shape), _like(view, view.shape)
    s.views[apart] = s.computed(apart, (x, mean), "{0} - {1}", [dtype] * 2)
    s.views[squares] = s.computed(squares, (apart,), "{0} * {0}", [dtype])
    return _divided(s, y, reduce(s, np.add, s.view(squares), y, axes), freedom)


def _std(s: Lowering, call: Call) -> View:
    (y,) = call.results
    var = dataclasses.replace(y, name="")
    s.views[var] = _var(s, dataclasses.replace(call, results=(var,)))
    return s.elementwise(y, np.sqrt, (var,))


def shared(s: Lowering, call: Call) -> Call:
    """Lower the shares of a mean's cotangent; return the call that spreads them as a sum's."""
    (y_bar, x), (y,) = call.operands, call.results
    if type(y_bar) is not Value or form(y_bar)[1].char not in "fd" or 0 in form(y)[0]:
        raise UnwritableError
    (shape, dtype), whole = form(y_bar), form(y)[0]
    n = math.prod(whole) // math.prod(shape)
    share = dataclasses.replace(y_bar, name="")
    if n < 2**16:
        s.views[share] = s.computed(share, (y_bar,), f"{{0}} / {n}", [dtype])
    else:
        s.views[share] = s.computed(share, (y_bar, 1 / n), "{0} * {1}", [dtype] * 2)
    return Call(call.function, (share, x), call.options, (y,))


def _in_a_row(s: Lowering, x: Value) -> View:
    """Return all elements of an array, or a number, along one axis."""
    view = s.view(x)
    if len(view.shape) == 1:
        return view
    step = view.dtype.itemsize
    if not view.in_c_order:
        view = s.copy(view)
    return view._replace(shape=(view.size,), strides=(step,))


def _outer(s: Lowering, call: Call) -> View:
    only(call)
    (a, b), (y,) = call.operands, call.results
    if not (type(a) is type(b) is Value) or 0 in form(y)[0]:
        raise UnwritableError
    views = [_in_a_row(s, x) for x in (a, b)]
    (m,), (n,) = views[0].shape, views[1].shape
    column = views[0]._replace(shape=(m, 1), strides=(views[0].strides[0], 0))
    row = views[1]._replace(shape=(1, n), strides=(0, views[1].strides[0]))
    return s.elementwise(y, np.multiply, (s.held(column), s.held(row)))


def _trace(s: Lowering, call: Call) -> View:
    only(call, "offset")
    (x,), (y,) = call.operands, call.results
    _floats(x)
    array, memory = s.view(x).shadow()
    found: Any = array.diagonal(call.options.get("offset", 0), -2, -1)
    if not found.size:
        raise UnwritableError
    return reduce(s, np.add, s.view(x).part(found, memory), y, (found.ndim - 1,))


def _diff(s: Lowering, call: Call) -> View:
    only(call, "axis", "n")
    (x,), (y,) = call.operands, call.results
    _floats(x)
    view, axis = s.view(x), call.options.get("axis", -1) % len(form(x)[0])
    if call.options.get("n", 1) != 1 or view.shape[axis] < 2:
        raise UnwritableError
    shape = (*view.shape[:axis], view.shape[axis] - 1, *view.shape[axis + 1 :])
    low = view._replace(shape=shape)
    high = low._replace(offset=view.offset + view.strides[axis])
    return s.elementwise(y, np.subtract, (s.held(high), s.held(low)))


def _tile(s: Lowering, call: Call) -> View:
    only(call, "repetitions")
    x, (y,) = call.operands[0], call.results
    times = argument_of(call, 1, "repetitions")
    times = (times,) if type(times) is int else times
    if not is_array(x) or type(times) is not tuple or 0 in form(y)[0]:
        raise UnwritableError
    if not all([type(n) is int for n in times]):
        raise UnwritableError
    view, n = s.view(x), max(len(times), len(form(x)[0]))
    raw_type(view.dtype)
    extra = n - len(view.shape)
    times = (1,) * (n - len(times)) + times
    shape, steps = (1,) * extra + view.shape, (0,) * extra + view.strides
    out = s.result(y)
    split = tuple(itertools.chain(*zip(times, shape, strict=True)))
    into = [(m * step, step) for m, step in zip(shape, out.strides, strict=True)]
    target = out._replace(shape=split, strides=tuple(itertools.chain(*into)))
    given = tuple(itertools.chain(*[(0, step) for step in steps]))
    s.add(Copy(target, view._replace(shape=split, strides=given)))
    return out


def _take(s: Lowering, call: Call) -> View:
    only(call, "axis")
    (x, places, *_), (y,) = call.operands, call.results
    axis = argument_of(call, 2, "axis")
    if (
        len(call.operands) > 3
        or not is_array(x)
        or not is_array(places)
        or form(places)[1] != np.int64
    ):
        raise UnwritableError
    view, index = s.view(x), s.view(places)
    axis = 0 if axis is None and len(view.shape) == 1 else axis
    if type(axis) is not int or not view.size or not index.size:
        raise UnwritableError
    raw_type(view.dtype)
    axis %= len(view.shape)
    out = s.result(y)
    if out.shape != (*view.shape[:axis], *index.shape, *view.shape[axis + 1 :]):
        raise UnwritableError
    s.add(Gather(out, view, [index], axis, None))
    return out


def _clipped(s: Lowering, call: Call) -> View:
    only(call)
    (y,), dtype = call.results, _floats(call.operands[0])
    if len(call.operands) != 3 or form(y)[1] != dtype:
        raise UnwritableError
    for x in call.operands[1:]:
        fits = form(x)[1] == dtype if type(x) is Value else type(x) in (int, float)
        if not fits:
            raise UnwritableError
    char = dtype.char
    return s.computed(
        y,
        call.operands,
        None,
        [dtype] * 3,
        s.loop(loop_named(UMATH, "clip"), f"{char}{char}{char}->{char}"),
    )


COMPOSED: dict[Any, Callable[[Lowering, Call], View]] = {
    **dict.fromkeys((v.mean, np.mean), _mean),
    **dict.fromkeys((v.var, np.var), _var),
    **dict.fromkeys((v.std, np.std), _std),
    **dict.fromkeys((v.outer, np.outer), _outer),
    v.trace: _trace,
    **dict.fromkeys((v.diff, np.diff), _diff),
    **dict.fromkeys((v.tile, np.tile), _tile),
    **dict.fromkeys((v.take, np.take), _take),
    **dict.fromkeys((v.clip, np.clip), _clipped),
}
