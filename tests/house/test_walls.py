"""The walls: who may import whom, shown by import-linter, by the sources, and by a fresh Python."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "chainrules_py"
ARRAY_LIBRARIES = (
    "numpy",
    "cupy",
    "torch",
    "jax",
    "autograd",
    "dask",
    "scipy",
    "array_api_compat",
    "array_api_strict",
)
DISPATCH = ("plum", "beartype")


def fresh_python(code: str) -> str:
    """What a new interpreter prints, with only this tree added to its path."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "backends")])
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def loaded_by(statement: str, names: tuple[str, ...]) -> list[str]:
    code = f"import sys; {statement}; print(*[n for n in {names!r} if n in sys.modules])"
    return fresh_python(code).split()


def test_imports_keep_the_contracts():
    pytest.importorskip("importlinter", reason="import-linter is not installed")
    path = os.pathsep.join([str(ROOT), str(ROOT / "backends")])
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_the_core_loads_no_array_library():
    assert loaded_by("import chainrules_py", ARRAY_LIBRARIES) == []


def test_importing_the_core_loads_no_dispatcher():
    """plum and beartype take 66 ms; they wait for the first lookup."""
    assert loaded_by("import chainrules_py", DISPATCH) == []


def test_importing_the_core_loads_no_backend():
    names = ("chainrules_numpy", "chainrules_tape", "chainrules_py.testing")
    assert loaded_by("import chainrules_py", names) == []


@pytest.mark.parametrize("operation", ["ops", "rules"])
def test_operations_and_rules_load_no_array_library(operation):
    assert loaded_by(f"import chainrules_py.{operation}", ARRAY_LIBRARIES) == []


@pytest.mark.parametrize(
    "source",
    [
        p
        for p in sorted(CORE.rglob("*.py"))
        if p.relative_to(CORE).parts[0] not in {"testing", "cli"}
    ],
    ids=lambda p: p.relative_to(ROOT).as_posix(),
)
def test_core_module_imports_only_the_standard_library_and_plum(source):
    allowed = sys.stdlib_module_names | {"chainrules_py", "plum"}
    if source.name == "dispatch_types.py":  # what only type checkers read, and bring along
        allowed |= {"typing_extensions"}
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] in allowed, f"line {node.lineno}: {name}"
            assert not name.startswith("chainrules_py.testing"), f"line {node.lineno}: {name}"


@pytest.mark.parametrize(
    "package",
    ["chainrules_py", *(p.name for p in sorted((ROOT / "backends").glob("chainrules_*")))],
)
def test_package_imports_no_tests_and_no_benchmarks(package):
    """The wheel holds neither."""
    folder = ROOT / package if package == CORE.name else ROOT / "backends" / package
    for source in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            names = (
                [getattr(node, "module", None) or ""] if isinstance(node, ast.ImportFrom) else []
            )
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert name.split(".")[0] not in ("tests", "benchmarks"), f"{source}: {name}"
