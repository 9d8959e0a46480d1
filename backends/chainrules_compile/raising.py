"""Raising: which calls raise for some numbers and not for others.

What a function raises is said of its arguments, and not of what it gives: a program raises there
too, whoever needs the value. Of other libraries' functions, and of people's, the form is asked, so
that they are called in any case. These are NumPy's, and ours; a sweep over all of them, at numbers
that they do not take, finds those that are missing (`tests/engines/compile/test_raising.py`).
"""

from __future__ import annotations

import operator
import sys
from typing import Any, final

import numpy as np

from chainrules_compile.loops import Loop
from chainrules_py.extend import is_library
from chainrules_py.program import Call, Value

TOTAL = frozenset(
    (
        operator.add,
        operator.sub,
        operator.mul,
        operator.neg,
        np.add,
        np.multiply,
        np.subtract,
        np.negative,
        np.divide,
    )
)
"""The most frequent of those that raise for no number, whose results have a form of their own."""
_OF_MATRICES = frozenset(
    (
        *("adjugate", "cholesky", "cholesky_cotangent", "cholesky_tangent", "cond", "eig"),
        *("eigh", "eigvals", "eigvalsh"),
        *("factored", "inv", "inv_again", "lstsq", "matrix_power", "matrix_rank"),
        *("pinv", "poly", "polyfit", "roots", "solve", "solve_again", "solve_sylvester"),
        *("solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "unitary_factor"),
    )
)
"""Names of what raises for a matrix that is singular, has no factor, or is not finite."""
_OF_DATA = frozenset(
    (
        *("average", "cov", "digitize", "geomspace", "nanargmax", "nanargmin", "nanpercentile"),
        *("nanquantile", "percentile", "quantile", "weighted_quantile"),
    )
)
"""Names of what raises for shares outside of their range, weights below zero, and the like."""
_OF_PLACES = frozenset(
    (
        *("add_at", "choose", "getitem", "order_statistics", "put_along_axis_add", "put_at"),
        *("read", "scatter_add", "take", "take_along_axis"),
    )
)
"""Names of what raises for a place that an array does not have."""
_PARTIAL = frozenset((operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod))
"""Operators that raise for some of Python's numbers."""
_PRODUCTS = frozenset((operator.mul, np.multiply))
_NORMS = frozenset(("matrix_norm", "norm"))
_SPECTRAL = (2, -2, "nuc")
"""Orders of norms that are computed by singular values."""
_POWERS = frozenset(("pow", "power"))


def raises(call: Call) -> bool:
    """Tell whether a call that gave something raises for other numbers of the same forms."""
    name, y = _name(call), call.results[0]
    if type(call.function) is Loop:
        return any([each.results and raises(each) for each in call.function.body.calls])
    if name in _OF_MATRICES or name in _OF_DATA:
        return True
    if name in _OF_PLACES:
        return bool(_places(call))
    if name in _NORMS:
        return any([type(x) in (int, str) and x in _SPECTRAL for x in _orders(call)])
    if name in _POWERS and getattr(y.dtype, "kind", "") == "i":
        return True
    return call.function in _PARTIAL and y.type in (float, complex) and not _is_total(call)


def _is_total(call: Call) -> bool:
    """Tell whether a call is a power of Python's numbers that never raises: the first, or none."""
    n = call.operands[1]
    return call.function is operator.pow and type(n) in (int, float) and n in (0, 1)


def is_square(call: Call) -> bool:
    """Tell whether a call is the square of a number of Python's.

    Its derivative has a value where it is too large. So it is left out where that is computed and
    nobody needs the square, as NumPy's are, but for functions that may handle the error.
    """
    if call.function is not operator.pow or call.results[0].type is not float:
        return False
    return _is_two(call.operands[1])


def _is_two(x: Any) -> bool:
    return type(x) in (int, float) and bool(x == 2)


def in_try() -> bool:
    """Tell whether a function of people's that is under way may handle an error."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_exceptiontable:
            name = frame.f_globals.get("__name__", "")
            if name == "chainrules_compile.compiled":  # which has one, around the recording
                return False
            if not is_library(name):
                return True
        frame = frame.f_back
    return False


def _orders(call: Call) -> list[Any]:
    """Return what a norm may be told as its order."""
    return [*call.operands[1:2], call.options.get("ord")]


def _name(call: Call) -> str:
    function = call.function
    while hasattr(function, "function"):  # which is called otherwise
        function = function.function
    return getattr(function, "__name__", "")


def _places(call: Call) -> list[Value]:
    """Return the values by which a call says where in its first operand it reads or writes."""
    return [x for x in call.values[1:] if x.type is int or getattr(x.dtype, "kind", "") in "iu"]


@final
class Asked:
    """Places that calls which are kept ask arrays for, and numbers that they double.

    They are looked for where somebody asks first.

    Parameters
    ----------
    kept : list of Call
        The calls, which may grow.
    """

    def __init__(self, kept: list[Call]) -> None:
        self._kept = kept
        self._seen, self._found, self._doubled = 0, set[Any](), set[Any]()

    def __contains__(self, call: Call) -> bool:
        """Tell whether others raise where a call does: where a cotangent is put, for one.

        Or whether the call is a square, and they compute its derivative.
        """
        square = is_square(call)
        if not square and _name(call) not in _OF_PLACES:
            return False
        for other in self._kept[self._seen :]:
            for array in (*other.values[:1], *other.results):
                self._found |= self._of(other, array)
            if other.function in _PRODUCTS and any([_is_two(x) for x in other.operands]):
                self._doubled.update(other.values)
        self._seen = len(self._kept)
        if square:
            return call.operands[0] in self._doubled
        return self._of(call, call.values[0]) <= self._found

    @staticmethod
    def _of(call: Call, array: Value) -> set[Any]:
        """Return what a call asks of an array: by its shape, which places it has."""
        where = str(call.options.get("index")), call.options.get("axis")
        return {(array.shape, place, where) for place in _places(call)}
