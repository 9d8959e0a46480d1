"""Rules of inverses and of systems of linear equations.

M. B. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), is the source.
"""

from chainrules_py.ops import (
    conj,
    expand_dims,
    inv,
    inv_again,
    matmul,
    solve,
    solve_again,
    solve_triangular,
    squeeze,
    tril,
    triu,
)
from chainrules_py.ops.hermitian_and_block_matrices import adjoint
from chainrules_py.registry.constructors import rule
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.values.dispatch_types import Array


@rule(inv, batched=True)
def inv_rule(x: Array):
    """dY = -Y dA Y.  Giles, section 2.2.3."""
    y = inv(x)
    return y, (LinearMap(inv_push, inv_pull, y),)


@rule(inv_again, batched=True)
def inv_again_rule(x: Array):
    y = inv_again(x)
    return y, (LinearMap(inv_push, inv_pull, y),)


def inv_push(x_dot, y):
    return -matmul(matmul(y, x_dot), y)


def inv_pull(y_bar, y):
    return -matmul(matmul(adjoint(y), y_bar), adjoint(y))


@rule(solve, batched="broadcast")
def solve_rule(a: Array, b: Array):
    """Differentiate A Y = B: dY = A⁻¹ (dB - dA Y), B̄ = A⁻ᴴ Ȳ, Ā = -B̄ Yᴴ.  Giles, 2.3.1."""
    y = solve(a, b)
    return y, solution(a, y, b.ndim == 1)


@rule(solve_again, batched="broadcast")
def solve_again_rule(a: Array, b: Array):
    y = solve_again(a, b)
    return y, solution(a, y, b.ndim == 1)


def solution(a, y, vector):
    return (
        LinearMap(solve_push, solve_pull, a, y, vector),
        LinearMap(right_push, right_pull, a, vector),
    )


def solve_push(a_dot, a, y, vector):
    return as_given(-solve_again(a, matmul(a_dot, columns(y, vector))), vector)


def solve_pull(y_bar, a, y, vector):
    return solve_given(right_pull(y_bar, a, vector), a, y, vector)


def solve_given(b_bar, a, y, vector):
    return times_adjoint(-columns(b_bar, vector), y, vector)


def right_push(b_dot, a, vector):
    return as_given(solve_again(a, columns(b_dot, vector)), vector)


def right_pull(y_bar, a, vector):
    return right_push(y_bar, adjoint(a), vector)


# Where both are wanted, the system is solved once.
vars(solve_pull).update(after=right_pull, given=solve_given)


def columns(y, vector):
    """Return a vector, or a batch of vectors, as matrices of one column."""
    return expand_dims(y, axis=-1) if vector else y


def times_adjoint(b_bar, y, vector):
    """Compute B̄ Yᴴ; for one column elementwise, since BLAS has no product for it."""
    return b_bar * conj(expand_dims(y, axis=-2)) if vector else matmul(b_bar, adjoint(y))


def as_given(y, vector):
    """Return a matrix of one column as the vector, or batch of vectors, that was given."""
    return squeeze(y, axis=-1) if vector else y


@rule(solve_triangular, batched="broadcast")
def solve_triangular_rule(a: Array, b: Array, *, upper, unit_diagonal):
    """Differentiate as `solve_rule`, with dA and Ā limited to the triangle that is read."""
    y = solve_triangular(a, b, upper=upper, unit_diagonal=unit_diagonal)
    vector = b.ndim == 1
    return y, (
        LinearMap(triangle_push, triangle_pull, a, y, upper, unit_diagonal, vector),
        LinearMap(triangle_right, triangle_back, a, upper, unit_diagonal, vector),
    )


def triangle_push(a_dot, a, y, upper, unit_diagonal, vector):
    a_dot = triangle(a_dot, upper, unit_diagonal)
    right = as_given(matmul(a_dot, columns(y, vector)), vector)
    return -triangle_right(right, a, upper, unit_diagonal, vector)


def triangle_pull(y_bar, a, y, upper, unit_diagonal, vector):
    b_bar = triangle_back(y_bar, a, upper, unit_diagonal, vector)
    return triangle_given(b_bar, a, y, upper, unit_diagonal, vector)


def triangle_given(b_bar, a, y, upper, unit_diagonal, vector):
    return triangle(times_adjoint(-columns(b_bar, vector), y, vector), upper, unit_diagonal)


def triangle_right(b_dot, a, upper, unit_diagonal, vector):
    right = columns(b_dot, vector)
    return as_given(solve_triangular(a, right, upper=upper, unit_diagonal=unit_diagonal), vector)


def triangle_back(y_bar, a, upper, unit_diagonal, vector):
    return triangle_right(y_bar, adjoint(a), not upper, unit_diagonal, vector)


vars(triangle_pull).update(after=triangle_back, given=triangle_given)


def triangle(a, upper, strict):
    """Return one triangle of a matrix, without its diagonal if ``strict``."""
    return triu(a, k=1 if strict else 0) if upper else tril(a, k=-1 if strict else 0)
