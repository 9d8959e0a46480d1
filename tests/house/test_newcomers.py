"""Pages that a newcomer follows: `make test-newcomers` runs them; here it is seen that it can."""

from __future__ import annotations

import tomllib

import pytest

from tests.house import newcomers, pages


@pytest.mark.parametrize("page", newcomers.PAGES)
def test_a_page_says_how_to_install_and_its_blocks_are_python(page):
    settings = tomllib.loads((newcomers.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    known = settings["project"]["optional-dependencies"]
    wanted, _ = newcomers.installed(page)
    assert {*filter(None, wanted.split(","))} <= {*known}
    found = pages.blocks(page)
    assert len(found) >= 5
    for block in found:
        compile(block.code, page, "exec")
