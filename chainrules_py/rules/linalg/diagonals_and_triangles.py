"""Rules of linear algebra; the projection sums over broadcast batch axes.

M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), is the source where no other is named.
"""

from chainrules_py.ops import (
    broadcast_to,
    conj,
    diagonal,
    expand_dims,
    from_diagonal,
    inv_again,
    real,
    slogdet,
    solve,
    trace,
    tril,
    triu,
    zeros_like,
)
from chainrules_py.ops.hermitian_and_block_matrices import adjoint
from chainrules_py.registry.constructors import linear_rule, rule
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.zeros import ZeroTangent, is_zero
from chainrules_py.values.dispatch_types import Array


def dense(t, like):
    """Return the cotangent of one of several results, as an array of zeros if it is zero."""
    return zeros_like(like) if is_zero(t) else t


# ---------------------------------------------------------------- parts of matrices


def diagonal_transpose(y_bar, x, *, offset):
    return from_diagonal(y_bar, rows=x.shape[-2], columns=x.shape[-1], offset=offset)


def trace_transpose(y_bar, x, *, offset):
    rows, columns = x.shape[-2:]
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    spread = broadcast_to(expand_dims(y_bar, axis=-1), shape=(*y_bar.shape, length))
    return from_diagonal(spread, rows=rows, columns=columns, offset=offset)


for _operation, _transpose, _batched in (
    (diagonal, diagonal_transpose, True),
    (
        from_diagonal,
        lambda y_bar, x, *, rows, columns, offset: diagonal(y_bar, offset=offset),
        True,
    ),
    (trace, trace_transpose, True),
    (tril, lambda y_bar, x, *, k: tril(y_bar, k=k), True),
    (triu, lambda y_bar, x, *, k: triu(y_bar, k=k), True),
):
    linear_rule(_operation, _transpose, batched=_batched)


# ---------------------------------------------------------------- determinants


@rule(slogdet, batched=True)
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
    if is_zero(y_bar[1]):  # of the sign alone
        return y_bar[1]
    return expand_dims(y_bar[1], axis=(-2, -1)) * adjoint(inv_again(x))


def slogdet_push(x_dot, x, sign, _):
    t = trace(solve(x, x_dot))
    return 0.5 * sign * (t - conj(t)), real(t)


def slogdet_pull(y_bar, x, sign, logabsdet):
    turn = conj(sign) * dense(y_bar[0], sign)
    t_bar = dense(y_bar[1], logabsdet) + 0.5 * (turn - conj(turn))
    return expand_dims(t_bar, axis=(-2, -1)) * adjoint(inv_again(x))
