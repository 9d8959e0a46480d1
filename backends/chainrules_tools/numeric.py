"""Rules by numbers: derivatives of functions that nobody has stated, by steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    NotImplementedTangent,
    Primitive,
    RuleError,
    export,
    primitive,
    rule,
)
from chainrules_py.extend import Tracer, describe, is_structure_type, kind_of, name_of, type_info


class NumericDerivativeWarning(UserWarning):
    """A derivative is that of finite steps, and right to some of its digits alone."""


def numeric_rule(f: Callable[..., Any]) -> Primitive[..., Any]:
    """Make a primitive of a function, with a rule that takes finite steps.

    It is a fall-back that somebody asks for: nothing chooses it by itself, and the first
    derivative warns. Where the body takes complex numbers, and both ways agree, the steps are
    imaginary, which costs no digits; else they are central differences, of about ten digits.

    Parameters
    ----------
    f : callable
        A function of real arrays and numbers of NumPy that gives one array or number.

    Returns
    -------
    Primitive
        Takes what f takes.

    Raises
    ------
    NotDifferentiableError
        By its derivative, where f is not smooth, and by a second derivative, which has too few
        digits left.

    Warns
    -----
    NumericDerivativeWarning
        The first time that its derivative is taken.

    Notes
    -----
    A push is two or three calls of f, a pull two or three for each element of each operand. In
    other engines the steps are taken by NumPy, in double precision.

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
    word = f if isinstance(f, Primitive) else primitive(f)
    if word.options or word.variadic:
        msg = f"numeric_rule({name_of(f)}): it takes operands alone, not {word.signature}"
        raise RuleError(msg)
    word.opaque = True
    body, unstated = word.__wrapped__, _unstated(word)
    halves = [_halves(body, word.__name__, k, unstated) for k in range(len(word.operands))]
    warned: list[bool] = []

    def numeric(*xs: Any) -> Any:
        if not warned:
            warned.append(True)
            msg = f"the derivative of {word.__name__} is that of finite steps (numeric_rule)"
            warnings.warn(msg, NumericDerivativeWarning, stacklevel=2)
        y = word(*xs)
        if is_structure_type(type(y)):
            msg = (
                f"{word.__name__} has a numeric rule, which is of one array or number, and gave "
                f"{describe(y)}"
            )
            raise NotDifferentiableError(msg)
        return y, tuple([_map(push, pull, xs) for push, pull in halves])

    numeric.__signature__ = word.signature  # type: ignore[attr-defined]
    numeric.__qualname__ = f"numeric_rule({word.__name__})"
    rule(word)(numeric)
    return word


def _unstated(word: Any) -> LinearMap:
    """Return the derivative of a derivative."""
    unknown = NotImplementedTangent(
        f"{word.__name__} has a numeric rule, and its derivative is to be differentiated: too few "
        f"digits are left; state a rule"
    )
    return LinearMap(lambda _: unknown, lambda _: unknown)


def _map(push: Any, pull: Any, xs: tuple[Any, ...]) -> LinearMap:
    return LinearMap(lambda x_dot: _call(push, x_dot, *xs), lambda y_bar: _call(pull, y_bar, *xs))


_EXPORTERS = ("torch", "jax", "mlx")
"""The engines whose arrays NumPy does not compute with."""


def _call(half: Any, *xs: Any) -> Any:
    """Call half of the rule; arrays of another engine's come back as that engine's."""
    homes = [type_info(type(x)).home for x in xs if not isinstance(x, Tracer)]
    for home in filter(None, homes):
        engine = next((e for e in _EXPORTERS if e in home.__name__.split(".")), None)
        return (half if engine is None else export(half, to=engine))(*xs)
    return half(*xs)


def _halves(f: Callable[..., Any], name: str, k: int, unstated: LinearMap) -> tuple[Any, Any]:
    """Make the derivative in one operand, and its transpose: primitives, which engines call back.

    Each is linear in its first operand, and of its derivative in the others nobody knows digits.
    """

    def along(x_dot: Any, xs: tuple[Any, ...]) -> Any:
        x = xs[k]
        return _slope(lambda step: f(*xs[:k], x + step * x_dot, *xs[k + 1 :]), name, x, x_dot)

    def pushed(x_dot: Any, *xs: Any) -> Any:
        return along(x_dot, xs)

    def pulled(y_bar: Any, *xs: Any) -> Any:
        x_bar = np.zeros(np.shape(xs[k]))
        for place in np.ndindex(x_bar.shape):
            unit = np.zeros(x_bar.shape)
            unit[place] = 1.0
            moved = along(unit if unit.shape else 1.0, xs)
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
    """Compute by NumPy, in double precision, what may be given arrays of another library."""

    def computed(t: Any, *xs: Any) -> Any:
        y = f(*map(_wide, (t, *xs)))
        home = next(filter(None, [type_info(type(x)).home for x in (t, *xs)]), None)
        return y if home is None else home.asarray(y, dtype=t.dtype)

    return computed


def _wide(x: Any) -> Any:
    if type_info(type(x)).home is not None:
        x = np.asarray(x)
    narrow = getattr(x, "dtype", None) in (np.float32, np.float16)
    return x.astype(np.float64) if narrow else x


def _slope(f: Callable[[Any], Any], name: str, x: Any, x_dot: Any) -> Any:
    """Differentiate along a line, in two ways or with two steps, which have to agree."""
    if kind_of(x) == "complex":
        msg = f"{name} has a numeric rule, which is of real numbers, and was given {describe(x)}"
        raise NotDifferentiableError(msg)
    size = np.max(np.abs(x_dot), initial=0.0)
    if size == 0.0:
        return 0.0 * np.asarray(f(0.0))
    scale = max(1.0, float(np.max(np.abs(x), initial=0.0))) / size
    here = np.asarray(f(0.0))
    (wide, far), (narrow, near) = [_central(f, h * scale, here) for h in (1e-3, 5e-4)]
    found = (4.0 * narrow - wide) / 3.0
    among = 1e-7 + np.max(np.abs(found), initial=0.0)
    # How far the slopes of both sides are apart goes with the step, but not at a kink.
    bent = np.abs(near) > 0.8 * np.abs(far) + 1e-5 * among
    if np.any(bent) or not np.all(np.abs(narrow - wide) <= 1e-3 * among):
        msg = (
            f"{name} has a numeric rule, and differences of it do not agree at {describe(x)}: it "
            f"is not smooth there, or too noisy; state a rule"
        )
        raise NotDifferentiableError(msg)
    by_imaginary = _imaginary(f, 1e-30 * scale)
    if by_imaginary is not None and np.all(np.abs(by_imaginary - found) <= 1e-6 * among):
        return by_imaginary
    return found


def _central(f: Callable[[Any], Any], h: float, here: Any) -> tuple[Any, Any]:
    """Return the central difference, and how far the differences of both sides are apart."""
    ahead, behind = np.asarray(f(h)), np.asarray(f(-h))
    return (ahead - behind) / (2.0 * h), (ahead + behind - 2.0 * here) / h


def _imaginary(f: Callable[[Any], Any], h: float) -> Any:
    """Differentiate by an imaginary step; None where the body takes no complex numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y: Any = np.asarray(f(1j * h))
    except Exception:  # whatever a body says to complex numbers
        return None
    return y.imag / h if y.dtype.kind == "c" else None
