"""Rules of solvers: the derivative of a solution, independent of the method that found it.

The implicit function theorem, as in S. G. Krantz and H. R. Parks, *The Implicit Function Theorem*
(2003), section 3.3: where f(x, p) = 0 and A = ∂f/∂x is regular, A dx = -(∂f/∂p) dp. Forward mode
solves one linear system with A, and reverse mode one with its adjoint: Aᴴ λ = x̄,
p̄ = -(∂f/∂p)ᴴ λ.
"""

from typing import Any

from chainrules_py.ops import fixed_point, linear_solve, minimize, root
from chainrules_py.ops.higher_order import check_isolated
from chainrules_py.primitives.closures.convert import settled
from chainrules_py.registry.constructors import register_frule, register_rrule
from chainrules_py.rule_config import ForwardMode, ReverseMode
from chainrules_py.rules.higher_order.residuals_and_jacobians import (
    Gradient,
    Pulled,
    Pushed,
    Residual,
    applied,
)
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.structure_leaves import Tree, mirrored, plain
from chainrules_py.tangents.zeros import ZeroTangent, is_zero
from chainrules_py.values.find_tracers import untraced


def _solve(operator, x, rhs, options):
    """Solve a linear system with the Jacobian at a solution, or with its adjoint."""
    solver, batch = options["linear_solver"], options["batch"]
    return Tree(linear_solve(operator, Tree(x).build(rhs), solver=solver, batch=batch)).leaves


def _verified(config, operation, f, x, params, options):
    """Check that a solution is isolated, if its numbers can be read; return what that computed."""
    if not config.sees(x):
        return None
    how = {"linear_solver": options["linear_solver"], "batch": options["batch"]}
    # The check reads numbers, even of values that an outer level differentiates.
    return check_isolated(*map(untraced, (f, x, *params)), name=operation.__name__, **how)


def _implicit_push(config, f, tangents, x, params, options):
    """dx = -A⁻¹ (∂f/∂p) dp."""
    f_dot, _, *p_dots = tangents
    r, r_dot = config.frule_via_ad((f_dot, ZeroTangent(), *p_dots), applied, f, x, *params)
    rhs = [-t for t in Tree(r).read(r_dot)]
    return Tree(x).tangent(_solve(Pushed(config, f, x, params), x, rhs, options))


def _implicit_pull(config, f, x_bar, x, params, options, matrix):
    """Aᴴ λ = x̄, p̄ = -(∂f/∂p)ᴴ λ: one solve for all parameters."""
    operator = Pulled(config, f, x, params)
    operator.matrix = matrix
    adjoint = _solve(operator, x, Tree(x).read(x_bar), options)
    r, pullback = config.rrule_via_ad(applied, f, x, *params)
    bars = pullback(Tree(r).tangent([-t for t in adjoint]))
    f_bar, _, *p_bars = mirrored((f, x, *params), bars)
    return (f_bar, ZeroTangent(), *p_bars)


# ---------------------------------------------------------------------------------------- roots


def state_implicit(operation, equations, requires):
    """State both rules of an operation whose result is a root of equations of its function."""

    @register_frule(operation, requires=requires)
    def implicit_frule(config, tangents, f: Any, x0: Any, *params: Any, **options):
        x = operation(f, x0, *params, **options)
        made = equations(config, f)
        _verified(config, operation, made, x, params, options)
        f_dot, *others = tangents
        f_dot = f_dot if made is f else Tangent.of(type(made), {"f": f_dot})
        return x, _implicit_push(config, made, (f_dot, *others), x, params, options)

    @register_rrule(operation, requires=ReverseMode)
    def implicit_rrule(config, f: Any, x0: Any, *params: Any, **options):
        x = operation(f, x0, *params, **options)
        f = settled(f)
        made = equations(config, f)

        def pull(x_bar):  # the check is here, as the matrix that it computes may be large
            matrix = _verified(config, operation, made, x, params, options)
            made_bar, *bars = _implicit_pull(config, made, x_bar, x, params, options, matrix)
            return (made_bar if made is f or is_zero(made_bar) else made_bar["f"], *bars)

        return x, pull


# f(x, p) = 0; x - f(x, p) = 0; ∂f/∂x = 0.
state_implicit(root, lambda _config, f: f, ForwardMode)
state_implicit(fixed_point, lambda _config, f: Residual(f), ForwardMode)
state_implicit(minimize, Gradient, (ForwardMode, ReverseMode))


# ----------------------------------------------------------------------------- linear systems


@register_frule(linear_solve, requires=ForwardMode)
def linear_solve_frule(config, tangents, matvec: Any, b: Any, *params: Any, **options):
    """Push forward A y = b: dy = A⁻¹ (db - dA y)."""
    y = linear_solve(matvec, b, *params, **options)
    tree = Tree(b)
    a_dot, b_dot, *p_dots = tangents
    _, change = config.frule_via_ad((a_dot, ZeroTangent(), *p_dots), applied, matvec, y, *params)
    rhs = [s - t for s, t in zip(tree.read(b_dot), Tree(y).read(change), strict=True)]
    return y, tree.tangent(Tree(linear_solve(matvec, tree.build(rhs), *params, **options)).leaves)


@register_rrule(linear_solve, requires=ReverseMode)
def linear_solve_rrule(config, matvec: Any, b: Any, *params: Any, **options):
    """Pull back A y = b: b̄ = A⁻ᴴ ȳ, and Ā is pulled back along y ↦ A y from -b̄."""
    y = linear_solve(matvec, b, *params, **options)
    tree, matvec = Tree(b), settled(matvec)
    turned = {**options, "transpose_solve": options["solver"]}
    turned["solver"] = options["transpose_solve"] or options["solver"]

    def solved_back(rhs):
        if options["symmetric"] or options["solver"] == "cg":
            return linear_solve(matvec, rhs, *params, **options)
        # A linear function has the same Jacobian at every point.
        return linear_solve(Pulled(config, matvec, plain(b), params), rhs, **turned)

    def pull(y_bar):
        b_bar = Tree(solved_back(tree.build(tree.read(y_bar)))).leaves
        product, pullback = config.rrule_via_ad(applied, matvec, y, *params)
        bars = pullback(Tree(product).tangent([-t for t in b_bar]))
        a_bar, _, *p_bars = mirrored((matvec, y, *params), bars)
        return (a_bar, tree.tangent(b_bar), *p_bars)

    return y, pull
