"""Implementations of the operations that solve and integrate, and of the checks of their rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_kit.solvers.lbfgs import descended
from chainrules_kit.solvers.ode_integration import Integration, Solution
from chainrules_kit.solvers.root_finding import (
    SMALL,
    System,
    accepted,
    fixed_by_iteration,
    least,
    newton,
    solve_linear,
    verify,
)
from chainrules_kit.solvers.vectors import (
    Vector,
    combine,
    direction,
    dot,
    eps_of,
    norm,
    number,
)
from chainrules_py import ConvergenceError, Primitive
from chainrules_py import ops as v
from chainrules_py.extend import (
    Closure,
    Gradient,
    Residual,
    Tree,
    any_engine,
    describe,
    map_leaves,
    own,
    refuse_traced,
    type_info,
)
from chainrules_py.ops.higher_order import check_isolated, odeint_steps

Method = Callable[[System, float | None, int | None], Vector]


def _read_only(x: Any) -> Any:
    memory = type_info(type(x)).memory
    return x if memory is None or memory.read_only is None else memory.read_only(x)


def _apart(x: Any) -> Any:
    return own(x, (x,))


def _computes(operation: Primitive[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the function that computes an operation, called with all its options."""

    def entered(function: Callable[..., Any]) -> Callable[..., Any]:
        def computed(f: Any, x: Any, *rest: Any, **options: Any) -> Any:
            # The solver decides how often f is called, so f must not write to shared arrays.
            if unknown := [name for name in options if name not in operation.options]:
                raise TypeError(
                    f"{operation.__name__}() got an unexpected keyword argument {unknown[0]!r}; "
                    f"parameters of f follow the other arguments, with a comma: "
                    f"{operation.__name__}(f, ..., a, b)"
                )
            f = map_leaves(_read_only, f) if isinstance(f, Closure) else f
            x, rest = map_leaves(_apart, x), map_leaves(_read_only, rest)
            try:
                y = function(f, x, *rest, **(operation.options | options))
            except ValueError as error:
                if "read-only" in str(error):
                    error.add_note(
                        f"the function that {operation.__name__} is given may not write to its "
                        f"operands "
                        f"or to traced arrays that it captured; write to a copy (v = x.copy())"
                    )
                raise
            return map_leaves(_apart, y)

        operation.implement(computed)
        return function

    return entered


def _solved(
    system: System, f: Any, x0: Any, solver: Any, method: Method, tol: Any, max_steps: Any
) -> Any:
    """Solve by a built-in method, or by the user's solver, whose result is checked."""
    if solver is not None and not callable(solver):
        names = " or 'newton'" if system.name == "fixed_point" else ""
        raise ValueError(
            f"solver={solver!r} of {system.name} is not a function{names}: give one that is called "
            f"as solver(f, x0) and gives x, or leave it out"
        )
    if not system.start:
        return x0
    if solver is None:
        return system.build(method(system, tol, max_steps))
    found = system.read(solver(lambda x: system.at(x, f), system.tree.like))
    return system.build(accepted(system, found, tol, tol is None))


@_computes(v.root)
def root(
    f: Any, x0: Any, *params: Any, solver: Any, batch: int, linear_solver: Any, **how: Any
) -> Any:
    """Find a root by Newton's method, or by the user's solver."""
    system = System(f, x0, params, "root", batch)
    return _solved(system, f, x0, solver, newton, **how)


@_computes(v.fixed_point)
def fixed_point(
    f: Any, x0: Any, *params: Any, solver: Any, batch: int, linear_solver: Any, **how: Any
) -> Any:
    """Find a fixed point by iteration, Newton's method for the residual, or the user's solver."""
    system = System(Residual(f), x0, params, "fixed_point", batch)
    if solver == "newton":
        return _solved(system, f, x0, None, newton, **how)
    return _solved(system, f, x0, solver, fixed_by_iteration, **how)


@_computes(v.minimize)
def minimize(
    f: Any, x0: Any, *params: Any, solver: Any, batch: int, linear_solver: Any, **how: Any
) -> Any:
    """Find a minimum by a quasi-Newton method and Newton's method, or by the user's solver."""
    gradient = Gradient(any_engine, f)
    system = System(gradient, x0, params, "minimize", batch)

    def value_at(leaves: Vector) -> float:
        return number(system.at(system.tree.build(leaves), f))

    def slope(leaves: Vector) -> tuple[float, Vector]:
        y, g = gradient.with_value(system.tree.build(leaves), *params)
        return number(refuse_traced(y, f, "minimize")), Tree(g).leaves

    def climb(begun: Vector, way: Vector) -> float:
        """Return how far the value rises on a way, by the gradients at eight points of it."""
        points = [combine(begun, (k + 0.5) / 8, way) for k in range(8)]
        return sum([dot(system.residual(x), way) for x in points], 0.0) / 8

    def descend(system: System, tol: float | None, max_steps: int | None) -> Vector:
        found = descended(slope, system.start, 1000 if max_steps is None else max_steps)
        begun, system.by_products = system.start, not batch and system.coordinates.size > SMALL
        unsolved: ConvergenceError | None = None
        if system.by_products:
            try:
                return accepted(system, found, tol, True)
            except ConvergenceError as error:
                unsolved = error
        system.start = found
        try:
            found = newton(system, tol, None)
        except ConvergenceError as error:
            raise (unsolved or error) from None
        rise, way = value_at(found) - value_at(begun), combine(found, -1.0, begun)
        # Rounding errors of the values may be a rise too: the gradients on the way confirm it.
        if rise > 0.0 and not climb(begun, way) <= 0.5 * rise:
            raise ConvergenceError(
                f"minimize of a function of {describe(x0)} came to a stationary point where the "
                f"value is greater than at the start; start elsewhere, or pass a solver"
            )
        return found if system.by_products else least(system, found)

    return _solved(system, f, x0, solver, descend, **how)


@_computes(v.linear_solve)
def linear_solve(
    matvec: Any,
    b: Any,
    *params: Any,
    solver: Any,
    transpose_solve: Any,
    symmetric: bool,
    batch: int,
    tol: float | None,
    max_steps: int | None,
) -> Any:
    """Solve by a dense matrix, by products alone, or by the user's solver; check the solution."""
    system = System(matvec, b, params, "linear_solve", batch)
    rhs = system.start
    if not rhs:
        return b
    if callable(solver):
        found = system.read(solver(system.at, system.tree.like))
    else:
        found = solve_linear(
            system.residual,
            rhs,
            solver,
            batch=batch,
            tol=tol,
            max_steps=max_steps,
            matrix=getattr(matvec, "matrix", None),
        )
    product = system.residual(found)
    wrong = norm(combine(rhs, -1.0, product))
    bound = eps_of(rhs) ** (1 / 3) if tol is None else max(tol, eps_of(rhs) ** 0.5)
    if not wrong <= bound * (norm(rhs) + norm(product)):
        raise ConvergenceError(
            f"linear_solve: matvec of what was found is not b: the norm of the residual is "
            f"{wrong:.3g}, that of b {norm(rhs):.3g}; matvec may not be linear, or not act on each "
            f"of the problems that batch={batch} counts by itself, or the solver may solve "
            f"something else: in reverse mode it is given the transpose, if there is no "
            f"transpose_solve"
        )
    if symmetric or solver == "cg":
        _check_symmetric(system, found, product, bound, "symmetric=True" if symmetric else "'cg'")
    return system.build(found)


def _check_symmetric(system: System, x: Vector, product: Vector, tol: float, claim: str) -> None:
    """Check that a solution solves the transposed system as well, which reverse mode relies on.

    This holds if ⟨u, A x⟩ = ⟨A u, x⟩, which is tested for one u with parts in all directions.
    """
    probe = [direction(of, seed) for seed, of in enumerate(x)]
    image = system.residual(probe)
    differ = abs(dot(probe, product) - dot(image, x))
    if not differ <= tol * (norm(probe) * norm(product) + norm(image) * norm(x)):
        raise ConvergenceError(
            f"linear_solve: {claim} says that matvec is symmetric, or Hermitian, and it is not: "
            f"of a vector u and the solution x, ⟨u, A x⟩ and ⟨A u, x⟩ differ by {differ:.3g}; "
            f"leave symmetric= out, or take solver='gmres', or 'dense'"
        )


@_computes(v.odeint)
def odeint(f: Any, y0: Any, t: Any, *params: Any, **how: Any) -> Any:
    """Integrate by steps whose length is chosen for the error."""
    problem = Integration(f, y0, t, params, **how)
    states, _ = problem.run()
    return problem.tree.build([v.stack(*column) for column in zip(*states, strict=True)])


@_computes(check_isolated)
def isolated(f: Any, x: Any, *params: Any, name: str, linear_solver: Any, batch: int) -> Any:
    """Check that Newton's method stays at a root; return the adjoint of the Jacobian there."""
    return verify(System(f, x, params, name, batch), linear_solver)


@_computes(odeint_steps)
def steps(f: Any, y0: Any, t: Any, *params: Any, **how: Any) -> Solution:
    """Integrate, and divide the steps until they resolve derivatives."""
    problem = Integration(f, y0, t, params, **how)
    return Solution(problem, *problem.run())
