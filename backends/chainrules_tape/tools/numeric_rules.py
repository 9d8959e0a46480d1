"""Numeric rules: derivatives by finite steps, for functions without a stated rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    Primitive,
    RuleError,
    UndefinedTangent,
    export,
    primitive,
    rule,
)
from chainrules_py.extend import (
    Tracer,
    describe,
    is_structure_type,
    kind_of,
    name_of,
    type_info,
    warn_program,
    where_defined,
)


class NumericDerivativeWarning(UserWarning):
    """Warns that a derivative is computed by finite steps and has limited precision."""


def numeric_rule(f: Callable[..., Any]) -> Primitive[..., Any]:
    """Make a primitive of a function, with a rule that computes derivatives by finite steps.

    The rule is a fallback for explicit use: nothing selects it automatically, and its first
    derivative warns. If the body accepts complex numbers and both methods agree, the step is
    imaginary, which loses no digits. Otherwise the rule uses central differences, with about ten
    digits, and fewer where the function changes within much less than a thousandth of its operand.

    Parameters
    ----------
    f : callable
        A function of real NumPy arrays and numbers that returns one array or number, which may be
        complex.

    Returns
    -------
    Primitive
        Takes the arguments of f.

    Raises
    ------
    NotDifferentiableError
        In its derivative, if f is not smooth, and in a second derivative, which has too few digits
        left.

    Warns
    -----
    NumericDerivativeWarning
        When its derivative is first computed.

    Notes
    -----
    A push calls f six times, a pull six times for each element of each operand, and four times more
    each time that the step has to be shortened. In other engines NumPy computes the steps, in
    double precision.

    Examples
    --------
    >>> import math, warnings
    >>> from chainrules_tape import grad
    >>> special = numeric_rule(lambda x: math.erf(x))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", NumericDerivativeWarning)
    ...     slope = grad(special)(0.0)
    >>> abs(slope - 2 / math.sqrt(math.pi)) < 1e-9
    True
    """
    operation = f if isinstance(f, Primitive) else primitive(f)
    if operation.options or operation.variadic:
        raise RuleError(
            f"numeric_rule({name_of(f)}): it takes operands alone, not {operation.signature}"
        )
    operation.opaque = True
    body, unstated = operation.__wrapped__, _unstated(operation)
    halves = [
        _halves(body, operation.__name__, k, unstated) for k in range(len(operation.operands))
    ]
    warned: list[bool] = []

    def numeric(*xs: Any) -> Any:
        if not warned:
            warned.append(True)
            msg = f"the derivative of {operation.__name__} is that of finite steps (numeric_rule)"
            warn_program(msg, NumericDerivativeWarning)
        y = operation(*xs)
        if is_structure_type(type(y)):
            raise NotDifferentiableError(
                f"{operation.__name__} has a numeric rule, which is of one array or number, and "
                f"gave "
                f"{describe(y)}"
            )
        return y, tuple([_map(push, pull, xs) for push, pull in halves])

    numeric.__signature__ = operation.signature  # type: ignore[attr-defined]
    numeric.__qualname__ = f"numeric_rule({operation.__name__})"
    rule(operation)(numeric)
    return operation


def _unstated(operation: Any) -> LinearMap:
    """Return the linear map of a second derivative, which is not implemented."""
    unknown = UndefinedTangent(
        f"{operation.__name__} ({where_defined(operation)}) has a numeric rule, whose derivative "
        f"has too few digits to be differentiated; write @rule({operation.__name__}) instead"
    )
    return LinearMap(lambda _: unknown, lambda _: unknown)


def _map(push: Any, pull: Any, xs: tuple[Any, ...]) -> LinearMap:
    return LinearMap(lambda x_dot: _call(push, x_dot, *xs), lambda y_bar: _call(pull, y_bar, *xs))


_EXPORTERS = ("torch", "jax", "mlx")
"""Engines whose arrays NumPy cannot compute with."""


def _call(half: Any, *xs: Any) -> Any:
    """Call half of the rule; for arrays of another engine, return that engine's arrays."""
    homes = [type_info(type(x)).home for x in xs if not isinstance(x, Tracer)]
    for home in filter(None, homes):
        engine = next((e for e in _EXPORTERS if e in home.__name__.split(".")), None)
        return (half if engine is None else export(half, to=engine))(*xs)
    return half(*xs)


_ROUNDING = {"round", "around", "rint", "floor", "ceil", "trunc", "fix", "digitize"}
"""Names of functions that are flat with jumps by intention."""


def _halves(f: Callable[..., Any], name: str, k: int, unstated: LinearMap) -> tuple[Any, Any]:
    """Return the derivative in one operand and its transpose, as primitives that engines call back.

    Each is linear in its first operand. Its derivative in the others is not implemented, because no
    digits would be left.
    """
    rounds = not _ROUNDING.isdisjoint(getattr(getattr(f, "__code__", None), "co_names", ()))

    def pushed(x_dot: Any, *xs: Any) -> Any:
        x = xs[k]
        line = lambda step: f(*xs[:k], x + step * x_dot, *xs[k + 1 :])
        return _slope(line, name, x, x_dot, rounds)

    def pulled(y_bar: Any, *xs: Any) -> Any:
        x_bar = np.zeros(np.shape(xs[k]))
        for place in np.ndindex(x_bar.shape):
            unit = np.zeros(x_bar.shape)
            unit[place] = 1.0
            moved = pushed(unit if unit.shape else 1.0, *xs)
            x_bar[place] = np.sum(np.real(np.conj(y_bar) * moved))
        return x_bar if x_bar.shape else float(x_bar)

    push, pull = primitive(_by_numpy(pushed)), primitive(_by_numpy(pulled))
    for half, other in (push, pull), (pull, push):
        half.opaque = True
        half.__name__ = f"numeric_rule({name})"
        rule(half)(_stated(half, other, unstated))
    return push, pull


def _stated(half: Any, other: Any, unstated: LinearMap) -> Callable[..., Any]:
    def stated(t: Any, *xs: Any) -> Any:
        return _call(half, t, *xs), (_map(half, other, xs), *[unstated] * len(xs))

    return stated


def _by_numpy(f: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to compute with NumPy in double precision on arrays of any library."""

    def computed(t: Any, *xs: Any) -> Any:
        y = f(*map(_wide, (t, *xs)))
        home = next(filter(None, [type_info(type(x)).home for x in (t, *xs)]), None)
        if home is not None and np.iscomplexobj(y):  # of a real tangent, with its precision
            return home.asarray(y.real, dtype=t.dtype) + 1j * home.asarray(y.imag, dtype=t.dtype)
        return y if home is None else home.asarray(y, dtype=t.dtype)

    return computed


def _wide(x: Any) -> Any:
    if type_info(type(x)).home is not None:
        x = np.asarray(x)
    narrow = getattr(x, "dtype", None) in (np.float32, np.float16)
    return x.astype(np.float64) if narrow else x


def _slope(f: Callable[[Any], Any], name: str, x: Any, x_dot: Any, rounds: bool) -> Any:
    """Differentiate along a line, by two methods or two steps, which have to agree.

    Where they do not agree for some elements of the result, the step is too long and is shortened.
    """
    if kind_of(x) == "complex":
        raise NotDifferentiableError(
            f"{name} has a numeric rule, which is of real numbers, and was given {describe(x)}"
        )
    size = np.max(np.abs(x_dot), initial=0.0)
    here = np.asarray(f(0.0))
    if np.isnan(size):
        raise NotDifferentiableError(
            f"{name} has a numeric rule, which has no differences along NaN; to find which results "
            f"depend on which operands, give jacobian the pattern, sparsity=pattern"
        )
    if size == 0.0:
        return 0.0 * here
    scale = max(1.0, float(np.max(np.abs(x), initial=0.0))) / size
    moved = np.abs(np.asarray(x))[np.asarray(x_dot) != 0.0]
    least = np.min(moved, initial=scale * size, where=moved > 0.0) / size
    first = step = 1e-3 * scale
    found = np.zeros(here.shape, complex if here.dtype.kind == "c" else float)
    short, off = np.zeros(here.shape), np.full(here.shape, np.inf)
    with np.errstate(all="ignore"):
        while np.any(off > _NEAR) and step >= 1e-6 * min(least, first):
            slope, apart = _differences(f, step, here, off > _NEAR)
            among = 1e-7 + np.max(np.abs(found), initial=0.0)
            near = np.isinf(off) | (np.abs(slope - found) <= off * among)  # otherwise it is noise
            better = (apart < off) & (apart <= _FAR) & near
            if np.any(better) and step < first:
                again, _ = _central(f, step / 4.0, here)
                better &= np.abs(again - slope) <= _FAR * (1e-7 + np.abs(slope))
            # A function that is flat only nearby is flat between jumps, or has few digits.
            better &= (slope != 0.0) | (here == 0.0) | (step == first) | rounds
            found[better], short[better], off[better] = slope[better], step, apart[better]
            step /= 64.0
        missing, among = off > _FAR, 1e-7 + np.max(np.abs(found), initial=0.0)
        if not np.any(missing) and rounds:
            missing = ~_is_of_small_steps(f, found, here, short, scale)
        if np.any(missing):
            raise NotDifferentiableError(
                f"{name} has a numeric rule, and differences of it do not agree at {describe(x)}: "
                f"it is not smooth there, or too noisy; state a rule"
            )
        by_imaginary = None if found.dtype.kind == "c" else _imaginary(f, 1e-30 * scale)
        off = np.minimum(1e-6 * among + 1e3 * _EPS * np.abs(here) / short, _FAR * among)
        if by_imaginary is not None and np.all(np.abs(by_imaginary - found) <= off):
            return by_imaginary
    return found


_EPS, _NEAR, _FAR = 2.0**-52, 1e-5, 1e-3


def _differences(f: Callable[[Any], Any], h: float, here: Any, asked: Any) -> tuple[Any, Any]:
    """Return slopes from two steps and their relative difference, for the elements in ``asked``.

    The difference is infinite where there is no slope.
    """
    (wide, far), (narrow, near) = [_central(f, step, here) for step in (h, h / 2.0)]
    found = (4.0 * narrow - wide) / 3.0
    finite = np.abs(found[asked & np.isfinite(found)])
    # Next to large slopes small ones have few digits; if some have none, compare each by itself.
    beside = np.max(finite, initial=0.0)
    for among in (1e-7 + beside, 1e-7 + np.abs(found)):
        # The one-sided slopes differ in proportion to the step, except at a kink.
        bent = np.abs(near) > 0.8 * np.abs(far) + 1e-5 * among
        apart = np.where(asked & ~bent, np.abs(narrow - wide) / among, np.inf)
        if np.all(apart[asked] <= _FAR):
            break
    return found, np.where(np.isnan(apart), np.inf, apart)


def _is_of_small_steps(
    f: Callable[[Any], Any], found: Any, here: Any, short: Any, scale: float
) -> Any:
    """Return where much shorter steps give the same slopes, unlike slopes over many stairs."""
    same = np.ones(here.shape, bool)
    among = 1e-7 + np.max(np.abs(found), initial=0.0)
    for h in 1e-3 * scale * 2.0 ** np.arange(-6.0, -31.0, -4.0):
        slope, _ = _central(f, h, here)
        off = _FAR * among + 16 * _EPS * np.abs(here) / h
        same &= (h > short) | (np.abs(slope - found) <= off)
    return same


def _central(f: Callable[[Any], Any], h: float, here: Any) -> tuple[Any, Any]:
    """Return the central difference, and the difference of the two one-sided ones."""
    ahead, behind = _shifted(f, h, here), _shifted(f, -h, here)
    return (ahead - behind) / (2.0 * h), (ahead + behind - 2.0 * here) / h


def _shifted(f: Callable[[Any], Any], h: float, here: Any) -> Any:
    """Return the result at a step; NaN where the body raises outside its domain, as `math.log`."""
    try:
        return np.asarray(f(h))
    except (ArithmeticError, ValueError):
        return np.full(here.shape, np.nan)


def _imaginary(f: Callable[[Any], Any], h: float) -> Any:
    """Differentiate by an imaginary step; None if the body does not accept complex numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y: Any = np.asarray(f(1j * h))
    except Exception:  # any error of a body for complex numbers
        return None
    return y.imag / h if y.dtype.kind == "c" else None
