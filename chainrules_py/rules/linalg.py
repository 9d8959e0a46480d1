"""Rules of linear algebra. Un-broadcasting batch axes is the projection's business.

M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), is the source where no other is named.
"""

from chainrules_py.arrays import Array
from chainrules_py.linear import LinearMap
from chainrules_py.rule import bilinear_rule, linear_rule, rule
from chainrules_py.tangents import ZeroTangent, is_zero
from chainrules_py.vocabulary import (
    broadcast_to,
    conj,
    diagonal,
    dot,
    expand_dims,
    from_diagonal,
    inner,
    inv,
    matmul,
    matrix_transpose,
    outer,
    permute_dims,
    real,
    reshape,
    slogdet,
    solve,
    squeeze,
    sum,
    tensordot,
    trace,
    tril,
    triu,
    vecdot,
    zeros_like,
)


def adjoint(a):
    """Aᴴ of each matrix."""
    return conj(matrix_transpose(a))


def dense(t, like):
    """A cotangent of one of several results, with zeros written out."""
    return zeros_like(like) if is_zero(t) else t


# ---------------------------------------------------------------- products


def matmul_left(y_bar, a, b):
    """Ā = Ȳ Bᴴ."""
    if b.ndim == 1:
        return expand_dims(y_bar, axis=-1) * conj(b) if a.ndim > 1 else y_bar * conj(b)
    if a.ndim == 1:
        return sum(expand_dims(y_bar, axis=-2) * conj(b), axis=-1)
    return matmul(y_bar, adjoint(b))


def matmul_right(y_bar, a, b):
    """B̄ = Aᴴ Ȳ; one matrix that a whole batch was multiplied by is a product of tall matrices."""
    if a.ndim == 1:
        return (
            expand_dims(conj(a), axis=-1) * expand_dims(y_bar, axis=-2)
            if b.ndim > 1
            else conj(a) * y_bar
        )
    if b.ndim == 1:
        return sum(conj(a) * expand_dims(y_bar, axis=-1), axis=-2)
    if b.ndim == 2 and a.ndim > 2:
        a = reshape(a, shape=(_product(a.shape[:-1]), a.shape[-1]))
        y_bar = reshape(y_bar, shape=(_product(y_bar.shape[:-1]), y_bar.shape[-1]))
    return matmul(adjoint(a), y_bar)


def _product(lengths):
    n = 1
    for length in lengths:
        n *= length
    return n


bilinear_rule(matmul, matmul_left, matmul_right)


def vecdot_left(y_bar, a, b, *, axis):
    """y = Σ conj(a) b is antilinear in a: ā = b conj(ȳ)."""
    return b * conj(expand_dims(y_bar, axis=_from_end(axis, a, b)))


def vecdot_right(y_bar, a, b, *, axis):
    return a * expand_dims(y_bar, axis=_from_end(axis, a, b))


def _from_end(axis, a, b):
    return axis if axis < 0 else axis - max(a.ndim, b.ndim)


bilinear_rule(vecdot, vecdot_left, vecdot_right)


def _contracted(axes, a_ndim, b_ndim):
    """The contracted and the free axes of both operands, each counted from the front."""
    if isinstance(axes, int):
        axes = (tuple(range(a_ndim - axes, a_ndim)), tuple(range(axes)))
    left, right = (
        tuple(i % n for i in given) for given, n in zip(axes, (a_ndim, b_ndim), strict=True)
    )
    free = [i for i in range(a_ndim) if i not in left], [i for i in range(b_ndim) if i not in right]
    return left, right, *free


def tensordot_left(y_bar, a, b, *, axes):
    """Contract Ȳ with conj(B) over B's free axes, and put the axes back in A's order."""
    left, right, a_free, b_free = _contracted(axes, a.ndim, b.ndim)
    behind = tuple(range(len(a_free), y_bar.ndim))
    a_bar = tensordot(y_bar, conj(b), axes=(behind, tuple(b_free)))
    # What is left of conj(B) is its contracted axes in their own order.
    order = [*a_free, *(left[right.index(i)] for i in sorted(right))]
    return permute_dims(a_bar, axes=tuple(order.index(i) for i in range(a.ndim)))


def tensordot_right(y_bar, a, b, *, axes):
    """Contract conj(A) with Ȳ over A's free axes, and put the axes back in B's order."""
    left, right, a_free, b_free = _contracted(axes, a.ndim, b.ndim)
    b_bar = tensordot(conj(a), y_bar, axes=(tuple(a_free), tuple(range(len(a_free)))))
    order = [*(right[left.index(i)] for i in sorted(left)), *b_free]
    return permute_dims(b_bar, axes=tuple(order.index(i) for i in range(b.ndim)))


bilinear_rule(tensordot, tensordot_left, tensordot_right)


def outer_left(y_bar, a, b):
    """ā = Ȳ conj(b), in a's shape."""
    return reshape(sum(y_bar * _flat(conj(b)), axis=-1), shape=getattr(a, "shape", ()))


def outer_right(y_bar, a, b):
    """b̄ = Ȳᵀ conj(a), in b's shape."""
    return reshape(
        sum(matrix_transpose(y_bar) * _flat(conj(a)), axis=-1), shape=getattr(b, "shape", ())
    )


def _flat(a):
    return reshape(a, shape=(-1,)) if getattr(a, "ndim", 0) != 0 else a


bilinear_rule(outer, outer_left, outer_right)


def inner_axes(a, b):
    return ((a.ndim - 1,), (b.ndim - 1,))


def dot_axes(a, b):
    return ((a.ndim - 1,), (b.ndim - 2 if b.ndim > 1 else 0,))


def _as_tensordot(half, other, axes_of):
    """The adjoint of a product that is a tensordot over these axes, or a product with a number."""

    def adjoint_half(y_bar, a, b):
        if getattr(a, "ndim", 0) == 0 or getattr(b, "ndim", 0) == 0:
            return y_bar * conj(other(a, b))
        return half(y_bar, a, b, axes=axes_of(a, b))

    return adjoint_half


for _word, _axes in ((inner, inner_axes), (dot, dot_axes)):
    bilinear_rule(
        _word,
        _as_tensordot(tensordot_left, lambda a, b: b, _axes),
        _as_tensordot(tensordot_right, lambda a, b: a, _axes),
    )


# ---------------------------------------------------------------- parts of matrices


def diagonal_transpose(y_bar, x, *, offset):
    return from_diagonal(y_bar, rows=x.shape[-2], columns=x.shape[-1], offset=offset)


def trace_transpose(y_bar, x, *, offset):
    rows, columns = x.shape[-2:]
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    spread = broadcast_to(expand_dims(y_bar, axis=-1), shape=(*y_bar.shape, length))
    return from_diagonal(spread, rows=rows, columns=columns, offset=offset)


linear_rule(diagonal, diagonal_transpose)
linear_rule(
    from_diagonal, lambda y_bar, x, *, rows, columns, offset: diagonal(y_bar, offset=offset)
)
linear_rule(trace, trace_transpose)
linear_rule(tril, lambda y_bar, x, *, k: tril(y_bar, k=k))
linear_rule(triu, lambda y_bar, x, *, k: triu(y_bar, k=k))


# ---------------------------------------------------------------- solving


@rule(inv)
def inv_rule(x: Array):
    """dY = -Y dA Y.  Giles, section 2.2.3."""
    y = inv(x)
    return y, (LinearMap(inv_push, inv_pull, y),)


def inv_push(x_dot, y):
    return -matmul(matmul(y, x_dot), y)


def inv_pull(y_bar, y):
    return -matmul(matmul(adjoint(y), y_bar), adjoint(y))


@rule(solve)
def solve_rule(a: Array, b: Array):
    """A Y = B: dY = A⁻¹ (dB - dA Y), B̄ = A⁻ᴴ Ȳ, Ā = -B̄ Yᴴ.  Giles, section 2.3.1."""
    y = solve(a, b)
    if b.ndim == 1:
        return y, (
            LinearMap(solve_push_vector, solve_pull_vector, a, y),
            LinearMap(solve_with, solve_back, a),
        )
    return y, (
        LinearMap(solve_push, solve_pull, a, y),
        LinearMap(solve_matrix, solve_matrix_back, a),
    )


def solve_push(a_dot, a, y):
    return -solve(a, matmul(a_dot, y))


def solve_pull(y_bar, a, y):
    return -matmul(solve(adjoint(a), y_bar), adjoint(y))


def solve_matrix(b_dot, a):
    return solve(a, b_dot)


def solve_matrix_back(y_bar, a):
    return solve(adjoint(a), y_bar)


def solve_with(b_dot, a):
    """Of vectors, also of one for each matrix of a batch, which `solve` would take for a matrix."""
    return squeeze(solve(a, expand_dims(b_dot, axis=-1)), axis=-1)


def solve_back(y_bar, a):
    return solve_with(y_bar, adjoint(a))


def solve_push_vector(a_dot, a, y):
    return -solve_with(squeeze(matmul(a_dot, expand_dims(y, axis=-1)), axis=-1), a)


def solve_pull_vector(y_bar, a, y):
    return -expand_dims(solve_back(y_bar, a), axis=-1) * expand_dims(conj(y), axis=-2)


@rule(slogdet)
def slogdet_rule(x: Array):
    """d log|det A| = Re t and ds = i s Im t for t = tr(A⁻¹ dA).  Giles, section 2.2.4.

    The sign of a real A is constant.
    """
    y = slogdet(x)
    if y[0].dtype == y[1].dtype:
        return y, (LinearMap(slogdet_push_real, slogdet_pull_real, x, y[1]),)
    return y, (LinearMap(slogdet_push, slogdet_pull, x, *y),)


def slogdet_push_real(x_dot, x, _):
    return ZeroTangent(), trace(solve(x, x_dot))


def slogdet_pull_real(y_bar, x, logabsdet):
    return expand_dims(dense(y_bar[1], logabsdet), axis=(-2, -1)) * adjoint(inv(x))


def slogdet_push(x_dot, x, sign, _):
    t = trace(solve(x, x_dot))
    return 0.5 * sign * (t - conj(t)), real(t)


def slogdet_pull(y_bar, x, sign, logabsdet):
    turn = conj(sign) * dense(y_bar[0], sign)
    t_bar = dense(y_bar[1], logabsdet) + 0.5 * (turn - conj(turn))
    return expand_dims(t_bar, axis=(-2, -1)) * adjoint(inv(x))
