"""How the ufuncs of ``scipy.special`` get operations, aliases, and rules that are a line each."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import scipy.special

from chainrules_py import (
    LinearMap,
    NoTangent,
    Primitive,
    ZeroTangent,
    identity,
    is_zero,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py import vocabulary as v
from chainrules_py.extend import (
    UFUNC_KEYWORDS,
    Tracer,
    alias,
    around,
    find_tracers,
    in_own_context,
    kind_of,
    static_types,
    type_info,
    untraced,
)
from chainrules_scipy.implementations import of_numbers, of_operands, ufunc_of, word_of
from chainrules_scipy.installing import place
from chainrules_scipy.rows import array_of, reject

static_types.add(np.ufunc)


@primitive
def as_computed(y: Any, *xs: Any, by: np.ufunc) -> Any:
    """Return what SciPy computes of xs; the derivative is that of y, which words computed of it."""
    return by(*xs)


@rule(as_computed, batched="broadcast")
def as_computed_rule(y: Any, *xs: Any, by: np.ufunc) -> Any:
    """Pass tangents on; where the value is NaN, every derivative is."""
    z = as_computed(y, *xs, by=by)
    undefined = LinearMap(_undefined, _undefined, z)
    return z, (identity, *[undefined] * len(xs))


def _undefined(t: Any, z: Any) -> Any:
    # Both are masked: the adjoint multiplies what is masked, and a zero times NaN is none.
    lost, zero = v.isnan(z), v.zeros_like(z)
    return v.where(lost, math.nan, zero) * v.where(lost, t, zero)


def asking(ufunc: np.ufunc, in_words: Callable[..., Any]) -> Callable[..., Any]:
    """Make of a function in words the ufunc, with its value, of arrays and numbers of NumPy's."""

    @functools.wraps(in_words)
    def function(*xs: Any) -> Any:
        xs = tuple([array_of(x, floating=False) if type(x) in (list, tuple) else x for x in xs])
        is_numpys = all(map(_is_numpys, xs))
        try:
            y = in_own_context(_quiet, in_words, xs) if is_numpys else in_words(*xs)
        except Exception:
            if is_numpys:
                ufunc(*map(untraced, xs))  # which has its own words for what is wrong
            raise
        if not is_numpys:
            return y
        if find_tracers(y):
            return as_computed(y, *xs, by=ufunc)
        value = ufunc(*map(untraced, xs))
        return value.item() if type_info(type(y)).is_python_number else value

    return function


def _quiet(in_words: Callable[..., Any], xs: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):
        return in_words(*xs)


def _is_numpys(x: Any) -> bool:
    cls = type_info(type(x)).dispatch_type
    return issubclass(cls, (np.ndarray, np.generic, int, float, complex))


u: Any = SimpleNamespace()
"""The words that are stated here, by the names of their ufuncs."""
Partial = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])


def row(ufunc: Any, to: Any, operands: tuple[str, ...]) -> None:
    """Enter what a ufunc is: a word, or a function in words of the same operands."""
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
    """Give whole numbers the precision of x, where x has one."""
    if kind_of(k) != "int" or not hasattr(x, "dtype"):
        return k
    return v.astype(k, dtype=x.dtype) if hasattr(k, "dtype") else k + v.zeros_like(x)


def cut(n: Any) -> Any:
    """Cut an order as C does, towards 0: the function is a stair in it."""
    return n if kind_of(n) in ("int", "bool") else v.trunc(n)


def flat(y: Any, *_: Any) -> Any:
    """Differentiate in an operand that is cut."""
    return v.zeros_like(y)


def stated(key: str, *partials: Partial | None, complex: str | None = None) -> Any:
    """Declare the word that is a ufunc of SciPy's, and state its partials.

    Parameters
    ----------
    key : str
        Its name and those of its operands: ``"struve v x"``.
    *partials : callable or None
        One for each operand; None for one that has none here. Of a ufunc with several results each
        gives as many.
    complex : str, optional
        As in `scalar_rule`.
    """
    name, *operands = key.split()
    ufunc = ufunc_of(name)
    word = of_numbers(word_of(name, *operands), ufunc)
    row(ufunc, word, tuple(operands))
    vars(u)[name] = word
    slopes = tuple([p if p in (None, flat) else _of_poles(p) for p in partials])
    if ufunc.nout == 1 and None not in slopes and flat not in slopes:
        given: Any = {} if complex is None else {"complex": complex}
        scalar_rule(word, *slopes, singular=True, **given)
    else:
        _state(word, slopes, complex)
    return word


def _of_poles(partial: Partial) -> Partial:
    """Compute a partial without a warning, and of Python's numbers as of NumPy's where it raises.

    Of what is divided by zero `v.strong_multiply` takes the infinity or the NaN.
    """

    @functools.wraps(partial)
    def function(*xs: Any) -> Any:
        with np.errstate(all="ignore"):
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
    """Read truths and narrow or unsigned whole numbers as int64: n + 1 would wrap, -n too."""
    if kind_of(x) not in ("int", "bool") or not hasattr(x, "dtype"):
        return x
    fits = str(x.dtype).rpartition(".")[2] in ("int32", "int64")  # torch.int64
    return x if fits else v.astype(x, dtype=np.dtype(np.int64))


def _by_values(word: Primitive[..., Any], place: int) -> Partial:
    """Make the partial in an operand that no formula differentiates in: by values around it."""

    def slope(y: Any, *xs: Any) -> Any:
        if not isinstance(y, tuple):
            return around(word, place, *xs)
        return tuple([around(lambda *at, k=k: word(*at)[k], place, *xs) for k in range(len(y))])

    return slope


def _state(word: Any, slopes: Any, complex: str | None) -> None:
    """State slopes of results and operands; whole numbers without one have no derivative at all."""
    refusals = [_by_values(word, k) for k in range(len(slopes))]

    def maps(*xs: Any) -> Any:
        if complex is None and "complex" in map(kind_of, xs):
            reject(f"scipy.special.{word.__name__} is differentiated at real operands alone")
        y, at = word(*xs), tuple(map(_counted, xs))
        found: list[Any] = []
        for x, slope, refusal in zip(xs, slopes, refusals, strict=True):
            if slope in (None, flat) and kind_of(x) in ("int", "bool"):
                found.append(NoTangent())
            else:
                found.append(LinearMap(_push, _pull, slope or refusal, y, at))
        return y, tuple(found)

    rule(word, batched="broadcast")(of_operands(word, maps))


def _push(t: Any, slope: Partial, y: Any, xs: Any) -> Any:
    parts = slope(y, *xs)
    if not isinstance(parts, tuple):
        return v.strong_multiply(t, parts)
    return tuple([v.strong_multiply(t, p) for p in parts])


def _pull(y_bar: Any, slope: Partial, y: Any, xs: Any) -> Any:
    parts = slope(y, *xs)
    if not isinstance(parts, tuple):
        return v.strong_multiply(y_bar, v.conj(parts))
    given = [(y_bar[k], p) for k, p in enumerate(parts)]
    given = [v.strong_multiply(t, v.conj(p)) for t, p in given if not is_zero(t)]
    return sum(given[1:], given[0]) if given else ZeroTangent()


def _as_taken(ufunc: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Convert arrays of NumPy's dtypes to those that SciPy computes with, which do not wrap."""
    types = [getattr(x, "dtype", None) or type_info(type(x)).dispatch_type for x in xs]
    if not all(isinstance(t, np.dtype) or t in (int, float, complex) for t in types):
        return xs
    taken = ufunc.resolve_dtypes((*types, *[None] * ufunc.nout))
    return tuple(
        v.astype(x, dtype=to) if isinstance(t, np.dtype) and t != to else x
        for x, t, to in zip(xs, types, taken, strict=False)
    )


def composite(name: str) -> Callable[[F], F]:
    """Say that a ufunc is this function in words, of operands of the same names (a decorator).

    The value is the ufunc's own.
    """

    def enter(function: F) -> F:
        code, ufunc = function.__code__, ufunc_of(name)

        @functools.wraps(function)
        def of_its_types(*xs: Any) -> Any:
            return function(*_as_taken(ufunc, xs))

        row(ufunc, asking(ufunc, of_its_types), code.co_varnames[: code.co_argcount])
        return function

    return enter
