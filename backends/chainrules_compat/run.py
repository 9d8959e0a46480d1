"""Runs of imported functions, which their derivatives repeat."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Generator
from typing import Any, final

from chainrules_bridge import agree, check_same, refuse_traced_captures, samples
from chainrules_bridge.reach import Reach
from chainrules_py import MutationError
from chainrules_py.extend import Draws, name_of, type_info


@final
class Run:
    """A run of an imported function, which its derivative repeats, maybe much later.

    What the function looks up has to be what it was, and what it draws at random is drawn again.

    Attributes
    ----------
    f : callable
        The function.
    """

    __slots__ = ("_draws", "_held", "_reach", "_seen", "f")

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f
        self._seen: tuple[list[Any], list[Any]] | None = None
        self._reach = reach = Reach((f,))
        refuse_traced_captures(f, reach=reach)
        arrays = [(x, type_info(type(x)).memory) for x in reach.arrays]
        self._held = [(x, m, m.fingerprint(x, False)) for x, m in arrays if m is not None]
        self._draws = Draws(reach.generators, reach.may_draw())

    def gave(self, xs: Any, y: Any) -> None:
        """Note what the function gave of what, in numbers; None is what has none yet."""
        self.settle()
        if xs is not None and y is not None:
            self._seen = samples(xs, whole=True), samples(y)

    def compare(self, xs: Any, y: Any) -> None:
        """Raise if the function gives something else of the same numbers than it `gave`.

        Raises
        ------
        MutationError
            It names the function.
        """
        if self._seen is None or xs is None or y is None:
            return
        if agree(samples(xs, whole=True), self._seen[0]):  # an engine may try it on others
            check_same(self.f, y, self._seen[1])

    def settle(self) -> None:
        """Watch no longer over arrays that the function wrote to itself."""
        self._held = [held for held in self._held if _is_unwritten(*held)]

    def check(self) -> None:
        """Raise if something that the function looks up is another by now.

        Raises
        ------
        MutationError
            It names that.
        """
        changed = self._reach.changed()
        if not changed and not all([_is_unwritten(*held) for held in self._held]):
            changed = "an array was written to"
        if changed:
            msg = (
                f"{changed}, which {name_of(self.f)} looks at, after that: its derivative would be "
                f"taken with another value than its result; pass it as an operand, or change it "
                f"when the gradient has been taken"
            )
            raise MutationError(msg)

    def lasts(self) -> bool:
        """Tell whether everything that the function looks up is what it was."""
        try:
            self.check()
        except MutationError:
            return False
        return True

    @contextlib.contextmanager
    def again(self) -> Generator[None]:
        """Run it once more.

        Raises
        ------
        MutationError
            If something is another by now.
        """
        self.check()
        token = _running.set(self)
        try:
            with self._draws.again():
                yield
        finally:
            _running.reset(token)


def _is_unwritten(x: Any, memory: Any, before: Any) -> bool:
    return bool(memory.fingerprint(x, False) == before)


_running: contextvars.ContextVar[Run | None] = contextvars.ContextVar("running", default=None)
"""The run that is repeated here."""


def run_again(f: Callable[..., Any]) -> Run | None:
    """Return the run of a function that is repeated here, if it is that function's."""
    run = _running.get()
    return run if run is not None and run.f is f else None
