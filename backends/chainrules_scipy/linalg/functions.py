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
    """Compute the exponential of matrices.

    Parameters
    ----------
    A : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (..., n, n)
        As ``scipy.linalg.expm``. Its derivative is that of A. Al-Mohy and N. Higham, "Computing the
        Fréchet derivative of the matrix exponential" (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> print(grad(lambda A: expm(A)[0, 1])(np.zeros((2, 2))))
    [[0. 1.]
     [0. 0.]]
    """
    return v.expm(array_of(A))


@stands_for(scipy.linalg.logm)
def logm(A: Any, disp: Any = _DEFAULT) -> Any:
    """Compute the principal logarithm of matrices.

    Parameters
    ----------
    A : array, shape (..., n, n)
        The matrices, without eigenvalues on the negative axis.
    disp : bool, optional
        SciPy's, without meaning here.

    Returns
    -------
    array, shape (..., n, n)
        As ``scipy.linalg.logm``. Its derivative is read off a matrix of twice the size: N. Higham,
        "Functions of Matrices" (2008), (3.16).

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> print(grad(lambda A: logm(A)[0, 1])(np.eye(2)))
    [[0. 1.]
     [0. 0.]]
    """
    return v.logm(array_of(A))


@stands_for(scipy.linalg.sqrtm)
def sqrtm(A: Any, disp: Any = _DEFAULT, blocksize: Any = _DEFAULT) -> Any:
    """Compute the principal square root of matrices.

    Parameters
    ----------
    A : array, shape (..., n, n)
        The matrices, without eigenvalues on the negative axis, and not singular.
    disp, blocksize : optional
        SciPy's, without meaning here.

    Returns
    -------
    array, shape (..., n, n)
        As ``scipy.linalg.sqrtm``. Its derivative solves a Sylvester equation: N. Higham, "Functions
        of Matrices" (2008), (6.2).

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> print(grad(lambda A: sqrtm(A)[0, 1])(np.eye(2)))
    [[0.  0.5]
     [0.  0. ]]
    """
    return v.sqrtm(of_lapack(A))


def _of_conjugates(A: Any) -> tuple[Any, Any]:
    """exp(iA) and exp(-iA)."""
    return v.expm(1j * A), v.expm(-1j * A)


@stands_for(scipy.linalg.cosm)
def cosm(A: Any) -> Any:
    """Compute the cosine of matrices.

    Parameters
    ----------
    A : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (..., n, n)
        As ``scipy.linalg.cosm``.

    Examples
    --------
    >>> import numpy as np
    >>> print(cosm(np.zeros((1, 1))))
    [[1.]]
    """
    A = array_of(A)
    if kind_of(A) == "real":
        return v.real(v.expm(1j * A))
    y, z = _of_conjugates(A)
    return 0.5 * (y + z)


@stands_for(scipy.linalg.sinm)
def sinm(A: Any) -> Any:
    """Compute the sine of matrices.

    Parameters
    ----------
    A : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (..., n, n)
        As ``scipy.linalg.sinm``.

    Examples
    --------
    >>> import numpy as np
    >>> print(sinm(np.zeros((1, 1))))
    [[0.]]
    """
    A = array_of(A)
    if kind_of(A) == "real":
        return v.imag(v.expm(1j * A))
    y, z = _of_conjugates(A)
    return -0.5j * (y - z)


@stands_for(scipy.linalg.tanm)
def tanm(A: Any) -> Any:
    """Compute the tangent of matrices.

    Parameters
    ----------
    A : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (..., n, n)
        As ``scipy.linalg.tanm``.

    Examples
    --------
    >>> import numpy as np
    >>> print(tanm(np.zeros((1, 1))))
    [[0.]]
    """
    return v.solve(cosm(A), sinm(A))


@stands_for(scipy.linalg.coshm)
def coshm(A: Any) -> Any:
    """Compute the hyperbolic cosine of matrices.

    Parameters
    ----------
    A : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (..., n, n)
        As ``scipy.linalg.coshm``.

    Examples
    --------
    >>> import numpy as np
    >>> print(coshm(np.zeros((1, 1))))
    [[1.]]
    """
    A = array_of(A)
    return 0.5 * (v.expm(A) + v.expm(-A))


@stands_for(scipy.linalg.sinhm)
def sinhm(A: Any) -> Any:
    """Compute the hyperbolic sine of matrices.

    Parameters
    ----------
    A : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (..., n, n)
        As ``scipy.linalg.sinhm``.

    Examples
    --------
    >>> import numpy as np
    >>> print(sinhm(np.zeros((1, 1))))
    [[0.]]
    """
    A = array_of(A)
    return 0.5 * (v.expm(A) - v.expm(-A))


@stands_for(scipy.linalg.tanhm)
def tanhm(A: Any) -> Any:
    """Compute the hyperbolic tangent of matrices.

    Parameters
    ----------
    A : array, shape (..., n, n)
        The matrices.

    Returns
    -------
    array, shape (..., n, n)
        As ``scipy.linalg.tanhm``.

    Examples
    --------
    >>> import numpy as np
    >>> print(tanhm(np.zeros((1, 1))))
    [[0.]]
    """
    A = array_of(A)
    y, z = v.expm(A), v.expm(-A)
    return v.solve(y + z, y - z)
