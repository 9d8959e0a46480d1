"""Recurrences: the coefficients of a function's series, from those of its operands.

Coefficients are in a list, or, if they are plain arrays, in one array with a leading axis, so that
a sum of products is one call of NumPy.
"""

from __future__ import annotations

import cmath
import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import chainrules_py.ops as v
from chainrules_py.extend import type_info, untraced


class Constant(tuple[Any]):
    """Coefficients of a constant value: the first alone."""

    __slots__ = ()


PIECE = 4096
"""Number of elements of a large array that are processed at once."""
SMALL = 256
"""Largest size of a coefficient for which one call computes a product, with twice the work."""


def _new(y: Any, like: Any) -> Any:
    """Allocate coefficients, of which the first is y."""
    if type(like) is not np.ndarray:
        return [y, *[None] * (len(like) - 1)]
    room = np.empty((len(like), *y.shape), np.result_type(y, like))
    room[0] = y
    return room


def zeros(x: Any) -> Any:
    """Return a zero of a value's class and shape, also if the value is infinite."""
    if type_info(type(x)).is_array:
        return v.zeros_like(x)
    plain = untraced(x)
    return type(plain)(0) if isinstance(plain, int | float | complex | np.generic) else 0.0 * x


def _infinite(x: Any) -> bool:
    """Return whether numbers are plain and one is infinite or NaN: a product with 0 is 0 there.

    Very large numbers count as infinite: the test squares them, because that is fastest.
    """
    if type(x) is np.ndarray:
        return x.dtype.kind in "fc" and not cmath.isfinite(np.vdot(x, x))
    return isinstance(x, float | complex | np.inexact) and not np.isfinite(x)


def _ratio(t: Any, x: Any) -> Any:
    """Divide a coefficient by a value; a zero stays 0 where the value is 0."""
    if type(x) is np.ndarray:
        away = np.count_nonzero(x) == x.size
    else:
        away = not isinstance(x, float | complex | np.inexact) or x != 0
    if away:
        return t / x
    with np.errstate(divide="ignore", invalid="ignore"):
        return v.strong_multiply(t, np.divide(1.0, x))


def _dot(x: Any, y: Any, first: int, last: int, k: int) -> Any:
    """Return the sum of ``x[j] y[k - j]`` over j from first to last."""
    if k == 0:
        return x[0] * y[0]
    if (first == 0 and _infinite(x[0])) or (last == k and _infinite(y[0])):
        pairs = [(x[j], y[k - j]) if j else (y[k], x[0]) for j in range(first, last + 1)]
        return functools.reduce(operator.add, [v.strong_multiply(*pair) for pair in pairs])
    if type(x) is np.ndarray and type(y) is np.ndarray:
        return np.einsum("j...,j...->...", x[first : last + 1], y[k - last : k - first + 1][::-1])
    total = x[first] * y[k - first]
    for j in range(first + 1, last + 1):
        total = total + x[j] * y[k - j]
    return total


def _times_place(x: Any) -> Any:
    """Multiply each coefficient by its index: the coefficients of the slope, shifted by one."""
    if type(x) is np.ndarray:
        places = np.arange(1, len(x), dtype=np.real(x).dtype)
        slope = x[1:] * places.reshape(-1, *(1,) * (x.ndim - 1))
        return np.concatenate([np.zeros_like(x[:1]), slope])  # x[0] may be infinite
    return [zeros(x[0]), *[k * a if k > 1 else a for k, a in enumerate(x[1:], 1)]]


def _sum(x: Any, y: Any) -> Any:
    if type(x) is Constant or type(y) is Constant:
        moving, fixed = (y, x[0]) if type(x) is Constant else (x, y[0])
        nothing = zeros(fixed)
        if type(moving) is np.ndarray and np.ndim(fixed) < moving.ndim:
            found = moving + nothing
            found[0] = moving[0] + fixed
            return found
        return _alike([moving[0] + fixed, *[a + nothing for a in moving[1:]]], moving)
    if type(x) is np.ndarray and type(y) is np.ndarray and x.shape == y.shape:
        return x + y
    return _alike([a + b for a, b in zip(x, y, strict=True)], x, y)


def _alike(terms: list[Any], *given: Any) -> Any:
    return np.stack(terms) if all([type(x) in (np.ndarray, Constant) for x in given]) else terms


def _negative(x: Any) -> Any:
    return -x if type(x) is np.ndarray else [-a for a in x]


def _difference(x: Any, y: Any) -> Any:
    if type(x) is np.ndarray and type(y) is np.ndarray and x.shape == y.shape:
        return x - y
    found = _sum(x, Constant((zeros(y[0]),)) if type(y) is Constant else _negative(y))
    found[0] = x[0] - y[0]
    return found


def _product(x: Any, y: Any) -> Any:
    if type(x) is Constant or type(y) is Constant:
        moving, fixed = (y, x[0]) if type(x) is Constant else (x, y[0])
        if _infinite(fixed):
            rest = [v.strong_multiply(a, fixed) for a in moving[1:]]
            return _alike([moving[0] * fixed, *rest], moving)
        if type(moving) is np.ndarray:
            return _alike([a * fixed for a in moving]) if np.ndim(fixed) else moving * fixed
        return [a * fixed if moving is x else fixed * a for a in moving]
    alike = type(x) is np.ndarray and type(y) is np.ndarray and x.shape == y.shape
    small = alike and x.size <= SMALL * len(x) and x.dtype == y.dtype
    if small and not _infinite(x[0]) and not _infinite(y[0]):
        return _in_one_call(x, y)
    terms = [_dot(x, y, 0, k, k) for k in range(len(x))]
    return _alike(terms, x, y)


def _in_one_call(x: Any, y: Any) -> Any:
    """Compute all sums of products in one call, over windows of y with zeros in front."""
    n = len(y)
    padded = np.zeros((2 * n - 1, y[0].size), y.dtype)
    padded[n - 1 :] = y.reshape(n, -1)
    row, item = padded.strides
    shape, strides = (n, n, padded.shape[1]), (row, -row, item)
    windows: Any = np.ndarray(shape, y.dtype, padded, (n - 1) * row, strides)
    found = np.einsum("ji,kji->ki", x.reshape(n, -1), windows).reshape(x.shape)
    found[0] = x[0] * y[0]  # a sum loses the sign of zero
    return found


def _quotient(x: Any, y: Any) -> Any:
    if type(y) is Constant:
        by = y[0]
        return (
            x / by if type(x) is np.ndarray and not np.ndim(by) else _alike([a / by for a in x], x)
        )
    z = _new(x[0] / y[0], y)
    for k in range(1, len(y)):
        rest = _dot(y, z, 1, k, k)
        z[k] = _ratio((-rest) if type(x) is Constant else x[k] - rest, y[0])
    return z


def _exponential(x: Any, start: Any = None) -> Any:
    y, slope = _new(v.exp(x[0]), x), _times_place(x)
    for k in range(1, len(x)):
        y[k] = _dot(slope, y, 1, k, k) / k
    if start is not None:
        y[0] = start
    return y


def _over(x: Any, below: Any, start: Any) -> Any:
    """Integrate ``y' = x' / below`` from a start."""
    y, slope = _new(start, x), _new(0.0 * start, x)
    for k in range(1, len(x)):
        rest = k * x[k] if k == 1 else k * x[k] - _dot(slope, below, 1, k - 1, k)
        slope[k] = _ratio(rest, below[0])
        y[k] = slope[k] / k
    return y


def _shifted(x: Any, c: float) -> Any:
    return _sum(x, Constant((c,)))


def _square(x: Any) -> Any:
    return _product(x, x)


def _root(x: Any) -> Any:
    if not _away(x[0]):
        return None
    y = _new(v.sqrt(x[0]), x)
    for k in range(1, len(x)):
        rest = x[k] if k == 1 else x[k] - _dot(y, y, 1, k - 1, k)
        y[k] = rest / (2.0 * y[0])
    return y


def _away(x: Any) -> bool:
    """Return whether numbers are plain and none is zero."""
    return type(x) in (float, np.ndarray, np.float64) and bool(np.all(x != 0))


def _pair(x: Any, even: Any, odd: Any, sign: float) -> tuple[Any, Any]:
    """Return the series of sine and cosine, or of the hyperbolic ones if ``sign`` is one."""
    slope = _times_place(x)
    if type(x) is np.ndarray:
        both = _new(np.stack([even, odd]), x)
        for k in range(1, len(x)):
            found = np.einsum("j...,jc...->c...", slope[1 : k + 1], both[k - 1 :: -1][:k])
            both[k, 1] = found[0] / k
            both[k, 0] = found[1] * (sign / k)
        return both[:, 1], both[:, 0]
    s, c = _new(odd, x), _new(even, x)
    for k in range(1, len(x)):
        s[k] = _dot(slope, c, 1, k, k) / k
        c[k] = sign * (_dot(slope, s, 1, k, k) / k)
    return s, c


def _waves(x: Any) -> tuple[Any, Any]:
    return _pair(x, v.cos(x[0]), v.sin(x[0]), -1.0)


def _hyperbolic(x: Any) -> tuple[Any, Any]:
    return _pair(x, v.cosh(x[0]), v.sinh(x[0]), 1.0)


def _hyperbolic_tangent(x: Any) -> Any:
    """Integrate from 1 / cosh² x as the rule of tanh has it: 1 - y² is 0 where y rounds to 1."""
    y, sign = v.tanh(x[0]), v.copysign(1.0, v.real(x[0]))
    secant = v.exp(-sign * x[0]) * (1.0 + sign * y)
    return _tangent(x, y, secant * secant, -1.0)


def _tangent(x: Any, start: Any, rise: Any, sign: float) -> Any:
    """Integrate ``y' = (1 + sign y²) x'``, where y' / x' is ``rise`` at the start."""
    y, slope = _new(start, x), _times_place(x)
    below = _new(rise, x)
    for k in range(1, len(x)):
        y[k] = _dot(slope, below, 1, k, k) / k
        below[k] = sign * _dot(y, y, 0, k, k)
    return y


def _arc(x: Any, start: Any, square: float, one: float) -> Any:
    """Integrate ``y' = x' / sqrt(one + square x²)``; None for complex x: its root has two signs."""
    if np.iscomplexobj(x[0]):
        return None
    below = _root(_shifted(_scaled(_square(x), square), one))
    return None if below is None else _over(x, below, start)


def _scaled(x: Any, c: float) -> Any:
    return x if c == 1.0 else _product(x, Constant((c,)))


def _power(x: Any, p: Any) -> Any:
    """Return a power with a constant exponent; integers by products, which also hold at zero."""
    if type(p) is not Constant or type(x) is Constant or type(p[0]) not in (int, float):
        return None
    c = p[0]
    if float(c).is_integer() and 0 < c <= 64:
        y: Any = None
        square, n = x, int(c)
        while n:
            if n & 1:
                y = square if y is None else _product(y, square)
            n >>= 1
            square = _product(square, square) if n else square
        y = y.copy() if type(y) is np.ndarray else [*y]
        y[0] = v.pow(x[0], c)
        return y
    if not _away(x[0]):
        return None
    y, slope = _new(v.pow(x[0], c), x), _times_place(x)
    bent = _new(0.0 * y[0], x)
    for k in range(1, len(x)):
        rest = c * _dot(slope, y, 1, k, k)
        if k > 1:
            rest = rest - _dot(bent, x, 1, k - 1, k)
        bent[k] = rest / x[0]
        y[k] = bent[k] / k
    return y


def products(product: Callable[..., Any], factors: Sequence[Any], order: int) -> list[Any]:
    """Return the coefficients of a product that is linear in each operand."""
    found: list[Any] = []
    for k in range(order + 1):
        places = itertools.product(*[range(min(len(x), k + 1)) for x in factors])
        parts = [
            product(*[x[i] for x, i in zip(factors, at, strict=True)])
            for at in places
            if sum(at) == k
        ]
        found.append(functools.reduce(operator.add, parts))
    return found


def _matrices(x: Any, y: Any) -> Any:
    return _alike(products(v.matmul, (x, y), max(len(x), len(y)) - 1), x, y)


def _solutions(solve: Any, a: Any, b: Any, part: Callable[[Any], Any] = lambda x: x) -> Any:
    """Solve for one coefficient after the other; ``part`` is what is read of a matrix.

    Return None for stacks of systems with one vector.
    """
    if b[0].ndim == 1 < a[0].ndim - 1:
        return None
    found: list[Any] = []
    for k in range(max(len(a), len(b))):
        rest = b[k] if k < len(b) else v.zeros_like(b[0])
        for j in range(1, min(k + 1, len(a))):
            rest = rest - v.matmul(part(a[j]), found[k - j])
        found.append(solve(a[0], rest))
    return found


def _triangular_solutions(
    a: Any, b: Any, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    solve = functools.partial(v.solve_triangular, upper=upper, unit_diagonal=unit_diagonal)
    beside = (1 if upper else -1) * unit_diagonal
    return _solutions(solve, a, b, lambda x: (v.triu if upper else v.tril)(x, k=beside))


def _factors(x: Any, *, upper: bool = False) -> Any:
    """Factor the first coefficient; the others are tangents of it, by x = L Lᴴ."""
    if upper:
        return [_adjoint(c) for c in _factors([_adjoint(c) for c in x])]
    found = [v.cholesky(x[0])]
    for k in range(1, len(x)):
        rest = x[k]
        for j in range(1, k):
            rest = rest - v.matmul(found[j], _adjoint(found[k - j]))
        found.append(v.cholesky_tangent(rest, found[0]))
    return found


def _adjoint(x: Any) -> Any:
    return v.conj(v.matrix_transpose(x))


RECURRENCES: dict[Any, Callable[..., Sequence[Any] | None]] = {
    v.add: _sum,
    v.subtract: _difference,
    v.negative: _negative,
    v.multiply: _product,
    v.square: _square,
    v.divide: _quotient,
    v.reciprocal: lambda x: _quotient(Constant((1.0,)), x),
    v.sqrt: _root,
    v.pow: _power,
    v.matmul: _matrices,
    v.solve: functools.partial(_solutions, v.solve),
    v.solve_again: functools.partial(_solutions, v.solve_again),
    v.solve_triangular: _triangular_solutions,
    v.cholesky: _factors,
    v.exp: _exponential,
    v.expm1: lambda x: _exponential(x, v.expm1(x[0])),
    v.log: lambda x: _over(x, x, v.log(x[0])),
    v.log1p: lambda x: _over(x, _shifted(x, 1.0), v.log1p(x[0])),
    v.sin: lambda x: _waves(x)[0],
    v.cos: lambda x: _waves(x)[1],
    v.tan: lambda x: _tangent(x, y := v.tan(x[0]), 1.0 + y * y, 1.0),
    v.sinh: lambda x: _hyperbolic(x)[0],
    v.cosh: lambda x: _hyperbolic(x)[1],
    v.tanh: _hyperbolic_tangent,
    v.asin: lambda x: _arc(x, v.asin(x[0]), -1.0, 1.0),
    v.acos: lambda x: _arc(_negative(x), v.acos(x[0]), -1.0, 1.0),
    v.atan: lambda x: _over(x, _shifted(_square(x), 1.0), v.atan(x[0])),
    v.asinh: lambda x: _arc(x, v.asinh(x[0]), 1.0, 1.0),
    v.acosh: lambda x: _arc(x, v.acosh(x[0]), 1.0, -1.0),
    v.atanh: lambda x: _over(x, _shifted(_negative(_square(x)), 1.0), v.atanh(x[0])),
}


_OF_MATRICES = {v.matmul, v.solve, v.solve_again, v.solve_triangular, v.cholesky}


def computed(operation: Any, xs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Compute the coefficients of an operation's result; None if it has no recurrence for them.

    Large arrays are cut into pieces whose coefficients stay in the processor's cache.
    """
    stacks = [x for x in xs if type(x) is np.ndarray]
    numbers = [type(x) is Constant and not np.ndim(x[0]) for x in xs]
    pairs = zip(xs, numbers, strict=True)
    alike = all([n or getattr(x, "shape", ()) == stacks[0].shape for x, n in pairs if stacks])
    if not stacks or not alike or operation in _OF_MATRICES or stacks[0][0].size < 2 * PIECE:
        return RECURRENCES[operation](*xs, **options)
    shape = stacks[0].shape
    flat: list[Any] = [x if type(x) is Constant else x.reshape(len(x), -1) for x in xs]
    found: Any = None
    for i in range(0, stacks[0][0].size, PIECE):
        piece = slice(i, i + PIECE)
        given: list[Any] = [x if type(x) is Constant else x[:, piece] for x in flat]
        part: Any = RECURRENCES[operation](*given, **options)
        if part is None:
            return None
        if found is None:
            found = np.empty((shape[0], stacks[0][0].size), part.dtype)
        found[:, piece] = part
    return found.reshape(shape)
