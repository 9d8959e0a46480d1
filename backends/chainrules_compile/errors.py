"""Errors of the compiler, and the one word that a program says when it does not fit."""

from __future__ import annotations

import contextvars
import sys
import warnings
from typing import Any, Final, final

from chainrules_py import TracerError

refused = contextvars.ContextVar[list[BaseException] | None]("refused", default=None)
"""What was refused while a function is recorded, whether or not the function lets it pass."""


def note(error: BaseException) -> None:
    """Keep in mind what was refused, if a function is being recorded."""
    found = refused.get()
    if found is not None:
        found.append(error)


class RecordingError(TracerError):
    """A function cannot become a program: it asks for a number, draws random ones, or writes.

    A compiled function runs as it is then, with a warning; ``strict=True`` and `save` raise.

    Attributes
    ----------
    arguments : tuple of str
        The arguments that would have to be static for it.
    """

    def __init__(self, *args: Any, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(*args)
        self.arguments = arguments
        note(self)


def behind(error: BaseException) -> RecordingError | None:
    """Return what was refused: the error itself, or what NumPy, which says less, has wrapped."""
    found = [x for x in (error, error.__cause__) if isinstance(x, RecordingError)]
    return found[0] if found else None


class UnhashableError(RecordingError, TypeError):
    """A noted number is to be a key: who asks whether it can be one is told that it cannot."""


class RecordingWarning(UserWarning):
    """A function is recorded again and again, or runs as it is; says why."""


def warn(text: str) -> None:
    """Warn, at the line that called what is compiled."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, RecordingWarning, stacklevel=level)


_OURS = "chainrules_compile"


class Unfit(Exception):  # noqa: N818 (it is no error: the function runs as it is)
    """A function is no program, for good, or (with ``once``) in this call.

    With ``tell`` people are told of such a call, and others are recorded however many there are.
    """

    def __init__(
        self,
        why: str,
        once: bool = False,
        tell: bool = False,
        arguments: tuple[str, ...] = (),
    ) -> None:
        super().__init__(why)
        self.arguments = arguments
        self.once = once
        self.tell = tell
        note(self)


class Written(Unfit):
    """The function has written to what it does not own; the names of that."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"it changes {', '.join(names)}")
        self.names = names


class Traced(Unfit):
    """Something that the function captured, or that an argument hides, is being traced now."""


@final
class Miss:
    """Answer of a program to arguments that it was not recorded for."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISS"


MISS: Final = Miss()
