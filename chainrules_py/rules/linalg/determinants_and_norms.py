"""Rules of determinants and of norms.

The determinant is a polynomial: the rules do not divide by it, so they hold for singular matrices.
M. B. Giles (2008), section 2.2.3, with adj(A) in place of det(A) A⁻¹.
"""

import math

from chainrules_py.ops import (
    abs,
    adjugate,
    conj,
    det,
    diagonal,
    equal,
    expand_dims,
    eye_like,
    flip,
    inv_again,
    matmul,
    matrix_transpose,
    max,
    min,
    pow,
    real,
    roll,
    sign,
    slogdet,
    solve,
    sum,
    svd,
    trace,
    vector_norm,
    where,
    zeros_like,
)
from chainrules_py.ops.hermitian_and_block_matrices import adjoint
from chainrules_py.registry.constructors import rule
from chainrules_py.rules.elementwise import unit
from chainrules_py.rules.reductions import kept, products_of_others, weighted_sum
from chainrules_py.rules.support.batching_rules import from_end
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.zeros import ZeroTangent, is_zero
from chainrules_py.values.dispatch_types import Array

MATRIX = (-2, -1)


@rule(det, batched=True)
def det_rule(x: Array):
    """d det(A) = tr(adj(A) dA): Jacobi's formula."""
    return det(x), (weighted_sum(known, MATRIX, False, matrix_transpose(adjugate(x))),)


def known(weights, axis):
    return weights


@rule(adjugate, batched=True)
def adjugate_rule(x: Array):
    """With A = U S Vᴴ, adj(A) = φ V adj(S) Uᴴ, where φ = det(U) det(Vᴴ).

    With F = Uᴴ dA V and P_ij = Π_{k≠i,j} s_k, the derivative of adj(S) is -P_ij F_ij off the
    diagonal, and Σ_{j≠i} P_ij F_jj on it. It is a polynomial in S, so that S may have zeros and
    equal values: the derivative of the result does not depend on the choice of U and V. But that of
    the derivative is computed from those of U and V, which equal values have none of; the elements
    of small matrices need no decomposition.
    """
    if x.shape[-1] in (2, 3):
        finite_or_nan = x + sum(x - x, axis=MATRIX, keepdims=True)
        return adjugate(x), (LinearMap(minors_push, minors_pull, finite_or_nan),)
    # LAPACK may not return from infinite elements: the phase is NaN then.
    u, s, vh = svd(where(equal(x - x, 0), x, 0), full_matrices=False)
    phase = expand_dims(slogdet(u)[0] * slogdet(vh)[0], axis=MATRIX) + sum(
        x - x, axis=MATRIX, keepdims=True
    )
    # Row i holds all values except s_i, replaced by 1; their products leave out each pair.
    diagonal_places = equal(eye_like(s, rows=s.shape[-1]), 1)
    pairs = products_of_others(where(diagonal_places, 1, expand_dims(s, axis=-2)), axis=(-1,))
    return adjugate(x), (
        LinearMap(adjugate_push, adjugate_pull, u, vh, phase, where(diagonal_places, 0, pairs)),
    )


def minors_push(x_dot, x):
    return matrix_transpose(minors(x_dot, x))


def minors_pull(y_bar, x):
    return minors(matrix_transpose(y_bar), conj(x))


def minors(f, x):
    """Compute the derivative of the cofactors of 2 x 2 or 3 x 3 matrices along F.

    <G, minors(F, X)> is symmetric in F, G and X, as is the second derivative of a determinant.
    """
    if x.shape[-1] == 2:
        return where(equal(eye_like(f, rows=2), 1), 1, -1) * flip(f, axis=MATRIX)
    (f00, f01, f10, f11), (x00, x01, x10, x11) = [
        [roll(t, shift=shift, axis=MATRIX) for shift in ((-1, -1), (-1, 1), (1, -1), (1, 1))]
        for t in (f, x)
    ]
    return f00 * x11 + x00 * f11 - f01 * x10 - x01 * f10


def adjugate_push(x_dot, u, vh, phase, pairs):
    f = matmul(matmul(adjoint(u), x_dot), adjoint(vh))
    return phase * matmul(matmul(adjoint(vh), moved(f, pairs)), adjoint(u))


def adjugate_pull(y_bar, u, vh, phase, pairs):
    return matmul(matmul(u, moved(matmul(matmul(vh, conj(phase) * y_bar), u), pairs)), vh)


def moved(f, pairs):
    """Compute the derivative of adj(S) along F; self-adjoint, since P is real and symmetric."""
    on = sum(pairs * expand_dims(diagonal(f), axis=-2), axis=-1)
    return eye_like(on, rows=f.shape[-1]) * expand_dims(on, axis=-1) - f * pairs


# ---------------------------------------------------------------- norms


@rule(vector_norm, batched=True)
def vector_norm_rule(x: Array, *, axis, keepdims, ord):
    """dy = Re<d, dx>, where d is sign(x) (|x|/y)^(p-1): of length one in the dual norm.

    At zero, d is 0; for infinite orders, tied elements share it evenly.
    """
    y = vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    return y, (LinearMap(norm_push, norm_pull, x, y, from_end(axis, x.ndim), keepdims, ord),)


def direction(x, y, axis, keepdims, ord):
    """Compute d, in the shape of x."""
    y = kept(y, axis, keepdims)
    if ord == 2:
        return unit(x, y)
    safe = where(equal(y, 0), 1, y)
    if ord in (float("inf"), -float("inf")):
        if not math.prod(x.shape):
            return zeros_like(x)
        # Not y: abs of a complex number may differ in the last bit between memory layouts.
        sizes, extreme = abs(x), max if ord > 0 else min
        tied = where(equal(sizes, extreme(sizes, axis=axis, keepdims=True)), 1, zeros_like(y))
        return sign(x) * tied / sum(tied, axis=axis, keepdims=True)
    if ord == 0:  # a count
        return zeros_like(x)
    if ord == 1:
        return sign(x)
    size = abs(x) / safe
    still = equal(size, 0)
    return where(still, 0, sign(x) * pow(where(still, 1, size), ord - 1))


def norm_push(x_dot, x, y, axis, keepdims, ord):
    along = conj(direction(x, y, axis, keepdims, ord)) * x_dot
    return sum(real(along), axis=axis, keepdims=keepdims)


def norm_pull(y_bar, x, y, axis, keepdims, ord):
    return kept(y_bar, axis, keepdims) * direction(x, y, axis, keepdims, ord)


# ---------------------------------------------------------------- logarithms of determinants


def dense(t, like):
    """Return the cotangent of one of several results, as an array of zeros if it is zero."""
    return zeros_like(like) if is_zero(t) else t


@rule(slogdet, batched=True)
def slogdet_rule(x: Array):
    """d log|det A| = Re t and ds = i s Im t for t = tr(A⁻¹ dA).  Giles, section 2.2.4.

    The sign of a real A is constant.
    """
    y = slogdet(x)
    of_real, of_complex = (slogdet_push_real, slogdet_pull_real), (slogdet_push, slogdet_pull)
    return y, (LinearMap(*(of_real if y[0].dtype == y[1].dtype else of_complex), x, *y),)


# NaN for singular matrices: an error would stop programs that use the sign alone.
def regular(x, logabsdet):
    return where(equal(kept(logabsdet, MATRIX, False), -math.inf), math.nan, x)


def relative(x_dot, x, logabsdet):
    return trace(solve(regular(x, logabsdet), x_dot))


def spread(t_bar, x, logabsdet):
    return expand_dims(t_bar, axis=MATRIX) * adjoint(inv_again(regular(x, logabsdet)))


def slogdet_push_real(x_dot, x, sign, logabsdet):
    return ZeroTangent(), relative(x_dot, x, logabsdet)


def slogdet_pull_real(y_bar, x, sign, logabsdet):
    bar = y_bar[1]  # zero if it is of the sign alone
    return bar if is_zero(bar) else spread(bar, x, logabsdet)


def slogdet_push(x_dot, x, sign, logabsdet):
    t = relative(x_dot, x, logabsdet)
    return 0.5 * sign * (t - conj(t)), real(t)


def slogdet_pull(y_bar, x, sign, logabsdet):
    turn = conj(sign) * dense(y_bar[0], sign)
    return spread(dense(y_bar[1], logabsdet) + 0.5 * (turn - conj(turn)), x, logabsdet)
