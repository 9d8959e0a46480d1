"""The precision of results, and the calls that a recorded program makes, as SciPy's."""

from __future__ import annotations

import copy
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from chainrules_py import ops as v
from chainrules_py import primitive
from chainrules_py.extend import (
    Tracer,
    closed,
    flatten,
    joined,
    kind_of,
    objects,
    type_info,
    unflatten,
    untraced,
)

F = TypeVar("F", bound=Callable[..., Any])
_OTHERS = frozenset("efgFG")


def readable(x: Any) -> Any:
    """Return the values of an array, of any engine, for NumPy and SciPy to read."""
    x = untraced(x)
    return x if type_info(type(x)).host is None else np.asarray(x)


def asked(x: Any) -> Any:
    """Return the values of an array to test; the array itself if a program repeats the test.

    A program that is being recorded answers a test, and repeats it at each call.
    """
    x = untraced(x)
    return x if is_asked_again(x) else readable(x)


def truths(x: Any) -> Any:
    """Return the results of a test as booleans: some of SciPy's return 1, which is an index."""
    if is_asked_again(x):
        return x if kind_of(x) == "bool" else x != 0
    return np.asarray(x, bool)


@primitive
def as_method(*xs: Any, of: Any, name: str) -> Any:
    """Compute a method of a SciPy object for plain numbers."""
    return getattr(of, name)(*xs)


as_method.opaque = True  # a program calls it as a whole


def method_of(of: Any, name: str, *xs: Any) -> Any:
    """Call a method of a SciPy object on the values of arrays."""
    xs = tuple(map(asked, xs))
    if any(map(is_asked_again, xs)):
        return as_method(*xs, of=of, name=name)
    return getattr(of, name)(*xs)


def is_asked_again(x: Any) -> bool:
    """Return whether a test of a value is repeated at each call of a program."""
    return getattr(type(x), "__asked_again__", False) is True


def plainly(x: Any, read: Callable[[Any], Any] = readable) -> Any:
    """Return an argument with plain numbers for traced ones, also in lists and tuples."""
    return type(x)([plainly(y, read) for y in x]) if type(x) in (list, tuple) else read(x)


def in_precision_of(native: Callable[..., Any]) -> Callable[[F], F]:
    """Make a function return its results in the precision of SciPy's (a decorator).

    Examples
    --------
    >>> half = in_precision_of(lambda x: x / 2)(lambda x: x.astype(float) / 2)
    >>> print(half(np.ones(2, np.float32)).dtype, half(np.ones(2)).dtype)
    float32 float64
    """

    def enter(function: Any) -> Any:
        if isinstance(native, np.ufunc):  # which has a loop for each dtype
            return function

        @functools.wraps(function)
        def precise(*args: Any, **options: Any) -> Any:
            if objects:  # an array of objects may hold traced values
                args, options = joined(args), {name: joined(x) for name, x in options.items()}
            y = function(*args, **options)
            if not (_is_other(args) or (options and _is_other(options.values()))):
                return y
            return _cast(y, _theirs(native, args, options))

        return precise

    return enter


def of_precision(x: Any, dtype: Any) -> Any:
    """Return an array in the precision of a dtype, real or complex as before."""
    own: Any = getattr(x, "dtype", None)
    is_array = isinstance(own, np.dtype) and isinstance(untraced(x), (np.ndarray, np.generic))
    if dtype is None or not is_array:
        return x
    dtype = as_precise(own, dtype)
    return x if own == dtype else v.astype(x, dtype=dtype)


def as_precise(own: Any, dtype: Any) -> Any:
    """Return a dtype in the precision of another one, real or complex as before."""
    if own.kind not in "fc" or dtype.kind not in "fc":
        return own
    dtype = np.finfo(dtype).dtype
    return np.result_type(dtype, np.complex64) if own.kind == "c" else dtype


def _is_other(arguments: Any) -> bool:
    return any(
        _is_other(x)
        if type(x) in (list, tuple)
        else getattr(getattr(x, "dtype", None), "char", "d") in _OTHERS
        for x in arguments
    )


def _theirs(native: Callable[..., Any], args: Any, options: Any) -> Any:
    """Return SciPy's result for plain numbers; None if there is none."""
    if any([type_info(type(untraced(x))).is_hidden for x in flatten((args, options))[0]]):
        return None  # there are no numbers to call it with
    plain = plainly(args), {name: plainly(x) for name, x in options.items()}
    if not all([x is None or isinstance(x, _DATA) for x in flatten(plain)[0]]):
        return None  # a function, which SciPy would call again
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            args, options = copy.deepcopy(plain)  # SciPy may overwrite them
            return native(*args, **options)
        except Exception:  # SciPy rejects the numbers, and ours has a result
            return None


def _cast(y: Any, known: Any) -> Any:
    """Return a result in the precision of SciPy's, which has the same structure."""
    (leaves, tree), others = flatten(y), flatten(known)[0]
    if len(leaves) != len(others):
        return y
    dtypes = [np.dtype(float) if type(z) is float else getattr(z, "dtype", None) for z in others]
    return unflatten(tree, list(map(of_precision, leaves, dtypes)))


HOLDS = "_holds_traced"
"""The attribute of a class whose instances hold traced values, as followed classes have."""
_DATA = (np.ndarray, np.generic, np.dtype, type, int, float, complex, str, slice, range)


def as_recorded(
    native: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], bound: int = 0
) -> Callable[..., Any] | None:
    """Return a callable for SciPy's own function if nothing is differentiated; else None.

    With data only, it is one call of the program. With other arguments, as functions, it is not
    recorded: SciPy reads the numbers that a function returns.

    Parameters
    ----------
    native : callable
        SciPy's function, or method.
    args, options
        The arguments of the call.
    bound : int
        How many of the arguments a method is bound to.
    """
    noted, is_data = None, True
    leaves = flatten((args[bound:], options))[0]
    others = [x for x in leaves if not (x is None or x is ... or issubclass(type(x), _DATA))]
    for x in others:
        if hasattr(type(x), HOLDS):
            return None
        for y in flatten(closed(x))[0] if callable(x) else [x]:
            if is_asked_again(y):
                noted = y
            elif isinstance(y, Tracer) or type_info(type(y)).host is not None:
                return None
        is_data = is_data and is_asked_again(x)
    if noted is None:
        return native
    return functools.partial(_called if is_data else _asked, noted, native)


def _asked(noted: Any, *_: Any, **__: Any) -> Any:
    """Read a plain array, so that the function that is being recorded runs without a program."""
    return np.asarray(noted)


def _called(noted: Any, native: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call SciPy's function as a program does, where an argument is a recorded value."""
    signature = _parameters(native)
    if signature is not None:
        bound = signature.bind(*args, **options)  # raises as SciPy does
        given = bound.arguments
        if any([isinstance(given.get(name), np.ndarray) for name in ("output", "out")]):
            return _asked(noted)  # a program would not write there
        for name in [n for n in given if n.startswith("overwrite_") and given[n]]:
            given[name] = False  # overwriting is optional, and other calls may read the value
            args, options = bound.args, bound.kwargs
    return noted.__array_function__(native, (), args, options)


@functools.cache
def _parameters(native: Callable[..., Any]) -> inspect.Signature | None:
    """Return the parameters of a function, if they are known."""
    try:
        return inspect.signature(native)
    except ValueError:  # functions written in C
        return None
