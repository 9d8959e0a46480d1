"""Sparse arrays that are made of traced numbers, and of one another, by SciPy's functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse as native

from chainrules_py import register_structure
from chainrules_py import vocabulary as v
from chainrules_py.extend import describe, refuse_type
from chainrules_scipy.installing import place, place_constructor
from chainrules_scipy.rows import array_of, described, readable, reject
from chainrules_scipy.sparse.patterns import SPARSE, STORED, Pattern
from chainrules_scipy.sparse.traced import (
    TracedSparse,
    moved,
    once,
    ones_of,
    onto,
    pattern_of,
    traced_of,
)

_issparse = native.issparse


def with_data(x: Any, data: Any) -> Any:
    """Build a sparse array with the pattern of another and new elements, which may be traced.

    Parameters
    ----------
    x : sparse array or matrix
        In the format csr, csc or coo.
    data : array, shape (x.nnz,)
        The elements, in the order of ``x.data``.

    Returns
    -------
    sparse array or matrix
        One of SciPy's if data is an array of NumPy's, else what stands for one.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> print(with_data(sparse.csr_array([[0.0, 2.0]]), np.array([3.0])).toarray())
    [[0. 3.]]
    """
    if data.shape != x.data.shape:
        reject(
            f"a sparse array with {x.data.shape[0]} elements, and data of shape {data.shape}",
            ValueError,
        )
    return _made(x.pattern if isinstance(x, TracedSparse) else Pattern.of(x), data)


def _made(pattern: Pattern, data: Any, drops: bool = False) -> Any:
    """Build the sparse array with these elements, or its stand-in if they are no plain array."""
    return pattern.array(data) if type(data) is np.ndarray else TracedSparse(data, pattern, drops)


def _fields(x: Any) -> list[tuple[str, Any]]:
    Pattern.of(x)  # raises for what is stored in another way
    return [("data", x.data)]


register_structure(SPARSE, _fields, lambda x, values: _made(Pattern.of(x), values[0]))
register_structure(
    TracedSparse,
    lambda x: [("data", x.elements)],
    lambda x, values: _made(x.pattern, values[0], x.drops),
)
refuse_type(
    f"{SPARSE.__module__}.{SPARSE.__qualname__}",
    "write Tangent[type(x)](data=...), with one number for each stored element of x",
)


# -------------------------------------------------------------------------- SciPy's constructors


def _constructor(cls: Any, format: str) -> Callable[..., Any]:
    def function(given: Any, *args: Any, **options: Any) -> Any:
        options.pop("dtype", None)
        data, *where = given if isinstance(given, tuple) else (given,)
        if len(where) != 1 or format not in STORED:  # an array, or parts
            made = lambda x: cls((x, *where) if where else x, *args, **options)
            return moved(made, data)
        rows, columns = map(np.asarray, where[0])
        y = cls((np.ones(len(rows)), (rows, columns)), *args, **options)
        if format == "coo":
            return TracedSparse(array_of(data), pattern_of(y))
        return onto(y, rows, columns, array_of(data), drops=False)

    function.__name__ = cls.__name__
    return function


for _format in (*STORED, "dia", "bsr", "lil", "dok"):
    for _kind in ("array", "matrix"):
        _cls: Any = getattr(native, f"{_format}_{_kind}")
        place_constructor(_cls, _constructor(_cls, _format))


def _structural(name: str) -> Any:
    """Make a function that only moves elements, of arrays or of lists of them."""
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(given: Any, *args: Any, **options: Any) -> Any:
        if name in ("diags_array", "diags"):
            options["dtype"] = int
        return moved(lambda x: theirs(x, *args, **options), given)

    place(theirs, function)
    return function


MAKING: dict[str, Any] = {
    name: _structural(name)
    for name in (
        *("bmat", "block_array", "block_diag", "diags", "diags_array", "hstack", "spdiags"),
        *("tril", "triu", "vstack"),
    )
}


def kron(A: Any, B: Any, format: Any = None) -> TracedSparse:
    """Compute Kronecker's product."""
    a, b = (once(traced_of(x)) if _is_sparse(x) else moved(native.coo_array, x) for x in (A, B))
    left = moved(lambda x: _kron(x, ones_of(b), format), a)
    right = moved(lambda x: _kron(ones_of(a), x, format), b)
    return TracedSparse(left.elements * right.elements, left.pattern, drops=True)


def kronsum(A: Any, B: Any, format: Any = None) -> Any:
    """Compute Kronecker's sum."""
    n, m = A.shape[0], B.shape[0]
    y = kron(native.eye_array(m), A, "coo") + kron(B, native.eye_array(n), "coo")
    return y.asformat(format)


_kron = native.kron


def find(A: Any) -> tuple[Any, Any, Any]:
    """Return rows, columns and numbers; stored zeros are left out."""
    if not _is_sparse(A):
        reject(
            f"find of {describe(A)}, which is dense, has no derivative here: write "
            "rows, columns = np.nonzero(A), and A[rows, columns]"
        )
    a = once(traced_of(A))
    rows, columns = a.pattern.rows_columns
    order = np.lexsort((columns, rows))
    some = order[np.flatnonzero(readable(a.elements)[order])]
    return rows[some], columns[some], v.take(a.elements, some, axis=0)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, TracedSparse) or _issparse(x)


def _is_matrix(x: Any) -> bool:
    return isinstance(x, TracedSparse) and x.pattern.is_matrix


for _function in (kron, kronsum, find):
    _theirs: Any = getattr(native, _function.__name__)
    place(_theirs, described(_function, _theirs))
    MAKING[_function.__name__] = _function
place(native.issparse, functools.wraps(native.issparse)(_is_sparse), home="scipy.sparse")
place(native.isspmatrix, functools.wraps(native.isspmatrix)(_is_matrix), home="scipy.sparse")
