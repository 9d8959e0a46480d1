"""Roots and lengths that are 0, in derivatives of second and higher order.

They are not recorded at once. The tracer of such a root is a `Root`, from whose square even
functions are computed, and which any other use replaces by the ordinary result of its call. First
derivatives and other roots are unaffected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.extend import (
    Recorder,
    Settled,
    Trace,
    from_square,
    highest_tracer,
    may_be_root,
    root_of_zero,
    set_class,
)
from chainrules_tape.memory.write import LIKE, Outdated, View, outdate


class Root(Outdated):
    """First base of the classes of roots that are 0 somewhere."""

    __slots__ = ()
    payload: Any
    tracing: Trace
    _read_first = None

    @classmethod
    def of(cls, tracing: Trace, y: Any, like: Any, s: Any, call: Callable[[], Any]) -> Any:
        """Return y = √s as a tracer of the level of another; ``call`` gives its ordinary one."""
        made = tracing.wrap(y, tracing.at(like), None)
        made.as_view = View.of(None, (s, call), LIKE)
        outdate(made, cls, ("place", "tangent"))
        return made

    def forget_view(self) -> None:
        """Do nothing: it is no view."""

    def _read_again(self) -> None:
        _, call = self.as_view.how
        del self.as_view
        set_class(self, type(self).fresh)
        self._become(call())  # type: ignore[attr-defined]

    def __trace__(
        self, f: Any, operands: tuple[Any, ...], options: dict[str, Any], primal: Any = None
    ) -> Any:
        s, call = self.as_view.how
        deferred = lambda g, t: Root.of(self.tracing, g(self.payload), self, t, lambda: g(call()))
        made = from_square(f, operands, self, s, deferred)
        if made is not None:
            return made
        self._read_again()
        return self.__trace__(f, operands, options, primal)


class Rooting(Trace):
    """Tracing in which roots of values that are traced outside as well may become a `Root`."""

    def settle(
        self, primitive: Any, primal: Any, classes: tuple[Any, ...], scalar: Any = None
    ) -> Settled | None:
        """Return None for such roots."""
        if may_be_root(primitive, classes):
            return None
        return super().settle(primitive, primal, classes, scalar)

    def recorder(
        self, primitive: Any, primal: Any, classes: tuple[type, ...], settled: Settled | None
    ) -> Recorder:
        """Return the function that traces calls with operands of these classes."""
        if not may_be_root(primitive, classes):
            return super().recorder(primitive, primal, classes, settled)
        settled = super().settle(primitive, primal, classes)
        record = super().recorder(primitive, primal, classes, settled)

        def rooting(operands: tuple[Any, ...], options: dict[str, Any], at: Any = None) -> Any:
            if (found := root_of_zero(primitive, operands, options)) is None:
                return record(operands, options, at)
            xs, s = found
            top: Any = highest_tracer(operands)
            y = primitive(*[self.open(x, self.at(top))[0] for x in xs], **options)
            return Root.of(self, y, top, s, lambda: record(xs, options))

        return rooting
