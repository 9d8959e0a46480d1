"""The suite itself: what collection loads, what is drawn, how cases are reported together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import draw, grouped
from tests.forks import Forks
from tests.house.planted import FAULTS

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ("torch", "jax", "mlx", "pytensor", "mygrad", "tinygrad", "numba", "pandas")

LISTING = """
import sys
import pytest

class Listing:
    def pytest_collection_finish(self, session):
        house = sum(item.nodeid.startswith("tests/house/") for item in session.items)
        print("\\nFOUND", len(session.items), house, *[n for n in {names} if n in sys.modules])

sys.exit(pytest.main({arguments}, plugins=[Listing()]))
"""

CASES = '''
import pytest

opened = []

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
]

@pytest.fixture(scope="module")
def shared():
    opened.append(1)
    return opened

@pytest.mark.parametrize("n", range(4))
def test_some_fail(n, shared, tmp_path):
    assert len(shared) == 1
    assert not list(tmp_path.iterdir())
    (tmp_path / "left").touch()
    assert n % 2 == 0, f"odd: {n}"

def test_passes(shared):
    assert len(shared) == 1

@pytest.mark.parametrize("n", [1, 2])
def test_is_skipped(n):
    pytest.skip("not here")

@pytest.mark.slow
def test_slow():
    raise AssertionError("it is left out")

class TestOfAClass:
    @pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.slow), 2])
    def test_method(self, n):
        assert n == 2

"""
def test_in_a_text(): ...
"""
'''


def run(*arguments, folder=ROOT, env=()):
    command = [sys.executable, *arguments]
    whole = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | dict(env)
    done = subprocess.run(command, cwd=folder, env=whole, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_collection_loads_no_engine_and_no_library():
    chosen = ["-q", "--collect-only", "-n", "0", "--by=function", "-p", "no:cacheprovider", "tests"]
    chosen += ["-m", "not slow and not nightly and not gpu"]
    found = run("-c", LISTING.format(names=ENGINES, arguments=chosen))
    (line,) = [line for line in found.splitlines() if line.startswith("FOUND")]
    _, tests, house, *loaded = line.split()
    assert int(tests) > 1000
    assert int(house) <= 60
    assert not loaded


def test_cases_of_a_function_are_run_alone_and_reported_together(tmp_path):
    (tmp_path / "conftest.py").write_text(
        "from tests.grouped import *\nfrom tests.grouped import pytest_runtest_protocol\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  slow: long\n")
    (tmp_path / "test_of_all_kinds.py").write_text(CASES)
    runs = [
        ["--by=function", "--shuffle=3"],
        ["--by=file"],
        ["--by=case"],
        ["test_of_all_kinds.py::test_some_fail[2]"],
    ]
    chosen = ["-p", "no:cacheprovider", "-m", "not slow"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "backends")])
    with Forks("pytest, tests.grouped", path) as forks:
        by_function, by_file, by_case, named = [
            forks.pytest([*chosen, *run], tmp_path, CHAINRULES_DRAW="").stdout for run in runs
        ]
    assert "1 failed, 2 passed, 1 skipped" in by_function
    assert "2 of 4 cases fail" in by_function
    assert "test_some_fail[1]" in by_function
    assert "odd: 3" in by_function
    assert "2 of 8 cases fail" in by_file
    assert "2 failed, 4 passed, 2 skipped" in by_case
    assert "1 passed" in named


def test_functions_are_found_in_the_text():
    found = {f.name: f.marks for f in grouped.functions_in(CASES)}
    assert {*found} == {
        "test_some_fail",
        "test_passes",
        "test_is_skipped",
        "test_slow",
        "TestOfAClass::test_method",
    }
    assert [name for name, marks in found.items() if "slow" in marks] == ["test_slow"]


class Case:
    def __init__(self, nodeid, *marks):
        self.nodeid, self.marks = nodeid, marks

    def get_closest_marker(self, name):
        return name if name in self.marks else None


def test_a_tenth_is_drawn_another_with_each_draw(monkeypatch):
    cases = [Case(f"tests/features/test_tools.py::test[{n}]") for n in range(200)]
    monkeypatch.setattr(draw, "DRAW_SLOW", "")
    monkeypatch.setattr(draw, "DRAW", "")
    assert draw.drawn(cases) == cases
    monkeypatch.setattr(draw, "DRAW", "one")
    one = draw.drawn(cases)
    assert one == draw.drawn(cases)
    assert len(one) == 20
    assert len(draw.drawn(cases[:5])) == 3
    monkeypatch.setattr(draw, "DRAW", "two")
    assert draw.drawn(cases) != one
    whole = [Case(f"tests/rules/test_kinks.py::test[{n}]") for n in range(200)]
    assert draw.drawn(whole) == whole


def test_of_slow_cases_a_tenth_is_drawn_by_a_name_of_its_own(monkeypatch):
    slow = [Case(f"tests/rules/test_kinks.py::test[{n}]", "slow") for n in range(200)]
    quick = [Case(f"tests/rules/test_kinks.py::test[{n}, quick]") for n in range(200)]
    monkeypatch.setattr(draw, "DRAW", "")
    monkeypatch.setattr(draw, "DRAW_SLOW", "one")
    one = draw.drawn([*quick, *slow])
    assert one[:200] == quick
    assert len(one) == 220
    assert len(draw.drawn(slow[:5])) == 3
    monkeypatch.setattr(draw, "DRAW_SLOW", "two")
    assert draw.drawn([*quick, *slow]) != one


def test_files_of_the_draw_are_there():
    for name in draw.RUN:
        path, _, function = name.partition("::")
        found = [*ROOT.glob(f"{path}*")]
        assert found, path
        assert not function or f"def {function}(" in found[0].read_text(encoding="utf-8")


def test_what_faults_are_planted_in_is_there():
    texts = {fault: (ROOT / fault.path).read_text(encoding="utf-8") for fault in FAULTS}
    assert not [fault.room for fault, text in texts.items() if text.count(fault.right) != 1]
    assert not [path for f in FAULTS for path in f.suites if not (ROOT / path).exists()]
