"""The table of features is that of the tests that show them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from tests.features.table import table

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_table_is_that_of_the_tests():
    written = (DOCS / "features.csv").read_text(encoding="utf-8")
    assert written == table(), "run python -m tests.features.table docs/features.csv"


def test_every_row_is_there():
    text = (DOCS / "features.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    wanted = {*map(str, range(1, 99)), *(f"N{i}" for i in range(1, 16))}
    assert {row["row"] for row in rows} == wanted
    assert {row["here"] for row in rows} <= {"whole", "in part", "missing"}


def test_each_row_has_a_page_and_a_test():
    folder = DOCS.parent / "tests/features"
    text = (DOCS / "features.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        assert (DOCS / f"{row['page']}.md").exists()
        file, _, name = row["test"].partition("::")
        source = (folder / f"{file}.py").read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", source, re.MULTILINE)
