"""Implementations of operations by SciPy, for NumPy arrays and for numbers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import scipy.linalg
import scipy.special

from chainrules_py import Primitive, Scalar, primitive
from chainrules_py import ops as v
from chainrules_py.extend import number_homes
from chainrules_py.ops.matrix_functions import LUFactors
from chainrules_scipy.composites_and_operand_conversions import as_precise, permutation_of

number_homes["scipy"] = np

# The operations that SciPy has as ufuncs of the same name.
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

_NUMBERS: Any = np.ndarray | np.generic | Scalar
_PYTHONS: Any = int | float | complex


def ufunc_of(name: str) -> np.ufunc:
    """Return a ufunc of SciPy, which its array-API dispatch may wrap in a function."""
    return inspect.unwrap(getattr(scipy.special, name))  # type: ignore[no-any-return]


def of_numbers(operation: Primitive[..., Any], function: Callable[..., Any]) -> Any:
    """Implement an operation by a function, and return it; Python numbers give Python numbers."""

    def of_pythons(*xs: Any) -> Any:
        y = function(*xs)
        return tuple([part.item() for part in y]) if type(y) is tuple else y.item()

    n = len(operation.operands)
    operation.implement(function, types=(_NUMBERS,) * n)
    operation.implement(of_operands(operation, of_pythons), types=(_PYTHONS,) * n)
    return operation


def of_operands(operation: Any, function: Any) -> Any:
    """Declare that a variadic function takes the operands of an operation."""
    return functools.update_wrapper(function, operation.__wrapped__, assigned=(), updated=())


def _operands(x: Any, y: Any, z: Any, w: Any, /) -> Any:
    """x."""


def operation_of(name: str, *operands: str) -> Any:
    """Declare an operation of up to four operands, for a function of ``scipy.special``."""
    n = len(operands)
    code = _operands.__code__.replace(
        co_name=name,
        co_qualname=name,
        co_varnames=operands,
        co_argcount=n,
        co_posonlyargcount=n,
        co_nlocals=n,
    )
    declaration = FunctionType(code, globals(), name)
    declaration.__doc__ = f"Compute ``scipy.special.{name}``, or a derivative of it."
    return primitive(declaration)


for _operation in FUNCTIONS:
    of_numbers(_operation, ufunc_of(_operation.__name__))


def polygamma_scipy(n: Any, x: Any, /) -> Any:
    """Compute in the precision of x, which an integer n does not raise."""
    y = scipy.special.polygamma(n, x)
    dtype = getattr(x, "dtype", y.dtype)
    return (y if dtype.kind != "f" else y.astype(dtype))[()]


of_numbers(v.polygamma, polygamma_scipy)
of_numbers(v.zeta, lambda x, q, /: scipy.special.zeta(x, q))
of_numbers(v.lambertw, lambda x, k, /: scipy.special.lambertw(x, k))


def square(*matrices: Any) -> None:
    """Raise for numbers and matrices that are not square, which SciPy would misinterpret."""
    for a in matrices:
        if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            raise np.linalg.LinAlgError(
                f"an array of shape {a.shape}, where square matrices are expected"
            )


def _of_matrix(operation: Primitive[..., Any], function: Callable[..., Any]) -> None:
    def implementation(x: Any, /) -> Any:
        square(x)
        y = function(x)
        return y.astype(as_precise(y.dtype, x.dtype), copy=False)

    operation.implement(implementation, types=(np.ndarray,))


_of_matrix(v.expm, scipy.linalg.expm)
# In double precision: in single, SciPy takes rounding errors for imaginary parts.
_of_matrix(v.logm, lambda x: scipy.linalg.logm(x.astype(np.result_type(x, np.float64))))
_of_matrix(v.sqrtm, scipy.linalg.sqrtm)


@v.solve_sylvester.implement
def solve_sylvester_scipy(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> Any:
    """Solve by SciPy, for matrices whose shapes fit."""
    square(a, b)
    shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    if 0 in shape:
        return np.zeros((*shape, *q.shape[-2:]), np.result_type(a, b, q))
    if len({x.dtype.kind == "c" for x in (a, b, q)}) == 2:
        # For a real matrix SciPy computes diagonal blocks, which it would then read as a triangle.
        a, b, q = (x.astype(np.result_type(a, b, q)) for x in (a, b, q))
    y = scipy.linalg.solve_sylvester(a, b, q)
    return y.astype(as_precise(y.dtype, q.dtype), copy=False)


# Up to this size a matrix of twice the size costs less than SciPy's function, which is in Python.
_SMALL = 24


@v.expm_frechet.implement
def expm_frechet_scipy(x: np.ndarray, t: np.ndarray) -> Any:
    """Use Al-Mohy and Higham's algorithm for large matrices: three times the work of `expm`."""
    square(x, t)
    n = x.shape[-1]
    shape, dtype = np.broadcast_shapes(x.shape, t.shape), np.result_type(x, t)
    if n > _SMALL:
        found: Any = scipy.linalg.expm_frechet(x, t, compute_expm=False, check_finite=False)
        return found.astype(as_precise(found.dtype, dtype), copy=False)
    largest = np.max(np.abs(t), axis=(-2, -1), keepdims=True, initial=1.0)
    scale = np.exp2(np.floor(np.log2(largest)))  # `expm` would halve and square for a large t
    both = np.zeros((*shape[:-2], 2 * n, 2 * n), dtype)
    both[..., :n, :n] = both[..., n:, n:] = x
    both[..., :n, n:] = t / scale
    return scale * scipy.linalg.expm(both)[..., :n, n:]


@v.lu_factor.implement
def lu_factor_scipy(x: np.ndarray) -> LUFactors:
    """Factorise by LAPACK, and convert its pivots to a permutation."""
    square(x)
    lu, pivots = scipy.linalg.lu_factor(x, check_finite=False)
    return LUFactors(lu, pivots, permutation_of(pivots))
