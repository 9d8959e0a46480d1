"""Pages that a newcomer follows: `make test-newcomers` runs them; here it is seen that it can."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest

from tests.house import newcomers


@pytest.mark.parametrize("page", newcomers.PAGES)
def test_a_page_says_how_to_install_and_its_blocks_are_python(page):
    settings = tomllib.loads((newcomers.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = settings["project"]["optional-dependencies"]
    wanted, _ = newcomers.installed(page)
    assert {*filter(None, wanted.split(","))} <= {*known}
    found = newcomers.cells(page)
    assert len(found) >= 5
    for _, text in found:
        compile(text, page, "exec")


EXECUTED = [
    page.stem
    for page in sorted((newcomers.ROOT / "docs").glob("*.md"))
    if newcomers.cells(page.stem)
]


@pytest.mark.slow
@pytest.mark.parametrize("page", EXECUTED)
def test_a_page_runs_in_a_process_of_its_own(page, tmp_path):
    """Nothing that another page or test has loaded, or installed, helps it."""
    script = tmp_path / "blocks.py"
    blocks = newcomers.cells(page, hidden=True)
    script.write_text(f"CELLS = {blocks!r}\n{newcomers.DRIVER}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=newcomers.ROOT / "docs", capture_output=True, text=True, check=False,
    )  # fmt: skip
    last = done.stderr.strip().rpartition("\n")[2]
    if last.startswith("ModuleNotFoundError: No module named"):
        pytest.skip(last)
    assert done.returncode == 0, done.stderr[-2000:]
