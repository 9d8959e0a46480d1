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
from jax.scipy import optimize
from jax.scipy.sparse import linalg as sparse

from chainrules_jax.engine.linear_primitive import floating
from chainrules_jax.engine.rule_config import config
from chainrules_jax.engine.value_conversions import COMPUTED
from chainrules_kit.solvers.dense import not_zero
from chainrules_kit.solvers.root_finding import SMALL, System
from chainrules_py import ops as v
from chainrules_py.extend import Gradient, Residual, Tree

Function: TypeAlias = Callable[..., Any]
Array: TypeAlias = Any


@final
class Problem:
    """A system of equations in real coordinates, on the last axis of an array."""

    def __init__(self, system: System) -> None:
        self.system, self.coordinates = system, system.coordinates
        self.start: Array = self.coordinates.flat(system.start)

    def built(self, x: Array) -> Any:
        """Rebuild the structure of the unknown from coordinates."""
        return self.system.tree.build(self.coordinates.vector(x))

    def residual(self, x: Array) -> Array:
        """Evaluate the equations at some coordinates."""
        return self.coordinates.flat(self.system.residual(self.coordinates.vector(x)))

    def matrix(self, function: Callable[[Array], Array], x: Array) -> Array:
        """Compute the Jacobian of each of the independent problems separately."""
        eye = jnp.eye(self.coordinates.size, dtype=x.dtype)
        push = lambda e: jax.jvp(function, (x,), (jnp.broadcast_to(e, x.shape),))[1]
        return jnp.moveaxis(jax.vmap(push)(eye), 0, -1)


def _norm(x: Array) -> Array:
    return jnp.sqrt(jnp.sum(x * x, -1))


def _solved(a: Array, b: Array) -> Array:
    """Solve linear equations, with rows and columns scaled as the operations scale them."""
    rows = not_zero(jnp.abs(a).max(-1, keepdims=True))
    a = a / rows
    units = not_zero(jnp.abs(a).max(-2, keepdims=True))
    y = jnp.linalg.solve(a / units, (b / rows[..., 0])[..., None])[..., 0]
    return y / units[..., 0, :]


def _newton(problem: Problem, _: Any, tol: float | None, max_steps: int | None) -> Array:
    """Solve by Newton's method, with steps halved until they reduce the residual."""
    short = float(jnp.finfo(problem.start.dtype).eps) ** 0.5 if tol is None else tol
    most, scale = 50 if max_steps is None else max_steps, _norm(problem.start)

    def step(x: Array) -> tuple[Array, Array]:
        r = problem.residual(x)
        return -_solved(problem.matrix(problem.residual, x), r), _norm(r)

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

    undone = jnp.zeros(scale.shape, bool)
    _, x, done = jax.lax.while_loop(
        lambda state: (state[0] < most) & ~jnp.all(state[2]),
        descended,
        (0, problem.start, undone),
    )

    def polished(_: int, x: Array) -> Array:
        direction, length = step(x)
        better = _norm(problem.residual(x + direction)) < length
        return jnp.where(better[..., None], x + direction, x)

    x = lax.fori_loop(0, 2, polished, x)
    return jnp.where(done[..., None], x, jnp.nan)


def _computed(operation: Any, compute: Function, *named: str) -> Function:
    """Return an operation: by a solver that is given, or by `compute` of a problem and options."""

    def solved(f: Function, x0: Any, *params: Any, **options: Any) -> Any:
        tree, solver = Tree(x0), options["solver"]
        if not tree.leaves:
            return x0
        x0 = tree.build([floating(x) for x in tree.leaves])
        problem = Problem(System(f, x0, params, operation.__name__, options["batch"]))
        if callable(solver):
            return problem.system.tree.build(
                problem.system.read(solver(problem.system.at, problem.system.tree.like))
            )
        if solver is not None and solver not in named:
            told = ", ".join(map(repr, named)) or "ours"
            raise ValueError(f"solver={solver!r} is none of {told}, and no function either")
        return problem.built(compute(problem, solver, options["tol"], options["max_steps"]))

    return solved


def _fixed_point(problem: Problem, solver: Any, tol: float | None, max_steps: int | None) -> Array:
    if solver == "newton":
        problem.system.f = Residual(problem.system.f)
        return _newton(problem, None, tol, max_steps)
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
    system, start = problem.system, problem.start
    f, params = system.f, system.params
    value = lambda x: jnp.sum(f(problem.built(x.reshape(start.shape)), *params))
    system.f = Gradient(config, f)
    how = {"maxiter": 1000 if max_steps is None else max_steps}
    rough = optimize.minimize(value, start.reshape(-1), method="BFGS", options=how).x
    problem.start = rough.reshape(start.shape)
    x = _newton(problem, None, tol, None)
    return jnp.where(value(x.reshape(-1)) <= value(start.reshape(-1)), x, jnp.nan)


def _linear_solve(problem: Problem, solver: Any, tol: float | None, max_steps: int | None) -> Array:
    rhs, size = problem.start, problem.coordinates.size
    if solver is None:
        solver = "dense" if problem.system.batch or size <= SMALL else "gmres"
    if solver == "dense":
        return _solved(problem.matrix(problem.residual, jnp.zeros_like(rhs)), rhs)
    eps = float(jnp.finfo(rhs.dtype).eps)
    small = eps**0.75 if tol is None else tol
    steps = max(10 * size, 20) if max_steps is None else max_steps
    if solver == "gmres":
        restart = min(100, size)
        x, _ = sparse.gmres(
            problem.residual, rhs, tol=small, restart=restart, maxiter=-(-steps // restart)
        )
    else:
        x, _ = sparse.cg(problem.residual, rhs, tol=small, maxiter=steps)
    product = problem.residual(x)
    close = _norm(product - rhs) <= max(small, eps**0.5) * (_norm(product) + _norm(rhs))
    return jnp.where(close, x, jnp.nan)


for _operation, _compute, *_named in (
    (v.root, _newton),
    (v.fixed_point, _fixed_point, "newton"),
    (v.minimize, _minimize),
    (v.linear_solve, _linear_solve, "dense", "gmres", "cg"),
):
    COMPUTED[_operation] = _computed(_operation, _compute, *_named)
