"""Rules of matrix functions and matrix equations.

N. J. Higham, "Functions of Matrices" (2008), is the source where no other is named: chapter 3 on
Fréchet derivatives. L(A, E) is the derivative of a function at A along E. It is Σ f[λᵢ, λⱼ] Pᵢ E Pⱼ
with the projectors on A's eigenspaces, so that its adjoint maps Ȳ to L(A, Ȳᴴ)ᴴ, even if f is not
real on the real axis.
"""

from chainrules_py.errors import NotDifferentiableError
from chainrules_py.ops import (
    argsort,
    astype,
    broadcast_to,
    expand_dims,
    expm,
    expm_frechet,
    imag,
    logm,
    lu_factor,
    matmul,
    matrix_rank,
    max,
    real,
    report,
    solve,
    solve_sylvester,
    solve_triangular,
    sqrtm,
    take_along_axis,
    tril,
    triu,
    unitary_factor,
    zeros_like,
)
from chainrules_py.ops.hermitian_and_block_matrices import (
    adjoint,
    blocks,
    bordered,
    corner,
    magnitude,
)
from chainrules_py.registry.constructors import rule
from chainrules_py.rules.linalg.determinants_and_norms import dense
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.space import kind_of
from chainrules_py.tangents.zeros import NoTangent
from chainrules_py.values.dispatch_types import Array

# ---------------------------------------------------------------------------------- functions


@rule(expm, batched=True)
def expm_rule(x: Array):
    return expm(x), (LinearMap(expm_push, expm_pull, x),)


def expm_push(x_dot, x):
    return expm_frechet(x, x_dot)


def expm_pull(y_bar, x):
    return adjoint(expm_frechet(x, adjoint(y_bar)))


@rule(expm_frechet, batched="broadcast")
def expm_frechet_rule(x: Array, t: Array):
    """Linear in t; in x, the corner of L([[x, t], [0, x]], [[dx, 0], [0, dx]])."""
    in_x = LinearMap(second_push, second_pull, x, t)
    return expm_frechet(x, t), (in_x, LinearMap(expm_push, expm_pull, x))


def second_push(x_dot, x, t):
    zero = zeros_like(x_dot)
    return corner(expm_frechet(bordered(x, t), blocks(x_dot, zero, zero, x_dot)))


def second_pull(y_bar, x, t):
    zero, n = zeros_like(y_bar), x.shape[-1]
    found = expm_frechet(adjoint(bordered(x, t)), blocks(zero, y_bar, zero, zero))
    return found[..., :n, :n] + found[..., n:, n:]


@rule(logm, batched=True)
def logm_rule(x: Array):
    y = logm(x)
    return y, (LinearMap(logm_push, logm_pull, x, kind_of(y)),)


def logm_push(x_dot, x, kind):
    if kind_of(x_dot) == "complex" != kind_of(x):
        # For a real matrix, both copies of a negative eigenvalue are on the same side of the cut.
        return logm_push(real(x_dot), x, kind) + 1j * logm_push(imag(x_dot), x, kind)
    # SciPy's algorithm overflows where the diagonal blocks are much smaller than the corner.
    scale, large = magnitude(x_dot), magnitude(8.0 / max(abs(x), axis=(-2, -1), keepdims=True))
    y_dot = corner(logm(bordered(x * large, x_dot / scale))) * scale * large
    if kind_of(y_dot) == "complex" != kind:  # rounding errors beside 0 are beyond the cut
        raise NotDifferentiableError("the logarithm of a singular matrix has no derivative")
    return y_dot


def logm_pull(y_bar, x, kind):
    return adjoint(logm_push(adjoint(y_bar), x, kind))


@rule(sqrtm, batched=True)
def sqrtm_rule(x: Array):
    """Y dY + dY Y = dX: (6.2)."""
    y = sqrtm(x)
    return y, (LinearMap(sqrtm_push, lambda y_bar, y: sqrtm_push(y_bar, adjoint(y)), y),)


def sqrtm_push(x_dot, y):
    report(
        matrix_rank(y) < y.shape[-1],
        message="the square root of a singular matrix has no derivative",
    )
    return solve_sylvester(y, y, x_dot)


@rule(unitary_factor, batched=True)
def unitary_factor_rule(x: Array):
    """X = Y P with Hermitian P: Yᴴ dY = Ω with Ω P + P Ω = Yᴴ dX - dXᴴ Y.

    The part of dX orthogonal to Y is multiplied by P⁻¹. Higham, theorem 8.9 and problem 8.13, for a
    square X.
    """
    y = unitary_factor(x)
    wide = x.shape[-2] < x.shape[-1]
    a, u = (adjoint(x), adjoint(y)) if wide else (x, y)
    return y, (LinearMap(unitary_push, unitary_pull, u, matmul(adjoint(u), a), wide),)


def unitary_push(x_dot, y, p, wide):
    if wide:
        return adjoint(unitary_push(adjoint(x_dot), y, p, False))
    g = matmul(adjoint(y), x_dot)
    return matmul(y, solve_sylvester(p, p, g - adjoint(g))) + beside(x_dot, g, y, p)


def unitary_pull(y_bar, y, p, wide):
    if wide:
        return adjoint(unitary_pull(adjoint(y_bar), y, p, False))
    g = matmul(adjoint(y), y_bar)
    w = solve_sylvester(p, p, g)
    return matmul(y, w - adjoint(w)) + beside(y_bar, g, y, p)


def beside(t, g, y, p):
    """Compute (t - Y Yᴴ t) P⁻¹, which is 0 for a square Y."""
    if y.shape[-2] == y.shape[-1]:
        return zeros_like(t)
    return adjoint(solve(p, adjoint(t - matmul(y, g))))


# ---------------------------------------------------------------------------------- equations


@rule(solve_sylvester, batched="broadcast")
def solve_sylvester_rule(a: Array, b: Array, q: Array):
    """Solve AY + YB = Q: dY = S(A,B,dQ - dA Y - Y dB), Q̄ = S(Aᴴ,Bᴴ,Ȳ), Ā = -Q̄ Yᴴ, B̄ = -Yᴴ Q̄."""
    y = solve_sylvester(a, b, q)
    return y, (
        LinearMap(left_push, left_pull, a, b, y),
        LinearMap(right_push, right_pull, a, b, y),
        LinearMap(q_push, q_pull, a, b),
    )


def q_push(q_dot, a, b):
    return solve_sylvester(a, b, q_dot)


def q_pull(y_bar, a, b):
    return solve_sylvester(adjoint(a), adjoint(b), y_bar)


def left_push(a_dot, a, b, y):
    return -q_push(matmul(a_dot, y), a, b)


def left_pull(y_bar, a, b, y):
    return -matmul(q_pull(y_bar, a, b), adjoint(y))


def right_push(b_dot, a, b, y):
    return -q_push(matmul(y, b_dot), a, b)


def right_pull(y_bar, a, b, y):
    return -matmul(adjoint(y), q_pull(y_bar, a, b))


# ---------------------------------------------------------------------------------- factors


@rule(lu_factor, batched=True)
def lu_factor_rule(x: Array):
    """M = L⁻¹ P dX U⁻¹: dL = L tril(M, -1), dU = triu(M) U.

    F. de Hoog, R. Anderssen, M. Lukas, "Differentiation of matrix functionals using triangular
    factorization", Math. Comp. 80 (2011), theorem 2.
    """
    y = lu_factor(x)
    return y, (LinearMap(lu_push, lu_pull, *y),)


def lu_push(x_dot, lu, pivots, p):
    m = astype(_reordered(x_dot, p), dtype=lu.dtype)  # SciPy's factors of float16 are float32
    m = solve_triangular(lu, m, unit_diagonal=True)
    m = adjoint(solve_triangular(adjoint(lu), adjoint(m)))
    lower = tril(lu, k=-1)
    lu_dot = tril(m, k=-1) + matmul(lower, tril(m, k=-1)) + matmul(triu(m), triu(lu))
    return lu_dot, NoTangent(), NoTangent()


def lu_pull(y_bar, lu, pivots, p):
    lu_bar = dense(y_bar[0], lu)
    l_bar, u_bar = tril(lu_bar, k=-1), triu(lu_bar)
    m = tril(l_bar + matmul(adjoint(tril(lu, k=-1)), l_bar), k=-1)
    m = m + triu(matmul(u_bar, adjoint(triu(lu))))
    m = solve_triangular(adjoint(lu), m, upper=True, unit_diagonal=True)
    return _reordered(adjoint(solve_triangular(lu, adjoint(m), upper=True)), argsort(p))


def _reordered(rows, places):
    """Reorder the rows of each matrix, in the same way in all directions."""
    places = expand_dims(places, axis=-1)
    return take_along_axis(rows, broadcast_to(places, shape=(*rows.shape[:-1], 1)), axis=-2)
