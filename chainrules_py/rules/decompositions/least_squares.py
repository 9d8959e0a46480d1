"""Rules of the pseudoinverse and of least squares, of full rank and of constant lower rank.

G. H. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares
problems whose variables separate", SIAM J. Numer. Anal. 10 (1973), eq. (4.12). Where the rank
changes there is no derivative: this is the derivative along matrices of the same rank.
"""

from chainrules_py.ops import (
    conj,
    expand_dims,
    greater,
    lstsq,
    matmul,
    matrix_rank,
    not_equal,
    pinv,
    real,
    sum,
    svd,
    where,
    zeros_like,
)
from chainrules_py.ops.hermitian_and_block_matrices import adjoint, hermitian
from chainrules_py.registry.constructors import non_differentiable, rule
from chainrules_py.rules.decompositions.cholesky import read
from chainrules_py.rules.decompositions.svd import svdvals_pull, svdvals_push
from chainrules_py.rules.linalg.linear_systems import as_given, columns
from chainrules_py.tangents.arithmetic import add_tangents
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.primal_promotion import promoted
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent, is_zero
from chainrules_py.values.dispatch_types import Array

non_differentiable(matrix_rank)

# Values below a cut-off of at most this fraction of the first are treated as zeros with an error.
NEGLIGIBLE = 1e-12


@rule(pinv, batched=True)
def pinv_rule(x: Array, *, rtol, hermitian):
    """dY = D(dA)ᴴ and Ā = D(Ȳᴴ), with the self-adjoint D from `turned`."""
    y = pinv(x, rtol=rtol, hermitian=hermitian)
    return y, (LinearMap(pinv_push, pinv_pull, x, y, rtol, hermitian),)


def pinv_push(x_dot, x, y, rtol, symmetric):
    if symmetric:
        x, x_dot = hermitian(x), hermitian(x_dot)
    return adjoint(turned(x_dot, x, y, rtol))


def pinv_pull(y_bar, x, y, rtol, symmetric):
    x_bar = turned(adjoint(y_bar), hermitian(x) if symmetric else x, y, rtol)
    return read(x_bar) if symmetric else x_bar


def turned(Z, A, Y, rtol):
    """D(Z) = -Yᴴ Zᴴ Yᴴ + (I - A Y) Z Y Yᴴ + Yᴴ Y Z (I - Y A).  Golub and Pereyra, eq. (4.12)."""
    if rtol is not None and rtol > NEGLIGIBLE:
        return truncated(Z, A, rtol)
    Yh, YZ, ZY = adjoint(Y), matmul(Y, Z), matmul(Z, Y)
    left = matmul(ZY - matmul(A, matmul(YZ, Y)), Yh)
    return left + matmul(Yh, YZ - matmul(matmul(Y, ZY), A)) - matmul(matmul(Yh, adjoint(Z)), Yh)


def truncated(Z, A, rtol):
    """Compute D(Z) if cut-off values are not zero, from Y = V g(S) Uᴴ with g = 1/s, or 0 if cut.

    With P = Uᴴ Z V, D(Z) = U M Vᴴ + (Z V - U P) g² Vᴴ + U g² (Uᴴ Z - P Vᴴ), where
    2 Mᵢⱼ = (P + Pᴴ)ᵢⱼ (gⱼ - gᵢ)/(sⱼ - sᵢ) + (P - Pᴴ)ᵢⱼ (gⱼ + gᵢ)/(sⱼ + sᵢ).
    """
    U, S, Vh = svd(A, full_matrices=False)
    Uh, V = adjoint(U), adjoint(Vh)
    kept = greater(S, rtol * S[..., :1])
    g = where(kept, 1.0 / where(kept, S, 1.0), 0.0)
    (si, sj), (gi, gj), (ki, kj) = rows_and_columns(S), rows_and_columns(g), rows_and_columns(kept)
    one = not_equal(ki, kj)
    alike = where(one, (gj - gi) / where(one, sj - si, 1.0), -gi * gj)
    apart = where(one, (gj + gi) / where(one, sj + si, 1.0), gi * gj)
    ZV, UhZ = matmul(Z, V), matmul(Uh, Z)
    P = matmul(Uh, ZV)
    M = 0.5 * ((P + adjoint(P)) * alike + (P - adjoint(P)) * apart)
    left = matmul(U, M) + (ZV - matmul(U, P)) * expand_dims(g * g, axis=-2)
    return matmul(left, Vh) + matmul(U * expand_dims(g * g, axis=-2), UhZ - matmul(P, Vh))


def rows_and_columns(s):
    return expand_dims(s, axis=-1), expand_dims(s, axis=-2)


# ---------------------------------------------------------------- least squares


@rule(lstsq, batched=True)
def lstsq_rule(a: Array, b: Array, *, rcond):
    """X = A⁺ B; the squared residuals ρ of R = B - A X have dρ = 2 Re diag Rᴴ (dB - dA X).

    All halves use one pseudoinverse.
    """
    y = x, residuals, _, _ = lstsq(a, b, rcond=rcond)
    rtol = tolerance(rcond, a.shape)
    vector, with_residuals = b.ndim == 1, residuals.shape[0] > 0
    a, b = promoted(a, real(x)), promoted(b, real(x))
    b, x = columns(b, vector), columns(x, vector)
    A, R = pinv(a, rtol=rtol), b - matmul(a, x)
    return y, (
        LinearMap(matrix_push, matrix_pull, a, b, x, R, A, rtol, vector, with_residuals),
        LinearMap(target_push, target_pull, R, A, vector, with_residuals),
    )


def tolerance(rcond, shape):
    """Return the tolerance of LAPACK, which uses double precision and takes only 0 < rcond < 1."""
    if rcond is None:
        return max(shape) * 2.0**-52
    return rcond if 0 < rcond < 1 else 2.0**-53


def matrix_push(a_dot, a, b, x, R, A, rtol, vector, with_residuals):
    x_dot = moved(a_dot, a, b, x, R, A, rtol)
    residuals = residuals_push(-matmul(a_dot, x), R) if with_residuals else ZeroTangent()
    return as_given(x_dot, vector), residuals, NoTangent(), svdvals_push(a_dot, a)


def matrix_pull(y_bar, a, b, x, R, A, rtol, vector, with_residuals):
    x_bar, residuals_bar, _, s_bar = y_bar
    a_bar = zeros_like(a)
    if not is_zero(x_bar):
        a_bar = moved_back(columns(x_bar, vector), a, b, x, R, A, rtol)
    if with_residuals and not is_zero(residuals_bar):
        a_bar = a_bar - matmul(R * expand_dims(2.0 * residuals_bar, axis=-2), adjoint(x))
    return a_bar if is_zero(s_bar) else a_bar + svdvals_pull(s_bar, a)


def moved(a_dot, a, b, x, R, A, rtol):
    """D(dA)ᴴ B = A⁺ (A⁺ᴴ dAᴴ R - dA X - A Z) + Z with Z = dAᴴ A⁺ᴴ X, for X = A⁺ B."""
    if rtol > NEGLIGIBLE:
        return matmul(adjoint(truncated(a_dot, a, rtol)), b)
    Z = matmul(adjoint(a_dot), matmul(adjoint(A), x))
    inner = matmul(adjoint(A), matmul(adjoint(a_dot), R)) - matmul(a_dot, x)
    return matmul(A, inner - matmul(a, Z)) + Z


def moved_back(x_bar, a, b, x, R, A, rtol):
    """D(B X̄ᴴ) = R (A⁺ G)ᴴ - G Xᴴ + A⁺ᴴ X (X̄ - Aᴴ G)ᴴ with G = A⁺ᴴ X̄, for X = A⁺ B."""
    if rtol > NEGLIGIBLE:
        return truncated(matmul(b, adjoint(x_bar)), a, rtol)
    G = matmul(adjoint(A), x_bar)
    a_bar = matmul(R, adjoint(matmul(A, G))) - matmul(G, adjoint(x))
    return a_bar + matmul(matmul(adjoint(A), x), adjoint(x_bar - matmul(adjoint(a), G)))


def target_push(b_dot, R, A, vector, with_residuals):
    b_dot = columns(b_dot, vector)
    residuals = residuals_push(b_dot, R) if with_residuals else ZeroTangent()
    return as_given(matmul(A, b_dot), vector), residuals, NoTangent(), ZeroTangent()


def target_pull(y_bar, R, A, vector, with_residuals):
    x_bar, residuals_bar, _, _ = y_bar
    of_x = x_bar if is_zero(x_bar) else matmul(adjoint(A), columns(x_bar, vector))
    moves = with_residuals and not is_zero(residuals_bar)
    of_residuals = R * expand_dims(2.0 * residuals_bar, axis=-2) if moves else ZeroTangent()
    b_bar = add_tangents(of_x, of_residuals)
    return b_bar if is_zero(b_bar) else as_given(b_bar, vector)


def residuals_push(R_dot, R):
    return 2.0 * real(sum(conj(R) * R_dot, axis=-2))
