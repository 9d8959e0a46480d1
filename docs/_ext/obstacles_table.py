"""``{obstacles}``: what does not trace and what to write, from the table that the doctor reads."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from chainrules_cli import OBSTACLES


def code(body: str) -> nodes.literal_block:
    text = "def f(x):\n    " + body
    block = nodes.literal_block(text, text)
    block["language"] = "python"
    return block


class Obstacles(Directive):
    def run(self) -> list[nodes.Node]:
        made: list[nodes.Node] = []
        for obstacle in OBSTACLES:
            title = obstacle.name.replace("-", " ")
            section = nodes.section("", nodes.title("", title), ids=[obstacle.name])
            parts = obstacle.why.split("`")
            why = [nodes.literal(x, x) if i % 2 else nodes.Text(x) for i, x in enumerate(parts)]
            section += nodes.paragraph("", "", *why)
            section += nodes.paragraph("", "Refused:")
            section += code(obstacle.before)
            section += nodes.paragraph("", "Instead:")
            section += code(obstacle.after)
            made.append(section)
        return made


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("obstacles", Obstacles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
