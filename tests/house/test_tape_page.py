"""The page that is read with the tape's core: its program gives these values, its names exist."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tape-in-an-evening.md"
TEXT = PAGE.read_text(encoding="utf-8")
TAPE = ROOT / "backends/chainrules_tape"
CORE = ("bare_tape", "variable", "cotangent_routing", "backward")
PROSE = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
NAMES = sorted(
    {n for n in re.findall(r"`([^`\n]+)`", PROSE) if re.fullmatch(r"[A-Za-z_][\w.]*", n)}
)
HERE = {"list", "int", "None", "make", "bound", "bars", "index", "grad", "multiply", "sin"}
"""Python's own, variables of the page, and operations."""


def defined():
    """Names, and members of classes, that the tape and the rooms of tracing and rules define."""
    found = set()
    rooms = [(ROOT / "chainrules_py" / room).rglob("*.py") for room in ("tracing", "registry")]
    for path in (*TAPE.rglob("*.py"), *rooms[0], *rooms[1]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
                if isinstance(node, ast.ClassDef):
                    members = [n.name for n in node.body if isinstance(n, ast.FunctionDef)]
                    found |= {f"{node.name}.{member}" for member in members}
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return found


DEFINED = defined()


def test_the_program_of_the_page_gives_its_values():
    examples = doctest.DocTestParser().get_doctest(TEXT, {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(examples, out=said.append)
    assert runner.tries > 30
    assert not runner.failures, "".join(said)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_on_the_page_exists(name):
    *modules, last = name.split(".")
    if modules and modules[0] in ("chainrules_tape", "chainrules_py"):
        top = ROOT if modules[0] == "chainrules_py" else TAPE.parent
        path = top.joinpath(*modules, last)
        assert path.is_dir() or path.with_suffix(".py").is_file()
    elif modules == ["links"]:
        assert last in DEFINED | {"parents"}
    else:
        assert name in DEFINED | HERE


def test_files_are_those_of_the_core_in_the_order_in_which_they_are_read():
    table = re.findall(r"^\| `backends/chainrules_tape/core/(\w+)\.py` \|", TEXT, re.MULTILINE)
    assert tuple(table) == CORE
    listed = re.findall(
        r"to be read in this order: (.*)\.", (ROOT / "docs/tape.md").read_text("utf-8")
    )
    assert listed == [", ".join([f"`{name}`" for name in CORE])]
    assert {p.stem for p in (TAPE / "core").glob("*.py")} - {"__init__"} == {*CORE}
