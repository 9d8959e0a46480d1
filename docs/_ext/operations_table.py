"""``{operations} module``: the operations that a module declares, as a table.

Operations are objects, not functions, so autodoc would print them as data. The table shows the
call, the operands and options told apart, and the first sentence of the docstring, as plain text.
"""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

KINDS = inspect.Parameter


def operands_and_options(operation: Any) -> tuple[str, str]:
    """The names of the operands, and the options with their defaults."""
    operands, options = [], []
    for name, parameter in inspect.signature(operation).parameters.items():
        if parameter.kind is KINDS.KEYWORD_ONLY:
            default = parameter.default
            options.append(name if default is KINDS.empty else f"{name}={default!r}")
        elif parameter.kind is not KINDS.VAR_KEYWORD:
            star = "*" if parameter.kind is KINDS.VAR_POSITIONAL else ""
            operands.append(star + name)
    return ", ".join(operands), ", ".join(options)


def first_sentence(operation: Any) -> str:
    doc = inspect.getdoc(operation) or ""
    return " ".join(doc.split("\n\n")[0].split())


def sentence(text: str) -> list[nodes.Node]:
    """Text with what stands in backticks as code."""
    parts = re.split("``?", text)
    return [nodes.literal(p, p) if i % 2 else nodes.Text(p) for i, p in enumerate(parts) if p]


def table(
    head: tuple[str, ...], rows: list[tuple[str, ...]], widths: tuple[int, ...]
) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=w) for w in widths]

    def line(cells: tuple[str, ...], literal: int) -> nodes.row:
        row = nodes.row()
        for i, cell in enumerate(cells):
            parts = [nodes.literal(cell, cell)] if i < literal and cell else sentence(cell)
            row += nodes.entry("", nodes.paragraph("", "", *parts))
        return row

    group += nodes.thead("", line(head, 0))
    group += nodes.tbody("", *[line(row, 3) for row in rows])
    return nodes.table("", group)


class Operations(Directive):
    required_arguments = 1
    has_content = False
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        module = importlib.import_module(self.arguments[0])
        operations = importlib.import_module("chainrules_py.primitives.primitive").Primitive
        rows = []
        for name in module.__all__:
            operation = getattr(module, name)
            if isinstance(operation, operations):
                operands, options = operands_and_options(operation)
                rows.append((name, operands, options, first_sentence(operation)))
        if not rows:
            return [nodes.paragraph("", "This module declares no operations.")]
        head = ("operation", "operands", "options", "what it is")
        return [table(head, rows, (14, 20, 26, 40))]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("operations", Operations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
