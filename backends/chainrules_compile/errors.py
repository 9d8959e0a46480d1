"""Errors of the compiler, and the one word that a program says when it does not fit."""

from __future__ import annotations

from typing import Final, final

from chainrules_py import TracerError


class RecordingError(TracerError):
    """A function cannot become a program: it asks for a number, draws random ones, or writes.

    Raised while a function is recorded, with the line to write instead. What is refused would be
    wrong at the next call, in silence.
    """


class RecordingWarning(UserWarning):
    """A function is recorded again and again, and each call pays for it; says what differed."""


@final
class Miss:
    """Answer of a program to arguments that it was not recorded for."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISS"


MISS: Final = Miss()
