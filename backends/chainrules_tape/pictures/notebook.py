"""Show values of the project as HTML in notebooks: ``%load_ext chainrules_tape.pictures``.

This module does not import the classes that it shows: it names them, and reads their text and
fields.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

STYLE = "border-collapse:collapse;font-size:0.92em;margin:0.3em 0"
CELL = "border:1px solid #c9cfd8;padding:2px 8px;text-align:left"


def table(head: tuple[str, ...], rows: list[tuple[Any, ...]], caption: str = "") -> str:
    """Return a table as HTML.

    Examples
    --------
    >>> table(("name",), [("a < b",)]).count("a &lt; b")
    1
    """
    top = "".join([f'<th style="{CELL}">{escape(name)}</th>' for name in head])
    body = "".join(
        [
            "<tr>" + "".join([f'<td style="{CELL}">{escape(str(x))}</td>' for x in row]) + "</tr>"
            for row in rows
        ]
    )
    above = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    head_and_body = f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f'<table style="{STYLE}">{above}{head_and_body}</table>'


def code(text: str, summary: str) -> str:
    """Return code in HTML, folded behind a summary."""
    return f"<details><summary>{escape(summary)}</summary><pre>{escape(text)}</pre></details>"


def of_variable(x: Any) -> str:
    """Show a traced value, by its payload."""
    value = x.payload
    shape, dtype = getattr(value, "shape", ()), getattr(value, "dtype", type(value).__name__)
    rows = [("shape", shape), ("dtype", dtype), ("value", value)]
    return table((type(x).__name__, x.tape_name), rows)


def of_tangent(x: Any) -> str:
    """Show the fields of a structural tangent."""
    rows = [(name, _shape(value), value) for name, value in x._entries.items()]
    return table(("field", "shape", "tangent"), rows, type(x).__name__) if rows else _text(x)


def of_compiled(x: Any) -> str:
    """Show a compiled function: for each program its facts, calls after each pass, and source."""
    parts = []
    for program in x.programs:
        facts = "; ".join([f"{name}: {fact}" for name, fact in program.facts])
        parts.append(table(("pass", "calls"), list(program.steps), f"{x.__name__}({facts})"))
        parts.append(code(program.source, "source"))
    return "".join(parts) or _text(x)


def of_report(x: Any) -> str:
    """Show a report of checks: a row for each check, and where Jacobians differ."""
    rows = [(f.check, f.verdict, f.pattern or "") for f in x.findings]
    jacobian = x.jacobian if x.failures else None
    picture = "" if jacobian is None else jacobian._repr_html_()
    return table(("check", "verdict", ""), rows, str(x).partition("\n")[0]) + picture


def _shape(value: Any) -> Any:
    return getattr(value, "shape", "")


def _text(x: Any) -> str:
    return f"<pre>{escape(repr(x))}</pre>"


SHOWN: dict[tuple[str, str], Callable[[Any], str]] = {
    ("chainrules_py.tangents.structural", "Tangent"): of_tangent,
    ("chainrules_py.tangents.linear_map", "LinearMap"): _text,
    ("chainrules_py.registry.explain", "Explanation"): _text,
    ("chainrules_compile.compiled", "Compiled"): of_compiled,
    ("chainrules_py.testing.report.report", "Report"): of_report,
}
"""From the module and name of a class to the function that shows its instances."""


def load_ipython_extension(shell: Any) -> None:
    """Register HTML views of these classes in a notebook; called by ``%load_ext``."""
    formatter = shell.display_formatter.formatters["text/html"]
    for (module, name), show in SHOWN.items():
        formatter.for_type_by_name(module, name, show)
