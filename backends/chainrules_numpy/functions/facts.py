"""The rows of what is read off values, and is no number."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import alias, non_differentiable, primitive

__all__: list[str] = []

_f: Any
_word: Any

for _f in (
    np.shape,
    np.ndim,
    np.size,
    np.nonzero,
    np.flatnonzero,
    np.argwhere,
    np.array_equal,
    np.iscomplexobj,
    np.isrealobj,
    np.searchsorted,
):
    _word = primitive(_f)
    non_differentiable(_word)
    alias(_f, to=_word)
