"""How the elements of a traced sparse array lie, and for which of SciPy's classes it stands."""

from __future__ import annotations

from typing import Any, NoReturn, Self, TypeVar

import numpy as np
from scipy import sparse

from chainrules_py import NotDifferentiableError
from chainrules_py import vocabulary as v
from chainrules_py.extend import forgets
from chainrules_scipy.rows import readable
from chainrules_scipy.sparse.patterns import Pattern
from chainrules_scipy.sparse.products import element_pattern, refuse

_standing: dict[type, type[Any]] = {}
forgets(lambda: (_standing,))


class Stored:
    """A sparse array whose stored elements are traced; of a subclass for each of SciPy's classes.

    Attributes
    ----------
    elements : array
        The elements, in the order of an array of the pattern's class; a traced array with one axis.
    pattern : Pattern
        Where they stand: given in any order, and some at one place, which are added up.
    like : bool, callable or sparse array, optional
        True if they lie as in SciPy's array, or that of plain numbers, or what computes it.
    """

    __slots__ = ("elements", "like", "pattern")

    def __new__(cls, elements: Any, pattern: Pattern, like: Any = None) -> Self:
        """Make one of the class that stands for the pattern's."""
        return object.__new__(cls._standing_for(pattern.cls))

    def __init__(self, elements: Any, pattern: Pattern, like: Any = None) -> None:
        self.elements, self.pattern = ordered(elements, pattern)
        self.like = like

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return self.pattern.shape

    @property
    def dtype(self) -> Any:
        """That of the elements."""
        return self.elements.dtype

    @property
    def data(self) -> Any:
        """The elements, in the order in which SciPy's array has them."""
        return laid(self).elements

    @property
    def format(self) -> str:
        """The format in which SciPy's array is stored."""
        return str(self.places().format)

    @property
    def nnz(self) -> int:
        """The number of elements that SciPy's array stores."""
        return int(self.places().nnz)

    def places(self) -> Any:
        """Return an array with the places of SciPy's, whatever its numbers are."""
        if self.like is True:
            return self.pattern.array(np.ones(self.elements.shape[0]))
        return self.plain()

    def plain(self) -> Any:
        """Return SciPy's array, of plain numbers; it says how elements lie."""
        if self.like is True:
            return self.pattern.array(np.array(readable(self.elements))).copy()
        if callable(self.like):
            self.like = self.like()
        if self.like is None:
            self.refuse("how the elements are stored (data, nnz, format)")
        return self.like

    def __as_result__(self) -> Self:
        """Return it of the class, and laid out as, SciPy's array is: a function's result."""
        if self.like is None or self.like is True:
            return self
        try:
            return laid(self)
        except NotDifferentiableError:  # SciPy has left out what became 0, or has some twice
            y = self.plain()
            if y.format not in ("csr", "csc", "coo"):
                raise
            pattern = element_pattern(type(y), *self.pattern.rows_columns, self.shape)
            return self.with_pattern(self.elements, pattern)

    def with_pattern(self, elements: Any, pattern: Pattern, like: Any = None) -> Self:
        """Make another, maybe of another class."""
        base: Any = type(self).__base__
        made: Self = base(elements, pattern, like)
        return made

    @classmethod
    def _standing_for(cls, theirs: type) -> type[Self]:
        """Return the class of what stands for a class of sparse arrays, and has their tangents."""
        found = _standing.get(theirs)
        if found is None:
            names = {"__slots__": (), "__stands_for__": theirs, "__dispatch_type__": theirs}
            made = type(f"Traced[{theirs.__qualname__}]", (cls,), names)
            found = _standing.setdefault(theirs, made)
        return found

    ndim = 2

    def refuse(self, what: str) -> NoReturn:
        """Raise for what has no derivative here."""
        refuse(self.pattern.cls, what)


T = TypeVar("T", bound=Stored)


def laid(a: T) -> T:
    """Have the elements lie as in SciPy's array; those that stand at one place are added up.

    Raises
    ------
    NotDifferentiableError
        If SciPy stores them otherwise, or leaves out some that are 0.
    """
    if a.like is True:
        return a
    y = a.plain()
    if y.format not in ("csr", "csc", "coo"):
        a.refuse(f"data in the format {y.format} (write tocsr())")
    pattern, (rows, columns) = Pattern.of(y), a.pattern.rows_columns
    r, c = (np.asarray(x, dtype=np.int64) for x in pattern.rows_columns)
    if not (np.array_equal(rows, r) and np.array_equal(columns, c)):
        keys = np.asarray(rows, dtype=np.int64) * a.shape[1] + columns
        there, order = np.unique(r * a.shape[1] + c, return_index=True)
        if not (len(there) == len(r) and np.array_equal(np.unique(keys), there)):
            a.refuse("data of elements that SciPy leaves out, as zeros, or has several times,")
        data = _added(a.elements, order[np.searchsorted(there, keys)], len(r))
        return a.with_pattern(data, pattern, True)
    return a.with_pattern(a.elements, pattern, True)


def ordered(elements: Any, pattern: Pattern) -> tuple[Any, Pattern]:
    """Have elements in the order in which an array of the pattern's class has its ``data``.

    What is computed leaves them where they come from, some at one place; an array that is built
    of them sorts them, and adds those up. It is done at once: later it would be done by whoever
    looks, maybe in another differentiation.
    """
    if pattern.format != "coo" or issubclass(pattern.cls, (sparse.coo_array, sparse.coo_matrix)):
        return elements, pattern
    elements, pattern = once(elements, pattern)
    places = pattern.array(np.arange(1, elements.shape[0] + 1))
    if places.format not in ("csr", "csc"):
        return elements, pattern
    order = places.data - 1
    if not np.array_equal(order, np.arange(len(order))):
        elements = v.take(elements, order, axis=0)
    return elements, Pattern.of(places)


def once(elements: Any, pattern: Pattern) -> tuple[Any, Pattern]:
    """Add up the elements that stand at one place."""
    rows, columns = pattern.rows_columns
    keys, where = np.unique(
        np.asarray(rows, dtype=np.int64) * pattern.shape[1] + columns, return_inverse=True
    )
    if len(keys) == len(rows):
        return elements, pattern
    data, width = _added(elements, where, len(keys)), pattern.shape[1]
    return data, element_pattern(pattern.cls, keys // width, keys % width, pattern.shape)


def _added(elements: Any, where: Any, n: int) -> Any:
    """Add elements up at the places where they belong, of n."""
    index, places = v.Index.split((where,))
    zeros = v.full_like(elements, shape=(n,), fill=0)
    return v.scatter_add(zeros, elements, *places, index=index)


def canonical(a: T) -> T:
    """Add up the elements that stand at one place."""
    elements, pattern = once(a.elements, a.pattern)
    return a if pattern is a.pattern else a.with_pattern(elements, pattern)
