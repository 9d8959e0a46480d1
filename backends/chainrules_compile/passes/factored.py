"""Factored once: systems of one matrix, its inverse and its determinant have one factorisation.

With the bits of NumPy's functions, where a matrix of that size that is asked has them. A cotangent
needs the transpose, whose factors are these if the matrix turns out to be symmetric; looser
programs need not look.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from chainrules_compile import factors, quick_factors
from chainrules_compile.passes.values import changed, is_array, value_of
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import (
    cholesky,
    det,
    inv,
    inv_again,
    matrix_transpose,
    slogdet,
    solve,
    solve_again,
)

_ROWS = 65
"""From how many rows on a factorisation costs more than the call that spares it."""
_QUICK_ROWS = 2
"""The same, of looser programs."""
_ONE_MATRIX: dict[Any, str] = {
    **dict.fromkeys((inv, inv_again, np.linalg.inv), "inverse"),
    **dict.fromkeys((slogdet, np.linalg.slogdet), "log_determinant"),
    **dict.fromkeys((det, np.linalg.det), "determinant"),
}
"""What is computed of one matrix, by its factors, under the names in both modules of kernels."""
_SYSTEMS = frozenset((solve, np.linalg.solve))
_DETERMINANTS = frozenset(("log_determinant", "determinant"))
_PULL = "solve_pull_numpy"
"""The name of what pulls back through a system with one right side."""
_TRIANGLES = frozenset((cholesky, np.linalg.cholesky))
"""Of what they give no factors are needed to go back."""
_DOUBLE = np.dtype(np.float64)


def with_shared_factors(program: Program) -> Program:
    """Return the program with one factorisation for all calls that need that of a matrix."""
    return _shared(program, True)


def with_shared_factors_loosely(program: Program) -> Program:
    """Do the same, with factors that need not be those of NumPy's functions."""
    return _shared(program, False)


def _shared(program: Program, exact: bool) -> Program:
    functions = program.functions
    if functions.isdisjoint(_SYSTEMS) and functions.isdisjoint(_ONE_MATRIX):
        return program
    walk = _Walk(program, exact)
    uses: dict[Value, list[int]] = {}
    for i, call in enumerate(program.calls):
        a = walk.matrix(call)
        if a is not None:
            uses.setdefault(a, []).append(i)
    found = {i: a for a, places in uses.items() if len(places) > 1 for i in places}
    if not found:
        return program
    calls: list[Call] = []
    for i, call in enumerate(program.calls):
        calls += walk.instead(call, found[i]) if i in found else (call,)
    return changed(program, calls=tuple(calls))


@final
class _Walk:
    def __init__(self, program: Program, exact: bool) -> None:
        self._exact = exact
        self._by: Any = factors if exact else quick_factors
        self._made = program.definitions()
        self._factors: dict[Value, tuple[Value, Value]] = {}

    def matrix(self, call: Call) -> Value | None:
        """Return the matrix whose factors a call needs, if it can be given them."""
        f, operands, a = call.function, call.operands, None
        if call.options or not operands:
            return None
        if f in _ONE_MATRIX or f in _SYSTEMS:
            a = operands[0]
        elif f is solve_again:
            a = self._turned(operands[0])
        elif getattr(f, "__name__", "") == _PULL:
            a = operands[1]
        rows = _rows(a)
        least = _ROWS if self._exact else _QUICK_ROWS
        if rows < least or not _fits(call, rows) or self._is_triangle(a):
            return None
        return a if self._has_bits(_ONE_MATRIX.get(f), rows) else None

    def instead(self, call: Call, a: Value) -> list[Call]:
        """Return what stands in the place of a call, by the factors of its matrix."""
        calls = []
        if a not in self._factors:
            calls.append(self._factored(a))
        f, operands = self._by_factors(call, a, self._factors[a])
        return [*calls, Call(f, operands, {}, call.results)]

    def _by_factors(self, call: Call, a: Value, both: tuple[Value, Value]) -> tuple[Any, Any]:
        """Return what is called, and of which operands."""
        f, operands, by = call.function, call.operands, self._by
        if f in _ONE_MATRIX:
            name = _ONE_MATRIX[f]
            turned = name == "inverse" and call.results[0].layout != (8 * _rows(a), 8)
            return getattr(by, "inverse_by_columns" if turned else name), both
        if f in _SYSTEMS:
            return by.solved, (*both, operands[1])
        if f is solve_again:
            x = operands[1]
            return (by.again, (a, x, *both)) if self._exact else (by.turned, (*both, x))
        y_bar, _, y, _ = operands
        return by.pull, ((y_bar, a, y, *both) if self._exact else (y_bar, y, *both))

    def _factored(self, a: Value) -> Call:
        n, name = _rows(a), a.name
        small = not self._exact and quick_factors.is_small(n)
        layout = (8, 8 * n) if small else (8 * n, 8)
        columns = value_of(f"{name}_columns", np.ndarray, (n, n), _DOUBLE, None, layout)
        places = np.dtype(np.int32 if small else factors.INTEGER)
        pivots = value_of(f"{name}_pivots", np.ndarray, (n,), places, None, (places.itemsize,))
        self._factors[a] = columns, pivots
        return Call(self._by.factored, (a,), {}, (columns, pivots))

    def _turned(self, x: Any) -> Value | None:
        made = self._made.get(x) if type(x) is Value else None
        return made.operands[0] if made is not None and made.function is matrix_transpose else None

    def _is_triangle(self, a: Any) -> bool:
        made = self._made.get(a)
        return made is not None and made.function in _TRIANGLES

    def _has_bits(self, of_one: Any, rows: int) -> bool:
        if not self._exact:
            return True
        systems, determinants = factors.agrees(rows)
        return systems and (determinants or of_one not in _DETERMINANTS)


def _rows(a: Any) -> int:
    """Count the rows of a square matrix of double numbers; 0 of what is none."""
    if not is_array(a) or a.dtype != _DOUBLE or len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        return 0
    rows: int = a.shape[0]
    return rows


def _fits(call: Call, rows: int) -> bool:
    """Tell whether right sides are vectors or matrices of double numbers, of so many rows."""
    if call.function in _ONE_MATRIX:
        return True
    if call.function in _SYSTEMS or call.function is solve_again:
        b = call.operands[1]
        return _is_double(b) and len(b.shape) < 3 and b.shape[0] == rows
    y_bar, _, y, vector = call.operands
    return (
        vector is True and _is_double(y_bar) and _is_double(y) and y_bar.shape == y.shape == (rows,)
    )


def _is_double(x: Any) -> bool:
    return is_array(x) and x.dtype == _DOUBLE
