"""Aliases of ``cupyx.scipy.special``, which is imported at the first use."""

from __future__ import annotations

import importlib
from typing import Any

import cupy

from chainrules_cupy.namespace import SPECIAL
from chainrules_py import ops as v
from chainrules_py.extend import alias

special: Any = importlib.import_module("cupyx.scipy.special")
_KEYWORDS = {"out": None, "dtype": None, "casting": "same_kind"}

for _name in (*sorted(SPECIAL), "cbrt", "exp2", "expm1", "log1p"):
    _function: Any = getattr(special, _name)
    _operation: Any = getattr(v, _name)
    if isinstance(_function, cupy.ufunc):
        _taken = dict.fromkeys(_operation.operands) | _KEYWORDS
        alias(_function, to=_operation, parameters=_taken, refuse=tuple(_KEYWORDS))

alias(special.polygamma, to=v.polygamma)
alias(special.softmax, to=v.softmax)
alias(special.log_softmax, to=v.log_softmax)
alias(special.logsumexp, to=v.logsumexp, rename={"a": "x"}, refuse=("b", "return_sign"))
