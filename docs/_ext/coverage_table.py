"""``{coverage} kind``: what is checked of NumPy's functions of a kind, out of ``coverage.csv``.

``{coverage} none`` lists those that have no derivative, by the reason.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

DATA = Path(__file__).resolve().parents[1] / "coverage.csv"
CHECKED = ("frule", "rrule", "tape", "second order")
KINDS = ("real", "complex", "float32")


def read() -> list[dict[str, str]]:
    with DATA.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def entry(text: str, *, code: bool = False, **attributes: int) -> nodes.entry:
    inner = nodes.literal(text, text) if code else nodes.Text(text)
    return nodes.entry("", nodes.paragraph("", "", inner), **attributes)


def reason(cell: str) -> nodes.entry:
    operation = cell.removeprefix("n/a ")
    return nodes.entry("", nodes.paragraph("", "", nodes.emphasis(operation, operation)))


def table(kind: str) -> nodes.table:
    rows = [r for r in read() if r["kind"] == kind and r["answer"] != "none"]
    group = nodes.tgroup(cols=14)
    group += [nodes.colspec(colwidth=w) for w in (16, *(5,) * 12, 40)]
    top, below = nodes.row(), nodes.row()
    top += entry("name", morerows=1)
    top += [entry(name, morecols=2) for name in CHECKED]
    top += entry("keywords", morerows=1)
    below += [entry(k) for _ in CHECKED for k in KINDS]
    body = nodes.tbody()
    for row in rows:
        line = nodes.row()
        line += entry(row["name"], code=True)
        cells = [row[f"{name} {k}"] for name in CHECKED for k in KINDS]
        line += [reason(c) if c.startswith("n/a") else entry(c) for c in cells]
        line += entry(row["keywords"])
        body += line
    group += [nodes.thead("", top, below), body]
    return nodes.table("", group, classes=["coverage"])


def others() -> nodes.bullet_list:
    found: dict[str, list[str]] = {}
    for row in read():
        if row["answer"] == "none":
            found.setdefault(row["reason"], []).append(row["name"])
    items = nodes.bullet_list()
    for reason, names in found.items():
        text = nodes.paragraph("", "", nodes.strong(reason, reason), nodes.Text(": "))
        for i, name in enumerate(names):
            text += [nodes.Text(", " if i else ""), nodes.literal(name, name)]
        items += nodes.list_item("", text)
    return items


class Coverage(Directive):
    required_arguments = 1
    final_argument_whitespace = True  # a kind of two words

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        env.note_dependency(str(DATA))
        kind = self.arguments[0]
        return [others() if kind == "none" else table(kind)]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("coverage", Coverage)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
