"""Systems of linear equations with sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from chainrules_py import vocabulary as v
from chainrules_scipy.rows import array_of
from chainrules_scipy.sparse.patterns import Pattern
from chainrules_scipy.sparse.traced import TracedSparse
from chainrules_scipy.sparse.words import sparse_solve


def spsolve(A: Any, b: Any) -> Any:
    """Solve A x = b, by a sparse LU factorization that derivatives share.

    Parameters
    ----------
    A : sparse array or matrix, or array, of shape (n, n)
        In csr, csc or coo format; it may be traced. An array is solved as a dense one.
    b : array of shape (n,) or (n, k)
        The right sides; a dense array, which may be traced.

    Returns
    -------
    array of shape (n,) or (n, k)
        As `scipy.sparse.linalg.spsolve` has it: of shape (n,) for a b of shape (n, 1).

    Raises
    ------
    RuntimeError
        If A is exactly singular.

    Notes
    -----
    M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
    algorithmic differentiation" (2008), section 2.3.1, on the pattern of A.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from chainrules_tape import grad
    >>> A = csr_array([[2.0, 0.0], [1.0, 4.0]])
    >>> grad(lambda A: spsolve(A, np.array([2.0, 9.0]))[1])(A).data
    array([ 0.125, -0.25 , -0.5  ])
    """
    if isinstance(b, (list, tuple)):
        b = np.asarray(b)
    if isinstance(A, TracedSparse):
        data, pattern = A.elements, A.pattern
    elif issparse(A):
        data, pattern = A.data, Pattern.of(A)
    else:
        return v.solve(array_of(A), _right_side(array_of(b)))
    if pattern.shape[0] != pattern.shape[1] or b.shape[0] != pattern.shape[0]:
        msg = f"spsolve of arrays of shapes {pattern.shape} and {b.shape}"
        raise ValueError(msg)
    return sparse_solve(array_of(data), _right_side(array_of(b)), pattern=pattern)


def _right_side(b: Any) -> Any:
    """Return a right side as SciPy's functions take it: one column is a vector."""
    return v.reshape(b, shape=(b.shape[0],)) if b.ndim == 2 and b.shape[1] == 1 else b
