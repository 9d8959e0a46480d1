"""Writes one reference page per public module, so that none can be forgotten; of some packages one.

Pages go to ``reference/generated``. A name is documented on the page of the module that defines it;
a package lists the names that it gives again, with links, and its modules. A module that states no
``__all__`` is documented by what it defines, without an underscore and with a docstring. Modules of
operations get tables. In docstrings, a name in single backticks becomes a link if exactly one
object has it.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from types import BuiltinMethodType, ModuleType
from typing import Any, ParamSpec, TypeVar, get_origin

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

PACKAGES = (
    "chainrules_py",
    "chainrules_scipy",
    "chainrules_tape",
)
# Of these the names that the package itself states, on one page; their modules are their own.
FACES = (
    "chainrules_autograd",
    "chainrules_compile",
    "chainrules_compile.c",
    "chainrules_dask",
    "chainrules_engines.mygrad",
    "chainrules_engines.pytensor",
    "chainrules_engines.tinygrad",
    "chainrules_jax",
    "chainrules_kit",
    "chainrules_kit.fallbacks",
    "chainrules_kit.custom_derivatives",
    "chainrules_kit.solvers",
    "chainrules_mlx",
    "chainrules_numpy.composites.mapping",
    "chainrules_numpy.pandas",
    "chainrules_py.cli",
    "chainrules_torch",
)
OPERATIONS = "chainrules_py.ops."
SKIP = (
    "chainrules_py.cli",
    "chainrules_py.rules",
    "chainrules_py.testing.samples.",
    "chainrules_py.testing.array_api_strict",
)
KEEP = ("chainrules_py.testing.samples.sample",)
VARIABLES = (TypeVar, ParamSpec)  # they say what a variable of types is, and not which

PAGE = """# {name}

```{{eval-rst}}
.. module:: {name}

{body}
```
"""
MODULES = """
## Modules

```{{toctree}}
:maxdepth: 1

{modules}
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
    if package in FACES:
        return found
    for module in pkgutil.walk_packages(root.__path__, package + "."):
        private = any(part.startswith("_") for part in module.name.split("."))
        if not private and (module.name in KEEP or not module.name.startswith(SKIP)):
            found.append(module.name)
    return sorted(found)


def public_names(module: ModuleType) -> list[str]:
    """What a module states as its names; else what it defines and documents, in its order."""
    stated = getattr(module, "__all__", None)
    if stated is not None:
        return list(stated)
    source = ModuleAnalyzer.for_module(module.__name__)
    source.analyze()

    def is_documented(name: str) -> bool:
        thing = vars(module).get(name)
        own = getattr(thing, "__module__", None) == module.__name__ and bool(thing.__doc__)
        return ("", name) in source.attr_docs or (own and not isinstance(thing, VARIABLES))

    bound = sorted((n for n in source.tagorder if "." not in n), key=source.tagorder.get)
    return [name for name in bound if not name.startswith("_") and is_documented(name)]


def homes(modules: list[str]) -> dict[tuple[str, int], str]:
    """Where each public object is defined, by name and identity: the deepest module with it."""
    found = {}
    for name in sorted(modules, key=lambda m: m.count(".")):
        module = importlib.import_module(name)
        for public in public_names(module):
            found[public, id(getattr(module, public))] = name
    return found


def directive(path: str, thing: Any) -> str:
    """The autodoc directive for one public object; none for a module, which has a page."""
    if isinstance(thing, ModuleType):
        return ""
    if get_origin(thing):
        return alias(path)
    if isinstance(thing, BuiltinMethodType) or getattr(thing, "__module__", None) == "builtins":
        return f".. py:data:: {path}\n"
    if isinstance(thing, type) and issubclass(thing, BaseException):
        return f".. autoexception:: {path}\n   :members:\n   :show-inheritance:\n"
    if isinstance(thing, type):
        return f".. autoclass:: {path}\n   :members:\n"
    if callable(thing):
        return f".. autofunction:: {path}\n"
    if thing.__doc__ is type(thing).__doc__ and path.rpartition(".")[0] in FACES:
        return alias(path).replace(".. py:type::", ".. py:data::")  # the class has its own page
    return f".. autodata:: {path}\n   :no-value:\n"


def alias(path: str) -> str:
    """The directive for an alias of a type, with what is written below it in the source.

    It is not left to autodoc: `list[int]` answers for `list` wherever it is asked, for its
    docstring and its signature too.
    """
    module, _, name = path.rpartition(".")
    lines = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name), [])
    return "\n".join([f".. py:type:: {path}", "", *[f"   {line}".rstrip() for line in lines]])


def page(name: str, home: dict[tuple[str, int], str], modules: list[str]) -> str:
    module = importlib.import_module(name)
    below = [m for m in modules if m.rpartition(".")[0] == name]
    indented = [f".. currentmodule:: {name}\n", (module.__doc__ or "").strip() + "\n"]
    if name.startswith(OPERATIONS):
        indented.append(f".. operations:: {name}\n")
    operation = importlib.import_module("chainrules_py.primitives.primitive").Primitive
    again = []
    for public in public_names(module):
        thing = getattr(module, public)
        at = home[public, id(thing)]
        if at == name and not (name.startswith(OPERATIONS) and isinstance(thing, operation)):
            indented.append(directive(f"{name}.{public}", thing))
        elif not at.startswith(OPERATIONS) and not isinstance(thing, ModuleType):
            again.append(f"   ~{at}.{public}")
    if again:
        indented.append(AGAIN.format(names="\n".join(again)))
    text = PAGE.format(name=name, body="\n".join(part for part in indented if part))
    if below:
        lines = [f"{m.rpartition('.')[2]} <{m}>" for m in below]
        text += MODULES.format(modules="\n".join(lines))
    return text


def write_pages(app: Sphinx) -> None:
    folder = Path(app.srcdir) / "reference" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    modules = [name for package in (*PACKAGES, *FACES) for name in public_modules(package)]
    home = homes(modules)
    wanted = set()
    for name in modules:
        path, text = folder / f"{name}.md", page(name, home, modules)
        wanted.add(path)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in set(folder.glob("*.md")) - wanted:
        path.unlink()


def resolve(app: Sphinx, env: Any, node: Any, content: Any) -> Any:
    """The one object whose last name is the one in backticks, as a link."""
    if node.get("reftype") != "obj":
        return None
    target = node["reftarget"]
    domain = env.get_domain("py")
    found = {name for name, *_ in domain.get_objects() if name.endswith(f".{target}")}
    if len(found) != 1:
        return None
    (name,) = found
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)


def skip_builtin(
    app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave a member out that is a function in C: it has neither text nor signature of ours."""
    return True if isinstance(member, BuiltinMethodType) else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-skip-member", skip_builtin)
    app.connect("missing-reference", resolve)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
