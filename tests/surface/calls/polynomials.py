"""Calls of NumPy's functions of polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_P = Draw((4,), 0.5, 2.0)
_Q = Draw((2,), 0.5, 2.0)
_POINT = Draw(())
_LINE = Draw((3,))
_FLAT = Draw((2, 3))

enter_calls(
    "polyval",
    Sample(_P, _FLAT, complex=True),
    Sample(_P, _POINT),
    Sample(_P, Draw(None)),
    Sample(_P, 1.5),
    Sample([1.0, 2.0, 3.0], _LINE, complex=True),
    Sample([1, 2, 3], Draw(None)),
    Sample(_P, [1.0, 2.0]),
    Sample(Draw((1,)), _LINE),
    Sample(Draw((0,)), _LINE),
    Sample(_P, Draw((0,))),
    Sample(Draw((3, 2)), Draw((2,)), complex=True),
)
for _name in ("polyadd", "polysub", "polymul"):
    enter_calls(
        _name,
        Sample(_P, _Q, complex=True),
        Sample(_Q, _P),
        Sample(_P, [1.0, 2.0]),
        Sample(_P, _POINT),
        Sample(2.0, _P),
        Sample([1], Draw((1,))),
    )
enter_calls("polymul", Sample(_P, [0.0, 0.0, 1.0]), Sample(_P, [0.0]))


def told(parts: Any) -> Any:
    """Return the quotient and the last entry of the remainder, whose length rounding may change."""
    return [parts[0], parts[1][-1:]]


enter_calls(
    "polydiv",
    Sample(_P, _Q, complex=True, gauge=told),
    Sample(_P, [1.0, -1.0]),
    Sample(_Q, _P),
    Sample([1.0, 3.0, 5.0], _Q, gauge=told),
    Sample(_P, Draw((1,), 1.0, 2.0), gauge=told),
    Sample(_P, Draw((3,), 1.0, 2.0), gauge=told),
    Sample(_P, 2.0),
    Sample([1.0, 2.0, 1.0], [1.0, 1.0], smooth=False),
)
enter_calls(
    "polyder",
    Sample(_P, complex=True),
    *(Sample(_P, m=m) for m in (0, 1, 2, 4, 9)),
    Sample(Draw((1,))),
)
enter_calls(
    "polyint",
    Sample(_P, complex=True),
    *(Sample(_P, m=m) for m in (0, 1, 3)),
    Sample(_P, k=3.0),
    Sample(_P, m=2, k=[1.0, 2.0]),
    Sample(_P, 2, _Q, complex=True),
    Sample(_P, 2, _POINT),
)
enter_calls(
    "poly",
    Sample(_LINE, complex=True),
    Sample(Draw((0,)), smooth=False),
    Sample(Draw((2,), make=lambda x: np.array([x[0] + 1j * x[1], x[0] - 1j * x[1]])), smooth=False),
    Sample(Draw((3, 3), make=lambda x: x + x.T)),
)


enter_calls(
    "roots",
    Sample(Draw((3,), make=lambda x: np.poly([1.0, x[0] - 3.0, x[1] + 3.0]))),
    Sample(_P, complex=True),
    Sample(Draw((5,), 0.5, 2.0)),
    Sample(_Q),
    Sample(Draw((1,), 0.5, 2.0)),
    Sample(Draw((4,), 0.5, 2.0, make=lambda p: p * [0, 1, 1, 1]), smooth=False),
    Sample(Draw((4,), 0.5, 2.0, make=lambda p: p * [1, 1, 1, 0]), smooth=False),
    Sample(Draw((3,), make=np.zeros_like), smooth=False),
)
enter_calls(
    "vander",
    Sample(_LINE, complex=True),
    Sample(_LINE, N=5, complex=True),
    Sample(_LINE, N=4, increasing=True),
    *(Sample(_LINE, N=n) for n in (0, 1, 2)),
    Sample(_LINE, N=1, increasing=True),
    Sample(Draw((0,)), N=2),
    Sample(Draw((3,), make=np.zeros_like), N=3),
)

# ------------------------------------------------------------------------------------ least squares

_X = Draw((7,), apart=0.3, low=-3.0, high=3.0)
_Y, _W = Draw((7,)), Draw((7,), 0.5, 2.0)
enter_calls(
    "polyfit",
    Sample(_X, _Y, 2, complex=True),
    Sample(_X, _Y, deg=0),
    Sample(_X, Draw((7, 2)), 1),
    Sample(_X, _Y, 2, w=_W),
    Sample(_X, Draw((7, 2)), 2, w=_W),
    Sample(_X, _Y, 1, rcond=1e-12),
    Sample([-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 2.5], _Y, 3),
    Sample(_X, _Y, 2, full=True),
    Sample(_X, _Y, 2, cov=True),
    Sample(_X, _Y, 2, w=_W, cov="unscaled"),
    Sample(_X, Draw((7, 2)), 1, cov=True),
)

# ------------------------------------------------------------------------------- several variables

enter_calls(
    "polynomial.polynomial.polyval2d",
    Sample(_LINE, _LINE, Draw((2, 3)), complex=True),
    Sample(_POINT, _POINT, Draw((3, 2))),
    Sample(_FLAT, _FLAT, Draw((2, 2, 2))),
    Sample(Draw(None), Draw(None), Draw((2, 2))),
    Sample(_LINE, [1.0, 2.0, 3.0], [[1, 2], [3, 4]]),
)
enter_calls(
    "polynomial.polynomial.polygrid2d",
    Sample(_LINE, Draw((2,)), Draw((2, 3)), complex=True),
    Sample(_POINT, _LINE, Draw((3, 2))),
    Sample(_LINE, [1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]]),
)
if hasattr(np.polynomial.polynomial, "polyvalnd"):  # since NumPy 2.5
    enter_calls(
        "polynomial.polynomial.polyvalnd",
        Sample((_LINE, _LINE), Draw((2, 3)), complex=True),
        Sample([_POINT, _POINT, _POINT], Draw((2, 3, 2))),
        Sample(_FLAT, Draw((2, 2))),
    )
