"""Steps in time of the right length: for the state, and for what its derivatives need."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeAlias, final

from chainrules_kit.solvers.stepping import Substep, clock_of, rate_of, stages, tableau, weighted
from chainrules_kit.solvers.systems import engine
from chainrules_kit.solvers.vectors import Vector, combine, direction, eps_of, norm, number
from chainrules_py import ConvergenceError, ZeroTangent
from chainrules_py import vocabulary as v
from chainrules_py.extend import Tree, mirrored, refuse_traced, started

Fractions: TypeAlias = tuple[tuple[float, ...], ...]
"""For each time from one output to the next the places, from 0 to 1, between which steps go."""


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
        self.f, self.params = f, params
        self.tree = started(y0, t)
        self.times = [number(v.index(t, i)) for i in range(t.shape[0])]
        steps = [b - a for a, b in itertools.pairwise(self.times)]
        if not (all(s > 0 for s in steps) or all(s < 0 for s in steps)):
            msg = "the times of odeint have to increase, or to decrease, from each to the next"
            raise ValueError(msg)
        resolution = eps_of(self.tree.leaves)
        self.rtol = max(resolution**0.5 if rtol is None else rtol, 10 * resolution)
        self.atol = resolution**0.5 if atol is None else atol
        self.left = max_steps
        self._trusted, self._trust = 0.0, 0
        self.clock = clock = clock_of(t, self.tree.leaves)
        self.dtype = None if clock is None or clock.dtype == t.dtype else clock.dtype
        self._rate = rate_of(self.f, self.tree, self.params, self.clock)

    def rate(self, y: Vector, t: float) -> Vector:
        """Compute the rate of change."""
        return refuse_traced(self._rate(y, t), self.f, "odeint")  # type: ignore[no-any-return]

    # ------------------------------------------------------------------------------ the state

    def run(self) -> tuple[list[Vector], Fractions]:
        """Return the states at the times, and the steps that were taken."""
        y = self.tree.leaves
        states, taken = [y], []
        if len(self.times) > 1:
            k = self.rate(y, self.times[0])
            h = self._first_step(y, k)
            for a, b in itertools.pairwise(self.times):
                y, k, h, fractions = self._advance(y, k, h, a, b)
                states.append(y)
                taken.append(fractions)
        return states, tuple(taken)

    def _advance(
        self, y: Vector, k: Vector, h: float, a: float, b: float
    ) -> tuple[Vector, Vector, float, tuple[float, ...]]:
        """Step from one output to the next; h is the length to begin with, and to go on with."""
        method, t, fractions = self.method, a, [0.0]
        while t != b:
            # The last two steps are of one length, so that none is vanishingly short.
            rest = abs(b - t)
            length = rest if h >= 0.999 * rest else min(h, 0.5 * rest) if 2 * h > rest else h
            if length <= 16 * 2.0**-52 * abs(t) or self.left <= 0 or not math.isfinite(length):
                raise ConvergenceError(self._stuck(t, length))
            self.left -= 1
            signed = math.copysign(length, b - a)
            ks = stages(method, self.rate, y, t, signed, k)
            moved = weighted(y, signed, method.weights[-1], ks)
            last = length == rest
            there = b if last else t + signed
            ks.append(self.rate(moved, there))
            error = self._error(weighted([0.0 * x for x in y], signed, method.errors, ks), y, moved)
            if error <= 1.0:
                y, k, t = moved, ks[-1], there
                fractions.append(1.0 if last else (t - a) / (b - a))
            factor = 0.9 * error ** (-1 / method.order) if error > 0.0 else 5.0
            if error <= 1.0:
                h = max(h, length) if factor >= 1.0 and length < h else length * min(factor, 5.0)
            else:
                h = length * (max(factor, 0.2) if math.isfinite(error) else 0.1)
        return y, k, h, tuple(fractions)

    def _error(self, e: Vector, y: Vector, moved: Vector) -> float:
        """Compute the root mean square of an error relative to what is allowed; 1 is just right."""
        scaled, count = [], 0
        for x, before, after in zip(e, y, moved, strict=True):
            size = v.where(v.abs(before) > v.abs(after), v.abs(before), v.abs(after))
            scaled.append(v.abs(x) / (self.atol + self.rtol * size))
            count += math.prod(x.shape)
        error = norm(scaled) / math.sqrt(max(count, 1))
        return error if error == error else math.inf

    def _first_step(self, y: Vector, k: Vector) -> float:
        """Choose the length of the first step.

        E. Hairer, S. P. Nørsett and G. Wanner, *Solving Ordinary Differential Equations I* (1993),
        section II.4, "Starting Step Size".
        """
        zero = [0.0 * x for x in y]
        span = abs(self.times[-1] - self.times[0])
        d0, d1 = self._error(y, zero, y), self._error(k, zero, y)
        h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        h0 = min(h0 if math.isfinite(h0) else 1e-6, span)
        signed = math.copysign(h0, self.times[1] - self.times[0])
        after = self.rate(combine(y, signed, k), self.times[0] + signed)
        d2 = self._error(combine(after, -1.0, k), zero, y) / h0
        largest = max(d1, d2)
        h1 = (
            max(1e-6, h0 * 1e-3)
            if not 1e-15 < largest < math.inf
            else (0.01 / largest) ** (1 / self.method.order)
        )
        return min(100 * h0, h1, span)

    def _stuck(self, t: float, h: float) -> str:
        why = "too many steps were needed" if self.left <= 0 else "the step became too small"
        return (
            f"odeint came from t = {self.times[0]:.6g} to {t:.6g} of {self.times[-1]:.6g}, where "
            f"{why} (length {h:.3g}): the solution may have a singularity there, or the "
            f"equations are stiff; loosen rtol and atol, or allow more steps (max_steps=)"
        )

    # ----------------------------------------------------------------------- its derivatives

    def steps(self) -> list[list[Substep]]:
        """Run, and list the steps on which derivatives are to be taken, by interval of time."""
        _, taken = self.run()
        return [
            [Substep(self.method, *part, self.dtype) for part in itertools.pairwise(places)]
            for places in self.resolved(taken)
        ]

    def resolved(self, taken: Fractions) -> Fractions:
        """Divide the steps where the derivatives of the two methods of the pair differ.

        The steps were chosen for the state. They can be far too long for its derivatives: at an
        equilibrium they grow without bound, though an error there decays, or grows, as fast as it
        does; a forcing whose amplitude is zero is not seen at all.
        """
        y, divided = self.tree.leaves, []
        for (a, b), places in zip(itertools.pairwise(self.times), taken, strict=True):
            fine = [0.0]
            for start, stop in itertools.pairwise(places):
                y = self._divide(y, a, b, start, stop, fine, 0)
            divided.append(tuple(fine))
        return tuple(divided)

    def _divide(
        self,
        y: Vector,
        a: float,
        b: float,
        start: float,
        stop: float,
        fine: list[float],
        depth: int,
    ) -> Vector:
        """Return the state after a part of the time; note in ``fine`` where its steps end."""
        t, h = a + start * (b - a), (stop - start) * (b - a)
        if abs(h) <= self._trusted and self._trust > 0:
            self._trust -= 1
            ks = stages(self.method, self.rate, y, t, h)
            fine.append(stop)
            return weighted(y, h, self.method.weights[-1], ks)
        moved, ratio = self._sensitivity(y, t, h, len(fine))
        if ratio <= 1.0:
            # What is resolved by a wide margin is not looked at again in the next few steps.
            self._trusted, self._trust = (1.1 * abs(h), 3) if ratio < 0.5 else (0.0, 0)
            fine.append(stop)
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

    def _sensitivity(self, y: Vector, t: float, h: float, seed: int) -> tuple[Vector, float]:
        """Return the state after a step, and the error of its derivatives beside what is allowed.

        One cotangent with something of every direction is pulled back through the difference of
        the two methods, to the state, the parameters and what f captured; each of these is
        compared with the same pulled back through the stages, in a sum in which they do not cancel.
        """
        method = self.method
        generic = tuple([w * math.cos(2.4 * n) for n, w in enumerate(method.weights[-1])])

        def step(f: Any, leaves: tuple[Any, ...], params: tuple[Any, ...]) -> Any:
            rate = rate_of(f, self.tree, params, self.clock)
            ks = stages(method, rate, list(leaves), t, h)
            moved = weighted(list(leaves), h, method.weights[-1], ks)
            ks.append(rate(moved, t + h))
            zero = [0.0 * x for x in leaves]
            sums = [tuple(weighted(zero, h, w, ks)) for w in (method.errors, generic)]
            return *sums, tuple(moved)

        given = (self.f, tuple(y), self.params)
        (*_, moved), pullback = engine().vjp(step, *given)
        probes = tuple([direction(x, seed + n) for n, x in enumerate(y)])
        tree = Tree(given)
        pulled = [
            tree.read(mirrored(given, pullback(seeds)))
            for seeds in (
                (probes, ZeroTangent(), ZeroTangent()),
                (ZeroTangent(), probes, ZeroTangent()),
            )
        ]
        of_f = len(Tree(self.f).leaves)
        worst = 0.0
        for n, (error, scale) in enumerate(zip(*pulled, strict=True)):
            wrong, allowed = norm([error]), norm([scale])
            if of_f <= n < of_f + len(y):  # the state is carried on besides
                allowed += norm([probes[n - of_f]])
            else:  # what a parameter does adds up over the steps; ten may err by what one does
                allowed *= 10.0
            if wrong != 0.0:
                finite = wrong < math.inf and allowed > 0.0
                worst = max(worst, wrong / (self.rtol * allowed) if finite else math.inf)
        return list(moved), worst
