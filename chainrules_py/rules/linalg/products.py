"""Rules of products of matrices and vectors; the projection sums over broadcast batch axes.

M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), is the source. Tangents may have leading axes for several
directions: the pushes beside the adjoints handle these; for one direction, the push is the
operation itself.
"""

import math

from chainrules_py.ops import (
    conj,
    dot,
    expand_dims,
    inner,
    matmul,
    matrix_transpose,
    outer,
    permute_dims,
    reshape,
    squeeze,
    sum,
    tensordot,
    vecdot,
)
from chainrules_py.ops.hermitian_and_block_matrices import adjoint
from chainrules_py.registry.bind.batched_tangents import aligned
from chainrules_py.registry.constructors import bilinear_rule


def matmul_left(y_bar, a, b):
    """Ā = Ȳ Bᴴ."""
    if b.ndim == 1:
        return expand_dims(y_bar, axis=-1) * conj(b)
    if a.ndim == 1 and b.ndim > 2:
        return sum(expand_dims(y_bar, axis=-2) * conj(b), axis=-1)
    return matmul(y_bar, adjoint(b))


def matmul_right(y_bar, a, b):
    """B̄ = Aᴴ Ȳ; if one matrix multiplied a batch, its cotangent is a product of tall matrices."""
    if a.ndim == 1 and b.ndim == 1:
        return conj(a) * expand_dims(y_bar, axis=-1)
    if a.ndim == 1:
        return expand_dims(conj(a), axis=-1) * expand_dims(y_bar, axis=-2)
    if b.ndim < 3 and a.ndim > 2:
        rows, lead = math.prod(a.shape[:-1]), y_bar.shape[: y_bar.ndim - a.ndim + 2 - b.ndim]
        a = reshape(a, shape=(rows, a.shape[-1]))
        y_bar = reshape(y_bar, shape=(*lead, rows, *b.shape[1:]))
    return matmul(y_bar, conj(a)) if b.ndim == 1 else matmul(adjoint(a), y_bar)


def matmul_push_left(a_dot, a, b):
    if a.ndim > 1 or b.ndim < 3:
        return matmul(aligned(a_dot, b.ndim) if b.ndim > 2 else a_dot, b)
    return squeeze(matmul(aligned(expand_dims(a_dot, axis=-2), b.ndim), b), axis=-2)


def matmul_push_right(b_dot, a, b):
    if b.ndim > 1:
        return matmul(a, aligned(b_dot, a.ndim))
    if a.ndim < 3:
        return matmul(b_dot, a if a.ndim == 1 else matrix_transpose(a))
    return squeeze(matmul(a, aligned(expand_dims(b_dot, axis=-1), a.ndim)), axis=-1)


bilinear_rule(matmul, matmul_left, matmul_right, batched=(matmul_push_left, matmul_push_right))


def vecdot_left(y_bar, a, b, *, axis):
    """y = Σ conj(a) b is antilinear in a: ā = b conj(ȳ)."""
    return b * conj(expand_dims(y_bar, axis=_from_end(axis, a, b)))


def vecdot_right(y_bar, a, b, *, axis):
    return a * expand_dims(y_bar, axis=_from_end(axis, a, b))


def _from_end(axis, a, b):
    return axis if axis < 0 else axis - max(a.ndim, b.ndim)


def vecdot_push_left(a_dot, a, b, *, axis):
    return vecdot(aligned(a_dot, max(a.ndim, b.ndim)), b, axis=_from_end(axis, a, b))


def vecdot_push_right(b_dot, a, b, *, axis):
    return vecdot(a, aligned(b_dot, max(a.ndim, b.ndim)), axis=_from_end(axis, a, b))


bilinear_rule(vecdot, vecdot_left, vecdot_right, batched=(vecdot_push_left, vecdot_push_right))


def _contracted(axes, a_ndim, b_ndim):
    """List the contracted and the free axes of both operands, each counted from the front."""
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
    lead = y_bar.ndim - len(a_free) - len(b_free)
    behind = tuple(range(lead + len(a_free), y_bar.ndim))
    a_bar = tensordot(y_bar, conj(b), axes=(behind, tuple(b_free)))
    # The remaining axes of conj(B) are its contracted axes, in their own order.
    order = [*range(-lead, 0), *a_free, *(left[right.index(i)] for i in sorted(right))]
    return permute_dims(a_bar, axes=tuple(order.index(i) for i in range(-lead, a.ndim)))


def tensordot_right(y_bar, a, b, *, axes):
    """Contract conj(A) with Ȳ over A's free axes, and put the axes back in B's order."""
    left, right, a_free, b_free = _contracted(axes, a.ndim, b.ndim)
    lead = y_bar.ndim - len(a_free) - len(b_free)
    within = tuple(range(lead, lead + len(a_free)))
    b_bar = tensordot(conj(a), y_bar, axes=(tuple(a_free), within))
    order = [*(right[left.index(i)] for i in sorted(left)), *range(-lead, 0), *b_free]
    return permute_dims(b_bar, axes=tuple(order.index(i) for i in range(-lead, b.ndim)))


def tensordot_push_left(a_dot, a, b, *, axes):
    left, right, *_ = _contracted(axes, a.ndim, b.ndim)
    return tensordot(a_dot, b, axes=(tuple(i + 1 for i in left), right))


def tensordot_push_right(b_dot, a, b, *, axes):
    left, right, a_free, _ = _contracted(axes, a.ndim, b.ndim)
    y_dot = tensordot(a, b_dot, axes=(left, tuple(i + 1 for i in right)))
    m, n = len(a_free), y_dot.ndim
    return permute_dims(y_dot, axes=(m, *range(m), *range(m + 1, n)))


bilinear_rule(
    tensordot, tensordot_left, tensordot_right, batched=(tensordot_push_left, tensordot_push_right)
)


def outer_left(y_bar, a, b):
    """ā = Ȳ conj(b), in a's shape."""
    a_bar = sum(y_bar * _flat(conj(b)), axis=-1)
    return reshape(a_bar, shape=(*y_bar.shape[:-2], *getattr(a, "shape", ())))


def outer_right(y_bar, a, b):
    """b̄ = Ȳᵀ conj(a), in b's shape."""
    b_bar = sum(matrix_transpose(y_bar) * _flat(conj(a)), axis=-1)
    return reshape(b_bar, shape=(*y_bar.shape[:-2], *getattr(b, "shape", ())))


def _flat(a):
    return reshape(a, shape=(-1,)) if getattr(a, "ndim", 0) != 0 else a


def outer_push_left(a_dot, a, b):
    return reshape(a_dot, shape=(a_dot.shape[0], math.prod(a_dot.shape[1:]), 1)) * _flat(b)


def outer_push_right(b_dot, a, b):
    b_dot = reshape(b_dot, shape=(b_dot.shape[0], 1, math.prod(b_dot.shape[1:])))
    return (expand_dims(_flat(a), axis=-1) if getattr(a, "ndim", 0) else a) * b_dot


bilinear_rule(outer, outer_left, outer_right, batched=(outer_push_left, outer_push_right))


def _as_tensordot(half, of_number, axes_of):
    """Make a half of a product that is a tensordot over these axes, or a product with a number."""

    def either_half(t, a, b):
        if getattr(a, "ndim", 0) == 0 or getattr(b, "ndim", 0) == 0:
            return of_number(t, a, b)
        return half(t, a, b, axes=axes_of(a, b))

    return either_half


def _scaled(t, x):
    """Multiply directions by the other factor, where one of the two factors is a number."""
    return aligned(t, getattr(x, "ndim", 0)) * x


def as_matmul(half, otherwise):
    """Apply ``half`` to matrices and vectors, where ``dot`` is ``matmul``; else ``otherwise``."""

    def adjoint_half(y_bar, a, b):
        plain = 0 < getattr(a, "ndim", 0) < 3 and 0 < getattr(b, "ndim", 0) < 3
        return (half if plain else otherwise)(y_bar, a, b)

    return adjoint_half


def _halves(axes_of):
    """Make both adjoints and both pushes of a product over these axes."""
    return (
        _as_tensordot(tensordot_left, lambda y_bar, a, b: y_bar * conj(b), axes_of),
        _as_tensordot(tensordot_right, lambda y_bar, a, b: y_bar * conj(a), axes_of),
        _as_tensordot(tensordot_push_left, lambda t, a, b: _scaled(t, b), axes_of),
        _as_tensordot(tensordot_push_right, lambda t, a, b: _scaled(t, a), axes_of),
    )


inner_left, inner_right, *_pushes = _halves(lambda a, b: ((a.ndim - 1,), (b.ndim - 1,)))
bilinear_rule(inner, inner_left, inner_right, batched=tuple(_pushes))  # pyright: ignore[reportArgumentType]
_left, _right, *_pushes = _halves(lambda a, b: ((a.ndim - 1,), (b.ndim - 2 if b.ndim > 1 else 0,)))
dot_left, dot_right = as_matmul(matmul_left, _left), as_matmul(matmul_right, _right)
bilinear_rule(dot, dot_left, dot_right, batched=tuple(_pushes))  # pyright: ignore[reportArgumentType]
