"""The ufuncs of ``scipy.special``: operations that the core lacks, aliases and rules."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.special

from chainrules_py import (
    LinearMap,
    NoTangent,
    Primitive,
    UnsupportedKeywordError,
    ZeroTangent,
    identity,
    is_zero,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import (
    UFUNC_KEYWORDS,
    WIDE,
    Tracer,
    alias,
    around,
    beta_density,
    betainc_shape,
    default_engine,
    digamma_rise,
    find_tracers,
    gamma_density,
    gammainc_shape,
    half_line,
    in_own_context,
    kind_of,
    static_types,
    type_info,
    untraced,
    zeta_shape,
)
from chainrules_scipy._private import private
from chainrules_scipy.composites_and_operand_conversions import (
    anchored,
    array_of,
    nested,
    of_precision,
    readable,
    reject,
)
from chainrules_scipy.implementations import (
    FUNCTIONS,
    of_numbers,
    of_operands,
    operation_of,
    ufunc_of,
)
from chainrules_scipy.installation import place

# -------- helpers for the operations, aliases and rules of the ufuncs of ``scipy.special``


static_types.add(np.ufunc)


@primitive
def as_computed(y: Any, *xs: Any, by: np.ufunc) -> Any:
    """Return SciPy's value for xs, with the derivative of y, which operations computed."""
    return by(*xs)


@rule(as_computed, batched="broadcast")
def as_computed_rule(y: Any, *xs: Any, by: np.ufunc) -> Any:
    """Pass tangents on; where the value is NaN, every derivative is NaN."""
    z = as_computed(y, *xs, by=by)
    return z, (identity, *[LinearMap(_undefined, _undefined, z)] * len(xs))


def _undefined(t: Any, z: Any) -> Any:
    # Both factors are masked, as the adjoint multiplies the masked values, and 0 times NaN is NaN.
    lost, zero = v.isnan(z), v.zeros_like(z)
    return v.where(lost, math.nan, zero) * v.where(lost, t, zero)


def asking(ufunc: np.ufunc, in_operations: Callable[..., Any]) -> Callable[..., Any]:
    """Make a ufunc of a function in operations, with the ufunc's value for NumPy's operands."""
    quiet = np.errstate(all="ignore")(in_operations)

    @functools.wraps(in_operations)
    def function(*xs: Any) -> Any:
        xs = tuple([array_of(x, floating=False) if type(x) in (list, tuple) else x for x in xs])
        is_numpys = all(map(_is_numpys, xs))
        try:
            y = in_own_context(quiet, *xs) if is_numpys else in_operations(*xs)
        except Exception:
            if is_numpys:
                ufunc(*map(untraced, xs))  # raises its own error
            raise
        if not is_numpys:
            return y
        if find_tracers(y):
            return as_computed(y, *xs, by=ufunc)
        value = ufunc(*map(untraced, xs))
        return value.item() if type_info(type(y)).is_python_number else value

    return function


def _is_numpys(x: Any) -> bool:
    return issubclass(
        type_info(type(x)).dispatch_type, (np.ndarray, np.generic, int, float, complex)
    )


# The operations that this module states, by the names of their ufuncs.
u: Any = SimpleNamespace()
Partial = Callable[..., Any]


def row(ufunc: Any, to: Any, operands: tuple[str, ...]) -> None:
    """Register a ufunc as an operation, or as a function in operations of the same operands."""
    alias(
        ufunc,
        to=to,
        parameters=dict.fromkeys(operands) | UFUNC_KEYWORDS,
        positional=operands,
        refuse=tuple(UFUNC_KEYWORDS),
    )
    dispatching = getattr(scipy.special, ufunc.__name__, ufunc)
    if dispatching is not ufunc and inspect.unwrap(dispatching) is ufunc:
        place(dispatching, ufunc)


def in_precision(k: Any, x: Any) -> Any:
    """Convert integers to the precision of x, if x has one."""
    if kind_of(k) != "int" or not hasattr(x, "dtype"):
        return k
    return v.astype(k, dtype=x.dtype) if hasattr(k, "dtype") else k + v.zeros_like(x)


def cut(n: Any) -> Any:
    """Truncate an order towards 0, as C does: the function is piecewise constant in it."""
    return n if kind_of(n) in ("int", "bool") else v.trunc(n)


def flat(y: Any, *_: Any) -> Any:
    """Return zeros, the derivative in a truncated operand."""
    return v.zeros_like(y)


def stated(key: str, *partials: Partial | None, complex: str | None = None) -> Any:
    """Declare the operation of a SciPy ufunc, and state its partials.

    Parameters
    ----------
    key : str
        The name of the ufunc, and those of its operands: ``"struve v x"``.
    *partials : callable or None
        One for each operand; None for one without a formula. For a ufunc with several results,
        each returns one value per result.
    complex : str, optional
        As in `scalar_rule`.
    """
    name, *operands = key.split()
    ufunc = ufunc_of(name)
    operation = of_numbers(operation_of(name, *operands), ufunc)
    row(ufunc, operation, tuple(operands))
    vars(u)[name] = operation
    slopes = tuple([p if p in (None, flat) else _of_poles(p) for p in partials])
    if ufunc.nout == 1 and None not in slopes and flat not in slopes:
        given: Any = {} if complex is None else {"complex": complex}
        scalar_rule(operation, *slopes, singular=True, **given)
    else:
        _state(operation, slopes, complex)
    return operation


def _of_poles(partial: Partial) -> Partial:
    """Compute a partial without warnings, with NumPy numbers where Python numbers raise.

    Where it divides by zero, `v.strong_multiply` takes the infinity or the NaN.
    """

    @np.errstate(all="ignore")
    @functools.wraps(partial)
    def function(*xs: Any) -> Any:
        try:
            return partial(*xs)
        except ArithmeticError:
            return partial(*map(_of_numpy, xs))

    return function


def _of_numpy(x: Any) -> Any:
    if isinstance(x, tuple):  # several results
        return tuple(map(_of_numpy, x))
    if not type_info(type(x)).is_python_number:
        return x
    given: Any = x
    return v.lift(given, to=np) if isinstance(x, Tracer) else np.asarray(x)[()]


def _counted(x: Any) -> Any:
    """Convert booleans, and narrow or unsigned integers, to int64, as n + 1 and -n may wrap."""
    name = str(getattr(x, "dtype", "int64")).rpartition(".")[2]  # torch.int64
    narrow = kind_of(x) in ("int", "bool") and name not in ("int32", "int64")
    return v.astype(x, dtype=np.dtype(np.int64)) if narrow else x


def _by_values(operation: Primitive[..., Any], place: int) -> Partial:
    """Return the partial in an operand without a formula, from values around it."""

    def slope(y: Any, *xs: Any) -> Any:
        xs = tuple([of_precision(x, np.dtype(float)) for x in xs])  # as differences cancel
        if not isinstance(y, tuple):
            return of_precision(around(operation, place, *xs), getattr(y, "dtype", None))
        return tuple(
            [
                of_precision(
                    around(lambda *at, k=k: operation(*at)[k], place, *xs),
                    getattr(part, "dtype", None),
                )
                for k, part in enumerate(y)
            ]
        )

    return slope


def _state(operation: Any, slopes: Any, complex: str | None) -> None:
    """State slopes by results and operands; integers without a slope have no derivative."""
    without_slope = [_by_values(operation, k) for k in range(len(slopes))]

    def maps(*xs: Any) -> Any:
        if complex is None and "complex" in map(kind_of, xs):
            reject(f"scipy.special.{operation.__name__} is differentiated at real operands alone")
        y, at = operation(*xs), tuple(map(_counted, xs))
        return y, tuple(
            [
                NoTangent()
                if slope in (None, flat) and kind_of(x) in ("int", "bool")
                else LinearMap(_push, _pull, slope or by_values, y, at)
                for x, slope, by_values in zip(xs, slopes, without_slope, strict=True)
            ]
        )

    rule(operation, batched="broadcast")(of_operands(operation, maps))


def _push(t: Any, slope: Partial, y: Any, xs: Any) -> Any:
    parts, times = slope(y, *xs), functools.partial(v.strong_multiply, t)
    return tuple(map(times, parts)) if isinstance(parts, tuple) else times(parts)


def _pull(y_bar: Any, slope: Partial, y: Any, xs: Any) -> Any:
    parts = slope(y, *xs)
    if not isinstance(parts, tuple):
        return v.strong_multiply(y_bar, v.conj(parts))
    given = [
        v.strong_multiply(y_bar[k], v.conj(p)) for k, p in enumerate(parts) if not is_zero(y_bar[k])
    ]
    return sum(given[1:], given[0]) if given else ZeroTangent()


def _as_taken(ufunc: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert arrays to the dtypes in which SciPy computes, which do not wrap."""
    types = [getattr(x, "dtype", None) or type_info(type(x)).dispatch_type for x in xs]
    if not all(isinstance(t, np.dtype) or t in (int, float, complex) for t in types):
        return xs
    taken = ufunc.resolve_dtypes((*types, *[None] * ufunc.nout))
    return tuple(
        v.astype(x, dtype=to) if isinstance(t, np.dtype) and t != to else x
        for x, t, to in zip(xs, types, taken, strict=False)
    )


def composite(name: str) -> Callable[[Any], Any]:
    """Declare a ufunc to be this function, with operands of the same names (a decorator).

    The value is the ufunc's own.
    """

    def enter(function: Any) -> Any:
        code, ufunc = function.__code__, ufunc_of(name)

        @functools.wraps(function)
        def of_its_types(*xs: Any) -> Any:
            return function(*_as_taken(ufunc, xs))

        row(ufunc, asking(ufunc, of_its_types), code.co_varnames[: code.co_argcount])
        return function

    return enter


# -------- elliptic integrals and functions of ``scipy.special``

# Carlson's integrals are sums over the half-line of products of powers, and so are their
# derivatives, of any order: 19.16 of NIST's Digital Library of Mathematical Functions.


def _carlson(powers: tuple[float, ...], *xs: Any) -> Any:
    """Compute ∫ Π (t + x)^-p dt over t from 0 to ∞; where it is 2/3 R_D(x, y, z), by SciPy."""
    if sum(powers) == 2.5:
        ascending = sorted(zip(powers, xs, strict=True), key=lambda pair: pair[0])
        return u.elliprd(*[x for p, x in ascending for _ in range(round(2 * p))][:3]) / 1.5
    return half_line(
        lambda t: math.prod(v.pow(t + x, -p) for p, x in zip(powers, xs, strict=True)),
        sum(xs) / len(xs),
        WIDE,
    )


def _slope(factor: float, powers: tuple[float, ...], place: int) -> Any:
    """Return the partial in one operand, which raises its power by one."""
    p = powers[place]
    raised = tuple([q + (k == place) for k, q in enumerate(powers)])

    def slope(y: Any, *xs: Any) -> Any:
        """Compute the partial, which is infinite at 0."""
        zero, below = v.equal(xs[place], 0), xs[-1] < 0
        inside = [v.where(zero, 1.0, x) if k == place else x for k, x in enumerate(xs)]
        if 1.0 not in powers:
            return v.where(zero, -math.inf, -p * factor * _carlson(raised, *inside))
        inside[-1] = v.where(below, 1.0, inside[-1])
        above = v.where(zero, -math.inf, -p * factor * _carlson(raised, *inside))
        safe = [*xs[:-1], v.where(below, xs[-1], -1.0)]
        return v.where(below, _principal(place, v.where(below, y, 1.0), *safe), above)

    of_number: dict[int, Any] = {  # a partial has as many parameters as its operation
        2: lambda y, a, b: slope(y, a, b),  # noqa: PLW0108
        3: lambda y, a, b, c: slope(y, a, b, c),  # noqa: PLW0108
        4: lambda y, a, b, c, d: slope(y, a, b, c, d),  # noqa: PLW0108
    }
    return of_number[len(powers)]


def _principal(place: int, y: Any, *xs: Any) -> Any:
    """Differentiate Cauchy's principal value, for a last operand p < 0.

    In x, 1 / ((t + x) (t + p)) is a difference of two fractions, the second of which gives the
    integral itself; in p, the derivative follows from the degree of homogeneity.
    """
    *roots, p = xs
    if place < len(roots):
        x, others = roots[place], roots[:place] + roots[place + 1 :]
        return (y - (u.elliprd(*others, x) if others else 1 / v.sqrt(x))) / (2 * (p - x))
    rest = [v.where(x > 0, x * _principal(k, y, *xs), 0.0) for k, x in enumerate(roots)]
    return (-0.5 * len(roots) * y - sum(rest)) / p


def _in_first(x: Any, y: Any, z: Any) -> Any:
    """Compute ∂R_G/∂x = (R_F - x R_D(y, z, x) / 3) / 4, by 19.16.3; R_G(x, 0, 0) = √x/2."""
    zero = v.equal(x, 0)
    alone = v.logical_and(v.logical_and(v.equal(y, 0), v.equal(z, 0)), x > 0)
    y = v.where(alone, 1.0, y)
    part = v.where(zero, 0.0, x * u.elliprd(y, z, v.where(zero, 1.0, x)))
    return 0.25 * v.where(alone, 1 / v.sqrt(v.where(alone, x, 1.0)), u.elliprf(x, y, z) - part / 3)


def _turns(phi: Any) -> tuple[Any, Any, Any]:
    """Return the number of half turns of an angle, and the sine and cosine of the rest."""
    turns = v.round(phi / math.pi)
    left = phi - turns * math.pi
    return turns, v.sin(left), v.cos(left)


def _first_in_modulus(phi: Any, m: Any) -> Any:
    """Compute ∂F/∂m = s³ R_D(c², 1, 1 - ms²) / 6, and that of each half turn: 19.25.5."""
    turns, s, c = _turns(phi)
    return s**3 / 6 * u.elliprd(c * c, 1.0, 1 - m * s * s) + (
        turns / 3 * u.elliprd(0.0, 1.0, _if_turned(turns, m))
    )


def _second_in_modulus(phi: Any, m: Any) -> Any:
    """Compute ∂E/∂m = -s³ R_D(c², 1 - ms², 1) / 6, and that of each half turn: 19.25.9."""
    turns, s, c = _turns(phi)
    return -(s**3) / 6 * u.elliprd(c * c, 1 - m * s * s, 1.0) - (
        turns / 3 * u.elliprd(0.0, _if_turned(turns, m), 1.0)
    )


def _if_turned(turns: Any, m: Any) -> Any:
    """Return 1 - m, at whose 0 complete integrals are infinite; 1 without half turns."""
    return v.where(turns == 0, 1.0, 1 - m)


def _delta(phi: Any, m: Any) -> Any:
    return v.sqrt(1 - m * v.square(v.sin(phi)))


def _jacobi_in_modulus(y: Any, _u: Any, m: Any) -> Any:
    """Differentiate by the amplitude φ of u = F(φ, m)."""
    sn, cn, dn, phi = y
    turn = -dn * _first_in_modulus(phi, m)
    return cn * turn, -sn * turn, -(sn * sn + 2 * m * sn * cn * turn) / (2 * dn), turn


# For each function a factor, and the powers of the operands.
_CARLSON: dict[str, tuple[float, ...]] = {
    "elliprf x y z": (0.5, 0.5, 0.5, 0.5),
    "elliprc x y": (0.5, 0.5, 1.0),
    "elliprd x y z": (1.5, 0.5, 0.5, 1.5),
    "elliprj x y z p": (1.5, 0.5, 0.5, 0.5, 1.0),
}
for _key, (_constant, *_powers) in _CARLSON.items():
    stated(_key, *[_slope(_constant, tuple(_powers), k) for k in range(len(_powers))])
stated(
    "elliprg x y z",
    lambda _y, x, y, z: _in_first(x, y, z),
    lambda _y, x, y, z: _in_first(y, x, z),
    lambda _y, x, y, z: _in_first(z, x, y),
)
stated(
    "ellipkinc phi m",
    lambda _y, phi, m: 1 / _delta(phi, m),
    lambda _y, phi, m: _first_in_modulus(phi, m),
)
stated(
    "ellipeinc phi m",
    lambda _y, phi, m: _delta(phi, m),
    lambda _y, phi, m: _second_in_modulus(phi, m),
)
# 22.13.1 to 22.13.3, and the amplitude.
stated(
    "ellipj u m",
    lambda y, _u, m: (y[1] * y[2], -y[0] * y[2], -m * y[0] * y[1], y[2]),
    _jacobi_in_modulus,
)


# -------- distribution functions of ``scipy.special``, and inverses by their equations


_ROOT = math.sqrt(2 * math.pi)
_GAUSS = tuple(zip(*np.polynomial.legendre.leggauss(8), strict=True))


def _polynomial(terms: Any, x: Any) -> Any:
    """Compute Σ cₖ xᵏ."""
    return functools.reduce(lambda y, c: y * x + c, reversed(terms))


def _whole(k: Any) -> Any:
    """Round a number down to an integer, as some of these functions do."""
    return k if kind_of(k) == "int" else v.floor(k)


def _cut(k: Any, x: Any) -> Any:
    """Truncate a number as C does, as the other functions do."""
    return in_precision(cut(k), x)


@composite("bdtr")
def bdtr(k: Any, n: Any, p: Any) -> Any:
    """Compute by 26.5.24 of Abramowitz and Stegun; 1 where k is n."""
    k, n = _whole(k), cut(n)
    some = v.less(k, n)
    return v.where(some, u.betaincc(k + 1, v.where(some, n - k, 1.0), p), 1.0)


@composite("bdtrc")
def bdtrc(k: Any, n: Any, p: Any) -> Any:
    """Compute the complement of `bdtr`; 0 where k is n."""
    k, n = _whole(k), cut(n)
    some = v.logical_and(v.less(k, n), k >= 0)
    return v.where(
        some,
        v.betainc(v.where(some, k, 0.0) + 1, v.where(some, n - k, 1.0), p),
        v.where(k < 0, 1.0, 0.0),
    )


def _student_density(df: Any, t: Any) -> Any:
    df = v.minimum(df, 1e20)  # where it is the normal density to all digits
    return (u.poch(0.5 * df, 0.5) / v.sqrt(math.pi * df)) * (
        v.exp(-0.5 * (df + 1) * v.log1p(t * t / df))
    )


# With w = 1/df and q = t², ∂F/∂df = t w² f Σ pₖ(q) wᵏ, of which these are the coefficients; they
# follow from ∂(∂F/∂df)/∂t = ∂f/∂df.
_STUDENT = (
    (1 / 4, 1 / 4),
    (0, 1 / 12, -1 / 12),
    (-1 / 8, -1 / 24, -1 / 24, 1 / 24),
    (0, -1 / 24, 1 / 120, 1 / 40, -1 / 40),
    (1 / 4, 1 / 12, 1 / 30, 0, -1 / 60, 1 / 60),
    (0, 1 / 12, -1 / 60, -3 / 140, -1 / 420, 1 / 84, -1 / 84),
)


def _student_shape(df: Any, t: Any) -> Any:
    """Differentiate F = 1/2 + ∫ f du, from 0 to t, in df.

    For large df by a series. Near 0, by Gauss's rule for the integral of f ∂log f/∂df. Elsewhere,
    for t > 0, from F = 1 - I(z) / 2 with z = df / (df + t²), where I has the parameters df / 2
    and 1/2; for large df, these terms cancel.
    """
    large = 1 + t * t < 0.01 * df
    w, s = 1 / v.where(large, v.minimum(df, 1e20), 1e3), v.where(large, t, 0.0)
    series = (_student_density(1 / w, s) * s) * (
        w * w * _polynomial([_polynomial(row, s * s) for row in _STUDENT], w)
    )
    df = v.where(large, 1.0, df)
    near = t * t < v.minimum(0.1 * df, 1.0)
    center = digamma_rise(0.5 * df, 0.5) - 1 / df

    def element(u: Any) -> Any:
        moved = (df + 1) * u * u / (df * (df + u * u)) - v.log1p(u * u / df)
        return _student_density(df, u) * (center + moved)

    a, b = v.where(near, 0.5 * t, 0.0), v.where(near, 1.0, t)
    inside = 0.5 * a * sum(w * element(a * (1 + x)) for x, w in _GAUSS)
    shape = betainc_shape(0.5 * df, 0.5 + 0 * df, df / (df + b * b), 0)
    outside = -0.25 * v.sign(b) * shape - 0.5 * b / df * _student_density(df, b)
    return v.where(large, series, v.where(near, inside, outside))


def _chi_density(x: Any, df: Any, nc: Any) -> Any:
    """Compute exp(-(x + nc) / 2) (x / nc)^(df/4 - 1/2) I(df/2 - 1, √(nc x)) / 2.

    Where nc x is small, by the series 0F1(df/2, nc x / 4) of the Bessel function: 10.39.9.
    """
    near = nc * x < 1
    a, c = v.where(near, x, 0.5), v.where(near, nc, 0.5)
    series = gamma_density(0.5 * df, 0.5 * a) * v.exp(-0.5 * c) * v.hyp0f1(0.5 * df, 0.25 * c * a)
    x, nc = v.where(near, 1.0, x), v.where(near, 1.0, nc)
    r, order = v.sqrt(nc * x), 0.5 * df - 1
    tilt = v.exp(-0.5 * (v.sqrt(x) - v.sqrt(nc)) ** 2 + 0.5 * order * (v.log(x) - v.log(nc)))
    return 0.5 * v.where(near, series, tilt * v.ive(order, r))


def _inside(y: Any, slope: Any, is_end: Any = False) -> Any:
    """Return a slope; 0 where SciPy's search ended at its lowest number, unless ``is_end``.

    There the value is constant.
    """
    return v.where(v.logical_and(v.abs(y) < 1e-290, v.logical_not(is_end)), 0.0, slope)


def _at(end: int, p: Any, x: Any) -> Any:
    """Return where a probability is at an end, and x is not."""
    return v.logical_and(v.equal(p, end), v.logical_and(x > 0, v.not_equal(x, 1)))


def _probability(p: Any) -> Any:
    """Return p, or NaN where it is not between 0 and 1."""
    return v.where(v.logical_and(p > 0, p < 1), p, math.nan)


def _tukey_shape(p: Any, lam: Any) -> Any:
    """Differentiate (p^λ - (1 - p)^λ) / λ in λ; about λ = 0 by its series."""
    a, b = v.log(p), v.log1p(-p)
    near = v.abs(lam) < 1e-3
    s, m = v.where(near, lam, 0.0), v.where(near, 1.0, lam)
    small = sum((a**k - b**k) * s ** (k - 2) * (k - 1) / math.factorial(k) for k in range(2, 8))
    up, down = v.exp(m * a), v.exp(m * b)
    return v.where(near, small, (up * a - down * b) / m - (up - down) / (m * m))


def _in_support(slope: Any) -> Any:
    """Return a partial that is 0 outside of the support."""

    def partial(p: Any, x: Any, lmbda: Any) -> Any:
        outside = (v.abs(x) * lmbda > 1) | ((p > 0) ^ (p < 1))
        inside = v.where(outside, 0.5, p)
        of, rest = v.exp((lmbda - 1) * v.log(inside)), v.exp((lmbda - 1) * v.log1p(-inside))
        return v.where(outside, 0.0, slope(inside, lmbda) / (of + rest))

    return partial


def kolmogorov_slope(y: Any) -> Any:
    """Differentiate 2 Σ (-1)^(k - 1) exp(-2k²y²), for small y in the series by Poisson's sum."""
    large = y > 0.8
    far, near = v.where(large, y, 1.0), v.where(large, 0.5, v.where(y > 0.04, y, 0.5))
    tail = sum(
        -8 * (-1) ** (k - 1) * k * k * far * v.exp(-2.0 * k * k * far * far) for k in range(1, 8)
    )
    head = sum(
        v.exp(-c / (near * near)) * (2 * c / near**4 - 1 / near**2)
        for c in [(k * math.pi) ** 2 / 8 for k in (1, 3, 5, 7)]
    )
    return v.where(large, tail, v.where(y > 0.04, -_ROOT * head, 0.0))


def _poch(y: Any, z: Any, m: Any) -> Any:
    """Differentiate in z; beside the poles of ψ by the reflection 5.5.3 of 1 / Γ(z)."""
    gap = v.abs(z - v.round(z))
    left = (
        ((z < 0.01) & (gap < 0.01) & (gap < v.abs(m)))
        & ((z > -170) | v.equal(gap, 0))
        & ((z + m > 0) | v.not_equal(m, v.round(m)))
    )
    a, b = v.where(left, z, 0.25), v.where(left, z + m, 1.0)
    turned = v.cos(math.pi * a) - v.sin(math.pi * a) / math.pi * v.digamma(1 - a)
    mirrored = v.gamma(b) * v.gamma(1 - a) * turned + v.where(left, y, 0.0) * v.digamma(b)
    return v.where(left, mirrored, y * digamma_rise(v.where(left, 1.0, z), v.where(left, 0.0, m)))


_PARTIALS: dict[str, list[Any]] = {
    "betaincc a b x": [
        lambda _y, a, b, x: -betainc_shape(a, b, x, 0),
        lambda _y, a, b, x: -betainc_shape(a, b, x, 1),
        lambda _y, a, b, x: -beta_density(a, b, x),
    ],
    "stdtr df t": [
        lambda _y, df, t: _student_shape(df, t),
        lambda _y, df, t: _student_density(df, t),
    ],
    "chndtr x df nc": [
        lambda _y, x, df, nc: _chi_density(x, df, nc),
        None,
        lambda _y, x, df, nc: -_chi_density(x, df + 2, nc),
    ],
    # Inverses, by their equations.
    "gammaincinv a y": [
        lambda x, a, _y: -gammainc_shape(a, x) / gamma_density(a, x),
        lambda x, a, _y: 1 / gamma_density(a, x),
    ],
    "gammainccinv a y": [
        lambda x, a, _y: -gammainc_shape(a, x) / gamma_density(a, x),
        lambda x, a, _y: -1 / gamma_density(a, x),
    ],
    "betaincinv a b y": [
        lambda x, a, b, _y: -betainc_shape(a, b, x, 0) / beta_density(a, b, x),
        lambda x, a, b, _y: -betainc_shape(a, b, x, 1) / beta_density(a, b, x),
        lambda x, a, b, _y: 1 / beta_density(a, b, x),
    ],
    "betainccinv a b y": [
        lambda x, a, b, _y: -betainc_shape(a, b, x, 0) / beta_density(a, b, x),
        lambda x, a, b, _y: -betainc_shape(a, b, x, 1) / beta_density(a, b, x),
        lambda x, a, b, _y: -1 / beta_density(a, b, x),
    ],
    "stdtrit df p": [
        lambda t, df, _p: -_student_shape(df, t) / _student_density(df, t),
        lambda t, df, _p: 1 / _student_density(df, t),
    ],
    "stdtridf p t": [
        # The search ends at 1e10, or at a tiny or negative number.
        lambda df, _p, t: _inside(1.0 * ((df > 1e-40) & (df < 1e10)), 1 / _student_shape(df, t)),
        lambda df, _p, t: _inside(
            1.0 * ((df > 1e-40) & (df < 1e10)), -_student_density(df, t) / _student_shape(df, t)
        ),
    ],
    "btdtria p b x": [
        lambda a, p, b, x: _inside(a, 1 / betainc_shape(a, b, x, 0), _at(1, p, x)),
        lambda a, p, b, x: _inside(
            a, -betainc_shape(a, b, x, 1) / betainc_shape(a, b, x, 0), _at(1, p, x)
        ),
        lambda a, p, b, x: _inside(
            a, -beta_density(a, b, x) / betainc_shape(a, b, x, 0), _at(1, p, x)
        ),
    ],
    "btdtrib a p x": [
        lambda b, a, p, x: _inside(
            b, -betainc_shape(a, b, x, 0) / betainc_shape(a, b, x, 1), _at(0, p, x)
        ),
        lambda b, a, p, x: _inside(b, 1 / betainc_shape(a, b, x, 1), _at(0, p, x)),
        lambda b, a, p, x: _inside(
            b, -beta_density(a, b, x) / betainc_shape(a, b, x, 1), _at(0, p, x)
        ),
    ],
    "chndtrix p df nc": [
        lambda x, _p, df, nc: 1 / _chi_density(x, df, nc),
        None,
        lambda x, _p, df, nc: _chi_density(x, df + 2, nc) / _chi_density(x, df, nc),
    ],
    "chndtrinc x df p": [
        lambda nc, x, df, _p: _inside(nc, _chi_density(x, df, nc) / _chi_density(x, df + 2, nc)),
        None,
        lambda nc, x, df, _p: _inside(nc, -1 / _chi_density(x, df + 2, nc)),
    ],
    "chdtriv p x": [
        lambda df, _p, x: 2 / gammainc_shape(0.5 * df, 0.5 * x),
        lambda df, _p, x: -gamma_density(0.5 * df, 0.5 * x) / gammainc_shape(0.5 * df, 0.5 * x),
    ],
    "gdtrib a p x": [
        lambda b, a, p, x: _inside(
            b,
            -x * gamma_density(b, a * x) / gammainc_shape(b, a * x),
            v.logical_and(v.equal(p, 1), x > 0),
        ),
        lambda b, a, p, x: _inside(
            b, 1 / gammainc_shape(b, a * x), v.logical_and(v.equal(p, 1), x > 0)
        ),
        lambda b, a, p, x: _inside(
            b,
            -a * gamma_density(b, a * x) / gammainc_shape(b, a * x),
            v.logical_and(v.equal(p, 1), x > 0),
        ),
    ],
    # Functions of one and of two operands.
    # Far to the left, y and x²/2 would cancel.
    "ndtri_exp y": [
        lambda x, y: (
            _ROOT
            * v.where(
                x < 0,
                0.5 * v.erfcx(v.where(x < 0, x, 0.0) / -math.sqrt(2)),
                v.exp(v.where(x < 0, 0.0, y) + 0.5 * v.where(x < 0, 0.0, x) ** 2),
            )
        )
    ],
    "tklmbda x lmbda": [
        _in_support(lambda p, _: v.ones_like(p)),
        _in_support(lambda p, lmbda: -_tukey_shape(p, lmbda)),
    ],
    "kolmogorov y": [lambda _y, y: kolmogorov_slope(y)],
    "kolmogi p": [lambda y, _p: 1 / kolmogorov_slope(y)],
    "poch z m": [_poch, lambda y, z, m: y * v.digamma(z + m)],
    "powm1 x y": [
        lambda _f, x, y: y * v.pow(x, y - 1),
        lambda _f, x, y: v.xlogy(v.pow(x, y), x),
    ],
}


def _of_ratio(near: Any, far: Any, dfn: Any, dfd: Any, x: Any) -> Any:
    """Compute by z = dfn x / (dfd + dfn x), or 1 - z, whichever is less: the other rounds to 1."""
    small = dfn * x < dfd
    low, high = v.where(small, x, 1.0), v.where(small, 1.0, x)
    below = near(0.5 * dfn, 0.5 * dfd, v.strong_multiply(low, dfn / (dfd + dfn * low)))
    return v.where(small, below, far(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * high)))


_OF_DISTRIBUTIONS: dict[str, Callable[..., Any]] = {
    "chdtr": lambda v_, x: v.gammainc(0.5 * v_, 0.5 * x),
    "chdtrc": lambda v_, x: v.gammaincc(0.5 * v_, 0.5 * x),
    "gdtr": lambda a, b, x: v.gammainc(b, v.strong_multiply(x, a)),
    "gdtrc": lambda a, b, x: v.gammaincc(b, v.strong_multiply(x, a)),
    "pdtr": lambda k, m: v.gammaincc(in_precision(_whole(k) + 1, m), m),
    "pdtrc": lambda k, m: v.gammainc(in_precision(_whole(k) + 1, m), m),
    "nbdtr": lambda k, n, p: v.betainc(_cut(n, p), _cut(k, p) + 1, p),
    "nbdtrc": lambda k, n, p: u.betaincc(_cut(n, p), _cut(k, p) + 1, p),
    "fdtr": lambda dfn, dfd, x: _of_ratio(v.betainc, u.betaincc, dfn, dfd, x),
    "fdtrc": lambda dfn, dfd, x: _of_ratio(u.betaincc, v.betainc, dfn, dfd, x),
    "gdtria": lambda p, b, x: u.gammaincinv(b, p) / x,
    "gdtrix": lambda a, b, p: u.gammaincinv(b, p) / a,
    "chdtri": lambda v_, p: 2 * u.gammainccinv(0.5 * v_, p),
    "pdtri": lambda k, y: u.gammainccinv(_cut(k, y) + 1, y),
    "bdtri": lambda k, n, y: u.betainccinv(_whole(k) + 1, cut(n) - _whole(k), y),
    "nbdtri": lambda k, n, y: u.betaincinv(_cut(n, y), _cut(k, y) + 1, y),
    "nrdtrimn": lambda p, std, x: x - std * v.ndtri(_probability(p)),
    "nrdtrisd": lambda mn, p, x: (x - mn) / v.ndtri(_probability(p)),
    # dfd z / (dfn (1 - z)), where 1 - z comes from the inverse of the complement.
    "fdtri": lambda dfn, dfd, p: (
        dfd * u.betaincinv(0.5 * dfn, 0.5 * dfd, p) / (dfn * u.betainccinv(0.5 * dfd, 0.5 * dfn, p))
    ),
}


_MOST = 1e6  # the largest mean for which a distribution is summed; beyond, there is no derivative


def _terms(mean: Any) -> Any:
    """Return the integers at which a Poisson distribution has weights that are not negligible."""
    known = readable(mean)
    most = float(np.max(np.where(known <= _MOST, known, 0.0), initial=0.0))
    return np.arange(math.ceil(most + 12 * math.sqrt(most) + 40.0))


def _poisson(j: Any, mean: Any, shift: Any = 0.0) -> Any:
    """Compute exp(-m) mʲ / Γ(j + 1 + shift), at m = 0 by powers."""
    mean = mean * v.where(readable(mean) > _MOST, math.nan, 1.0)
    none = readable(mean) == 0
    far, near = v.where(none, 1.0, mean), v.where(none, mean, 0.0)
    weight = v.exp(v.xlogy(j, far) - far - v.gammaln(j + 1 + shift))
    return v.where(
        none, v.exp(-near) * v.pow(near, j) * scipy.special.rgamma(j + 1 + shift), weight
    )


def _columns(*xs: Any) -> list[Any]:
    return [v.expand_dims(array_of(x), axis=-1) for x in xs]


@composite("ncfdtr")
def ncfdtr(dfn: Any, dfd: Any, nc: Any, f: Any) -> Any:
    """Mix distribution functions of F by Poisson's weights: R. Butler & M. Paolella (1999)."""
    known = scipy.special.ncfdtr(*map(readable, (dfn, dfd, nc, f)))
    n, d, c, x = _columns(dfn, dfd, nc, f)
    j, at = _terms(0.5 * c), v.strong_multiply(x, n / (n * x + d))
    return anchored(
        known,
        v.sum(_poisson(j, 0.5 * c) * v.betainc(0.5 * n + j, 0.5 * d + 0 * j, at + 0 * j), axis=-1),
    )


@composite("nctdtr")
def nctdtr(df: Any, nc: Any, t: Any) -> Any:
    """Sum beta distributions by Poisson's weights: R. Lenth, AS 243 (1989)."""
    known = scipy.special.nctdtr(*map(readable, (df, nc, t)))
    d, c, x = _columns(df, nc, t)
    left = readable(x) < 0
    # At t = 0, where t² hides the slope, it is the density there.
    logs = v.gammaln(0.5 * d + 0.5) - v.gammaln(0.5 * d) - 0.5 * (c * c + v.log(math.pi * d))
    there = v.squeeze(v.where(readable(x) == 0, x, 0.0) * v.exp(logs), axis=-1)
    c = v.where(left, -c, c)
    m, at, j = (
        0.5 * c * c,
        v.strong_multiply(x * x, 1 / (x * x + d)),
        _terms(0.5 * readable(c) ** 2),
    )
    even = _poisson(j, m) * v.betainc(j + 0.5 + 0 * at, 0.5 * d + 0 * j, at + 0 * j)
    odd = c / math.sqrt(2) * _poisson(j, m, 0.5)
    odd = odd * v.betainc(j + 1.0 + 0 * at, 0.5 * d + 0 * j, at + 0 * j)
    right = v.squeeze(v.ndtr(-c), axis=-1) + 0.5 * v.sum(even + odd, axis=-1)
    return anchored(known, v.where(left[..., 0], -right, right) + there)


# Indices of operands at which a solution may end; any other operand may equal it by chance.
_OWN = {"bdtrik": (1,), "bdtrin": (0,)}


def _solved(name: str, xs: tuple[Any, ...], equation: Callable[..., Any]) -> Any:
    """Solve equation(y, *xs) = 0 from SciPy's solution, by steps that each add one order."""
    plain = tuple(map(readable, xs))
    y0 = getattr(scipy.special, name)(*plain)
    y, shape = array_of(y0), np.shape(y0)
    slope = default_engine().jvp(
        lambda z: equation(z, *plain), (np.asarray(y0, float),), (np.ones(shape),)
    )[1]
    rest = equation(np.asarray(y0, float), *plain)
    # Where no value solves the equation, SciPy's search ends at a constant, or at an operand. Its
    # solutions for `ncfdtr` are right to a percent.
    held = (np.abs(rest) > 1e-2) | (np.abs(rest) > abs(slope) * (1e-2 * np.abs(y0) + 1e-8))
    held |= np.isnan(rest) & np.isfinite(y0)
    order = nested(*xs)
    slope = np.where((slope == 0) | (np.isinf(slope) & (order > 1)), math.nan, slope)
    for _ in range(order):
        y = y - v.where(held, 0.0, equation(y, *xs) / slope)
    for x, at in [(xs[i], plain[i]) for i in _OWN.get(name, range(len(xs)))]:
        own = held & (np.abs(y0 - at) < 1e-8) & (y0 > 1e-6)
        y = v.where(own, y + (x - at), y) if own.any() else y
    return y


_EQUATIONS: dict[str, tuple[str, Callable[..., Any]]] = {
    "bdtrik": ("p n pr", lambda y, p, n, pr: v.betainc(n - y, y + 1, 1 - pr) - p),
    "bdtrin": ("k p pr", lambda y, k, p, pr: v.betainc(y - k, k + 1, 1 - pr) - p),
    "nbdtrik": ("y n p", lambda k, y, n, p: v.betainc(n, k + 1, p) - y),
    "nbdtrin": ("k y p", lambda n, k, y, p: v.betainc(n, k + 1, p) - y),
    "pdtrik": ("p m", lambda k, p, m: v.gammaincc(k + 1, m) - p),
    "fdtridfd": ("dfn p x", lambda d, dfn, p, x: _OF_DISTRIBUTIONS["fdtr"](dfn, d, x) - p),
    "chndtridf": ("x p nc", lambda d, x, p, nc: u.chndtr(x, d, nc) - p),
    "ncfdtri": ("dfn dfd nc p", lambda f, n, d, c, p: ncfdtr(n, d, c, f) - p),
    "ncfdtridfd": ("dfn p nc f", lambda d, n, p, c, f: ncfdtr(n, d, c, f) - p),
    "ncfdtridfn": ("p dfd nc f", lambda n, p, d, c, f: ncfdtr(n, d, c, f) - p),
    "ncfdtrinc": ("dfn dfd p f", lambda c, n, d, p, f: ncfdtr(n, d, c, f) - p),
    "nctdtrit": ("df nc p", lambda t, df, nc, p: nctdtr(df, nc, t) - p),
    "nctdtridf": ("p nc t", lambda df, p, nc, t: nctdtr(df, nc, t) - p),
    "nctdtrinc": ("df p t", lambda nc, df, p, t: nctdtr(df, nc, t) - p),
}
_OF: dict[int, Callable[[Any, Any], Any]] = {
    2: lambda name, f: lambda a, b: _solved(name, (a, b), f),
    3: lambda name, f: lambda a, b, c: _solved(name, (a, b, c), f),
    4: lambda name, f: lambda a, b, c, d: _solved(name, (a, b, c, d), f),
}
for _name, (_operands, _equation) in _EQUATIONS.items():
    if hasattr(scipy.special, _name):
        composite(_name)(_OF[len(_operands.split())](_name, _equation))


# -------- functions of mathematical physics of ``scipy.special``: rules in a line, aliases


_DEGREE = math.pi / 180


@composite("agm")
def agm(a: Any, b: Any) -> Any:
    """Iterate the two means: 19.8.1. They meet after 15 steps, however far they are apart."""
    zero = v.logical_or(v.equal(a, 0), v.equal(b, 0))
    x, y = v.where(zero, 1.0, a), v.where(zero, 1.0, b)
    for _ in range(15):
        mean = 0.5 * x + 0.5 * y
        x, y = mean, mean * v.sqrt(x / mean * (y / mean))
    return v.where(zero, v.sqrt(v.where(zero, a, 1.0)) * v.sqrt(v.where(zero, b, 1.0)), y)


@composite("voigt_profile")
def voigt_profile(x: Any, sigma: Any, gamma: Any) -> Any:
    """Compute the real part of Faddeeva's function: 7.19; at sigma = 0 by the heat equation."""
    sharp = v.equal(sigma, 0)
    width = math.sqrt(2) * v.where(sharp, 1.0, sigma)
    r = v.where(sharp, x * x + gamma * gamma, 1.0)
    line = gamma / (math.pi * r) * (1 + sigma * sigma * (3 * x * x - gamma * gamma) / (r * r))
    wide = v.real(v.wofz((x + 1j * gamma) / width)) / (math.sqrt(math.pi) * width)
    return v.where(sharp, line, wide)


def _zetac(_y: Any, x: Any) -> Any:
    """Differentiate, far to the left by the reflection 25.4.1."""
    left = x < -0.5
    right, s = zeta_shape(v.where(left, 2.0, x), 1.0), v.where(left, 1 - x, 2.0)
    value = v.zeta(s, 1.0)
    mirror = 2 * v.exp(-s * math.log(2 * math.pi)) * v.gamma(s)
    angle, rate = 0.5 * math.pi * s, math.log(2 * math.pi) - v.digamma(s)
    by_s = mirror * (
        v.cos(angle) * (zeta_shape(s, 1.0) - rate * value) - 0.5 * math.pi * v.sin(angle) * value
    )
    return v.where(left, -by_s, right)


def _airye(y: Any, z: Any) -> Any:
    """Differentiate the scaled functions, which have factors exp(±2/3 z^1.5) for real z ≥ 0."""
    root = v.sqrt(v.where(z < 0, 0.0, z))
    return (
        y[1] + root * y[0],
        z * y[0] + root * y[1],
        y[3] - root * y[2],
        z * y[2] - root * y[3],
    )


def _near(x: Any, terms: list[float], far: Any) -> Any:
    """Compute Σ cₖ x^(2k) near 0, where the quotient far(x) loses digits, and far(x) elsewhere."""
    near = v.abs(x) < 1
    small = v.where(near, x, 0.0)
    return v.where(near, _polynomial(terms, small * small), far(v.where(near, 1.0, x)))


# Coefficients of berp(x) / x and beip(x) / x: 10.65.1.
_BER, _BEI = (
    [
        (-1) ** (n // 2) * 0.25**n * n * 2 / math.factorial(n) ** 2 if n % 2 == odd else 0.0
        for n in range(1, 12)
    ]
    for odd in (0, 1)
)
_J0 = [(-0.25) ** k / math.factorial(k) ** 2 for k in range(1, 12)]
_I0 = [abs(c) for c in _J0]
_H0 = [2 / math.pi * (-1) ** k / math.prod(range(1, 2 * k + 2, 2)) ** 2 for k in range(10)]
_SINH = [1 / math.factorial(2 * k + 1) for k in range(10)]


def _struve_part(order: Any, x: Any) -> Any:
    """Compute (x/2)^ν / (√π Γ(ν + 3/2)): 11.4.25."""
    return v.pow(0.5 * x, order) * v.rgamma(order + 1.5) / math.sqrt(math.pi)


def _struve_below(operation: Any, sign: int, order: Any, x: Any) -> Any:
    """Compute the function of order ν - 1; that of order -1 by 11.4.23, as its slope cancels."""
    zero = v.equal(order, 0)
    y = operation(v.where(zero, 1, order - 1), x)
    return v.where(zero, 2 / math.pi + sign * y, y)


def _expn(n: Any, x: Any) -> Any:
    """Differentiate by 8.19.13; at n = 0, the function is exp(-x) / x."""
    zero = n == 0
    return v.where(zero, -v.exp(-x) * (x + 1) / (x * x), -u.expn(v.where(zero, 1, n) - 1, x))


def _lower(n: Any) -> Any:
    """Return n - 1, or 0 for degrees at which polynomials are constant."""
    return v.where((n == 0) | (n == -1), 0, n - 1)


def _factor(n: Any, c: Any) -> Any:
    return v.where((n == 0) | (n == -1), 0.0, c)


def _mirrored(n: Any, c: int) -> Any:
    """Return -c - n for negative degrees, under which these functions are even or odd."""
    return v.where(n < 0, -c - n, n)


def _legendre(n: Any, x: Any) -> Any:
    return _factor(n, 0.5 * (n + 1)) * u.eval_jacobi(_lower(n), 1.0, 1.0, x)


def _chebyu(_y: Any, n: Any, x: Any) -> Any:
    """Compute 2 C(n - 1, 2); where it overflows, differentiate sin((n + 1) θ) / sin θ."""
    by_c = v.where(n < 0, -1.0, 1.0) * (
        _factor(n, 2.0) * u.eval_gegenbauer(_lower(_mirrored(n, 2)), 2.0, x)
    )
    known = v.logical_or(v.isfinite(by_c), v.abs(x) >= 1)
    inside = v.where(known, 0.5, x)
    turn, sine = (n + 1) * v.acos(inside), v.sqrt(1 - inside * inside)
    far = (inside * v.sin(turn) / sine - (n + 1) * v.cos(turn)) / (sine * sine)
    return v.where(known, by_c, far)


def _fresnel(sign: float) -> Any:
    """Return the slopes -exp(±ix²), and -+2ix K plus it times exp(-+i(x² + π/4)) / √π."""

    def slope(y: Any, x: Any) -> Any:
        by_x = -v.exp(sign * 1j * x * x) * v.where(x < 0, math.nan, 1.0)  # SciPy mixes the parts
        factor = v.exp(-sign * 1j * (x * x + math.pi / 4)) / math.sqrt(math.pi)
        return by_x, -sign * 2j * x * y[1] + factor * by_x

    return slope


_HOLOMORPHIC: dict[str, list[Any]] = {
    "wrightomega z": [lambda y, _z: y / (1 + y)],
    "airy z": [lambda y, z: (y[1], z * y[0], y[3], z * y[2])],
    "hankel1 v z": [
        None,
        lambda _y, v_, z: 0.5 * (u.hankel1(v.real(v_) - 1, z) - u.hankel1(v.real(v_) + 1, z)),
    ],
    "hankel2 v z": [
        None,
        lambda _y, v_, z: 0.5 * (u.hankel2(v.real(v_) - 1, z) - u.hankel2(v.real(v_) + 1, z)),
    ],
    "hankel1e v z": [
        None,
        lambda y, v_, z: (
            0.5 * (u.hankel1e(v.real(v_) - 1, z) - u.hankel1e(v.real(v_) + 1, z)) - 1j * y
        ),
    ],
    "hankel2e v z": [
        None,
        lambda y, v_, z: (
            0.5 * (u.hankel2e(v.real(v_) - 1, z) - u.hankel2e(v.real(v_) + 1, z)) + 1j * y
        ),
    ],
}
# Ufuncs with their operands, and the partials, as `stated` takes them.
_REAL: dict[str, list[Any]] = {
    "sindg x": [lambda _y, x: _DEGREE * v.cos(_DEGREE * x)],
    "cosdg x": [lambda _y, x: -_DEGREE * v.sin(_DEGREE * x)],
    "tandg x": [lambda y, _x: _DEGREE * (1 + y * y)],
    "cotdg x": [lambda y, _x: -_DEGREE * (1 + y * y)],
    "zetac x": [_zetac],
    # Bessel, Airy, Kelvin and Struve functions. For real arguments the factor exp(-|Im z|) is 1.
    "airye z": [_airye],
    "berp x": [
        lambda y, x: -u.bei(x) - _near(x, _BER, lambda z: v.where(v.abs(x) < 1, 1.0, y) / z)
    ],
    "beip x": [lambda y, x: u.ber(x) - _near(x, _BEI, lambda z: v.where(v.abs(x) < 1, 1.0, y) / z)],
    "kerp x": [lambda y, x: -u.kei(x) - y / x],
    "keip x": [lambda y, x: u.ker(x) - y / x],
    "ber x": [lambda _y, x: u.berp(x)],
    "bei x": [lambda _y, x: u.beip(x)],
    "ker x": [lambda _y, x: u.kerp(x)],
    "kei x": [lambda _y, x: u.keip(x)],
    "kelvin x": [
        lambda y, x: (
            y[2],
            y[3],
            1j * y[0]
            - (
                _near(x, _BER, lambda z: u.berp(z) / z)
                + 1j * _near(x, _BEI, lambda z: u.beip(z) / z)
            ),
            1j * y[1] - y[3] / x,
        )
    ],
    "struve v x": [
        None,
        lambda _y, v_, x: (
            0.5 * (_struve_below(u.struve, -1, v_, x) - u.struve(v_ + 1, x) + _struve_part(v_, x))
        ),
    ],
    "modstruve v x": [
        None,
        lambda _y, v_, x: (
            0.5
            * (_struve_below(u.modstruve, 1, v_, x) + u.modstruve(v_ + 1, x) + _struve_part(v_, x))
        ),
    ],
    "jve v z": [None, lambda _y, v_, z: 0.5 * (u.jve(v_ - 1, z) - u.jve(v_ + 1, z))],
    "yve v z": [None, lambda _y, v_, z: 0.5 * (u.yve(v_ - 1, z) - u.yve(v_ + 1, z))],
    "wright_bessel a b x": [None, None, lambda _y, a, b, x: u.wright_bessel(a, b + a, x)],
    "log_wright_bessel a b x": [
        None,
        None,
        lambda y, a, b, x: v.exp(u.log_wright_bessel(a, b + a, x) - y),
    ],
    # Integrals of these from 0 to x; those of H₀ and Y₀, K₀ over t from x to ∞.
    "itairy x": [lambda _y, x: (u.airy(x)[0], u.airy(x)[2], u.airy(-x)[0], u.airy(-x)[2])],
    "itj0y0 x": [lambda _y, x: (v.j0(x), v.y0(x))],
    "iti0k0 x": [lambda _y, x: (v.i0(x), v.k0(x))],
    "it2j0y0 x": [
        lambda _y, x: (-x * _near(x, _J0, lambda z: (v.j0(z) - 1) / (z * z)), -v.y0(x) / x)
    ],
    "it2i0k0 x": [
        lambda _y, x: (x * _near(x, _I0, lambda z: (v.i0(z) - 1) / (z * z)), -v.k0(x) / x)
    ],
    "itstruve0 x": [lambda _y, x: u.struve(0.0, x)],
    "it2struve0 x": [lambda _y, x: -_near(x, _H0, lambda z: u.struve(0.0, z) / z)],
    "itmodstruve0 x": [lambda _y, x: u.modstruve(0.0, x)],
    # Parabolic cylinder functions and their derivatives: 12.2.2, where a = -v - 1/2.
    "pbdv v x": [None, lambda y, v_, x: (y[1], (0.25 * x * x - v_ - 0.5) * y[0])],
    "pbvv v x": [None, lambda y, v_, x: (y[1], (0.25 * x * x - v_ - 0.5) * y[0])],
    "pbwa a x": [None, lambda y, a, x: (y[1], (a - 0.25 * x * x) * y[0])],
    "shichi x": [lambda _y, x: (_near(x, _SINH, lambda z: v.sinh(z) / z), v.divide(v.cosh(x), x))],
    "expn n x": [flat, lambda y, n, x: _expn(cut(n), x)],
    "hyperu a b x": [None, None, lambda _y, a, b, x: -a * u.hyperu(a + 1, b + 1, x)],
    "modfresnelp x": [_fresnel(1.0)],
    "modfresnelm x": [_fresnel(-1.0)],
    # Polynomials.
    "eval_jacobi n alpha beta x": [
        None,
        None,
        None,
        lambda _y, n, alpha, beta, x: (
            _factor(n, 0.5 * (n + alpha + beta + 1))
            * u.eval_jacobi(_lower(n), alpha + 1, beta + 1, x)
        ),
    ],
    "eval_gegenbauer n alpha x": [
        None,
        None,
        lambda _y, n, alpha, x: _factor(n, 2 * alpha) * u.eval_gegenbauer(_lower(n), alpha + 1, x),
    ],
    "eval_genlaguerre n alpha x": [
        None,
        None,
        lambda _y, n, alpha, x: _factor(n, -1.0) * u.eval_genlaguerre(_lower(n), alpha + 1, x),
    ],
    "eval_legendre n x": [None, lambda _y, n, x: _legendre(_mirrored(n, 1), x)],
    "eval_laguerre n x": [
        None,
        lambda _y, n, x: _factor(n, -1.0) * u.eval_genlaguerre(_lower(n), 1.0, x),
    ],
    "eval_hermite n x": [None, lambda _y, n, x: 2.0 * n * u.eval_hermite(_lower(n), x)],
    "eval_hermitenorm n x": [None, lambda _y, n, x: 1.0 * n * u.eval_hermitenorm(_lower(n), x)],
    "eval_chebyu n x": [None, _chebyu],
    "eval_chebyt n x": [
        None,
        lambda _y, n, x: 1.0 * n * u.eval_chebyu(v.where(n == 0, 0, n - 1), x),
    ],
    "lpmv m v x": [
        None,
        None,
        lambda y, m, v_, x: (v_ * x * y - (v_ + m) * u.lpmv(m, v_ - 1, x)) / (x * x - 1),
    ],
    # Without a formula in any operand.
    "besselpoly a lmb nu": [None, None, None],
    **{f"mathieu_{name} m q": [None, None] for name in "ab"},
    **{
        f"mathieu_{name} m q x": [None, None, None]
        for name in ("cem", "sem", "modcem1", "modcem2", "modsem1", "modsem2")
    },
    **{f"{name}_cv m n c": [None, None, None] for name in ("pro", "obl")},
    **{
        f"{name}_{kind} m n c x": [None, None, None, None]
        for name in ("pro", "obl")
        for kind in ("ang1", "rad1", "rad2")
    },
}

# Ufuncs as functions in operations.
_COMPOSITES: dict[str, Callable[..., Any]] = {
    "radian": lambda d, m, s: _DEGREE * (d + m / 60 + s / 3600),
    "eval_chebyc": lambda n, x: 2 * u.eval_chebyt(n, 0.5 * x),
    "eval_chebys": lambda n, x: u.eval_chebyu(n, 0.5 * x),
    "eval_sh_legendre": lambda n, x: u.eval_legendre(n, 2 * x - 1),
    "eval_sh_chebyt": lambda n, x: u.eval_chebyt(n, 2 * x - 1),
    "eval_sh_chebyu": lambda n, x: u.eval_chebyu(n, 2 * x - 1),
    "eval_sh_jacobi": lambda n, p, q, x: (
        u.eval_jacobi(n, p - q, q - 1, 2 * x - 1) / v.binom(2 * n + p - 1, n)
    ),
}

_smirnov_slope = private("_smirnovp")
if _smirnov_slope is not None:
    _REAL |= {
        "smirnov n d": [flat, lambda _y, n, d: _smirnov_slope(n, d)],
        "smirnovi n p": [flat, lambda y, n, _p: 1 / _smirnov_slope(n, y)],
    }
for _key, _partials in _HOLOMORPHIC.items():
    stated(_key, *_partials, complex="holomorphic")
for _key, _partials in (_PARTIALS | _REAL).items():
    stated(_key, *_partials)
for _name, _function in (_OF_DISTRIBUTIONS | _COMPOSITES).items():
    composite(_name)(_function)

# ``psi`` and ``jn`` are the same objects as ``digamma`` and ``jv``.
for _operation in (*FUNCTIONS, v.cbrt, v.exp2, v.expm1, v.log1p, v.round):
    row(ufunc_of(_operation.__name__), _operation, _operation.operands)


def _in_double(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an operation: truncate its order; with an integer order, compute narrow x in double."""

    def function(v_: Any, x: Any) -> Any:
        narrow = kind_of(v_) == "int" and getattr(x, "dtype", None) not in (None, np.dtype(float))
        return operation(cut(v_), v.astype(x, dtype=np.dtype(float)) if narrow else x)

    return function


for _name, _operation in (("kn", v.kv), ("yn", v.yv)):
    row(ufunc_of(_name), asking(ufunc_of(_name), _in_double(_operation)), ("v_", "x"))

# ---------------------------------------------------------- functions that let traced values pass

# Functions that ``zeta`` and ``lambertw`` call, which tracers reach.


def _zeta(x: Any, q: Any = None) -> Any:
    """Compute the zeta function; without q it is Riemann's, by `zetac`."""
    if q is None and kind_of(x) == "complex":
        reject("zeta(x) of complex x has no derivative here")
    return u.zetac(x) + 1 if q is None else v.zeta(x, q)


def _branch(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    """Compute a branch of Lambert's W; raise for a tolerance, which the operation lacks."""
    if tol != 1e-8:
        reject("lambertw(tol=...) has no derivative here; leave tol out", UnsupportedKeywordError)
    return v.lambertw(z, k)


alias(scipy.special.zeta, to=_zeta, refuse=("out",))
alias(scipy.special.lambertw, to=_branch)
for _name, _to, _taken in (
    ("_zeta", v.zeta, ("x", "q")),
    ("_riemann_zeta", asking(private("_riemann_zeta"), _zeta), ("x",)),
    ("_lambertw", _branch, ("z", "k", "tol")),
):
    if private(_name) is not None:
        row(private(_name), _to, _taken)
alias(scipy.special.softplus, to=lambda x: v.logaddexp(0, x), parameters={"x": None})
