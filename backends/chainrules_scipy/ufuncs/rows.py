"""The rows of the ufuncs of ``scipy.special``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import alias, kind_of
from chainrules_scipy._private import private
from chainrules_scipy.implementations import FUNCTIONS
from chainrules_scipy.rows import reject
from chainrules_scipy.ufuncs.asked import asking
from chainrules_scipy.ufuncs.declared import cut, row
from chainrules_scipy.ufuncs.functions import zetac

_name: str
_word: Any
_ufunc: Any


for _word in FUNCTIONS:
    row(getattr(scipy.special, _word.__name__), _word, _word.operands)

# Under another name; ``psi`` and ``jn`` are the same objects as ``digamma`` and ``jv``.
for _name, _word in (
    ("cbrt", v.cbrt),
    ("exp2", v.exp2),
    ("expm1", v.expm1),
    ("log1p", v.log1p),
    ("round", v.round),
):
    row(getattr(scipy.special, _name), _word, _word.operands)


def _in_double(word: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a word: its order is cut, and with whole ones narrower x are double, as in SciPy."""

    def function(v_: Any, x: Any) -> Any:
        wide = getattr(x, "dtype", None) in (None, np.dtype(float))
        narrow = kind_of(v_) == "int" and not wide
        return word(cut(v_), v.astype(x, dtype=np.dtype(float)) if narrow else x)

    return function


for _name, _word in (("kn", v.kv), ("yn", v.yv)):
    _ufunc = getattr(scipy.special, _name)
    row(_ufunc, asking(_ufunc, _in_double(_word)), ("v_", "x"))

# ---------------------------------------------------------- functions that let traced values pass

# What ``zeta`` and ``lambertw`` call, where tracers get to.


def _zeta(x: Any, q: Any = None) -> Any:
    """Riemann's function is that of q = 1; where that has no series, by `zetac`."""
    if q is None and kind_of(x) == "complex":
        reject("zeta(x) of complex x has no derivative here")
    return zetac(x) + 1 if q is None else v.zeta(x, q)


def _branch(z: Any, k: Any = 0, tol: Any = 1e-8) -> Any:
    """Compute a branch of Lambert's W; refuse a tolerance, which the word does not have."""
    if tol != 1e-8:
        reject("lambertw(tol=...) has no derivative here; leave tol out", UnsupportedKeywordError)
    return v.lambertw(z, k)


alias(scipy.special.zeta, to=_zeta, refuse=("out",))
alias(scipy.special.lambertw, to=_branch)
if private("_zeta") is not None:
    row(private("_zeta"), v.zeta, ("x", "q"))
if private("_riemann_zeta") is not None:
    row(private("_riemann_zeta"), asking(private("_riemann_zeta"), _zeta), ("x",))
if private("_lambertw") is not None:
    row(private("_lambertw"), _branch, ("z", "k", "tol"))
if hasattr(scipy.special, "softplus"):  # since SciPy 1.17
    alias(scipy.special.softplus, to=lambda x: v.logaddexp(0, x), parameters={"x": None})
