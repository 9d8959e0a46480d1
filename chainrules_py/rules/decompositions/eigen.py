"""Rules of eigenvalues and eigenvectors; derived in docs/design/decompositions.md.

M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), section 3.1, extended to complex matrices, normalised vectors,
and equal eigenvalues. Only quotients by wⱼ - wᵢ appear: they are left out between equal values, and
reported there unless their numerators vanish.
"""

from chainrules_py.ops import (
    abs,
    arange_like,
    argmax,
    conj,
    diagonal,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    equal,
    expand_dims,
    from_diagonal,
    imag,
    inv,
    less,
    less_equal,
    logical_not,
    matmul,
    matrix_transpose,
    maximum,
    real,
    report,
    resolution,
    sqrt,
    sum,
    where,
)
from chainrules_py.ops.hermitian_and_block_matrices import adjoint, hermitian
from chainrules_py.registry.constructors import rule
from chainrules_py.rules.decompositions.cholesky import read
from chainrules_py.rules.support.spectra import (
    beyond,
    evenly,
    frobenius,
    inverse,
    least,
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
    "eigh: the loss depends on which eigenvectors were returned, and others are as right: their "
    "phase (of complex matrices), or their choice within the space of eigenvalues that are equal, "
    "or too close to tell. Its derivative leaves this choice out. Differentiate what does not "
    "depend on it, such as V * f(w) @ V.conj().T"
)
TIES = (
    "eig: eigenvalues are equal, or too close to tell, and the loss depends on them and on the "
    "eigenvectors in a way whose derivative is not determined there. Where only the eigenvalues "
    "are needed, eigvals has one: it splits ties evenly"
)
TURNING = (
    "eig: eigenvalues are equal, or too close to tell, and the tangent splits them, so that "
    "eigenvectors have no derivative. Theirs leaves this out, or has no digits. Where only "
    "eigenvalues are needed, use eigvals"
)
SPACE = (
    "eig: eigenvalues are equal, and the loss depends on which eigenvectors were returned of their "
    "space. Its derivative leaves this choice out"
)
DEFECTIVE = (
    "eig: the matrix has no full set of eigenvectors, up to rounding, and the loss has no "
    "derivative there, or one without digits: eigenvalues that meet split like a root"
)
TIES_H, TURNING_H = (
    text.replace("eigvals", "eigvalsh").replace("eig:", "eigh:") for text in (TIES, TURNING)
)


# ---------------------------------------------------------------- Hermitian matrices


@rule(eigh, batched=True)
def eigh_rule(x: Array, *, upper):
    """Differentiate A = V diag(w) Vᴴ with respect to the triangle that is read."""
    y = eigh(x, upper=upper)
    return y, (LinearMap(eigh_push, eigh_pull, *y, upper),)


def eigh_push(x_dot, w, V, upper):
    """dw = diag P and dV = V (P / (wⱼ - wᵢ)), with P = Vᴴ dA V."""
    P = matmul(adjoint(V), matmul(hermitian(x_dot, upper), V))
    tied, close = near(w), near(w, errors=8.0)
    report(beyond(off_diagonal(close, w), P, threshold(w, x_dot)), message=TURNING_H)
    return real(diagonal(P)), matmul(V, P * inverse(pairs(w), tied))


def eigh_pull(y_bar, w, V, upper):
    """Ā = V M Vᴴ, Mᵢⱼ = w̄ᵢ δᵢⱼ + ½ (X - Xᴴ)ᵢⱼ / (wⱼ - wᵢ), with X = Vᴴ V̄."""
    w_bar, V_bar = y_bar
    if is_zero(V_bar):
        # Not for speed: a loss of w alone follows the convention of eigvalsh.
        return hermitian_back(w_bar, w, V, upper)
    X, tied, limit = matmul(adjoint(V), V_bar), near(w), threshold(w, V_bar)
    turn, close = X - adjoint(X), near(w, errors=8.0)
    report(beyond(close, turn, limit), message=GAUGE)
    M = 0.5 * (turn * inverse(pairs(w), tied))
    if is_zero(w_bar):
        report(singled_out(close, V_bar), message=GAUGE)
    else:
        report(unsettled(tied, close, w_bar, X + adjoint(X), limit), message=TIES_H)
        M = M + from_diagonal(w_bar, rows=w.shape[-1], columns=w.shape[-1])
    return read(matmul(matmul(V, M), adjoint(V)), upper)


@rule(eigvalsh, batched=True)
def eigvalsh_rule(x: Array, *, upper):
    """dw = diag(Vᴴ dA V), evenly among equal ones.

    The value is computed without V, bitwise as untraced; a half computes V when it runs.
    """
    return eigvalsh(x, upper=upper), (LinearMap(eigvalsh_push, eigvalsh_pull, x, upper),)


def eigvalsh_push(x_dot, x, upper):
    w, V = eigh(x, upper=upper)
    return evenly(real(sum(conj(V) * matmul(hermitian(x_dot, upper), V), axis=-2)), w, near(w))


def eigvalsh_pull(w_bar, x, upper):
    return hermitian_back(w_bar, *eigh(x, upper=upper), upper)


def hermitian_back(w_bar, w, V, upper):
    """Ā = V diag(w̄) Vᴴ."""
    return read(matmul(V * expand_dims(evenly(w_bar, w, near(w)), axis=-2), adjoint(V)), upper)


def near(w, errors=1.0):
    """Find which eigenvalues are equal, up to the error of computing them."""
    size = maximum(abs(w[..., :1]), abs(w[..., -1:]))
    error = errors * 8.0 * w.shape[-1] ** 0.5 * resolution(w) * size
    return less_equal(abs(pairs(w)), expand_dims(error, axis=-1))


# ---------------------------------------------------------------- general matrices


@rule(eig, batched=True)
def eig_rule(x: Array):
    """Differentiate A V = V diag(w); columns keep length one, and their largest elements real."""
    y = eig(x)
    return y, (LinearMap(eig_push, eig_pull, *y, x),)


def eig_push(x_dot, w, V, x):
    """dw = diag P and dV = V (P / (wⱼ - wᵢ)) up to normalisation of V, with P = V⁻¹ dA V."""
    W, tied, close, defective = left_vectors(w, V, x)
    P = matmul(W, matmul(x_dot, V))
    report(beyond(off_diagonal(close, w), P, threshold(w, x_dot)), message=TURNING)
    report(defective, message=DEFECTIVE)
    return diagonal(P), normal_push(matmul(V, P * inverse(pairs(w), tied)), V)


def eig_pull(y_bar, w, V, x):
    """Ā = V⁻ᴴ M Vᴴ, Mᵢⱼ = w̄ᵢ δᵢⱼ + Xᵢⱼ / conj(wⱼ - wᵢ), with X = Vᴴ V̄ of the normalised V."""
    w_bar, V_bar = y_bar
    W, tied, close, defective = left_vectors(w, V, x)
    if is_zero(V_bar):
        return general_back(w_bar, w, V, W, tied, defective)
    report(defective, message=DEFECTIVE)
    X = matmul(adjoint(V), normal_pull(V_bar, V))
    report(beyond(off_diagonal(close, w), X, threshold(w, V_bar)), message=SPACE)
    M = X * conj(inverse(pairs(w), tied))
    if not is_zero(w_bar):
        # The off-diagonal part of a loss of V f(w) V⁻¹ does not show in its cotangents.
        report(off_diagonal(close, w), message=TIES)
        M = M + from_diagonal(w_bar, rows=w.shape[-1], columns=w.shape[-1])
    return matmul(adjoint(W), matmul(M, adjoint(V)))


@rule(eigvals, batched=True)
def eigvals_rule(x: Array):
    """dw = diag(V⁻¹ dA V), evenly among equal ones; the value is computed without V."""
    return eigvals(x), (LinearMap(eigvals_push, eigvals_pull, x),)


def eigvals_push(x_dot, x):
    w, V = eig(x)
    W, tied, _, defective = left_vectors(w, V, x)
    w_dot = sum(matrix_transpose(W) * matmul(x_dot, V), axis=-2)
    report(beyond(defective, w_dot, least(w_dot)), message=DEFECTIVE)
    return evenly(w_dot, w, tied)


def eigvals_pull(w_bar, x):
    w, V = eig(x)
    W, tied, _, defective = left_vectors(w, V, x)
    return general_back(w_bar, w, V, W, tied, defective)


def general_back(w_bar, w, V, W, tied, defective):
    """Ā = V⁻ᴴ diag(w̄) Vᴴ."""
    # For every w̄, even equal or zero: the slope depends on how values split, which w̄ cannot show.
    report(defective, message=DEFECTIVE)
    return matmul(adjoint(W) * expand_dims(evenly(w_bar, w, tied), axis=-2), adjoint(V))


def left_vectors(w, V, x):
    """Return V⁻¹, and which eigenvalues are equal, close, or without eigenvectors of their own.

    The length κᵢ of row i of V⁻¹ is the condition number of wᵢ, which multiplies an error in A.
    """
    W = inv(V)
    condition = sqrt(sum(abs(W) * abs(W), axis=-1))  # infinite rather than NaN
    worse = maximum(expand_dims(condition, axis=-2), expand_dims(condition, axis=-1))
    apart, error = magnitude(pairs(w)), 8.0 * resolution(w) * frobenius(x) * worse
    tied, close = less_equal(apart, error), less_equal(apart, 8.0 * error)
    return W, tied, close, logical_not(less(condition, 0.125 * resolution(w) ** -0.5))


def normal_push(T, V):
    """Remove from dV = T the change of length and phase: T - v (Re vᴴ t + i Im tₖ / vₖ)."""
    along = real(sum(conj(V) * T, axis=-2, keepdims=True))
    if has_phase(V):
        chosen = largest(V)
        turn = of(chosen, T) / of(chosen, V)
        along = along + 0.5 * (turn - conj(turn))
    return T - V * along


def normal_pull(V_bar, V):
    """Compute the adjoint of `normal_push`, with r = vᴴ v̄: v̄ - v Re r - i eₖ Im r / conj(vₖ)."""
    r = sum(conj(V) * V_bar, axis=-2, keepdims=True)
    T_bar = V_bar - V * real(r)
    if has_phase(V):
        chosen = largest(V)
        T_bar = T_bar - where(chosen, 0.5 * (r - conj(r)) / conj(of(chosen, V)), 0.0)
    return T_bar


def largest(V):
    """Find the element of each column that was made real: the largest of the real ones."""
    size = abs(V)
    k = argmax(where(equal(imag(V), 0.0), 1.0 + size, size), axis=-2, keepdims=True)
    return equal(expand_dims(arange_like(V, stop=V.shape[-2]), axis=-1), k)


def of(chosen, T):
    return sum(where(chosen, T, 0.0), axis=-2, keepdims=True)


def has_phase(V):
    return V.shape[-1] > 0 and V.dtype != real(V).dtype
