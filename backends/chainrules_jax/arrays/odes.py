"""`odeint` on JAX: compiled loops, with derivatives that solve differential equations.

The length of a step depends on values, which a compiled program cannot read; therefore the steps of
the core's rule cannot be repeated. Here the tangent, and the cotangent backwards in time, are
integrated with the state: L. S. Pontryagin et al., *The Mathematical Theory of Optimal Processes*
(1962). They equal those of the core within the tolerances.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from chainrules_jax.array_types import JaxArray
from chainrules_jax.engine.value_conversions import as_values
from chainrules_kit.custom_derivatives.rules_from_engine_functions import moves
from chainrules_kit.solvers.runge_kutta import (
    Tableau,
    first_step,
    rate_of,
    stages,
    tableau,
    weighted,
)
from chainrules_kit.solvers.vectors import eps_of
from chainrules_py import ForwardMode, NoTangent, ReverseMode, ZeroTangent, is_zero
from chainrules_py import ops as v
from chainrules_py.extend import (
    Tree,
    applied,
    find_tracers,
    flatten_tangent,
    mirrored,
    partition,
    register_frule,
    register_rrule,
    started,
    unflatten_tangent,
)
from chainrules_py.ops.higher_order import arrayed

Array: TypeAlias = Any
State: TypeAlias = list[Any]
Rate: TypeAlias = Callable[[State, Any], State]

_OPERANDS: tuple[Any, ...] = (object, object, JaxArray, object)


# ------------------------------------------------------------------------------------ the value


def _integrated(f: Any, y0: Any, t: Any, *params: Any, **options: Any) -> Any:
    """Integrate to the times; NaN if the steps become too short or too many."""
    (t,) = as_values((t,))
    t = t * 1.0
    tree, method = started(y0, t), tableau(options["method"])
    eps, y = eps_of(tree.leaves), tree.leaves
    rtol, atol = (eps**0.5 if x is None else x for x in (options["rtol"], options["atol"]))
    steps = _Steps(method, rate_of(f, tree, params), max(rtol, 10 * eps), atol)
    states = [x[None] for x in y]
    if t.shape[0] > 1:
        k = steps.rate(y, t[0])
        h = first_step(y, k, t, steps.rate, steps.error, method.order).astype(t.dtype)
        begin = (y, k, h, jnp.asarray(options["max_steps"], jnp.int32))

        def interval(carried: Any, ends: Any) -> Any:
            carried = steps.advanced(carried, *ends)
            return carried, carried[0]

        _, after = jax.lax.scan(interval, begin, (t[:-1], t[1:]))
        states = [jnp.concatenate(both) for both in zip(states, after, strict=True)]
    return tree.build(states)


class _Steps:
    """The steps of `chainrules_kit.solvers.ode_integration` as JAX loops."""

    def __init__(self, method: Tableau, rate: Rate, rtol: float, atol: float) -> None:
        self.method, self.rate, self.rtol, self.atol = method, rate, rtol, atol

    def error(self, e: State, before: State, after: State) -> Array:
        """Compute the root mean square of an error relative to the tolerances."""
        sizes = [jnp.maximum(jnp.abs(a), jnp.abs(b)) for a, b in zip(before, after, strict=True)]
        scaled = [jnp.abs(x) / (self.atol + self.rtol * s) for x, s in zip(e, sizes, strict=True)]
        count = max(sum([x.size for x in scaled]), 1)
        error = jnp.sqrt(sum([jnp.sum(x * x) for x in scaled]) / count)
        return jnp.where(jnp.isnan(error), jnp.inf, error)

    def advanced(self, carried: Any, a: Array, b: Array) -> Any:
        """Return state, rate, length of the next step and steps left, at the next time."""
        method, tiny = self.method, 16 * float(jnp.finfo(a.dtype).eps)

        def step(state: Any) -> Any:
            y, k, h, left, t, _ = state
            rest = jnp.abs(b - t)
            # The last two steps have equal length, so that none is vanishingly short.
            length = jnp.where(2 * h > rest, jnp.minimum(h, 0.5 * rest), h)
            length = jnp.where(h >= 0.999 * rest, rest, length)
            stuck = (length <= tiny * jnp.abs(t)) | (left <= 0) | ~jnp.isfinite(length)
            signed, last = jnp.copysign(length, b - a), length == rest
            there = jnp.where(last, b, t + signed)
            ks = stages(method, self.rate, y, t, signed, k)
            moved = weighted(y, signed, method.weights[-1], ks)
            ks.append(self.rate(moved, there))
            error = self.error(weighted([0 * x for x in y], signed, method.errors, ks), y, moved)
            good = error <= 1
            factor = 0.9 * jnp.where(error > 0, error, 1) ** (-1 / method.order)
            factor = jnp.where(error > 0, factor, 5.0)
            longer = length * jnp.minimum(factor, 5)
            longer = jnp.where((factor >= 1) & (length < h), jnp.maximum(h, length), longer)
            shorter = length * jnp.where(jnp.isfinite(error), jnp.maximum(factor, 0.2), 0.1)
            new, old = (moved, ks[-1], there), (y, k, t)
            taken = functools.partial(jnp.where, good & ~stuck)
            y, k, t = jax.tree.map(taken, new, old)
            return y, k, jnp.where(good, longer, shorter).astype(h.dtype), left - 1, t, stuck

        going = lambda state: (state[4] != b) & ~state[5]
        y, k, h, left, _, stuck = jax.lax.while_loop(going, step, (*carried, a, jnp.bool_(False)))
        return [jnp.where(stuck, jnp.nan, x) for x in y], k, h, left


v.odeint.implement(_integrated, types=_OPERANDS)


# ------------------------------------------------------------------------------- derivatives


@register_frule(v.odeint, types=_OPERANDS, requires=ForwardMode)
def odeint_frule_jax(
    config: Any, tangents: Any, f: Any, y0: Any, t: Any, *params: Any, **options: Any
) -> Any:
    """Integrate the equation of the tangent, (∂f/∂y) ẏ + (∂f/∂p) ṗ, along the state."""
    f_dot, y_dot, t_dot, *p_dots = tangents
    tree = started(y0, t)
    dots = [arrayed(x, t) for x in Tree(y0).read(y_dot)]

    def rate(y: Any, time: Any, y_dot: Any) -> tuple[Any, list[Any]]:
        given = (f_dot, tree.tangent(y_dot), ZeroTangent(), *p_dots)
        k, k_dot = config.frule_via_ad(given, applied, f, y, time, *params)
        return k, Tree(k).read(k_dot)

    t = t * 1.0
    t_dot = v.zeros_like(t) if is_zero(t_dot) else t_dot
    first = Tree(f(tree.like, t[0], *params)).leaves
    dots = [x - k * t_dot[0] for x, k in zip(dots, first, strict=True)]
    # The state is integrated separately: it does not depend on the tangents, which may be many.
    ys = v.odeint(f, y0, t, *params, **options)
    _, ys_dot = v.odeint(
        lambda both, time: rate(both[0], time, both[1]), (tree.like, dots), t, **options
    )
    at = lambda i: Tree(f(Tree(ys).build([x[i] for x in Tree(ys).leaves]), t[i], *params)).leaves
    rates = [v.stack(*column) for column in zip(*map(at, range(t.shape[0])), strict=True)]
    return ys, Tree(ys).tangent(
        [
            dot + k * t_dot.reshape(-1, *(1,) * (k.ndim - 1))
            for dot, k in zip(ys_dot, rates, strict=True)
        ]
    )


@register_rrule(v.odeint, types=_OPERANDS, requires=ReverseMode)
def odeint_rrule_jax(config: Any, f: Any, y0: Any, t: Any, *params: Any, **options: Any) -> Any:
    """Integrate the cotangent λ back in time: λ' = -(∂f/∂y)ᴴ λ, and p̄' = -(∂f/∂p)ᴴ λ with it."""
    ys = v.odeint(f, y0, t, *params, **options)

    def pullback(ys_bar: Any) -> tuple[Any, ...]:
        tree, times = started(y0, t), t * 1.0
        known, treedef = partition((f, params), moves)
        known = [arrayed(x, t) for x in known]
        states, seeds = Tree(ys).leaves, Tree(ys).read(ys_bar)

        def rate(state: Any, time: Any) -> Any:
            y, adjoint, _ = state
            k, pull = config.rrule_via_ad(applied, f, tree.build(y), time, *params)
            bars = pull(Tree(k).tangent(adjoint))
            f_bar, y_bar, _, *p_bars = mirrored((f, tree.like, time, *params), bars)
            parts = flatten_tangent(treedef, (f_bar, tuple(p_bars)))
            given = [
                v.zeros_like(x) if is_zero(p) else arrayed(-p, times)
                for p, x in zip(parts, known, strict=True)
            ]
            return Tree(k).leaves, [-x for x in tree.read(y_bar)], given

        def back(carried: Any, here: Any) -> Any:
            adjoint, sums = carried
            y, seed, here_t, before_t = here
            adjoint = [a + s for a, s in zip(adjoint, seed, strict=True)]
            t_bar = _product(seed, Tree(f(tree.build(y), here_t, *params)).leaves)
            ends = v.stack(here_t, before_t)
            found = v.odeint(rate, (y, adjoint, sums), ends, **options)
            _, adjoint, sums = [[x[1] for x in part] for part in found]
            return (adjoint, sums), t_bar

        adjoint, sums = [v.zeros_like(x[0]) for x in states], [v.zeros_like(x) for x in known]
        t_bars = times[1:]
        if t.shape[0] > 1:
            along = [x[:0:-1] for x in states], [s[:0:-1] for s in seeds], times[:0:-1]
            # JAX's own loop takes no arrays that another engine traces.
            is_traced = find_tracers((known, times, states, seeds))
            scan: Any = v.scan.__wrapped__ if is_traced else jax.lax.scan
            (adjoint, sums), t_bars = scan(back, (adjoint, sums), (*along, times[-2::-1]))
        first = _product(adjoint, Tree(f(tree.like, times[0], *params)).leaves)
        t_bar = v.astype(v.concat(-first[None], t_bars[::-1]), dtype=times.dtype)
        y_bar = [a + s[0] for a, s in zip(adjoint, seeds, strict=True)]
        bars = unflatten_tangent(treedef, sums)
        f_bar, p_bars = (bars, bars) if is_zero(bars) else (bars[0], bars[1])
        f_bar = f_bar if partition(f, moves)[0] else NoTangent()
        return (
            f_bar,
            Tree(y0).tangent(y_bar),
            t_bar,
            *[ZeroTangent() if is_zero(p_bars) else p_bars[i] for i in range(len(params))],
        )

    return ys, pullback


def _product(bars: list[Any], leaves: list[Any]) -> Array:
    """Return Re<a, b>."""
    terms = [v.sum(v.real(v.conj(a) * b)) for a, b in zip(bars, leaves, strict=True)]
    return sum(terms[1:], terms[0])
