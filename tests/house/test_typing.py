"""mypy and pyright: clean on the packages, and both reject what the snippets mark.

The snippets are one file, so that each checker starts once.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = Path(__file__).with_name("typing_snippets.py")
REJECTED = {
    number
    for number, line in enumerate(SNIPPETS.read_text(encoding="utf-8").splitlines(), start=1)
    if "# rejected:" in line
}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def need(tool: str) -> None:
    if importlib.util.find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")


def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
    need("mypy")
    return run("mypy", "--no-error-summary", "--hide-error-context", "--no-pretty", *arguments)


def pyright(*arguments: str) -> dict[str, object]:
    need("pyright")
    done = run("pyright", "--outputjson", "--pythonpath", sys.executable, *arguments)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads(done.stdout)


def errors_of_pyright(report: dict[str, object]) -> list[tuple[str, int, str]]:
    return [
        (d["file"], d["range"]["start"]["line"] + 1, d["message"])
        for d in report["generalDiagnostics"]
        if d["severity"] == "error"
    ]


def test_mypy_rejects_what_is_marked_and_nothing_else(tmp_path):
    # Its own cache: pytest workers that share one with `make lint` would wait for each other.
    # The unannotated result of a rule is house style, not an error of the snippet.
    done = mypy(
        "--cache-dir",
        str(tmp_path),
        "--allow-untyped-defs",
        "--allow-incomplete-defs",
        "--allow-untyped-calls",
        "--follow-imports=silent",
        str(SNIPPETS),
    )
    found = {
        int(m[1]) for m in re.finditer(r"typing_snippets\.py:(\d+):(?:\d+:)? error:", done.stdout)
    }
    assert found == REJECTED, done.stdout + done.stderr


def test_pyright_rejects_what_is_marked_and_nothing_else(tmp_path):
    # A project of its own: files named on the command line would lose the search paths.
    (tmp_path / SNIPPETS.name).write_text(SNIPPETS.read_text(encoding="utf-8"), encoding="utf-8")
    settings = {
        "include": ["."],
        "extraPaths": [str(ROOT), str(ROOT / "backends")],
        "pythonVersion": "3.11",
        "typeCheckingMode": "standard",
    }
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps(settings), encoding="utf-8")
    errors = errors_of_pyright(pyright("--project", str(project)))
    assert {line for _, line, _ in errors} == REJECTED, "\n".join(map(str, errors))


def test_mypy_is_clean_on_the_packages(tmp_path):
    done = mypy("--cache-dir", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright_is_clean_on_the_packages():
    errors = errors_of_pyright(pyright())
    assert not errors, "\n".join(f"{file}:{line}: {message}" for file, line, message in errors)
