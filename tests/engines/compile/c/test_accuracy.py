"""The table of accuracy: each cell is what a run gives, at a fixed sample of its points."""

import csv
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mpmath")
accuracy = pytest.importorskip("benchmarks.accuracy")

pytestmark = pytest.mark.usefixtures("native")
DOCS = Path(__file__).resolve().parents[4] / "docs"
OURS = ("NumPy", "C")
LOOSEST = 4.0
"""What the page of native programs promises of functions in C."""


def table():
    with (DOCS / "accuracy.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {(row["function"], row["range"], row["dtype"]): row for row in rows}


def is_this_machine():
    return accuracy.made_with() in " ".join((DOCS / "native.md").read_text("utf-8").split())


def check(dtype, columns, every):
    known, here = table(), is_this_machine()
    for row, errors in accuracy.cells(dtype, columns, every).items():
        written = known[row.operation, row.where, dtype]
        for column, error in errors.items():
            at = f"{column}: {row.operation} from {row.where}, {dtype}"
            what = f"{at}: {error} for {written[column]}"
            if here and column in OURS:  # other libraries have other loops on another processor
                assert error <= float(written[column]) + 0.005, what
                assert every > 1 or f"{error:.2f}" == written[column], what
            if column == "C":
                assert error <= LOOSEST, what


@pytest.mark.parametrize("dtype", accuracy.DTYPES)
def test_a_sample_of_the_points_is_as_accurate(dtype):
    check(dtype, OURS, 4000)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", accuracy.DTYPES)
def test_a_sample_for_each_library(dtype):
    check(dtype, accuracy.COLUMNS, 100)


@pytest.mark.nightly
@pytest.mark.parametrize("dtype", accuracy.DTYPES)
def test_each_cell_is_the_result_of_a_run(dtype):
    check(dtype, accuracy.COLUMNS, 1)


def test_all_rows_are_in_the_table():
    wanted = {
        (row.operation, row.where, dtype) for row in accuracy.ROWS for dtype in accuracy.DTYPES
    }
    assert {*table()} == wanted


def test_units_are_of_the_dtype_and_see_what_is_beyond_it():
    high, rest = accuracy.truth("sin", (np.array([0.5, 2.0]),))
    assert np.array_equal(high, np.sin([0.5, 2.0]))
    assert 0 < np.max(np.abs(rest)) < 0.5 * np.spacing(1.0)
    found = np.array([np.nextafter(high[0], 2), high[1]])
    assert 0.5 <= accuracy.units(found, high, rest) <= 1.5
