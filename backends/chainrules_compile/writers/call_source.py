"""Spellings: the shortest NumPy source for calls, by function."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from chainrules_compile.internal_functions import (
    dot_to,
    is_finite,
    sum_to,
)
from chainrules_compile.passes.analysis import FLOATS, axes_of, is_array, is_contiguous, size
from chainrules_compile.writers.shortcuts import (
    is_matrix,
    is_vector,
    rolled_places,
    rolls_by_places,
    takes_rows,
)
from chainrules_py import ops as v
from chainrules_py.extend import type_info
from chainrules_py.ops.engine_operations import duplicate, read
from chainrules_py.program import Call, Value


class Speller(Protocol):
    """Methods of a writer that spellings call."""

    scope: Any

    def text(self, x: Any) -> str:
        """Return an operand as an expression."""
        ...

    def constant(self, x: Any) -> str:
        """Return the name of an object."""
        ...

    def operand(self, x: Any, result: Value | None) -> str:
        """Return an operand of a ufunc."""
        ...

    def bound(self, function: Any) -> str:
        """Return the name of a function."""
        ...

    def implementation(self, function: Any, xs: tuple[Any, ...]) -> Any:
        """Return the implementation of an operation for operands."""
        ...

    def local(self, hint: str) -> str:
        """Return a name for a short-lived value, the same one for each hint."""
        ...

    def index(self, pattern: Any, arrays: list[Any]) -> str:
        """Return an index as source between brackets."""
        ...


Spelling = Callable[[Speller, Call], str | None]

OPERATORS = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.neg: "-",
    operator.pos: "+",
    operator.invert: "~",
    operator.lt: "<",
    operator.le: "<=",
    operator.gt: ">",
    operator.ge: ">=",
    operator.eq: "==",
    operator.ne: "!=",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
    operator.lshift: "<<",
    operator.rshift: ">>",
}
SPELLINGS: dict[Any, Spelling] = {}
_LONG = 4096


def spells(*functions: Any) -> Callable[[Spelling], Spelling]:
    """Register a spelling for functions."""

    def enter(spelling: Spelling) -> Spelling:
        SPELLINGS.update(dict.fromkeys(functions, spelling))
        return spelling

    return enter


def direct(function: Any) -> Any:
    """Return the implementation of a NumPy function, without the dispatch to other libraries."""
    return getattr(function, "_implementation", function)


def _reduction(ufunc: np.ufunc) -> Spelling:
    reduce = ufunc.reduce

    def spell(s: Speller, call: Call) -> str | None:
        (x,), axis = call.operands, call.options["axis"]
        given = [s.text(x), s.text(axis)]
        if call.options["keepdims"]:
            given += ["None", "None", "True"]
        elif is_array(x) and len(x.shape) == 1 and axis in (None, 0):
            given.pop()  # the default
        name = s.scope.name(reduce, f"{ufunc.__name__}_reduce", ("reduce", ufunc))
        return f"{name}({', '.join(given)})"

    return spell


SPELLINGS |= {
    v.sum: _reduction(np.add),
    v.prod: _reduction(np.multiply),
    v.max: _reduction(np.maximum),
    v.min: _reduction(np.minimum),
    v.nanmax: _reduction(np.fmax),
    v.nanmin: _reduction(np.fmin),
}


def _accumulation(ufunc: np.ufunc) -> Spelling:
    accumulate = ufunc.accumulate

    def spell(s: Speller, call: Call) -> str | None:
        (x,), axis = call.operands, call.options["axis"]
        known = is_array(x) and x.dtype in FLOATS and not call.options["include_initial"]
        if not known or not x.shape or (axis is None and len(x.shape) != 1):
            return None
        name = s.scope.name(accumulate, f"{ufunc.__name__}_accumulate", ("accumulate", ufunc))
        return f"{name}({s.text(x)}, {0 if axis is None else axis})"

    return spell


SPELLINGS |= {
    v.cumulative_sum: _accumulation(np.add),
    v.cumulative_prod: _accumulation(np.multiply),
}


@spells(v.flip)
def _flip(s: Speller, call: Call) -> str | None:
    (x,), axis = call.operands, call.options["axis"]
    if not is_array(x) or not x.shape:
        return None
    n = len(x.shape)
    turned = axes_of(axis, n)
    return f"{s.text(x)}[{', '.join(['::-1' if i in turned else ':' for i in range(n)])}]"


@spells(v.roll, np.roll)
def _roll(s: Speller, call: Call) -> str | None:
    given = dict(zip(("a", "shift", "axis"), call.operands, strict=False)) | {**call.options}
    x: Any = given.get("a")
    shift, axis = given.get("shift"), given.get("axis")
    if not is_array(x) or not is_contiguous(x) or not size(x) or type(shift) is not int:
        return None
    n = len(x.shape)
    # Concatenation gives the native byte order.
    if not x.dtype.isnative or (type(axis) is not int and (axis is not None or n != 1)):
        return None
    k = 0 if axis is None else axis % n
    lead, first = ":, " * k, x.shape[k] - shift % x.shape[k]
    text = s.text(x)
    if rolls_by_places(x, k):
        places = s.scope.made(rolled_places, (x.shape[k], shift % x.shape[k]), "places")
        return f"{text}[{places}]" if n == 1 else f"{text}.take({places}, {k})"
    concatenate = s.scope.name(direct(np.concatenate), "concatenate")
    return f"{concatenate}(({text}[{lead}{first}:], {text}[{lead}:{first}]), {k})"


@spells(v.divide)
def _divide(s: Speller, call: Call) -> str | None:
    """Write the quotient of two numbers by Python's operator if the divisor is not zero."""
    x, y = call.operands
    if type(y) is Value and y.type is np.ndarray and 0 < size(y) < _ASKED:
        return _divided(s, call)
    plain = type(x) is float or (type(x) is Value and x.type is float)
    if not (is_double(x) and is_double(y) and type(y) is Value) or (y.type is float and not plain):
        return None
    below, otherwise = s.text(y), s.bound(s.implementation(call.function, call.operands))
    return f"{s.text(x)} / {below} if {below} else {otherwise}({s.text(x)}, {below})"


def _divided(s: Speller, call: Call) -> str:
    """Write NumPy's division if no divisor is zero, and the operation otherwise."""
    x, y = map(s.text, call.operands)
    count = s.scope.name(direct(np.count_nonzero), "count_nonzero")
    direct_one = s.bound(np.divide)
    operation = s.bound(s.implementation(call.function, call.operands))
    n = size(call.operands[1])
    return f"{direct_one}({x}, {y}) if {count}({y}) == {n} else {operation}({x}, {y})"


_ASKED = 4000
"""Number of elements from which the operation is faster than a search for zeros."""


def is_double(x: Any) -> bool:
    """Return whether an operand is a number of double precision, and not an array."""
    return (x.type if type(x) is Value else type(x)) in (float, np.float64)


@spells(v.reshape)
def _reshape(s: Speller, call: Call) -> str | None:
    (x,) = call.operands
    return f"{s.text(x)}.reshape({s.text(call.options['shape'])})" if is_array(x) else None


@spells(v.expand_dims, v.squeeze)
def _axes_of_one(s: Speller, call: Call) -> str | None:
    (x,) = call.operands
    (y,) = call.results
    if is_array(x) and is_array(y) and is_contiguous(x):
        return f"{s.text(x)}.reshape({s.text(y.shape)})"
    return None


@spells(v.matrix_transpose)
def _transpose(s: Speller, call: Call) -> str | None:
    (x,) = call.operands
    return f"{s.text(x)}.{'T' if len(x.shape) == 2 else 'mT'}" if is_array(x) else None


@spells(v.permute_dims)
def _permute(s: Speller, call: Call) -> str | None:
    (x,), axes = call.operands, call.options["axes"]
    if not is_array(x):
        return None
    if axes is None or (tuple(axes) == (1, 0)):
        return f"{s.text(x)}.T"
    return f"{s.text(x)}.transpose({s.text(tuple(axes))})"


@spells(v.astype)
def _astype(s: Speller, call: Call) -> str | None:
    (x,), options = call.operands, call.options
    if not is_array(x) or options.keys() != {"dtype"}:
        return None
    return f"{s.text(x)}.astype({s.text(options['dtype'])})"


@spells("ndarray.take", "ndarray.repeat")
def _method(s: Speller, call: Call) -> str | None:
    if call.options:
        return None
    x, *given = map(s.text, call.operands)
    return f"{x}.{call.function.__name__}({', '.join(given)})"


@spells(v.copy, duplicate)
def _copy(s: Speller, call: Call) -> str | None:
    return f"{s.text(call.operands[0])}.copy()"


@spells(read)
def _read(s: Speller, call: Call) -> str | None:
    x, *arrays = call.operands
    if len(call.results) == 1 and call.results[0].type is float and is_array(x):
        return f"{s.text(x)}.item({s.index(call.options['index'], arrays)})"
    if len(arrays) == 1 and takes_rows(x, arrays[0], call):
        return f"{s.text(x)}.take({s.text(arrays[0])}, 0)"
    return f"{s.text(x)}[{s.index(call.options['index'], arrays)}]"


@spells(v.full_like)
def _full(s: Speller, call: Call) -> str | None:
    options, (y,) = call.options, call.results
    if not is_array(y) or type(options["fill"]) is not int or options["fill"] != 0:
        return None
    return _zeros(s, y)


def _zeros(s: Speller, y: Value) -> str:
    dtype = "" if y.dtype == np.float64 else f", {s.constant(y.dtype)}"
    return f"{s.bound(np.zeros)}({s.text(y.shape)}{dtype})"


@spells(v.zeros_like)
def _zeros_like(s: Speller, call: Call) -> str | None:
    (x,), (y,) = call.operands, call.results
    return _zeros(s, y) if is_array(y) and is_array(x) and is_contiguous(x) else None


@spells(v.where, np.where)
def _where(s: Speller, call: Call) -> str | None:
    if not is_array(call.results[0]) or len(call.operands) != 3 or call.options:
        return None
    where = s.scope.name(direct(np.where), "where")
    return f"{where}({', '.join(map(s.text, call.operands))})"


@spells(is_finite)
def _finite(s: Speller, call: Call) -> str | None:
    (x,) = call.operands
    if not is_array(x):
        return f"{s.bound(math.isfinite)}({s.text(x)})"
    if x.dtype.kind != "f":
        return None
    text, vdot = s.text(x), direct(np.vdot)
    name = s.scope.name(vdot, "vdot")
    if len(x.shape) != 1:
        text = f"{text}.ravel('K')"
    if is_contiguous(x) and len(x.shape) != 1:
        flat = s.local("flat")
        return f"{s.bound(math.isfinite)}({name}({flat} := {text}, {flat}))"
    return f"{s.bound(math.isfinite)}({name}({text}, {text}))"


@spells(sum_to)
def _sum_to(s: Speller, call: Call) -> str | None:
    (x,) = call.operands
    way: Any = type_info(x.type).library.sums
    result, shape = call.options["result"], call.options["shape"]
    return f"{s.scope.made(way, (result, shape), 'sum_to')}({s.text(x)})"


@spells(dot_to)
def _dot_to(s: Speller, call: Call) -> str | None:
    x, y = call.operands
    way: Any = type_info(x.type).library.dots
    result, shape = call.options["result"], call.options["shape"]
    alike = x.dtype == y.dtype in FLOATS and x.shape == y.shape
    if alike and not shape and size(x) <= _LONG:
        return f"{s.scope.name(direct(np.vdot), 'vdot')}({s.text(x)}, {s.text(y)})"
    name = s.scope.made(way, (result, shape, y.shape), "dot_to")
    return f"{name}({s.text(x)}, {s.text(y)})"


@spells(np.matmul, operator.matmul)
def _matmul(s: Speller, call: Call) -> str | None:
    """Write a product of matrices and vectors as the method `dot`, which reaches BLAS faster.

    For operands without gaps both call the same function of BLAS.
    """
    a, b = call.operands
    alike = is_array(a) and is_array(b) and a.dtype == b.dtype in FLOATS
    if alike and not call.options and all([is_matrix(x) or is_vector(x) for x in (a, b)]):
        return f"{s.text(a)}.dot({s.text(b)})"
    return f"{s.text(a)} @ {s.text(b)}" if call.function is operator.matmul else None


@spells("matmul_left_numpy")
def _matmul_left(s: Speller, call: Call) -> str | None:
    y_bar, a, b = call.operands
    if b.dtype.kind == "c" or not is_array(y_bar):
        return None
    if len(a.shape) == len(y_bar.shape) > 2 == len(b.shape):
        return f"{_tall(s, y_bar)}.dot({s.text(b)}.T).reshape({call.results[0].shape})"
    if len(a.shape) == 2 and len(b.shape) == 1:
        return f"{s.text(y_bar)}[..., None] * {s.text(b)}"
    if len(a.shape) <= 2 == len(b.shape):
        return f"{s.text(y_bar)}.dot({s.text(b)}.T)"
    return None


@spells("matmul_right_numpy")
def _matmul_right(s: Speller, call: Call) -> str | None:
    y_bar, a, b = call.operands
    if a.dtype.kind == "c" or not is_array(y_bar):
        return None
    if len(a.shape) == len(b.shape) == 2:
        return f"{s.text(a)}.T.dot({s.text(y_bar)})"
    if len(a.shape) == 2 and len(b.shape) == 1:
        return f"{s.text(y_bar)}.dot({s.text(a)})"
    if len(a.shape) == 1 and len(b.shape) == 2:
        return f"{s.text(a)}[:, None] * {s.text(y_bar)}"
    if len(a.shape) == len(y_bar.shape) > 2 == len(b.shape):
        return f"{_tall(s, a)}.T.dot({_tall(s, y_bar)})"
    return None


def _tall(s: Speller, x: Any) -> str:
    """Write a batch of matrices as one matrix of all their rows."""
    return f"{s.text(x)}.reshape({math.prod(x.shape[:-1])}, {x.shape[-1]})"
