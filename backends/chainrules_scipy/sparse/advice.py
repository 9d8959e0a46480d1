"""Hint for a sparse array that meets a traced one before ``chainrules_scipy.sparse`` is loaded."""

from __future__ import annotations

from chainrules_py.extend import advise
from chainrules_scipy.sparse.patterns_and_products import SPARSE

_dispatch = getattr(SPARSE, "_matmul_dispatch", None)
if _dispatch is not None:
    advise(
        _dispatch,
        "a sparse array makes a plain array of what it is multiplied by: write "
        "'import chainrules_scipy.sparse' in the program, and A @ x takes what is traced",
    )
