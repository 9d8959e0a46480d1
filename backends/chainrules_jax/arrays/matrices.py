"""Functions of matrices as JAX has them, and systems of equations that are factored once.

A system is solved by the factors L U = P A, and so are those that its derivatives lead to, also
with Aᴴ. A compiled program would not see that the factors of the one give the other.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax

from chainrules_jax.array_types import JaxArray
from chainrules_jax.engine.callback import called_back, compute_by
from chainrules_py import LinearMap, NoTangent, Primitive, non_differentiable, primitive, rule
from chainrules_py import vocabulary as v
from chainrules_py.extend import adjoint, as_given, columns
from chainrules_py.vocabulary.matrix_functions import LUFactors


@v.expm.implement
def expm_jax(x: JaxArray) -> Any:
    """SciPy's name."""
    return jsp.linalg.expm(x)


def _called_back(word: Primitive[..., Any]) -> None:
    """Have a function of one matrix computed by SciPy, with a result of the matrix's dtype."""

    def body(x: np.ndarray) -> Any:
        y = word.plain_implementation((np.ndarray,))(x)
        if np.iscomplexobj(y) and not np.iscomplexobj(x):
            msg = f"{word.__name__} of a real matrix is complex here; give a complex one"
            raise ValueError(msg)
        return y

    compute_by(word, called_back(word, body, lambda x: x, vectorized=False))


_called_back(v.sqrtm)
_called_back(v.logm)

_sylvester = jnp.vectorize(jsp.linalg.solve_sylvester, signature="(m,m),(n,n),(m,n)->(m,n)")


@v.solve_sylvester.implement
def solve_sylvester_jax(a: JaxArray, b: JaxArray, q: JaxArray) -> Any:
    """SciPy's name, of one system at a time."""
    return _sylvester(a, b, q)


def _matrix(x: JaxArray) -> Any:
    """Return a matrix with a vector as each of its rows, as NumPy does."""
    return jnp.broadcast_to(x, x.shape * 2) if x.ndim == 1 else x


@v.tril.implement
def tril_jax(x: JaxArray, *, k: int = 0) -> Any:
    """Take vectors too."""
    return jnp.tril(_matrix(x), k)


@v.triu.implement
def triu_jax(x: JaxArray, *, k: int = 0) -> Any:
    """Take vectors too."""
    return jnp.triu(_matrix(x), k)


@v.lu_factor.implement
def lu_factor_jax(x: JaxArray) -> LUFactors:
    """JAX gives the three in this order."""
    return LUFactors(*lax.linalg.lu(x))


# ------------------------------------------------------------------------- factored systems


@primitive
def factors(x: JaxArray, /) -> Any:
    """U, with L below it, and the order of the rows of x = A: without a derivative.

    Whoever solves by them has the matrix as well, and the derivative in it.
    """
    lu, _, order = lax.linalg.lu(x)
    return lu, order


non_differentiable(factors)


@primitive
def solve_by(
    a: JaxArray, lu: JaxArray, order: JaxArray, b: JaxArray, /, *, turned: bool = False
) -> Any:
    """Solve A Y = B, or Aᴴ Y = B if ``turned``, by the `factors` of A."""
    dtype = jnp.result_type(lu, b)
    lead = jnp.broadcast_shapes(lu.shape[:-2], b.shape[:-2])
    lu = jnp.broadcast_to(lu, (*lead, *lu.shape[-2:])).astype(dtype)
    b = jnp.broadcast_to(b, (*lead, *b.shape[-2:])).astype(dtype)
    order = jnp.broadcast_to(order, (*lead, order.shape[-1]))
    if turned:
        b = _triangular(lu, b, lower=False, turned=True)
        b = _triangular(lu, b, lower=True, turned=True)
        return jnp.take_along_axis(b, jnp.argsort(order, axis=-1)[..., None], axis=-2)
    b = jnp.take_along_axis(b, order[..., None], axis=-2)
    return _triangular(lu, _triangular(lu, b, lower=True), lower=False)


def _triangular(lu: Any, b: Any, *, lower: bool, turned: bool = False) -> Any:
    return lax.linalg.triangular_solve(
        lu,
        b,
        left_side=True,
        lower=lower,
        unit_diagonal=lower,
        transpose_a=turned,
        conjugate_a=turned,
    )


@rule(solve_by, batched="broadcast")
def solve_by_rule(a: JaxArray, lu: JaxArray, order: JaxArray, b: JaxArray, *, turned: Any) -> Any:
    """Differentiate as `chainrules_py.rules.linalg.solving` does, with A or its adjoint."""
    y = solve_by(a, lu, order, b, turned=turned)
    return y, (
        LinearMap(_matrix_push, _matrix_pull, a, lu, order, y, turned),
        NoTangent(),
        NoTangent(),
        LinearMap(_right_push, _right_pull, a, lu, order, turned),
    )


def _matrix_push(a_dot: Any, a: Any, lu: Any, order: Any, y: Any, turned: Any) -> Any:
    moved = adjoint(a_dot) if turned else a_dot
    return -solve_by(a, lu, order, v.matmul(moved, y), turned=turned)


def _matrix_pull(y_bar: Any, a: Any, lu: Any, order: Any, y: Any, turned: Any) -> Any:
    bar = -v.matmul(_right_pull(y_bar, a, lu, order, turned), adjoint(y))
    return adjoint(bar) if turned else bar


def _right_push(b_dot: Any, a: Any, lu: Any, order: Any, turned: Any) -> Any:
    return solve_by(a, lu, order, b_dot, turned=turned)


def _right_pull(y_bar: Any, a: Any, lu: Any, order: Any, turned: Any) -> Any:
    return solve_by(a, lu, order, y_bar, turned=not turned)


@rule(v.solve, batched="broadcast")
def solve_rule_jax(a: JaxArray, b: JaxArray) -> Any:
    """Solve and differentiate as `solve_rule` does, with one factorisation in all."""
    vector, (lu, order) = b.ndim == 1, factors(a)
    y = as_given(solve_by(a, lu, order, columns(b, vector)), vector)
    return y, (
        LinearMap(_solve_push, _solve_pull, a, lu, order, y, vector),
        LinearMap(_solve_right_push, _solve_right_pull, a, lu, order, vector),
    )


def _solve_push(a_dot: Any, a: Any, lu: Any, order: Any, y: Any, vector: Any) -> Any:
    return as_given(_matrix_push(a_dot, a, lu, order, columns(y, vector), False), vector)


def _solve_pull(y_bar: Any, a: Any, lu: Any, order: Any, y: Any, vector: Any) -> Any:
    return _matrix_pull(columns(y_bar, vector), a, lu, order, columns(y, vector), False)


def _solve_right_push(b_dot: Any, a: Any, lu: Any, order: Any, vector: Any) -> Any:
    return as_given(_right_push(columns(b_dot, vector), a, lu, order, False), vector)


def _solve_right_pull(y_bar: Any, a: Any, lu: Any, order: Any, vector: Any) -> Any:
    return as_given(_right_pull(columns(y_bar, vector), a, lu, order, False), vector)
