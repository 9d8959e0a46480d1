"""SciPy's operators, passed by what is traced: they would make plain arrays of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py.extend import Tracer
from chainrules_scipy.sparse.patterns import SPARSE
from chainrules_scipy.sparse.traced import (
    TracedSparse,
    of_one,
    product,
    sparse_by_sparse,
    traced_of,
)


def _let_tracers_answer(dispatch: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Wrap the product of a sparse array with anything; with traced operands our words compute it.

    ``x @ A`` comes here as well, with both transposed.
    """

    @functools.wraps(dispatch)
    def _matmul_dispatch(self: Any, other: Any) -> Any:
        if isinstance(other, TracedSparse):
            return sparse_by_sparse(self, other)
        if isinstance(other, Tracer):
            a = traced_of(self)
            return of_one(type(self), product(a.elements, other, a.pattern))
        return dispatch(self, other)

    return _matmul_dispatch


_all_classes = {SPARSE, *SPARSE.__subclasses__()}
_all_classes |= {c for b in _all_classes for c in b.__subclasses__()}
for _cls in _all_classes:
    if "_matmul_dispatch" in vars(_cls):
        _cls._matmul_dispatch = _let_tracers_answer(_cls._matmul_dispatch)


def _multiplied(native: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the product element by element."""

    @functools.wraps(native)
    def multiply(self: Any, other: Any) -> Any:
        if isinstance(other, (TracedSparse, Tracer)):
            return traced_of(self).multiply(other)
        return native(self, other)

    return multiply


for _cls in _all_classes:
    if "multiply" in vars(_cls):
        _cls.multiply = _multiplied(_cls.multiply)
