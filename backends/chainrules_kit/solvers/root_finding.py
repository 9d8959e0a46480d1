"""Systems of equations whose unknown is a structure: solution, and checks at the solution.

All computations are on plain values. The installed engine computes derivatives of the functions;
none of them is recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, final

from chainrules_kit.solvers.dense import Coordinates, falls
from chainrules_kit.solvers.krylov import iterated
from chainrules_kit.solvers.vectors import (
    Vector,
    combine,
    eps_of,
    every,
    floating,
    norm,
)
from chainrules_py import Config, ConvergenceError, NoRuleError, NotDifferentiableError, space
from chainrules_py import ops as v
from chainrules_py.extend import (
    Space,
    Tree,
    default_engine,
    describe,
    flatten,
    kind_of,
    plain,
    project_exactly,
    refuse_traced,
    type_info,
)

SMALL = 256
"""Largest number of unknowns for which a linear system uses a dense matrix by default."""


def engine() -> Any:
    """Return the installed engine, which computes the derivatives that solvers need."""
    found = default_engine()
    if found is None:
        raise NoRuleError(
            "no engine is installed to differentiate the function with; "
            "pass a solver of your own, which does not need it: solver=..."
        )
    return found


@final
class System:
    """Equations ``f(x, *params)`` = 0, as a function of the list of the unknowns.

    Attributes
    ----------
    tree : Tree
        The start value of the unknown, with its structure.
    name : str
        The operation that f was passed to.
    batch : int
        The number of leading axes that count independent problems.
    matrix : array, optional
        The Jacobian that was computed last, in real coordinates.
    by_products : bool
        Whether Newton's method uses products with the Jacobian alone.
    """

    matrix: Any = None
    by_products = False

    def __init__(
        self, f: Callable[..., Any], x0: Any, params: tuple[Any, ...], name: str, batch: int = 0
    ) -> None:
        self.f = f
        self.params = params
        self.name = name
        self.batch = batch
        tree = Tree(x0)
        self.start = floating(tree.leaves)
        self.tree = Tree(tree.build(self.start))
        self.spaces = [space(x) for x in self.start]
        if not self.start and flatten(x0)[0]:
            raise ValueError(
                f"{name} solves for arrays and numbers, and there are none in {describe(x0)}"
            )

    @functools.cached_property
    def coordinates(self) -> Coordinates:
        """The real coordinates of the unknown, whose dtypes and shapes stay those of the start."""
        return Coordinates(self.start, self.batch)

    @functools.cached_property
    def engine(self) -> Any:
        """The installed engine, which computes derivatives of the function."""
        return engine()

    def at(self, x: Any, f: Any = None) -> Any:
        """Return ``f(x, *params)`` for an unknown in its structure; f may be another function."""
        f = self.f if f is None else f
        return refuse_traced(f(x, *self.params), f, self.name, (x, self.params))

    def residual(self, leaves: Vector) -> Vector:
        """Return f at a list of unknowns, as a list of equations."""
        return self.equations(self.at(self.tree.build(leaves)))

    def equations(self, r: Any) -> Vector:
        """Return a result of f as a list; raise unless its shapes are those of the unknowns."""
        leaves = Tree(r).leaves
        pairs = zip(leaves, self.spaces, strict=False)
        if len(leaves) != len(self.spaces) or not all([_fits(x, of) for x, of in pairs]):
            raise ValueError(
                f"{self.name} solves for {describe(self.tree.like)}, and its function gave "
                f"{describe(r)}; it has to give as many numbers, in the same shapes and order"
            )
        return leaves

    def build(self, leaves: Vector) -> Any:
        """Return the unknown in its structure; what began as a number is one, and no 0-d array."""
        pairs = zip(leaves, self.tree.leaves, strict=True)
        return self.tree.build(
            [
                x[()] if hasattr(x, "dtype") and not type_info(type(of)).is_array else x
                for x, of in pairs
            ]
        )

    def read(self, x: Any) -> Vector:
        """Return a solver's result as a list of unknowns, in the dtypes of the start."""
        leaves = floating(Tree(plain(x)).leaves)
        shapes = [tuple(getattr(leaf, "shape", ())) for leaf in leaves]
        if shapes != [of.shape for of in self.spaces]:
            raise ValueError(
                f"the solver of {self.name} started from {describe(self.tree.like)} and gave "
                f"{describe(x)}; it has to give the same structure"
            )
        return [project_exactly(leaf, of) for leaf, of in zip(leaves, self.spaces, strict=True)]

    def _traced(self, *xs: Any) -> Any:
        leaves = self.equations(self.f(self.tree.build(xs), *self.params))
        return leaves[0] if len(leaves) == 1 else tuple(leaves)

    def jacobian(self, leaves: Vector) -> tuple[Vector, Any]:
        """Return the equations, and their Jacobian in real coordinates."""
        y, pullback = self.engine.vjp(self._traced, *leaves)
        refuse_traced(y, self.f, self.name)
        # For an array that no other engine traces, compute all rows in one pass. A config is
        # another engine, whose pullbacks take one direction.
        many = self.coordinates.is_flat and type_info(type(leaves[0])).host is None
        if many and not isinstance(self.engine, Config) and y.dtype == leaves[0].dtype:
            (self.matrix,) = pullback(v.eye_like(leaves[0], rows=leaves[0].shape[0]), batched=True)
        else:
            seeds = [e[0] if len(e) == 1 else tuple(e) for e in self.coordinates.basis()]
            rows = [self.coordinates.flat(list(pullback(e))) for e in seeds]
            self.matrix = v.stack(*rows, axis=-2) if rows else None
        return [y] if len(leaves) == 1 else list(y), self.matrix

    def pushed(self, leaves: Vector, direction: Vector) -> Vector:
        """Multiply the Jacobian by a vector."""
        _, r_dot = self.engine.jvp(self._traced, tuple(leaves), tuple(direction))
        return [r_dot] if len(leaves) == 1 else list(r_dot)


def _fits(x: Any, of: Space) -> bool:
    """Return whether an equation is of the shape of an unknown, and complex only if that is."""
    same = tuple(getattr(x, "shape", ())) == of.shape
    return same and (of.kind == "complex" or kind_of(x) != "complex")


# ------------------------------------------------------------------------------ linear systems


def solve_linear(
    apply: Callable[[Vector], Vector],
    b: Vector,
    solver: Any,
    *,
    batch: int = 0,
    tol: float | None = None,
    max_steps: int | None = None,
    matrix: Any = None,
) -> Vector:
    """Find the x with ``apply(x) = b``.

    Parameters
    ----------
    apply : callable
        The operator, on lists.
    b : list
        The right-hand side.
    solver : {"dense", "gmres", "cg"} or None
        None means ``"dense"`` for small or independent systems, otherwise ``"gmres"``.
    batch, tol, max_steps
        As in `chainrules_py.ops.higher_order.linear_solve`.
    matrix : array, optional
        The matrix of the operator, if it is known.

    Raises
    ------
    ConvergenceError
        If the operator is singular, or the iteration does not converge.
    """
    b = floating(b)
    coordinates = Coordinates(b, batch)
    if solver is None:
        solver = "dense" if batch or coordinates.size <= SMALL else "gmres"
    if solver == "dense":
        if matrix is None and coordinates.size:
            columns = [coordinates.flat(apply(e)) for e in coordinates.basis()]
            matrix = v.stack(*columns, axis=-1)
        return coordinates.vector(coordinates.solve(matrix, coordinates.flat(b)))
    small = eps_of(b) ** 0.75 if tol is None else tol
    if solver in ("gmres", "cg"):
        return iterated(solver, apply, b, small, max_steps)
    raise ValueError(
        f"solver={solver!r} is none of 'dense', 'gmres' and 'cg', and no function either"
    )


# --------------------------------------------------------------------------- nonlinear systems


def newton(system: System, tol: float | None, max_steps: int | None) -> Vector:
    """Solve by Newton's method, with steps that are halved until the residual decreases.

    Raises
    ------
    ConvergenceError
        If it does not converge; the message has the norm of the residual.
    """
    batch = system.batch
    x = system.start
    start, eps = norm(x, batch), eps_of(x)
    tol = eps**0.5 if tol is None else tol
    r = system.residual(x)
    length = norm(r, batch)
    for count in range(50 if max_steps is None else max_steps):
        if every(length == 0.0):
            return x
        r, step = _newton_step(system, x, length)
        small = norm(step, batch) <= tol * _larger(norm(x, batch), start)
        if every(small):
            return _polished(system, x, step, r)
        x, length, small = _descended(system, x, step, (r, length), small, count)
        if every(small):
            return x
    before = _shown(norm(system.residual(system.start), batch))
    raise ConvergenceError(
        f"{system.name}: Newton's method did not converge: the norm of the residual is "
        f"{_shown(length)}, at first it was {before}; "
        f"start elsewhere, allow more steps (max_steps=), or pass a solver"
    )


def _newton_step(system: System, x: Vector, length: Any) -> tuple[Vector, Vector]:
    if not every(length < float("inf")):
        raise ConvergenceError(
            f"{system.name}: the residual at {describe(system.tree.like)} is not finite; "
            f"start elsewhere"
        )
    try:
        if system.by_products:
            r = system.residual(x)
            return r, solve_linear(lambda u: system.pushed(x, u), [-a for a in r], "gmres")
        r, matrix = system.jacobian(x)
        coordinates = system.coordinates
        return r, coordinates.vector(-coordinates.solve(matrix, coordinates.flat(r)))
    except ConvergenceError as error:
        raise ConvergenceError(
            f"{system.name}: the Jacobian is singular where the norm of the residual is "
            f"{_shown(length)}; start elsewhere, or pass a solver"
        ) from error


def _descended(
    system: System, x: Vector, step: Vector, before: tuple[Vector, Any], small: Any, count: int
) -> tuple[Vector, Any, Any]:
    """Take a step, halved until the residual decreases; ``before`` is that at x, and its norm.

    Return the place, the residual's norm there, and whether only rounding errors are left: a whole
    step does not halve the residual, though the Jacobian after it says that it should.
    """
    batch, (r, length) = system.batch, before
    factor: Any = length * 0.0 + 1.0
    for halvings in range(40):
        moved = combine(x, factor, step, batch)
        try:
            after = norm(system.residual(moved), batch)
        except ConvergenceError:  # from a solver inside f: treat as outside the domain
            factor = 0.5 * factor
            continue
        if not halvings and not every(after <= 0.5 * length):
            bend = norm(combine(r, 1.0, system.pushed(moved, step)), batch)
            small = small | ((after > 0.5 * length) & (bend <= 0.1 * length))
        good = (after <= (1.0 - 1e-4 * factor) * length) | small | (length == 0.0)
        if every(good):
            return moved, after, small
        factor = 0.5 * factor if not batch else v.where(good, factor, 0.5 * factor)
    raise ConvergenceError(
        f"{system.name}: no step lessens the residual any more, whose norm is {_shown(length)} "
        f"after {count} steps; there may be no solution near, or f is not smooth; start elsewhere"
    )


def _polished(system: System, x: Vector, step: Vector, r: Vector) -> Vector:
    """Take further steps while they decrease the residual, down to rounding errors."""
    batch = system.batch
    for _ in range(3):
        length = norm(r, batch)
        moved = combine(x, 1.0, step, batch)
        there = system.residual(moved)
        after = norm(there, batch)
        if batch:  # decide for each problem by itself
            taken = v.where(after <= length, 0.0 * length + 1.0, 0.0 * length)
            moved = combine(x, taken, step, batch)
            there = system.residual(moved)
        elif not after <= length:
            break
        x, r = moved, there
        if every((after >= 0.5 * length) | (norm(r, batch) == 0.0)):
            break
        r, step = _newton_step(system, x, norm(r, batch))
    return x


def _larger(a: Any, b: Any) -> Any:
    return max(a, b) if isinstance(a, float) else v.where(a > b, a, b)


def _shown(length: Any) -> str:
    return f"{float(length if isinstance(length, float) else v.max(length)):.3g}"


def fixed_by_iteration(system: System, tol: float | None, max_steps: int | None) -> Vector:
    """Find the x with x - f(x) = 0 by repeated application of f.

    Raises
    ------
    ConvergenceError
        If it does not converge; the message has the length of the last step.
    """
    x, batch = system.start, system.batch
    eps = eps_of(x)
    tol = 32 * eps if tol is None else tol
    start, least, waited, length = norm(x, batch), None, 0, 0.0
    for _ in range(1000 if max_steps is None else max_steps):
        step = system.residual(x)
        x = combine(x, -1.0, step, batch)
        length, scale = norm(step, batch), _larger(norm(x, batch), start)
        if not every(length < 1e30 * (1.0 + start)):  # divergence
            break
        if every(length <= tol * scale):
            return x
        largest = float(length if isinstance(length, float) else v.max(length))
        if least is not None and not largest < 0.9 * least:
            waited += 1
            # Only the rounding errors of f still move x.
            if waited > 5 and every(length <= 1e4 * eps * scale):
                return x
        else:
            least, waited = largest, 0
    raise ConvergenceError(
        f"{system.name} did not settle: the last step is of length {_shown(length)}; f may be no "
        f"contraction near the start; start elsewhere, allow more steps (max_steps=), or write "
        f"solver='newton'"
    )


def accepted(system: System, x: Vector, tol: float | None, by_start: bool) -> Vector:
    """Return the result of the user's solver, if it is a solution.

    The residual has to be small relative to the effect on it of a relative change of x, or of the
    way from the start. ``by_start``: it may instead be small relative to that at the start, which
    for a steep function says little.

    Raises
    ------
    ConvergenceError
        If it is no solution; the message has the norm of the residual.
    """
    batch = system.batch
    small = eps_of(x) ** (1 / 3) if tol is None else tol
    length = norm(system.residual(x), batch)
    enough = small * norm(system.residual(system.start), batch) if by_start else 0.0
    if every(length <= enough):
        return x
    effect: Any = 0.0
    for way in (x, combine(x, -1.0, system.start)):
        effect = effect + norm(system.pushed(x, way), batch)
        if every(length <= small * effect):
            return x
    more = "say what is small enough: tol=" if tol is None else "to a smaller tolerance"
    raise ConvergenceError(
        f"{system.name}: what the solver gave is no solution: the norm of the residual is "
        f"{_shown(length)}; let it go on for longer, or {more}"
    )


def least(system: System, leaves: Vector) -> Vector:
    """Return the stationary point that Newton's method found, if it is a minimum.

    Raises
    ------
    ConvergenceError
        If the value decreases in a direction.
    """
    if system.matrix is None:
        system.jacobian(leaves)
    if system.coordinates.size and falls(system.matrix):
        raise ConvergenceError(
            "minimize came to a stationary point that is no minimum: the Hessian has a negative "
            "eigenvalue there, so the value falls to a side; start elsewhere, or, if a saddle "
            "point is what you want, call root of the gradient"
        )
    return leaves


def verify(system: System, solver: Any) -> Any:
    """Return the adjoint of the Jacobian, if it was computed, after a check of the solution.

    The check is that the solution at the system's start is isolated, so that it has a derivative.
    Two steps of Newton's method with the same Jacobian start from there. At a simple root the first
    is within rounding, or the second much shorter; at a multiple root they shrink by a fixed factor
    at any distance (P. Deuflhard, *Newton Methods for Nonlinear Problems*, 2011, section 2.1).

    Raises
    ------
    NotDifferentiableError
        If the Jacobian is singular there.
    ConvergenceError
        For `minimize`, if the Hessian was computed as a matrix and is not definite.
    """
    leaves, batch = system.start, system.batch
    try:
        r, matrix, solve = _correction(system, leaves, solver)
        first = solve(r)
        simple = norm(first, batch) <= 50 * eps_of(leaves) * norm(leaves, batch)
        if not every(simple):
            moved = combine(leaves, -1.0, first)
            second = solve(system.residual(moved))
            simple = (norm(second, batch) <= 0.1 * norm(first, batch)) | simple
            if not every(simple):  # near 0, both may be of rounding errors of f alone
                change = combine(r, -1.0, system.pushed(moved, first))
                simple = (norm(change, batch) <= 0.1 * norm(r, batch)) | simple
    except ConvergenceError as error:
        raise NotDifferentiableError(_multiple(system, leaves)) from error
    if not every(simple):
        raise NotDifferentiableError(_multiple(system, leaves))
    if system.name == "minimize" and system.matrix is not None:
        least(system, leaves)
    return matrix


def _correction(
    system: System, leaves: Vector, solver: Any
) -> tuple[Vector, Any, Callable[[Vector], Vector]]:
    """Return the residual, the adjoint of the Jacobian, and a function that applies its inverse."""
    if solver == "dense" or (solver is None and (system.batch or system.coordinates.size <= SMALL)):
        r, matrix = system.jacobian(leaves)
        coordinates = system.coordinates
        return (
            r,
            None if matrix is None else v.matrix_transpose(matrix),
            lambda rhs: coordinates.vector(coordinates.solve(matrix, coordinates.flat(rhs))),
        )

    apply = functools.partial(system.pushed, leaves)

    def solve(rhs: Vector) -> Vector:
        if callable(solver):
            tree = system.tree
            return system.read(solver(lambda u: tree.build(apply(Tree(u).leaves)), tree.build(rhs)))
        return solve_linear(apply, rhs, solver)

    return system.residual(leaves), None, solve


def _multiple(system: System, leaves: Vector) -> str:
    length = _shown(norm(system.residual(leaves), system.batch))
    return (
        f"{system.name}: the Jacobian of the function is singular at the solution, where the norm "
        f"of the residual is {length}; the solution does not move smoothly with what it depends "
        f"on, and has no derivative here"
    )
