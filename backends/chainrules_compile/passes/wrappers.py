"""Wrappers: NumPy's functions in Python, written as the calls of its own that they make.

A mean is a sum and a quotient, a variance six calls, of which a layer that also subtracts the mean
has made three. What asks an argument how it is given takes longer than what it computes for
hundreds of elements. Bits are the same: the calls are those that NumPy's source makes.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_compile.calls import made_again
from chainrules_compile.passes.values import (
    alike,
    axes_of,
    changed,
    contiguous,
    counts,
    flat,
    is_array,
    is_contiguous,
    size,
    value_of,
)
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import Index, read, store

_REDUCTIONS: dict[Any, Any] = {
    **dict.fromkeys((np.sum, np.ndarray.sum), v.sum),
    **dict.fromkeys((np.prod, np.ndarray.prod), v.prod),
    **dict.fromkeys((np.max, np.ndarray.max), v.max),
    **dict.fromkeys((np.min, np.ndarray.min), v.min),
    **dict.fromkeys((np.mean, np.ndarray.mean), v.mean),
    **dict.fromkeys((np.var, np.ndarray.var), v.var),
    **dict.fromkeys((np.std, np.ndarray.std), v.std),
}
"""By functions that people call on what is not differentiated, the words for the same."""
_ALL = Index.split(...)[0]
_FLOAT = np.dtype(np.float64)
_LONGEST = 1 << 14
"""How many elements an array has at most that `np.array` joins to others."""


def with_plain_calls(program: Program) -> Program:
    """Return the program with what NumPy's functions in Python call in their place."""
    if program.functions.isdisjoint(_INSTEAD):
        return program
    return _Walk(program).program()


@final
class _Walk:
    """Writing of a program anew."""

    def __init__(self, program: Program) -> None:
        self.before = program
        self.calls: list[Call] = []
        self.made: dict[Value, Call] = {}
        stacks = not program.functions.isdisjoint((v.stack, np.stack))
        self._counts = counts(program) if stacks else Counter()
        self._norms: dict[Any, Value] = {}

    def program(self) -> Program:
        """Return the program."""
        for call in self.before.calls:
            way = _INSTEAD.get(call.function)
            if call.function is made_again:
                self._norms.clear()  # so that no value is kept for what is made again
            if way is None or len(call.results) != 1 or not way(self, call):
                self.add(call)
        return changed(self.before, calls=tuple(self.calls))

    def add(self, call: Call) -> bool:
        """Add a call."""
        self.calls.append(call)
        return True

    def call(self, function: Any, operands: tuple[Any, ...], options: Any, like: Any) -> Value:
        """Add a call that gives a value like another, and return it."""
        y = value_of(
            f"{like.name}_w{len(self.calls)}", like.type, like.shape, like.dtype, None, like.layout
        )
        self.add(Call(function, operands, options, (y,)))
        return y

    def used_once(self, x: Value) -> bool:
        """Tell whether a value is used by one call alone."""
        return self._counts[x] == 1


def _reduction(walk: _Walk, call: Call) -> bool:
    """Take a reduction by the word for it, of which a mean and a variance are several calls."""
    word = _REDUCTIONS.get(call.function, call.function)
    options = _options_of(word, call)
    if options is None or not _is_of_doubles(call):
        return False
    call = Call(word, call.operands[:1], options, call.results)
    way = _SEVERAL.get(word)
    return walk.add(call) if way is None else way(walk, call)


def _options_of(word: Any, call: Call) -> dict[str, Any] | None:
    """Return the options of a word for a call of it or of NumPy's function; None for others."""
    if call.function is word:
        return dict(call.options)
    x, *axis = call.operands or (None,)
    options = {"axis": axis[0] if axis else None, "keepdims": False} | dict(call.options)
    if word in (v.var, v.std):
        options["correction"] = options.pop("ddof", 0)
    number = type(options.get("correction", 0)) in (int, float)
    if len(axis) > 1 or options.keys() != {*word.options} or not (is_array(x) and number):
        return None
    axes = options["axis"] if type(options["axis"]) is tuple else (options["axis"],)
    plain = all([type(a) is int or a is None for a in axes]) and type(options["keepdims"]) is bool
    return options if plain else None


def _is_of_doubles(call: Call) -> bool:
    x: Any = call.operands[0] if call.operands else None
    (y,) = call.results
    if not is_array(x) or x.dtype != _FLOAT or not size(x) or not x.shape:
        return False
    return y.dtype == _FLOAT and y.type in (np.ndarray, np.float64)


def _over(walk: _Walk, x: Value, n: float, y: Value) -> bool:
    """Add the quotient that NumPy makes of a sum and how many were added."""
    function: Any = np.divide if is_array(y) else operator.truediv
    return walk.add(flat(function, (x, n), (y,)))


def _mean(walk: _Walk, call: Call) -> bool:
    (x,), (y,) = call.operands, call.results
    total = walk.call(v.sum, (x,), call.options, y)
    return _over(walk, total, size(x) // size(y), y)


def _var(walk: _Walk, call: Call) -> bool:
    (x,), (y,), options = call.operands, call.results, dict(call.options)
    n = size(x) // size(y) - options.pop("correction")
    if n <= 0 or not is_contiguous(x):
        return False
    shape: Any = x.shape
    along = axes_of(options["axis"], len(shape))
    kept = tuple([1 if i in along else k for i, k in enumerate(shape)])
    like = value_of(y.name, np.ndarray, kept, _FLOAT, None, contiguous(kept, 8))
    mean = walk.call(v.sum, (x,), {**options, "keepdims": True}, like)
    mean = walk.call(np.divide, (mean, size(x) // size(y)), {}, like)
    apart = walk.call(np.subtract, (x, mean), {}, x)
    squares = walk.call(np.square, (apart,), {}, x)
    total = walk.call(v.sum, (squares,), options, y)
    return _over(walk, total, n, y)


def _std(walk: _Walk, call: Call) -> bool:
    (x,), (y,) = call.operands, call.results
    like = value_of(f"{y.name}_var", *_form(y), None, y.layout)
    if not _var(walk, Call(v.var, (x,), call.options, (like,))):
        return False
    return walk.add(flat(np.sqrt, (like,), (y,)))


def _norm(walk: _Walk, call: Call) -> bool:
    """Take the root of the sums of squares along an axis, once for both forms of the result."""
    (x, *given), options = call.operands, dict(call.options)
    options = {"axis": None, "keepdims": False, "ord": None} | options
    axis, keepdims, (y,) = options.pop("axis"), options.pop("keepdims"), call.results
    if given or options.pop("ord") not in (None, 2) or options or not _is_of_doubles(call):
        return False
    if type(keepdims) is not bool or not is_contiguous(x):
        return False
    if axis is None:
        spectral = call.function is np.linalg.norm and call.options.get("ord") and len(x.shape) > 1
        return not spectral and _length(walk, x, y)
    if type(axis) is not int:
        return False
    shape: Any = x.shape
    found = walk._norms.get((x, axis % len(shape)))
    if found is not None and is_array(found) and is_array(y) and found.shape != y.shape:
        return walk.add(Call(v.reshape, (found,), {"shape": y.shape}, (y,)))
    squares = walk.call(np.square, (x,), {}, x)
    total = walk.call(v.sum, (squares,), {"axis": axis, "keepdims": keepdims}, y)
    walk._norms[x, axis % len(shape)] = y
    return walk.add(flat(np.sqrt, (total,), (y,)))


def _length(walk: _Walk, x: Value, y: Value) -> bool:
    """Take the root of one product of all elements with themselves."""
    number: Any = value_of(f"{y.name}_w", np.float64, (), _FLOAT, None, ())
    found = walk._norms.get((x, None))
    if found is None:
        flat_one: Any = x
        if len(x.shape or ()) != 1:
            like = value_of(f"{y.name}_flat", np.ndarray, (size(x),), _FLOAT, x.memory or x, (8,))
            flat_one = like
            walk.add(Call(v.reshape, (x,), {"shape": (size(x),)}, (like,)))
        square = walk.call(np.matmul, (flat_one, flat_one), {}, number)
        found = walk._norms[x, None] = number if is_array(y) else y
        walk.add(flat(np.sqrt, (square,), (found,)))
        if found is y:
            return True
    options = {"ndmin": len(y.shape or ())}
    return walk.add(Call(np.array, (found,), options, (y,))) if is_array(y) else False


def _diff(walk: _Walk, call: Call) -> bool:
    """Take the difference of neighbours as one of two views."""
    (x, *given), (y,) = call.operands, call.results
    options = {"axis": -1, "n": 1} | dict(call.options)
    axis, once = options.pop("axis"), options.pop("n") == 1
    if given or options or not once or type(axis) is not int or not _is_of_doubles(call):
        return False
    shape: Any = x.shape
    k = axis % len(shape)
    if not is_array(y) or shape[k] < 3 or len(x.layout or ()) != len(shape):
        return False
    like = value_of(y.name, np.ndarray, y.shape, y.dtype, None, x.layout)
    parts = []
    for part in (slice(1, None), slice(None, -1)):
        where = Index.split((*[slice(None)] * k, part))[0]
        z = value_of(f"{like.name}_w{len(walk.calls)}", *_form(like), x.memory or x, x.layout)
        walk.add(Call(read, (x,), {"index": where}, (z,)))
        parts.append(z)
    return walk.add(flat(np.subtract, tuple(parts), (y,)))


def _form(x: Value) -> tuple[Any, Any, Any]:
    return x.type, x.shape, x.dtype


def _pad(walk: _Walk, call: Call) -> bool:
    """Write an array into zeros."""
    (x, value), (y,), widths = call.operands, call.results, call.options["widths"]
    if type(value) is not int or value or not (is_array(x) and is_array(y)) or not size(x):
        return False
    if x.dtype != y.dtype or not is_contiguous(y):
        return False
    shape: Any = x.shape
    zeros = walk.call(v.full_like, (x,), {"shape": y.shape, "fill": 0, "dtype": y.dtype}, y)
    part = [slice(a, a + n) for n, (a, _) in zip(shape, widths, strict=True)]
    return walk.add(Call(store, (zeros, x), {"index": Index.split(tuple(part))[0]}, (y,)))


def _expand(walk: _Walk, call: Call) -> bool:
    """Make an array with axes of a number."""
    (x, *rest), (y,) = call.operands, call.results
    if rest or not _is_number(x) or not is_array(y) or y.dtype != _FLOAT or not y.shape:
        return False
    return walk.add(Call(np.array, (x,), {"ndmin": len(y.shape)}, (y,)))


def _store(walk: _Walk, call: Call) -> bool:
    """Copy what is written over a whole array."""
    (_, value, *places), (y,) = call.operands, call.results
    if places or call.options["index"] != _ALL or not (is_array(value) and alike(value, y)):
        return False
    return is_contiguous(y) and walk.add(Call(v.copy, (value,), {}, (y,)))


def _stack(walk: _Walk, call: Call) -> bool:
    """Have `np.array` join numbers and arrays, which it does in a fifth of the time."""
    (xs, *given), (y,) = call.operands, call.results
    axis = given[0] if given else call.options.get("axis", 0)
    if type(xs) not in (tuple, list) or not is_array(y) or y.dtype != _FLOAT:
        return False
    if not is_contiguous(y) or not all([_is_number(x) or _is_row(x) for x in xs]):
        return False
    shape: Any = y.shape
    if axis in (1, -1) and len(shape) == 2 and min(shape) > 1:
        n, k = shape
        rows_of = value_of(f"{y.name}_rows", np.ndarray, (k, n), _FLOAT, None, (8 * n, 8))
        turned = value_of(f"{y.name}_turned", np.ndarray, shape, _FLOAT, rows_of, (8, 8 * n))
        walk.add(Call(np.array, (tuple(xs),), {}, (rows_of,)))
        walk.add(Call(v.matrix_transpose, (rows_of,), {}, (turned,)))
        return walk.add(Call(v.copy, (turned,), {}, (y,)))
    if axis != 0:
        return False
    made = [walk.made.get(x) if walk.used_once(x) else None for x in xs]
    rows = [
        x if m is None or m.function is not np.array else m.operands[0]
        for x, m in zip(xs, made, strict=True)
    ]
    walk.made[y] = Call(np.array, (tuple(rows),), {}, (y,))
    return walk.add(walk.made[y])


def _is_row(x: Any) -> bool:
    return is_array(x) and x.dtype == _FLOAT and is_contiguous(x) and size(x) <= _LONGEST


def _is_number(x: Any) -> bool:
    if type(x) is not Value:
        return type(x) in (float, np.float64)
    return x.type in (float, np.float64) or (is_array(x) and x.shape == () and x.dtype == _FLOAT)


_SEVERAL: dict[Any, Callable[[_Walk, Call], bool]] = {v.mean: _mean, v.var: _var, v.std: _std}
_INSTEAD: dict[Any, Callable[[_Walk, Call], bool]] = {
    **dict.fromkeys((*_REDUCTIONS, *_SEVERAL), _reduction),
    **dict.fromkeys((v.vector_norm, np.linalg.norm), _norm),
    **dict.fromkeys((v.diff, np.diff), _diff),
    **dict.fromkeys((v.stack, np.stack), _stack),
    v.expand_dims: _expand,
    v.pad: _pad,
    store: _store,
}
