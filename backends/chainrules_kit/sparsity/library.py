"""SciPy, which is an optional extra: it is imported when a pattern is built."""

from __future__ import annotations

from typing import Any


def csr_array(*given: Any) -> Any:
    """Build a csr array of SciPy."""
    try:
        from scipy import sparse
    except ImportError as error:
        msg = f"sparsity= needs SciPy ({error}): pip install 'chainrules-py[scipy]'"
        raise ImportError(msg) from error
    return sparse.csr_array(*given)
