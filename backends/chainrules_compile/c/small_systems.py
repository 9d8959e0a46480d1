"""Lowering of dense systems of up to 64 rows of doubles: factors, solutions, derivatives.

The overhead of NumPy is as long as these computations in C. Larger systems stay NumPy calls between
functions of C. A matrix, or its transpose, is factored once for all uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_compile.c.buffers import UnwritableError, View
from chainrules_compile.c.contractions import contracted
from chainrules_compile.c.item_builder import Lowering, form, is_array, only
from chainrules_py import ops as v
from chainrules_py.program import Call, Value

MOST = 64
"""Maximum number of rows; up to two matrices of this size are on the stack."""
_DOUBLE = np.dtype(np.float64)


def _matrix(s: Lowering, x: Any) -> View:
    """Return the view of a small square matrix of doubles."""
    if not is_array(x) or form(x)[1] != _DOUBLE:
        raise UnwritableError
    rows, *columns = form(x)[0]
    if columns != [rows] or not 0 < rows <= MOST:
        raise UnwritableError
    return s.view(x)


def _right(s: Lowering, b: Any, n: int) -> View:
    """Return the view of a right-hand side of doubles, or of several as columns."""
    if not is_array(b) or form(b)[1] != _DOUBLE:
        raise UnwritableError
    view = s.view(b)
    shape = view.shape
    if len(shape) > 2 or shape[:1] != (n,) or not view.size:
        raise UnwritableError
    return view


def _transposed(view: View) -> View:
    return view._replace(shape=view.shape[::-1], strides=view.strides[::-1])


def _columns(view: View) -> int:
    return view.shape[1] if len(view.shape) > 1 else 1


def _lies(i: int, view: View) -> str:
    """Return a matrix as arguments of a C function: its address and its strides."""
    row, column = (*view.strides, 0)[:2]
    return f"a{i}, {row}, {column}"


def _called(s: Lowering, function: str, out: View, given: list[View], *numbers: int) -> View:
    """Call a function of `kernels.h` that takes matrices, and returns whether it fails."""
    texts = [_lies(i, view) for i, view in enumerate((out, *given))]
    text = f"  *s = small_{function}({', '.join([*texts[1:], texts[0], *map(str, numbers)])});\n"
    s.kernel(text, [out], given, may_miss=True)
    return out


def _cholesky(s: Lowering, call: Call) -> View:
    only(call, "upper")
    (x,), (y,) = call.operands, call.results
    if call.options.get("upper"):
        raise UnwritableError
    view = _matrix(s, x)
    return _called(s, "cholesky", s.result(y), [view], view.shape[0])


def _factors(s: Lowering, view: View) -> tuple[View, bool]:
    """Return the factors of a matrix or of its transpose, and whether it is the transpose."""
    turned = view.strides[0] < view.strides[1]
    matrix, (n, _) = _transposed(view) if turned else view, view.shape
    key = "factors", matrix.version, matrix.offset, matrix.strides
    found = s.known(key)
    if found is None:
        found = [s.new((n * n + n + 1,), _DOUBLE)]
        s.kernel(f"  small_factors({_lies(1, matrix)}, a0, {n});\n", found, [matrix])
        s.know(key, found)
    return found[0], turned


def _inverse(s: Lowering, call: Call) -> View:
    only(call)
    (x,), (y,) = call.operands, call.results
    (factors, turned), out = _factors(s, _matrix(s, x)), s.result(y)
    lies = _lies(0, _transposed(out) if turned else out)
    s.kernel(f"  *s = small_inverse(a1, {lies}, {out.shape[0]});\n", [out], [factors], True)
    return out


def _solved(s: Lowering, a: View, b: View, out: View) -> View:
    factors, turned = _factors(s, a)
    numbers = f"{a.shape[0]}, {_columns(b)}, {int(turned)}"
    text = f"  *s = small_solve(a1, {_lies(2, b)}, {_lies(0, out)}, {numbers});\n"
    s.kernel(text, [out], [factors, b], True)
    return out


def _solve(s: Lowering, call: Call) -> View:
    only(call)
    (a, b), (y,) = call.operands, call.results
    view = _matrix(s, a)
    return _solved(s, view, _right(s, b, view.shape[0]), s.result(y))


def _solve_triangular(s: Lowering, call: Call) -> View:
    only(call, "upper", "unit_diagonal")
    (a, b), (y,) = call.operands, call.results
    view = _matrix(s, a)
    right = _right(s, b, view.shape[0])
    if (y.layout or (0,))[0] < 0:  # as in NumPy's result, which solves the other triangle
        made = s.new(right.shape, _DOUBLE)
        step, *steps = made.strides
        offset = (right.shape[0] - 1) * step
        out = made._replace(offset=offset, strides=(-step, *steps))
    else:
        out = s.result(y)
    ways = [int(bool(call.options.get(name))) for name in ("upper", "unit_diagonal")]
    numbers = view.shape[0], _columns(right), *ways
    return _called(s, "solve_triangle", out, [view, right], *numbers)


def _layout(view: View) -> tuple[int, ...]:
    pairs = zip(view.shape, view.strides, strict=True)
    return tuple([step for n, step in pairs if n != 1])


def _solve_pull(s: Lowering, call: Call) -> View:
    """Lower -A⁻ᵀ Ȳ Yᵀ."""
    (y_bar, a, y, vector), (a_bar,) = call.operands, call.results
    view = _transposed(_matrix(s, a))
    n = view.shape[0]
    b, solution = _right(s, y_bar, n), _right(s, y, n)
    if vector != (len(b.shape) == 1) or b.shape != solution.shape:
        raise UnwritableError
    right = _solved(s, view, b, s.new(b.shape, _DOUBLE))
    minus = Value("", np.ndarray, b.shape, _DOUBLE, layout=_layout(right))
    s.views[minus] = s.elementwise(minus, np.negative, (s.held(right),))
    of_b, of_solution = [(axis,) if vector else (axis, "k") for axis in "ij"]
    return contracted(s, a_bar, s.view(minus), of_b, solution, of_solution, ("i", "j"))


def _pulled(s: Lowering, call: Call) -> View:
    (y_bar, y, upper), (x_bar,) = call.operands, call.results
    if upper or not is_array(y_bar) or form(y_bar) != form(y):
        raise UnwritableError
    given = [_matrix(s, y), s.view(y_bar)]
    return _called(s, "cholesky_pull", s.result(x_bar), given, given[0].shape[0])


def _pushed(s: Lowering, call: Call) -> View:
    (x_dot, y), (y_dot,) = call.operands, call.results
    if not is_array(x_dot) or form(x_dot) != form(y):
        raise UnwritableError
    given = [_matrix(s, y), s.view(x_dot)]
    return _called(s, "cholesky_tangent", s.result(y_dot), given, given[0].shape[0])


def _slogdet(s: Lowering, call: Call) -> list[View]:
    only(call)
    view = _matrix(s, call.operands[0])
    (factors, _), (sign, log) = _factors(s, view), [s.result(y) for y in call.results]
    text = f"  small_log_det(a2, (double*)a0, (double*)a1, {view.shape[0]});\n"
    s.kernel(text, [sign, log], [factors])
    return [sign, log]


SMALL: dict[Any, Callable[[Lowering, Call], View]] = {
    **dict.fromkeys((v.cholesky, np.linalg.cholesky), _cholesky),
    **dict.fromkeys((v.inv, np.linalg.inv, v.inv_again), _inverse),
    **dict.fromkeys((v.solve, np.linalg.solve, v.solve_again), _solve),
    v.solve_triangular: _solve_triangular,
    v.cholesky_tangent: _pushed,
    "solve_pull_numpy": _solve_pull,
    "cholesky_pull_numpy": _pulled,
}
LOG_DETERMINANTS: dict[Any, Any] = dict.fromkeys((v.slogdet, np.linalg.slogdet), _slogdet)
