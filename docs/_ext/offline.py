"""Fails the build where a page would load something from a network.

Links that a reader may follow are fine. Scripts, style sheets, fonts, images and frames are not:
the pages must be complete on a machine without a network.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

LOADED_LINKS = {"stylesheet", "preload", "modulepreload", "icon", "preconnect", "dns-prefetch"}
CSS_URL = re.compile(r"""(?:url\(\s*|@import\s+)["']?(?P<url>(?:https?:)?//[^"')\s]+)""")


class Loads(HTMLParser):
    """Collects the addresses that a browser fetches by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "link" and not LOADED_LINKS & set((values.get("rel") or "").split()):
            return
        names = ("href",) if tag == "link" else ("src", "srcset", "data", "poster")
        for name in names:
            url = values.get(name) or ""
            if tag != "a" and re.match(r"(https?:)?//", url):
                self.found.append(url)


def loads(folder: Path) -> list[tuple[Path, str]]:
    """Every (file, address) that opening a page of `folder` would fetch from elsewhere."""
    found = []
    for page in sorted(folder.rglob("*.html")):
        parser = Loads()
        parser.feed(page.read_text(encoding="utf-8"))
        found += [(page, url) for url in parser.found]
    for sheet in sorted(folder.rglob("*.css")):
        text = sheet.read_text(encoding="utf-8")
        found += [(sheet, match["url"]) for match in CSS_URL.finditer(text)]
    return found


def check(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for page, url in loads(Path(app.outdir)):
            logger.warning("%s would load %s from a network", page.relative_to(app.outdir), url)
            app.statuscode = 1


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
