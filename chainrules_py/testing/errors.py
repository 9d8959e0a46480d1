"""Answers of a check other than a pass: nothing can be said, or a mistake was found."""

from __future__ import annotations

from typing import Any, final


@final
class NotJudgedError(Exception):
    """A check cannot say anything here."""


@final
class WrongError(Exception):
    """Mistake that a check found.

    Parameters
    ----------
    text : str
        What is wrong, in a sentence.
    pattern : str
        Its name in a few words: "factor 2", "transposed"; empty if it has none.
    derivative : bool
        Whether a derivative has wrong numbers, so that more can be told from the whole Jacobian.
    call : tuple, optional
        The operands and the options of the call that was judged, where that is a derived one.
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
        self.text = text
        self.pattern = pattern
        self.derivative = derivative
        self.call = call
