"""Writes the table of features: ``python -m tests.features.table docs/features.csv``."""

from __future__ import annotations

import csv
import importlib
import io
import sys
from pathlib import Path

from tests.features.rows import FEATURES, Feature

HERE = Path(__file__).parent


def table() -> str:
    """Make the table, as the text of its file."""
    for path in sorted(HERE.glob("test_*.py")):
        importlib.import_module(f"tests.features.{path.stem}")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "feature", "here", "test", "page", "best elsewhere"])
    found = {f.test.rpartition(".")[2] + f.row: f for f in FEATURES}
    writer.writerows(sorted(found.values(), key=_order))
    return out.getvalue()


def _order(f: Feature) -> tuple[bool, int, str]:
    return f.row.startswith("N"), int(f.row.lstrip("N")), f.name


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(table(), encoding="utf-8")
