"""Zero patterns: of arrays that are mostly zero, as seeds of Jacobians are, few elements are kept.

Where an array is zero is known of constants, and follows through products, sums, views and sums
over axes. What is computed of its other elements is a vector, and an array is made of that where it
is needed whole. Zero times what is infinite or undefined is no zero, so factors are asked.

Bits are kept as well where no zero that is left out would be a -0 in the end.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.calls import expect_finite, placed, united
from chainrules_compile.passes.bounds import Bounds
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.values import changed, contiguous, is_array, is_contiguous, size
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary.views import read

_LARGEST = 1 << 22
_LEAST = 16
"""How many elements an array has at most, and at least."""
_SHARE = 4
"""Of how many elements one is not zero, of a constant that is worth looking at; then of two."""
_F8 = np.dtype(np.float64)
_VIEWS = frozenset((v.expand_dims, v.squeeze, v.permute_dims, v.matrix_transpose, v.reshape))
_VIEWS |= {v.flip, v.broadcast_to}
_PAID = 0.8
"""What the program has to cost, of what it did."""

Places = Any
"""The places of elements in an array, in C order: integers, each once."""


class Sparse(NamedTuple):
    """Array of which most is zero.

    Attributes
    ----------
    value : Value
        The vector of the other elements.
    places : ndarray of int
        Where they stand.
    sign : int
        Of the zeros, where all are of one sign: 1 or -1; 0 where that is not known.
    """

    value: Value
    places: Places
    sign: int


def with_zero_patterns(program: Program, exact: bool = True) -> Program:
    """Return the program with vectors for arrays that are mostly zero; the same, if none are."""
    found = {x: p for x, a in program.constants.items() if (p := pattern_of(a)) is not None}
    if not any([len(p) for p in found.values()]):
        return program
    walk = _Walk(program, found, exact)
    for call in program.calls:
        walk.take(call)
    outputs = Call(None, program.outputs, {}, ()).replaced(walk.whole).operands
    constants = {**program.constants, **walk.constants}
    fields = {"calls": tuple(walk.calls), "outputs": outputs, "constants": constants}
    made = without_dead_code(changed(program, **fields))
    made = walk.asking(made)
    before = without_dead_code(program)
    return made if cost(made) < _PAID * cost(before) else program


def with_zero_patterns_loosely(program: Program) -> Program:
    """Return the same, for programs in which the sign of a zero does not matter."""
    return with_zero_patterns(program, exact=False)


def pattern_of(array: Any) -> Places | None:
    """Return where an array is not zero, if it is mostly zero and an engine made it."""
    if type(array) is not np.ndarray or array.dtype != _F8:
        return None
    if not _LEAST <= array.size <= _LARGEST or array.ndim < 2:
        return None
    places = np.flatnonzero(array)
    return places if len(places) * _SHARE <= array.size else None


def cost(program: Program) -> float:
    """Estimate the microseconds that a program takes."""
    return math.fsum(map(cost_of, program))


def cost_of(call: Call) -> float:
    """Estimate the microseconds that a call takes."""
    n = sum(map(size, filter(is_array, (*call.values, *call.results))))
    if call.function in _VIEWS or (call.results and call.results[0].memory is not None):
        return 0.2
    if call.function in (v.matmul, np.matmul) and is_array(call.results[0]):
        shape: Any = call.operands[0].shape
        return 0.8 + 3e-4 * float(n + size(call.results[0]) * shape[-1])
    return 0.6 + 5e-4 * n


@final
class _Walk:
    """Walk along a program, with vectors beside what it computes.

    Attributes
    ----------
    calls : list of Call
        Those of the program, and those of vectors.
    constants : dict
        What these need.
    whole : dict
        The arrays made of vectors, for those that they are.
    """

    def __init__(self, program: Program, patterns: dict[Value, Places], exact: bool) -> None:
        self.calls: list[Call] = []
        self.constants: dict[Value, Any] = {}
        self.whole: dict[Value, Value] = {}
        self._exact = exact
        self._of = program.constants
        made: dict[Value, Call] = {}
        self._made, self._bounds = made, Bounds(program.constants, made)
        self._sparse: dict[Value, Sparse] = {}
        self._known: dict[Any, Value] = {}  # constants and calls of before
        self._needs: dict[Value, tuple[Value, ...]] = {}  # what is finite if a vector is right
        self._now: list[Value] = []
        for x, places in patterns.items():
            flat = program.constants[x].reshape(-1)
            rest = np.signbit(flat[flat == 0])
            sign = 1 if not rest.any() else -1 if rest.all() else 0
            self._sparse[x] = Sparse(self._constant(flat[places]), places, sign)

    def take(self, call: Call) -> None:
        """Take the next call: beside it, compute the vector of its result if that is known."""
        found = None
        if any([x in self._sparse for x in call.values]) and len(call.results) == 1:
            self._now = []
            instead = {x: y for x, y in self.whole.items() if x not in self._sparse}
            try:
                found = self._found(call.replaced(instead))
            except _Dense:
                found = None
        self.calls.append(call.replaced(self.whole))
        for y in call.results:
            self._made[y] = call
        if found is None:
            return
        (y,) = call.results
        if 2 * len(found.places) <= size(y):
            self._sparse[y] = found
        self._make_whole(y, found)

    def asking(self, program: Program) -> Program:
        """Return the program with the question whether all factors that matter are finite."""
        asked = {x for call in program for y in call.results for x in self._needs.get(y, ())}
        if not asked:
            return program
        calls = list(program.calls)
        places = [i + 1 for i, call in enumerate(calls) if not asked.isdisjoint(call.results)]
        question = Call(expect_finite, tuple(sorted(asked, key=lambda x: x.name)), {}, ())
        calls.insert(max(places, default=0), question)
        return changed(program, calls=tuple(calls))

    # ------------------------------------------------------------------------------ what is made

    def _call(self, function: Any, operands: Any, n: int, options: Any = None) -> Value:
        """Note a call that gives a vector; the one of before, if there was one."""
        options = options or {}
        known = tuple([x if type(x) is Value else repr(x) for x in operands])
        key = function, known, repr(options)
        if key not in self._known:
            y = Value(f"kept{len(self._known)}_of_zeros", np.ndarray, (n,), _F8, None, (8,))
            if n == 1:
                y = Value(y.name, np.ndarray, (n,), _F8, None, ())
            self.calls.append(Call(function, tuple(operands), options, (y,)))
            self._known[key] = y
        y = self._known[key]
        self._needs[y] = (*self._needs.get(y, ()), *self._now)
        return y

    def _constant(self, array: Any) -> Value:
        array = np.ascontiguousarray(array)
        key = array.dtype, array.shape, array.tobytes()
        if key not in self._known:
            layout = contiguous(array.shape, array.itemsize)
            name = f"kept{len(self._known)}_of_zeros"
            y = Value(name, np.ndarray, array.shape, array.dtype, None, layout)
            self._known[key] = y
            self.constants[y] = array
        return self._known[key]

    def _make_whole(self, y: Value, found: Sparse) -> None:
        """Have the array be there, where its zeros are those that it would have."""
        if not is_contiguous(y) or (
            self._exact and found.sign != 1 and len(found.places) < size(y)
        ):
            return
        if is_arange(found.places, size(y)):
            whole = Value(f"{y.name}_whole", y.type, y.shape, y.dtype, found.value, y.layout)
            self.calls.append(Call(v.reshape, (found.value,), {"shape": y.shape}, (whole,)))
            self.whole[y] = whole
            return
        whole = Value(f"{y.name}_whole", y.type, y.shape, y.dtype, None, y.layout)
        steps = np.diff(found.places)
        regular = len(steps) > 0 and (steps == steps[0]).all() and steps[0] > 0
        first, last = map(int, found.places[[0, -1]] if regular else (0, 0))
        where: Any = slice(first, last + 1, int(steps[0])) if regular else None
        rest = () if regular else (self._constant(found.places),)
        options = {"shape": y.shape, "where": where}
        self.calls.append(Call(placed, (found.value, *rest), options, (whole,)))
        self.whole[y] = whole

    def _finite(self, x: Any) -> None:
        """Have an operand be asked whether it is finite, where that is not known."""
        if type(x) is not Value:
            if not isinstance(x, (int, float)) or not math.isfinite(x):
                raise _Dense
        elif x in self._of or x in self.constants:
            if not np.isfinite(self._of.get(x, self.constants.get(x))).all():
                raise _Dense
        elif x.type in (float, np.float64) or (is_array(x) and x.dtype == _F8):
            self._now.append(x)
        else:
            raise _Dense

    def _elements(self, x: Any, shape: Any, places: Places) -> Any:
        """Return the elements of an array, which is spread over a shape, that stand in places."""
        if type(x) is not Value or not x.shape:
            return x
        if not is_array(x) or x.dtype != _F8 or size(x) > _LARGEST:
            raise _Dense
        where = np.broadcast_to(np.arange(size(x)).reshape(x.shape), shape).reshape(-1)[places]
        if x in self._of:
            return self._constant(self._of[x].reshape(-1)[where])
        if len(x.shape) == 1 and is_arange(where, size(x)):
            return x
        return self._call(np.ndarray.take, (x, self._constant(where)), len(places))

    def _sign(self, x: Any) -> int:
        """Return the sign of all elements, -0 and 0 among them; 0 where it is not known."""
        if type(x) is not Value:
            return -1 if str(x)[0] == "-" else 1
        array = self._of.get(x)
        if array is not None:
            signs = np.signbit(array)
            return 1 if not signs.any() else -1 if signs.all() else 0
        return 1 if self._bounds.at_least(x) > 0 else 0

    # ------------------------------------------------------------------------- what is known of

    def _found(self, call: Call) -> Sparse:
        """Return what is known of the result of a call.

        Raises
        ------
        _Dense
            If it is not mostly zero, or not by what is known here.
        """
        f, (y,) = call.function, call.results
        if not is_array(y) or y.dtype != _F8 or not _LEAST <= size(y) <= _LARGEST:
            raise _Dense
        if f in _VIEWS or f is read:
            return self._viewed(call)
        rule = _RULES.get(f)
        if rule is None or (call.options and f not in (v.sum, v.scatter_add)):
            raise _Dense
        found: Sparse = rule(self, call)
        return found

    def _viewed(self, call: Call, function: Callable[..., Any] | None = None) -> Sparse:
        if len(call.operands) != 1:
            raise _Dense
        x = self._sparse[call.operands[0]]
        shape: Any = call.operands[0].shape
        at = np.full(math.prod(shape), -1)
        at[x.places] = np.arange(len(x.places))
        moved = (function or call.function)(at.reshape(shape), **call.options)
        flat = np.ascontiguousarray(moved).reshape(-1)
        places = np.flatnonzero(flat >= 0)
        order = flat[places]
        if not len(places):
            raise _Dense
        if len(places) == len(x.places) and len(np.unique(order)) == len(order):
            return x._replace(places=places[np.argsort(order)])
        if x.value in self.constants:
            return x._replace(value=self._constant(self.constants[x.value][order]), places=places)
        value = self._call(np.ndarray.take, (x.value, self._constant(order)), len(places))
        return Sparse(value, places, x.sign)

    def _spread(self, x: Value, shape: Any) -> Sparse:
        """Return what is known of an array that is spread over a shape."""
        if x.shape == shape:
            return self._sparse[x]
        call = Call(v.broadcast_to, (x,), {}, ())
        return self._viewed(call, functools.partial(np.broadcast_to, shape=shape))

    def _negated(self, call: Call) -> Sparse:
        x = self._sparse[call.operands[0]]
        value = self._call(np.negative, (x.value,), len(x.places))
        return Sparse(value, x.places, -x.sign)

    def _squared(self, call: Call) -> Sparse:
        x = self._sparse[call.operands[0]]
        return Sparse(self._call(np.square, (x.value,), len(x.places)), x.places, abs(x.sign))

    def _multiplied(self, call: Call) -> Sparse:
        """Multiply by what is not zero as well; of two patterns, the first one stays."""
        i = 0 if call.operands[0] in self._sparse else 1
        x, other = call.operands[i], call.operands[1 - i]
        shape: Any = call.results[0].shape
        here = self._spread(x, shape)
        if other in self._sparse:
            there = self._spread(other, shape)
            if not np.array_equal(here.places, there.places):
                raise _Dense
            with_, sign = there.value, here.sign * there.sign
        else:
            strongly = call.function is v.strong_multiply and i == 0 and not self._exact
            if not strongly:
                self._finite(other)
            with_ = self._elements(other, shape, here.places)
            sign = here.sign * self._sign(other)
        function = call.function
        if function is v.strong_multiply and self._exact:
            function = np.multiply
        xs = (here.value, with_) if i == 0 else (with_, here.value)
        return Sparse(self._call(function, xs, len(here.places)), here.places, sign)

    def _added(self, call: Call) -> Sparse:
        """Add, or subtract: the result is not zero where one of both is not."""
        x, y = call.operands
        shape: Any = call.results[0].shape
        f = call.function
        if x not in self._sparse or y not in self._sparse:
            raise _Dense
        a, b = self._spread(x, shape), self._spread(y, shape)
        other = -b.sign if f is np.subtract else b.sign
        sign = 1 if 1 in (a.sign, other) else min(a.sign + other + 1, 0)
        if np.array_equal(a.places, b.places):
            return Sparse(self._call(f, (a.value, b.value), len(a.places)), a.places, sign)
        if self._exact and not (self._may_add(a, b.sign) and self._may_add(b, a.sign)):
            raise _Dense
        places = np.union1d(a.places, b.places)
        if 2 * len(places) > math.prod(shape):
            raise _Dense
        where = [self._constant(np.searchsorted(places, p)) for p in (a.places, b.places)]
        options = {"ufunc": f, "n": len(places)}
        value = self._call(united, (a.value, b.value, *where), len(places), options)
        return Sparse(value, places, sign)

    def _may_add(self, x: Sparse, sign: int) -> bool:
        """Tell whether 0 may be added to elements, or taken from them, where zeros have a sign."""
        return sign == 1 or (x.value in self.constants and bool(self.constants[x.value].all()))

    def _scattered(self, call: Call) -> Sparse:
        """Add to zeros in a part."""
        z, *rest = call.operands
        if len(rest) != 1 or z not in self._of or rest[0] not in self._sparse:
            raise _Dense
        zeros, x = self._of[z], rest[0]
        if zeros.any() or np.signbit(zeros).any():
            raise _Dense
        part = np.arange(zeros.size).reshape(zeros.shape)[call.options["index"].join(())]
        if part.shape != x.shape or len(np.unique(part)) < part.size:
            raise _Dense
        found = self._sparse[x]
        value = self._positive(found.value) if self._exact else found.value
        return Sparse(value, part.reshape(-1)[found.places], 1)

    def _positive(self, x: Value) -> Value:
        """Return a vector with 0 for -0."""
        return self._call(np.add, (0.0, x), size(x))

    def _summed(self, call: Call) -> Sparse:
        """Sum over axes; with equal bits where no sum has two that are not zero."""
        (x,), axis = call.operands, call.options["axis"]
        if axis is None:
            raise _Dense
        found, shape = self._sparse[x], x.shape
        kept = np.empty(shape, bool).any(axis=axis, keepdims=True).shape
        into = np.arange(math.prod(kept)).reshape(kept)
        return self._gathered(found, np.broadcast_to(into, shape).reshape(-1)[found.places])

    def _gathered(self, found: Sparse, into: Places) -> Sparse:
        places, where = np.unique(into, return_inverse=True)
        if len(places) == len(into):
            value = self._positive(found.value) if self._exact else found.value
            if self._exact and found.sign != 1:
                raise _Dense
            return Sparse(value, into, found.sign)
        if self._exact:
            raise _Dense
        operands = self._constant(where), found.value, len(places)
        return Sparse(self._call(np.bincount, operands, len(places)), places, 0)

    def _product(self, call: Call) -> Sparse:
        """Multiply by a matrix or a vector: each element takes a row, or a column, of it."""
        a, b = call.operands
        (y,) = call.results
        if (
            self._exact
            or not (is_array(a) and is_array(b))
            or (a in self._sparse) == (b in self._sparse)
        ):
            raise _Dense
        left = a in self._sparse
        x, other = (a, b) if left else (b, a)
        if (
            len(x.shape) < 2
            or not 1 <= len(other.shape) <= 2
            or not (left or len(other.shape) == 2)
        ):
            raise _Dense
        self._finite(other)
        found, shape = self._sparse[x], x.shape
        lead, row, column = indices(found.places, (math.prod(shape[:-2]), *shape[-2:]))
        if len(other.shape) == 1:
            with_ = self._elements(other, (other.shape[0],), column)
            into, n = lead * shape[-2] + row, 1
            value = self._call(np.multiply, (found.value, with_), len(column))
            return self._gathered(Sparse(value, found.places, 0), into)
        n = other.shape[1] if left else other.shape[0]
        each = np.arange(n)
        if left:  # z[i, k] b[k, :]
            at = column[:, None] * n + each
            into = (lead * shape[-2] + row)[:, None] * n + each
        else:  # a[:, i] z[i, k]
            at = each * other.shape[1] + row[:, None]
            into = (lead[:, None] * n + each) * shape[-1] + column[:, None]
        if into.size > size(y):
            raise _Dense
        values = self._call(np.ndarray.take, (other, self._constant(at.reshape(-1))), at.size)
        again = self._call(np.ndarray.repeat, (found.value, n), at.size)
        value = self._call(np.multiply, (again, values), at.size)
        return self._gathered(Sparse(value, found.places, 0), into.reshape(-1))


class _Dense(Exception):  # noqa: N818 (it is no error: the array is computed whole)
    """Of an array is not known where it is zero."""


_RULES: dict[Any, Callable[[_Walk, Call], Sparse]] = {
    **dict.fromkeys((np.multiply, v.strong_multiply), _Walk._multiplied),
    **dict.fromkeys((np.add, np.subtract), _Walk._added),
    **dict.fromkeys((v.matmul, np.matmul), _Walk._product),
    np.negative: _Walk._negated,
    np.square: _Walk._squared,
    v.scatter_add: _Walk._scattered,
    v.sum: _Walk._summed,
}


def indices(places: Places, shape: tuple[int, ...]) -> Any:
    """Return where elements stand along each axis."""
    return np.unravel_index(places, shape)


def is_arange(xs: Places, n: int) -> bool:
    """Tell whether integers are the first n, in order."""
    return np.array_equal(xs, np.arange(n))
