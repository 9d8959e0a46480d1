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
    eigvals_banded,
    eigvalsh_tridiagonal,
    solve_banded,
    solve_toeplitz,
    solveh_banded,
)
from chainrules_scipy.linalg.factors import (
    cho_factor,
    cho_solve,
    cholesky,
    lu,
    lu_factor,
    lu_solve,
    polar,
    qr,
    svd,
    svdvals,
)
from chainrules_scipy.linalg.functions import (
    coshm,
    cosm,
    expm,
    logm,
    sinhm,
    sinm,
    sqrtm,
    tanhm,
    tanm,
)
from chainrules_scipy.linalg.matrices import (
    block_diag,
    circulant,
    hankel,
    khatri_rao,
    norm,
    toeplitz,
)
from chainrules_scipy.linalg.reduced import (
    FOLLOWED,
    expm_cond,
    expm_frechet,
    fractional_matrix_power,
    funm,
    hessenberg,
    ldl,
    matrix_balance,
    qr_multiply,
    rq,
    schur,
    signm,
)
from chainrules_scipy.linalg.riccati import solve_continuous_are, solve_discrete_are
from chainrules_scipy.linalg.solving import (
    det,
    inv,
    lstsq,
    pinv,
    pinvh,
    solve,
    solve_triangular,
)
from chainrules_scipy.linalg.spectra import eig, eigh, eigvals, eigvalsh
from chainrules_scipy.linalg.sylvester import (
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_sylvester,
)
from chainrules_scipy.rows import attribute

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky",
    "cholesky_banded",
    "circulant",
    "coshm",
    "cosm",
    "det",
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "eigvals",
    "eigvals_banded",
    "eigvalsh",
    "eigvalsh_tridiagonal",
    "expm",
    "expm_cond",
    "expm_frechet",
    "fractional_matrix_power",
    "funm",
    "hankel",
    "hessenberg",
    "inv",
    "khatri_rao",
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
    "sinhm",
    "sinm",
    "solve",
    "solve_banded",
    "solve_continuous_are",
    "solve_continuous_lyapunov",
    "solve_discrete_are",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_toeplitz",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)
