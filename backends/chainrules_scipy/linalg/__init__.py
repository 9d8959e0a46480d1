"""The functions of ``scipy.linalg`` as they are, of traced values too.

They take what SciPy's functions of the same names take. ``overwrite_a`` and its kin permit to
destroy an argument, and ``lapack_driver`` says by which routine: neither changes what is computed,
and here nothing is destroyed, and NumPy's routines are called where it has them, because the thread
pools of NumPy and SciPy get into each other's way.
"""

import functools

from chainrules_scipy.linalg.banded import (
    cho_solve_banded,
    cholesky_banded,
    eig_banded,
    eigh_tridiagonal,
    solve_banded,
    solve_toeplitz,
    solveh_banded,
)
from chainrules_scipy.linalg.functions import (
    FOLLOWED,
    circulant,
    expm,
    expm_frechet,
    fractional_matrix_power,
    funm,
    hankel,
    hessenberg,
    ldl,
    logm,
    matrix_balance,
    norm,
    qr_multiply,
    rq,
    schur,
    signm,
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_sylvester,
    sqrtm,
    toeplitz,
)
from chainrules_scipy.linalg.solving import (
    cho_factor,
    cho_solve,
    cholesky,
    det,
    inv,
    lstsq,
    lu,
    lu_factor,
    lu_solve,
    pinv,
    pinvh,
    polar,
    qr,
    solve,
    solve_triangular,
    svd,
    svdvals,
)
from chainrules_scipy.linalg.spectra import eig, eigh, eigvals, eigvalsh
from chainrules_scipy.rows import attribute

__all__ = [
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky",
    "cholesky_banded",
    "circulant",
    "det",
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvalsh",
    "expm",
    "expm_frechet",
    "fractional_matrix_power",
    "funm",
    "hankel",
    "hessenberg",
    "inv",
    "ldl",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matrix_balance",
    "norm",
    "pinv",
    "pinvh",
    "polar",
    "qr",
    "qr_multiply",
    "rq",
    "schur",
    "signm",
    "solve",
    "solve_banded",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "toeplitz",
]


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)
