"""Hints for functions that take plain numbers alone: what to write instead.

Those of Python's ``math`` see no tracer, nor does NumPy in some of its options; each asks for a
float, and the refusal says which function does the same and is seen.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from chainrules_py.extend import advise

_name: str

OTHERWISE = {
    "acos": "np.arccos(x)",
    "acosh": "np.arccosh(x)",
    "asin": "np.arcsin(x)",
    "asinh": "np.arcsinh(x)",
    "atan": "np.arctan(x)",
    "atan2": "np.arctan2(y, x)",
    "atanh": "np.arctanh(x)",
    "dist": "np.linalg.norm(np.stack(p) - np.stack(q))",
    "erf": "scipy.special.erf(x)",
    "erfc": "scipy.special.erfc(x)",
    "fsum": "np.sum(np.stack(xs))",
    "gamma": "scipy.special.gamma(x)",
    "lgamma": "scipy.special.gammaln(x)",
    "phase": "np.angle(z)",
    "polar": "(np.abs(z), np.angle(z))",
    "pow": "x**y",
    "rect": "r * np.exp(1j * phi)",
    "remainder": "x - y * np.rint(x / y)",
    "sumprod": "np.dot(np.stack(p), np.stack(q))",
}
"""What does the same as a function of ``math`` or ``cmath``, where NumPy has another name."""

ALIKE = (
    "cbrt copysign cos cosh degrees exp exp2 expm1 fabs fmod frexp hypot isclose isfinite isinf "
    "isnan ldexp log log10 log1p log2 modf nextafter radians sin sinh sqrt tan tanh"
)
"""Those that NumPy has under the same name."""

OF_TWO = ("copysign", "fmod", "hypot", "isclose", "ldexp", "nextafter")

for _name in ALIKE.split():
    OTHERWISE[_name] = f"np.{_name}({'x, y' if _name in OF_TWO else 'x'})"
for _name, _line in OTHERWISE.items():
    for _module in (math, cmath):
        if hasattr(_module, _name):
            _called = f"{_module.__name__}.{_name}"
            advise(getattr(_module, _name), f"{_called} takes plain numbers: write {_line}")

INSTEAD: dict[Any, str] = {
    np.array: "np.array makes plain memory: write np.stack([x, y]) for np.array([x, y]), x.copy() "
    "for np.array(x), chainrules_tape.asarray for lists in lists",
    np.asarray: "np.asarray makes plain memory: leave x as it is, or write x.copy(); for a list, "
    "np.stack([x, y]) or chainrules_tape.asarray",
    np.asanyarray: "np.asanyarray makes plain memory: leave x as it is, or write x.copy()",
    np.require: "np.require makes plain memory: write x.astype(float) for np.require(x, float), "
    "and x, or x.copy(), for what it requires of memory",
    np.asarray_chkfinite: "np.asarray_chkfinite makes plain memory: leave x as it is, and ask "
    "np.isfinite(x).all()",
    np.ascontiguousarray: "np.ascontiguousarray makes plain memory: write x.copy()",
    np.asfortranarray: "np.asfortranarray makes plain memory: write x.copy(order='F')",
    np.full: "np.full makes plain memory of the number: write chainrules_tape.full(shape, x), or "
    "x * np.ones(shape)",
    np.vectorize.__call__: "np.vectorize calls its function for plain numbers: write vectorize, of "
    "chainrules_py.composites.functional",
    float: "float(x) is a plain number: leave it as it is; a buffer that it is written into is "
    "np.zeros(n, like=x)",
}
for _f, _line in INSTEAD.items():
    advise(_f, _line)
advise(
    np.interp,
    "left= and right= are plain numbers unless x, xp or fp is traced: write "
    "np.where(x < xp[0], left, np.interp(x, xp, fp))",
)
for _f, _joined in (
    (np.max, "np.maximum(np.max(x), initial)"),
    (np.min, "np.minimum(np.min(x), initial)"),
    (np.sum, "np.sum(x) + initial"),
    (np.prod, "np.prod(x) * initial"),
):
    advise(_f, f"initial= is a plain number unless x is traced: write {_joined}")
