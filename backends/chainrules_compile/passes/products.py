"""Sums of products: those of all steps are one product, of matrices of all their rows.

The cotangent of a weight that each step of a loop multiplies by is a sum of products, of the
cotangent of each step and what was multiplied. `a.T @ b + c.T @ d` is one product of matrices which
have the rows of a and c, and of b and d. It adds up in another order, so that bits are not kept.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any, NamedTuple, final

import numpy as np

from chainrules_compile.calls import joined_rows, sum_to
from chainrules_compile.passes.values import (
    changed,
    contiguous,
    fits,
    is_array,
    is_contiguous,
    size,
)
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import matrix_transpose

_FEWEST = 4
"""How many products are one at least."""
_LARGEST = 1 << 22
"""How many elements the matrices of all rows have at most."""
_LEFT, _RIGHT = "matmul_left_numpy", "matmul_right_numpy"


class Rows(NamedTuple):
    """Product of the transpose of one array with another, vectors standing for matrices of a row.

    Attributes
    ----------
    a, b : Value
    """

    a: Value
    b: Value

    @property
    def form(self) -> Any:
        """Their shapes, and the dtype: of what is alike one product can be made."""
        return self.a.shape, self.b.shape, self.a.dtype


def with_joined_products(program: Program) -> Program:
    """Return the program with one product for sums of many."""
    if len([call for call in program if name_of(call) in (_LEFT, _RIGHT)]) < _FEWEST:
        return program
    walk = _Walk(program)
    calls = [new for i, call in enumerate(program.calls) for new in walk.instead(i, call)]
    return program if not walk.found else changed(program, calls=tuple(calls))


def name_of(call: Call) -> Any:
    """Return what the function of a call is called."""
    return getattr(call.function, "__name__", None)


def rows_of_product(call: Call) -> Rows | None:
    """Return what a call multiplies, if it is the product of a transpose with an array."""
    name = name_of(call)
    if name not in (_LEFT, _RIGHT):
        return None
    y_bar, a, b = call.operands
    (y,) = call.results
    if not all(map(is_plain, (y_bar, a, b, y))) or len(y.shape or ()) != 2:
        return None
    if not y_bar.dtype == a.dtype == b.dtype == y.dtype:
        return None
    shapes = len(y_bar.shape), len(a.shape), len(b.shape)
    if name == _LEFT and shapes == (1, 2, 1):
        return Rows(y_bar, b)
    if name == _RIGHT and shapes in ((1, 1, 2), (2, 2, 2)):
        return Rows(a, y_bar)
    return None


def is_plain(x: Any) -> bool:
    """Tell whether an operand is an array of real floating numbers without gaps."""
    return is_array(x) and x.dtype.kind == "f" and is_contiguous(x)


@final
class _Walk:
    """Walk along a program, with the sums that it has.

    Attributes
    ----------
    found : bool
        Whether a sum of products was found.
    """

    def __init__(self, program: Program) -> None:
        self.found = False
        self._made = program.definitions()
        self._uses = program.uses()
        self._joined: dict[tuple[Value, ...], Value] = {}
        self._inner: set[Value] = set()
        self._count = 0
        for call in program:
            if call.function is np.add and fits(call, 2):
                self._inner.update([x for x in call.values if self._is_partial(x, call)])

    def _is_partial(self, x: Value, call: Call) -> bool:
        """Tell whether a value is a sum that another goes on with, and nobody else uses."""
        made = self._made.get(x)
        sum_of_two = made is not None and made.function is np.add and fits(made, 2)
        alone = sum_of_two and len(self._uses[x]) == 1
        (y,) = call.results
        return alone and x.shape == y.shape and x.dtype == y.dtype

    def instead(self, i: int, call: Call) -> list[Call]:
        """Return what stands in the place of a call."""
        if call.function is not np.add or not fits(call, 2) or call.results[0] in self._inner:
            return [call]
        (y,) = call.results
        if not is_plain(y):
            return [call]
        leaves = [*self._leaves(call)]
        if len(leaves) < _FEWEST:
            return [call]
        calls: list[Call] = []
        terms = self._products(leaves, calls) if len(y.shape or ()) == 2 else None
        terms = self._rows(leaves, calls) if terms is None else terms
        if terms is None:
            return [call]
        self.found = True
        return [*calls, *self._sum(terms, y, calls)]

    def _leaves(self, call: Call) -> Iterator[Any]:
        """Give the terms of a sum."""
        waiting = [*call.operands[::-1]]
        while waiting:
            x = waiting.pop()
            if type(x) is Value and x in self._inner:
                waiting += self._made[x].operands[::-1]
            else:
                yield x

    def _products(self, leaves: list[Any], calls: list[Call]) -> list[Any] | None:
        """Return the terms with one product for those that are alike; None where there are few."""
        of: dict[Any, list[tuple[Rows, Value]]] = collections.defaultdict(list)
        rest = []
        for x in leaves:
            made = self._made.get(x) if type(x) is Value else None
            found = None if made is None or len(self._uses[x]) > 1 else rows_of_product(made)
            if found is None:
                rest.append(x)
            else:
                of[found.form].append((found, x))
        joined = False
        for pairs in of.values():
            products = [each for each, _ in pairs]
            if len(pairs) < _FEWEST or not pays(products):
                rest += [x for _, x in pairs]
                continue
            joined = True
            a = self._join([x.a for x in products], calls)
            b = self._join([x.b for x in products], calls)
            (n, m), step = shape_of(a), a.dtype.itemsize
            layout = (step, m * step) if n > 1 < m else contiguous((m, n), step)
            turned = self._new((m, n), a.dtype, a, layout)
            calls.append(Call(matrix_transpose, (a,), {}, (turned,)))
            total = self._new((m, shape_of(b)[1]), a.dtype)
            calls.append(Call(np.matmul, (turned, b), {}, (total,)))
            rest.append(total)
        return rest if joined else None

    def _rows(self, leaves: list[Any], calls: list[Call]) -> list[Any] | None:
        """Return the terms with one sum for those that are rows of what was joined."""
        terms = {x: self._row(x) for x in leaves if type(x) is Value}
        rows = [x for x in terms.values() if x is not None]
        for joined, whole in self._joined.items():
            if len(rows) == len(terms) and len(joined) >= _FEWEST and {*joined} <= {*rows}:
                if len({*joined}) < len(joined) or len({*rows}) < len(rows):
                    continue
                total = self._new(shape_of(whole)[1:], whole.dtype)
                options = {"result": whole.shape, "shape": total.shape}
                calls.append(Call(sum_to, (whole,), options, (total,)))
                return [*[x for x in leaves if terms.get(x) not in joined], total]
        return None

    def _row(self, x: Value) -> Value | None:
        """Return the array whose rows a term sums up: itself, where it is a vector."""
        made = self._made.get(x)
        if made is not None and made.function is sum_to and len(self._uses[x]) == 1:
            (of,) = made.operands
            return of if len(of.shape) == 2 and len(x.shape or ()) == 1 else None
        return x if len(x.shape or ()) == 1 else None

    def _join(self, xs: list[Value], calls: list[Call]) -> Value:
        key = tuple(xs)
        if key not in self._joined:
            shape = (sum([rows(x) for x in xs]), shape_of(xs[0])[-1])
            made = self._joined[key] = self._new(shape, xs[0].dtype)
            calls.append(Call(joined_rows, key, {"shape": shape}, (made,)))
        return self._joined[key]

    def _sum(self, terms: list[Any], y: Value, calls: list[Call]) -> Iterator[Call]:
        """Give the calls that add terms up; the last of them gives what the sum is called."""
        if len(terms) == 1:
            last = calls.pop()
            yield Call(last.function, last.operands, last.options, (y,))
            return
        total = terms[0]
        for x in terms[1:-1]:
            new = self._new(y.shape, y.dtype)
            yield Call(np.add, (total, x), {}, (new,))
            total = new
        yield Call(np.add, (total, terms[-1]), {}, (y,))

    def _new(
        self, shape: Any, dtype: Any, memory: Value | None = None, layout: Any = None
    ) -> Value:
        self._count += 1
        layout = contiguous(shape, dtype.itemsize) if layout is None else layout
        return Value(f"product{self._count}_of_all", np.ndarray, shape, dtype, memory, layout)


def shape_of(x: Value) -> Any:
    """Return the shape of an array."""
    return x.shape


def rows(x: Value) -> int:
    """Count the rows of a matrix; a vector is one."""
    shape = shape_of(x)
    return shape[0] if len(shape) == 2 else 1


def pays(products: list[Rows]) -> bool:
    """Tell whether to join the rows takes less time than the sums that are saved."""
    a, b = products[0]
    made = shape_of(a)[-1] * shape_of(b)[-1]
    moved = size(a) + size(b)
    return moved < 2 * made + 2000 and moved * len(products) <= _LARGEST
