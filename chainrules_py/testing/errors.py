"""Exceptions that a check raises when it cannot decide, or finds a mistake."""

from __future__ import annotations

import traceback
from typing import Any, final


@final
class SkippedCheckError(Exception):
    """A check cannot decide here."""


def skip_if(unseen: object, why: str) -> None:
    """Raise a `SkippedCheckError` with a reason if a condition holds."""
    if unseen:
        raise SkippedCheckError(why)


@final
class WrongError(Exception):
    """Mistake that a check found.

    Parameters
    ----------
    text : str
        What is wrong, in a sentence.
    pattern : str
        Its short name, as "factor 2" or "transposed"; empty if it has none.
    derivative : bool
        Whether a derivative has wrong numbers, so that the whole Jacobian can be diagnosed.
    call : tuple, optional
        The operands and options of the checked call, if it is a derived one.
    """

    def __init__(
        self,
        text: str,
        pattern: str = "",
        *,
        derivative: bool = False,
        call: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
    ) -> None:
        super().__init__(text)
        self.text, self.pattern = text, pattern
        self.derivative, self.call = derivative, call


def line_of(error: BaseException) -> str:
    """Return the last line of user code that an error came through, as ``file:line``."""
    own = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if _is_of_a_person(frame.f_globals.get("__name__", ""))
    ]
    if own:
        return f"{own[-1][0]}:{own[-1][1]}"
    before = error.__cause__ or error.__context__
    return line_of(before) if before is not None else ""


def _is_of_a_person(module: str) -> bool:
    root = module.partition(".")[0]
    ours = root.startswith("chainrules_") and not module.startswith("chainrules_py.rules.")
    return not ours and root not in ("numpy", "scipy", "functools", "contextlib")
