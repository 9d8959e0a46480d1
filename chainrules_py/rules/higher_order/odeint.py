"""The rule of `odeint`: the derivative of the Runge-Kutta formula on steps that resolve it.

Differentiating the steps that were taken gives the exact derivative of the computed result, and
push and pull are adjoint to the last digit. Steps that suit the state but are too long for its
derivatives are divided first (`odeint_steps`). States are kept only at the ends of steps; the
interior of a step is computed again when it is pulled back.
"""

from typing import Any

from chainrules_py.errors import describe
from chainrules_py.ops import index, odeint, stack, zeros_like
from chainrules_py.ops.higher_order import arrayed, odeint_steps
from chainrules_py.primitives.closures.convert import settled
from chainrules_py.registry.constructors import register_frule, register_rrule
from chainrules_py.rule_config import ForwardMode, ReverseMode
from chainrules_py.tangents.arithmetic import add_tangents
from chainrules_py.tangents.space import kind_of, space
from chainrules_py.tangents.structure_leaves import Tree, mirrored
from chainrules_py.tangents.zeros import ZeroTangent, is_zero
from chainrules_py.values.find_tracers import untraced, varies


def started(y0: Any, t: Any) -> Tree:
    """Return the initial state of `odeint`, with numbers as arrays and integers as floats."""
    if not hasattr(t, "dtype") or t.ndim != 1 or not t.shape[0]:
        raise ValueError(
            f"odeint takes its times as an array of shape (n,), the first of them that of y0, and "
            f"was given {describe(t)}"
        )
    tree = Tree(y0)
    leaves = [x * 1.0 if kind_of(x) == "int" else x for x in tree.leaves]
    return Tree(tree.build([arrayed(x, t) for x in leaves]))


@register_frule(odeint, requires=ForwardMode)
def odeint_frule(config, tangents, f: Any, y0: Any, t: Any, *params: Any, **options):
    """Advance the state and its tangent step by step."""
    ys = odeint(f, y0, t, *params, **options)
    f_dot, y_dot, t_dot, *p_dots = tangents
    tree = started(y0, t)
    y, y_dot = tree.like, tree.tangent([arrayed(x, t) for x in Tree(y0).read(y_dot)])
    t_dot = zeros_like(1.0 * t) if is_zero(t_dot) else t_dot
    found = [Tree(y).read(y_dot)]
    for n, steps in enumerate(_solution(f, y0, t, params, options).intervals):
        for step in steps:
            given = (f_dot, y_dot, index(t_dot, n), index(t_dot, n + 1), *p_dots)
            y, y_dot = config.frule_via_ad(given, step, f, y, index(t, n), index(t, n + 1), *params)
        found.append(Tree(y).read(y_dot))
    return ys, Tree(ys).tangent([stack(*column) for column in zip(*found, strict=True)])


@register_rrule(odeint, requires=ReverseMode)
def odeint_rrule(config, f: Any, y0: Any, t: Any, *params: Any, **options):
    """Pull the cotangent of the state back through each step, from the last to the first."""
    solution = _solution(f, y0, t, params, options)
    # The compiled pullback of a step is used if no outer level differentiates.
    is_compiled = not varies((f, y0, t, params)) and solution.program is not None
    ys = solution.ys if is_compiled else odeint(f, y0, t, *params, **options)
    f = settled(f)

    def pullback(ys_bar):
        tree = started(y0, t)
        if is_compiled and not varies(ys_bar):
            f_bar, y_bar, *rest = solution.pull(ys_bar)
            return (f_bar, Tree(y0).tangent(tree.read(y_bar)), *rest)
        passed = _passed(f, tree.like, t, params, solution.intervals)
        bars, count = Tree(ys).read(ys_bar), t.shape[0]
        t_bars: list[Any] = [ZeroTangent()] * count
        f_bar, *p_bars = [space(x) if is_zero(space(x)) else ZeroTangent() for x in (f, *params)]
        y_bar = tree.tangent([index(bar, count - 1) for bar in bars])
        for n, steps in reversed([*enumerate(solution.intervals)]):
            for step in reversed(steps):
                given = (f, passed.pop(), index(t, n), index(t, n + 1), *params)
                _, pull = config.rrule_via_ad(step, *given)
                f_more, y_bar, before, after, *p_more = mirrored(given, pull(y_bar))
                f_bar = add_tangents(f_bar, f_more)
                t_bars[n] = add_tangents(t_bars[n], before)
                t_bars[n + 1] = add_tangents(t_bars[n + 1], after)
                p_bars = [add_tangents(a, b) for a, b in zip(p_bars, p_more, strict=True)]
            here = tree.tangent([index(bar, n) for bar in bars])
            y_bar = add_tangents(tree.tangent(tree.read(y_bar)), here)
        t_bar = stack(*[index(t, 0) * 0.0 if is_zero(b) else b for b in t_bars])
        return (f_bar, Tree(y0).tangent(tree.read(y_bar)), t_bar, *p_bars)

    return ys, pullback


def _solution(f, y0, t, params, options):
    return odeint_steps(*map(untraced, (f, y0, t, *params)), **options)


def _passed(f, y, t, params, intervals):
    """Collect the state before each step."""
    states = []
    for n, steps in enumerate(intervals):
        for step in steps:
            states.append(y)
            y = step(f, y, index(t, n), index(t, n + 1), *params)
    return states
