"""Hint for a sparse array that met a traced one before SciPy was told what to do with it."""

from __future__ import annotations

from scipy.sparse._base import _spbase

from chainrules_py.extend import advise

advise(
    _spbase._matmul_dispatch,
    "a sparse array makes a plain array of what it is multiplied by: write "
    "'import chainrules_scipy.sparse' in the program, and A @ x takes what is traced",
)
