"""Triangular systems, and the derivatives of what is solved and of Cholesky's factors.

They are lowered as `chainrules_numpy` computes them: by LAPACK's functions of one triangle where
SciPy has them, by the loops of `numpy.linalg` otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_native._private import LAPACK, loop_named
from chainrules_native.calls import loop_of
from chainrules_native.factors import by_loop, in_order, matrices, result, solved
from chainrules_native.items import Copy, Finite, Guard
from chainrules_native.lowering import Lowering, form, is_array
from chainrules_native.memory import UnwritableError, View
from chainrules_native.products import dotted, multiplied, product, stood_up, transposed
from chainrules_native.rearranged import only, triangle
from chainrules_py import vocabulary as v
from chainrules_py.program import Call, Value

_DOUBLE = np.dtype(np.float64)
_BLOCK, _FEW, _FEW_ROWS, _PANEL = 32, 100, 16, 64
"""As `chainrules_numpy.decompositions` has them."""


def _has_lapack() -> bool:
    return loop_of("dtrtrs", "d") is not None


def _like(y: Value, view: View) -> Value:
    """Return a value for a result in C order that a program has no name for."""
    shape = view.shape
    layout = tuple([s for n, s in zip(shape, _c_order(shape), strict=True) if n != 1])
    return Value("", np.ndarray, shape, y.dtype, layout=layout)


def _c_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    steps, step = [0] * len(shape), 8
    for d in reversed(range(len(shape))):
        steps[d], step = step, step * shape[d]
    return tuple(steps)


def _new(s: Lowering, function: Any, view: View, *operands: Any, **options: Any) -> View:
    """Lower a call whose result lies in C order and has the shape of a view."""
    y = _like(Value("", dtype=_DOUBLE), view)
    made: View = function(s, Call(None, operands, options, (y,)))
    s.views[y] = made
    return made


def _triangle_of(s: Lowering, view: View, upper: bool) -> View:
    return _new(s, triangle(not upper), view, s.held(view))


def _backwards(view: View, *axes: int) -> View:
    """Return a view that runs backwards along axes."""
    offset, strides = view.offset, list(view.strides)
    for axis in axes:
        offset += (view.shape[axis] - 1) * strides[axis]
        strides[axis] = -strides[axis]
    return view._replace(offset=offset, strides=tuple(strides))


def _solve_triangular(s: Lowering, call: Call) -> View:
    only(call, "upper", "unit_diagonal")
    (a, b), (y,) = call.operands, call.results
    upper, unit = (bool(call.options.get(name)) for name in ("upper", "unit_diagonal"))
    if not is_array(b) or form(b)[1] != _DOUBLE:
        raise UnwritableError
    return _by_substitution(s, matrices(s, a), s.view(b), y, upper, unit)


def _by_substitution(
    s: Lowering, a: View, b: View, y: Value, upper: bool, unit: bool = False
) -> View:
    n = a.shape[-1]
    if len(a.shape) == 2 and b.size == n and len(b.shape) < 3 and _has_lapack():
        return _by_lapack(s, a, b, y, upper, unit)
    columns = b.shape[-1] if len(b.shape) > 1 else 1
    if unit or len(b.shape) < 2:
        raise UnwritableError
    if columns <= n <= max(_BLOCK, _FEW - columns):
        if upper:
            return solved(s, _triangle_of(s, a, True), b, y, False)
        given = _triangle_of(s, _backwards(a, -1, -2), True)
        right = _backwards(b, -2)
        found = solved(s, given, right, _like(y, right), False)
        return _backwards(found, -2)
    if n > _BLOCK or len(a.shape) > 2 or len(b.shape) > 2:
        raise UnwritableError
    turned = a if upper else transposed(a)
    given, inverse = _triangle_of(s, turned, True), s.new(a.shape, _DOUBLE)
    by_loop(s, "inv", [given], [inverse], True)
    return product(s, y, inverse if upper else transposed(inverse), b)


def _by_lapack(s: Lowering, a: View, b: View, y: Value, upper: bool, unit: bool) -> View:
    """Solve with one right side: what lies in the order of C is the other triangle for LAPACK."""
    n = a.shape[0]
    in_columns = transposed(a).in_c_order
    if not in_columns and not a.in_c_order:
        a = s.copy(a)
    into = _copied(s, b, y)
    loop = s.loop("dtrtrs", "d")
    call = _trtrs(loop, n, in_columns, upper, unit)
    s.kernel(f"{_HEAD}  {call}  *s = missed != 0;\n", [into], [a], may_miss=True)
    return into


_HEAD = "  int missed = 0;\n"


def _trtrs(loop: int, n: int, in_columns: bool, upper: bool, unit: bool = False) -> str:
    letters = ("U" if upper == in_columns else "L") + ("N" if in_columns else "T")
    letters += "U" if unit else "N"
    kind = "void (*)(char*, char*, char*, int*, int*, char*, int*, char*, int*, int*)"
    return (
        f'{{ char l[] = "{letters}"; int n = {n}, one = 1;\n'
        f"    (({kind})L[{2 * loop}])(l, l + 1, l + 2, &n, &one, a1, &n, a0, &n, &missed); }}\n"
    )


def _copied(s: Lowering, b: View, y: Value) -> View:
    """Copy a right side to where the solution will be."""
    out = result(s, y)
    if out.size != b.size:
        raise UnwritableError
    flat = b if len(b.shape) == 1 else _one_column(b)
    step = out.dtype.itemsize
    s.add(Copy(out._replace(shape=flat.shape, strides=(step,)), flat))
    return s.written(out)


def _one_column(b: View) -> View:
    axis = 0 if b.shape[0] != 1 else 1
    return b._replace(shape=(b.size,), strides=(b.strides[axis],))


def _again(s: Lowering, a: View, b: View, y: Value) -> View:
    """Solve a system as `solve_again` does, which looks whether the matrix is a triangle."""
    n, one = a.shape[-1], len(b.shape) == 1
    if len(a.shape) == 2 and b.size == n and len(b.shape) < 3 and _has_lapack():
        return _after_a_look(s, a, b, y)
    if len(a.shape) == 2 and n > _BLOCK:
        raise UnwritableError
    return solved(s, a if len(a.shape) == 2 else in_order(s, a), b, y, one)


def _after_a_look(s: Lowering, a: View, b: View, y: Value) -> View:
    n, in_columns = a.shape[0], transposed(a).in_c_order
    if not in_columns and not a.in_c_order:
        raise UnwritableError
    into = _copied(s, b, y)
    row, column = a.strides
    lapack, given = s.loop("dtrtrs", "d"), None
    if n <= _PANEL:
        by_factors = _by_factors(s, n, row, column)
    else:
        given = s.new((n,), _DOUBLE)
        s.add(Copy(given, into._replace(shape=(n,), strides=(8,))))
        factors = s.loop(loop_named(LAPACK, "solve1"), "dd->d")
        by_factors = f"""    char* p[] = {{a1, a2, a0}};
    I d[] = {{1, {n}}}, e[] = {{0, 0, 0, {row}, {column}, 8, 8}};
    feclearexcept(FE_INVALID);
    ((loop_t)L[{2 * factors}])(p, d, e, L[{2 * factors + 1}]);
    missed = fetestexcept(FE_INVALID) != 0;
"""
    few = int(n <= _FEW_ROWS)
    text = f"""  int missed = 0, below = {few}, above = {few};
  for (I i = 1; i < {n} && !below; i++) for (I j = 0; j < i; j++)
    if (AT(double, a1 + i * {row} + j * {column}) != 0) {{ below = 1; break; }}
  for (I i = 1; i < {n} && below && !above; i++) for (I j = 0; j < i; j++)
    if (AT(double, a1 + j * {row} + i * {column}) != 0) {{ above = 1; break; }}
  if (above) {{
{by_factors}  }} else if (below) {_trtrs(lapack, n, in_columns, False)}
  else {_trtrs(lapack, n, in_columns, True)}
  *s = missed;
"""
    s.kernel(text, [into], [a] if given is None else [a, given], may_miss=True)
    return into


def _by_factors(s: Lowering, n: int, row: int, column: int) -> str:
    """Spell the solution of a small system by LAPACK's factors."""
    factor, solve = (2 * s.loop(name, "d") for name in ("dgetrf", "dgetrs"))
    one = "int*, int*, char*, int*, int*"
    return f"""    double m[{n * n}]; int n = {n}, one = 1, places[{n}]; char l[] = "N";
    for (I i = 0; i < {n}; i++) for (I j = 0; j < {n}; j++)
      m[j * {n} + i] = AT(double, a1 + i * {row} + j * {column});
    ((void (*)({one}, int*))L[{factor}])(&n, &n, (char*)m, &n, places, &missed);
    if (!missed) ((void (*)(char*, {one}, char*, int*, int*))L[{solve}])(
      l, &n, &one, (char*)m, &n, places, a0, &n, &missed);
"""


def _inv_again(s: Lowering, call: Call) -> View:
    """Invert one small matrix in the order of Fortran, others as NumPy does."""
    only(call)
    (x,), (y,) = call.operands, call.results
    a, out = matrices(s, x), result(s, y)
    n = a.shape[-1]
    if len(a.shape) > 2 or n > _PANEL or not _has_lapack():
        by_loop(s, "inv", [a], [out], True)
        return out
    if not transposed(out).in_c_order:
        raise UnwritableError
    factor, invert = (2 * s.loop(name, "d") for name in ("dgetrf", "dgetri"))
    row, column = a.strides
    text = f"""  int n = {n}, missed = 0, size = {3 * n}, places[{n}]; double work[{3 * n}];
  for (I i = 0; i < {n}; i++) for (I j = 0; j < {n}; j++)
    ((double*)a0)[j * {n} + i] = AT(double, a1 + i * {row} + j * {column});
  ((void (*)(int*, int*, char*, int*, int*, int*))L[{factor}])(&n, &n, a0, &n, places, &missed);
  if (!missed) ((void (*)(int*, char*, int*, int*, char*, int*, int*))L[{invert}])(
    &n, a0, &n, places, (char*)work, &size, &missed);
  *s = missed != 0;
"""
    s.kernel(text, [out], [a], may_miss=True)
    return out


def _solve_again(s: Lowering, call: Call) -> View:
    only(call)
    (a, b), (y,) = call.operands, call.results
    if not is_array(b) or form(b)[1] != _DOUBLE:
        raise UnwritableError
    return _again(s, matrices(s, a), s.view(b), y)


def _solve_pull(s: Lowering, call: Call) -> View:
    """Lower -A⁻ᵀ Ȳ Yᵀ."""
    (y_bar, a, y, vector), (a_bar,) = call.operands, call.results
    if not (is_array(y_bar) and is_array(y)) or form(y_bar) != form(y):
        raise UnwritableError
    shape, (turned, b, solution) = (
        form(y)[0],
        (transposed(matrices(s, a)), *map(s.view, (y_bar, y))),
    )
    if vector != (len(shape) == 1) or b.dtype != _DOUBLE:
        raise UnwritableError
    right = _again(s, turned, b, _like(y, b))
    minus = _like(y, b if vector else right)
    if vector:
        s.views[minus] = s.elementwise(minus, np.negative, (y,))
        return multiplied(s, a_bar, stood_up(right), s.view(minus))
    s.views[minus] = s.elementwise(minus, np.negative, (s.held(right),))
    return product(s, a_bar, s.view(minus), transposed(solution))


def _cholesky_pull(s: Lowering, call: Call) -> View:
    """Lower the cotangent of one small matrix, as `chainrules_numpy.decompositions` has it."""
    (y_bar, y, upper), (x_bar,) = call.operands, call.results
    if upper or not is_array(y_bar) or form(y_bar) != form(y) or not _has_lapack():
        raise UnwritableError
    factor, given = matrices(s, y), s.view(y_bar)
    n = factor.shape[0]
    if len(factor.shape) > 2 or n > _PANEL:
        raise UnwritableError
    _expect_finite(s, given)
    inverse = _inverted(s, factor)
    middle = dotted(s, _like(y, factor), transposed(factor), given)
    middle = s.written(middle)
    s.kernel(_phi("a0", n), [middle], [])
    both = s.new((n, n), _DOUBLE)
    s.kernel(_sum_with_transpose(n, middle.strides), [both], [middle])
    whole = dotted(s, _like(y, factor), transposed(inverse), both)
    out = s.written(dotted(s, x_bar, whole, inverse))
    s.kernel(_phi("a0", n, out.strides), [out], [])
    return out


def _cholesky_tangent(s: Lowering, call: Call) -> View:
    """Lower the tangent of one small factor, as `chainrules_numpy.decompositions` has it."""
    (x_dot, y), (y_dot,) = call.operands, call.results
    if not is_array(x_dot) or form(x_dot) != form(y) or form(y)[1] != _DOUBLE or not _has_lapack():
        raise UnwritableError
    factor, given = matrices(s, y), s.view(x_dot)
    n = factor.shape[0]
    if len(factor.shape) > 2 or n > _PANEL:
        raise UnwritableError
    factor = _triangle_of(s, factor, False)
    given = s.written(s.copy(given))
    s.kernel(_triangle("a0", n, given.strides) + _phi("a0", n, given.strides), [given], [])
    both, inverse = s.new((n, n), _DOUBLE), _inverted(s, factor)
    s.kernel(_sum_with_transpose(n, given.strides), [both], [given])
    left = product(s, _like(y, factor), inverse, both)
    middle = s.written(product(s, _like(y, factor), left, transposed(inverse)))
    s.kernel(_phi("a0", n), [middle], [])
    return product(s, y_dot, factor, middle)


def _inverted(s: Lowering, factor: View) -> View:
    """Invert a matrix with zeros above its diagonal by LAPACK's function."""
    inverse = s.written(s.copy(factor))
    n, loop = factor.shape[0], s.loop("dtrtri", "d")
    kind = "void (*)(char*, char*, int*, char*, int*, int*)"
    text = f'  int n = {n}, missed = 0; char l[] = "UN";\n'
    text += f"  (({kind})L[{2 * loop}])(l, l + 1, &n, a0, &n, &missed);\n  *s = missed != 0;\n"
    s.kernel(text, [inverse], [], may_miss=True)
    return inverse


def _triangle(where: str, n: int, strides: tuple[int, ...]) -> str:
    """Put zeros above the diagonal, whatever is there."""
    row, column = strides
    return (
        f"  for (I i = 0; i < {n}; i++) for (I j = i + 1; j < {n}; j++)\n"
        f"    AT(double, {where} + i * {row} + j * {column}) = 0.0;\n"
    )


def _sum_with_transpose(n: int, strides: tuple[int, ...]) -> str:
    row, column = strides
    one = f"AT(double, a1 + i * {row} + j * {column})"
    other = f"AT(double, a1 + j * {row} + i * {column})"
    return (
        f"  for (I i = 0; i < {n}; i++) for (I j = 0; j < {n}; j++)\n"
        f"    ((double*)a0)[i * {n} + j] = {one} + {other};\n"
    )


def _phi(where: str, n: int, strides: tuple[int, ...] | None = None) -> str:
    """Multiply by the lower triangle, with half of the diagonal."""
    row, column = strides or (8 * n, 8)
    return (
        f"  for (I i = 0; i < {n}; i++) for (I j = 0; j < {n}; j++)\n"
        f"    AT(double, {where} + i * {row} + j * {column}) *= j < i ? 1.0 : j == i ? 0.5 : 0.0;\n"
    )


def _expect_finite(s: Lowering, view: View) -> None:
    """Ask whether elements are finite, by a product of them in the order of memory."""
    if not view.is_whole:
        view = s.copy(view)
    answer = s.new((), np.dtype(np.bool_), ())
    answer.version.item = len(s.items)
    s.add(Finite(answer, view, s.loop(np.matmul, "dd->d")))
    s.add(Guard(answer, True))


TRIANGULAR: dict[Any, Any] = {
    v.solve_triangular: _solve_triangular,
    v.solve_again: _solve_again,
    v.inv_again: _inv_again,
    v.cholesky_tangent: _cholesky_tangent,
    "solve_pull_numpy": _solve_pull,
    "cholesky_pull_numpy": _cholesky_pull,
}
