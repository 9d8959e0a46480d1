"""Writes one reference page per public module, so that none can be forgotten.

Pages go to ``reference/generated``. A name is documented on the page of the module that defines it; a
package lists the names that it gives again, with links. Modules of words get tables.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

PACKAGES = ("chainrules_py", "chainrules_tape")
WORDS = "chainrules_py.vocabulary."
SKIP = ("chainrules_py.rules", "chainrules_py.testing.samples", "chainrules_py.testing.plugin")

PAGE = """# {name}

```{{eval-rst}}
.. module:: {name}

{body}
```
"""
AGAIN = """.. currentmodule:: None

.. rubric:: Defined in its modules

.. autosummary::
   :nosignatures:

{names}
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


def homes(modules: list[str]) -> dict[tuple[str, int], str]:
    """Where each public object is defined, by name and identity: the deepest module that lists it."""
    found = {}
    for name in sorted(modules, key=lambda m: m.count(".")):
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", ()):
            found[public, id(getattr(module, public))] = name
    return found


def directive(path: str, thing: Any) -> str:
    """The autodoc directive for one public object; none for a module, which has a page."""
    if isinstance(thing, ModuleType):
        return ""
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return f".. autoexception:: {path}\n   :members:\n   :show-inheritance:\n"
    if isinstance(thing, type):
        return f".. autoclass:: {path}\n   :members:\n"
    if callable(thing):
        return f".. autofunction:: {path}\n"
    return f".. autodata:: {path}\n   :no-value:\n"


def page(name: str, home: dict[tuple[str, int], str]) -> str:
    module = importlib.import_module(name)
    indented = [f".. currentmodule:: {name}\n", (module.__doc__ or "").strip() + "\n"]
    if name.startswith(WORDS):
        indented.append(f".. words:: {name}\n")
    else:
        again = []
        for public in getattr(module, "__all__", ()):
            thing = getattr(module, public)
            at = home[public, id(thing)]
            if at == name:
                indented.append(directive(f"{name}.{public}", thing))
            elif not at.startswith(WORDS) and not isinstance(thing, ModuleType):
                again.append(f"   ~{at}.{public}")
        if again:
            indented.append(AGAIN.format(names="\n".join(again)))
    return PAGE.format(name=name, body="\n".join(part for part in indented if part))


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    modules = [name for package in PACKAGES for name in public_modules(package)]
    home = homes(modules)
    wanted = set()
    for name in modules:
        path, text = folder / f"{name}.md", page(name, home)
        wanted.add(path)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in set(folder.glob("*.md")) - wanted:
        path.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
