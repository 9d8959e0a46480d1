"""Known zeros: derivatives that are zero but on diagonals are kept as those diagonals.

A Jacobian starts from the rows of an identity. As long as it is only scaled, added and placed in
larger arrays, an element that is zero stays zero, unless a factor there is infinite or NaN. Then
the same factor makes an element of a diagonal infinite or NaN too: the pass replaces a product only
if each element of its factor meets a diagonal. And it replaces only what reaches a test that its
elements are finite, through calls that keep what is not: there the program has no result, and the
function is recorded anew. So it makes no difference whether the zeros are the derivative's or the
function's. Zeros between diagonals are 0, and never -0.
"""

from __future__ import annotations

import operator
from typing import Any, final

import numpy as np

from chainrules_compile.internal_functions import expect, is_finite
from chainrules_compile.passes.analysis import (
    ADDS,
    changed,
    contiguous,
    fits,
    is_array,
    is_contiguous,
    replaced,
    size,
    value_of,
)
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.simplify import uniform
from chainrules_py.ops import (
    add_at,
    copy,
    full_like,
    permute_dims,
    reshape,
    zeros_like,
)
from chainrules_py.ops.engine_operations import Index, duplicate, read
from chainrules_py.program import Call, Program, Value

_NUMBERS = (int, float, np.float64)
_SUMS = (np.add, np.subtract)
_PRODUCTS = (np.multiply, np.divide)
_ON_DIAGONALS = frozenset((*_SUMS, *_PRODUCTS, np.negative, copy, duplicate))
_MATMULS = (np.matmul, operator.matmul)
_KEEP = _ON_DIAGONALS.union((*_MATMULS, *ADDS, permute_dims, reshape)) - {np.divide}
"""Functions whose results are infinite or NaN somewhere if an operand is."""
_FEWEST, _MOST = 64, 1 << 22
"""Minimum and maximum number of elements of an array with diagonals."""
_SEVERAL = 4
"""Maximum number of diagonals of a constant array."""
_LARGE = 4096
"""Number of elements above which the diagonals are tested for being finite, and not the array."""

Diagonals = dict[range, Any]
"""The values, or constant arrays, at ranges of places in the flat array."""


def with_diagonals(program: Program) -> Program:
    """Return the program with calls on diagonals in place of calls on arrays with known zeros."""
    if is_finite not in program.functions:
        return program
    walk = _Walk(program)
    if not any(map(walk.of, program.constants)):
        return program
    for call in program.calls:
        walk.take(call)
    outputs = walk.dense(Call(None, program.outputs, {}, ())).operands
    made = changed(
        program, calls=tuple(walk.calls), outputs=outputs, constants=dict(walk.constants)
    )
    return without_dead_code(made)


def _guarded(program: Program) -> set[Value]:
    """Return the values for which no program is run to its end if they are not finite."""
    found: set[Value] = set()
    for call in reversed(program.calls):
        if call.function is expect and call.operands[1] is True and call.options["kind"] is bool:
            found.update(call.values)
        elif found.isdisjoint(call.results) or not size(call.results[0]):
            continue
        elif call.function in _KEEP or call.function is is_finite:
            found.update(call.values)
        elif call.function is np.divide and type(call.operands[0]) is Value:
            found.add(call.operands[0])
    return found


@final
class _Walk:
    def __init__(self, program: Program) -> None:
        self.calls: list[Call] = []
        self.constants = dict(program.constants)
        self._guarded = _guarded(program)
        self._found: dict[Value, Diagonals | None] = {}
        self._kept: set[Value] = set()
        self._instead: dict[Value, Any] = {}
        self._count = 0

    def of(self, x: Any) -> Diagonals | None:
        """Return the diagonals of a value, or None."""
        if type(x) is Value and x not in self._found and x in self.constants:
            array = self.constants[x]
            self._found[x] = _diagonals_of(array) if x in self._guarded and _suits(x) else None
        return self._found.get(x) if type(x) is Value else None

    def take(self, call: Call) -> None:
        """Take the next call: note the diagonals of its result, or write it."""
        y = call.results[0] if len(call.results) == 1 else None
        if y is not None and y in self._guarded:
            if (call.function is is_finite and self._tested(call)) or (
                call.function in _MATMULS and self._matmul(call)
            ):
                return
            found = self._diagonals(call, y) if _suits(y) and is_contiguous(y) else None
            if found is not None:
                self._found[y] = found
                self._kept.add(y)
                return
        self.calls.append(self.dense(call))

    def dense(self, call: Call) -> Call:
        """Return a call of arrays, which are written before it where they were diagonals."""
        for x in self._kept.intersection(call.values) if self._kept else ():
            self._kept.remove(x)
            self._write(x)
        return replaced(call, self._instead)

    def _write(self, x: Value) -> None:
        n, step = size(x), x.dtype.itemsize
        z = self._new((n,), x)
        self.calls.append(Call(np.zeros, ((n,),), {"dtype": x.dtype}, (z,)))
        for places, y in (self._found[x] or {}).items():
            before, z = z, self._new((n,), x)
            at = Index.split(slice(places.start, places.stop, places.step))[0]
            self.calls.append(Call(add_at, (before, self._value(y)), {"index": at}, (z,)))
        layout = contiguous(x.shape or (), step)
        y = value_of(f"{x.name}_dense", np.ndarray, x.shape, x.dtype, z, layout)
        self.calls.append(Call(reshape, (z,), {"shape": x.shape}, (y,)))
        self._instead[x] = y

    def _new(self, shape: tuple[int, ...], like: Value) -> Value:
        self._count += 1
        name, layout = f"d{self._count}_{like.name}", contiguous(shape, like.dtype.itemsize)
        return value_of(name, np.ndarray, shape, like.dtype, None, layout)

    def _value(self, y: Any) -> Value:
        """Return a value, or the value of a constant array."""
        if type(y) is Value:
            return y
        self._count += 1
        x = value_of(f"c{self._count}_diagonal", np.ndarray, y.shape, y.dtype, None, y.strides)
        self.constants[x] = y
        return x

    def _call(self, function: Any, like: Value, *xs: Any) -> Any:
        """Return the result of an elementwise call of diagonals, factors and numbers."""
        arrays = [x for x in xs if type(x) is np.ndarray]
        if not any([type(x) is Value for x in xs]):
            with np.errstate(all="ignore"):
                return function(*xs)
        if function is np.multiply and arrays and (arrays[0] == arrays[0][0]).all():
            (x,) = [x for x in xs if type(x) is Value]
            if is_array(x) and x.shape == arrays[0].shape:
                if arrays[0][0] == 1:
                    return x
                xs = (float(arrays[0][0]), x)
        shapes = [x.shape for x in xs if not isinstance(x, _NUMBERS)]
        y = self._new(np.broadcast_shapes(*[s or () for s in shapes]), like)
        given = tuple([x if isinstance(x, _NUMBERS) else self._value(x) for x in xs])
        self.calls.append(Call(function, given, {}, (y,)))
        return y

    def _diagonals(self, call: Call, y: Value) -> Diagonals | None:
        """Return the diagonals of the result of a call, or None."""
        f, xs = call.function, call.operands
        if any([is_array(x) and x.dtype != y.dtype for x in xs]):
            return {} if _is_zeros(call) else None
        if f in ADDS and len(xs) == 2 and not any(e is Index.HOLE for e in call.options["index"]):
            return self._placed(call, y)
        if call.options or f not in _ON_DIAGONALS:
            return {} if _is_zeros(call) else None
        first, second = self.of(xs[0]), self.of(xs[-1])
        if f in (copy, duplicate):
            return first
        if f is np.negative and first:
            return {k: self._call(f, y, a) for k, a in first.items()}
        if f in _SUMS and first and second and len(xs) == 2 and xs[0].shape == xs[1].shape:
            return self._sum(f, y, first, second)
        if f is np.multiply and not first:
            first, second, xs = second, first, xs[::-1]
        return self._product(f, y, first, xs[1]) if f in _PRODUCTS and first else None

    def _sum(self, f: Any, y: Value, first: Diagonals, second: Diagonals) -> Diagonals:
        found = dict(first)
        for places, b in second.items():
            found[places] = (
                self._call(f, y, found[places], b)
                if places in found
                else b
                if f is np.add
                else self._call(np.negative, y, b)
            )
        return found

    def _product(self, f: Any, y: Value, first: Diagonals, by: Any) -> Diagonals | None:
        """Return the diagonals times a number, or times an array that each row is multiplied by."""
        shape: Any = y.shape
        if type(by) in _NUMBERS:
            fine = np.isfinite(by) and (by != 0 or f is np.multiply)
            return {k: self._call(f, y, a, by) for k, a in first.items()} if fine else None
        if type(by) is not Value or (is_array(by) and by.layout is None):
            return None
        if not is_array(by) or not by.shape:
            return {k: self._call(f, y, a, self._dense(by)) for k, a in first.items()}
        columns: dict[range, Any] = {k: _columns(k, shape[1]) for k in first}
        met = {j for each in columns.values() for j in each or ()}
        if by.shape != shape[1:] or None in columns.values() or len(met) < shape[1]:
            number = uniform(self.constants.get(by))
            return None if number is None else self._product(f, y, first, number)
        by = self._dense(by)
        return {k: self._call(f, y, a, self._part(by, columns[k])) for k, a in first.items()}

    def _dense(self, x: Value) -> Any:
        return self.dense(Call(None, (x,), {}, ())).operands[0]

    def _part(self, x: Value, where: range) -> Any:
        """Return the elements of a factor at a range of places."""
        array = self.constants.get(x)
        if array is not None:
            return array[where.start : where.stop : where.step].copy()
        if where == range(size(x)):
            return x
        layout = (where.step * x.layout[0],) if len(where) > 1 else ()
        y = value_of(f"{self._new((), x).name}_part", np.ndarray, (len(where),), x.dtype, x, layout)
        at = Index.split(slice(where.start, where.stop, where.step))[0]
        self.calls.append(Call(read, (x,), {"index": at}, (y,)))
        return y

    def _placed(self, call: Call, y: Value) -> Diagonals | None:
        """Return the diagonals of an array to a part of which diagonals are added."""
        before, added = map(self.of, call.operands)
        if before is None or not added:
            return None
        at = np.arange(size(y)).reshape(y.shape or ())[call.options["index"].join(())]
        if at.shape != call.operands[1].shape:
            return None
        moved = {_range(at.reshape(-1)[k.start : k.stop : k.step]): x for k, x in added.items()}
        if None in moved or len(moved) < len(added):
            return None
        return self._sum(np.add, y, before, moved)  # type: ignore[arg-type]

    def _tested(self, call: Call) -> bool:
        """Write the test of diagonals for being finite; return whether there are any."""
        (x,), found = call.operands, self.of(call.operands[0])
        if not found or size(x) < _LARGE:
            return False
        values = [y for y in found.values() if type(y) is Value] or [x]
        for y in values[:-1]:
            b = value_of(f"{self._new((), y).name}_finite", bool, None, None, None, None)
            self.calls.append(Call(is_finite, (y,), call.options, (b,)))
            self.calls.append(Call(expect, (b, True), {"kind": bool}, ()))
        self.calls.append(self.dense(Call(is_finite, (values[-1],), call.options, call.results)))
        return True

    def _matmul(self, call: Call) -> bool:
        """Write the product of a diagonal matrix and another as a product of rows and numbers."""
        if not fits(call, 2) or not is_array(y := call.results[0]):
            return False
        x, w = call.operands
        found = self.of(x)
        if (
            (not found or len(found) > 1 or not is_array(w) or w.layout is None)
            or len(w.shape or ()) != 2
            or not x.dtype == w.dtype == y.dtype
        ):
            return False
        ((places, a),) = found.items()
        n = x.shape[0]
        if x.shape != (n, n) or places != range(0, n * n, n + 1) or not is_contiguous(y):
            return False
        w = self._dense(w)
        if not is_contiguous(w):  # the product would be laid out as it
            given, w = w, self._new(w.shape or (), y)
            self.calls.append(Call(copy, (given,), {}, (w,)))
        if uniform(a) == 1:
            self._instead[y] = w
            return True
        a = self._value(a)
        column = value_of(f"{y.name}_column", np.ndarray, (n, 1), y.dtype, a, a.layout)
        self.calls.append(Call(reshape, (a,), {"shape": (n, 1)}, (column,)))
        self.calls.append(Call(np.multiply, (column, w), {}, (y,)))
        return True


def _is_zeros(call: Call) -> bool:
    """Return whether a call gives an array of real zeros."""
    if call.function not in (zeros_like, full_like):
        return False
    fill: Any = call.options.get("fill", 0)
    if type(fill) not in (int, float) or fill != 0 or str(fill)[0] == "-":
        return False
    (y,) = call.results
    return is_array(y) and y.dtype.kind == "f" and size(y) > 0 and is_contiguous(y)


def _suits(x: Value) -> bool:
    """Return whether an array may be kept as diagonals."""
    kind = is_array(x) and x.dtype.kind == "f" and len(x.shape or ()) == 2
    return kind and _FEWEST <= size(x) <= _MOST


def _diagonals_of(array: Any) -> Diagonals | None:
    """Return the diagonals of a constant array, or None."""
    places, flat = np.flatnonzero(array), array.reshape(-1)
    if not 0 < 4 * len(places) <= array.size or not np.isfinite(flat[places]).all():
        return None
    rows, columns = np.divmod(places, array.shape[1])
    kinds = [places]
    if _range(places) is None:
        kinds = [places[columns - rows == k] for k in np.unique(columns - rows)[: _SEVERAL + 1]]
    found = {_range(where): flat[where] for where in kinds}
    known = len(kinds) <= _SEVERAL and all([k and _columns(k, array.shape[1]) for k in found])
    return found if known else None  # type: ignore[return-value]


def _range(places: Any) -> range | None:
    """Return ascending places as a range, or None if their distances differ."""
    step = int(places[1] - places[0]) if len(places) > 1 else 1
    if step <= 0 or not np.all(np.diff(places) == step):
        return None
    return range(int(places[0]), int(places[-1]) + 1, step)


def _columns(places: range, width: int) -> range | None:
    """Return the columns of places as a range, or None."""
    return _range(np.asarray(places) % width)
