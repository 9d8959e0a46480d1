"""Arrays of traced values, where a library's own function does not see that they are traced.

NumPy lets nobody see ``np.asarray([x, y])`` or ``np.full(n, x)``: called with a tracer they raise.
These two take tracers, and anything else.
"""

from __future__ import annotations

import importlib
from typing import Any

from chainrules_py.tracing.library_calls import call_native
from chainrules_py.values.tracers import find_tracers
from chainrules_py.values.type_info import type_info


def asarray(x: Any, /, dtype: Any = None) -> Any:
    """Make an array from the value given: a tracer, numbers, arrays, or nested lists of them.

    Parameters
    ----------
    x : array, number, or nested lists and tuples of them
        Those in a list have to have one shape.
    dtype : dtype, optional
        Of the result; what NumPy finds by default.

    Returns
    -------
    array or tracer
        As ``np.asarray(x, dtype)``; a tracer if one is in x.

    Raises
    ------
    ValueError
        If the parts of a list have several shapes.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> print(grad(lambda x: (asarray([x, 2.0, x * x]) ** 2).sum())(3.0))
    114.0
    """
    return _made("asarray", (x,), x, dtype)


def full(shape: int | tuple[int, ...], fill_value: Any, /, dtype: Any = None) -> Any:
    """Make an array of a shape, filled with a value.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    fill_value : array or number
        Is broadcast to the shape.
    dtype : dtype, optional
        Of the result; that of the value by default.

    Returns
    -------
    array or tracer
        As ``np.full(shape, fill_value, dtype)``; a tracer if the value is one.

    Raises
    ------
    ValueError
        If the value does not broadcast to the shape.

    Examples
    --------
    >>> from chainrules_tape import grad
    >>> print(grad(lambda x: full((2, 3), x).sum())(1.5))
    6.0
    """
    return _made("full", (shape, fill_value), fill_value, dtype)


def _made(name: str, operands: tuple[Any, ...], x: Any, dtype: Any) -> Any:
    """Call a function of the library of the first traced array in x; of NumPy, if there is none."""
    keywords, tracers = {} if dtype is None else {"dtype": dtype}, find_tracers(x)
    infos = [type_info(type(t)) for t in tracers]
    library = next((info.namespace for info in infos if info.is_array), None)
    function = getattr(library or importlib.import_module("numpy"), name)
    return call_native(function, operands, keywords) if tracers else function(*operands, **keywords)
