"""The functions of ``scipy.integrate``, of traced values too.

What is integrated may hold traced values, as a closure does, or take them as ``args``.
"""

import functools
from typing import Any

import numpy as np
import scipy.integrate

from chainrules_py.extend import varies
from chainrules_scipy.following import FLOAT64, follow, follow_all, numpy_with
from chainrules_scipy.integrate.adaptive import nquad, quad, quad_vec
from chainrules_scipy.integrate.equations import odeint, solve_bvp, solve_ivp
from chainrules_scipy.rows import attribute, readable, refused, reject, stands_for

__all__ = [
    "odeint",
    "nquad",
    "quad",
    "quad_vec",
    "solve_bvp",
    "solve_ivp",
]

_FOLLOWED: dict[str, Any] = follow_all(
    scipy.integrate,
    *("cumulative_simpson", "cumulative_trapezoid", "dblquad", "fixed_quad", "romb", "tplquad"),
    "trapezoid",
) | {"simpson": follow(scipy.integrate.simpson, np=numpy_with(float64=FLOAT64))}
if hasattr(scipy.integrate, "cubature"):
    _cubature = follow(scipy.integrate.cubature)

    @stands_for(scipy.integrate.cubature)
    def cubature(f: Any, a: Any, b: Any, **how: Any) -> Any:
        """Integrate over a box, as ``scipy.integrate.cubature``."""
        if varies((a, b)) and np.any(np.equal(readable(a), readable(b))):
            reject("cubature over no extent has no derivative in its limits; quad has one")
        return _cubature(f, a, b, **how)

    _FOLLOWED["cubature"] = cubature


refused(
    scipy.integrate,
    dict.fromkeys(
        ("tanhsinh", "nsum"),
        "it goes on as it finds values, which are plain numbers there; write quad(f, a, b)[0], of "
        "chainrules_scipy.integrate, or np.sum of as many terms as are needed",
    ),
)
__getattr__ = functools.partial(attribute, __name__, _FOLLOWED)
