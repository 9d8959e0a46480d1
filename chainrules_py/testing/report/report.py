"""Findings of a check of a rule, and their text."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import json
from collections.abc import Callable, Sequence
from typing import Any, final

from chainrules_py.testing.diagnosis import Table


@final
@dataclasses.dataclass(frozen=True)
class Finding:
    """Finding of one check.

    Attributes
    ----------
    check : str
        The name of the check.
    verdict : {"passed", "failed", "skipped"}
        The outcome; a check that cannot decide never passes.
    text : str
        What is wrong, or why the check is skipped.
    pattern : str
        The name of the mistake: "factor 2", "transposed", "cotangent mutated".
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
        Seed of the directions.
    again : str
        The line that repeats the check; values too large to be written are in ``operands``.
    operands : tuple
        The operands of the checked call.
    findings : list of Finding
        One per check, in the order in which they ran.
    not_tried : list of str
        The checks that did not run: they are not among the default ones, or the budget was spent.
    calls : int
        How often the function ran, without the calls of the diagnosis.
    derived : dict
        The operands of the derived call at which a check failed, by the name of the check.
    kind : {"rule", "gradient"}
        What was checked.
    layout : callable, optional
        Formats findings that are cells of a table.
    compute_jacobian : callable, optional
        Computes `jacobian` when it is read.
    """

    call: str
    where: str
    seed: int
    again: str = ""
    operands: tuple[Any, ...] = dataclasses.field(default=(), repr=False)
    findings: list[Finding] = dataclasses.field(default_factory=list)
    not_tried: list[str] = dataclasses.field(default_factory=list)
    calls: int = 0
    derived: dict[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict, repr=False)
    kind: str = "rule"
    layout: Callable[[Sequence[Finding]], str] | None = dataclasses.field(
        default=None, repr=False, compare=False
    )
    compute_jacobian: Callable[[], Table | None] | None = dataclasses.field(
        default=None, repr=False, compare=False
    )

    @property
    def jacobian(self) -> Table | None:
        """Both Jacobians, computed on access, at the first mistake or else at the given call.

        None if they would be too large, or there is nothing to compare them with.
        """
        return None if self.compute_jacobian is None else self.compute_jacobian()

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
        """The names of the mistakes, in the order found; last those where a rule raises."""
        said = list(dict.fromkeys([f.pattern for f in self.failures if f.pattern]))
        return sorted(said, key=lambda pattern: "(raises " in pattern)

    def verdict(self, check: str) -> str:
        """Return the verdict of one check; ``"skipped"`` if it did not run."""
        return next((f.verdict for f in self.findings if f.check == check), "skipped")

    def __str__(self) -> str:
        failed = self.failures
        if not failed and self.layout:
            passed, skipped = [
                sum([f.verdict == verdict for f in self.findings])
                for verdict in ("passed", "skipped")
            ]
            lines = [f"{self.call}: {passed} cells passed, {skipped} skipped"]
        elif not failed:
            done = ", ".join([f.check for f in self.findings if f.verdict == "passed"])
            lines = [f"{self.call}: passed {done}"]
        else:
            lines = [self._wrong]
            shown = failed[:3] if self.layout else failed
            lines += [f"{f.check}: {f.text}" for f in shown]
            if len(shown) < len(failed):
                lines.append(f"... {len(failed)} cells in all: report.failures")
        lines += (
            [self.layout(self.findings)]
            if self.layout
            else [f"skipped, {f.check}: {f.text}" for f in self.findings if f.verdict == "skipped"]
        )
        if self.not_tried:
            lines.append(f"not tried: {', '.join(self.not_tried)}")
        lines.append(f"seed {self.seed}; {self.kind}: {self.where}")
        if failed and self.again:
            lines.append(f"again: {self.again}")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def _wrong(self) -> str:
        return f"the {self.kind} of {self.call} is wrong: " + "; ".join(
            self.patterns or [f.check for f in self.failures]
        )

    @property
    def brief(self) -> str:
        """The mistake and its place, the first failure, and how to repeat the check."""
        first = self.failures[0]
        if self.patterns == ["no rule"]:  # there is nothing else to show
            return first.text
        rows = [line.split() for line in first.text.splitlines()[:4]]
        said = "; ".join([" ".join(row) for row in rows if row[:1] != ["entry"]])
        return (
            f"{self._wrong} (seed {self.seed}; {self.kind}: {self.where})\n"
            f"  {first.check}: {said}" + f"\n  again: {self.again}" * bool(self.again)
        )

    def _repr_html_(self) -> str | None:
        """Return a failure with a heat map; None for a pass, and for a table of cells."""
        if self.passed or self.layout is not None:
            return None
        table = None
        with contextlib.suppress(Exception):  # the rule may raise
            table = self.jacobian
        drawn = "" if table is None or table.is_within else table._repr_html_()
        return f"<pre>{html.escape(str(self))}</pre>{drawn}"

    def to_json(self) -> str:
        """Write the report as JSON.

        Examples
        --------
        >>> json.loads(Report("sin(float)", "none", 0).to_json())["verdict"]
        'passed'
        """
        kept = {
            **{name: getattr(self, name) for name in ("call", "where", "seed", "again")},
            "verdict": "passed" if self.passed else "failed",
            "patterns": self.patterns,
            "not_tried": self.not_tried,
            "calls": self.calls,
            "findings": [dataclasses.asdict(f) for f in self.findings],
        }
        return json.dumps(kept, indent=1, ensure_ascii=False)


@final
class RuleCheckError(AssertionError):
    """A rule is wrong; the message has the first failure in three lines.

    Attributes
    ----------
    report : Report
        The report of all checks, with every entry that differs.
    """

    def __init__(self, report: Report) -> None:
        super().__init__(report.brief)
        self.report = report
