"""Findings named ``place: column`` as one table: of text, and of HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

from chainrules_py.testing import Finding

_MARKS = {"passed": "✓", "failed": "✗", "not judged": "·"}


def _rows(findings: Sequence[Finding]) -> dict[str, dict[str, Finding]]:
    rows: dict[str, dict[str, Finding]] = {}
    for f in findings:
        place, _, column = f.check.partition(": ")
        rows.setdefault(place, {})[column] = f
    return rows


def laid_out(findings: Sequence[Finding], as_html: bool) -> str:
    """Lay findings out as a table."""
    return _as_html(findings) if as_html else _as_text(findings)


def _as_text(findings: Sequence[Finding]) -> str:
    """Lay findings out as text: a line for each place, then why some of them are not judged."""
    rows = _rows(findings)
    wide = max(map(len, rows), default=0)
    lines = []
    for place, cells in rows.items():
        shown = [f"{name} {_MARKS[f.verdict]}" if name else f.text for name, f in cells.items()]
        lines.append(f"{place.ljust(wide)}  {'  '.join(shown)}")
    return "\n".join([*lines, *_reasons(rows)])


def _reasons(rows: dict[str, dict[str, Finding]]) -> list[str]:
    """Say why cells are not judged, each reason once."""
    reasons: dict[str, dict[str, None]] = {}
    for place, cells in rows.items():
        for name, f in cells.items():
            if name and f.verdict == "not judged":
                reasons.setdefault(f.text, {})[place] = None
    return [f"not judged, {', '.join(places)}: {why}" for why, places in reasons.items()]


def _as_html(findings: Sequence[Finding]) -> str:
    """Lay findings out as a table of HTML, with reasons below; a cell has its text as title."""
    rows = _rows(findings)
    columns = dict.fromkeys(name for cells in rows.values() for name in cells if name)
    lines = ["".join(f"<th>{html.escape(name)}</th>" for name in ("", *columns))]
    for place, cells in rows.items():
        line = f"<th>{html.escape(place)}</th>"
        if "" in cells:
            line += f"<td colspan={len(columns)}>{html.escape(cells[''].text)}</td>"
        for f in [cells.get(name) for name in columns] if "" not in cells else ():
            text = ("", "") if f is None else (html.escape(f.text, quote=True), _MARKS[f.verdict])
            line += '<td title="{}">{}</td>'.format(*text)
        lines.append(line)
    why = "".join(f"<p>{html.escape(reason)}</p>" for reason in _reasons(rows))
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>{why}"
