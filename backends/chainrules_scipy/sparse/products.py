"""Products of sparse arrays of traced elements with dense ones, and what cannot be computed."""

from __future__ import annotations

import functools
from typing import Any, NoReturn

import numpy as np

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import type_info
from chainrules_scipy.sparse.patterns import Pattern
from chainrules_scipy.sparse.words import sparse_product

CAN = (
    "it has @ and dot with arrays, + and -, multiply, power, abs and sin with its kin, products "
    "with numbers, T, sum(), diagonal(), max(), reshape(), toarray(), parts and data; "
    "scipy.sparse.linalg.spsolve is chainrules_scipy.sparse.spsolve"
)
"""What stands for a sparse array can do."""


def refuse(cls: type, what: str) -> NoReturn:
    """Refuse what is not differentiated of a sparse array of a class.

    Raises
    ------
    NotDifferentiableError
        With what is.
    """
    msg = f"{what} of a {cls.__name__} that is being differentiated has no derivative here; {CAN}"
    raise NotDifferentiableError(msg)


def element_pattern(cls: type, rows: Any, columns: Any, shape: Any) -> Pattern:
    """Return the pattern of elements at these places, in this order."""
    places = (np.asarray(rows), np.asarray(columns))
    return Pattern(cls, "coo", places, tuple(map(int, shape)))


@functools.cache
def _shape_of_one(cls: Any, after: bool) -> tuple[int, ...]:
    """Return the shape of SciPy's product with a vector, which has one element."""
    row = cls(np.ones((1, 2)) if after else np.ones((2, 1)))
    return np.shape(row @ np.ones(2) if after else np.ones(2) @ row)


def of_one(cls: Any, y: Any, after: bool = True) -> Any:
    """Return a product with a vector, of one element in the shape that it has of SciPy's class."""
    return v.reshape(y, shape=_shape_of_one(cls, after)) if y.shape == (1,) else y


def product(data: Any, x: Any, pattern: Pattern) -> Any:
    """Compute A x, for a dense x."""
    if not type_info(type(x)).is_array:
        if isinstance(x, (list, tuple)):
            x = np.asarray(x)
        else:
            refuse(pattern.cls, f"the product with a {type(x).__name__}")
    if x.ndim not in (1, 2) or x.shape[0] != pattern.shape[1]:
        msg = f"matmul: a sparse array of shape {pattern.shape} and an array of shape {x.shape}"
        raise ValueError(msg)
    return sparse_product(data, x, pattern=pattern)


def reversed_product(x: Any, data: Any, pattern: Pattern) -> Any:
    """Compute X A, as the transposed of Aᵀ Xᵀ."""
    flipped = v.permute_dims(x) if type_info(type(x)).is_array and x.ndim == 2 else x
    y = product(data, flipped, pattern.T)
    return v.permute_dims(y) if y.ndim == 2 else y
