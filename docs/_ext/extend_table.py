"""``{extend} module ...``: a table of the names of the engine door that these modules define.

The names are those of `chainrules_py.extend`. What each is for is the first paragraph of its
docstring, or the string below the assignment of a constant. ``:but:`` leaves out modules that
another table of the page lists. A name without a sentence, one that no table lists and one that
two tables list are warnings, so that the build fails.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
from functools import cache
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from operations_table import sentence
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

DOOR = "chainrules_py.extend"
# Where the code has no sentence.
STATED = {
    "as_given": "Undo `columns` on a solution: a vector again, where the right side was one.",
}


def pages_of(env: Any) -> dict[str, list[str]]:
    """The names that each page lists, kept from one build to the next."""
    if not hasattr(env, "names_of_the_door"):
        env.names_of_the_door = {}
    found: dict[str, list[str]] = env.names_of_the_door
    return found


def door() -> dict[str, tuple[str, str | None]]:
    """The module and the name that each name of the door stands for; no name for a whole module."""
    extend = importlib.import_module(DOOR)
    found: dict[str, tuple[str, str | None]] = {
        name: (module, name) for module, names in extend._HOMES.items() for name in names.split()
    }
    found |= {name: (module, None) for name, module in extend._MODULES.items()}
    return found


@cache
def constants(module: str) -> dict[str, str]:
    """The strings that stand below assignments in a module."""
    body = ast.parse(inspect.getsource(importlib.import_module(module))).body
    found = {}
    for statement, below in itertools.pairwise(body):
        if isinstance(statement, ast.Assign):
            target: ast.expr = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign):
            target = statement.target
        else:
            continue
        text = getattr(getattr(below, "value", None), "value", None)
        if isinstance(target, ast.Name) and isinstance(below, ast.Expr) and isinstance(text, str):
            found[target.id] = text
    return found


def purpose(module: str, name: str | None) -> str:
    """One sentence or two: what a name is for."""
    home = importlib.import_module(module)
    if name is None:
        doc = home.__doc__
    elif name in constants(module):
        doc = constants(module)[name]
    else:
        thing = getattr(home, name)
        stated = (
            inspect.isfunction(thing) or isinstance(thing, type) or hasattr(thing, "__wrapped__")
        )
        doc = inspect.getdoc(thing) if stated else None
    return " ".join((doc or STATED.get(name or "", "")).split("\n\n")[0].split())


def name_node(name: str, module: str) -> nodes.Node:
    """The name as code, linked to where it is documented."""
    link = pending_xref(
        "", nodes.literal(name, name), refdomain="py", reftype="obj", refexplicit=True
    )
    link["reftarget"] = f"{module}.{name}"
    link["refdoc"] = "extend"
    link["refwarn"] = False
    return link


def listed(modules: list[str], but: list[str]) -> list[tuple[str, str, str | None]]:
    """Names of the door, with module and name, whose module is one of these or below one."""

    def inside(module: str, folders: list[str]) -> bool:
        return any(module == f or module.startswith(f + ".") for f in folders)

    return [
        (public, module, name)
        for public, (module, name) in door().items()
        if inside(module, modules) and not inside(module, but)
    ]


class Extend(Directive):
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {"but": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        seen = pages_of(env).setdefault(env.docname, [])
        head, group = nodes.row(), nodes.tgroup(cols=3)
        for width in (26, 54, 20):
            group += nodes.colspec(colwidth=width)
        for title in ("name", "what it is for", "defined in"):
            head += nodes.entry("", nodes.paragraph("", title))
        body = nodes.tbody()
        rows = listed(self.arguments[0].split(), self.options.get("but", "").split())
        if not rows:
            logger.warning("the door has no name of these modules: %s", self.arguments[0])
        for public, module, name in rows:
            text = purpose(module, name)
            if not text:
                logger.warning("%s of %s says nowhere what it is for", public, module)
            seen.append(public)
            home = module.removeprefix("chainrules_py.")
            row = nodes.row()
            row += nodes.entry("", nodes.paragraph("", "", name_node(public, module)))
            row += nodes.entry("", nodes.paragraph("", "", *sentence(text)))
            row += nodes.entry("", nodes.paragraph("", "", nodes.literal(home, home)))
            body += row
        group += [nodes.thead("", head), body]
        return [nodes.table("", group, classes=["extend"])]


def forget(app: Sphinx, env: Any, docname: str) -> None:
    """A page that is read again lists its names again."""
    pages_of(env).pop(docname, None)


def merge(app: Sphinx, env: Any, docnames: list[str], other: Any) -> None:
    """Names of the pages that another process has read are taken over."""
    pages_of(env).update({d: names for d, names in pages_of(other).items() if d in docnames})


def compare(app: Sphinx, env: Any) -> None:
    """The tables have each name of the door once."""
    names = [name for page in pages_of(env).values() for name in page]
    missing = sorted(door().keys() - {*names})
    twice = sorted({name for name in names if names.count(name) > 1})
    if missing or twice:
        logger.warning("tables of %s: missing %s, twice %s", DOOR, missing, twice)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("extend", Extend)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-check-consistency", compare)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
