"""Sparse arrays as structures of one field, their elements, and with new ones on their pattern."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import register_structure
from chainrules_py.extend import refuse_type
from chainrules_scipy.sparse.layout import laid
from chainrules_scipy.sparse.patterns import SPARSE, Pattern
from chainrules_scipy.sparse.traced import TracedSparse


def _made(pattern: Pattern, data: Any) -> Any:
    """Build the sparse array with these elements, or its stand-in if they are no plain array."""
    return pattern.array(data) if type(data) is np.ndarray else TracedSparse(data, pattern, True)


def with_data(x: Any, data: Any) -> Any:
    """Build a sparse array with the pattern of another and new elements, which may be traced.

    Parameters
    ----------
    x : sparse array or matrix
        In csr, csc or coo format.
    data : array of shape (x.nnz,)
        The elements, in the order of ``x.data``.

    Returns
    -------
    sparse array or matrix
        Of the class of x; of a traced ``data``, what stands for one.

    Raises
    ------
    ValueError
        If there are more elements, or fewer.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from chainrules_tape import grad
    >>> laplace = csr_array([[2.0, -1.0], [-1.0, 2.0]])
    >>> u = np.array([1.0, 3.0])
    >>> grad(lambda c: u @ (with_data(laplace, c * laplace.data) @ u))(1.0)
    np.float64(14.0)
    """
    pattern = laid(x).pattern if isinstance(x, TracedSparse) else Pattern.of(x)
    if data.shape != x.data.shape:
        msg = f"a sparse array with {x.data.shape[0]} elements, and data of shape {data.shape}"
        raise ValueError(msg)
    return _made(pattern, data)


def _fields(x: Any) -> list[tuple[str, Any]]:
    Pattern.of(x)  # raises for what is stored in another way
    return [("data", x.data)]


def _rebuilt(x: TracedSparse, elements: Any) -> Any:
    if type(elements) is np.ndarray:
        return x.pattern.array(elements)
    return TracedSparse(elements, x.pattern, x.like)


register_structure(SPARSE, _fields, lambda x, values: _made(Pattern.of(x), *values))
register_structure(
    TracedSparse, lambda x: [("data", x.elements)], lambda x, values: _rebuilt(x, *values)
)
refuse_type(
    f"{SPARSE.__module__}.{SPARSE.__qualname__}",
    "write Tangent[type(x)](data=...), with one number for each stored element of x",
)
