"""Pages with figures say when they were measured, and with which versions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.glob("*.md"))
# A time, a multiple of one, or a table of results.
FIGURE = re.compile(
    r"\d ?(µs|ms|ns)\b|processor time|^\|.*×.*\| *[\d.]"
    r"|^:file: \w+\.csv|^<!-- table: [\w-]+\.csv|^```\{(libraries|adapters)\}",
    re.MULTILINE,
)
DATE = re.compile(r"20\d\d-\d\d-\d\d|\{kept\['date'\]\}")
VERSION = re.compile(r"\b(CPython|NumPy|SciPy|PyTorch|JAX) \d+\.\d+|\{kept\['versions'\]")
# Limits that a test holds, what a user measures, and results of no version of others.
NOT_MEASURED = {"dask.md", "features.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_figures_have_a_date_and_versions(page):
    text = page.read_text(encoding="utf-8")
    prose = re.sub(
        r"^```(?!\{(csv-table|libraries|adapters)\}).*?^```",
        "",
        text,
        flags=re.MULTILINE | re.DOTALL,
    )
    if page.name not in NOT_MEASURED and FIGURE.search(prose):
        assert DATE.search(text)
        assert VERSION.search(text)
