"""Saving: a program as a module that needs NumPy alone.

Objects that the source names become lines: NumPy's functions by their names, arrays by their
numbers. Functions of ours are copied with what they use, from their own source.
"""

from __future__ import annotations

import ast
import base64
import inspect
import math
import re
import sys
import types
from typing import Any

import numpy as np

from chainrules_compile.entry import Scope
from chainrules_compile.errors import MISS, RecordingError
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
    source = re.sub(r"    if captured_has_changed\w*\(\):\n        return MISS\n", "", source)
    tree = ast.parse(source)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for key in sorted(used & scope.keys() - {name}):
        if key in scope.recipes:
            factory, args = scope.recipes[key]
            saving.define(factory.__name__, factory)
            saving.lines.append(f"{key} = {factory.__name__}{args}")
        elif scope[key] is not MISS:
            saving.define(key, scope[key])
    text = source.replace(
        "return MISS", 'raise ValueError("recorded for other arguments; record it anew")'
    )
    imports = "".join([f"import {module}\n" for module in sorted(saving.imports)])
    lines = "\n".join(saving.lines)
    head = f'"""{name}: recorded, simplified and written by chainrules_compile."""'
    return f"{head}\n\n{imports}\n{lines}\n\n\n{text}"


class Left:
    """Stands for a module that was left out: nothing of it is called for arguments as recorded."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        msg = f"{self._name}.{name} was left out of this module"
        raise NotImplementedError(msg)


class _Plain(ast.NodeTransformer):
    """Functions and assignments without annotations."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list, node.returns = [], None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        assert node.value is not None
        return ast.Assign([node.target], node.value, lineno=node.lineno)


class _Saving:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.imports: set[str] = set()
        self._done: dict[str, Any] = {}

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
            return repr(x) if math.isfinite(x) else f'float("{x}")'
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

    def _module(self, x: types.ModuleType) -> str:
        if x.__name__.partition(".")[0] in _KNOWN:
            self.imports.add(x.__name__)
            return x.__name__
        if "Left" not in self._done:
            self._done["Left"] = Left
            self.lines.append(inspect.getsource(Left))
        return f"Left({x.__name__!r})"

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
        for home in (module, "numpy", "numpy.linalg"):
            known = home.partition(".")[0] in _KNOWN
            if known and getattr(sys.modules.get(home), name, None) is x:
                self.imports.add(home)
                return f"{home}.{name}"
        if x is getattr(np.vdot, "_implementation", None):
            self.imports.add("numpy")
            return "numpy.vdot"
        return None

    def _array(self, x: np.ndarray) -> str | None:
        if x.dtype.kind not in "fciub":
            return None
        self.imports.add("numpy")
        if x.size <= _SHORT and (x.dtype.kind != "c") and bool(np.all(np.isfinite(x))):
            return f"numpy.array({x.tolist()!r}, {x.dtype.str!r})"
        self.imports.add("base64")
        data = base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()
        read = f"numpy.frombuffer(base64.b64decode({data!r}), {x.dtype.str!r})"
        return f"{read}.reshape({x.shape})"

    def _function(self, name: str, f: Any) -> None:
        """Copy a function, and before it what it uses of its module."""
        if f.__closure__:
            refuse(name, f)
        module = sys.modules[f.__module__]
        node = self._node(module, f.__name__)
        if node is None:
            refuse(name, f)
        text = self._copied(module, node)
        self.lines.append(text)
        if name != f.__name__:
            self.lines.append(f"{name} = {f.__name__}")

    def _node(self, module: Any, name: str) -> Any:
        for node in ast.parse(inspect.getsource(module)).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return node
            targets: list[Any] = [node.target] if isinstance(node, ast.AnnAssign) else []
            targets += node.targets if isinstance(node, ast.Assign) else []
            if any([isinstance(t, ast.Name) and t.id == name for t in targets]):
                return node
        return None

    def _copied(self, module: Any, node: Any) -> str:
        node = _Plain().visit(node)
        own = {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
                self._used(module, inner.id, own)
        return ast.unparse(node)

    def _used(self, module: Any, name: str, own: set[str]) -> None:
        values = vars(module)
        if name in own or name not in values:
            return
        x = values[name]
        if name in self._done or isinstance(x, types.ModuleType):
            self.define(name, x)
            return
        node = self._node(module, name)
        if node is None:
            self.define(name, x)
            return
        self._done[name] = x
        self.lines.append(self._copied(module, node))


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
