"""Comparison of entries: what is another number, another refusal, gone or new."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import final

from tests.golden.allowed import ALLOWED
from tests.golden.numbers import Number, Refusal, Result
from tests.golden.store import Entries, Entry

KINDS = {
    "changed": "another number",
    "crash": "an error that is not one of ours",
    "lost": "a result that is no longer computed",
    "another": "another random program under the same number",
    "refusal": "a refusal where there was a number, another refusal, or the reverse",
    "gone": "entries whose sample or call was removed",
    "new": "entries and results that are not in the file",
    "rounded": "other last digits, which are allowed or come from another machine or version",
}
"""The kinds of differences."""

FAILURES = ("changed", "crash", "lost", "another")
"""Kinds that are failures; with ``--strict`` all but the last are."""


@final
@dataclasses.dataclass(frozen=True)
class Difference:
    """Difference between what is computed and what is kept.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    name : str
        The entry.
    part : str
        Which of its results; empty if it is about all of them.
    text : str
        Both results, and how far they are apart.
    """

    kind: str
    name: str
    part: str = ""
    text: str = ""

    def __str__(self) -> str:
        return (
            f"{self.name}{f', {self.part}' * bool(self.part)}{f': {self.text}' * bool(self.text)}"
        )


def compare(old: Entries, new: Entries, gone: Iterable[str] = ()) -> Iterator[Difference]:
    """Yield the differences of entries.

    Parameters
    ----------
    old : Entries
        What is kept.
    new : Entries
        What is computed now, of some names.
    gone : iterable of str
        Names that are kept, and that nothing computes any longer.
    """
    for name in gone:
        yield Difference("gone", name)
    for name, entry in new.items():
        if name in old:
            yield from _of_entry(name, old[name], entry)
        else:
            yield Difference("new", name)


def _of_entry(name: str, old: Entry, new: Entry) -> Iterator[Difference]:
    ulps = [n for pattern, n in ALLOWED.items() if re.search(pattern, name)]
    exact = old.made == new.made
    program = old.parts.get("program"), new.parts.get("program")
    if program[0] != program[1]:
        yield Difference("another" if exact else "rounded", name, "program")
        return
    for part in {**old.parts, **new.parts}:
        if part not in new.parts:
            # Behind a value that is refused there are no derivatives.
            refused = isinstance(new.parts.get("value"), Refusal)
            yield Difference("refusal" if refused else "lost", name, part)
        elif part not in old.parts:
            yield Difference("new", name, part)
        else:
            before, now = old.parts[part], new.parts[part]
            kind = _kind(before, now, exact, max(ulps, default=None))
            if kind:
                yield Difference(kind, name, part, _text(before, now))


def _kind(old: Result, new: Result, exact: bool, ulps: float | None) -> str:
    if isinstance(new, Number) and isinstance(old, Number):
        if new.bits == old.bits:
            return ""
        if exact and ulps is None:
            return "changed"
        return "rounded" if new.is_near(old, ulps if exact else None) else "changed"
    if str(new) == str(old):
        return ""
    return "crash" if isinstance(new, Refusal) and new.is_crash else "refusal"


def _text(old: Result, new: Result) -> str:
    text = f"{old} is {new} now"
    if isinstance(new, Number) and isinstance(old, Number):
        ulps = new.ulps(old)
        if ulps:
            return f"the weighted sum {text}, which is {ulps:.3g} ulp of an element at least"
        why = "last digits that cancel, a type, a shape, the sign of a zero"
        return f"the weighted sum {new} is the same, the bits are not ({why})"
    return text
