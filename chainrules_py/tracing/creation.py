"""Arrays of traced values, where a library's own function does not support tracers.

NumPy does not dispatch ``np.asarray([x, y])`` or ``np.full(n, x)``: with a tracer they raise. These
two functions take tracers and any other values.
"""

from __future__ import annotations

import importlib
from typing import Any

from chainrules_py.tracing.library_calls import call_native
from chainrules_py.values.find_tracers import find_tracers
from chainrules_py.values.type_info import type_info


def asarray(x: Any, /, dtype: Any = None) -> Any:
    """Make an array from a tracer, numbers, arrays, or nested lists of them.

    Parameters
    ----------
    x : array, number, or nested lists and tuples of them
        The parts of a list must have the same shape.
    dtype : dtype, optional
        The dtype of the result; by default as NumPy determines it.

    Returns
    -------
    array or tracer
        As ``np.asarray(x, dtype)``; a tracer if x contains one.

    Raises
    ------
    ValueError
        If the parts of a list have different shapes.

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
        The value, which is broadcast to the shape.
    dtype : dtype, optional
        The dtype of the result; by default that of the value.

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
    """Call a function of the first traced array's library, or of NumPy if there is none."""
    keywords, tracers = {} if dtype is None else {"dtype": dtype}, find_tracers(x)
    library = next((i.namespace for i in map(type_info, map(type, tracers)) if i.is_array), None)
    function = getattr(library or importlib.import_module("numpy"), name)
    return call_native(function, operands, keywords) if tracers else function(*operands, **keywords)
