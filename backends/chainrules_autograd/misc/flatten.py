"""Conversion of containers of arrays to one vector, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_autograd.core import make_vjp
from chainrules_autograd.tree_map import leaves

Function = Callable[..., Any]


def _flatten(value: Any) -> Any:
    parts = [np.ravel(x) for x in leaves(value)]
    return np.concatenate(parts) if parts else np.zeros(0)


def flatten(value: Any) -> tuple[Any, Function]:
    """Return a vector of all numbers in a container, and the function that restores the container.

    Examples
    --------
    >>> vector, unflatten = flatten({"b": np.array([3.0]), "a": [np.array([1.0, 2.0])]})
    >>> vector
    array([1., 2., 3.])
    >>> unflatten(vector)
    {'b': array([3.]), 'a': [array([1., 2.])]}
    """
    unflatten, vector = make_vjp(_flatten, value)
    return vector, unflatten


def flatten_func(func: Function, example: Any) -> tuple[Function, Function, Any]:
    """Convert a function of a container to one of a vector; return it, the inverse and a vector."""
    vector, unflatten = flatten(example)

    def flat(x: Any, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return flat, unflatten, vector
