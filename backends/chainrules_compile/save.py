"""Saving: a program as a module that needs NumPy alone.

Objects that the source names become lines: NumPy's functions by their names, arrays by their
numbers. Functions of ours are copied with what they use, from their own source.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import functools
import importlib.util
import inspect
import os
import re
import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chainrules_compile.constants import Constants, is_builtin, is_known
from chainrules_compile.errors import MISS, RecordingError
from chainrules_compile.guards import PLAIN
from chainrules_compile.making import CompiledProgram
from chainrules_compile.scope import Scope, identifier
from chainrules_compile.signatures import headed
from chainrules_py import AmbiguousRuleError, Primitive
from chainrules_py.extend import describe, is_library, namespace

_BY_CLASS = '''def NAME(of_numbers, of_arrays):
    """Return a function that computes numbers of Python's in a way of their own."""

    def call(*xs, **options):
        classes = {type(x) for x in xs}
        plain = next((c for c in (complex, float, int) if c in classes), None)
        f = of_numbers.get(plain) if classes <= {complex, float, int} else None
        return (f or of_arrays)(*xs, **options)

    return call
'''
_NAMESPACE = '''def NAME(x):
    """Return the namespace of an array."""
    return numpy
'''


def module_of(name: str, source: str, scope: Scope, f: Any) -> str:
    """Return the text of a module with a program of a function in it.

    Raises
    ------
    RecordingError
        If something that the program uses cannot be written down.
    """
    saving = _Saving()
    miss = scope.name(MISS, "MISS")
    asked = r"    if (not \(  # guards\n(        [^\n]*\n)+    \):|[^\n]*are_apart\w*\([^\n]*)\n"
    source = re.sub(asked + rf"        return {miss}\n", "", source)
    tree = ast.parse(source)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    saving.taken = used | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    saving.taken.add(name)
    for key in sorted(used & scope.keys() - {name}):
        if key in scope.recipes:
            factory, args = scope.recipes[key]
            made_by = saving.member(sys.modules[factory.__module__], factory.__name__)
            saving.lines.append(f"{key} = {made_by}{saving.text(args)}")
        elif scope[key] is not MISS and scope[key] is not None:
            saving.define(key, scope[key])
    error = saving.builtin("ValueError")
    refusal = f'raise {error}("recorded for other arguments; record it anew")'
    text = re.sub(rf"\breturn {miss}$", refusal, source, flags=re.MULTILINE)
    text = headed(text, name, f, lambda x: saving.text(x) if type(x) in PLAIN else None)
    imports = "".join([f"import {module}\n" for module in sorted(saving.imports)])
    lines = "\n".join(saving.lines)
    head = f'"""{name}: recorded, simplified and written by chainrules_compile."""'
    whole = f"{imports}\n{lines}\n\n\n{text}"
    if name in {module.partition(".")[0] for module in saving.imports}:
        refuse(f"the name of a module, {name}, for its function", None)
    whole = f"{head}\n\n{whole}"
    _check(whole, name)
    return whole


def unchanged(programs: Sequence[CompiledProgram], name: str) -> CompiledProgram:
    """Return the newest of the programs for what the function captures now.

    Raises
    ------
    RecordingError
        If there is none: some of what was captured would stand in it as it is, some as it was.
    """
    for program in programs:
        if not program.guards.changed():
            return program
    msg = (
        f"what {name} captures, or a rule that it calls, has changed since it was called last, and "
        f"some of it stands in the program; call it again, and save it then"
    )
    raise RecordingError(msg)


def write_module(path: Path, text: str) -> None:
    """Write a module, and leave none of Python's own of what was there.

    Python tells texts apart by their size and by the second in which they were written.
    """
    path.write_text(text, encoding="utf-8")
    for old in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        old.unlink(missing_ok=True)
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)


def written(path: Any, write: Callable[[Path], object], folder: str = "") -> None:
    """Write to a file that somebody named; or to a folder, where it says for what.

    Raises
    ------
    RecordingError
        If nothing can be written there.
    """
    wanted = "a folder, as 'energy_grad'" if folder else "a file, as 'energy_grad.py'"
    place = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(place, str) or not place or "\0" in place:
        said = describe(path) if place is None else repr(place)
        msg = f"save takes where to write to, and {said} is no path; name {wanted}"
        raise RecordingError(msg)
    if folder and place.endswith(".py"):
        msg = (
            f"{folder} is saved as a folder, not as {place}; name one, or compile it for the "
            f"target 'numpy', and save that"
        )
        raise RecordingError(msg)
    try:
        write(Path(place))
    except OSError as error:
        msg = f"nothing can be written to {place!r} ({error.strerror}); name {wanted}, that may be"
        raise RecordingError(msg) from error


def _check(text: str, name: str) -> None:
    """Raise if a module does not load, or names what is not there."""
    scope: dict[str, Any] = {"__name__": name}
    code = compile(text, name, "exec")
    try:
        exec(code, scope)  # noqa: S102
    except Exception as error:
        refuse(f"what does not load ({type(error).__name__}: {error})", None)
    tree = ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    stored = {node.id for node in ast.walk(tree) if _is_stored(node)}  # type: ignore[attr-defined]
    stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    stored |= {
        (node.asname or node.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.alias)
    }
    defining = ast.FunctionDef, ast.ClassDef, ast.ExceptHandler
    stored |= {node.name for node in ast.walk(tree) if isinstance(node, defining) and node.name}
    for missing in sorted(names - stored - scope.keys() - vars(builtins).keys()):
        refuse(missing, None)


class Left:
    """Stands for what was left out: nothing of it is called for arguments as recorded."""

    def __init__(self, name):  # type: ignore[no-untyped-def]
        self._name = name

    def __call__(self, /, *_, **__):  # type: ignore[no-untyped-def]
        """Say what was left out."""
        msg = f"{self._name} was left out of this module"
        raise NotImplementedError(msg)


class _Saving(Constants):
    def __init__(self) -> None:
        super().__init__()
        self._copies: dict[tuple[str, Any], str] = {}
        self._kept: list[Any] = []

    def function(self, x: Any) -> str | None:
        """Return an expression that gives a function, one of ours too, or a word; or None."""
        found = self.text(x)
        if found is None and isinstance(x, Primitive):
            return self._written(x, sys.modules[x.__module__], x.__name__, x.__name__)
        return found or self._copy(identifier(getattr(x, "__name__", "f").strip("<>")), x)

    def define(self, name: str, x: Any) -> None:
        """Write the line that gives an object a name."""
        x = _public(x)
        if name in self.done:
            if self.done[name] is not x:
                refuse(name, x)
            return
        self.done[name] = x
        if is_builtin(name, x):
            return
        text = self.text(x) or self._copy(name, x)
        if text is None:
            refuse(name, x)
        if text != name:
            self.lines.append(f"{name} = {text}")

    def builtin(self, name: str) -> str:
        """Return the name here of what is Python's own, beside others that are called like it."""
        key = "builtins", name
        if name not in self.taken:
            return name
        if key not in self._copies:
            self._copies[key] = found = self.unused(name, None)
            self.lines.append(f"{found} = {self.known(f'builtins.{name}')}")
        return self._copies[key]

    def once(self, name: str, source: str) -> str:
        """Return the name of what a text defines, with Python's own functions in it."""
        for each in sorted(self.taken & {*re.findall(r"(?<![\w.])\w+", source)} & {*dir(builtins)}):
            known = self.builtin(each)
            source = re.sub(rf"(?<![\w.]){each}\b", known, source)
        return super().once(name, source)

    # ------------------------------------------------------------------------ functions of ours

    def _copy(self, name: str, f: Any) -> str | None:
        """Copy a function, and before it what it uses of its module; return its name, or None."""
        module = sys.modules.get(getattr(f, "__module__", None) or "")
        own = isinstance(f, type) and is_library(f.__module__)
        free = isinstance(f, types.FunctionType) and not f.__closure__
        if module is not None and isinstance(f, types.FunctionType) and f.__closure__:
            return self._closed(module, f, name) if is_library(f.__module__) else None
        if module is None or not (own or free):
            return None
        if f.__name__ == "<lambda>":
            code: Any = f.__code__
            node = _lambda(module, code.co_firstlineno)
            return None if node is None else self._copied(module, name, code, node)
        return self._copied_of(module, f.__name__, name)

    def _closed(self, module: Any, f: types.FunctionType, name: str) -> str | None:
        """Copy a function of ours that holds something: what makes it, called with that."""
        node = _inner(module, f.__code__)
        held = [self.function(cell.cell_contents) for cell in f.__closure__ or ()]
        if node is None or None in held:
            return None
        given = ", ".join(f.__code__.co_freevars)
        making: Any = ast.parse(f"def make({given}):\n    return {node.name}").body[0]
        making.body.insert(0, node)
        made = self._copied(module, f"{name}_of", f.__qualname__, making)
        return f"{made}({', '.join(map(str, held))})"

    def _copied_of(self, module: Any, name: str, hint: str) -> str | None:
        """Copy what a module defines under a name; return the name that it has here, or None."""
        node = _nodes(module).get(name)
        if isinstance(node, ast.ImportFrom):
            home = _home(module, node)
            return self._copied_of(home, *_origin(node, name), hint) if home else None
        if node is None:
            return None
        return self._copied(module, hint, name, node)

    def _copied(self, module: Any, hint: str, name: Any, node: ast.stmt) -> str:
        key = module.__name__, name
        if key not in self._copies:
            self._copies[key] = here = self.unused(hint, None)
            self.lines.append(_Copying(self, module, name, here).text(node))
        return self._copies[key]

    def used(self, module: Any, name: str) -> str:
        """Return the name here of what a module knows under a name; write it down before."""
        x = vars(module)[name]
        if is_builtin(name, x):
            return self.builtin(name)
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
        if x is namespace:
            self.imports.add("numpy")
            return self.once("namespace", _NAMESPACE)
        text = self.text(x)
        found = None if text is not None else self._copied_of(module, name, hint)
        if found is None:
            found = self.unused(hint, None)
            self.lines.append(f"{found} = {text or self._left(module, name)}")
        others = _of_numbers(word, x) if isinstance(word, Primitive) else {}
        if others:
            pairs = [
                f"{self.builtin(cls.__name__)}: {self.function(f) or self._left(module, name)}"
                for cls, f, name in [(cls, f, f.__name__) for cls, f in others.items()]
            ]
            arrays, found = found, self.unused(hint, None)
            given = f"{{{', '.join(pairs)}}}, {arrays}"
            self.lines.append(f"{found} = {self.once('by_class', _BY_CLASS)}({given})")
        if isinstance(word, Primitive) and (given := self._defaults(word)):
            computing, found = found, self.unused(hint, None)
            self.lines.append(f"{found} = {self.known('functools.partial')}({computing}, {given})")
        self._kept.append(word)
        self._copies[key] = found
        return found

    def _defaults(self, word: Primitive[..., Any]) -> str:
        """Return the options of a word that a call may leave out, which what computes it needs."""
        pairs = [(name, self.text(x)) for name, x in word.options.items()]
        return ", ".join([f"{name}={text}" for name, text in pairs if text is not None])

    def _left(self, module: Any, name: str) -> str:
        """Return what stands for something that cannot be copied: it says so if it is called."""
        left = self.once("Left", inspect.getsource(Left).replace("class Left", "class NAME"))
        return f"{left}({f'{module.__name__}.{name}'!r})"


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
        if node.value is None:  # a name that gets a class, and no value yet, as in named tuples
            return ast.AnnAssign(node.target, ast.Name("object", ast.Load()), None, node.simple)
        return self.visit(ast.Assign([node.target], node.value))  # type: ignore[no-any-return]

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value = node.value
        if isinstance(value, ast.Name) and value.id not in self._local:
            module = vars(self._module).get(value.id)
            if isinstance(module, types.ModuleType) and not is_known(module.__name__):
                return ast.Name(self._saving.member(module, node.attr), ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self._name:
            return ast.Name(self._here, node.ctx)
        there = isinstance(node.ctx, ast.Load) and node.id not in self._local
        if there and node.id in vars(self._module):
            return ast.Name(self._saving.used(self._module, node.id), node.ctx)
        if there and node.id in vars(builtins):
            return ast.Name(self._saving.builtin(node.id), node.ctx)
        return node


def _is_stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


@functools.cache
def _nodes(module: Any) -> dict[str, Any]:
    """Return the statements of a module that give names, by name."""
    found: dict[str, Any] = {}
    try:
        source = inspect.getsource(module)
    except (OSError, TypeError):  # of what is written in C
        return found
    for node in ast.parse(source).body:
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
    return (
        found
        if found is not module and found is not None and not is_known(found.__name__)
        else None
    )


def _origin(node: ast.ImportFrom, name: str) -> tuple[str]:
    return (next(alias.name for alias in node.names if (alias.asname or alias.name) == name),)


def _public(x: Any) -> Any:
    """Return the library's own function, where one of ours says which it stands for."""
    return getattr(x, "public", x) if type(x) is types.FunctionType else x


def _computing(x: Any, module: Any, name: str) -> tuple[Any, Any, str]:
    """Return what computes a word with NumPy, and where that is defined; or what is given."""
    if isinstance(x, Primitive):
        count = len(inspect.signature(x.__wrapped__).parameters) - len(x.options)
        x = _public(x.implementation((np.ndarray,) * count) or x.__wrapped__)
        module, name = sys.modules.get(x.__module__, module), getattr(x, "__name__", name)
    elif (public := _public(x)) is not x:
        x, module, name = public, sys.modules.get(public.__module__, module), public.__name__
    elif isinstance(x, (types.FunctionType, type)) or hasattr(x, "__wrapped__"):
        module, name = sys.modules.get(x.__module__, module), x.__name__
    return x, module, name


def _of_numbers(word: Primitive[..., Any], of_arrays: Any) -> dict[type, Any]:
    """Return what computes a word of Python's numbers, by their class, if it is something else."""
    count = len(inspect.signature(word.__wrapped__).parameters) - len(word.options)
    found = {}
    for cls in (complex, float, int) if count else ():
        with contextlib.suppress(AmbiguousRuleError):  # of several libraries, and of none by itself
            found[cls] = word.implementation((cls,) * count)
    return {cls: f for cls, f in found.items() if f is not None and f is not of_arrays}


def refuse(name: str, x: Any) -> None:
    """Raise for what cannot be written down.

    Raises
    ------
    RecordingError
        With its name.
    """
    what = "" if x is None else f", {describe(x)} of {getattr(x, '__module__', 'no module')},"
    msg = (
        f"the program uses {name}{what} which a module that needs NumPy alone cannot have; keep "
        f"the compiled function itself"
    )
    raise RecordingError(msg)


def _inner(module: Any, code: types.CodeType) -> ast.FunctionDef | None:
    """Return the statement that defines a function inside another, without decorators."""
    for x in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(x, ast.FunctionDef) and (x.name, x.lineno) == (
            code.co_name,
            code.co_firstlineno,
        ):
            return x
    return None


def _lambda(module: Any, line: int) -> ast.stmt | None:
    """Return a statement that gives a function without a name, if its line has no other."""
    tree = ast.parse(inspect.getsource(module))
    lines = [x for x in ast.walk(tree) if isinstance(x, ast.Lambda) and x.lineno == line]
    return ast.Assign([ast.Name("f", ast.Store())], lines[0]) if len(lines) == 1 else None
