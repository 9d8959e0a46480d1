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
        The elements, some of which may stand at one place; a traced array with one axis.
    pattern : Pattern
        Where they stand.
    like : bool, callable or sparse array, optional
        True if they lie as in SciPy's array, or that of plain numbers, or what computes it.
    """

    __slots__ = ("elements", "like", "pattern")

    def __new__(cls, elements: Any, pattern: Pattern, like: Any = None) -> Self:
        """Make one of the class that stands for the pattern's."""
        return object.__new__(cls._standing_for(pattern.cls))

    def __init__(self, elements: Any, pattern: Pattern, like: Any = None) -> None:
        self.elements = elements
        self.pattern = pattern
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
        return str(self.plain().format)

    @property
    def nnz(self) -> int:
        """The number of elements that SciPy's array stores."""
        return int(self.plain().nnz)

    def plain(self) -> Any:
        """Return SciPy's array, of plain numbers; it says how elements lie."""
        if self.like is True:
            return self.pattern.array(np.array(readable(self.elements))).copy()
        if callable(self.like):
            self.like = self.like()
        if self.like is None:
            self.refuse("how the elements are stored (data, nnz, format)")
        return self.like

    def __given_out__(self) -> None:
        """Become of the class, and laid out as, SciPy's array is: a function's result."""
        if self.like is not None and self.like is not True:
            y = self.plain()
            try:
                laid(self)
            except NotDifferentiableError:  # SciPy has left out what became 0, or has some twice
                if y.format not in ("csr", "csc", "coo"):
                    raise
                self.pattern = element_pattern(type(y), *self.pattern.rows_columns, self.shape)
                self.__class__ = self._standing_for(type(y))
        ordered(self)

    @classmethod
    def _standing_for(cls, theirs: type) -> type[Self]:
        """Return the class of what stands for a class of sparse arrays, and has their tangents."""
        found = _standing.get(theirs)
        if found is None:
            base: Any = cls.__base__ if "__stands_for__" in vars(cls) else cls
            names = {"__slots__": (), "__stands_for__": theirs, "__made_for__": theirs}
            made = type(f"Traced[{theirs.__qualname__}]", (base,), names)
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
        index, places = v.Index.split((order[np.searchsorted(there, keys)],))
        zeros = v.full_like(a.elements, shape=r.shape, fill=0)
        a.elements = v.scatter_add(zeros, a.elements, *places, index=index)
    a.pattern, a.like = pattern, True
    a.__class__ = a._standing_for(pattern.cls)  # it is known only now of which class SciPy's is
    return a


def ordered(a: T) -> T:
    """Have the elements in the order in which an array of the pattern's class has its ``data``.

    What is computed leaves them where they come from, some at one place; an array that is built
    of them sorts them, and adds those up.
    """
    pattern = a.pattern
    if pattern.format != "coo" or issubclass(pattern.cls, (sparse.coo_array, sparse.coo_matrix)):
        return a
    one = canonical(a)
    places = one.pattern.array(np.arange(1, one.elements.shape[0] + 1))
    if places.format in ("csr", "csc"):
        a.elements = v.take(one.elements, places.data - 1, axis=0)
        a.pattern = Pattern.of(places)
    return a


def canonical(a: T) -> T:
    """Add up the elements that stand at one place."""
    rows, columns = a.pattern.rows_columns
    keys, where = np.unique(rows * a.shape[1] + columns, return_inverse=True)
    if len(keys) == len(rows):
        return a
    index, places = v.Index.split((where,))
    zeros = v.full_like(a.elements, shape=keys.shape, fill=0)
    data = v.scatter_add(zeros, a.elements, *places, index=index)
    return type(a)(
        data, element_pattern(a.pattern.cls, keys // a.shape[1], keys % a.shape[1], a.shape)
    )
