"""Sparse arrays that are made of traced numbers, and of one another.

SciPy makes the array of the numbers' places: what comes out where says which number stands there.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse as native

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import describe
from chainrules_scipy.installing import place, place_constructor
from chainrules_scipy.rows import array_of, readable
from chainrules_scipy.sparse.layout import canonical
from chainrules_scipy.sparse.lines import TracedLine
from chainrules_scipy.sparse.products import element_pattern
from chainrules_scipy.sparse.traced import TracedSparse, laid_like


class _Numbers:
    """The numbers of a call, whose places stand for them."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.count = 0

    def places(self, data: Any) -> Any:
        """Keep numbers; return their places, from 1 on, in an array of their shape."""
        data = array_of(data)
        start, self.count = self.count, self.count + math.prod(data.shape)
        self.parts.append(v.reshape(data, shape=(-1,)))
        return np.arange(start + 1, self.count + 1).reshape(data.shape)

    def matrix(self, a: Any) -> Any:
        """Return a matrix of the places of the elements of a sparse or dense one."""
        if a is None:
            return None
        if isinstance(a, TracedSparse):
            a = canonical(a)
            places = a.pattern.rows_columns
            return native.coo_array((self.places(a.elements), places), shape=a.shape)
        if native.issparse(a):
            a = a.tocoo()
            a.sum_duplicates()
            return native.coo_array((self.places(a.data), (a.row, a.col)), shape=a.shape)
        return native.coo_array(self.places(a))

    def made(self, y: Any, cls: type) -> TracedSparse:
        """Return the array, of SciPy's one of places."""
        y = y.tocoo()
        data = v.take(v.concat(*self.parts, axis=0), y.data.astype(np.int64) - 1, axis=0)
        return TracedSparse(data, element_pattern(cls, y.row, y.col, y.shape))


def _class_of(*arrays: Any) -> type:
    """Return the class of what SciPy makes of arrays: a matrix if none is an array."""
    kinds = [a.pattern.cls if isinstance(a, TracedSparse) else type(a) for a in arrays]
    old = all(issubclass(k, native.spmatrix) for k in kinds)
    found: type = native.csr_matrix if old else native.csr_array
    return found


def _constructor(cls: Any, format: str) -> Callable[..., Any]:
    def function(
        given: Any, shape: Any = None, dtype: Any = None, copy: bool = False, **_: Any
    ) -> Any:
        numbers = _Numbers()
        if isinstance(given, TracedSparse):
            return TracedSparse(
                given.elements, element_pattern(cls, *given.pattern.rows_columns, given.shape)
            )
        if not isinstance(given, tuple):  # a dense matrix: any element may become another number
            return numbers.made(numbers.matrix(given), cls)
        data, *where = given
        if len(where) == 1 and format in ("csr", "csc", "coo"):
            rows, columns = (np.asarray(p) for p in where[0])
            shape = shape or (int(rows.max()) + 1, int(columns.max()) + 1)
            return TracedSparse(array_of(data), element_pattern(cls, rows, columns, shape))
        kind = {"dia": native.dia_array, "bsr": native.bsr_array, "csc": native.csc_array}
        made = kind.get(format, native.csr_array)((numbers.places(data), *where), shape=shape)
        return numbers.made(made, cls)

    @functools.wraps(function)
    def like_theirs(given: Any, *args: Any, **options: Any) -> Any:
        y = function(given, *args, **options)
        return laid_like(cls, y, given, *args[:2], **options | {"copy": True})

    like_theirs.__name__ = cls.__name__
    return like_theirs


for _format in ("csr", "csc", "coo", "dia", "bsr", "lil", "dok"):
    for _kind in ("array", "matrix"):
        _cls: Any = getattr(native, f"{_format}_{_kind}")
        place_constructor(_cls, _constructor(_cls, _format))


def _structural(name: str) -> Callable[..., Any]:
    """Make a function that only moves elements, of matrices or of lists of them."""
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(given: Any, *args: Any, **options: Any) -> Any:
        numbers, seen = _Numbers(), []

        def moved(x: Any) -> Any:
            if isinstance(x, (list, tuple)):
                return [moved(item) for item in x]
            seen.extend([] if x is None else [x])
            return numbers.matrix(x)

        asked = options | {}
        options.pop("format", None)
        y = numbers.made(theirs(moved(given), *args, **options), _class_of(*seen))
        return laid_like(theirs, y, given, *args, **asked)

    place(theirs, function)
    return function


hstack, vstack, block_diag, tril, triu = map(
    _structural, ("hstack", "vstack", "block_diag", "tril", "triu")
)
bmat = _structural("bmat")
block_array = _structural("block_array")


def _diagonals(name: str, cls: type) -> Callable[..., Any]:
    theirs = getattr(native, name)

    @functools.wraps(theirs)
    def function(diagonals: Any, *args: Any, **options: Any) -> Any:
        numbers = _Numbers()
        many = isinstance(diagonals, (list, tuple))
        places = [numbers.places(d) for d in diagonals] if many else numbers.places(diagonals)
        asked = options | {}
        options.pop("format", None)
        if theirs.__name__ != "spdiags":
            options["dtype"] = int
        y = numbers.made(theirs(places, *args, **options), cls)
        return laid_like(theirs, y, diagonals, *args, **asked)

    place(theirs, function)
    return function


diags = _diagonals("diags", native.dia_matrix)
diags_array = _diagonals("diags_array", native.dia_array)
spdiags = _diagonals("spdiags", native.dia_matrix)


def _ones(a: Any) -> Any:
    return native.coo_array((np.ones(len(a.data), int), (a.row, a.col)), shape=a.shape)


def kron(A: Any, B: Any, format: Any = None) -> TracedSparse:
    """Compute Kronecker's product: as ``scipy.sparse.kron``."""
    left, right = _Numbers(), _Numbers()
    a, b = left.matrix(A), right.matrix(B)
    one = left.made(native.kron(a, _ones(b), format="coo"), _class_of(A, B))
    other = right.made(native.kron(_ones(a), b, format="coo"), _class_of(A, B))
    y = TracedSparse(one.elements * other.elements, one.pattern)
    return laid_like(_kron, y, A, B, format)  # type: ignore[no-any-return]


def kronsum(A: Any, B: Any, format: Any = None) -> Any:
    """Compute Kronecker's sum: as ``scipy.sparse.kronsum``."""
    n, m = A.shape[0], B.shape[0]
    y = kron(native.eye_array(m), A) + kron(B, native.eye_array(n))
    return laid_like(_kronsum, y, A, B, format)


_kron, _kronsum = native.kron, native.kronsum


def find(A: Any) -> tuple[Any, Any, Any]:
    """Return rows, columns and numbers: as ``scipy.sparse.find``; stored zeros are left out."""
    if not (isinstance(A, TracedSparse) or _issparse(A)):
        msg = (
            f"find of {describe(A)}, which is dense, has no derivative here: write "
            "rows, columns = np.nonzero(A), and A[rows, columns]"
        )
        raise NotDifferentiableError(msg)
    a = canonical(A)
    rows, columns = a.pattern.rows_columns
    order = np.lexsort((columns, rows))
    some = order[np.flatnonzero(readable(a.elements)[order])]
    return rows[some], columns[some], v.take(a.elements, some, axis=0)


_issparse = native.issparse


def _tells(theirs: Callable[[Any], bool]) -> None:
    """Have SciPy's question whether something is sparse know what stands for it."""

    def function(x: Any) -> bool:
        is_old = isinstance(x, TracedSparse) and x.pattern.is_matrix
        return is_old or (theirs is _issparse and isinstance(x, (TracedSparse, TracedLine)))

    place(theirs, functools.wraps(theirs)(function), home="scipy.sparse")


for _theirs in (native.issparse, native.isspmatrix):
    _tells(_theirs)
place(native.kron, kron)
place(native.kronsum, kronsum)
place(native.find, find)
MAKING: Sequence[str] = (
    *("bmat", "block_array", "block_diag", "diags", "diags_array", "find", "hstack", "kron"),
    *("kronsum", "spdiags", "tril", "triu", "vstack"),
)
