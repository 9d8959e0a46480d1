"""Point at which a call of one of NumPy's functions is judged: its draws, and the call."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from chainrules_py.extend import joined, map_leaves
from chainrules_py.tangents.zeros import ZeroTangent, is_zero
from chainrules_py.testing.cases.calls_from_samples import draw
from chainrules_py.testing.cases.differences import derivative
from chainrules_py.testing.samples.sample import Draw
from chainrules_py.values.structure import fields_of, is_structure_type
from tests.surface.calls.call import SurfaceCall
from tests.surface.names import function_named


@final
class Point:
    """A call of a function, as a function of the real and complex numbers that were drawn.

    Parameters
    ----------
    call : SurfaceCall
        What to call.
    change : callable, optional
        Applied to each array that was drawn: another dtype, another layout in memory.
    f : callable, optional
        Called instead of the function of NumPy.
    draws : int
        Which draws of its numbers.

    Attributes
    ----------
    xs : list
        Where the call is differentiated: its draws, wherever they stand, that can move.
    draws : list of Draw
        What these were drawn by.
    """

    def __init__(
        self,
        call: SurfaceCall,
        change: Callable[[Any], Any] | None = None,
        f: Callable[..., Any] | None = None,
        draws: int = 0,
    ) -> None:
        key = [zlib.crc32(call.name.encode()), call.number]
        rng = np.random.default_rng([*key, draws] if draws else key)
        self.rng, self.call, self.f = rng, call, f or function_named(call.name)
        self.change = change
        sample = call.sample
        self.xs: list[Any] = []
        self.draws: list[Draw] = []
        taken: list[tuple[Any, int | None]] = []

        def take(d: Draw) -> Any:
            value = self.changed(draw(d, rng, call.complex))
            moves = d.kind in ("real", "complex")
            taken.append((value, len(self.xs) if moves else None))
            if moves:
                self.xs.append(value)
                self.draws.append(d)
            return _Place(len(taken) - 1)

        self.operands = [_map(take, x) for x in sample.operands]
        self.keywords = {name: _map(take, x) for name, x in sample.options.items()}
        self.taken = taken

    def changed(self, x: Any) -> Any:
        """Apply the change of this point to an array."""
        return self.change(x) if self.change is not None and isinstance(x, np.ndarray) else x

    def arguments(self, xs: Any) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of the call, at other points than the one that was drawn."""
        values = [xs[at] if at is not None else value for value, at in self.taken]
        keywords = {name: _fill(x, values) for name, x in self.keywords.items()}
        return [_fill(x, values) for x in self.operands], keywords

    def value(self, *xs: Any) -> Any:
        """Compute the result of the function."""
        operands, keywords = self.arguments(xs)
        return self.f(*operands, **keywords)

    def gauged(self, *xs: Any) -> Any:
        """Compute the part of the result that is determined."""
        y = map_leaves(joined, self.value(*xs))  # of an array of traced objects
        return self.call.sample.gauge(y) if self.call.sample.gauge else y

    def __call__(self, *xs: Any) -> Any:
        """List the parts of the result in which it can be differentiated."""
        return list(parts(self.gauged(*xs)))

    def moved(self, ts: Any, h: float) -> list[Any]:
        """Move the operands along a direction, laid out in memory as they were."""
        moved = []
        for x, t in zip(self.xs, ts, strict=True):
            # Of an array without axes NumPy makes a scalar.
            moved.append(
                self.changed(np.asarray(x + h * t)) if isinstance(x, np.ndarray) else x + h * t
            )
        return moved

    def direction(self, x: Any) -> Any:
        """Draw a random tangent."""
        t = self.rng.standard_normal(np.shape(x))
        if np.iscomplexobj(x):
            t = t + 1j * self.rng.standard_normal(np.shape(x))
        return t if isinstance(x, np.ndarray) else np.asarray(t).item()

    def directions(self) -> list[Any]:
        """Draw a random tangent of each operand."""
        return [self.direction(x) for x in self.xs]

    def tangents(self, ts: Any) -> list[Any]:
        """Return a tangent per operand: structures of them where operands are lists of draws."""
        return [self._tangent(x, ts) for x in self.operands]

    def _tangent(self, x: Any, ts: Any) -> Any:
        if type(x) is _Place:
            at = self.taken[x.index][1]
            return ZeroTangent() if at is None else ts[at]
        inside = [self._tangent(i, ts) for i in x] if type(x) in (list, tuple) else []
        return ZeroTangent() if all(map(is_zero, inside)) else type(x)(inside)

    @property
    def is_smooth(self) -> bool:
        """Whether there is something to differentiate, and something to differentiate in."""
        return self.call.sample.smooth and bool(self.xs) and bool(self(*self.xs))


@final
@dataclasses.dataclass(frozen=True)
class _Place:
    index: int


def _map(change: Callable[[Draw], Any], x: Any) -> Any:
    """Replace the draws in a sample's argument."""
    if isinstance(x, Draw):
        return change(x)
    if type(x) in (list, tuple):
        return type(x)([_map(change, item) for item in x])
    return x


def _fill(x: Any, values: list[Any]) -> Any:
    if type(x) is _Place:
        return values[x.index]
    if type(x) in (list, tuple):
        return type(x)([_fill(item, values) for item in x])
    return x


def has_draws(x: Any) -> bool:
    """Tell whether an argument of a sample is a draw, or holds one."""
    return isinstance(x, Draw) or (type(x) in (list, tuple) and any(map(has_draws, x)))


def direct(point: Point) -> list[Any] | None:
    """Return the operands for a direct rule, or None if these (without keywords) lack what moves.

    To NumPy a list of numbers is an array; to a rule it is a structure.
    """
    sample = point.call.sample
    if sample.gauge or point.call.name.startswith("ndarray."):
        return None
    if any(map(has_draws, sample.options.values())):
        return None
    if any(type(x) is list and not has_draws(x) for x in sample.operands):
        return None
    return point.arguments(point.xs)[0]


def leaves(y: Any) -> Iterator[Any]:
    """All that a result holds, in order."""
    if is_structure_type(type(y)):
        for _, field in fields_of(y):
            yield from leaves(field)
    else:
        yield y


def parts(y: Any) -> Iterator[Any]:
    """Yield the floating parts of a result, in order."""
    for leaf in leaves(y):
        if not isinstance(leaf, type):
            # What stands for a number of Python's has no dtype either.
            cls = getattr(leaf.__class__, "__dispatch_type__", leaf.__class__)
            if np.dtype(getattr(leaf, "dtype", cls)).kind in "fc":
                yield leaf


def vector(values: Any) -> Any:
    """Real coordinates of a list of parts."""
    flat: list[Any] = [np.ravel(np.asarray(p)) for p in values]
    real = [np.concatenate([p.real, p.imag]) if np.iscomplexobj(p) else p for p in flat]
    return np.concatenate([np.zeros(0), *real])


def dense(t: Any, like: Any) -> Any:
    """Return a tangent as an array."""
    return np.zeros_like(np.asarray(like)) if is_zero(t) else t


_known: list[Any] = []
"""The last point and direction, and the derivative there: each mode is compared with it."""


def slope(point: Point, ts: Any) -> tuple[Any, Any]:
    """Compute a call's derivative along a direction by differences, and how far these disagree."""
    numbers = [(np.asarray(x).dtype, np.asarray(x).tobytes()) for x in (*point.xs, *ts)]
    asked = point.f, point.change, numbers
    if not (_known and _known[0] is point.call and _known[1] == asked):
        found = derivative(lambda h: vector(point(*point.moved(ts, h))))
        _known[:] = point.call, asked, found
    return _known[2]  # type: ignore[no-any-return]
