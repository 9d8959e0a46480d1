"""The table of versions: what it is made of (`make test-matrix` runs it)."""

from __future__ import annotations

import csv
import re
import subprocess
import sys

from tests.house import matrix

CASES = """\
import pytest
@pytest.mark.parametrize("case", ["right", "wrong", "left out"])
def test_cases(case):
    if case == "left out":
        pytest.skip("needs another version")
    assert case == "right"
"""


def test_every_extra_has_a_lowest_version():
    extras = matrix.PROJECT["project"]["optional-dependencies"]
    lines = [line for extra in extras.values() for line in extra]
    assert [line for line in lines if not re.search(r">=|<", line)] == []
    assert "numpy==2.4.6" in matrix.lowest()


def test_the_wheel_is_used_with_versions_that_it_takes(tmp_path, monkeypatch):
    installed = set()
    monkeypatch.setattr(matrix, "run", lambda *command, cwd=None: "")
    monkeypatch.setattr(matrix, "environment", lambda python, place, *what: installed.add(what[0]))
    monkeypatch.setattr(matrix.shutil, "rmtree", lambda place: None)
    built = {"wheel": tmp_path / "a.whl", "sdist": tmp_path / "a.tar.gz"}
    matrix.use("3.14", "python3.14", tmp_path, built)
    assert installed == {"numpy", "numpy==2.4.6"}


def test_rows_are_replaced_and_sorted(tmp_path):
    table = tmp_path / "table.csv"
    for version, row, said in [
        ("3.12", "newest", "first"),
        ("3.11", "pinned", "other"),
        ("3.12", "newest", "second"),
        ("3.11", "oldest", "other"),
    ]:
        line = {"row": row, "python": f"{version}.1", "core": said}
        matrix.write(table, version, row, [line])
    with table.open(newline="") as file:
        rows = [(line["row"], line["python"], line["core"]) for line in csv.DictReader(file)]
    assert rows == [
        ("oldest", "3.11.1", "other"),
        ("pinned", "3.11.1", "other"),
        ("newest", "3.12.1", "second"),
    ]


def test_cases_are_counted(tmp_path):
    (tmp_path / "test_cases.py").write_text(CASES)
    for how in ("case", "function"):
        report = tmp_path / f"{how}.json"
        command = [sys.executable, "-m", "pytest", "-n", "0"]
        command += ["-p", "tests.grouped", "-p", "tests.house.results", f"--by={how}"]
        subprocess.run(
            [*command, f"--results={report}", str(tmp_path)],
            cwd=matrix.ROOT, capture_output=True, check=False,
        )  # fmt: skip
        result = matrix.Result()
        for counts in matrix.json.loads(report.read_text()).values():
            result.add(matrix.Result(**counts))
        assert str(result) == "1 passed, 1 failed, 1 skipped"
        assert [*result.skipped] == ["needs another version"]
        assert "wrong" in "".join(result.failed)
