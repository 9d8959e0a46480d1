"""SciPy's operators, passed by what is traced, and hints for functions that make it plain."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from scipy import sparse
from scipy.sparse import linalg

from chainrules_py.extend import Tracer, advise
from chainrules_scipy.rows import reject
from chainrules_scipy.sparse.patterns import SPARSE
from chainrules_scipy.sparse.traced import (
    TracedSparse,
    of_one,
    product,
    sparse_by_sparse,
    traced_of,
)

_NUMBERS = (
    "a sparse array holds plain numbers: write with_data(A, data), for an A that has the "
    "pattern, after 'from chainrules_scipy.sparse import with_data', or call "
    "chainrules_scipy.install() before"
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
        if self.dtype == object and any([isinstance(x, Tracer) for x in self.data]):
            reject(_NUMBERS)
        return dispatch(self, other)

    return _matmul_dispatch


_all_classes = {SPARSE, *SPARSE.__subclasses__()}
_all_classes |= {c for b in _all_classes for c in b.__subclasses__()}


def _multiplied(native: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the product element by element."""

    @functools.wraps(native)
    def multiply(self: Any, other: Any) -> Any:
        if isinstance(other, (TracedSparse, Tracer)):
            return traced_of(self).multiply(other)
        return native(self, other)

    return multiply


for _cls in _all_classes:
    for _name, _wrapped in (("_matmul_dispatch", _let_tracers_answer), ("multiply", _multiplied)):
        if _name in vars(_cls):
            setattr(_cls, _name, _wrapped(getattr(_cls, _name)))
for _cls in (sparse.csr_array, sparse.coo_array):
    advise(_cls.__init__, _NUMBERS)
for _name in (
    *("cg", "bicgstab", "gmres", "lgmres", "minres", "splu", "spsolve", "factorized"),
    "expm_multiply",
):
    advise(
        getattr(linalg, _name),
        f"use {_name}, which takes the same, by 'from chainrules_scipy.sparse import {_name}'",
    )
for _cls in (SPARSE, sparse.csr_array, sparse.csc_array, sparse.coo_array):
    for _name in ("multiply", "__add__", "__sub__", "__truediv__", "__rtruediv__", "__pow__"):
        if hasattr(_cls, _name):
            advise(
                getattr(_cls, _name),
                "a sparse array holds plain numbers: write its product with a traced array as "
                "A @ x, or A.toarray()",
            )
