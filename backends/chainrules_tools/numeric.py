"""Rules by numbers: derivatives of functions that nobody has stated, by steps."""

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
    primitive,
    rule,
)
from chainrules_py.extend import describe, kind_of, name_of, varies


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
    A push is two or three calls of f, a pull two or three for each element of each operand.

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
    body = word.__wrapped__
    warned: list[bool] = []

    def numeric(*xs: Any) -> Any:
        if varies(xs):
            msg = (
                f"{word.__name__} has a numeric rule, and its derivative is to be differentiated: "
                f"too few digits are left; state a rule"
            )
            raise NotDifferentiableError(msg)
        if not warned:
            warned.append(True)
            msg = f"the derivative of {word.__name__} is that of finite steps (numeric_rule)"
            warnings.warn(msg, NumericDerivativeWarning, stacklevel=2)
        maps = [_map(body, word.__name__, xs, k) for k in range(len(xs))]
        return body(*xs), tuple(maps)

    numeric.__signature__ = word.signature  # type: ignore[attr-defined]
    numeric.__qualname__ = f"numeric_rule({word.__name__})"
    rule(word)(numeric)
    return word


def _map(f: Callable[..., Any], name: str, xs: tuple[Any, ...], k: int) -> Any:
    """Make the derivative in one operand, at a point."""
    x = xs[k]

    def along(x_dot: Any) -> Any:
        return _slope(lambda step: f(*xs[:k], x + step * x_dot, *xs[k + 1 :]), name, x, x_dot)

    def pull(y_bar: Any) -> Any:
        x_bar = np.zeros(np.shape(x))
        for place in np.ndindex(x_bar.shape):
            unit = np.zeros(x_bar.shape)
            unit[place] = 1.0
            x_bar[place] = np.sum(np.real(np.conj(y_bar) * along(unit if unit.shape else 1.0)))
        return x_bar if x_bar.shape else float(x_bar)

    return LinearMap(along, pull)


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
