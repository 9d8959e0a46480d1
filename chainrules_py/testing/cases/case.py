"""A call of a function, and the two halves of its rule as matrices."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, final

import numpy as np

from chainrules_py.engines.frule_rrule import frule, rrule
from chainrules_py.registry.table import primal_of, unbind
from chainrules_py.tangents.space import space
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent, is_zero
from chainrules_py.testing.budget import spend, unlimited
from chainrules_py.testing.cases.coordinates import (
    Coordinates,
    Names,
    are_zero,
    in_units,
    joined,
    lengths_along,
    named,
    sized_as,
    sizes_of,
)
from chainrules_py.testing.cases.differences import derivative, power_of_two, rounds
from chainrules_py.testing.cases.value_comparison import (
    fingerprint,
    is_refused,
    resolution,
    value_vector,
    widened,
)
from chainrules_py.testing.errors import skip_if
from chainrules_py.testing.samples.sample import ENTERED
from chainrules_py.values.structure import is_structure_type

# Up to this size every coordinate has a direction of its own; beyond, directions are random.
SMALL = 48
_RANDOM = 6
# From this many coordinates on, a call is large: one input and two output directions are checked.
LARGE = 20_000
# Up to this many entries, and rows or columns, a whole Jacobian is computed for the diagnosis.
_WHOLE, _LONG = 2_000_000, 5000
_ILL = 1e3  # from this condition number on, rounding of operands exceeds that of results
_ENDS = 1000  # beyond two to the power of this, derivatives are not compared
_LEAST = (1e-10, 1e-306), (1e-4, 1e-44), (1.0, 5e-7)  # least tolerances, by precision


@final
class Case:
    """Call of a function, with the directions in which its rule is checked.

    Attributes
    ----------
    f, operands, options
        The call; an object that is called is the first operand.
    inputs, raw : Coordinates
        Of the operands together, and of the result before the gauge.
    steps, sizes, sizes_of_result : vector
        Magnitudes around each coordinate of the operands, of the result after the gauge, and of
        the result before it: the largest number of the array, as a power of two.
    settling : float
        The accuracy that differences need, relative to the largest beside them.
    slack : float
        Tolerance for numbers that are equal up to rounding, relative to the largest of them.
    jointly : bool
        Whether a number of the result is checked only where it is smooth in a random direction too.
    is_distance : bool
        Whether derivatives were NaN where two operands are equal.
    is_extreme : bool
        Whether the operands are derived ones, far larger or smaller than the given ones.
    brief : bool
        Whether only one random direction is checked, as long as nothing is wrong along it.
    agreement : bool, optional
        Whether the rule agrees with one difference; None if that is unknown.
    is_suspect : bool
        Whether the rule disagrees with a conclusive difference.
    halves : tuple of callable
        Functions that compute the derivatives, called as `frule` and `rrule`: these, or others.
    u, w : matrix
        Directions among the inputs, and among the outputs, as columns. In a random direction each
        coordinate moves in proportion to the size of its operand, or is weighted by the inverse of
        the size of its result, so that large and small ones are checked alike.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        gauge: Callable[[Any], Any] | None,
        smooth: bool,
        seed: int,
        tolerance: float | None,
        *,
        few: bool = False,
        derived: bool = False,
        near: Case | None = None,
        brief: bool = False,
    ) -> None:
        self._made = f, operands, options, gauge, smooth, seed, tolerance
        self.f, self.operands = unbind(f, operands)
        self.options, self.gauge, self.smooth = options, gauge, smooth
        self.brief, self.near = brief, near
        self.rng = np.random.default_rng(seed)
        self.print = fingerprint(self.operands)
        self.y = self.call(*self.operands)
        self.halves: tuple[Callable[..., Any], Callable[..., Any]] = frule, rrule
        self.parts = [Coordinates(x) for x in self.operands]
        self.inputs = Coordinates(self.operands)
        self.raw = Coordinates(self.y)
        self.unstated: list[int] = []
        self.unstated = self._unstated() if near is None else near.unstated
        self.held = [i for i in range(len(self.parts)) if self._may_hold(i) and self.is_held(i)]
        self.held += self.unstated
        for i in self.held:
            self.parts[i].hold()
            self.inputs.hold(i)
        self.precision = max([1e-15, *(resolution(x) for x in (*self.operands, self.y))])
        self.least = next(x for p, x in _LEAST if self.precision < p)
        # At a derived call, a function may be badly conditioned.
        self.slack = min(max(1e-6 if derived else 1e-10, 1e4 * self.precision), 3e-2)
        self.settling = min(max(1e-4, 1e4 * self.precision), 3e-2)
        own = min(max(1e-5 if derived else 1e-8, 1e4 * self.precision), 3e-2)
        self.tolerance = own if tolerance is None else tolerance
        self.few = few or brief
        self.steps = sizes_of(self.inputs, self.operands, alike=True)
        # A zero keeps the size of the number in the original call, not that of its neighbours.
        zero = are_zero(self.inputs, self.operands)
        self.steps = sized_as(self.steps, near and near.steps, zero)
        self.u = self._directions(self.steps, 1 if self.is_large else _RANDOM)
        if derived and not few and 0 < len(self.steps) <= SMALL:
            # Equal numbers stay equal if all of them move alike.
            together = np.full((len(self.steps), 1), np.max(self.steps))
            self.u = np.hstack([self.u[:, :-1], together, self.u[:, -1:]])
        operation: Any = primal_of(self.f)
        open_to = [s.gauge for s in ENTERED.get(operation, ()) if s.gauge is not None]
        if open_to and not (gauge or few or derived or near) and self._jumps():
            self.gauge = open_to[0]
        self.pick = self.gauge_matrix(self.raw)
        self.sizes_of_result = sizes_of(self.raw, self.y)
        self.sizes = self.sizes_of_result if self.pick is None else np.ones(len(self.pick))
        self.sizes = sized_as(self.sizes, near and near.sizes, not np.any(value_vector(self.y)))
        self.w = self._directions(1.0 / self.sizes, 2 if self.is_large else _RANDOM)
        self.jointly = self.is_distance = self.is_extreme = False
        self.has_push = self.has_pull = True
        self.agreement: bool | None = None
        self.is_suspect = False
        nothing: Any = None
        self._pushed = self._push = self._pulled = self._pullback = self._judged = nothing
        # Where differences do not settle, and 50 times their errors.
        self.kinks = self.rounding = nothing
        self.refused: list[str] = []  # other calls at which the rule raises an error, or is wrong

    @property
    def is_large(self) -> bool:
        """Whether few directions are checked, and other calls are derived from a smaller call."""
        return self.inputs.size + self.raw.size > LARGE

    def rounding_of(self, half: str, want: Any, tolerance: float) -> Any:
        """Compute the tolerance for rounding in a half, one entry or row per coordinate."""
        rows = self.sizes if half == "push" else 1.0 / self.steps
        columns = np.ones(np.shape(want)[1:])
        return self.allowed(want, rows, columns, tolerance)

    @functools.cached_property
    def whole(self) -> Case:
        """The same call along all directions, for where one random direction does not suffice."""
        if not self.brief:
            return self
        other = Case(*self._made)
        other.has_push, other.has_pull = self.has_push, self.has_pull
        return other

    def another(
        self, operands: tuple[Any, ...], options: dict[str, Any] | None = None, **how: Any
    ) -> Case:
        """Return the case of another call of the function, by the same halves of its rule."""
        options = self.options if options is None else options
        other = Case(self.f, operands, options, self.gauge, self.smooth, 0, None, **how)
        other.halves, other.has_push, other.has_pull = self.halves, self.has_push, self.has_pull
        return other

    @property
    def has_singles(self) -> bool:
        """Whether each coordinate has a direction of its own, before the random one."""
        return self.u.shape[1] > len(self.steps) and not self.few

    def beside(self, operands: tuple[Any, ...]) -> Case:
        """Return the same call with the same directions at other operands of the same types."""
        other = Case.__new__(Case)
        other.__dict__.update(vars(self), operands=operands)
        other._pushed = other._push = other._pulled = other._pullback = other.agreement = None
        return other

    def wide(self) -> Coordinates:
        """Return the coordinates of the operands in double precision."""
        of = Coordinates(tuple(map(widened, self.operands)))
        for i in self.held:
            of.hold(i)
        return of

    def call(self, *operands: Any) -> Any:
        """Call the function with its options."""
        spend()
        return self.f(*operands, **self.options)

    def _directions(self, sizes: Any, count: int) -> Any:
        n = len(sizes)
        if self.few:
            return self._random(sizes, 1)
        if n > SMALL:
            return self._random(sizes / power_of_two(np.sqrt(n)), count)
        return np.concatenate([np.eye(n), self._random(sizes, 1)], axis=1)

    def _random(self, sizes: Any, count: int) -> Any:
        """Draw directions whose coordinates have few digits, so that steps along them are exact."""
        drawn = np.round(64 * self.rng.standard_normal((len(sizes), count))) / 64
        return np.where(drawn == 0.0, 1 / 64, drawn) * sizes[:, None]

    def naturals(self) -> tuple[Any, Any]:
        """Return the natural sizes of derivatives, per column of ``w`` and of ``u``."""
        return lengths_along(self.w, self.sizes), lengths_along(self.u, 1.0 / self.steps)

    def allowed(self, want: Any, rows: Any, columns: Any, tolerance: float) -> Any:
        """Compute the tolerance of derivatives equal up to rounding, by the sizes of `naturals`."""
        natural, relative = in_units(want, rows, columns)
        largest = np.max(relative, initial=-3300.0, where=relative < np.inf)
        either = np.logaddexp2(np.log2(tolerance) + largest, np.log2(16 * self.precision))
        return np.exp2(np.minimum(natural + either, 1023.0)) + self.least

    def gauge_matrix(self, raw: Coordinates) -> Any:
        """Compute the derivative of the gauge at a result as a matrix; None without a gauge."""
        if self.gauge is None:
            return None
        height = np.max(np.abs(self.seen(raw.x)), initial=0.0)
        columns = [
            derivative(lambda t, at=at: self.seen(at(t)), size, height)[0]  # type: ignore[misc]
            for at, size in zip(map(raw.line, np.eye(raw.size)), sizes_of(raw, raw.x), strict=True)
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((0, 0))

    def seen(self, y: Any) -> Any:
        """Return the determined part of a result, as a vector."""
        return value_vector(y if self.gauge is None else self.gauge(y))

    def value_there(self, operands: Any) -> Any:
        """Return the determined part of the result elsewhere; NaN if f raises, or shapes differ."""
        try:
            seen = self.seen(self.call(*operands))
        except (np.linalg.LinAlgError, ArithmeticError, ValueError):
            return np.full(len(self.sizes), np.nan)
        return seen if len(seen) == len(self.sizes) else np.full(len(self.sizes), np.nan)

    def _jumps(self) -> bool:
        """Return whether small steps make another choice of what is determined up to a gauge."""
        lines = [Coordinates(self.operands).line(d) for d in self.u.T]
        there = [value_vector(self.call(*at(t))) for at in lines for t in (1e-7, -1e-7)]
        return bool(np.max(np.abs(there - value_vector(self.y)), initial=0.0) > 1e-2)

    def push(self, vector: Any) -> Any:
        """Compute the value and the tangent along a direction by the rule."""
        dense = zip(self.tangents(vector), self.split(vector), strict=True)
        either = [t if type(t) is NoTangent or np.any(s) else ZeroTangent() for t, s in dense]
        return self.frule(tuple(either))

    def pullback(self) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Compute the value and the pullback, to the operands whose derivatives the rule states."""
        spend()
        y, pull = self.halves[1](self.f, *self.operands, **self.options)
        wanted = tuple([i not in self.unstated for i in range(len(self.operands))])
        return y, functools.partial(pull, wanted=wanted) if self.unstated else pull

    def kept_pullback(self) -> tuple[Any, Callable[..., tuple[Any, ...]]]:
        """Return the value and the pullback, computed once."""
        if self._pullback is None:
            self._pullback = self.pullback()
        return self._pullback  # type: ignore[no-any-return]

    def kept_push(self) -> tuple[Any, Any]:
        """Return the value and the tangent along the last direction, computed once."""
        if self._push is None:
            self._push = self.push(self.u[:, -1])
        return self._push  # type: ignore[no-any-return]

    def _unstated(self) -> list[int]:
        """List the operands for which a rule gives `NotImplementedTangent`, if not for all."""
        n, y_bar = len(self.operands), self.raw.tangent(np.ones(self.raw.size))
        only = [tuple([k == i for k in range(n)]) for i in range(n)]
        at = np.repeat(np.arange(n), [part.size for part in self.parts])
        pulls: Any = lambda i: self.pullback()[1](y_bar, wanted=only[i])
        pushes: Any = lambda i: self.push(1.0 * (at == i))
        refused = [[i for i in range(n) if is_refused(ask, i)] for ask in (pulls, pushes) if n > 1]
        return sorted({i for found in refused if len(found) < n for i in found})

    def _may_hold(self, i: int) -> bool:
        """Return whether an operand is of a library, as a sparse matrix, or is in place of None."""
        x, near = self.operands[i], () if self.near is None else self.near.operands[i : i + 1]
        plain = isinstance(x, (tuple, list, dict)) or dataclasses.is_dataclass(x)
        return (is_structure_type(type(x)) and not plain) or any(y is None for y in near)

    def is_held(self, i: int) -> bool:
        """Return whether the rule states by `NoTangent` that an operand cannot be perturbed."""
        try:
            bar = self.pullback()[1](self.raw.tangent(np.ones(self.raw.size)))[i]
        except Exception:  # checks report it
            return False
        return isinstance(bar, NoTangent) and self.parts[i].size > 0

    def bars(self) -> tuple[Any, ...]:
        """Pull back along the last output direction, anew at each call."""
        return self.kept_pullback()[1](self.cotangent(self.w[:, -1]))

    def tangents(self, vector: Any) -> tuple[Any, ...]:
        """Return one tangent per operand, dense wherever something can be perturbed."""
        cut = zip(self.parts, self.operands, self.split(vector), strict=True)
        return tuple([p.tangent(s) if _varies(p, x) else NoTangent() for p, x, s in cut])

    def frule(self, tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """Compute the value and the tangent of the result, for given tangents."""
        spend()
        return self.halves[0](tangents, self.f, *self.operands, **self.options)  # type: ignore[no-any-return]

    def cotangent(self, vector: Any) -> Any:
        """Return the cotangent of the result for a direction after the gauge."""
        return self.raw.tangent(vector if self.pick is None else self.pick.T @ vector)

    def seen_tangent(self, y_dot: Any) -> Any:
        """Return a tangent of the result after the gauge, as a vector."""
        vector = self.raw.vector(y_dot)
        return vector if self.pick is None else self.pick @ vector

    def bars_vector(self, bars: tuple[Any, ...]) -> Any:
        """Join the cotangents of all operands into one vector."""
        vectors = [p.vector(bar) for p, bar in zip(self.parts, bars, strict=True)]
        return np.concatenate([np.zeros(0), *vectors])

    def pushed(self) -> Any:
        """Return the pushed tangents of the result, one column per input direction."""
        if self._pushed is None:
            sized = self._sized(self.u)
            columns = [n * self.seen_tangent(self.push(d / n)[1]) for d, n in sized[:-1]]
            (d, n), kept = sized[-1], not self.is_extreme
            last = self.kept_push()[1] if kept else self.push(d / n)[1]
            self._pushed = np.stack([*columns, n * self.seen_tangent(last)], axis=1)
        return self._pushed

    def pulled(self) -> Any:
        """Return the pulled cotangents of the operands, one column per output direction."""
        if self._pulled is None:
            sized, pullback = self._sized(self.w), self.kept_pullback()[1]
            columns = [n * self.bars_vector(pullback(self.cotangent(d / n))) for d, n in sized]
            self._pulled = np.stack(columns, axis=1)
        return self._pulled

    def _sized(self, directions: Any) -> Any:
        """List directions and their sizes; all sizes are 1 unless the call is extreme."""
        far = float(self.is_extreme)
        return [(d, power_of_two(np.max(np.abs(d), initial=0.0)) ** far) for d in directions.T]

    def entries_pulled(self) -> Any:
        """Return the pulled derivatives of each number of the result, as pushed tangents."""
        return self.pulled()[:, : len(self.sizes)].T @ self.u

    def differences(self, u: Any = None) -> tuple[Any, Any]:
        """Compute a column per input direction by differences in double precision, with errors."""
        u = self.u if u is None else u
        names = self.output_names()
        if not u.shape[1]:
            return np.zeros((len(names), 0)), np.zeros((len(names), 0))
        lengths = np.maximum(lengths_along(u, 1.0 / self.steps), 1e-300)
        want, error = self._columns(u, lengths, 0.0)
        # No algorithm is more accurate than the effect of an operand's last digit.
        slope = np.abs(want) / lengths
        known = np.isfinite(slope) & (50 * error <= np.abs(want))
        conditioned = np.max(slope, axis=1, initial=0.0, where=known)
        if np.any(conditioned > _ILL * np.maximum(np.abs(self.seen(self.y)), self.sizes)):
            want, error = self._columns(u, lengths, conditioned)
        return want, error

    @functools.cached_property
    def rounds(self) -> bool:
        """Whether the function rounds inside, so that its differences are those of a staircase."""
        wide, d = self.wide(), self.u[:, -1]
        size = 1.0 / np.max(np.abs(d) / self.steps, initial=1e-300)
        with unlimited():
            return rounds(lambda t: self.value_there(wide.moved(t * d)), size)

    def _columns(self, u: Any, lengths: Any, heights: Any) -> tuple[Any, Any]:
        wide = self.wide()
        columns = [
            derivative(lambda t, at=at: self.value_there(at(t)), 1.0 / n, heights)  # type: ignore[misc]
            for at, n in zip(map(wide.line, u.T), lengths, strict=True)
        ]
        return np.stack([c for c, _ in columns], axis=1), np.stack([e for _, e in columns], axis=1)

    def judged(self) -> tuple[Any, Any, str]:
        """Return the differences, their tolerances, and why some are inconclusive, if any.

        The tolerance is infinite where differences do not settle.

        Raises
        ------
        SkippedCheckError
            If the sample states that the function is not smooth here.
        """
        skip_if(not self.smooth, "not smooth here, says the sample")
        if self._judged is None:
            want, error = self.differences()
            want, allowed, text = self._judge(want, error, self.u)
            self.kinks = np.isinf(allowed) & ~self._is_beyond
            allowed[(self.precision > 1e-4) & (abs(want) > 65504)] = np.inf  # float16 overflows
            if self.jointly and want.shape[1]:
                # Along one coordinate f may look smooth, as min(x, y) does where both are 0.
                rough = np.isinf(allowed[:, -1:]) & (np.count_nonzero(self.u, axis=0) <= 1)
                allowed = np.where(rough | ~self._is_linear(want, allowed), np.inf, allowed)
            self._judged = want, allowed, text
            self.rounding = 50 * error
        return self._judged  # type: ignore[no-any-return]

    def settle(self, want: Any, allowed: Any) -> None:
        """Replace the differences by some that the rule agrees with."""
        self._judged, self.rounding = (want, allowed, ""), allowed
        self.kinks = np.zeros(want.shape, bool)

    def say_fine_structure(self) -> None:
        """State that the first differences are inconclusive, so that no other check uses them."""
        self._judged = *self.judged()[:2], "other differences, closer by, agree with the rule"

    def _is_linear(self, want: Any, allowed: Any) -> Any:
        """Return, for each number of the result, whether differences are those of a linear map."""
        n = self.u.shape[0]
        if self.u.shape[1] <= n:
            return np.ones((len(want), 1), dtype=bool)
        parts, whole = want[:, :n] * self.u[:, -1], want[:, -1]
        with np.errstate(all="ignore"):
            apart = np.abs(np.sum(parts, axis=1) - whole)
            near = 1e-5 * np.sum(np.abs(parts), axis=1) + 100 * allowed[:, -1]
        return (apart <= near)[:, None]

    def _judge(self, want: Any, error: Any, u: Any) -> tuple[Any, Any, str]:
        exponents, near = in_units(want, self.sizes, lengths_along(u, 1.0 / self.steps))
        natural = np.exp2(np.minimum(exponents, 1023.0))
        # Relative to each number; only rounding in a rule scales with the largest number beside it.
        near = np.where(near < np.inf, near, -3300.0)
        most = [np.max(near, axis=k, initial=-3300.0, keepdims=True) for k in (0, 1)]
        beside = np.exp2(np.minimum(np.maximum(*most) + exponents, 1023.0))
        floor = max(1e-3 * self.tolerance, 1e2 * self.precision) * beside
        sure = np.maximum(self.tolerance * np.abs(want), floor)
        least = np.maximum(16 * self.precision * natural, self.least)
        allowed = np.maximum(np.maximum(sure, least), 50 * error)
        is_zero = (np.abs(want) <= 10 * error) & (50 * error <= 1e-6 * natural)
        is_zero |= (50 * error <= 1e-9 * natural) | ~np.any(u, axis=0)  # known to be zero
        near_enough = 50 * error <= self.settling * np.maximum(np.abs(want), beside)
        unsettled = ~(near_enough | (50 * error <= floor) | is_zero) | self._is_beyond
        text = ""
        if np.any(unsettled):
            text = (
                f"not smooth here, or at the edge of the domain: "
                f"{int(unsettled.sum())} of {want.size} finite differences do not settle"
            )
        return want, np.where(unsettled, np.inf, allowed), text

    @property
    def _is_beyond(self) -> Any:
        """Which numbers of the result have derivatives beyond the range of floating point."""
        sizes, steps = np.log2(self.sizes), np.log2(self.steps)
        least, most = (pick(steps, initial=0.0) for pick in (np.min, np.max))
        return np.maximum(sizes - least, most - sizes)[:, None] > _ENDS

    def vector_of_values(self) -> Any:
        """Return all floating-point numbers in the operands and in the result."""
        return np.concatenate([value_vector(self.operands), value_vector(self.y)])

    @property
    def settled(self) -> bool:
        """Whether finite differences exist everywhere here."""
        return self.smooth and not self.judged()[2]

    def jacobians(self) -> dict[str, Any]:
        """Compute the whole Jacobian by push, by pull and by differences, as far as these exist.

        There is one row per coordinate of the result, one column per coordinate of the operands;
        there are no entries if that is too many. ``"allowed"`` is the tolerance of the differences.
        """
        n, m = self.inputs.size, len(self.output_names())
        if not n * m or n * m > _WHOLE or max(n, m) > _LONG:
            return {}
        found: dict[str, Any] = {}
        basis = np.eye(n)
        if self.has_push:
            found["push"] = np.stack([self.seen_tangent(self.push(e)[1]) for e in basis], axis=1)
        if self.has_pull:
            _, pullback = self.kept_pullback()
            found["pull"] = np.stack(
                [self.bars_vector(pullback(self.cotangent(e))) for e in np.eye(m)], axis=0
            )
        if self.smooth:
            want, error = self.differences(basis)
            found["differences"], found["allowed"], _ = self._judge(want, error, basis)
        return found

    def split(self, vector: Any) -> list[Any]:
        """Split a vector of all inputs into one piece per operand."""
        return np.split(vector, np.cumsum([part.size for part in self.parts])[:-1])

    def input_names(self) -> Names:
        """Return one name per input direction."""
        return named(self.coordinate_names(), self.u.shape[1])

    def coordinate_names(self) -> Names:
        """Return one name per coordinate of the operands."""
        return joined(self.operand_names(), [part.labels() for part in self.parts])

    def output_names(self) -> Names:
        """Return one name per output direction, without the random ones."""
        if self.pick is not None:
            return Names(len(self.pick), lambda i: f"gauge(y)[{i}]")
        labels = self.raw.labels()
        return Names(len(labels), lambda i: f"y{labels[i]}")

    def weight_names(self) -> Names:
        """Return one name per output direction."""
        return named(self.output_names(), self.w.shape[1])

    def operand_names(self) -> list[str]:
        """Return one name per operand."""
        names = list(getattr(self.f, "operands", ()))
        n = len(self.operands)
        variadic = getattr(self.f, "variadic", None) or "x"
        return [names[i] if i < len(names) else f"{variadic}{i - len(names)}" for i in range(n)]


def _varies(part: Coordinates, x: Any) -> bool:
    """Return whether an operand can be perturbed; a list of indices is one array to NumPy."""
    return (part.is_leaf or part.size > 0) and not is_zero(space(x))
