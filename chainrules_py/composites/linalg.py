"""Decompositions, solvers and functions of matrices that are composed of several operations."""

import math
from typing import Any

from chainrules_py import ops as v
from chainrules_py.composites.array_api import in_the_standard
from chainrules_py.composites.products import matrix_norm
from chainrules_py.ops.hermitian_and_block_matrices import (
    adjoint,
    bordered,
    corner,
    half,
    hermitian,
    magnitude,
)
from chainrules_py.ops.linalg import SVDResult
from chainrules_py.tangents.primal_promotion import real_numbers
from chainrules_py.values.dispatch_types import Array
from chainrules_py.values.type_info import namespace

# ---------------------------------------------------------------- operations, for every library


@v.solve_triangular.implement
def solve_triangular_standard(
    x1: Array, x2: Array, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """Solve by the general `solve`, since the standard has no function for triangular systems."""
    k = 1 if unit_diagonal else 0
    a = v.triu(x1, k=k) if upper else v.tril(x1, k=-k)
    return v.solve(a + v.eye_like(a, rows=a.shape[-1]) if unit_diagonal else a, x2)


for _operation, _computed in (
    # Without inspecting the matrix.
    (v.solve_again, v.solve),
    (v.inv_again, v.inv),
    # The standard does not define which triangle of a Hermitian matrix its functions read.
    (
        v.cholesky,
        lambda x, *, upper=False: namespace(x).linalg.cholesky(hermitian(x, upper), upper=upper),
    ),
    (v.eigh, lambda x, *, upper=False: namespace(x).linalg.eigh(hermitian(x, upper))),
    (v.eigvalsh, lambda x, *, upper=False: namespace(x).linalg.eigvalsh(hermitian(x, upper))),
    # The standard's function takes any matrix, Hermitian or not.
    (
        v.pinv,
        lambda x, *, rtol=None, hermitian=False: namespace(x).linalg.pinv(
            half(x) + adjoint(half(x)) if hermitian else x, rtol=rtol
        ),
    ),
):
    in_the_standard(_operation, _computed)


@v.cholesky_cotangent.implement
def cholesky_cotangent_standard(y_bar: Array, factor: Array) -> Any:
    """Compute the cotangent by products and triangular systems of whole matrices."""
    back = adjoint(factor)
    middle = half(v.matmul(v.triu(back), v.tril(y_bar)))
    left = v.solve_triangular(back, middle + adjoint(middle), upper=True)
    return half(adjoint(v.solve_triangular(back, adjoint(left), upper=True)))


@v.cholesky_tangent.implement
def cholesky_tangent_standard(x_dot: Array, factor: Array) -> Any:
    """Compute the tangent by two triangular systems of whole matrices and a product."""
    left = v.solve_triangular(factor, hermitian(x_dot))
    return v.matmul(v.tril(factor), half(v.solve_triangular(factor, adjoint(left))))


@v.unitary_factor.implement
def unitary_factor_standard(x: Array) -> Any:
    """Compute the factor from singular vectors, whose derivatives are not used."""
    y = v.svd(x, full_matrices=False)
    return v.matmul(y[0], y[2])


@v.expm_frechet.implement
def expm_frechet_standard(x: Array, t: Array) -> Any:
    """Compute the derivative by a matrix of twice the size: eight times the work of `expm`.

    N. Higham, "Functions of Matrices" (2008), (3.16). A t much larger than x is scaled; otherwise
    `expm` would scale and square by the norm of t, and lose digits of x.
    """
    x, t = x + v.zeros_like(t), t + v.zeros_like(x)
    scale = magnitude(t)
    return corner(v.expm(bordered(x, t / scale))) * scale


# ---------------------------------------------------------------- singular values


def hermitian_svd(x: Any) -> SVDResult:
    """Compute the SVD of Hermitian matrices from their eigenvectors; S is in descending order."""
    w, u = v.eigh(x)
    order = v.flip(v.argsort(v.abs(w)), axis=-1)
    s = v.take_along_axis(v.abs(w), order, axis=-1)
    sign = v.where(v.signbit(v.take_along_axis(w, order, axis=-1)), -1.0, 1.0)
    u = v.take_along_axis(u, v.expand_dims(order, axis=-2), axis=-1)
    return SVDResult(u, s, adjoint(u * v.astype(v.expand_dims(sign, axis=-2), dtype=u.dtype)))


def hermitian_svdvals(x: Any) -> Any:
    """Compute the absolute values of the eigenvalues, in descending order."""
    return v.flip(v.sort(v.abs(v.eigvalsh(x))), axis=-1)


SINGULAR = "cond: a matrix is singular, where its condition is infinite and has no derivative"


def cond(x: Any, p: Any = None) -> Any:
    """Compute the condition number: the norm of each matrix times the norm of its inverse.

    For p = 2 (the default), or -2, it is the quotient of the first and the last singular value.
    """
    if p not in (None, 2, -2):
        if p not in ("fro", "nuc", 1, -1, math.inf, -math.inf):
            raise ValueError(f"Invalid norm order {p!r} for matrices.")
        x = real_numbers(x)
        r = matrix_norm(x, ord=p) * matrix_norm(v.inv(x), ord=p)
        known = v.logical_or(v.logical_not(v.isnan(r)), v.any(v.isnan(x), axis=(-2, -1)))
        return v.where(known, r, math.inf)
    s = v.svdvals(x)
    over, under = (s[..., -1], s[..., 0]) if p == -2 else (s[..., 0], s[..., -1])
    singular = v.equal(under, 0.0)
    v.report(singular, message=SINGULAR)
    return v.where(singular, math.inf, v.divide(over, v.where(singular, 1.0, under)))


# ---------------------------------------------------------------- tensors as matrices


def tensorinv(a: Any, ind: int = 2) -> Any:
    """Invert a as a linear map from tensors of its last axes to tensors of its first axes."""
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    inverse = v.inv(v.reshape(a, shape=(math.prod(a.shape[ind:]), -1)))
    return v.reshape(inverse, shape=(*a.shape[ind:], *a.shape[:ind]))


def tensorsolve(a: Any, b: Any, axes: tuple[int, ...] | None = None) -> Any:
    """Find the tensor that the linear map a maps to b; its axes in a are the last, or ``axes``."""
    if axes is not None:
        order = list(range(a.ndim))
        for axis in axes:
            order.remove(axis)
            order.append(axis)
        a = v.permute_dims(a, axes=tuple(order))
    shape = a.shape[-(a.ndim - b.ndim) :]
    n = math.prod(shape)
    if math.prod(a.shape) != n**2:
        raise ValueError(
            f"tensorsolve of a{list(a.shape)} and b{list(b.shape)}: the first axes of a have to "
            f"hold as many elements as the others"
        )
    return v.reshape(v.solve(v.reshape(a, shape=(n, n)), v.reshape(b, shape=(-1,))), shape=shape)
