"""Executed pages: run at every build, and the same wherever they are built.

A message of the library names files. On a page these are relative to the root of the project, and
a cell of the page itself is called ``this page``. A cell that is tagged ``raises-exception`` and
raises nothing fails the build. Nobody's own IPython settings take part.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parents[2]
CELL = re.compile(r"[^\s'\"(]*/ipykernel_\d+/\d+\.py")
INSTALLED = re.compile(r"[^\s'\"(]*/site-packages/")


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
                if "traceback" in block["classes"]:
                    block["language"] = "none"  # what an error says is no Python
            for picture in cell.findall(nodes.raw):
                picture.children = [nodes.Text(shorten(picture.astext()))]
        elif "tag_raises-exception" in cell["classes"]:
            blocks = cell.findall(nodes.literal_block)
            if not any("traceback" in block["classes"] for block in blocks):
                logger.warning("a cell that is meant to raise raised nothing", location=cell)


def executed(app: Sphinx, env: Any, *_: Any) -> list[str]:
    """The pages that show what the library gives: outdated whenever it may have changed."""
    return [
        name
        for name in env.found_docs
        if "file_format: mystnb" in Path(env.doc2path(name)).read_text(encoding="utf-8")[:200]
    ]


def settings() -> str:
    """A folder of IPython settings: none, but that no one need warn of a kernel on this machine."""
    folder = tempfile.mkdtemp(prefix="chainrules-docs-")
    profile = Path(folder) / "profile_default"
    profile.mkdir()
    (profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n")
    return folder


def setup(app: Sphinx) -> dict[str, Any]:
    os.environ["IPYTHONDIR"] = folder = settings()
    app.connect("build-finished", lambda *_: shutil.rmtree(folder, ignore_errors=True))
    app.connect("env-get-outdated", executed)
    app.connect("doctree-read", walk)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
