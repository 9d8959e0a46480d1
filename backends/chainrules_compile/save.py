"""Saving: a program as a module that needs NumPy alone.

Objects that the source names become lines: NumPy's functions by their names, arrays by their
numbers. Functions of ours are copied with what they use, from their own source.
"""

from __future__ import annotations

import ast
import base64
import copy
import functools
import inspect
import math
import operator
import re
import sys
import types
from typing import Any

import numpy as np

from chainrules_compile.errors import MISS, RecordingError
from chainrules_compile.scope import Scope
from chainrules_py import Primitive
from chainrules_py.extend import Space, describe
from chainrules_py.vocabulary.views import Index

_KNOWN = ("numpy", "scipy", "math", "operator")
_INDEX = '''class Index(tuple):
    """An index, with holes for arrays."""

    HOLE = ("array",)

    def join(self, arrays):
        """Return the index with arrays in the holes."""
        rest = iter(arrays)
        return tuple([self._entry(e, rest) if type(e) is tuple else e for e in self])

    def _entry(self, e, rest):
        if e[0] == "array":
            return next(rest)
        return slice(*e[1:]) if e[0] is slice else e[1]
'''
_SHORT = 64
"""Up to so many elements an array is written as numbers."""


def module_of(name: str, source: str, scope: Scope) -> str:
    """Return the text of a module with a program in it.

    Raises
    ------
    RecordingError
        If something that the program uses cannot be written down.
    """
    saving = _Saving()
    asked = r"    if [^\n]*(captured_has_changed\w*|known\w*\.differ|are_apart\w*)\([^\n]*\n"
    source = re.sub(asked + r"        return MISS\n", "", source)
    tree = ast.parse(source)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    saving.taken = used | {name}
    for key in sorted(used & scope.keys() - {name}):
        if key in scope.recipes:
            factory, args = scope.recipes[key]
            made_by = saving.member(sys.modules[factory.__module__], factory.__name__)
            saving.lines.append(f"{key} = {made_by}{args}")
        elif scope[key] is not MISS and scope[key] is not None:
            saving.define(key, scope[key])
    text = source.replace(
        "return MISS", 'raise ValueError("recorded for other arguments; record it anew")'
    )
    imports = "".join([f"import {module}\n" for module in sorted(saving.imports)])
    lines = "\n".join(saving.lines)
    head = f'"""{name}: recorded, simplified and written by chainrules_compile."""'
    return f"{head}\n\n{imports}\n{lines}\n\n\n{text}"


class Left:
    """Stands for what was left out: nothing of it is called for arguments as recorded."""

    def __init__(self, name):  # type: ignore[no-untyped-def]
        self._name = name

    def __call__(self, *_, **__):  # type: ignore[no-untyped-def]
        """Say what was left out."""
        msg = f"{self._name} was left out of this module"
        raise NotImplementedError(msg)


class _Saving:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.imports: set[str] = set()
        self.taken: set[str] = set()
        self._done: dict[str, Any] = {}
        self._copies: dict[tuple[str, Any], str] = {}
        self._kept: list[Any] = []

    def define(self, name: str, x: Any) -> None:
        """Write the line that gives an object a name."""
        if name in self._done:
            if self._done[name] is not x:
                refuse(name, x)
            return
        self._done[name] = x
        if getattr(sys.modules["builtins"], name, None) is x:
            return
        text = self.text(x)
        if text is not None:
            self.lines.append(f"{name} = {text}")
        elif type(x) is types.FunctionType:
            self._function(name, x)
        else:
            refuse(name, x)

    def text(self, x: Any) -> str | None:
        """Return an expression that gives an object, of NumPy's names; or None."""
        if x is None or x is ... or type(x) in (bool, int, str, complex, slice):
            return repr(x)
        if type(x) is float:
            sign = "-" if math.copysign(1.0, x) < 0 else ""
            return repr(x) if math.isfinite(x) else f'{sign}float("{abs(x)}")'
        if x is slice:
            return "slice"
        if isinstance(x, types.ModuleType):
            return self._module(x)
        if type(x) in (tuple, list, Index):
            return self._sequence(x)
        if isinstance(x, (np.ndarray, np.generic, np.dtype, Space)):
            return self._of_numpy(x)
        return self._function_of_numpy(x)

    def _function_of_numpy(self, x: Any) -> str | None:
        owner, module = getattr(x, "__self__", None), getattr(x, "__module__", None)
        if type(x) is operator.attrgetter:
            self.imports.add("operator")
            return f"operator.attrgetter{x.__reduce__()[1]}"
        if isinstance(owner, np.ufunc):
            return f"{self.text(owner)}.{x.__name__}"
        if isinstance(x, (types.MethodDescriptorType, types.GetSetDescriptorType)):
            self.imports.add("numpy")
            return f"numpy.{x.__objclass__.__name__}.{x.__name__}"
        if isinstance(x, np.ufunc):
            module = "numpy"
        if type(x) is not types.FunctionType and callable(x) and module:
            return self._named(module, getattr(x, "__name__", ""), x)
        if type(x) is types.FunctionType and str(module).partition(".")[0] in _KNOWN:
            return self._named(str(module), x.__name__, x)
        return None

    def _module(self, x: types.ModuleType) -> str | None:
        if not _is_known(x):
            return None
        self.imports.add(x.__name__)
        return x.__name__

    def _sequence(self, x: Any) -> str | None:
        texts = [self.text(y) for y in x]
        if None in texts:
            return None
        inner = ", ".join(map(str, texts))
        if type(x) is list:
            return f"[{inner}]"
        inner += "," * (len(texts) == 1)
        if type(x) is Index:
            if "Index" not in self._done:
                self._done["Index"] = Index
                self.lines.append(_INDEX)
            return f"Index(({inner}))"
        return f"({inner})"

    def _of_numpy(self, x: Any) -> str | None:
        self.imports.add("numpy")
        if isinstance(x, np.dtype):
            return f"numpy.dtype({x.str!r})"
        if isinstance(x, np.ndarray):
            return self._array(x)
        if isinstance(x, np.generic):
            return f"numpy.{type(x).__name__}({x.item()!r})" if x.dtype.kind in "fiub" else None
        self.imports.add("types")
        facts = f"shape={x.shape}, ndim={x.ndim}, size={x.size}"
        return f"types.SimpleNamespace({facts}, dtype=numpy.dtype({x.dtype.str!r}))"

    def _named(self, module: str, name: str, x: Any) -> str | None:
        if x is not None and x is getattr(getattr(np, name, None), "_implementation", None):
            self.imports.add("numpy")
            return f"numpy.{name}"
        for home in (module.removeprefix("_"), "numpy", "numpy.linalg"):
            known = home.partition(".")[0] in _KNOWN
            if known and getattr(sys.modules.get(home), name, None) is x:
                self.imports.add(home)
                return f"{home}.{name}"
        return None

    def _array(self, x: np.ndarray) -> str | None:
        if x.dtype.kind not in "fciub":
            return None
        self.imports.add("numpy")
        if x.size <= _SHORT and (x.dtype.kind != "c") and bool(np.all(np.isfinite(x))):
            return f"numpy.array({x.tolist()!r}, {x.dtype.str!r})"
        first: Any = x.flat[0] if x.size and x.dtype.kind != "c" else np.nan
        # By their bytes: 0.0 and -0.0 are equal, and two arrays.
        if np.isfinite(first) and np.full(x.shape, first).tobytes() == x.tobytes():
            return f"numpy.full({x.shape}, {first.item()!r}, {x.dtype.str!r})"
        self.imports.add("base64")
        data = base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()
        read = f"numpy.frombuffer(base64.b64decode({data!r}), {x.dtype.str!r})"
        return f"{read}.reshape({x.shape})"

    # ------------------------------------------------------------------------ functions of ours

    def _function(self, name: str, f: Any) -> None:
        """Copy a function, and before it what it uses of its module."""
        if f.__closure__:
            refuse(name, f)
        found = self._copied_of(sys.modules[f.__module__], f.__name__, name)
        if found is None:
            refuse(name, f)
        if found != name:
            self.lines.append(f"{name} = {found}")

    def _copied_of(self, module: Any, name: str, hint: str) -> str | None:
        """Copy what a module defines under a name; return the name that it has here, or None."""
        node = _nodes(module).get(name)
        if isinstance(node, ast.ImportFrom):
            home = _home(module, node)
            return self._copied_of(home, *_origin(node, name), hint) if home else None
        if node is None:
            return None
        key = module.__name__, name
        if key not in self._copies:
            self._copies[key] = here = self._unused(hint)
            self.lines.append(_Copying(self, module, name, here).text(node))
        return self._copies[key]

    def _unused(self, name: str) -> str:
        base, n = name, 1
        while name in self._done or name in self.taken:
            n += 1
            name = f"{base}_{n}"
        self._done[name] = None
        return name

    def used(self, module: Any, name: str) -> str:
        """Return the name here of what a module knows under a name; write it down before."""
        x = vars(module)[name]
        if getattr(sys.modules["builtins"], name, None) is x:
            return name
        return self._written(x, module, name, name)

    def member(self, module: Any, name: str) -> str:
        """Return the name here of what stands in a module of ours."""
        return self._written(getattr(module, name), module, name, name)

    def _written(self, x: Any, module: Any, name: str, hint: str) -> str:
        word = x
        x, module, name = _computing(x, module, name)
        key = "object", id(word)
        if key in self._copies:
            return self._copies[key]
        text = None if type(x) in (int, float, str, bool) else self.text(x)
        found = None if text is not None else self._copied_of(module, name, hint)
        if found is None:
            found = self._unused(hint)
            self.lines.append(f"{found} = {text or self._left(module, name)}")
        if isinstance(word, Primitive) and (given := self._defaults(word)):
            self.imports.add("functools")
            computing, found = found, self._unused(hint)
            self.lines.append(f"{found} = functools.partial({computing}, {given})")
        self._kept.append(word)
        self._copies[key] = found
        return found

    def _defaults(self, word: Primitive[..., Any]) -> str:
        """Return the options of a word that a call may leave out, which what computes it needs."""
        pairs = [(name, self.text(x)) for name, x in word.options.items()]
        return ", ".join([f"{name}={text}" for name, text in pairs if text is not None])

    def _left(self, module: Any, name: str) -> str:
        """Return what stands for something that cannot be copied: it says so if it is called."""
        if "Left" not in self._done:
            self._done["Left"] = Left
            self.lines.append(inspect.getsource(Left))
        return f"Left({f'{module.__name__}.{name}'!r})"


class _Copying(ast.NodeTransformer):
    """Copying of one statement of a module: without annotations, and with the names here."""

    def __init__(self, saving: _Saving, module: Any, name: str, here: str) -> None:
        self._saving = saving
        self._module = module
        self._name = name
        self._here = here
        self._local: set[str] = set()

    def text(self, node: ast.stmt) -> str:
        """Return the statement as it stands here."""
        node = copy.deepcopy(node)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.decorator_list, body = [], node.body
            if len(body) > 1 and ast.get_docstring(node) is not None:
                doc: Any = ast.get_docstring(node)
                body[0] = ast.Expr(ast.Constant(doc.partition("\n")[0]))
            stored = [n.id for n in ast.walk(node) if _is_stored(n)]  # type: ignore[attr-defined]
            self._local = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)} | {*stored}
        found = self.visit(node)
        if isinstance(found, (ast.FunctionDef, ast.ClassDef)):
            found.name = self._here
        else:
            for target in found.targets:
                target.id = self._here
        return ast.unparse(ast.fix_missing_locations(found))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:  # a name that gets a class, and no value yet
            return ast.Pass()
        return self.visit(ast.Assign([node.target], node.value))  # type: ignore[no-any-return]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value = node.value
        if isinstance(value, ast.Name) and value.id not in self._local:
            module = vars(self._module).get(value.id)
            if isinstance(module, types.ModuleType) and not _is_known(module):
                return ast.Name(self._saving.member(module, node.attr), ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self._name:
            return ast.Name(self._here, node.ctx)
        there = isinstance(node.ctx, ast.Load) and node.id not in self._local
        if there and node.id in vars(self._module):
            return ast.Name(self._saving.used(self._module, node.id), node.ctx)
        return node


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


@functools.cache
def _nodes(module: Any) -> dict[str, Any]:
    """Return the statements of a module that give names, by name."""
    found: dict[str, Any] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node for alias in node.names}
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [t.id for t in targets if isinstance(t, ast.Name)]
            found |= dict.fromkeys(names if len(names) == len(targets) else (), node)
    return found


def _home(module: Any, node: ast.ImportFrom) -> Any:
    """Return the module of ours that names are imported from, or None."""
    found = sys.modules.get(node.module or "")
    return found if found is not module and found is not None and not _is_known(found) else None


def _origin(node: ast.ImportFrom, name: str) -> tuple[str]:
    return (next(alias.name for alias in node.names if (alias.asname or alias.name) == name),)


def _computing(x: Any, module: Any, name: str) -> tuple[Any, Any, str]:
    """Return what computes a word with NumPy, and where that is defined; or what is given."""
    if isinstance(x, Primitive):
        count = len(inspect.signature(x.__wrapped__).parameters) - len(x.options)
        x = x.implementation((np.ndarray,) * count) or x.__wrapped__
        module, name = sys.modules.get(x.__module__, module), getattr(x, "__name__", name)
    elif isinstance(x, (types.FunctionType, type)) or hasattr(x, "__wrapped__"):
        module, name = sys.modules.get(x.__module__, module), x.__name__
    return x, module, name


def _is_known(module: types.ModuleType) -> bool:
    """Tell whether a module is there wherever NumPy and SciPy are."""
    base = module.__name__.partition(".")[0]
    return base in _KNOWN or base in sys.stdlib_module_names


def refuse(name: str, x: Any) -> None:
    """Raise for what cannot be written down.

    Raises
    ------
    RecordingError
        With its name.
    """
    msg = (
        f"the program uses {name}, {describe(x)} of {getattr(x, '__module__', 'no module')}, which "
        f"a module that needs NumPy alone cannot have; keep the compiled function itself"
    )
    raise RecordingError(msg)
