"""The functions of ``scipy.linalg`` as they are, of traced values too.

They take what SciPy's functions of the same names take. ``overwrite_a`` and its kin permit to
destroy an argument, and ``lapack_driver`` says by which routine: neither changes what is computed,
and here nothing is destroyed, and NumPy's routines are called where it has them, because the thread
pools of NumPy and SciPy get into each other's way.
"""

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
from chainrules_scipy.linalg.solving import (
    det,
    inv,
    lstsq,
    pinv,
    pinvh,
    solve,
    solve_continuous_lyapunov,
    solve_discrete_lyapunov,
    solve_sylvester,
    solve_triangular,
)
from chainrules_scipy.linalg.spectra import eig, eigh, eigvals, eigvalsh

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "coshm",
    "cosm",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "expm",
    "hankel",
    "inv",
    "khatri_rao",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "norm",
    "pinv",
    "pinvh",
    "polar",
    "qr",
    "sinhm",
    "sinm",
    "solve",
    "solve_continuous_lyapunov",
    "solve_discrete_lyapunov",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "svdvals",
    "tanhm",
    "tanm",
    "toeplitz",
]
