"""The face: few names, each of them documented."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chainrules_py

ROOT = str(Path(__file__).resolve().parents[2])
DOCS = Path(ROOT) / "docs"
TEXT = "\n".join(p.read_text(encoding="utf-8") for p in sorted(DOCS.glob("**/*.md")))


def test_a_person_can_read_the_list():
    assert len(chainrules_py.__all__) <= 58
    assert list(chainrules_py.__all__) == sorted(chainrules_py.__all__)


@pytest.mark.parametrize("name", chainrules_py.__all__)
def test_name_says_what_it_is_and_the_pages_tell_of_it(name):
    assert (getattr(chainrules_py, name).__doc__ or "").strip()
    assert re.search(rf"\b{name}\b", TEXT)


def test_checkers_read_the_same_list():
    stub = Path(chainrules_py.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    listed = re.search(r"__all__ = \[(.*?)\]", stub, re.DOTALL)
    assert re.findall(r'"(\w+)"', listed[1]) == chainrules_py.__all__
    homes = re.findall(r"from chainrules_py\.([\w.]+) import \(?\s*(\w+) as \w+", stub)
    assert {name: home for home, name in homes} == chainrules_py._HOME_OF


def test_importing_it_loads_little():
    """Beyond nothing, 60 modules: it is a dependency of packages that may never use it."""
    program = "import sys; before = {*sys.modules}; import chainrules_py; "
    program += "print(len({*sys.modules} - before), 'numpy' in sys.modules)"
    command = [
        sys.executable,
        "-I",
        "-c",
        f"import sys; sys.path[:0] = [{ROOT!r}]; {program}",
    ]
    modules, numpy = subprocess.run(command, capture_output=True, text=True).stdout.split()
    assert int(modules) <= 60
    assert numpy == "False"


def test_names_of_engines_are_refused_with_the_line_to_write():
    with pytest.raises(ImportError, match="from chainrules_tape import grad"):
        from chainrules_py import grad  # noqa: F401
    assert not hasattr(chainrules_py, "grad")
    with pytest.raises(AttributeError, match="from chainrules_tape import grad"):
        chainrules_py.grad
    assert not hasattr(chainrules_py, "nothing")
    assert {*chainrules_py.__all__} <= {*dir(chainrules_py)}


def test_forms_from_other_systems_are_a_module_of_their_own():
    import chainrules_kit.custom_derivatives as compat

    assert not {*compat.__all__} & {*chainrules_py.__all__}


@pytest.mark.parametrize("package", ["chainrules_py", "chainrules_tape"])
def test_dir_shows_public_names_only(package):
    face = importlib.import_module(package)
    assert {*dir(face)} - {"__version__"} == {*face.__all__}
