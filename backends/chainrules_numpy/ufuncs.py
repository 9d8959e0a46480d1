"""The rows of NumPy's ufuncs."""

from __future__ import annotations

import numpy as np

from chainrules_py import alias
from chainrules_py import vocabulary as v

__all__: list[str] = []

REFUSED = {"out": None, "where": True, "casting": "same_kind", "order": "K", "dtype": None, "subok": True, "signature": None}

for _ufunc, _word in (
    (np.sin, v.sin),
    (np.cos, v.cos),
    (np.exp, v.exp),
    (np.add, v.add),
    (np.subtract, v.subtract),
    (np.multiply, v.multiply),
    (np.divide, v.divide),
    (np.negative, v.negative),
    (np.conjugate, v.conj),
):
    alias(
        _ufunc,
        to=_word,
        parameters={name: None for name in _word.operands} | REFUSED,
        positional=_word.operands,
        refuse=tuple(REFUSED),
    )

alias(
    np.sum,
    to=v.sum,
    rename={"a": "x"},
    refuse=("dtype", "out", "initial", "where"),
)
