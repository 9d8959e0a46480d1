"""Profiles: time and memory of each rule, in forward and backward pass, by line."""

from __future__ import annotations

import contextlib
import html
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast, final

from chainrules_py.extend import Bound, Classes
from chainrules_py.ops.engine_operations import store
from chainrules_tape.array_writes.writes_and_views import Overwrite
from chainrules_tape.checkpoint.checkpoint_and_policies import nbytes
from chainrules_tape.core.variable import Recording
from chainrules_tape.functions.run import ReverseRun
from chainrules_tape.inspect.kept_calls import source_line
from chainrules_tape.tape import Variable


class Row(NamedTuple):
    """Sum over the calls of one rule on one line.

    Attributes
    ----------
    rule : str
        The operation.
    where : str
        The line of the program.
    calls, pulls : int
        The number of calls and of pulls.
    forward, backward : float
        The time of the calls and of the pulls, in seconds.
    nbytes : int
        The number of bytes that its records hold.
    """

    rule: str
    where: str
    calls: int
    forward: float
    pulls: int
    backward: float
    nbytes: int


@final
class Profile:
    """Times and memory of the rules that were used in a block; its repr is a table."""

    def __init__(self, outer: Sequence[Profile] = ()) -> None:
        self._sums: dict[tuple[str, str], list[Any]] = {}
        self._outer = outer

    def add(self, rule: str, where: str, *amounts: Any) -> None:
        """Add to the sums of a rule on a line: the fields of `Row` from ``calls`` on."""
        for each in (self, *self._outer):
            sums = each._sums.setdefault((rule, where), [0, 0.0, 0, 0.0, 0])
            for k, amount in enumerate(amounts):
                sums[k] += amount

    @property
    def rows(self) -> list[Row]:
        """A row for each rule and line, the most expensive first."""
        rows = [Row(*key, *sums) for key, sums in self._sums.items()]
        return sorted(rows, key=lambda row: -(row.forward + row.backward))

    def by_rule(self) -> list[Row]:
        """Return a row for each rule, summed over lines."""
        whole = Profile()
        for rule, _, *amounts in self.rows:
            whole.add(rule, "", *amounts)
        return whole.rows

    def json(self) -> str:
        """Return the rows as JSON."""
        return json.dumps([row._asdict() for row in self.rows], indent=1)

    def svg(self, width: int = 900) -> str:
        """Return a flame graph as SVG: lines of the program, and on each the times of its rules."""
        total = sum([row.forward + row.backward for row in self.rows]) or 1.0
        lines: dict[str, list[Row]] = {}
        for row in self.rows:
            lines.setdefault(row.where, []).append(row)
        out, x = [], 0.0

        def bar(x: float, level: int, seconds: float, text: str, colour: str) -> None:
            w = width * seconds / total
            shown, y = html.escape(text), 44 - 22 * level
            label = f'<text x="{x + 3:.1f}" y="{y + 15}">{shown}</text>' if w > 60 else ""
            out.append(
                f'<g><title>{shown}: {1e3 * seconds:.3f} ms</title><rect x="{x:.1f}" y="{y}" '
                f'width="{w:.1f}" height="21" fill="{colour}"/>{label}</g>'
            )

        for where, rows in lines.items():
            bar(x, 0, sum([r.forward + r.backward for r in rows]), where, "#d8d8e8")
            for row in rows:
                for seconds, way, colour in (
                    (row.forward, "forward", "#a8cce8"),
                    (row.backward, "backward", "#f0b8a0"),
                ):
                    bar(x, 1, seconds, f"{row.rule} {way}", colour)
                    x += width * seconds / total
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="70" '
        style = 'font-family="monospace" font-size="11">'
        return head + style + "".join(out) + "</svg>"

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        head = f"{'calls':>6} {'forward':>10} {'pulls':>6} {'backward':>10} {'bytes':>10}  rule"
        return "\n".join([
            head,
            *[
                f"{row.calls:>6} {1e6 * row.forward:>7.0f} us {row.pulls:>6} "
                f"{1e6 * row.backward:>7.0f} us {row.nbytes:>10}  {row.rule}  {row.where}"
                for row in self.rows
            ],
        ])  # fmt: skip


@contextlib.contextmanager
def profile() -> Iterator[Profile]:
    """Measure the rules that reverse mode uses in a ``with`` block.

    Differentiation that begins inside (`grad`, `vjp`, `jacobian` in reverse mode) is measured in
    all threads, and is slower; outside it costs nothing. The time of a rule includes that of the
    value. Calls under a policy of `checkpoint`, such as ``save="cheap"``, are not measured.

    Yields
    ------
    Profile
        The sums so far.

    Examples
    --------
    >>> import numpy as np
    >>> from chainrules_tape import grad
    >>> with profile() as p:
    ...     slope = grad(lambda x: np.sum(np.sin(x) * x))(np.ones(3))
    >>> sorted((row.rule, row.calls, row.pulls) for row in p.by_rule())
    [('multiply', 1, 1), ('sin', 1, 1), ('sum', 1, 1)]
    """
    found = Profile([profile for profile, _ in _open])
    kind: Any = type("Profiled", (_Profiled,), {"__slots__": (), "tracing": _Timing(found)})
    classes = kind.classes()
    _open.append((found, classes))
    ReverseRun.new_tape = staticmethod(_new_tape)
    try:
        yield found
    finally:
        _open[:] = [each for each in _open if each[0] is not found]  # blocks end in any order
        if not _open:
            ReverseRun.new_tape = staticmethod(_plain)


_open: list[Any] = []
_plain = ReverseRun.new_tape


def _new_tape(**settings: Any) -> Any:
    tape = _plain(**settings)
    tape.classes = _open[-1][1] if _open else tape.classes
    return tape


class _Timing(Recording):
    """Tracing that measures calls and the pulls of their records."""

    def __init__(self, found: Profile) -> None:
        super().__init__()
        self.found = found
        self.inner = 0.0

    def call(self, primitive: Any, primal: Any, operands: Any, options: Any, at: Any) -> Any:
        """Trace a call and add its time, without the time of nested calls."""
        outer, self.inner, start = self.inner, 0.0, time.perf_counter()
        try:
            return super().call(primitive, primal, operands, options, at)
        finally:
            spent = time.perf_counter() - start
            where = source_line()
            self.found.add(primitive.__name__, where, 1, spent - self.inner)
            self.inner = outer + spent

    def leave(self, at: Any, y: Any, out: Any, arrays: Sequence[Any], bound: Bound) -> Any:
        """Append the record with a pull that is measured."""
        rule, where = bound.statement.primal.__name__, source_line()
        self.found.add(rule, where, 0, 0.0, 0, 0.0, sum(map(nbytes, out[2:])))
        timed = self._timed(out[0], rule, where)
        return super().leave(at, y, (timed, *out[1:]), arrays, bound)

    def _timed(self, half: Callable[..., Any], rule: str, where: str) -> Any:
        def pull(*given: Any) -> Any:
            start = time.perf_counter()
            try:
                return half(*given)
            finally:
                self.found.add(rule, where, 0, 0.0, 1, time.perf_counter() - start)

        pull.__dict__.update(half.__dict__)
        return pull


class _TimedWrite(Overwrite):
    """Links of a write into memory of a tracer, whose pull is measured."""

    __slots__ = ("found", "where")

    def __init__(self, parents: Any, found: Profile, where: str) -> None:
        super().__init__(parents)
        self.found, self.where = found, where

    def pull(self, bars: Any, index: int, y_bar: Any, record: tuple[Any, ...]) -> None:
        """Send the cotangents."""
        start = time.perf_counter()
        super().pull(bars, index, y_bar, record)
        self.found.add(store.__name__, self.where, 0, 0.0, 1, time.perf_counter() - start)


class _Profiled(Variable):
    """Value on a tape whose calls are measured."""

    __slots__ = ()

    def _put(self, pattern: Any, arrays: tuple[Any, ...], value: Any) -> bool:
        """Write in place, and measure the write and the pull of its record."""
        start = time.perf_counter()
        if not super()._put(pattern, arrays, value):
            return False  # it is a call of its own
        spent, where, timing = time.perf_counter() - start, source_line(), cast(Any, self.tracing)
        timing.found.add(store.__name__, where, 1, spent, 0, 0.0, sum(map(nbytes, arrays)))
        pull, links, *saved = self.tape[-1]
        self.tape[-1] = (pull, _TimedWrite(links.parents, timing.found, where), *saved)
        return True

    @classmethod
    def classes(cls) -> Any:
        """Return the classes of variables, by the type of a value."""
        cls.tracing.tracer = cls
        cls.results = Classes(cls, cls.tracing.wrap_fields)
        return cls.results
