"""Rules of Cholesky's factorisation.

I. Murray, "Differentiation of the Cholesky decomposition" (2016), arXiv:1602.07527. The
differentiated function is that of the triangle that is read: see docs/design/decompositions.md.
"""

from functools import partial

from chainrules_py.ops import cholesky, cholesky_cotangent, cholesky_tangent, matmul, tril
from chainrules_py.ops.hermitian_and_block_matrices import adjoint, half
from chainrules_py.registry.constructors import rule
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.values.dispatch_types import Array


def read(y_bar, upper=False):
    """Map the cotangent of the Hermitian matrix to that of x, in the triangle that is read."""
    return half(y_bar + adjoint(y_bar), upper)


@rule(cholesky, batched=True)
def cholesky_rule(x: Array, *, upper):
    """Differentiate A = L Lᴴ: dL = L Φ(L⁻¹ dA L⁻ᴴ), and the adjoint.  Murray, eqs. (8), (10).

    The upper factor Lᴴ, of the upper triangle, takes adjoints of operands and results.
    """
    y = cholesky(x, upper=upper)
    return y, (LinearMap(cholesky_push, cholesky_pull, y, upper),)


def of_either(f, t, y, upper):
    """Apply a half of the lower factor's map, to adjoints for the upper factor."""
    return adjoint(f(adjoint(t), adjoint(y))) if upper else f(t, y)


cholesky_push = partial(of_either, cholesky_tangent)
cholesky_pull = partial(of_either, cholesky_cotangent)


@rule(cholesky_tangent, batched="broadcast")
def cholesky_tangent_rule(x_dot: Array, factor: Array):
    """dL = L Φ(L⁻¹ dA L⁻ᴴ), linear in dA: Murray, eq. (8).

    In L: with T for this map, dL Lᴴ + L dLᴴ = dA gives dT(dA) = -T(dL L'ᴴ + L' dLᴴ).
    """
    factor = tril(factor)
    y = cholesky_tangent(x_dot, factor)
    return y, (
        LinearMap(cholesky_tangent, cholesky_cotangent, factor),
        LinearMap(moved_push, moved_pull, y, factor),
    )


def moved_push(factor_dot, y, L):
    middle = matmul(y, adjoint(tril(factor_dot)))
    return -cholesky_tangent(middle + adjoint(middle), L)


def moved_pull(y_bar, y, L):
    a_bar = cholesky_cotangent(y_bar, L)
    return -tril(matmul(a_bar + adjoint(a_bar), y))


@rule(cholesky_cotangent, batched="broadcast")
def cholesky_cotangent_rule(y_bar: Array, factor: Array):
    """Ā = Φ(L⁻ᴴ (P + Pᴴ) L⁻¹) with P = Φ(Lᴴ L̄): Murray, eq. (10).

    It is linear in L̄. In L, with T* the adjoint of T: dĀ = -T*((Ā + Āᴴ) L').
    """
    factor = tril(factor)
    a_bar = cholesky_cotangent(y_bar, factor)
    return a_bar, (
        LinearMap(cholesky_cotangent, cholesky_tangent, factor),
        LinearMap(turn_push, turn_pull, a_bar, factor),
    )


def turn_push(factor_dot, a_bar, L):
    return -cholesky_cotangent(matmul(a_bar + adjoint(a_bar), tril(factor_dot)), L)


def turn_pull(c, a_bar, L):
    return -tril(matmul(a_bar + adjoint(a_bar), cholesky_tangent(c, L)))
