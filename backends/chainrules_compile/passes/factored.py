"""Factored once: systems of one matrix, its inverse and its determinant have one factorisation.

With the bits of NumPy's functions, where a matrix of that size that is asked has them. A cotangent
needs the transpose, whose factors are these if the matrix turns out to be symmetric; looser
programs need not look.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from chainrules_compile import factors
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
_ONE_MATRIX: dict[Any, Any] = {
    **dict.fromkeys((inv, inv_again, np.linalg.inv), factors.inverse),
    **dict.fromkeys((slogdet, np.linalg.slogdet), factors.log_determinant),
    **dict.fromkeys((det, np.linalg.det), factors.determinant),
}
_SYSTEMS = frozenset((solve, np.linalg.solve))
_DETERMINANTS = frozenset((factors.log_determinant, factors.determinant))
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
        if rows < _ROWS or not _fits(call, rows) or self._is_triangle(a):
            return None
        return a if self._has_bits(_ONE_MATRIX.get(f), rows) else None

    def instead(self, call: Call, a: Value) -> list[Call]:
        """Return what stands in the place of a call, by the factors of its matrix."""
        calls = []
        if a not in self._factors:
            calls.append(self._factored(a))
        f, (*_, last), both = call.function, call.operands, self._factors[a]
        if f in _ONE_MATRIX:
            calls.append(Call(_ONE_MATRIX[f], both, {}, call.results))
        elif f in _SYSTEMS:
            calls.append(Call(factors.solved, (*both, last), {}, call.results))
        elif f is solve_again and self._exact:
            calls.append(Call(factors.again, (a, last, *both), {}, call.results))
        elif f is solve_again:
            calls.append(Call(factors.turned, (*both, last), {}, call.results))
        else:
            y_bar, _, y, _ = call.operands
            pull, operands = (
                (factors.pull, (y_bar, a, y)) if self._exact else (factors.pull_turned, (y_bar, y))
            )
            calls.append(Call(pull, (*operands, *both), {}, call.results))
        return calls

    def _factored(self, a: Value) -> Call:
        n, name = _rows(a), a.name
        columns = value_of(f"{name}_columns", np.ndarray, (n, n), _DOUBLE, None, (8 * n, 8))
        places = np.dtype(factors.INTEGER)
        pivots = value_of(f"{name}_pivots", np.ndarray, (n,), places, None, (places.itemsize,))
        self._factors[a] = columns, pivots
        return Call(factors.factored, (a,), {}, (columns, pivots))

    def _turned(self, x: Any) -> Value | None:
        made = self._made.get(x) if type(x) is Value else None
        return made.operands[0] if made is not None and made.function is matrix_transpose else None

    def _is_triangle(self, a: Any) -> bool:
        made = self._made.get(a)
        return made is not None and made.function in _TRIANGLES

    def _has_bits(self, of_one: Any, rows: int) -> bool:
        systems, determinants = factors.agrees(rows) if self._exact else (True, True)
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
