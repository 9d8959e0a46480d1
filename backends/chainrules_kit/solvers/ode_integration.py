"""Integration by steps that are short enough for the state and for its derivatives."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias, final

from chainrules_kit.solvers.root_finding import engine
from chainrules_kit.solvers.runge_kutta import (
    Substep,
    Tableau,
    clock_of,
    first_step,
    rate_of,
    stages,
    tableau,
    weighted,
)
from chainrules_kit.solvers.step_programs import Program, forget, program_of
from chainrules_kit.solvers.vectors import Vector, combine, direction, eps_of, norm, number, square
from chainrules_py import ConvergenceError, ZeroTangent, is_zero, space
from chainrules_py import ops as v
from chainrules_py.extend import Tree, mirrored, refuse_traced, started

Fractions: TypeAlias = tuple[tuple[float, ...], ...]
"""For each interval between outputs, the ends of the steps as fractions of it, from 0 to 1."""


@final
class Solution:
    """States at the times, and the steps on which derivatives are computed.

    Attributes
    ----------
    ys : structure
        The states at the times, as `odeint` returns them.
    intervals : list of list of Substep
        The steps from each time to the next.
    """

    def __init__(self, problem: Integration, states: list[Vector], taken: Fractions) -> None:
        self._problem, self._last = problem, states[-1]
        self.ys = problem.tree.build([v.stack(*column) for column in zip(*states, strict=True)])
        left, divided = problem.left, problem.resolved(taken, states)
        if problem.strays(divided, states, taken):
            forget()
            problem.left = left
            divided = problem.resolved(taken, states)
        self._passed = [[y for _, y in parts[:-1]] for parts in divided]
        self.intervals = [
            [Substep(problem.method, a, b, problem.dtype) for (a, _), (b, _) in pairwise(parts)]
            for parts in divided
        ]

    @functools.cached_property
    def program(self) -> Program | None:
        """The pullback of a step, if it is compiled."""
        problem, y = self._problem, self._last
        return problem.sensed and problem.compiled(step_pulled, y, tuple(problem.scalars(y)))

    def pull(self, ys_bar: Any) -> tuple[Any, ...]:
        """Pull a cotangent of the states back, by the program, to f, y0, t and the parameters."""
        problem, times = self._problem, self._problem.times
        tree, params = problem.tree, problem.params
        held = (problem.f, *params)
        bars = Tree(self.ys).read(ys_bar)
        t_bars = [0.0] * len(times)
        y_bar = problem.scalars([x[-1] for x in bars])
        sums: list[Any] = [0.0 * x for x in Tree(held).leaves]
        assert self.program is not None
        for n, steps in reversed([*enumerate(self.intervals)]):
            a, b = times[n], times[n + 1]
            for step, y in reversed([*zip(steps, self._passed[n], strict=True)]):
                share = step.stop - step.start
                t, h = a + step.start * (b - a), share * (b - a)
                given = tree.build(problem.scalars(y)), t, h, params, tuple(y_bar)
                _, y_bar, more, t_bar, h_bar = self.program(*given)
                sums = [x + y for x, y in zip(sums, more, strict=True)]
                t_bars[n] += (1 - step.start) * t_bar - share * h_bar
                t_bars[n + 1] += step.start * t_bar + share * h_bar
            y_bar = problem.scalars([x + y[n] for x, y in zip(y_bar, bars, strict=True)])
        t_bar = v.stack(*[v.index(problem.t, 0) * 0.0 + x for x in t_bars])
        of_held = zip(map(space, held), Tree(held).tangent(sums), strict=True)
        f_bar, *p_bars = [of if is_zero(of) else bar for of, bar in of_held]
        return f_bar, tree.tangent(y_bar), t_bar, *p_bars


@final
class Integration:
    """Initial value problem, on plain values."""

    def __init__(
        self,
        f: Callable[..., Any],
        y0: Any,
        t: Any,
        params: tuple[Any, ...],
        rtol: float | None,
        atol: float | None,
        method: str,
        max_steps: int,
    ) -> None:
        self.method = tableau(method)
        self.f, self.params, self.t = f, params, t
        self.tree = started(y0, t)
        self.times = [number(v.index(t, i)) for i in range(t.shape[0])]
        steps = [b - a for a, b in pairwise(self.times)]
        if not (all(s >= 0 for s in steps) or all(s <= 0 for s in steps)):
            raise ValueError("the times of odeint have to increase, or to decrease, all the way")
        resolution = eps_of(self.tree.leaves)
        self.rtol = max(resolution**0.5 if rtol is None else rtol, 10 * resolution)
        self.atol = resolution**0.5 if atol is None else atol
        self.left = max_steps
        self.clock = clock = clock_of(t, self.tree.leaves)
        self.dtype = None if clock is None or clock.dtype == t.dtype else clock.dtype
        self.rate = rate_of(self.f, self.tree, self.params, self.clock)

    def _checked(self, y: Vector, t: float) -> Vector:
        """Compute the rate of change; raise if it has tracers that were not passed to `odeint`."""
        return refuse_traced(self.rate(y, t), self.f, "odeint")  # type: ignore[no-any-return]

    # ------------------------------------------------------------------------------ the state

    def run(self) -> tuple[list[Vector], Fractions]:
        """Return the states at the times, and the steps that were taken."""
        y = self.tree.leaves
        states, taken = [y], []
        if len(self.times) > 1:
            try:
                k = self._checked(y, self.times[0])
            except (TypeError, IndexError) as error:
                error.add_note("odeint calls f(y, t, *params): the state comes before the time")
                raise
            ends = self.times[0], self.times[-1]
            how = self._checked, self._error, self.method.order
            h = 0.0 if ends[0] == ends[1] else first_step(y, k, ends, *how)
            for a, b in pairwise(self.times):
                y, k, h, fractions = self._advance(y, k, h, a, b)
                states.append(y)
                taken.append(fractions)
        return states, tuple(taken)

    def _advance(
        self, y: Vector, k: Vector, h: float, a: float, b: float
    ) -> tuple[Vector, Vector, float, tuple[float, ...]]:
        """Step from one output to the next; return the length of the next step as h."""
        method, t, fractions = self.method, a, [0.0]
        if a == b:  # a step of no length, whose derivatives in both times are the rate
            fractions.append(1.0)
        while t != b:
            # The last two steps have equal length, so that none is vanishingly short.
            rest = abs(b - t)
            length = min(h, 0.5 * rest) if 2 * h > rest else h
            if h >= 0.999 * rest:
                length = rest
            if length <= 16 * 2.0**-52 * abs(t) or self.left <= 0 or not math.isfinite(length):
                raise ConvergenceError(self._stuck(t, length))
            self.left -= 1
            signed = math.copysign(length, b - a)
            ks = stages(method, self._checked, y, t, signed, k)
            moved = weighted(y, signed, method.weights[-1], ks)
            last = length == rest
            there = b if last else t + signed
            ks.append(self._checked(moved, there))
            error = self._error(weighted([0.0 * x for x in y], signed, method.errors, ks), y, moved)
            factor = 0.9 * error ** (-1 / method.order) if error > 0.0 else 5.0
            if error <= 1.0:
                y, k, t = moved, ks[-1], there
                fractions.append(1.0 if last else (t - a) / (b - a))
                h = max(h, length) if factor >= 1.0 and length < h else length * min(factor, 5.0)
            else:
                h = length * (max(factor, 0.2) if math.isfinite(error) else 0.1)
        return y, k, h, tuple(fractions)

    def _error(self, e: Vector, y: Vector, moved: Vector) -> float:
        """Return the root mean square of an error relative to the tolerance; 1 is accepted."""
        scaled, count = [], 0
        for x, before, after in zip(e, y, moved, strict=True):
            size = v.where(v.abs(before) > v.abs(after), v.abs(before), v.abs(after))
            scaled.append(v.abs(x) / (self.atol + self.rtol * size))
            count += math.prod(x.shape)
        error = norm(scaled) / math.sqrt(max(count, 1))
        return error if error == error else math.inf

    def _stuck(self, t: float, h: float) -> str:
        why = "too many steps were needed" if self.left <= 0 else "the step became too small"
        return (
            f"odeint came from t = {self.times[0]:.6g} to {t:.6g} of {self.times[-1]:.6g}, where "
            f"{why} (length {h:.3g}): the solution may have a singularity there, or the "
            f"equations are stiff; loosen rtol and atol, or allow more steps (max_steps=)"
        )

    # ----------------------------------------------------------------------- its derivatives

    def compiled(self, call: Callable[..., Any], y: Vector, *more: Any) -> Program | None:
        """Return the compiled program of the computation at a step, or None.

        It is tested on steps back in time from near the last state, at some of all times.
        """
        if self.clock is not None or len(self.times) < 2 or not y:
            return None
        first, last, h = self.times[0], self.times[-1], 0.01 * (self.times[-2] - self.times[-1])

        def check(found: Any, f: Any, y: Any, t: float, h: float, params: Any, *_: Any) -> bool:
            expected, ks, _ = _step(self.method, f, y, t, h, params)
            wrong = norm(combine(expected, -1.0, list(found[0])))
            return bool(wrong <= 1e-9 * abs(h) * norm(ks[0]) + 1e-14 * norm(expected))

        operands = self.tree.build(self.scalars(y)), last, h, self.params, *more
        times = [last + n / 16 * (first - last) for n in range(17 if call is step_sensed else 1)]
        return program_of(call, self.method, self.f, operands, times, check)

    def scalars(self, y: Vector) -> Vector:
        """Return arrays without axes as numbers of their library, as arithmetic returns them."""
        return [x if self.clock is not None or x.shape else x[()] for x in y]

    def resolved(self, taken: Fractions, states: list[Vector]) -> list[list[tuple[float, Vector]]]:
        """Divide the steps whose derivatives differ between the two methods of the pair.

        The steps were chosen for the state and can be far too long for its derivatives: at an
        equilibrium they grow without bound, although an error there still decays or grows; a
        forcing with amplitude zero does not affect them at all.

        Returns
        -------
        list of list of tuple
            For each interval between outputs, the ends of the steps as fractions of it, with the
            states there if a program pulls these back.
        """
        self._trusted, self._trust = 0.0, 0
        self.sensed = self.compiled(step_sensed, states[-1], 1.0, None)
        y, divided = self.tree.leaves, []
        for (a, b), places in zip(pairwise(self.times), taken, strict=True):
            fine = [(0.0, self._kept(y))]
            for start, stop in pairwise(places):
                y = self._divide(y, a, b, start, stop, fine, 0)
            divided.append(fine)
        return divided

    def strays(self, divided: Any, states: list[Vector], taken: Fractions) -> bool:
        """Return whether programs led elsewhere than the function, which may have changed."""
        pairs = [(parts[-1][1], x) for parts, x in zip(divided, states[1:], strict=True)]
        apart = [self._error(combine(y, -1.0, x), x, x) for y, x in pairs if self.sensed]
        return not max(apart, default=0.0) <= 100.0 * sum(map(len, taken))

    def _divide(
        self,
        y: Vector,
        a: float,
        b: float,
        start: float,
        stop: float,
        fine: list[tuple[float, Vector]],
        depth: int,
    ) -> Vector:
        """Return the state after a part of the interval; append its step ends to ``fine``."""
        t, h = a + start * (b - a), (stop - start) * (b - a)
        if abs(h) <= self._trusted and self._trust > 0:
            self._trust -= 1
            moved = self._moved(y, t, h)
            fine.append((stop, self._kept(moved)))
            return moved
        moved, ratio = self._sensitivity(y, t, h, len(fine))
        if ratio <= 1.0:
            # After a step that is resolved by a wide margin, the next few steps are not tested.
            self._trusted, self._trust = (1.1 * abs(h), 3) if ratio < 0.5 else (0.0, 0)
            fine.append((stop, self._kept(moved)))
            return moved
        if self.left <= 0 or depth > 12:
            raise ConvergenceError(self._stuck(t, abs(h)))
        self.left -= 1
        wanted = 1.2 * ratio ** (1 / self.method.order) if math.isfinite(ratio) else 10.0
        parts = min(max(math.ceil(wanted), 2), 10)
        for n in range(parts):
            end = stop if n == parts - 1 else start + (n + 1) * (stop - start) / parts
            y = self._divide(y, a, b, start + n * (stop - start) / parts, end, fine, depth + 1)
        return y

    def _kept(self, y: Vector) -> Vector:
        return [] if self.sensed is None else y

    def _moved(self, y: Vector, t: float, h: float) -> Vector:
        """Return the state after a step."""
        start = self.tree.build(self.scalars(y))
        if self.sensed is None:
            return list(_step(self.method, self.f, start, t, h, self.params, self.clock)[0])
        return list(self.sensed(start, t, h, self.params, 0.0, None)[0])

    def _sensitivity(self, y: Vector, t: float, h: float, seed: int) -> tuple[Vector, float]:
        """Return the state after a step, and its derivatives' error relative to the tolerance.

        One cotangent with parts in all directions is pulled back through the difference of the two
        methods, to the state, the parameters and the values that f captured. Each result is
        compared with the same cotangent pulled back through a sum of the stages in which they do
        not cancel.
        """
        sensed = self.sensed or functools.partial(step_sensed, self.method, self.f)
        start = self.tree.build(self.scalars(y))
        moved, *squares = sensed(start, t, h, self.params, float(seed), self.clock)
        probes, *pulled = [[math.sqrt(number(x)) for x in part] for part in squares]
        of_f = len(Tree(self.f).leaves)
        worst = 0.0
        for n, (wrong, allowed) in enumerate(zip(*pulled, strict=True)):
            if of_f <= n < of_f + len(y):  # the state itself is carried along as well
                allowed += probes[n - of_f]
            else:  # the effect of a parameter adds up over steps: ten steps may err as much as one
                allowed *= 10.0
            if wrong != 0.0:
                finite = wrong < math.inf and allowed > 0.0
                worst = max(worst, wrong / (self.rtol * allowed) if finite else math.inf)
        return list(moved), worst


def _step(method: Tableau, f: Any, y: Any, t: Any, h: Any, params: Any, clock: Any = None) -> Any:
    """Return the state after a step, and the rates at all stages."""
    tree = Tree(y)
    rate = rate_of(f, tree, params, clock)
    ks = stages(method, rate, tree.leaves, t, h)
    return weighted(tree.leaves, h, method.weights[-1], ks), ks, rate


def step_pulled(
    method: Tableau, f: Any, y: Any, t: Any, h: Any, params: Any, bars: Any
) -> tuple[Any, ...]:
    """Return the state after a step, and cotangents pulled back through it.

    These are of the state, of the values f captured and the parameters, of the time and the length.
    """
    given = f, y, t, h, params
    moved, pullback = engine().vjp(lambda *given: tuple(_step(method, *given)[0]), *given)
    f_bar, y_bar, t_bar, h_bar, p_bar = pullback(bars)
    rest = Tree((f, params)).read((f_bar, p_bar))
    return moved, tuple(Tree(y).read(y_bar)), tuple(rest), t_bar, h_bar


def step_sensed(
    method: Tableau, f: Any, y: Any, t: Any, h: Any, params: Any, seed: float, clock: Any
) -> tuple[Any, ...]:
    """Return the state after a step, and squares of probes pulled back through sums of its rates.

    The squares of the probes come first. One sum of the rates is the difference of the two methods;
    in the other they do not cancel.
    """
    generic = tuple([w * math.cos(2.4 * n) for n, w in enumerate(method.weights[-1])])

    def sums(f: Any, y: Any, params: Any) -> Any:
        moved, ks, rate = _step(method, f, y, t, h, params, clock)
        ks.append(rate(moved, t + h))
        zero = [0.0 * x for x in Tree(y).leaves]
        return *[tuple(weighted(zero, h, w, ks)) for w in (method.errors, generic)], tuple(moved)

    given = f, y, params
    (*_, moved), pullback = engine().vjp(sums, *given)
    none, tree = ZeroTangent(), Tree(given)
    probes = tuple([direction(x, seed + n) for n, x in enumerate(moved)])
    seeds = (probes, none, none), (none, probes, none)
    pulled = [tree.read(mirrored(given, pullback(seed))) for seed in seeds]
    return moved, *[tuple(map(square, xs)) for xs in (probes, *pulled)]
