"""Functions of matrices."""

from __future__ import annotations

from typing import Any

import scipy.linalg

from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of
from chainrules_scipy.rows import array_of, of_lapack, stands_for

_DEFAULT: Any = object()
"""For what SciPy is about to take away: ``disp`` and ``blocksize`` change nothing."""


@stands_for(scipy.linalg.expm)
def expm(A: Any) -> Any:
    """Compute the exponential of matrices."""
    return v.expm(array_of(A))


@stands_for(scipy.linalg.logm)
def logm(A: Any, disp: Any = _DEFAULT) -> Any:
    """Compute the principal logarithm of matrices."""
    return v.logm(array_of(A))


@stands_for(scipy.linalg.sqrtm)
def sqrtm(A: Any, disp: Any = _DEFAULT, blocksize: Any = _DEFAULT) -> Any:
    """Compute the principal square root of matrices."""
    return v.sqrtm(of_lapack(A))


def _of_conjugates(A: Any) -> tuple[Any, Any]:
    """exp(iA) and exp(-iA)."""
    return v.expm(1j * A), v.expm(-1j * A)


@stands_for(scipy.linalg.cosm)
def cosm(A: Any) -> Any:
    """Compute the cosine of matrices."""
    A = array_of(A)
    if kind_of(A) == "real":
        return v.real(v.expm(1j * A))
    y, z = _of_conjugates(A)
    return 0.5 * (y + z)


@stands_for(scipy.linalg.sinm)
def sinm(A: Any) -> Any:
    """Compute the sine of matrices."""
    A = array_of(A)
    if kind_of(A) == "real":
        return v.imag(v.expm(1j * A))
    y, z = _of_conjugates(A)
    return -0.5j * (y - z)


@stands_for(scipy.linalg.tanm)
def tanm(A: Any) -> Any:
    """Compute the tangent of matrices."""
    return v.solve(cosm(A), sinm(A))


@stands_for(scipy.linalg.coshm)
def coshm(A: Any) -> Any:
    """Compute the hyperbolic cosine of matrices."""
    A = array_of(A)
    return 0.5 * (v.expm(A) + v.expm(-A))


@stands_for(scipy.linalg.sinhm)
def sinhm(A: Any) -> Any:
    """Compute the hyperbolic sine of matrices."""
    A = array_of(A)
    return 0.5 * (v.expm(A) - v.expm(-A))


@stands_for(scipy.linalg.tanhm)
def tanhm(A: Any) -> Any:
    """Compute the hyperbolic tangent of matrices."""
    A = array_of(A)
    y, z = v.expm(A), v.expm(-A)
    return v.solve(y + z, y - z)
