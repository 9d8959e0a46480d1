"""Source of this library's own functions, in a module that needs only NumPy.

A function is written with all that its source names: constants, functions of NumPy by their names,
and other functions of this library. An operation is the function that computes it of arrays.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import re
import textwrap
import types
from typing import Any

import numpy as np

from chainrules_compile.constant_source import Constants
from chainrules_compile.entry_and_exit_source import result_text
from chainrules_compile.errors import MISS
from chainrules_compile.internal_functions import Apart, Gathered
from chainrules_compile.scope import Scope
from chainrules_py import Primitive
from chainrules_py.extend import Space, cells, parameters_of
from chainrules_py.ops.engine_operations import Index

TEXTS = {
    "equal": """def {name}(x, y):
    return type(x) is type(y) and not isinstance(x, numpy.ndarray) and bool(x == y)
""",
    "Index": """class {name}(tuple):
    HOLE = ("array",)

    def join(self, arrays):
        rest = iter(arrays)
        return tuple([self.entry(e, rest) if type(e) is tuple else e for e in self])

    def entry(self, e, rest):
        return next(rest) if e == self.HOLE else slice(*e[1:]) if e[0] is slice else e[1]
""",
    "solve_again_numpy": "{name} = numpy.linalg.solve\n",
    "inv_again_numpy": "{name} = numpy.linalg.inv\n",
    "weighted_pull_numpy": """def {name}(y_bar, weights, axis, keepdims, *saved):
    weighted = weights(*saved, axis).conj()
    return weighted * (y_bar if keepdims or axis is None else numpy.expand_dims(y_bar, axis))
""",
    "expand_dims_numpy": "{name} = numpy.expand_dims\n",
    "index": "def {name}(x, where):\n    return x[where]\n",
    "Gathered": """def {name}(function):
    def leaves(y):
        return [z for x in y for z in leaves(x)] if isinstance(y, (tuple, list)) else [y]

    def gathered(*operands, **options):
        found = leaves(function(*operands, **options))
        return found[0] if len(found) == 1 else tuple(found)

    return gathered
""",
    "is_finite": "def {name}(t, *, like):\n    return numpy.isfinite(t).all()\n",
    "describe": "{name} = repr\n",
}
"""Texts of functions and classes whose own source says more than a saved module needs."""


class UnwrittenError(Exception):
    """An object has no source that needs only NumPy."""


class Definitions:
    """Lines that define the objects of a program, by their names in its scope.

    Attributes
    ----------
    constants : Constants
        Expressions of constants, with the modules to import.
    lines : list of str
        The definitions, in their order.
    """

    def __init__(self, scope: Scope) -> None:
        self.constants, self.lines = Constants(), list[str]()
        self._scope, self._defined = scope, set[str]()

    def define(self, name: str, x: Any) -> None:
        """Define a name, and before it the names in its definition.

        Raises
        ------
        UnwrittenError
            If the object has no source that needs only NumPy.
        """
        if name not in self._defined:
            self._defined.add(name)
            text = self.text(name, x)
            if text != name:
                self.lines.append(text if "\n" in text else f"{name} = {text}\n")

    def text(self, name: str, x: Any) -> str:
        """Return an expression for an object, or lines that define its name."""
        factory, args = self._scope.recipes.get(name, (None, ()))
        if factory is not None:
            return f"{self.name(factory, factory.__name__)}{args!r}"
        x = getattr(x, "public", x) if type(x) is types.FunctionType else x
        static = name.startswith("static_")  # compared by identity
        if isinstance(x, Primitive) and not static:
            x = x.implementation((np.ndarray,) * (len(parameters_of(x).positional) or 1))
        # Of an array that only gives its shape, a program keeps the space.
        text = self.constants.text(np.zeros(x.shape, x.dtype) if type(x) is Space else x)
        if text is not None:
            return text
        if type(x) is functools.partial and not x.keywords:
            parts = [self.name(y, "part") for y in (functools.partial, x.func, *x.args)]
            return f"{parts[0]}({', '.join(parts[1:])})"
        if type(x) is Index:
            return f"{self.name(Index, 'Index')}({self.constants.text(tuple(x))})"
        if type(x) in (Apart, Gathered):
            return self._with_leaves(x)
        f: Any = x if type(x) is types.FunctionType else getattr(x, "__wrapped__", x)
        ours = str(getattr(f, "__module__", "")).startswith("chainrules_")
        if ours and getattr(f, "__name__", "") in TEXTS:
            return TEXTS[f.__name__].format(name=name)
        if not ours or type(f) is not types.FunctionType or static:
            raise UnwrittenError
        return self._written(name, f)

    def name(self, x: Any, hint: str) -> str:
        """Return an expression for an object that a function names: itself a name, or defined."""
        free = getattr(builtins, hint, None) is x is self._scope.get(hint, x)
        text = hint if free else self.constants.text(x)
        if text is None or not text.replace(".", "").replace("_", "").isalnum():
            text = self._scope.name(x, hint)
            self.define(text, x)
        return text

    def _with_leaves(self, x: Any) -> str:
        """Return the expression of a function of NumPy that takes, or gives, leaves."""
        function, scope, given = str(self.constants.text(x.function)), Scope(), list[str]()
        if type(x) is Apart:
            leaves = iter([f"leaves[{i}]" for i in range(x.tree.num_leaves)])
            given = [result_text(tree, leaves, scope) for tree in x.tree.children]
        if not function.startswith("numpy.") or len(scope) > len(Scope()):  # or of other classes
            raise UnwrittenError
        if given:
            return f"lambda *leaves: {function}(*{given[0]}, **{given[1]})"
        return f"{self.name(Gathered, 'Gathered')}({function})"

    def _written(self, name: str, f: types.FunctionType) -> str:
        """Return the source of a function under a name, with the names of this module."""
        try:
            tree: Any = ast.parse(textwrap.dedent(inspect.getsource(f.__code__))).body[0]
            if f.__code__.co_name == "<lambda>":
                [found] = [x for x in ast.walk(tree) if isinstance(x, ast.Lambda)]
                tree = ast.FunctionDef(name, found.args, [ast.Return(found.body)], [], lineno=0)
        except (OSError, SyntaxError, ValueError):  # no lines of its own alone
            raise UnwrittenError from None
        kept = [x for x in tree.decorator_list if ast.unparse(x).startswith("functools.")]
        tree.name, tree.decorator_list, tree.returns = name, kept, None
        nodes = [*ast.walk(tree)]
        own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        own |= {x.id for x in nodes if isinstance(x, ast.Name) and type(x.ctx) is not ast.Load}
        names = {**vars(builtins), **f.__globals__, **cells(f)}
        known = {key: x for key, x in names.items() if key not in own}
        text = ast.unparse(_Names(self, known).visit(tree))
        if re.search(r"\b(import|from) chainrules", text):
            raise UnwrittenError
        return f"{text}\n"


class _Names(ast.NodeTransformer):
    """Replacement of the names that a function knows of modules by those of definitions."""

    def __init__(self, definitions: Definitions, known: dict[str, Any]) -> None:
        self._definitions, self._known = definitions, known

    def visit(self, node: Any) -> Any:
        """Replace names, and leave out annotations."""
        if isinstance(node, ast.AnnAssign):
            node = ast.Assign([node.target], node.value or ast.Constant(None), lineno=0)
        if isinstance(node, ast.arg):
            node.annotation = None
        x = self._object(node)
        if x is MISS:
            return self.generic_visit(node)
        hint = ast.unparse(node).rpartition(".")[2]
        return ast.parse(self._definitions.name(x, hint), mode="eval").body

    def _object(self, node: ast.AST) -> Any:
        """Return the object of a name, also in a module of this library; MISS for others."""
        if isinstance(node, ast.Name):
            return self._known.get(node.id, MISS)
        home = self._object(node.value) if isinstance(node, ast.Attribute) else MISS
        if isinstance(home, types.ModuleType) and home.__name__.startswith("chainrules_"):
            return getattr(home, node.attr)  # type: ignore[attr-defined]
        return MISS
