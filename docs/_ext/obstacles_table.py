"""``{obstacles}``: what was called and what to write, from the table that the doctor reads."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from chainrules_py.cli import OBSTACLES


def code(body: str) -> nodes.literal_block:
    lines = [line.strip().removeprefix("return ") for line in body.split("\n")]
    text = "\n".join([line for line in lines if line != "np.sum(b)" and line != "np.sum(y)"])
    block = nodes.literal_block(text, text)
    block["language"] = "python"
    return block


def row(*cells: nodes.Node) -> nodes.row:
    found = nodes.row()
    for cell in cells:
        found += nodes.entry("", cell)
    return found


class Obstacles(Directive):
    def run(self) -> list[nodes.Node]:
        group = nodes.tgroup(cols=2)
        group += [nodes.colspec(colwidth=1), nodes.colspec(colwidth=1)]
        titles = row(nodes.paragraph("", "called"), nodes.paragraph("", "write"))
        group += nodes.thead("", titles)
        body = nodes.tbody()
        for obstacle in OBSTACLES:
            body += row(code(obstacle.before), code(obstacle.after))
        group += body
        return [nodes.table("", group)]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("obstacles", Obstacles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
