"""Outdated views: what they were read from was written to, so they are read again before use.

The class of such a tracer is changed to one that reads it again before anything else is done with
it; then its class is what it was.
"""

from __future__ import annotations

from typing import Any

from chainrules_py import MutationError
from chainrules_tape.memory.view import known_view, view_of

__all__ = ["Outdated", "current", "outdated_class"]


def current(x: Any) -> Any:
    """Return a tracer, read again if it is outdated."""
    if isinstance(x, Outdated):
        x._read_again()
    return x


class Outdated:
    """The first base of the classes of outdated tracers.

    Whatever asks for the state of one reads it again first; then its class is what it was.
    """

    __slots__ = ()
    fresh: type

    def _read_again(self) -> None:
        chain: list[Any] = [self]
        while isinstance(parent := known_view(chain[-1]).parent, Outdated):
            chain.append(parent)
        while chain:
            chain.pop()._read_from_current()

    def _read_from_current(self) -> None:
        view, pending = known_view(self), type(self)
        if not view.certain:
            msg = (
                f"an array was written to, of which {view.word.__name__} gave a part that is used "
                f"after that; it is not known whether NumPy would have given a view, which the "
                f"write would have changed, or a copy: write .copy() behind it where it is read"
            )
            raise MutationError(msg)
        object.__setattr__(self, "__class__", pending.fresh)
        try:
            new = view.word(view.parent, *view.rest, **view.options)
            self._become(new)  # type: ignore[attr-defined]
            view.faithful = (view_of(new) or known_view(view.parent)).faithful
        except BaseException:
            object.__setattr__(self, "__class__", pending)
            raise

    def __trace__(self, *operands: Any, **options: Any) -> Any:
        self._read_again()
        return self.__trace__(*operands, **options)

    @classmethod
    def make_step(cls, site: Any, classes: Any) -> None:
        """None: it is read again first."""

    @classmethod
    def make_call(cls, site: Any, classes: Any) -> None:
        """None, as for steps."""

    @classmethod
    def __step__(cls, primitive: Any, classes: Any) -> None:
        return None


_outdated: dict[type, type] = {}


def outdated_class(cls: Any) -> type:
    """Make the class of outdated tracers of a class; its instances have the same slots."""
    try:
        return _outdated[cls]
    except KeyError:
        members = {name: _state(name) for name in (*cls.state, "level")}
        made = type(
            f"Outdated{cls.__name__}",
            (Outdated, cls),
            {"__slots__": (), "__module__": cls.__module__, "fresh": cls} | members,
        )
        return _outdated.setdefault(cls, made)


def _state(name: str) -> property:
    def value(self: Any) -> Any:
        self._read_again()
        return getattr(self, name)

    return property(value)
