"""Rules of the singular value decomposition; derived in docs/design/decompositions.md.

The formulas are those of J. Townsend, "Differentiating the Singular Value Decomposition" (2016),
and of Z.-Q. Wan and S.-X. Zhang, arXiv:1909.02659, for complex matrices, split by partial
fractions: the gap sⱼ - sᵢ divides the part that turns U and V in the same way, the sum sᵢ + sⱼ the
part that turns them in opposite ways. Each denominator then has one numerator, which vanishes with
it if the loss is differentiable, and the quotient can be left out there.
"""

from chainrules_py.ops import (
    abs,
    concat,
    diagonal,
    expand_dims,
    from_diagonal,
    greater,
    less_equal,
    logical_and,
    matmul,
    real,
    report,
    resolution,
    svd,
    svdvals,
    where,
)
from chainrules_py.ops.hermitian_and_block_matrices import adjoint
from chainrules_py.registry.constructors import rule
from chainrules_py.rules.linalg.determinants_and_norms import dense
from chainrules_py.rules.support.spectra import (
    beyond,
    evenly,
    inverse,
    magnitude,
    off_diagonal,
    pairs,
    singled_out,
    threshold,
    unsettled,
)
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.values.dispatch_types import Array

GAUGE = (
    "svd: the loss depends on which singular vectors were returned, and others are as right: their "
    "phase (of complex matrices), or their choice within the space of singular values that are "
    "equal, too close to tell, or zero. Its derivative leaves this choice out. Differentiate what "
    "does not depend on it, such as U * f(S) @ Vh"
)
TIES = (
    "svd: singular values are equal or zero, or too close to tell, and the loss depends on U, S, "
    "Vh in a way whose derivative is not determined there. Where only S is needed, svdvals "
    "(compute_uv=False) has one: it splits ties evenly"
)
TURNING = (
    "svd: singular values are equal, too close to tell, or zero, and the tangent splits them, so "
    "that singular vectors have no derivative. Theirs leaves this out, or has no digits. Where "
    "only S is needed, use svdvals (compute_uv=False)"
)


@rule(svd, batched=True)
def svd_rule(x: Array, *, full_matrices):
    """Differentiate A = U S Vᴴ; the first k columns of U and V belong to S."""
    y = svd(x, full_matrices=full_matrices)
    return y, (LinearMap(svd_push, svd_pull, *y),)


def svd_push(x_dot, U, S, Vh):
    """dU = U Ω + (I - U Uᴴ) dA V S⁻¹, dV = V Ψ + (I - V Vᴴ) dAᴴ U S⁻¹, dS = Re diag P.

    P = Uᴴ dA V; the anti-Hermitian Ω and Ψ have (Ω + Ψ)ᵢⱼ = (P + Pᴴ)ᵢⱼ / (sⱼ - sᵢ) and
    (Ω - Ψ)ᵢⱼ = (P - Pᴴ)ᵢⱼ / (sⱼ + sᵢ).
    """
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    U1, U2, V1, V2 = halved(U, k), U[..., k:], halved(V := adjoint(Vh), k), V[..., k:]
    _, null, gap, total, s = denominators(S, m, n)
    AV, AU = matmul(x_dot, V1), matmul(adjoint(x_dot), U1)
    close, _ = near(S, m, n, errors=8.0)
    P = matmul(adjoint(U1), AV)
    alike, apart = P + adjoint(P), P - adjoint(P)
    rest_U, rest_V = AV - matmul(U1, P), AU - matmul(V1, adjoint(P))
    limit = threshold(S, x_dot)
    report(beyond(off_diagonal(close, S), alike, limit), message=TURNING)
    report(beyond(both(null), apart, limit), message=TURNING)
    U_dot = matmul(U1, 0.5 * (alike * gap + apart * total))
    V_dot = matmul(V1, 0.5 * (alike * gap - apart * total))
    if m > k:
        report(beyond(expand_dims(null, axis=-2), rest_U, limit), message=TURNING)
        U_dot = U_dot + rest_U * s
    if n > k:
        report(beyond(expand_dims(null, axis=-2), rest_V, limit), message=TURNING)
        V_dot = V_dot + rest_V * s
    if U.shape[-1] > k:
        U_dot = concat(U_dot, -matmul(U1, matmul(adjoint(rest_U * s), U2)), axis=-1)
    if V.shape[-1] > k:
        V_dot = concat(V_dot, -matmul(V1, matmul(adjoint(rest_V * s), V2)), axis=-1)
    return U_dot, real(diagonal(P)), adjoint(V_dot)


def svd_pull(y_bar, U, S, Vh):
    """Ā = U M Vᴴ + (I - U Uᴴ) Ū S⁻¹ Vᴴ + U S⁻¹ V̄ᴴ (I - V Vᴴ).

    2 Mᵢⱼ = (X + Y)ᵢⱼ / (sⱼ - sᵢ) + (X - Y)ᵢⱼ / (sⱼ + sᵢ) + 2 s̄ᵢ δᵢⱼ,
    with X = Uᴴ Ū - Ūᴴ U and Y = Vᴴ V̄ - V̄ᴴ V.
    """
    U_bar, S_bar, Vh_bar = y_bar
    S_flows, S_bar = not is_zero(S_bar), dense(S_bar, S)
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    U1, U2, V1, V2 = halved(U, k), U[..., k:], halved(V := adjoint(Vh), k), V[..., k:]
    if is_zero(U_bar) and is_zero(Vh_bar):
        # Not for speed: a loss of S alone has the kinks of svdvals, and follows its convention.
        return values_pull(S_bar, U1, S, adjoint(V1))
    U_bar, V_bar = dense(U_bar, U), adjoint(dense(Vh_bar, Vh))
    tied, null, gap, total, s = denominators(S, m, n)
    P, Q = matmul(adjoint(U1), U_bar[..., :k]), matmul(adjoint(V1), V_bar[..., :k])
    X, Y = P - adjoint(P), Q - adjoint(Q)
    limit = threshold(S, U_bar, V_bar)
    close, _ = near(S, m, n, errors=8.0)
    report(beyond(close, X + Y, limit), message=GAUGE)
    report(beyond(both(null), X - Y, limit), message=GAUGE)
    if S_flows:
        normal = P + adjoint(P) + Q + adjoint(Q)
        # A real square matrix may have a single zero value: then only a sign is undetermined.
        alone = both(null) if m != n or U.dtype != S.dtype else off_diagonal(both(null), S)
        report(unsettled(tied, close, S_bar, normal, limit, alone), message=TIES)
    else:
        report(singled_out(close, U_bar[..., :k], V_bar[..., :k]), message=GAUGE)
    left = 0.5 * ((X + Y) * gap + (X - Y) * total) + from_diagonal(S_bar, rows=k, columns=k)
    left = matmul(U1, left)
    if m > k:
        left = left + s * outside(U1, U2, U_bar, P, null, limit)
    x_bar = matmul(left, adjoint(V1))
    if n > k:
        x_bar = x_bar + matmul(U1, adjoint(s * outside(V1, V2, V_bar, Q, null, limit)))
    return x_bar


def outside(U1, U2, U_bar, P, null, limit):
    """Compute the part of Ū outside of U, (I - U Uᴴ) Ū - U₂ Ū₂ᴴ U, where U₂ completes U."""
    k = U1.shape[-1]
    rest = U_bar[..., :k] - matmul(U1, P)
    if U2.shape[-1]:
        P22 = matmul(adjoint(U2), U_bar[..., k:])
        report(greater(magnitude(P22 - adjoint(P22)), limit), message=GAUGE)
        rest = rest - matmul(U2, matmul(adjoint(U_bar[..., k:]), U1))
    report(beyond(expand_dims(null, axis=-2), rest, limit), message=GAUGE)
    return rest


# ---------------------------------------------------------------- singular values alone


@rule(svdvals, batched=True)
def svdvals_rule(x: Array):
    """dS = Re diag(Uᴴ dA V), evenly among equal ones; 0 at 0, as for the absolute value.

    The value is computed without U and V, bitwise as untraced; a half computes them when it runs.
    """
    return svdvals(x), (LinearMap(svdvals_push, svdvals_pull, x),)


def svdvals_push(x_dot, x):
    U, S, Vh = svd(x, full_matrices=False)
    tied, null = near(S, U.shape[-2], Vh.shape[-1])
    S_dot = real(diagonal(matmul(matmul(adjoint(U), x_dot), adjoint(Vh))))
    return where(null, 0.0, evenly(S_dot, S, tied, null))


def svdvals_pull(S_bar, x):
    return values_pull(S_bar, *svd(x, full_matrices=False))


def values_pull(S_bar, U, S, Vh):
    """Ā = U diag(s̄) Vᴴ."""
    tied, null = near(S, U.shape[-2], Vh.shape[-1])
    return matmul(U * expand_dims(evenly(where(null, 0.0, S_bar), S, tied, null), axis=-2), Vh)


# ---------------------------------------------------------------- equal and zero values


def near(S, m, n, errors=1.0):
    """Find which singular values are equal, and which zero, up to the error of computing them."""
    error = errors * 8.0 * max(m, n) ** 0.5 * resolution(S) * S[..., :1]
    return less_equal(abs(pairs(S)), expand_dims(error, axis=-1)), less_equal(S, error)


def denominators(S, m, n):
    """Return which are equal and zero, and 1 / (sⱼ - sᵢ), 1 / (sⱼ + sᵢ), 1 / sⱼ, or 0 there."""
    tied, null = near(S, m, n)
    total = expand_dims(S, axis=-2) + expand_dims(S, axis=-1)
    s = expand_dims(inverse(S, null), axis=-2)
    return tied, null, inverse(pairs(S), tied), inverse(total, both(null)), s


def both(null):
    """Find the pairs of two zeros."""
    return logical_and(expand_dims(null, axis=-2), expand_dims(null, axis=-1))


def halved(U, k):
    """Return the first k columns."""
    return U if U.shape[-1] == k else U[..., :k]
