"""docs/rulesets.csv: what is written here for each function of ChainRules.jl is run."""

from __future__ import annotations

import csv
import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.special

import chainrules_scipy
from chainrules_py import ops as v
from chainrules_py.testing import check_grads
from chainrules_scipy.sparse import with_data
from chainrules_tape import grad, stop_gradient
from chainrules_tape.tools import chainrules_jl_functions

TABLE = Path(__file__).parents[2] / "docs" / "rulesets.csv"
with TABLE.open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))
RUN = [row for row in ROWS if row["here"]]
VALUES = {
    "x": np.array([0.3, 0.9, 0.6]),
    "y": np.array([1.7, 1.2, 2.4]),
    "A": np.array([[2.1, 0.3, 0.5], [0.2, 1.7, 0.4], [0.6, 0.1, 1.9]]),
    "B": np.array([[1.2, 0.7, 0.1], [0.3, 2.2, 0.8], [0.9, 0.2, 1.4]]),
}


def written(buffer: Any, x: Any) -> Any:
    """Write into a buffer, and give it back."""
    buffer[...] = x
    return buffer


NAMES = {
    "np": np,
    "functions": chainrules_jl_functions,
    "functools": functools,
    "linalg": scipy.linalg,
    "sparse": scipy.sparse,
    "special": scipy.special,
    "v": v,
    "with_data": with_data,
    "PATTERN": scipy.sparse.csr_array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "written": written,
}


def check(row: dict[str, str], order: int) -> None:
    program: Any = eval(f"lambda {row['at']}: {row['here']}", NAMES)
    at = [VALUES[name] for name in row["at"].split(", ")]
    with chainrules_scipy.install():
        report = check_grads(program, *at, order=order)
    assert report.verdict("forward") == report.verdict("reverse") == "passed"


@pytest.mark.parametrize("row", RUN[::3], ids=lambda row: row["ChainRules.jl"])
def test_a_third_of_the_table(row):
    check(row, 1)


@pytest.mark.slow
@pytest.mark.parametrize("row", RUN, ids=lambda row: row["ChainRules.jl"])
def test_the_whole_table_to_second_order(row):
    check(row, 2)


def test_what_has_no_program_has_a_reason():
    assert all(row["note"] for row in ROWS if not row["here"])
    assert len({row["ChainRules.jl"] for row in ROWS}) == len(ROWS) == 110


def test_a_wrong_cell_is_found():
    """The check can fail: a program whose derivative stops is told."""

    with pytest.raises(AssertionError):
        check_grads(lambda x: x * stop_gradient(x), VALUES["x"], order=1)
    assert grad(lambda x: np.sum(x * x))(VALUES["x"]).tolist() == [0.6, 1.8, 1.2]
