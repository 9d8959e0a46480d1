"""The solving operations for values that JAX traces, as compiled loops.

The methods are those of `chainrules_kit.solvers`, which read values to decide when to stop. A
compiled program cannot raise: results that do not converge are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, final

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.sparse import linalg as sparse

from chainrules_jax.engine.linear_primitive import floating
from chainrules_jax.engine.rule_config import config
from chainrules_jax.engine.values import COMPUTED
from chainrules_kit.solvers import SMALL, Coordinates
from chainrules_py import ops as v
from chainrules_py.extend import Gradient, Residual, Tree, describe

Function: TypeAlias = Callable[..., Any]
Array: TypeAlias = Any


@final
class Problem:
    """Equations f(x, *params) = 0 in real coordinates, on the last axis of an array."""

    def __init__(self, f: Function, like: Any, params: tuple[Any, ...], batch: int) -> None:
        tree = Tree(like)
        leaves = [floating(x) for x in tree.leaves]
        self.tree = Tree(tree.build(leaves))
        self.f = f
        self.params = params
        self.coordinates = Coordinates(leaves, batch)
        self.batch = batch
        self.start: Array = self.coordinates.flat(leaves)

    def built(self, x: Array) -> Any:
        """Rebuild the structure of the unknown from coordinates."""
        return self.tree.build(self.coordinates.vector(x))

    def read(self, x: Any) -> Array:
        """Return the coordinates of a value that has the structure of the unknown."""
        leaves = Tree(x).leaves
        if [jnp.shape(a) for a in leaves] != [jnp.shape(a) for a in self.tree.leaves]:
            raise ValueError(
                f"the unknown is {describe(self.tree.like)}, and its function gave {describe(x)}; "
                f"it has to give as many numbers, in the same shapes and order"
            )
        return self.coordinates.flat(leaves)

    def residual(self, x: Array) -> Array:
        """Evaluate the equations at some coordinates."""
        return self.read(self.f(self.built(x), *self.params))

    def matrix(self, function: Callable[[Array], Array], x: Array) -> Array:
        """Compute the Jacobian of each of the independent problems separately."""
        eye = jnp.eye(self.coordinates.size, dtype=x.dtype)
        push = lambda e: jax.jvp(function, (x,), (jnp.broadcast_to(e, x.shape),))[1]
        return jnp.moveaxis(jax.vmap(push)(eye), 0, -1)


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x, -1))


def _solved(a: Array, b: Array) -> Array:
    """Solve linear equations, with rows and columns scaled as the operations scale them."""
    rows = _not_zero(jnp.abs(a).max(-1, keepdims=True))
    a = a / rows
    units = _not_zero(jnp.abs(a).max(-2, keepdims=True))
    y = jnp.linalg.solve(a / units, (b / rows[..., 0])[..., None])[..., 0]
    return y / units[..., 0, :]


def _not_zero(x: Array) -> Array:
    return jnp.where(x == 0, jnp.ones_like(x), x)


def _newton(problem: Problem, start: Array, tol: float | None, max_steps: int) -> Array:
    """Solve by Newton's method, with steps halved until they reduce the residual."""
    short = float(jnp.finfo(start.dtype).eps) ** 0.5 if tol is None else tol
    scale = _norm(start)

    def step(x: Array) -> tuple[Array, Array]:
        r = problem.residual(x)
        return -_solved(problem.matrix(problem.residual, x), r), _norm(r)

    def going(state: Any) -> Any:
        count, _, done = state
        return (count < max_steps) & ~jnp.all(done)

    def descended(state: Any) -> Any:
        count, x, done = state
        direction, length = step(x)
        small = _norm(direction) <= short * jnp.maximum(_norm(x), scale)
        still = done | (length == 0)

        def after(factor: Array) -> Array:
            return _norm(problem.residual(x + factor[..., None] * direction))

        def good(factor: Array) -> Array:
            return (after(factor) <= (1 - 1e-4 * factor) * length) | small | still

        factor, _ = jax.lax.while_loop(
            lambda search: (search[1] < 40) & ~jnp.all(good(search[0])),
            lambda search: (
                jnp.where(good(search[0]), search[0], search[0] / 2),
                search[1] + 1,
            ),
            (jnp.ones_like(length), 0),
        )
        # A last step that increases the residual by rounding is skipped.
        keep = still | (small & ~(after(factor) <= length))
        moved = jnp.where(keep[..., None], x, x + factor[..., None] * direction)
        return count + 1, moved, still | small

    _, x, done = jax.lax.while_loop(going, descended, (0, start, jnp.zeros(scale.shape, bool)))

    def polished(_: int, x: Array) -> Array:
        direction, length = step(x)
        better = _norm(problem.residual(x + direction)) < length
        return jnp.where(better[..., None], x + direction, x)

    x = lax.fori_loop(0, 2, polished, x)
    return jnp.where(done[..., None], x, jnp.nan)


def _computed(compute: Function, *named: str) -> Function:
    """Return an operation: by a solver that is given, or by `compute` of a problem and options."""

    def solved(f: Function, x0: Any, *params: Any, **options: Any) -> Any:
        problem, solver = Problem(f, x0, params, options["batch"]), options["solver"]
        if not problem.tree.leaves:
            return x0
        if callable(solver):
            x = problem.read(solver(lambda x: f(x, *params), problem.tree.like))
        elif solver is not None and solver not in named:
            told = ", ".join(map(repr, named)) or "ours"
            raise ValueError(f"solver={solver!r} is none of {told}, and no function either")
        else:
            x = compute(problem, solver, options["tol"], options["max_steps"])
        return problem.built(x)

    return solved


def _root(problem: Problem, _: Any, tol: float | None, max_steps: int | None) -> Array:
    return _newton(problem, problem.start, tol, 50 if max_steps is None else max_steps)


def _fixed_point(problem: Problem, solver: Any, tol: float | None, max_steps: int | None) -> Array:
    if solver == "newton":
        problem.f = Residual(problem.f)
        return _root(problem, None, tol, max_steps)
    eps = float(jnp.finfo(problem.start.dtype).eps)
    tol = 32 * eps if tol is None else tol
    steps = 1000 if max_steps is None else max_steps
    scale = _norm(problem.start)

    def moved(state: Any) -> Any:
        count, x, least, waited, _ = state
        after = problem.residual(x)  # the residual is f here
        length, size = _norm(after - x), jnp.maximum(_norm(after), scale)
        largest = jnp.max(length)
        waited = jnp.where(largest < 0.9 * least, 0, waited + 1)
        # Only rounding errors of f still move it.
        settled = (length <= tol * size) | ((waited > 5) & (length <= 1e4 * eps * size))
        return count + 1, after, jnp.minimum(least, largest), waited, jnp.all(settled)

    inf = jnp.full((), jnp.inf, problem.start.dtype)
    begin = (0, problem.start, inf, jnp.zeros((), jnp.int32), jnp.zeros((), bool))
    _, x, _, _, done = jax.lax.while_loop(lambda s: (s[0] < steps) & ~s[4], moved, begin)
    return jnp.where(done, x, jnp.nan)


def _minimize(problem: Problem, _: Any, tol: float | None, max_steps: int | None) -> Array:
    f, start = problem.f, problem.start
    value = lambda x: jnp.sum(f(problem.built(x.reshape(start.shape)), *problem.params))
    problem.f = Gradient(config, f)
    rough = _descended(value, start.reshape(-1), 1000 if max_steps is None else max_steps)
    x = _newton(problem, rough.reshape(start.shape), tol, 50)
    return jnp.where(value(x.reshape(-1)) <= value(start.reshape(-1)), x, jnp.nan)


def _descended(value: Callable[[Array], Array], x: Array, steps: int) -> Array:
    """Find an approximate minimum by BFGS."""
    from jax.scipy.optimize import minimize

    return minimize(value, x, method="BFGS", options={"maxiter": steps}).x


def _linear_solve(problem: Problem, solver: Any, tol: float | None, max_steps: int | None) -> Array:
    rhs, size = problem.start, problem.coordinates.size
    if solver is None:
        solver = "dense" if problem.batch or size <= SMALL else "gmres"
    if solver == "dense":
        return _solved(problem.matrix(problem.residual, jnp.zeros_like(rhs)), rhs)
    eps = float(jnp.finfo(rhs.dtype).eps)
    tol = eps**0.75 if tol is None else tol
    steps = max(10 * size, 20) if max_steps is None else max_steps
    if solver == "gmres":
        restart = min(100, size)
        x, _ = sparse.gmres(
            problem.residual, rhs, tol=tol, restart=restart, maxiter=-(-steps // restart)
        )
    else:
        x, _ = sparse.cg(problem.residual, rhs, tol=tol, maxiter=steps)
    product = problem.residual(x)
    close = _norm(product - rhs) <= max(tol, eps**0.5) * (_norm(product) + _norm(rhs))
    return jnp.where(close, x, jnp.nan)


COMPUTED.update(
    {
        v.root: _computed(_root),
        v.fixed_point: _computed(_fixed_point, "newton"),
        v.minimize: _computed(_minimize),
        v.linear_solve: _computed(_linear_solve, "dense", "gmres", "cg"),
    }
)
