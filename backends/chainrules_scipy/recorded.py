"""Calls of SciPy's functions in a program that is written down: SciPy's own, and nothing of ours.

Such a program is to give what the function gives without it. Without a derivative that is what
SciPy computes, to the bit, and not what our words compute of the same.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.extend import Tracer, closed, flatten, type_info
from chainrules_scipy.precision import is_asked_again

HOLDS = "_holds_traced"
"""What a class has whose instances hold traced values, as those do that follow SciPy's."""
_DATA = (np.ndarray, np.generic, np.dtype, type, int, float, complex, str, slice, range)


def as_recorded(
    native: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], bound: int = 0
) -> Callable[..., Any] | None:
    """Return what calls SciPy's own function, where nothing is differentiated; else None.

    Of data, it is one call of the program. With other arguments, as a function, it is none: SciPy
    looks at the numbers that such a function gives.

    Parameters
    ----------
    native : callable
        SciPy's function, or method.
    args, options
        What it is called with.
    bound : int
        How many of the arguments are what a method belongs to.
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
    """Ask for a plain array, so that the function that is written down runs as it is."""
    return np.asarray(noted)


def _called(noted: Any, native: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Call SciPy's function as a program does, of which one argument is a value."""
    signature = _parameters(native)
    if signature is not None:
        bound = signature.bind(*args, **options)  # which raises as SciPy does
        given = bound.arguments
        if any([isinstance(given.get(name), np.ndarray) for name in ("output", "out")]):
            return _asked(noted)  # no program would write there
        for name in [n for n in given if n.startswith("overwrite_") and given[n]]:
            given[name] = False  # a permission, and other calls may read what is noted
            args, options = bound.args, bound.kwargs
    return noted.__array_function__(native, (), args, options)


@functools.cache
def _parameters(native: Callable[..., Any]) -> inspect.Signature | None:
    """Return the parameters of a function, if they are known."""
    try:
        return inspect.signature(native)
    except ValueError:  # of what is written in C
        return None
