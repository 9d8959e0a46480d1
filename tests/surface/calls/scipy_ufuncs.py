"""Calls of the ufuncs of scipy.special that have operations in the backend."""

from __future__ import annotations

from typing import Any

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_name: str


def _at(names: str, *operands: Any, complex: bool = False) -> None:
    """Enter a call of each function at drawn values: a pair of numbers is a range of these."""
    for name in names.split():
        given = [Draw((3,), *x) if isinstance(x, tuple) else x for x in operands]
        enter_calls(f"scipy.special.{name}", Sample(*given, complex=complex))


_P = (0.2, 0.8)
_UNIT = (0.1, 0.9)

# ------------------------------------------------------------------------------ distributions

_at("gammainc gammaincc", (0.5, 4.0), (0.2, 5.0))
_at("betainc betaincc", (0.5, 4.0), (0.5, 4.0), _UNIT)
_at("chdtr chdtrc", (1.0, 5.0), (0.5, 4.0))
_at("gdtr gdtrc", (0.5, 2.0), (0.5, 4.0), (0.3, 2.0))
_at("pdtr pdtrc", 2, (0.5, 4.0))
_at("nbdtr nbdtrc", 2, 4, _UNIT)
_at("bdtr bdtrc", 2, 5, _UNIT)
_at("bdtr bdtrc", 5, 5, _UNIT)
_at("fdtr fdtrc", (1.0, 4.0), (1.0, 5.0), (0.3, 3.0))
_at("stdtr", (1.0, 6.0), (0.3, 2.0))
_at("stdtr", (1.0, 6.0), (-2.0, -0.3))
_at("chndtr", (0.5, 5.0), 3, (0.5, 2.0))
_at("gammaincinv gammainccinv chdtri", (0.5, 4.0), _P)
_at("betaincinv betainccinv", (0.5, 4.0), (0.5, 4.0), _P)
_at("fdtri", (1.0, 4.0), (1.0, 5.0), _P)
_at("stdtrit", (1.0, 6.0), (0.6, 0.9))
_at("btdtria", _P, (0.8, 2.0), (0.3, 0.6))
_at("btdtrib", (0.8, 2.0), _P, (0.3, 0.6))
_at("chndtrix", _P, 3, (0.5, 2.0))
_at("chndtrinc", (2.0, 3.0), 3, (0.2, 0.4))
_at("chdtriv", _P, (1.0, 3.0))
_at("gdtria", _P, (0.8, 2.0), (0.5, 2.0))
_at("gdtrib", (0.8, 2.0), _P, (0.5, 2.0))
_at("gdtrix", (0.8, 2.0), (0.8, 2.0), _P)
_at("pdtri", 2, _P)
_at("bdtri nbdtri", 2, 5, _P)
_at("nrdtrimn", (0.6, 0.8), (0.5, 2.0), (-1.0, 1.0))
_at("nrdtrisd", (-1.0, 0.0), (0.6, 0.8), (0.5, 1.0))
_at("ndtri_exp", (-3.0, -0.2))
_at("tklmbda", (-0.8, 0.8), (0.1, 0.6))
_at("kolmogorov", (0.4, 2.0))
_at("kolmogi", _P)
_at("poch", (0.5, 3.0), (0.3, 2.0))
_at("powm1", (0.5, 3.0), (0.3, 2.0))

# ---------------------------------------------------------------------------------- functions

_at("sindg cosdg", (-180.0, 180.0))
_at("tandg cotdg", (10.0, 80.0))
_at("radian", (1.0, 9.0), (1.0, 9.0), (1.0, 9.0))
_at("wrightomega", (-1.0, 3.0), complex=True)
_at("agm", (0.5, 2.0), (0.5, 2.0))
_at("voigt_profile", (-1.0, 1.0), (0.5, 2.0), (0.5, 2.0))
_at("zeta", (1.5, 4.0), (0.5, 3.0))
_at("zeta zetac", (1.5, 4.0))
_at("zetac", (-2.5, -1.5))
_at("airy", (-2.0, 2.0))
_at("airye", (0.5, 2.0))
_at("ber bei ker kei berp beip kerp keip kelvin", (0.5, 3.0))
_at("struve modstruve jve yve hankel1 hankel2 hankel1e hankel2e", 2, (0.5, 3.0))
_at("wright_bessel log_wright_bessel", 1, 2, (0.5, 3.0))
_at("itj0y0 iti0k0 it2j0y0 it2i0k0 itstruve0 it2struve0 itmodstruve0 shichi", (0.5, 2.0))
_at("pbdv pbwa", 1, (0.5, 2.0))  # of single precision SciPy's pbvv gives NaN
_at("expn", 3, (0.5, 2.0))
_at("expn", 0, (0.5, 2.0))
_at("hyperu", 1, 2, (0.5, 2.0))
for _name in ("legendre", "laguerre", "hermite", "hermitenorm", "chebyt", "chebyu"):
    _at(f"eval_{_name}", 3, _UNIT)
    _at(f"eval_{_name}", 0, _UNIT)
_at("eval_chebyc eval_chebys eval_sh_legendre eval_sh_chebyt eval_sh_chebyu", 3, _UNIT)
_at("eval_gegenbauer eval_genlaguerre", 3, 1, _UNIT)
_at("eval_jacobi eval_sh_jacobi", 3, 2, 1, _UNIT)
_at("lpmv", 1, 3, _UNIT)

# ----------------------------------------------------------------------------------- elliptic

_at("elliprf elliprd elliprg", (0.5, 1.0), (1.0, 1.5), (1.5, 2.0))
_at("elliprc", (0.5, 1.0), (1.0, 2.0))
_at("elliprj", (0.5, 1.0), (1.0, 1.5), (1.5, 2.0), (0.5, 2.0))
_at("ellipkinc ellipeinc", (-1.2, 1.2), _UNIT)
_at("ellipkinc ellipeinc", (3.5, 5.5), _UNIT)
_at("ellipj", (-1.2, 1.2), _UNIT)
