"""Writes one reference page per public module, so that none can be forgotten.

Pages go to ``reference/generated``. Modules of words get tables; the others get autodoc over their
``__all__``.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

PACKAGES = ("chainrules_py", "chainrules_tape")
WORDS = "chainrules_py.vocabulary."
SKIP = ("chainrules_py.rules", "chainrules_py.testing.samples", "chainrules_py.testing.plugin")

AUTODOC = """# {name}

```{{eval-rst}}
.. automodule:: {name}
   :members:
```
"""
TABLE = """# {name}

```{{eval-rst}}
.. automodule:: {name}

.. words:: {name}
```
"""


def public_modules(package: str) -> list[str]:
    """The package and every module below it without an underscore, in order of name."""
    root = importlib.import_module(package)
    found = [package]
    for module in pkgutil.walk_packages(root.__path__, package + "."):
        private = any(part.startswith("_") for part in module.name.split("."))
        if not private and not module.name.startswith(SKIP):
            found.append(module.name)
    return sorted(found)


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = set()
    for package in PACKAGES:
        for name in public_modules(package):
            template = TABLE if name.startswith(WORDS) else AUTODOC
            page, text = folder / f"{name}.md", template.format(name=name)
            wanted.add(page)
            if not page.exists() or page.read_text(encoding="utf-8") != text:
                page.write_text(text, encoding="utf-8")
    for page in set(folder.glob("*.md")) - wanted:
        page.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
