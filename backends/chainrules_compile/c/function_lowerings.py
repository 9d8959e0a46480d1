"""Lowering of each function that a program may call."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import UnwritableError, View, strides_of
from chainrules_compile.c.contractions import CONTRACTIONS
from chainrules_compile.c.expression_text import c_type, expression, literal
from chainrules_compile.c.indexing import PLACES, gathered
from chainrules_compile.c.item_builder import Lowering, dense, form, is_array, kind_of, resolved
from chainrules_compile.c.program_items import RAISES, Guard, Literal
from chainrules_compile.c.rearrangement import REARRANGED, part
from chainrules_compile.c.reductions import SUMS
from chainrules_compile.c.small_systems import LOG_DETERMINANTS, SMALL
from chainrules_compile.c.strong_zero import STRONG
from chainrules_compile.internal_functions import (
    Gathered,
    expect,
    expect_form,
    laid_out,
)
from chainrules_compile.passes.analysis import axes_of
from chainrules_compile.passes.buffer_reuse import Into
from chainrules_py import Primitive
from chainrules_py import ops as v
from chainrules_py.ops.engine_operations import duplicate, read
from chainrules_py.program import Call, Value

Lower = Callable[[Lowering, Call], View]
OPERATIONS: dict[Any, Lower] = {}
SEVERAL: dict[Any, Callable[[Lowering, Call], list[View]]] = {}
"""Functions with several results."""
VIEWS: set[Any] = set()
"""Functions that return a view where NumPy can."""


def lowers(*functions: Any) -> Callable[[Lower], Lower]:
    """Register the lowering of functions."""

    def enter(lower: Lower) -> Lower:
        OPERATIONS.update(dict.fromkeys(functions, lower))
        return lower

    return enter


_PROPERTIES: dict[Any, Any] = {
    ("T",): np.transpose,
    ("mT",): v.matrix_transpose,
    ("real",): np.real,
    ("imag",): np.imag,
}


def function_of(call: Call) -> Any:
    """Return the function of a call, also if the result is written into an operand."""
    function: Any = call.function
    if type(function) is operator.attrgetter:
        return _PROPERTIES.get(function.__reduce__()[1], function)
    return function.function if type(function) is Into else function


def is_view(call: Call) -> bool:
    """Return whether a call gives a view, which costs nothing in C and little in NumPy."""
    function = function_of(call)
    basic = function is read and len(call.operands) == 1
    return (basic or function in VIEWS) and len(call.results) == 1


def lower(lowering: Lowering, call: Call) -> None:
    """Lower a call.

    Raises
    ------
    UnwritableError
        If the call has to stay a NumPy call.
    """
    function = function_of(call)
    if function is expect:
        _expect(lowering, call)
        return
    if function is expect_form:
        known = lowering.views.get(call.operands[0])
        if known is None or known.version.item < 0:
            raise UnwritableError
        return  # a value that is computed here has this form, or a guard fails
    alone = type(function) is Gathered
    several = SEVERAL.get(function.function if alone else function)
    if several is not None and (alone or len(call.results) > 1):
        views = several(lowering, call)
        lowering.views.update(zip(call.results, views, strict=True))
        return
    if len(call.results) != 1:
        raise UnwritableError
    (y,) = call.results
    if is_view(call) and y.shape and 0 in y.shape:
        lowering.views[y] = lowering.new(*form(y))  # which is never read
        return
    found = OPERATIONS.get(function)
    if found is None:
        found = OPERATIONS.get(getattr(function, "__qualname__", None))
    if found is not None:
        lowering.views[y] = found(lowering, call)
    elif isinstance(function, np.ufunc) and not call.options:
        lowering.views[y] = lowering.elementwise(y, function, call.operands)
    else:
        raise UnwritableError


def _expect(s: Lowering, call: Call) -> None:
    x, answer = call.operands
    kind = call.options["kind"]
    if kind not in (bool, operator.index) or type(x) is not Value or form(x)[0]:
        raise UnwritableError
    dtype = form(x)[1]
    c_type(dtype)
    s.items.append(Guard(s.view(x), answer))


# ------------------------------------------------------------------------------------ numbers

_UFUNCS: dict[Any, Any] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.neg: np.negative,
    operator.pos: np.positive,
    operator.abs: np.absolute,
    abs: np.absolute,
    operator.invert: np.invert,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    v.lift: np.positive,
}


@lowers(*_UFUNCS)
def _operator(s: Lowering, call: Call) -> View:
    (y,), xs = call.results, call.operands
    kinds = tuple([x.type if type(x) is Value else type(x) for x in xs])
    # Python's division raises, so that the program has to miss.
    raises = call.function is operator.truediv and _PLAIN.issuperset(kinds)
    check = "{1} == 0" if raises else None
    if y.type in _DOUBLES and (text := _of_doubles(call.function, kinds)) is not None:
        return s.of_doubles(xs, text, check=check)
    ufunc = _UFUNCS[call.function]
    *wanted, given = resolved(ufunc, tuple([kind_of(x) for x in xs]))
    if given != form(y)[1]:
        raise UnwritableError
    text = expression(ufunc, tuple(wanted))
    if text is None:
        raise UnwritableError
    return s.computed(y, xs, text, wanted, check=check)


_DOUBLES = frozenset((float, np.float64))
_PLAIN = frozenset((float, int))


@functools.lru_cache(maxsize=256)
def _of_doubles(function: Any, kinds: tuple[Any, ...]) -> str | None:
    """Return the expression of an operator on doubles with a double as result; None for others.

    It is cached: long programs have few kinds of these, and 1e5 calls.
    """
    if not _DOUBLES.issuperset(kinds):
        return None
    ufunc, double = _UFUNCS[function], np.dtype(np.float64)
    found = resolved(ufunc, (double,) * len(kinds))
    return expression(ufunc, found[:-1]) if set(found) == {double} else None


_POWERS = {2.0: np.square, 0.5: np.sqrt, 1.0: np.positive, -1.0: np.reciprocal}
"""The ufuncs that ``**`` calls on arrays, by exponents that are Python numbers."""


@lowers(operator.pow, v.pow)
def _power(s: Lowering, call: Call) -> View:
    (y,), (x, p) = call.results, call.operands
    kinds = [each.type if type(each) is Value else type(each) for each in (x, p)]
    if is_array(x):
        if form(x)[1].kind != "f" or kinds[1] not in (int, float) or type(p) is Value or p == 0:
            raise UnwritableError
        ufunc = _POWERS.get(float(p))
        return s.elementwise(y, ufunc or np.power, (x,) if ufunc else (x, float(p)))
    if not {*kinds} <= {float, int, np.float64} or form(y) != ((), np.dtype(np.float64)):
        raise UnwritableError
    check = RAISES if _PLAIN.issuperset(kinds) else None
    return s.computed(y, (x, p), "power({0}, {1})", [np.dtype(np.float64)] * 2, check=check)


# -------------------------------------------------------------------------------------- views


def views(*functions: Any) -> None:
    """Register functions that return views."""
    VIEWS.update(functions)
    OPERATIONS.update(dict.fromkeys(functions, _view))


def _view(s: Lowering, call: Call) -> View:
    x, *rest = call.operands
    (y,) = call.results
    if type(x) is not Value or any([type(value) is Value for value in call.values[1:]]):
        raise UnwritableError
    view = s.view(x)
    if not view.shape and form(y) == ((), view.dtype):
        return view
    made = _through(view, call, rest)
    if made is None and function_of(call) is v.broadcast_to:
        out = s.result(y)  # NumPy's implementation copies small arrays
        s.write(out, view.broadcast(out.shape))
        return out
    if made is None:
        made = _through(s.copy(view), call, rest)
    if made is None or (made.shape, made.dtype) != form(y):
        raise UnwritableError
    return made


def _through(view: View, call: Call, rest: list[Any]) -> View | None:
    """Return the result of a function of a view, if it is a view of that; otherwise None."""
    array, memory = view.shadow()
    function = function_of(call)
    if isinstance(function, Primitive):
        function = function.implementation((np.ndarray,)) or function
    found = function(array, *rest, **call.options)
    if type(found) is not np.ndarray:
        return None
    made = view.part(found, memory)
    inside = 0 <= made.offset - view.version.buffer.low < view.version.buffer.nbytes
    return made if inside and np.shares_memory(found, memory) else None


views(
    v.reshape,
    v.expand_dims,
    v.squeeze,
    v.permute_dims,
    v.matrix_transpose,
    v.flip,
    v.broadcast_to,
    v.diagonal,
    v.real,
    v.imag,
    np.real,
    np.imag,
    np.ndarray.reshape,
    np.ndarray.transpose,
    np.reshape,
    np.transpose,
    np.broadcast_to,
    np.expand_dims,
    np.squeeze,
    np.swapaxes,
    np.moveaxis,
)


@lowers(read)
def _read(s: Lowering, call: Call) -> View:
    (y,) = call.results
    if len(call.operands) > 1:
        return gathered(s, call)
    if y.shape == () and y.type is not np.ndarray:
        return _element(s, call)
    return _view(s, call)


def _element(s: Lowering, call: Call) -> View:
    """Lower the reading of one element as a number."""
    (x,), (y,) = call.operands, call.results
    view = s.view(x)
    array, memory = view.shadow()
    entries = call.options["index"].join(())
    entries = entries if type(entries) is tuple else (entries,)
    if not all([type(entry) is int for entry in entries]) or len(entries) != len(view.shape):
        raise UnwritableError
    where = tuple([i % n for i, n in zip(entries, view.shape, strict=True)])
    index: Any = (*[slice(i, i + 1) for i in where], ...)
    part = view.part(array[index], memory)
    return s.element(y, part._replace(shape=(), strides=()))


# ------------------------------------------------------------------------------------- others


@lowers(duplicate, v.copy, laid_out, np.ndarray.copy)
def _duplicate(s: Lowering, call: Call) -> View:
    x, (y,) = call.operands[0], call.results
    view, out = s.view(x), s.result(y)
    s.write(out, view)
    return out


@lowers(v.where, np.where)
def _where(s: Lowering, call: Call) -> View:
    (y,), (c, a, b) = call.results, call.operands
    if (is_array(y) and not y.shape) or type(c) is not Value or form(c)[1] != np.bool_:
        raise UnwritableError
    dtype = form(y)[1]
    if any([kind_of(x) not in (int, float, dtype) for x in (a, b)]):
        raise UnwritableError
    return s.computed(y, (c, a, b), "{0} ? {1} : {2}", [np.dtype(np.bool_), dtype, dtype])


@lowers(np.zeros, v.full_like, v.zeros_like)
def _full(s: Lowering, call: Call) -> View:
    _, dtype = form(call.results[0])
    fill = call.options.get("fill", 0)
    if type(fill) not in (int, float, bool):
        raise UnwritableError
    out = s.result(call.results[0])
    s.write(out, Literal(literal(fill, dtype), dtype))
    return out


@lowers(np.empty)
def _empty(s: Lowering, call: Call) -> View:
    """Return new memory, all of which is written to before it is read."""
    return s.result(call.results[0])


@lowers(v.divide, v.log)
def _without_warnings(s: Lowering, call: Call) -> View:
    y, xs = call.results[0], call.operands
    return s.elementwise(y, np.log if function_of(call) is v.log else np.divide, xs)


@lowers(v.tie_share)
def _tie_share(s: Lowering, call: Call) -> View:
    (y,), (z, x, other) = call.results, call.operands
    dtype = form(y)[1]
    kinds = [kind_of(each) for each in (z, x, other)]
    if dtype.kind != "f" or any([kind not in (int, float, dtype) for kind in kinds]):
        raise UnwritableError
    text = "{0} == {1} ? ({2} == {0} ? 0.5 : 1.0) : 0.0"
    return s.computed(y, (z, x, other), text, [dtype] * 3)


_STACKS = (np.stack, v.stack)


@lowers(np.concatenate, v.concat, *_STACKS)
def _joined(s: Lowering, call: Call) -> View:
    (y,), function = call.results, function_of(call)
    of_operation = isinstance(
        function, Primitive
    )  # operations take arrays one by one, NumPy a sequence
    parts, *rest = (call.operands,) if of_operation else call.operands
    axis = rest[0] if rest else call.options.get("axis", 0)
    if type(parts) not in (tuple, list) or type(axis) is not int:
        raise UnwritableError
    if any([type(x) is not Value or form(x)[1] != form(y)[1] for x in parts]):
        raise UnwritableError
    views, out, at = [s.view(x) for x in parts], s.result(y), 0
    axis %= len(out.shape)
    for view in views:
        if function in _STACKS:
            shape, strides = [(*of[:axis], 1, *of[axis:]) for of in (view.shape, view.strides)]
            view = view._replace(shape=shape, strides=strides)
        if view.size:
            s.write(part(out, axis, at, view.shape[axis]), view)
        at += view.shape[axis]
    return out


@lowers("sum_transpose_numpy")
def _spread(s: Lowering, call: Call) -> View:
    y_bar, _ = call.operands
    (y,) = call.results
    axis, keepdims = call.options["axis"], call.options["keepdims"]
    if type(y_bar) is not Value:
        raise UnwritableError
    view, (shape, dtype) = s.view(y_bar), form(y)
    n = len(shape)
    if axis is not None and not keepdims:
        axes = {*axes_of(axis, n)}
        strides = iter(view.strides)
        steps = tuple([0 if d in axes else next(strides) for d in range(n)])
        kept = tuple([1 if d in axes else m for d, m in enumerate(shape)])
        view = view._replace(shape=kept, strides=steps)
    if view.dtype != dtype:
        raise UnwritableError
    view = view.broadcast(shape)
    if not dense(shape, strides_of(shape, y.layout, dtype), dtype):
        return view  # broadcast, as in NumPy
    out = s.result(y)
    s.write(out, view)
    return out


@lowers("mean_transpose_numpy")
def _spread_shares(s: Lowering, call: Call) -> View:
    """Lower the cotangent of a mean: divide it, and broadcast it as that of a sum."""
    (y_bar, x), (y,) = call.operands, call.results
    if type(y_bar) is not Value or form(y_bar)[1].kind != "f" or 0 in form(y)[0]:
        raise UnwritableError
    n = math.prod(form(y)[0]) // math.prod(form(y_bar)[0])
    share = dataclasses.replace(y_bar, name="")
    s.views[share] = s.computed(share, (y_bar,), f"{{0}} / {n}", [form(y_bar)[1]])
    return _spread(s, Call(call.function, (share, x), call.options, (y,)))


for _table in (CONTRACTIONS, PLACES, REARRANGED, SMALL, STRONG, SUMS):
    OPERATIONS |= _table
SEVERAL |= LOG_DETERMINANTS
