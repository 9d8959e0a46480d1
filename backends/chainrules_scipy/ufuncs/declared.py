"""How the ufuncs of ``scipy.special`` get operations, aliases, and rules that are a line each."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from types import FunctionType
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
from chainrules_scipy.implementations import of_numbers, ufunc_of
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


Partial = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])


def _one(x: Any, /) -> Any:
    """x."""


def _two(x: Any, y: Any, /) -> Any:
    """x."""


def _three(x: Any, y: Any, z: Any, /) -> Any:
    """x."""


def _four(x: Any, y: Any, z: Any, w: Any, /) -> Any:
    """x."""


def row(ufunc: Any, to: Any, operands: tuple[str, ...], rename: Any = None) -> None:
    """Enter what a ufunc is: a word, or a function in words of the same operands."""
    alias(
        ufunc,
        to=to,
        parameters=dict.fromkeys(operands) | UFUNC_KEYWORDS,
        positional=operands,
        rename=rename,
        refuse=tuple(UFUNC_KEYWORDS),
    )
    dispatching = getattr(scipy.special, ufunc.__name__, ufunc)
    if dispatching is not ufunc and inspect.unwrap(dispatching) is ufunc:
        place(dispatching, ufunc)


def declared(name: str, *operands: str) -> Primitive[..., Any]:
    """Declare the operation that is a ufunc of SciPy's."""
    code = (_one, _two, _three, _four)[len(operands) - 1].__code__
    code = code.replace(co_name=name, co_qualname=name, co_varnames=operands)
    function: Any = FunctionType(code, globals(), name)
    function.__qualname__, function.__doc__ = name, f"Compute ``scipy.special.{name}``."
    word: Primitive[..., Any] = primitive(function)
    ufunc = ufunc_of(name)
    of_numbers(word, ufunc)
    row(ufunc, word, operands)
    return word


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
    return (v.zeros_like(y[0]),)


def stated(name: str, operands: str, *partials: Partial | None, **options: Any) -> Any:
    """Declare a ufunc's word and state its partials; None for an operand that has none here."""
    word = declared(name, *operands.split())
    partials = tuple([p if p in (None, flat) else _of_poles(p) for p in partials])
    if None not in partials and flat not in partials:
        scalar_rule(word, *partials, singular=True, **options)
    else:
        given = [p if p in (None, flat) else _single(p) for p in partials]
        _state(word, given, lambda y: (y,), _times, _times_conj, **options)
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


def _single(partial: Partial) -> Partial:
    return lambda y, *xs: (partial(y[0], *xs),)


def _times(t: Any, slope: Partial, y: Any, xs: Any) -> Any:
    return v.strong_multiply(t, slope(y, *xs)[0])


def _times_conj(t: Any, slope: Partial, y: Any, xs: Any) -> Any:
    return v.strong_multiply(t, v.conj(slope(y, *xs)[0]))


def by_values(word: Primitive[..., Any], place: int) -> Partial:
    """Make the partial in an operand that no formula differentiates in: by values around it."""
    return lambda _y, *xs: (around(word, place, *xs),)


def by_values_of_all(word: Primitive[..., Any], place: int) -> Partial:
    """Make the partials of several results."""

    def part(k: int) -> Any:
        return lambda *xs: word(*xs)[k]

    return lambda y, *xs: tuple(around(part(k), place, *xs) for k in range(len(y)))


def _state(
    word: Any,
    slopes: Any,
    results: Any,
    push: Any,
    pull: Any,
    complex: str | None = None,
    is_several: bool = False,
) -> None:
    """State slopes of results and operands; whole numbers without one have no derivative at all."""
    of = by_values_of_all if is_several else by_values
    refusals = [of(word, k) for k in range(len(slopes))]

    def maps(*xs: Any) -> Any:
        if complex is None and "complex" in map(kind_of, xs):
            reject(f"scipy.special.{word.__name__} is differentiated at real operands alone")
        y, at = word(*xs), tuple(map(_counted, xs))
        found: list[Any] = []
        for x, slope, refusal in zip(xs, slopes, refusals, strict=True):
            if slope in (None, flat) and kind_of(x) in ("int", "bool"):
                found.append(NoTangent())
            else:
                found.append(LinearMap(push, pull, slope or refusal, results(y), at))
        return y, tuple(found)

    of_number: tuple[Any, ...] = (  # a rule has as many parameters as its word
        lambda x: maps(x),  # noqa: PLW0108
        lambda x, y: maps(x, y),  # noqa: PLW0108
        lambda x, y, z: maps(x, y, z),  # noqa: PLW0108
        lambda x, y, z, w: maps(x, y, z, w),  # noqa: PLW0108
    )
    rule(word, batched="broadcast")(of_number[len(slopes) - 1])


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


def several(name: str, operands: str, *slopes: Partial | None, complex: str | None = None) -> Any:
    """Declare a ufunc's word with several results, and state its derivatives.

    A slope is of the results and the operands, and gives as many as there are results.
    """
    word = declared(name, *operands.split())
    slopes = tuple([slope and _of_poles(slope) for slope in slopes])
    _state(word, slopes, tuple, _push, _pull, complex, is_several=True)
    return word


def _push(t: Any, slope: Partial, y: Any, xs: Any) -> Any:
    return tuple([v.strong_multiply(t, p) for p in slope(y, *xs)])


def _pull(y_bar: Any, slope: Partial, y: Any, xs: Any) -> Any:
    given = [(y_bar[k], p) for k, p in enumerate(slope(y, *xs))]
    parts = [v.strong_multiply(t, v.conj(p)) for t, p in given if not is_zero(t)]
    return sum(parts[1:], parts[0]) if parts else ZeroTangent()
