"""Pages that have programs: they run, and what stands below them is what they give."""

from __future__ import annotations

import re

import pytest

from tests.house import pages

NOTEBOOKS = [
    path.stem
    for path in sorted(pages.DOCS.glob("*.md"))
    if pages.is_notebook(path.stem) and pages.blocks(path.stem)
]
README = (pages.ROOT / "README.md").read_text(encoding="utf-8")
LINKED = sorted({*re.findall(r"\]\(docs/([\w-]+)\.md\)", README)})
QUICK = ("coming-from", "index", "tape")


def runs(page, folder):
    """The programs of a page, and what they give in a process of their own."""
    programs = pages.blocks(page)
    try:
        return programs, pages.run(programs, folder)
    except RuntimeError as error:
        last = str(error).strip().rpartition("\n")[2]
        if last.startswith("ModuleNotFoundError: No module named"):
            pytest.skip(last)
        raise


def compare(page, folder):
    wrong = [
        f"{block.code}\nsays\n{block.shown}\nand gives\n{given}"
        for block, given in zip(*runs(page, folder), strict=True)
        if not pages.same(block.shown, given)
    ]
    assert not wrong, f"python -m tests.house.pages {page} writes:\n" + "\n".join(wrong)


@pytest.mark.parametrize("page", QUICK)
def test_a_page_shows_what_its_programs_give(page, tmp_path):
    compare(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in pages.PLAIN if page not in QUICK])
def test_a_long_page_shows_what_its_programs_give(page, tmp_path):
    compare(page, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_page_runs_in_a_process_of_its_own(page, tmp_path):
    """Nothing that another page or test has loaded, or installed, helps it."""
    runs(page, tmp_path)


@pytest.mark.parametrize("page", [path.stem for path in sorted(pages.DOCS.glob("*.md"))])
def test_tables_are_those_of_their_files(page):
    text = pages.text_of(page)
    assert pages.with_tables(text) == text, f"run python -m tests.house.pages {page}"


def test_the_readme_links_at_most_twelve_pages_and_they_show_their_outputs():
    assert len(LINKED) <= 12
    assert not [page for page in LINKED if pages.is_notebook(page)]
    hidden = re.compile(r"^```\{(?!toctree|image)|^%", re.MULTILINE)
    assert not [page for page in LINKED if hidden.search(pages.text_of(page))]


@pytest.mark.parametrize(
    "shown, found",
    [("1.0", "1.1"), ("a 1", "b 1"), ("1 2", "1"), ("x[0]", "x[1]"), ("", "1")],
)
def test_another_output_is_found(shown, found):
    assert not pages.same(shown, found)
    assert pages.same(f"{shown}\n", f" {shown}")


def test_a_program_that_raises_has_to_say_so(tmp_path):
    raises = pages.Block("1 / 0\n", "", True)
    assert pages.run([raises], tmp_path) == ["ZeroDivisionError: division by zero\n"]
    with pytest.raises(RuntimeError, match="division by zero"):
        pages.run([pages.Block("1 / 0\n", "", False)], tmp_path)
    with pytest.raises(RuntimeError, match="meant to raise"):
        pages.run([pages.Block("1\n", "", True)], tmp_path)
