"""Outcomes of samples, and their summary as a line, as text and as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

from chainrules_py.testing.report.report import Finding

Depth: TypeAlias = Literal["full", "cheap"]


@final
@dataclasses.dataclass(frozen=True)
class Outcome:
    """Outcome of one sample, on one library, with one seed.

    Attributes
    ----------
    operation : str
        The operation, with its module.
    sample : str
        The name of the sample.
    backend : str
        The name of the library and device; empty for an operation that has no sample.
    seed : int
        Seed of the operands and directions.
    depth : {"full", "cheap"}
        Which checks ran.
    modes : tuple of str
        The modes for which a rule was found.
    findings : tuple of Finding
        The finding of each check.
    text : str
        The text of a failure; empty if there is none.
    error : exception, optional
        The exception that was raised.
    """

    operation: str
    sample: str
    backend: str
    seed: int
    depth: Depth
    modes: tuple[str, ...]
    findings: tuple[Finding, ...]
    text: str = ""
    error: BaseException | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not any(f.verdict == "failed" for f in self.findings)

    def as_dict(self) -> dict[str, Any]:
        """Return the outcome as text and numbers, without the exception."""
        kept: dict[str, Any] = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name != "error"
        }
        findings = [dataclasses.asdict(f) for f in self.findings]
        return {**kept, "findings": findings, "modes": list(self.modes)}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Outcome:
        """Return an outcome from the result of `as_dict`."""
        findings = tuple([Finding(**found) for found in kept["findings"]])
        fields: dict[str, Any] = {**kept, "modes": tuple(kept["modes"]), "findings": findings}
        return cls(**fields)


@final
@dataclasses.dataclass
class Summary:
    """Summary of the outcomes of many samples.

    Attributes
    ----------
    outcomes : list of Outcome
        One per sample, library and seed.
    """

    outcomes: list[Outcome] = dataclasses.field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether no check of any sample failed."""
        return not self.failures

    @property
    def failures(self) -> list[Outcome]:
        """The outcomes in which a check failed, each with its text."""
        return [o for o in self.outcomes if not o.passed]

    @property
    def rules(self) -> list[str]:
        """The operations whose rules were checked."""
        return sorted({o.operation for o in self.outcomes})

    @property
    def checks(self) -> list[str]:
        """The names of the checks that ran, in the order in which they first ran."""
        return list(dict.fromkeys(f.check for o in self.outcomes for f in o.findings))

    @property
    def backends(self) -> list[str]:
        """The libraries that samples ran on."""
        return sorted({o.backend for o in self.outcomes if o.backend})

    @property
    def verdicts(self) -> Counter[str]:
        """The numbers of checks that passed, failed, and were skipped."""
        return Counter(f.verdict for o in self.outcomes for f in o.findings)

    @property
    def headline(self) -> str:
        """One line: rules x checks x backends, and the number of each verdict."""
        n = self.verdicts
        return (
            f"rules x checks x backends: {len(self.rules)} x {len(self.checks)} x "
            f"{len(self.backends)}; samples: {sum(bool(o.backend) for o in self.outcomes)}; "
            f"checks: {n['passed']} passed, {n['failed']} failed, {n['skipped']} skipped"
        )

    def __str__(self) -> str:
        return "\n\n".join([self.headline, *map(told, self.failures)])

    __repr__ = __str__

    def as_dict(self) -> dict[str, Any]:
        """Return the summary as text and numbers: modes, samples, seeds, verdicts per operation.

        Examples
        --------
        >>> from chainrules_py.testing import run_samples
        >>> from chainrules_py.ops import cos
        >>> found = run_samples(cos, backends=["numpy"], depth="cheap").as_dict()
        >>> found["operations"]["chainrules_py.ops.trigonometry.cos"]["modes"]
        ['forward', 'reverse']
        """
        return {
            "version": 1,
            "rules": len(self.rules),
            "checks": self.checks,
            "backends": self.backends,
            "verdicts": dict(self.verdicts),
            "operations": {operation: self._operation(operation) for operation in self.rules},
        }

    def _operation(self, operation: str) -> dict[str, Any]:
        mine = [o for o in self.outcomes if o.operation == operation]
        there = {}
        for backend in sorted({o.backend for o in mine if o.backend}):
            verdicts: dict[str, Counter[str]] = {}
            on = [o for o in mine if o.backend == backend]
            for finding in [f for o in on for f in o.findings]:
                verdicts.setdefault(finding.check, Counter())[finding.verdict] += 1
            there[backend] = {
                "depth": "full" if any(o.depth == "full" for o in on) else "cheap",
                "samples": len({o.sample for o in on}),
                "checks": {check: dict(counted) for check, counted in verdicts.items()},
            }
        return {
            "modes": sorted({mode for o in mine for mode in o.modes}),
            "samples": len({o.sample for o in mine if o.backend}),
            "seeds": sorted({o.seed for o in mine if o.backend}),
            "backends": there,
            "failures": [
                {"sample": o.sample, "backend": o.backend, "seed": o.seed, "text": o.text}
                for o in mine
                if not o.passed
            ],
        }

    def write_json(self, path: str | Path) -> None:
        """Write `as_dict` into a file."""
        text = json.dumps(self.as_dict(), indent=1, sort_keys=True, ensure_ascii=False)
        Path(path).write_text(f"{text}\n", encoding="utf-8")


def told(failure: Outcome) -> str:
    """Describe an outcome in which a check failed."""
    if not failure.backend:
        return failure.text
    return f"{failure.sample} on {failure.backend}, seed {failure.seed}\n{failure.text}"
