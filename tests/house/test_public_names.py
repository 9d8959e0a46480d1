"""Every name is public or private: a package lists what is public, and each of those has a page."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = [ROOT / "chainrules_py", *sorted((ROOT / "backends").glob("chainrules_*"))]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "design").glob("*.md"))]
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)


def named(package):
    """Names that a package defines in its own file, and those of `__all__`."""
    own, listed = [], []
    lazy = package / "__init__.pyi"  # whose names are imported when they are asked for
    source = lazy if lazy.exists() else package / "__init__.py"
    for line in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(line, (ast.FunctionDef, ast.ClassDef)):
            own.append(line.name)
        elif isinstance(line, (ast.Assign, ast.AnnAssign)):
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
            own += [target.id for target in targets if isinstance(target, ast.Name)]
            if "__all__" in own:
                own.remove("__all__")
                listed = ast.literal_eval(line.value)
    return own, listed


def is_module(package, name):
    return any(package.rglob(f"{name}.py")) or (package / name).is_dir()


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_a_name_is_listed_or_has_an_underscore(package):
    own, listed = named(package)
    public = {name for name in own if not name.startswith("_")}
    # The number of the contract is read by the core, and by nobody else.
    assert public - {"chainrules_contract"} <= {*listed}
    assert not [name for name in listed if name.startswith("_")]


def generated():
    """Packages of whose names the reference has a page that a script writes."""
    source = ast.parse((ROOT / "docs" / "_ext" / "api_pages.py").read_text(encoding="utf-8"))
    return {
        name
        for line in source.body
        if isinstance(line, ast.Assign) and line.targets[0].id in {"PACKAGES", "FACES"}
        for name in ast.literal_eval(line.value)
    }


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_a_public_name_has_a_page(package):
    """On a page of the reference; of packages that bring rows, and no names, on a written one."""
    if package.name in generated():
        return
    _, listed = named(package)
    told = " ".join(CODE.findall(" ".join([p.read_text(encoding="utf-8") for p in PAGES])))
    names = [name for name in listed if not is_module(package, name)]
    assert not [name for name in names if not re.search(rf"\b{name}\b", told)]
