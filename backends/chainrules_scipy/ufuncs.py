"""The rows of the ufuncs of ``scipy.special``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import scipy.special

from chainrules_py import UnsupportedKeywordError, alias
from chainrules_py import vocabulary as v
from chainrules_py.alias import UFUNC_KEYWORDS
from chainrules_scipy.implementations import FUNCTIONS

__all__: list[str] = []

_name: str
_word: Any


def _row(
    ufunc: Any, word: Callable[..., Any], operands: tuple[str, ...], rename: Any = None
) -> None:
    alias(
        ufunc,
        to=word,
        parameters=dict.fromkeys(operands) | UFUNC_KEYWORDS,
        positional=operands,
        rename=rename,
        refuse=tuple(UFUNC_KEYWORDS),
    )


for _word in FUNCTIONS:
    _row(getattr(scipy.special, _word.__name__), _word, _word.operands)

# Under another name; ``psi`` and ``jn`` are the same objects as ``digamma`` and ``jv``.
for _name, _word in (
    ("cbrt", v.cbrt),
    ("exp2", v.exp2),
    ("expm1", v.expm1),
    ("kn", v.kv),
    ("log1p", v.log1p),
    ("round", v.round),
    ("yn", v.yv),
):
    _row(getattr(scipy.special, _name), _word, _word.operands)

# What ``scipy.special.zeta`` and ``lambertw`` call, where tracers get to.
_ufuncs: Any = importlib.import_module("scipy.special._ufuncs")


def _branch(x: Any, k: Any, tol: Any) -> Any:
    """The word has no tolerance."""
    if tol != 1e-8:
        msg = "lambertw(tol=...) has no derivative here; leave tol out"
        raise UnsupportedKeywordError(msg)
    return v.lambertw(x, k)


if hasattr(_ufuncs, "_zeta"):
    _row(_ufuncs._zeta, v.zeta, ("x", "q"))
if hasattr(_ufuncs, "_lambertw"):
    _row(_ufuncs._lambertw, _branch, ("x", "k", "tol"))
