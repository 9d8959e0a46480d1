"""What executed pages show: places in the tree as paths of the tree, and every error that is meant.

A message of the library names files. On a page these are relative to the root of the project, and a
cell of the page itself is called ``this page``; so a page is the same wherever it is built. A cell that
is tagged ``raises-exception`` and raises nothing fails the build.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
CELL = re.compile(r"[^\s'\"]*/ipykernel_\d+/\d+\.py")
INSTALLED = re.compile(r"[^\s'\"]*/site-packages/")


def shorten(text: str) -> str:
    text = CELL.sub("this page", text)
    text = INSTALLED.sub("", text)
    return text.replace(f"{ROOT}/backends/", "").replace(f"{ROOT}/", "")


def walk(app: Sphinx, doctree: nodes.document) -> None:
    for cell in doctree.findall(nodes.container):
        if "cell_output" in cell["classes"]:
            for block in cell.findall(nodes.literal_block):
                text = shorten(block.astext())
                block.rawsource = text
                block.children = [nodes.Text(text)]
        elif "tag_raises-exception" in cell["classes"]:
            blocks = cell.findall(nodes.literal_block)
            if not any("traceback" in block["classes"] for block in blocks):
                logger.warning("a cell that is meant to raise raised nothing", location=cell)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", walk)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
