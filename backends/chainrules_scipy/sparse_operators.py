"""Operators of SciPy's sparse arrays, which let what is traced on their other side answer.

SciPy makes a plain array of whatever a sparse array meets, so its operators must know traced
values before a function uses them: this module is imported at the first differentiation after
``scipy.sparse``. The operations are in `chainrules_scipy.sparse`, which is imported when needed.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from chainrules_py.extend import Tracer, joined, objects
from chainrules_scipy._private import common_base
from chainrules_scipy.composites_and_operand_conversions import reject

SPARSE: Any = common_base(sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.dok_matrix)
"""The class of all sparse arrays and matrices."""
NUMBERS = (
    "a sparse array holds plain numbers: write with_data(A, data), for an A that has the "
    "pattern, after 'from chainrules_scipy.sparse import with_data'"
)


class TracedElements:
    """Base of the class of sparse arrays with traced elements."""

    __slots__ = ()


def _let_tracers_answer(native: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an operator of sparse arrays; our operations compute it for what is traced.

    ``x @ A`` arrives at ``_matmul_dispatch`` as well, with both transposed.
    """
    name = _ANSWERED[native.__name__]

    @functools.wraps(native)
    def method(self: Any, other: Any) -> Any:
        given = np.asarray(other) if type(other) in (list, tuple) else other
        given = joined(given) if objects else given
        if isinstance(given, (TracedElements, Tracer)):
            ours = importlib.import_module("chainrules_scipy.sparse.traced_sparse")
            return getattr(ours.traced_of(self), name)(given)
        if self.dtype == object and any([isinstance(x, Tracer) for x in self.data]):
            reject(NUMBERS)
        return native(self, other)

    return method


_ANSWERED = {"_matmul_dispatch": "__matmul__"} | {
    name: name
    for name in (
        *("multiply", "__mul__", "__rmul__", "__truediv__"),
        *("__add__", "__radd__", "__sub__", "__rsub__"),
    )
}
for _cls in {
    d
    for c in (SPARSE, *SPARSE.__subclasses__(), sparse.spmatrix)  # the last has the matrices' `*`
    for d in (c, *c.__subclasses__())
}:
    for _name in vars(_cls).keys() & _ANSWERED:
        setattr(_cls, _name, _let_tracers_answer(getattr(_cls, _name)))
