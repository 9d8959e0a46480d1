"""The table of rules and libraries is of the rules and the gaps that there are."""

from __future__ import annotations

import csv
import math
import subprocess
import sys
from pathlib import Path

import pytest

from chainrules_py import rrule
from chainrules_py.ops import odeint, sin
from chainrules_py.testing.cases.unsupported_operations import REASONS, UNSUPPORTED
from tests.fake_gpu.backend import backend
from tests.surface import libraries

TABLE = Path(__file__).resolve().parents[2] / "docs" / "libraries.csv"


def read():
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_rows_are_the_rules():
    facts = [libraries.facts(operation) for operation in libraries.rows()]
    names = ("family", "operation", "samples")
    assert [{n: row[n] for n in names} for row in read()] == facts


def test_nothing_failed_and_each_gap_has_a_reason():
    for row in read():
        for name in libraries.LIBRARIES:
            cell = row[name]
            gap = UNSUPPORTED.get(backend(name).library, {}).get(row["operation"])
            assert cell.isdigit() or cell == libraries.REFUSED or cell in REASONS, (row, name)
            assert gap is None or cell in (gap, libraries.REFUSED) or int(cell), (row, name)
            assert cell not in REASONS or cell == gap, (row, name)


def test_numpy_has_no_gap():
    assert all(int(row["numpy"]) for row in read())


def test_a_cell_is_what_the_samples_say(monkeypatch):
    assert int(libraries.cell(sin, backend("numpy"))) >= 3
    run = libraries.run_samples

    def failing(*args, **keywords):
        summary = run(*args, **keywords)
        summary.outcomes.clear()
        return type("Summary", (), {"passed": False, "outcomes": []})()

    monkeypatch.setattr(libraries, "run_samples", failing)
    assert libraries.cell(sin, backend("numpy")) == libraries.FAILED


@pytest.mark.slow
def test_a_command_brings_the_table_up_to_date(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text(TABLE.read_text(encoding="utf-8").replace(",sin,6,6,", ",sin,6,FAILED,"))
    run = subprocess.run(
        [sys.executable, "-m", "tests.surface.libraries", str(table), "--stale"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "0 cells failed"
    assert table.read_text(encoding="utf-8") == TABLE.read_text(encoding="utf-8")


def test_a_number_among_the_parameters_of_an_integration_on_jax_has_its_cotangent():
    """The cell of odeint on JAX had failed: that of a number was ZeroTangent()."""
    jax = backend("jax")
    if jax.missing:
        pytest.skip(jax.missing)
    y0, t = jax.asarray([1.0, 2.0]), jax.asarray([0.0, 0.5])
    y, pullback = rrule(odeint, lambda y, t, rate: -rate * y, y0, t, 0.5)
    rate_bar = pullback(jax.xp.ones(y.shape))[-1]
    # y = y0 exp(-rate t), so its sum over y0 = 1, 2 at t = 1/2 falls by 3/2 exp(-1/4) per rate.
    assert abs(float(rate_bar) + 1.5 * math.exp(-0.25)) < 1e-6
