"""What a check of a rule found, and how it reads."""

from __future__ import annotations

import dataclasses
from typing import Any, final

import numpy as np

__all__ = ["Finding", "Report", "RuleCheckError", "Table"]

_ROWS = 6


@final
@dataclasses.dataclass(frozen=True)
class Table:
    """Where two matrices of derivatives differ most.

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
        return not self._excess.size or bool(np.all(self._excess <= 1.0))

    @property
    def _excess(self) -> Any:
        with np.errstate(all="ignore"):
            apart = np.abs(self.have - self.want)
            # Infinities of one sign, and NaN on both sides, agree.
            same = (self.have == self.want) | (np.isnan(self.have) & np.isnan(self.want))
            return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart) / self.allowed)

    @property
    def pattern(self) -> str:
        """What the difference looks like, in words; empty if it is like nothing known."""
        have, want = self.have, self.want
        if not have.size or not np.all(np.isfinite(have)) or not np.all(np.isfinite(want)):
            return ""
        norm = float(np.sum(have * have))
        if norm == 0.0:
            return f"{self.titles[0]} is zero everywhere"
        factor = float(np.sum(have * want)) / norm
        if factor and np.allclose(want, factor * have, rtol=1e-6, atol=1e-9):
            if abs(factor + 1) < 1e-6:
                return "the sign is wrong"
            return f"{self.titles[0]} is {1 / factor:.4g} times {self.titles[1]}"
        wrong = self._excess > 1.0
        if wrong.sum() == 1 and wrong.size > 1:
            return "one entry is wrong"
        return ""

    def __str__(self) -> str:
        order = np.argsort(self._excess, axis=None)[::-1]
        wrong = int(np.sum(self._excess > 1.0))
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
        if pattern := self.pattern:
            text.append(f"  {pattern}")
        return "\n".join(text)


@final
@dataclasses.dataclass(frozen=True)
class Finding:
    """What one check said.

    Attributes
    ----------
    check : str
        The name of the check.
    verdict : {"passed", "failed", "not judged"}
        Its answer; what cannot be judged is never a pass.
    text : str
        What is wrong, or why it cannot be judged.
    """

    check: str
    verdict: str
    text: str = ""


@final
@dataclasses.dataclass
class Report:
    """What `check_rule` found.

    Attributes
    ----------
    call : str
        The call that was checked.
    where : str
        ``file:line`` of the rule.
    seed : int
        What directions were drawn from.
    findings : list of Finding
        One per check, in the order in which they ran.
    """

    call: str
    where: str
    seed: int
    findings: list[Finding] = dataclasses.field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failures

    @property
    def failures(self) -> list[Finding]:
        """The checks that failed."""
        return [f for f in self.findings if f.verdict == "failed"]

    def verdict(self, check: str) -> str:
        """The verdict of one check; ``"not judged"`` if it did not run."""
        return next((f.verdict for f in self.findings if f.check == check), "not judged")

    def __str__(self) -> str:
        failed = self.failures
        if not failed:
            done = [f.check for f in self.findings if f.verdict == "passed"]
            lines = [f"{self.call}: passed {', '.join(done)}"]
        else:
            lines = [f"the rule of {self.call} is wrong: {', '.join(f.check for f in failed)}"]
            lines += [f"{f.check}: {f.text}" for f in failed]
        lines += [
            f"not judged, {f.check}: {f.text}" for f in self.findings if f.verdict == "not judged"
        ]
        return "\n".join([*lines, f"seed {self.seed}; rule: {self.where}"])

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
