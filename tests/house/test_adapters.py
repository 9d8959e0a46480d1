"""The table of what each engine can do is that of the battery, and holds where it is tried."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.engines.battery import points
from tests.surface.adapters import ENGINES, attempt, columns, trial_of, write

TABLE = Path(__file__).resolve().parents[2] / "docs" / "adapters.csv"
ROWS = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))
QUICK = ("sin complex", "scalar_rule")


def test_rows_and_columns():
    assert [row["rule"] for row in ROWS] == [point.name for point in points()]
    for engine in ENGINES:
        pytest.importorskip(engine)
        assert set(columns(engine)) == {n for n in ROWS[0] if n.startswith(f"{engine} ")}


def test_no_number_is_wrong():
    assert not [(row["rule"], name) for row in ROWS for name, a in row.items() if a == "wrong"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("point", [p for p in points() if p.name in QUICK], ids=lambda p: p.name)
def test_cells(point, engine):
    pytest.importorskip(engine)
    trial = trial_of(point)
    row = next(row for row in ROWS if row["rule"] == point.name)
    names = ["grad", "jvp", "jvp of grad"]
    assert [row[f"{engine} {name}"] for name in names] == ["yes"] * 3
    assert [attempt(trial, engine, name) for name in names] == ["yes"] * 3


def test_wrong_numbers_and_errors_are_told(monkeypatch):
    point = next(p for p in points() if p.name == "scalar_rule")
    trial = trial_of(point)
    want, error = trial.truth["gradient"]
    trial.truth["gradient"] = (2 * want, error)
    assert attempt(trial, "autograd", "grad") == "wrong"
    monkeypatch.setattr("chainrules_autograd.engine.export", lambda f: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        attempt(trial, "autograd", "grad")


def test_writing(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("rule,torch grad\nexp,yes\ngone,yes\n", encoding="utf-8")
    assert write(path, ["autograd"], ["exp"]) == 0
    rows = {
        row["rule"]: row for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    }
    assert "gone" not in rows
    assert rows["exp"]["torch grad"] == rows["exp"]["autograd grad"] == "yes"
    assert rows["sin"]["autograd grad"] == ""
