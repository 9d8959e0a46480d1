"""Makes the README one that a package index can show: its links have to say where they lead.

The build reads it as a metadata hook. The address of the pages stands in ``pyproject.toml``, under
``[tool.hatch.metadata.hooks.custom]``; as long as it is empty, a link is its text, and a picture is
left out, so that nothing that is shown is broken.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|mailto:|#)(?P<path>[^)\s]+)\)")


def absolute(text: str, base: str) -> str:
    """Return the text with links that lead somewhere from wherever it is shown.

    >>> absolute("![A](docs/a.svg) [tape](docs/tape.md)", "https://example.org/")
    '![A](https://example.org/docs/a.svg) [tape](https://example.org/docs/tape.md)'
    >>> absolute("![A](docs/a.svg) [tape](docs/tape.md)", "")
    ' tape'
    """

    def one(found: re.Match[str]) -> str:
        if base:
            return f"{found['picture']}[{found['text']}]({base.rstrip('/')}/{found['path']})"
        return "" if found["picture"] else found["text"]

    return LINK.sub(one, text)


class ReadmeHook(MetadataHookInterface):
    """Gives the distribution its long description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Read the README, with links that are absolute."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": absolute(text, self.config.get("base", "")),
        }
