"""Rules of the QR decomposition, and of its reflectors.

D. A. O. Roberts and L. R. Roberts, "QR and LQ decomposition matrix backpropagation algorithms for
square, wide, and deep matrices and their software implementation" (2020), arXiv:2009.10071, for
real matrices; for complex ones, whose R has a real diagonal, docs/design/decompositions.md.
"""

from chainrules_py.ops import (
    abs,
    concat,
    conj,
    diagonal,
    equal,
    eye_like,
    from_diagonal,
    greater,
    less_equal,
    matmul,
    matrix_transpose,
    qr,
    qr_raw,
    real,
    report,
    resolution,
    solve_triangular,
    sum,
    tril,
    triu,
    where,
    zeros_like,
)
from chainrules_py.ops.hermitian_and_block_matrices import adjoint, half
from chainrules_py.registry.constructors import rule
from chainrules_py.rules.linalg.determinants_and_norms import dense
from chainrules_py.rules.support.spectra import frobenius, magnitude
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.values.dispatch_types import Array

DEPENDENT = (
    "qr: the first columns depend on each other, so that Q is not determined, and neither Q nor R "
    "has a derivative"
)
GAUGE = (
    "qr: the loss depends on which columns complete Q, and others are as right. Its derivative "
    "leaves this choice out. Differentiate what does not depend on it, such as Q2 @ Q2.conj().T"
)
REFLECTED = (
    "qr: a column has nothing below the diagonal, where the reflector that is made of it jumps; it "
    "has no derivative"
)


@rule(qr, batched=True)
def qr_rule(x: Array, *, mode):
    """Differentiate A = Q R: the first k = min(m, n) columns of Q and of A determine each other."""
    y = qr(x, mode=mode)
    return y, (LinearMap(qr_push, qr_pull, *y),)


def qr_push(x_dot, Q, R):
    """dQ = B - Q T, dR₁ = T R₁, dR₂ = Qᴴ dA₂ - (C - T) R₂ with B = dA₁ R₁⁻¹, C = Qᴴ B.

    C = Qᴴ dQ + dR₁ R₁⁻¹ is the sum of an anti-Hermitian matrix and the triangular T with real
    diagonal: T = Φ(C + Cᴴ). Further columns of Q change by -Q (Q₂ᴴ dQ)ᴴ.
    """
    Q1, Q2, R1, R2 = parts(Q, R)
    k = R1.shape[-1]
    B = divided(x_dot[..., :k], R1)
    C = matmul(adjoint(Q1), B)
    T = half(C + adjoint(C), upper=True)
    Q_dot, R_dot = B - matmul(Q1, T), matmul(T, R1)
    if R.shape[-1] > k:
        R2_dot = matmul(adjoint(Q1), x_dot[..., k:]) - matmul(C - T, R2)
        R_dot = concat(R_dot, R2_dot, axis=-1)
    if Q.shape[-1] > k:
        Q_dot = concat(Q_dot, -matmul(Q1, matmul(adjoint(Q_dot), Q2)), axis=-1)
        R_dot = concat(R_dot, zeros_like(x_dot[..., k:, :]), axis=-2)
    return Q_dot, R_dot


def qr_pull(y_bar, Q, R):
    """Ā₁ = (Q̄ + Q (Φ(W) + Φ(W)ᴴ - R̄₂ R₂ᴴ)) R₁⁻ᴴ, Ā₂ = Q R̄₂, with W = R̄ Rᴴ - Qᴴ Q̄."""
    Q1, Q2, R1, R2 = parts(Q, R)
    k = R1.shape[-1]
    Q_bar, R_bar = dense(y_bar[0], Q), dense(y_bar[1], R)[..., :k, :]
    Q1_bar = Q_bar[..., :k]
    if Q.shape[-1] > k:
        Q2_bar = Q_bar[..., k:]
        P = matmul(adjoint(Q2), Q2_bar)
        size = sum(magnitude(Q2_bar), axis=(-2, -1), keepdims=True) / Q2.shape[-1]
        report(greater(magnitude(P - adjoint(P)), resolution(R) ** 0.5 * size), message=GAUGE)
        Q1_bar = Q1_bar - matmul(Q2, matmul(adjoint(Q2_bar), Q1))
    R1_bar, R2_bar = R_bar[..., :k], R_bar[..., k:]
    beside = matmul(R2_bar, adjoint(R2))
    W = matmul(R1_bar, adjoint(R1)) + beside - matmul(adjoint(Q1), Q1_bar)
    upper = half(W, upper=True)
    first = Q1_bar + matmul(Q1, upper + adjoint(upper) - beside)
    if R.shape[-1] == k:
        return divided_back(first, R1)
    # With several directions at once, R̄ may lack their axis if it is zero in all of them.
    A2_bar = matmul(Q1, R2_bar) + zeros_like(sum(first, axis=-1, keepdims=True))
    return concat(divided_back(first, R1), A2_bar, axis=-1)


def parts(Q, R):
    """Return Q₁, Q₂, R₁ and R₂, with ones in place of zeros on the diagonal of R₁."""
    k = min(Q.shape[-2], R.shape[-1])
    R1 = R[..., :k, :k]
    d, size = abs(diagonal(R1)), frobenius(R1)[..., 0]
    zero = less_equal(d, 8.0 * resolution(R) * size)
    report(zero, message=DEPENDENT)
    R1 = R1 + from_diagonal(where(zero, 1.0, 0.0 * d), rows=k, columns=k)
    return Q[..., :k], Q[..., k:], R1, R[..., :k, k:]


def divided(a, R):
    """Compute A R⁻¹."""
    return adjoint(solve_triangular(adjoint(R), adjoint(a)))


def divided_back(a, R):
    """Compute A R⁻ᴴ."""
    return adjoint(solve_triangular(R, adjoint(a), upper=True))


# ---------------------------------------------------------------- reflectors


@rule(qr_raw)
def qr_raw_rule(x: Array):
    """Q - I = V N, where V holds the reflectors, unit lower trapezoidal, and N is upper triangular.

    So V and N are the factors of Q - I by Gaussian elimination, and -τ is the diagonal of N.
    """
    h, tau = qr_raw(x)
    return (h, tau), (LinearMap(raw_push, raw_pull, h, tau, *qr(x, mode="reduced")),)


def raw_push(x_dot, h, tau, Q, R):
    """dV = B - V triu(X), dτᵢ = τᵢ Xᵢᵢ, with B = dQ N⁻¹ and X = V₁⁻¹ B₁."""
    V, N, tau = reflectors(h, tau, Q)
    Q_dot, R_dot = qr_push(x_dot, Q, R)
    m, k = Q.shape[-2:]
    B = divided(Q_dot, N)
    X = solve_triangular(V[..., :k, :], B[..., :k, :], unit_diagonal=True)
    V_dot = tril(B - matmul(V, triu(X)), k=-1)
    if R.shape[-1] > k:
        V_dot = concat(V_dot, zeros_like(R_dot[..., k:]), axis=-1)
    if m > k:
        R_dot = concat(R_dot, zeros_like(x_dot[..., k:, :]), axis=-2)
    return matrix_transpose(V_dot + R_dot), diagonal(X) * tau


def raw_pull(y_bar, h, tau, Q, R):
    V, N, tau = reflectors(h, tau, Q)
    m, k = Q.shape[-2:]
    packed = matrix_transpose(dense(y_bar[0], h))
    V_bar = tril(packed, k=-1)[..., :k]
    X_bar = from_diagonal(dense(y_bar[1], tau) * conj(tau), rows=k, columns=k)
    X_bar = X_bar - triu(matmul(adjoint(V), V_bar))
    B_bar = solve_triangular(adjoint(V[..., :k, :]), X_bar, upper=True, unit_diagonal=True)
    if m > k:
        B_bar = concat(B_bar, zeros_like(V_bar[..., k:, :]), axis=-2)
    return qr_pull((divided_back(V_bar + B_bar, N), triu(packed)[..., :k, :]), Q, R)


def reflectors(h, tau, Q):
    """Return V, N and τ, with 1 in place of zeros: the last reflector may be trivial."""
    m, k = Q.shape[-2:]
    is_real, unit = real(tau).dtype == tau.dtype, eye_like(Q, rows=m, columns=k)
    V = tril(matrix_transpose(h)[..., :k], k=-1) + unit
    N = triu(solve_triangular(V[..., :k, :], (Q - unit)[..., :k, :], unit_diagonal=True))
    zero = equal(tau, 0.0)
    report(zero[..., : k - 1 if is_real and m == k else k], message=REFLECTED)
    tau = where(zero, 1.0, tau)
    return V, N + from_diagonal(-tau - diagonal(N), rows=k, columns=k), tau
