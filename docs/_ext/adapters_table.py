"""``{adapters} engine``: what an engine can do with each exported rule, out of ``adapters.csv``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

DATA = Path(__file__).resolve().parents[1] / "adapters.csv"


def read() -> dict[str, dict[str, str]]:
    with DATA.open(encoding="utf-8", newline="") as file:
        return {row["rule"]: row for row in csv.DictReader(file)}


def entry(text: str, *, code: bool = False, weak: bool = False) -> nodes.entry:
    inner = nodes.literal(text, text) if code else nodes.Text(text)
    inner = nodes.emphasis(text, text) if weak else inner
    return nodes.entry("", nodes.paragraph("", "", inner))


def cell(real: str, complex_: str | None) -> nodes.entry:
    """Of which numbers it is right; of which errors, if any."""
    kinds = {"real": real, "complex": complex_}
    right = [kind for kind, answer in kinds.items() if answer == "yes"]
    others = [answer for answer in kinds.values() if answer not in ("yes", None, "")]
    if others:
        return entry(", ".join([*right, *dict.fromkeys(others)]), weak=True)
    return entry(" ".join("✓" for _ in right) or "–")


def table(engine: str) -> nodes.table:
    rows = read()
    names = [n for n in next(iter(rows.values()), {}) if n.startswith(f"{engine} ")]
    group = nodes.tgroup(cols=len(names) + 1)
    group += [nodes.colspec(colwidth=w) for w in (16, *(6,) * len(names))]
    head = nodes.row()
    head += [entry(text) for text in ("rule", *(n.removeprefix(f"{engine} ") for n in names))]
    body = nodes.tbody()
    for rule, row in rows.items():
        if rule.endswith(" complex"):
            continue
        twin = rows.get(f"{rule} complex")
        line = nodes.row()
        line += entry(rule, code=True)
        line += [cell(row[n], None if twin is None else twin[n]) for n in names]
        body += line
    group += [nodes.thead("", head), body]
    return nodes.table("", group, classes=["coverage"])


class Adapters(Directive):
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.state.document.settings.env.note_dependency(str(DATA))
        return [table(self.arguments[0])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("adapters", Adapters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
