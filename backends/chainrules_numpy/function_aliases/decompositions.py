"""Aliases of matrix decompositions, and of solvers."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import decompositions as m
from chainrules_numpy.function_aliases.alias_constructors import constants, row
from chainrules_py import UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import AsArgument, Call, alias, untraced

# ---------------------------------------------------------------- factors


def triangle(call: Call, UPLO: str) -> None:
    """Lower ``UPLO=``: the triangle that is read."""
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    call.options["upper"] = UPLO.upper() == "U"


def qr_mode(call: Call, mode: str) -> None:
    """Lower ``mode=``: another operation, or a part of the result."""
    if mode == "full":
        msg = "The 'full' option is deprecated in favor of 'reduced'."
        warnings.warn(msg, DeprecationWarning, stacklevel=6)
    elif mode == "r":
        call.after.append(lambda y: y.R)
    elif mode == "raw":
        call.operation = v.qr_raw
    elif mode == "complete":
        call.options["mode"] = "complete"
    elif mode != "f":
        error = UnsupportedKeywordError if mode in ("e", "economic") else ValueError
        raise error(f"qr(mode={mode!r}): mode is 'reduced', 'complete', 'r' or 'raw'")


def values_alone(call: Call, compute_uv: Any) -> None:
    """Lower ``compute_uv=False``: return only the singular values."""
    if not compute_uv:
        call.operation = m.hermitian_svdvals if call.operation is m.hermitian_svd else v.svdvals
        call.options.clear()


def by_eigenvectors(call: Call, hermitian: Any) -> None:
    """Lower ``hermitian=`` of svd: by eigenvectors, and of the lower triangle only."""
    if hermitian:
        call.operation = m.hermitian_svd
        call.options.clear()


row(np.linalg.qr, v.qr, mode=qr_mode)
row(np.linalg.eigh, v.eigh, UPLO=triangle)
row(np.linalg.eigvalsh, v.eigvalsh, UPLO=triangle)
row(np.linalg.svd, v.svd, hermitian=by_eigenvectors, compute_uv=values_alone)
row(np.linalg.svdvals, v.svdvals, None)

# ---------------------------------------------------------------- solvers

_NO_VALUE: Any = inspect.signature(np.linalg.pinv).parameters["rtol"].default


def pinv(x: Any, rcond: Any = None, hermitian: bool = False, rtol: Any = _NO_VALUE) -> Any:
    """Compute pinv with NumPy's names of the tolerance, which may differ for each matrix."""
    if rcond is None:
        rcond = 1e-15 if rtol is _NO_VALUE else rtol
    elif rtol is not _NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None or np.ndim(rcond) == 0:
        rcond = None if rcond is None else float(untraced(rcond))
        return v.pinv(x, rtol=rcond, hermitian=bool(hermitian))
    if 0 in x.shape[-2:]:  # NumPy does not read the tolerance then
        return v.matrix_transpose(x)
    shape = np.broadcast_shapes(np.shape(rcond), x.shape[:-2])
    every = v.broadcast_to(x, shape=(*shape, *x.shape[-2:]))
    limits = np.broadcast_to(untraced(rcond), shape).ravel().tolist()
    each = v.reshape(every, shape=(len(limits), *x.shape[-2:]))
    found = [v.pinv(each[i], rtol=t, hermitian=bool(hermitian)) for i, t in enumerate(limits)]
    return v.reshape(v.stack(*found), shape=(*shape, *x.shape[:-3:-1]))


def cond(x: Any, p: Any = None) -> Any:
    """Compute cond: infinite, and without a derivative, at singular matrices."""
    if 0 in x.shape[-2:]:
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    p = untraced(p)  # a direct rule passes it as an operand; it may be infinity
    try:
        return m.cond(x, p)
    except np.linalg.LinAlgError:
        plain = np.linalg.cond(untraced(x), p)
    infinite = ~np.isfinite(plain)
    v.report(infinite, message=m.SINGULAR)
    regular = v.where(infinite[..., None, None], np.eye(x.shape[-1], dtype=x.dtype), x)
    return v.where(infinite, plain, m.cond(regular, p))


# The rank is constant in the tolerance, wherever it has a derivative.
_tolerance = AsArgument("rcond", lambda value: None if value is None else float(untraced(value)))
for _f, _operation in (
    (np.linalg.cholesky, v.cholesky),
    (np.linalg.eig, v.eig),
    (np.linalg.eigvals, v.eigvals),
    (np.linalg.inv, v.inv),
    (np.linalg.pinv, pinv),
):
    row(_f, _operation)
alias(np.linalg.solve, to=v.solve, rename={"a": "x1", "b": "x2"})
alias(
    np.linalg.lstsq,
    to=v.lstsq,
    rename={"a": "x1", "b": "x2"},
    lower={"a": low.as_array("x1"), "b": low.as_array("x2"), "rcond": _tolerance},
)
row(np.linalg.cond, cond, None)
row(np.linalg.tensorinv, m.tensorinv, None)
row(np.linalg.tensorsolve, m.tensorsolve, None, a=low.as_array("a"), b=low.as_array("b"))
constants(np.linalg.matrix_rank)
