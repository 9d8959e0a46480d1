"""Arrays made of lists that contain traced values."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from chainrules_py.extend import find_tracers
from chainrules_tape import asarray as _asarray


def array(object: Any, *args: Any, **options: Any) -> Any:
    """Make an array of numbers, arrays, or lists of these, some of which may be traced.

    Examples
    --------
    >>> from chainrules_autograd import grad
    >>> print(grad(lambda x: array([x, 2.0 * x]).sum())(1.0))
    3.0
    """
    if not find_tracers(object) or np.dtype("O") in (*args, options.get("dtype")):
        return np.array(object, *args, **options)
    made = _asarray(object, *args, **{k: v for k, v in options.items() if k not in _KEPT})
    return made[(None,) * max(options.get("ndmin", 0) - np.ndim(made), 0)] if options else made


def asarray(object: Any, *args: Any, **options: Any) -> Any:
    """Make an array as `array` does, without copying an existing one."""
    if not find_tracers(object):
        return np.asarray(object, *args, **options)
    return _asarray(object, *args, **options)


_KEPT = {"copy", "order", "subok", "ndmin"}


def listed(function: Any) -> Any:
    """Wrap a NumPy function so that it accepts lists with traced values."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        arrays = [array(x) if isinstance(x, (list, tuple)) and find_tracers(x) else x for x in args]
        return function(*arrays, **options)

    return call
