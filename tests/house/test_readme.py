"""The first page: its pictures are drawn from what there is, and its links lead somewhere."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_first_picture_is_drawn_from_what_is_announced():
    flow = script("flow")
    text = flow.PICTURE.read_text(encoding="utf-8")
    assert text == flow.drawn(), "run python docs/_ext/flow.py"
    assert "dasharray" not in text
    assert "planned" not in text
    shown = {e.text for e in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")}
    points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    announced = points["project"]["entry-points"]
    keys = {
        *announced["chainrules_py.backends"],
        *announced["chainrules_py.exporters"],
        *announced["chainrules_py.engines"],
        *announced["chainrules_py.writers"],
    }
    assert {flow.LABELS[key] for key in keys - {"jaxlib"}} <= shown


@pytest.mark.parametrize("base", ["", "https://example.org/chainrules/blob/main/"])
def test_what_an_index_shows_of_the_readme_has_no_relative_link(base):
    pytest.importorskip("hatchling")
    text = script("readme_hook").absolute((ROOT / "README.md").read_text(encoding="utf-8"), base)
    for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        assert base
        assert target.startswith(base)
        assert (ROOT / target.removeprefix(base)).exists()
    assert "pip install" in text


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_versions_on_the_first_pages_are_those_of_the_package(page):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    numpy = next(d for d in project["dependencies"] if d.startswith("numpy"))
    wanted = {"Python": project["requires-python"], "NumPy": numpy.removeprefix("numpy")}
    text = (ROOT / page).read_text(encoding="utf-8")
    for name, oldest in wanted.items():
        assert {f">={v}" for v in re.findall(rf"{name} ≥ (\d+(?:\.\d+)+)", text)} == {oldest}


def test_the_examples_of_the_readme_give_what_stands_beside_them():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    text = "\n".join(blocks)
    space: dict[str, object] = {"__name__": "readme", "array": np.array}
    shown = []
    for node in ast.parse(text).body:
        result = text.splitlines()[node.end_lineno - 1][node.end_col_offset :].strip(" #")
        if isinstance(node, ast.Expr) and result.startswith(("array", "0")):
            value = eval(ast.unparse(node), space)
            shown.append(np.array_equal(value, eval(result, space)))
        else:
            exec(compile(ast.Module([node], []), "README.md", "exec"), space)
    assert shown == [True] * 4
