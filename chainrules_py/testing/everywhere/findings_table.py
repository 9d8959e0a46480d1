"""Format findings named ``place: column`` as one table."""

from __future__ import annotations

from collections.abc import Sequence

from chainrules_py.testing import Finding

_MARKS = {"passed": "✓", "failed": "✗", "skipped": "·"}


def _rows(findings: Sequence[Finding]) -> dict[str, dict[str, Finding]]:
    rows: dict[str, dict[str, Finding]] = {}
    for f in findings:
        place, _, column = f.check.partition(": ")
        rows.setdefault(place, {})[column] = f
    return rows


def laid_out(findings: Sequence[Finding]) -> str:
    """Format findings as text: a line for each place, then why some of them are skipped."""
    rows = _rows(findings)
    wide = max(map(len, rows), default=0)
    lines = []
    for place, cells in rows.items():
        shown = [f"{name} {_MARKS[f.verdict]}" if name else f.text for name, f in cells.items()]
        lines.append(f"{place.ljust(wide)}  {'  '.join(shown)}")
    return "\n".join([*lines, *_reasons(rows)])


def _reasons(rows: dict[str, dict[str, Finding]]) -> list[str]:
    """List why cells are skipped, each reason once."""
    reasons: dict[str, dict[str, None]] = {}
    for place, cells in rows.items():
        for name, f in cells.items():
            if name and f.verdict == "skipped":
                reasons.setdefault(f.text, {})[place] = None
    return [f"skipped, {', '.join(places)}: {why}" for why, places in reasons.items()]
