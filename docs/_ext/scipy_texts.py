"""SciPy's docstrings, which stand before our functions, without what needs SciPy's own pages."""

from __future__ import annotations

import re
from typing import Any

_ROLES = (
    (re.compile(r":(doi|arxiv|arXiv):`([^`]+)`"), r"\1:\2"),
    (re.compile(r":ref:`([^`<]+?)\s*<[^`]+>`"), r"\1"),
    (re.compile(r":ref:`([^`]+)`"), r"``\1``"),
    (re.compile(r"^(\s*)\.\. legacy::.*"), r"\1.. note::"),
)


def plain(lines: list[str]) -> list[str]:
    """Return the lines without roles that SciPy's documentation defines, and without methods.

    A function of ours stands for a class of SciPy's, and has none.
    """
    kept: list[str] = []
    skips = False
    for n, line in enumerate(lines):
        under = lines[n + 1].strip() if n + 1 < len(lines) else ""
        if line.strip() and under and {*under} == {"-"}:
            skips = line.strip() == "Methods"
        if skips:
            continue
        for pattern, text in _ROLES:  # as long as before: some stand in tables
            line = pattern.sub(lambda m, text=text: f"{m.expand(text):<{len(m[0])}}", line)
        kept.append(line)
    return kept


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if name.startswith(("chainrules_scipy", "scipy")):
        lines[:] = plain(lines)


def setup(app: Any) -> dict[str, bool]:
    """Run before numpydoc reads the sections."""
    app.connect("autodoc-process-docstring", _process, priority=100)
    return {"parallel_read_safe": True}
