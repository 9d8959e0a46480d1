"""Hints for SciPy's functions of sparse arrays that make arguments plain: what to write instead."""

from __future__ import annotations

from scipy import sparse
from scipy.sparse import linalg

from chainrules_py.extend import advise, advisers
from chainrules_scipy.sparse.patterns import SPARSE
from chainrules_scipy.sparse.traced import CAN, TracedSparse

_SOLVERS = (
    "cg",
    "bicgstab",
    "gmres",
    "lgmres",
    "minres",
    "spilu",
    "splu",
    "factorized",
    "expm_multiply",
)

advise(
    linalg.spsolve,
    "scipy.sparse.linalg.spsolve makes plain arrays of its arguments: write spsolve(A, b) after "
    "'from chainrules_scipy.sparse import spsolve', or call chainrules_scipy.install() before",
)
for _cls in (sparse.csr_array, sparse.coo_array):
    advise(
        _cls.__init__,
        "a sparse array holds plain numbers: write with_data(A, data), for an A that has the "
        "pattern, after 'from chainrules_scipy.sparse import with_data', or call "
        "chainrules_scipy.install() before",
    )
for _name in _SOLVERS:
    advise(
        getattr(linalg, _name),
        f"scipy.sparse.linalg.{_name} makes plain arrays of its arguments: write "
        f"{_name}(...) after 'from chainrules_scipy.sparse import {_name}', which takes the same, "
        f"or call chainrules_scipy.install() before",
    )
for _cls in (SPARSE, sparse.csr_array, sparse.csc_array, sparse.coo_array):
    for _name in ("multiply", "__add__", "__sub__", "__truediv__", "__rtruediv__", "__pow__"):
        if hasattr(_cls, _name):
            advise(
                getattr(_cls, _name),
                "a sparse array holds plain numbers: write its product with a traced array as "
                "A @ x, or A.toarray()",
            )


def _advice(error: BaseException) -> str | None:
    """Where SciPy was given what stands for a sparse array, and took it for nothing it knows."""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if str(frame.f_globals.get("__name__", "")).startswith("scipy."):
            given = [x for x in frame.f_locals.values() if isinstance(x, TracedSparse)]
            name = frame.f_code.co_name
            return (
                f"{name} takes no sparse array that is being differentiated; {CAN}"
                if given
                else None
            )
        trace = trace.tb_next
    return None


advisers.append(_advice)
