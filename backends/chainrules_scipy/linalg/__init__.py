"""The functions of ``scipy.linalg`` as they are, of traced values too.

They take what SciPy's functions of the same names take. ``overwrite_a`` and its kin permit to
destroy an argument, and ``lapack_driver`` says by which routine: neither changes what is computed,
and here nothing is destroyed, and NumPy's routines are called where it has them, because the thread
pools of NumPy and SciPy get into each other's way.
"""

import functools

from chainrules_scipy.linalg.banded import WORDS as OF_BANDS
from chainrules_scipy.linalg.banded import (
    cho_solve_banded,
    cholesky_banded,
    eig_banded,
    eigh_tridiagonal,
    solve_banded,
    solve_toeplitz,
)
from chainrules_scipy.linalg.functions import (
    FOLLOWED,
    circulant,
    fractional_matrix_power,
    funm,
    hankel,
    norm,
    qr_multiply,
    rq,
    schur,
    signm,
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    toeplitz,
)
from chainrules_scipy.linalg.solving import WORDS as OF_SYSTEMS
from chainrules_scipy.linalg.solving import (
    cho_factor,
    cho_solve,
    lstsq,
    lu,
    lu_solve,
    pinv,
    polar,
    qr,
    solve,
    solve_triangular,
)
from chainrules_scipy.linalg.spectra import WORDS as OF_SPECTRA
from chainrules_scipy.linalg.spectra import eig, eigh
from chainrules_scipy.rows import attribute

__all__ = [
    "cho_factor",
    "cho_solve",
    "cho_solve_banded",
    "cholesky_banded",
    "circulant",
    "eig",
    "eig_banded",
    "eigh",
    "eigh_tridiagonal",
    "fractional_matrix_power",
    "funm",
    "hankel",
    "lstsq",
    "lu",
    "lu_solve",
    "norm",
    "pinv",
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
    "solve_toeplitz",
    "solve_triangular",
    "toeplitz",
]


__getattr__ = functools.partial(attribute, __name__, FOLLOWED | OF_BANDS | OF_SPECTRA | OF_SYSTEMS)
