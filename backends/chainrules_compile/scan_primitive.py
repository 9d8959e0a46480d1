"""Scans in programs: one iteration is recorded, and a `Loop` runs it.

`scan` calls `rolled_scan` first, which handles values that are recorded below what engines trace.
The engines see one call of `turns`, whose rules are scans again: of the function with its tangent,
and, backwards, of its pullback at the states that were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from chainrules_compile.compile_one_call import CompiledProgram, Making
from chainrules_compile.errors import RecordingError, behind
from chainrules_compile.guards import Guards
from chainrules_compile.recorded_values import Noted
from chainrules_compile.recorder import apart, sharing
from chainrules_compile.scan_iteration import Leaves
from chainrules_compile.scan_recording import LONG, Changing, Turns, Unsteady
from chainrules_py import ForwardMode, ReverseMode, ZeroTangent, frule, is_zero, rrule
from chainrules_py.extend import (
    HigherOrder,
    Tracer,
    closed,
    find_tracers,
    flatten,
    flatten_tangent,
    is_structure_type,
    plain,
    unflatten,
    unflatten_tangent,
)

SHORT = 16
"""Minimum length of a scan that becomes a loop."""

rolling: ContextVar[str] = ContextVar("rolling", default="never")
"""Whether scans become loops: "loose" or "never"."""


def with_scans(
    make: Callable[[], Making], way: str, said: list[Any]
) -> tuple[CompiledProgram, str]:
    """Make a program with scans as loops, or one by one if that fails; return it and the mode.

    Errors of a recording that is given up are dropped.
    """
    token = rolling.set(way)
    try:
        return make().recorded(), way
    except (Changing, Unsteady):
        rolling.set("never")
        said.clear()
        return make().recorded(), "never"
    finally:
        rolling.reset(token)


def rolled_scan(f: Any, initial: Any, xs: Any, length: int | None) -> Any:
    """Return the result of a scan of recorded values as a loop; None if it cannot be one."""
    if rolling.get() == "never":
        return None
    carry, tree = flatten(initial)
    rows, of_rows = flatten(xs)
    within = closed(f, lambda x: isinstance(plain(x), Noted))
    given = [plain(x) for x in (*carry, *rows, *flatten(within)[0])]
    recorder = next((x.recorder for x in given if isinstance(x, Noted)), None)
    if recorder is None:
        return None
    lengths = {len(x) for x in rows if hasattr(x, "shape") and x.shape}
    n = length if xs is None else next(iter(lengths), 0)
    shaped = xs is None or all([getattr(x, "shape", ()) for x in rows])
    if n is None or n < SHORT or not shaped or len(lengths) > 1 or length not in (None, n):
        return None
    of_results: list[Any] = []

    def turn(carry: Leaves, x: Leaves) -> tuple[Leaves, Leaves]:
        new, y = f(unflatten(tree, carry), unflatten(of_rows, x) if x else None)
        leaves, found = flatten(new)
        if found != tree:
            raise Changing
        results, form = flatten(y)
        if not of_results:
            of_results.append(form)
        elif of_results != [form]:
            raise Changing
        return tuple(leaves), tuple(results)

    mark, guards = recorder.mark(), Guards(f)
    if guards.moving:
        raise Unsteady
    try:
        end, results = turns(turn, tuple(carry), () if xs is None else tuple(rows), n, False)
    except (RecordingError, ValueError) as error:
        if n > LONG or behind(error) is None:
            raise
        raise Unsteady from None  # may succeed one by one; NumPy wraps errors of recorded values
    except Changing:
        recorder.go_back(mark)
        return None
    if guards.written():
        raise Unsteady
    return unflatten(tree, end), unflatten(of_results[0], results)


def turns(
    f: Any,
    carry: Leaves,
    rows: Leaves,
    length: int,
    backwards: bool,
) -> Any:
    """Return the final carry of all iterations, and arrays of their outputs.

    Parameters
    ----------
    f : callable
        Takes the leaves of the carry and of a row; returns those of the new carry and outputs.
    carry, rows : tuple
        The initial carry, and the arrays whose rows are passed.
    length : int
        The number of iterations.
    backwards : bool
        Whether the last row comes first; its outputs are then the last.
    """
    f = closed(f)
    if find_tracers((f, carry, rows)):
        return scan_turns(f, carry, rows, length=length, backwards=backwards)
    return Turns(f, carry, rows, length, backwards).result()


@HigherOrder
def scan_turns(
    f: Callable[..., Any],
    carry: Any,
    rows: Any,
    /,
    *,
    length: int,
    backwards: bool,
) -> Any:
    """Compute `turns` for values that an engine traces."""
    return turns(f, carry, rows, length, backwards)  # another engine may trace below


def _split(xs: Leaves, *counts: int) -> Iterator[Leaves]:
    """Yield parts of the given lengths, and the rest."""
    for n in counts:
        yield xs[:n]
        xs = xs[n:]
    yield xs


def _parted(f: Any, n: int) -> tuple[Leaves, Callable[..., Leaves]]:
    """Return the leaves that a function captures, and the function of these, a carry and a row.

    It takes the leaves one by one, n of them for the carry, and returns those of its results.
    """
    leaves = list[Any]()
    around: Callable[[Leaves], Any] = lambda _: f
    if is_structure_type(type(f)):
        leaves, tree = flatten(f)
        around = lambda xs: unflatten(tree, xs)

    def flat(*xs: Any) -> Leaves:
        captured, carry, x = _split(xs, len(leaves), n)
        new, ys = around(captured)(carry, x)
        return (*new, *ys)

    return tuple(leaves), flat


def _entries(t: Any, n: int) -> list[Any]:
    """Return the entries of a tangent of a tuple, None for zeros."""
    return [None] * n if is_zero(t) else [_dense(t[i]) for i in range(n)]


def _dots(given: Leaves, tangents: Any) -> Leaves:
    """Return the tangents of the leaves of the last operands, None for zeros."""
    pairs = zip(given, tangents[-len(given) :], strict=True)
    return tuple([_dense(t) for x, t_x in pairs for t in flatten_tangent(flatten(x)[1], t_x)])


def _dense(t: Any) -> Any:
    """Return a tangent, None for a zero."""
    return None if is_zero(t) else t


def _of_numbers(xs: Leaves, ts: Leaves) -> Leaves:
    """Return tangents of leaves; zero for a tangent of None, or of a leaf that is None."""
    return tuple([_zero(None if x is None else t) for x, t in zip(xs, ts, strict=True)])


def _flowing(ts: Iterable[Any]) -> Leaves:
    """Return the derivatives that were computed, None for the plain zeros of an engine."""
    return tuple([t if _flows(t) else None for t in ts])


def _flows(t: Any) -> bool:
    if t is None or is_zero(t):
        return False
    return isinstance(t, Tracer) or isinstance(plain(t), Noted) or bool(np.any(plain(t)))


def _unflatten(x: Any, bars: Leaves) -> Any:
    """Return the cotangent of a structure from those of its leaves, zero for None."""
    return unflatten_tangent(flatten(x)[1], map(_zero, bars))


def _zero(t: Any) -> Any:
    """Return a tangent, zero for None."""
    return ZeroTangent() if t is None else t


@frule.register(scan_turns, requires=ForwardMode)
def scan_turns_frule(
    config: Any,
    tangents: Any,
    f: object,
    carry: object,
    rows: object,
    *,
    length: int,
    backwards: bool,
) -> Any:
    """Push tangents through all iterations, in one scan with the values."""
    given: Any = (f, carry, rows)
    n, k = len(given[1]), len(given[2])
    parts, flat = _parted(f, n)
    m = len(parts)
    part_dots, carry_dots, row_dots = _split(_dots(given[0 if m else 1 :], tangents), m, n)

    def turn(state: Leaves, row: Leaves) -> Any:
        (carry, dots), (x, x_dots) = _split(state, n), _split(row, k)
        operands = (*parts, *carry, *x)
        moved = _of_numbers(operands, (*part_dots, *dots, *x_dots))
        with sharing():
            out, out_dot = config.frule_via_ad(moved, apart(flat), *operands)
        now = _flowing(_entries(out_dot, len(out)))
        return (*out[:n], *now[:n]), (*out[n:], *now[n:])

    rows_now = (*given[2], *row_dots)
    end, ys = turns(turn, (*given[1], *carry_dots), rows_now, length, backwards)
    y, dots = _split(ys, len(ys) // 2)
    return (end[:n], y), (tuple(map(_zero, end[n:])), tuple(map(_zero, dots)))


@rrule.register(scan_turns, requires=ReverseMode)
def scan_turns_rrule(
    config: Any,
    f: object,
    carry: object,
    rows: object,
    *,
    length: int,
    backwards: bool,
) -> Any:
    """Run the pullbacks from the last iteration to the first, at the states kept on the way."""
    given: Any = (f, carry, rows)
    n, k = len(given[1]), len(given[2])
    parts, flat = _parted(f, n)
    m = len(parts)

    def forward(state: Leaves, row: Leaves) -> Any:
        new, ys = given[0](state, row)
        return new, (*ys, *state)

    end, found = turns(forward, given[1], given[2], length, backwards)
    if any([type(getattr(plain(x), "payload", plain(x))) in (float, complex) for x in end]):
        raise Changing  # they would become NumPy numbers as elements of an array
    ys, states = _split(found, len(found) - n)

    def back(bars: Leaves, row: Leaves) -> Any:
        x, state, y_bars = _split(row, k, n)
        new_bars, part_bars = _split(bars, n)
        # The cotangents of what is captured are sums so far.
        summed = lambda *xs: (*flat(*xs), *xs[:m])
        out, pull = config.rrule_via_ad(summed, *parts, *state, *x)
        found = pull(_of_numbers(out, (*new_bars, *y_bars, *part_bars)))
        parts_now, carry_now, x_bars = _split(_flowing(found), m, n)
        return (*carry_now, *parts_now), x_bars

    def pullback(bars: Any) -> Any:
        both = _entries(bars, 2)
        end_bars, y_bars = _entries(_zero(both[0]), n), _entries(_zero(both[1]), len(ys))
        begin = (*end_bars, *[None] * m)
        rows_now = (*given[2], *states, *y_bars)
        last, x_bars = turns(back, begin, rows_now, length, not backwards)
        carry_bars, part_bars = _split(last, n)
        f_bar = _unflatten(f, part_bars) if m else ZeroTangent()
        return f_bar, _unflatten(carry, carry_bars), _unflatten(rows, x_bars)

    return (end, ys), pullback
