"""Mathieu's and spheroidal functions, and others that are differentiated by values around."""

from __future__ import annotations

import math
from typing import Any

from chainrules_py import vocabulary as v
from chainrules_scipy._private import private
from chainrules_scipy.ufuncs.declared import flat, several, stated

_smirnov_slope = private("_smirnovp")

stated("besselpoly", "a lmb nu", None, None, None)
for _name in ("mathieu_a", "mathieu_b"):
    stated(_name, "m q", None, None)
for _name in ("cem", "sem", "modcem1", "modcem2", "modsem1", "modsem2"):
    several(f"mathieu_{_name}", "m q x", None, None, None)
for _name in ("pro", "obl"):
    stated(f"{_name}_cv", "m n c", None, None, None)
    for _kind in ("ang1", "rad1", "rad2"):
        several(f"{_name}_{_kind}", "m n c x", None, None, None, None)


def _fresnel(sign: float) -> Any:
    """-exp(±ix²), and -+2ix K less that with K's factor exp(-+i(x² + π/4)) / √π."""

    def slope(y: Any, x: Any) -> Any:
        by_x = -v.exp(sign * 1j * x * x) * v.where(x < 0, math.nan, 1.0)  # SciPy mixes the parts
        factor = v.exp(-sign * 1j * (x * x + math.pi / 4)) / math.sqrt(math.pi)
        return by_x, -sign * 2j * x * y[1] + factor * by_x

    return slope


several("modfresnelp", "x", _fresnel(1.0))
several("modfresnelm", "x", _fresnel(-1.0))
if _smirnov_slope is not None:
    stated("smirnov", "n d", flat, lambda _y, n, d: _smirnov_slope(n, d))
    stated("smirnovi", "n p", flat, lambda y, n, _p: 1 / _smirnov_slope(n, y))
