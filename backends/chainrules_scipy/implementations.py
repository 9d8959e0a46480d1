"""How SciPy computes words, of NumPy's arrays and of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from chainrules_py import Primitive, Scalar
from chainrules_py import vocabulary as v
from chainrules_py.arrays import register_number_home
from chainrules_py.vocabulary.matrix_functions import LUFactors

__all__ = ["FUNCTIONS"]

register_number_home("scipy", np)

FUNCTIONS: tuple[Primitive[..., Any], ...] = (
    v.beta,
    v.betainc,
    v.betaln,
    v.binom,
    v.boxcox,
    v.boxcox1p,
    v.cosm1,
    v.dawsn,
    v.digamma,
    v.ellipe,
    v.ellipk,
    v.ellipkm1,
    v.entr,
    v.erf,
    v.erfc,
    v.erfcinv,
    v.erfcx,
    v.erfi,
    v.erfinv,
    v.exp1,
    v.exp10,
    v.expi,
    v.expit,
    v.exprel,
    v.fresnel,
    v.gamma,
    v.gammainc,
    v.gammaincc,
    v.gammaln,
    v.gammasgn,
    v.huber,
    v.hyp0f1,
    v.hyp1f1,
    v.hyp2f1,
    v.i0,
    v.i0e,
    v.i1,
    v.i1e,
    v.inv_boxcox,
    v.inv_boxcox1p,
    v.iv,
    v.ive,
    v.j0,
    v.j1,
    v.jv,
    v.k0,
    v.k0e,
    v.k1,
    v.k1e,
    v.kl_div,
    v.kv,
    v.kve,
    v.log_expit,
    v.log_ndtr,
    v.loggamma,
    v.logit,
    v.ndtr,
    v.ndtri,
    v.owens_t,
    v.pseudo_huber,
    v.rel_entr,
    v.rgamma,
    v.sici,
    v.spence,
    v.wofz,
    v.xlog1py,
    v.xlogy,
    v.y0,
    v.y1,
    v.yv,
)
"""The words that are ufuncs of SciPy, of the same name."""

_word: Primitive[..., Any]
_NUMBERS: Any = np.ndarray | np.generic | Scalar


def _of_numbers(word: Primitive[..., Any], function: Callable[..., Any]) -> None:
    word.implement(function, types=(_NUMBERS,) * len(word.operands))


for _word in FUNCTIONS:
    _of_numbers(_word, getattr(scipy.special, _word.__name__))
_of_numbers(v.polygamma, lambda n, x, /: scipy.special.polygamma(n, x)[()])
_of_numbers(v.zeta, lambda x, q, /: scipy.special.zeta(x, q))
_of_numbers(v.lambertw, lambda x, k, /: scipy.special.lambertw(x, k))

v.expm.implement(lambda x, /: scipy.linalg.expm(x), types=(np.ndarray,))
v.logm.implement(lambda x, /: scipy.linalg.logm(x), types=(np.ndarray,))
v.sqrtm.implement(lambda x, /: scipy.linalg.sqrtm(x), types=(np.ndarray,))
v.solve_sylvester.implement(
    lambda a, b, q, /: scipy.linalg.solve_sylvester(a, b, q), types=(np.ndarray,) * 3
)

# Up to here a matrix of twice the size costs less than SciPy's function, which is in Python.
_SMALL = 24


@v.expm_frechet.implement
def expm_frechet_scipy(x: np.ndarray, t: np.ndarray) -> Any:
    """A. Al-Mohy and N. Higham's algorithm, for large matrices: three times the work of `expm`."""
    n = x.shape[-1]
    if n > _SMALL:
        return scipy.linalg.expm_frechet(x, t, compute_expm=False, check_finite=False)
    shape, dtype = np.broadcast_shapes(x.shape, t.shape), np.result_type(x, t)
    both = np.zeros((*shape[:-2], 2 * n, 2 * n), dtype)
    both[..., :n, :n] = both[..., n:, n:] = x
    both[..., :n, n:] = t
    return scipy.linalg.expm(both)[..., :n, n:]


@v.lu_factor.implement
def lu_factor_scipy(x: np.ndarray) -> LUFactors:
    """LAPACK's, and the permutation that its pivots make."""
    lu, pivots = scipy.linalg.lu_factor(x, check_finite=False)
    return LUFactors(lu, pivots, permutation_of(pivots))


def permutation_of(pivots: Any) -> Any:
    """The rows in the order that exchanging row i with row pivots[i], one by one, brings them to."""
    rows = np.broadcast_to(np.arange(pivots.shape[-1]), pivots.shape).copy()
    for i in range(pivots.shape[-1]):
        j = pivots[..., i : i + 1]
        here, there = rows[..., i : i + 1].copy(), np.take_along_axis(rows, j, -1)
        np.put_along_axis(rows, j, here, -1)
        rows[..., i : i + 1] = there
    return rows
