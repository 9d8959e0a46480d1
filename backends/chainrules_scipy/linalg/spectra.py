"""Eigenvalues and eigenvectors."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import scipy.linalg

from chainrules_py import UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import kind_of, namespace_of
from chainrules_scipy.linalg.solving import read
from chainrules_scipy.rows import adjoint, readable, reject, stands_for, words


def _wanted(w: Any, by_index: Any, by_value: Any) -> slice:
    """Which eigenvalues are asked for; those in an interval are constant in number."""
    if by_index is not None and by_value is not None:
        reject("Either index or value subset can be requested.", ValueError)
    if by_index is not None:
        first, last = map(int, by_index)
        return slice(first, last + 1)
    if by_value is None:
        return slice(None)
    low, high = by_value
    known = readable(w)
    return slice(int(np.sum(known <= low)), int(np.sum(known <= high)))


def _hermitian(a: Any, b: Any, lower: bool, type: int) -> tuple[Any, Any]:
    """Return a Hermitian matrix with equal eigenvalues, and a function to map eigenvectors back."""
    factor = v.cholesky(b, upper=not lower)
    factor = factor if lower else adjoint(factor)
    whole = read(a, "hermitian", lower)
    if type == 1:  # a v = w b v
        right = adjoint(v.solve_triangular(factor, whole))
        return v.solve_triangular(factor, right), lambda y: v.solve_triangular(
            adjoint(factor), y, upper=True
        )
    inner = adjoint(factor) @ whole @ factor
    if type == 2:  # a b v = w v
        return inner, lambda y: v.solve_triangular(adjoint(factor), y, upper=True)
    if type != 3:
        reject(f"type={type!r}: there are 1, 2 and 3", ValueError)
    return inner, lambda y: factor @ y  # b a v = w v


@stands_for(scipy.linalg.eigh, finite="a b")
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Compute eigenvalues and eigenvectors of Hermitian matrices."""
    back: Any = lambda y: y
    if b is not None:
        (a, back), lower = _hermitian(a, b, lower, type), True
    if eigvals_only:
        w = v.eigvalsh(a, upper=not lower)
        return w[..., _wanted(w, subset_by_index, subset_by_value)]
    w, V = v.eigh(a, upper=not lower)
    wanted = _wanted(w, subset_by_index, subset_by_value)
    return w[..., wanted], back(V)[..., wanted]


def _complex(x: Any) -> Any:
    """SciPy's eigenvalues are complex, also where all are real."""
    if kind_of(x) == "complex":
        return x
    xp = namespace_of(type(x))
    return v.astype(x, dtype=xp.result_type(x.dtype, xp.complex64))


@stands_for(scipy.linalg.eig, finite="a b")
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Compute eigenvalues and right eigenvectors of matrices."""
    if homogeneous_eigvals:
        reject(
            "eig(homogeneous_eigvals=True) has no derivative here; leave it out",
            UnsupportedKeywordError,
        )
    if b is None and not left:
        if not right:
            return _complex(v.eigvals(a))
        w, V = v.eig(a)
        return _complex(w), V
    given = None if b is None else readable(b)  # by another routine, which has other phases
    b = np.eye(a.shape[-1]) if b is None else b
    if a.ndim > 2 or b.ndim > 2:
        reject(
            "eig(a, b) and eig(left=True) have no derivative here for more than one matrix",
            UnsupportedKeywordError,
        )
    theirs = scipy.linalg.eig(readable(a), given, left=True, right=True)
    w, V = v.eig(v.solve(b, a))
    assign = importlib.import_module("scipy.optimize").linear_sum_assignment  # loads much
    order = assign(np.abs(theirs[0][:, None] - readable(w)))[1]
    w, V = w[order], V[:, order]
    L = adjoint(v.inv(b @ V))
    L = L / v.sqrt(v.sum(v.real(L) ** 2 + v.imag(L) ** 2, axis=0))
    vectors = [of_phase(y, known) for y, known in zip((L, V), theirs[1:], strict=True)]
    found = [y for y, wanted in zip(vectors, (left, right), strict=True) if wanted]
    return (_complex(w), *found) if found else _complex(w)


def of_phase(V: Any, known: Any) -> Any:
    """Turn vectors to the phases that SciPy's have: these are free, and constant here."""
    overlap = np.sum(np.conj(readable(V)) * known, axis=0)
    phase = overlap / np.abs(overlap)
    return V * (phase if np.iscomplexobj(known) else phase.real)


WORDS = words(
    scipy.linalg,
    finite="a b",
    eigvals=lambda a, b, homogeneous_eigvals: eig(
        a, b, right=False, check_finite=False, homogeneous_eigvals=homogeneous_eigvals
    ),
    eigvalsh=lambda a, b, lower, type, subset_by_index, subset_by_value: eigh(  # noqa: A006
        a,
        b,
        lower=lower,
        eigvals_only=True,
        type=type,
        check_finite=False,
        subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    ),
)
