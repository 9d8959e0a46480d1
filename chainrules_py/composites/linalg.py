"""Decompositions, solvers and functions of matrices, computed by several operations."""

from typing import Any

from chainrules_py import ops as v
from chainrules_py.composites.array_api_signature_differences import in_the_standard
from chainrules_py.ops.hermitian_and_block_matrices import (
    adjoint,
    bordered,
    corner,
    half,
    hermitian,
    magnitude,
)
from chainrules_py.values.dispatch_types import Array
from chainrules_py.values.type_info import namespace


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


@v.adjugate.implement
def adjugate_by_svd(x: Array) -> Any:
    """Compute the adjugate from the products of all singular values but one."""
    u, s, vh = v.svd(x, full_matrices=False)
    phase = v.slogdet(u)[0] * v.slogdet(vh)[0]
    before = v.cumulative_prod(s, axis=-1, include_initial=True)[..., :-1]
    after = v.cumulative_prod(v.flip(s, axis=-1), axis=-1, include_initial=True)[..., :-1]
    others = v.expand_dims(before * v.flip(after, axis=-1), axis=-2)
    turned = v.matmul(adjoint(vh) * others, adjoint(u))
    return v.expand_dims(v.expand_dims(phase, axis=-1), axis=-1) * turned
