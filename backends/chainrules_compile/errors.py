"""Errors and warnings of the compiler, and the value that a program returns on a guard failure."""

from __future__ import annotations

import contextvars
from typing import Any, Final, final

from chainrules_py import TracerError

refused = contextvars.ContextVar[list[BaseException] | None]("refused", default=None)
"""Errors raised while a function is recorded, including those that the function catches."""


def note(error: BaseException) -> None:
    """Remember an error if a function is being recorded."""
    found = refused.get()
    if found is not None:
        found.append(error)


class RecordingError(TracerError):
    """A function cannot be compiled: it needs a concrete number, draws random numbers, or writes.

    The compiled function then calls the original, with a warning; ``strict=True`` and `save` raise.

    Attributes
    ----------
    arguments : tuple of str
        The arguments that would have to be static for the function to compile.
    """

    def __init__(self, *args: Any, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(*args)
        self.arguments = arguments
        note(self)


def behind(error: BaseException) -> RecordingError | None:
    """Return the recording error: the error itself, or its cause where NumPy wraps it."""
    found = [x for x in (error, error.__cause__) if isinstance(x, RecordingError)]
    return found[0] if found else None


class UnhashableError(RecordingError, TypeError):
    """A recorded number is used as a dict key or a member of a set."""


class RecordingWarning(UserWarning):
    """A function is recorded repeatedly, or runs uncompiled; the message gives the reason."""


class Unfit(Exception):  # noqa: N818 (not an error: the original function runs)
    """A function cannot be compiled, permanently or (with ``once``) in this call.

    With ``tell`` the user is warned, and the call does not count towards the maximum of programs.
    """

    def __init__(self, why: str, once: bool = False, tell: bool = False) -> None:
        super().__init__(why)
        self.once, self.tell = once, tell
        note(self)


class Written(Unfit):
    """The function writes to objects that it does not own; `names` lists them."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"it changes {', '.join(names)}")
        self.names = names


class Traced(Unfit):
    """A captured value, or one inside an argument, is currently traced."""


@final
class Miss:
    """Result of a program for arguments that it was not recorded for."""

    __slots__ = ()


MISS: Final = Miss()
