"""mypy and pyright: clean on the packages, and both reject what the snippets mark.

The snippets are one file, which is checked with the packages: each checker starts once. So are
whole programs, as people write them: a Gaussian process and a Kalman filter, which are blocks of
docs/gallery.md, and the fit of an equation, examples/lynx.py. At each change mypy checks these
alone, with what they import; all packages are checked by `make test-all`, and by `make lint`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house import pages

ROOT = Path(__file__).resolve().parents[2]
SNIPPETS = Path(__file__).with_name("typing_snippets.py")
REJECTED = {
    number
    for number, line in enumerate(SNIPPETS.read_text(encoding="utf-8").splitlines(), start=1)
    if "# rejected:" in line
}
LYNX = ROOT / "examples" / "lynx.py"


def programs(folder: Path) -> list[Path]:
    """Whole programs, without types of their own, as files."""
    cells = [block.code for block in pages.blocks("gallery")]
    last = next(i for i, text in enumerate(cells) if "import lynx" in text)
    written = folder / "programs.py"
    written.write_text("# pyright: basic\n" + "\n".join(cells[:last]), encoding="utf-8")
    fit = folder / "lynx.py"
    text = LYNX.read_text(encoding="utf-8")
    # SciPy's parameters have the types of their defaults, where one reads the source.
    assert text.count("jac=jacobian") == 1
    found = re.sub(r"(.*jac=jacobian.*)", r"\1  # pyright: ignore[reportArgumentType]", text)
    fit.write_text(found, encoding="utf-8")
    return [written, fit]


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


def errors_of_mypy(tmp_path: Path, packages: bool = True) -> list[tuple[str, int, str]]:
    need("mypy")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    text = text.replace("$MYPY_CONFIG_FILE_DIR", str(ROOT))
    # The unannotated result of a rule is house style, not an error of the snippet.
    more = "".join([f'"{path}",' for path in (SNIPPETS, *programs(tmp_path))])
    files = re.compile(r"(?<=\[tool\.mypy\]\nfiles = \[)[^]]*")
    both = files.sub(lambda found: more + found[0] * packages, text) + (
        "\n[[tool.mypy.overrides]]\n"
        "module = ['*.typing_snippets', 'typing_snippets', 'programs', 'lynx']\n"
        "disallow_untyped_defs = false\ndisallow_incomplete_defs = false\n"
        "disallow_untyped_calls = false\n"
    )
    config = tmp_path / "pyproject.toml"
    config.write_text(both, encoding="utf-8")
    # Its own cache: pytest workers that share one with `make lint` would wait for each other.
    how = (
        "--no-error-summary",
        "--hide-error-context",
        "--no-pretty",
        "--cache-dir",
        str(tmp_path),
    )
    done = run("mypy", "--config-file", str(config), *how)
    found = re.findall(r"^(.+?):(\d+):(?:\d+:)? error: (.*)", done.stdout, re.MULTILINE)
    assert found or not done.returncode, done.stdout + done.stderr
    return [(file, int(line), message) for file, line, message in found]


def errors_of_mypy_in_what_is_imported(tmp_path: Path) -> list[tuple[str, int, str]]:
    return errors_of_mypy(tmp_path, packages=False)


def errors_of_pyright(tmp_path: Path) -> list[tuple[str, int, str]]:
    need("pyright")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "pyright"
    ]
    for key in ("include", "extraPaths"):
        more = [SNIPPETS, *programs(tmp_path)] if key == "include" else []
        paths = [*settings[key], *more]
        settings[key] = [os.path.relpath(ROOT / path, tmp_path) for path in paths]
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps(settings), encoding="utf-8")
    done = run("pyright", "--outputjson", "--pythonpath", sys.executable, "--project", str(config))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [
        (d["file"], d["range"]["start"]["line"] + 1, d["message"])
        for d in json.loads(done.stdout)["generalDiagnostics"]
        if d["severity"] == "error"
    ]


@pytest.mark.parametrize(
    "errors_of",
    [
        errors_of_mypy_in_what_is_imported,
        pytest.param(errors_of_mypy, marks=pytest.mark.slow),
        pytest.param(errors_of_pyright, marks=pytest.mark.slow),
    ],
)
def test_what_is_marked_is_rejected_and_nothing_else(errors_of, tmp_path):
    errors = errors_of(tmp_path)
    others = [error for error in errors if Path(error[0]).name != SNIPPETS.name]
    assert not others, "\n".join(f"{file}:{line}: {message}" for file, line, message in others)
    assert {line for _, line, _ in errors} == REJECTED, "\n".join(map(str, errors))
