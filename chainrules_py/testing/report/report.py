"""Findings of a check of a rule, and how they read."""

from __future__ import annotations

import dataclasses
from typing import Any, final

import numpy as np

_ROWS = 6


@final
@dataclasses.dataclass(frozen=True)
class Table:
    """Table of where two matrices of derivatives differ most.

    Attributes
    ----------
    have, want : matrix
        What the rule gives, and what it is compared with.
    rows, columns : list of str
        What the rows and columns stand for.
    allowed : matrix or number
        The difference that is tolerated.
    titles : tuple of str
        The names of ``have`` and ``want``.
    """

    have: Any
    want: Any
    rows: list[str]
    columns: list[str]
    allowed: Any
    titles: tuple[str, str]

    @property
    def is_within(self) -> bool:
        """Whether nothing differs by more than is allowed."""
        return not self.excess.size or bool(np.all(self.excess <= 1.0))

    @property
    def excess(self) -> Any:
        """The differences as multiples of what is allowed."""
        with np.errstate(all="ignore"):
            apart = np.abs(self.have - self.want)
            # Infinities of one sign, and NaN on both sides, agree.
            same = (self.have == self.want) | (np.isnan(self.have) & np.isnan(self.want))
            ratio = np.where(np.isnan(apart), np.inf, apart) / self.allowed
            return np.where(same, 0.0, np.where(np.isinf(self.allowed), 0.0, ratio))

    def __str__(self) -> str:
        excess = self.excess
        order = np.argsort(-excess, axis=None, kind="stable")
        wrong = int(np.sum(excess > 1.0))
        lines = [("entry", *self.titles, "difference")]
        for flat in order[: min(_ROWS, wrong)]:
            i, j = np.unravel_index(flat, self.have.shape)
            have, want = self.have[i, j], self.want[i, j]
            name = f"{self.rows[i]} in {self.columns[j]}"
            lines.append((name, f"{have:.10g}", f"{want:.10g}", f"{have - want:.3g}"))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  " + "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        if wrong > _ROWS:
            text.append(f"  ... {wrong} of {self.have.size} entries differ")
        return "\n".join(text)


@final
@dataclasses.dataclass(frozen=True)
class Finding:
    """Finding of one check.

    Attributes
    ----------
    check : str
        The name of the check.
    verdict : {"passed", "failed", "not judged"}
        Its answer; what cannot be judged is never a pass.
    text : str
        What is wrong, or why it cannot be judged.
    pattern : str
        What is wrong in a few words: "factor 2", "transposed", "cotangent mutated".
    """

    check: str
    verdict: str
    text: str = ""
    pattern: str = ""


@final
@dataclasses.dataclass
class Report:
    """Report of what `check_rule` found.

    Attributes
    ----------
    call : str
        The call that was checked.
    where : str
        ``file:line`` of the rule.
    seed : int
        What directions were drawn from.
    again : str
        The line that runs the same check; what is too large to be written is in ``operands``.
    operands : tuple
        Where the rule was checked.
    findings : list of Finding
        One per check, in the order in which they ran.
    derived : dict
        From the name of a check that failed to the operands of the derived call that it judged.
    """

    call: str
    where: str
    seed: int
    again: str = ""
    operands: tuple[Any, ...] = dataclasses.field(default=(), repr=False)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    derived: dict[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def failures(self) -> list[Finding]:
        """The checks that failed."""
        return [f for f in self.findings if f.verdict == "failed"]

    @property
    def patterns(self) -> list[str]:
        """What is wrong, each in a few words, in the order in which it was found."""
        return list(dict.fromkeys([f.pattern for f in self.failures if f.pattern]))

    def verdict(self, check: str) -> str:
        """Return the verdict of one check; ``"not judged"`` if it did not run."""
        return next((f.verdict for f in self.findings if f.check == check), "not judged")

    def __str__(self) -> str:
        failed = self.failures
        if not failed:
            done = [f.check for f in self.findings if f.verdict == "passed"]
            lines = [f"{self.call}: passed {', '.join(done)}"]
        else:
            found = self.patterns or [f.check for f in failed]
            lines = [f"the rule of {self.call} is wrong: {'; '.join(found)}"]
            lines += [f"{f.check}: {f.text}" for f in failed]
        lines += [
            f"not judged, {f.check}: {f.text}" for f in self.findings if f.verdict == "not judged"
        ]
        lines.append(f"seed {self.seed}; rule: {self.where}")
        if failed and self.again:
            lines.append(f"again: {self.again}")
        return "\n".join(lines)

    __repr__ = __str__


@final
class RuleCheckError(AssertionError):
    """A rule is wrong; the message names the checks that say so.

    Attributes
    ----------
    report : Report
        All that was found.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report
