"""``{libraries}``: which rule runs on which array library, out of ``libraries.csv``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

DATA = Path(__file__).resolve().parents[1] / "libraries.csv"
BESIDE = ("family", "operation", "samples")


def read() -> list[dict[str, str]]:
    with DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def entry(text: str, *, code: bool = False) -> nodes.entry:
    inner = nodes.literal(text, text) if code else nodes.Text(text)
    return nodes.entry("", nodes.paragraph("", "", inner))


def made(head: list[str], rows: list[list[nodes.entry]], widths: list[int]) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=w) for w in widths]
    top, body = nodes.row(), nodes.tbody()
    top += [entry(name) for name in head]
    for row in rows:
        line = nodes.row()
        line += row
        body += line
    group += [nodes.thead("", top), body]
    return nodes.table("", group, classes=["coverage"])


def cell(text: str) -> nodes.entry:
    """A number as it is, a reason in italics."""
    if text.isdigit():
        return entry(text)
    return nodes.entry("", nodes.paragraph("", "", nodes.emphasis(text, text)))


def counts(data: list[dict[str, str]]) -> nodes.table:
    """For each library how many rules run, and for each reason how many do not."""
    libraries = [name for name in data[0] if name not in BESIDE]
    answers = {row[name] for row in data for name in libraries}
    reasons = sorted(a for a in answers if not a.isdigit())
    rows = []
    for what in ("runs", *reasons):
        found = [
            sum(row[name].isdigit() if what == "runs" else row[name] == what for row in data)
            for name in libraries
        ]
        rows.append([entry(what), *[entry(str(n)) for n in found]])
    return made(["", *libraries], rows, [40, *[12] * len(libraries)])


def every(data: list[dict[str, str]]) -> nodes.table:
    names = [name for name in data[0] if name != "family"]
    rows = []
    for row in sorted(data, key=lambda row: (row["family"], row["operation"])):
        operation = f"{row['family']}.{row['operation']}"
        rows.append([entry(operation, code=True), *[cell(row[name]) for name in names[1:]]])
    return made(names, rows, [26, 8, *[12] * (len(names) - 2)])


class Libraries(Directive):
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.state.document.settings.env.note_dependency(str(DATA))
        return [counts(read()) if self.arguments == ["counts"] else every(read())]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("libraries", Libraries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
