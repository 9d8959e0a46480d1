"""Definitions of functions: from a function to what it was written as, and back to its code."""

from __future__ import annotations

import ast
import contextlib
import dis
import functools
import linecache
import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias, final

Definition: TypeAlias = ast.FunctionDef | ast.Lambda


@final
class Source:
    """The definition of a function, and what it is compiled to.

    Nothing is run: what is written otherwise is compiled, and its code stands in the function for a
    while. The bytecode of the definition is that of the function, so the file is the one that was
    read when the function was made.

    Attributes
    ----------
    function : function
        The function.
    node : ast.FunctionDef or ast.Lambda
        Its definition, which may be changed.
    """

    def __init__(self, function: FunctionType, node: Definition, imports: list[ast.stmt]) -> None:
        self.function = function
        self.node = node
        self._module = _Module(node, function.__code__, imports, keeps=True)

    @property
    def body(self) -> list[ast.stmt] | list[ast.expr]:
        """The statements of the definition, or the expression of a lambda."""
        return [self.node.body] if isinstance(self.node, ast.Lambda) else self.node.body

    @property
    def has_loop(self) -> bool:
        """Whether a loop may run for ever if anything is changed."""
        return any(isinstance(n, ast.While) for part in self.body for n in ast.walk(part))

    def compiled(self) -> CodeType | None:
        """Compile the definition as it is now; None if it cannot stand in the function."""
        code = self._module.compiled(self.node)
        same = code is not None and code.co_freevars == self.function.__code__.co_freevars
        return code if same else None

    @contextlib.contextmanager
    def standing_in(self, code: CodeType, **names: Any) -> Iterator[None]:
        """Let other code stand in the function, with names that it knows besides."""
        before, known = self.function.__code__, self.function.__globals__
        self.function.__code__ = code
        known.update(names)
        try:
            yield
        finally:
            self.function.__code__ = before
            for name in names:
                del known[name]


def reached(functions: Iterable[Any]) -> list[FunctionType]:
    """List functions, and what they reach: what they hold, and by names of files of no library.

    Examples
    --------
    >>> outer = lambda inner: lambda x: inner(x)
    >>> len(reached([outer(lambda x: x)]))
    2
    """
    return [x for x in walked(functions) if isinstance(x, FunctionType)]


def walked(functions: Iterable[Any]) -> list[Any]:
    """List functions, what they hold, and what that holds, as far as they ask for it by name.

    Examples
    --------
    >>> walked([lambda x, n=37.0: x == n])[1:]
    [37.0]
    """
    found: dict[tuple[int, int], Any] = {}
    todo: list[tuple[Any, FunctionType | None]] = [(x, None) for x in functions]
    for x, by in todo:
        is_function = isinstance(x, FunctionType)
        key = id(x), 0 if is_function else id(by)
        if key not in found and len(todo) < _MANY:
            found[key] = x
            by = x if is_function else by
            todo += [(inner, by) for inner in _inside(x, by)]
    return list(found.values())


_MANY, _FEW = 2000, 40
_CONTAINERS = tuple, list, set, frozenset


def _inside(x: Any, by: FunctionType | None) -> Iterable[Any]:
    """List what a function holds, a container, or an object that a function asks for names."""
    if isinstance(x, FunctionType):
        named = [x.__globals__[name] for name in _globals_in(x.__code__) if name in x.__globals__]
        held = [y for y in named if _is_own(y, x)]
        for cell in x.__closure__ or ():
            with contextlib.suppress(ValueError):  # it is empty yet
                held.append(cell.cell_contents)
        return [*held, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()]
    if isinstance(x, _CONTAINERS):
        return list(x)[:_FEW]
    if isinstance(x, dict):
        return [*x, *x.values()][:_FEW]
    if isinstance(x, functools.partial):
        return x.func, *x.args, *x.keywords.values()
    if isinstance(x, MethodType):
        return x.__func__, x.__self__
    names = [] if by is None else names_in(by.__code__)
    own = getattr(x, "__dict__", {})
    if isinstance(x, (type, ModuleType)):
        return [own[n] for n in names if n in own and by is not None and _is_own(own[n], by)]
    module = type(x).__module__
    if _is_of_library(module):  # of functools, say
        inner = [own[n] for n in _WRAPPED if n in own and not module.startswith("chainrules_")]
        return [y for y in inner if by is None or _is_own(y, by)]
    return [*own.values(), *[vars(type(x)).get(n) for n in ("__call__", *names)]]


_WRAPPED = "__wrapped__", "pyfunc"


def _is_own(x: Any, by: FunctionType) -> bool:
    """Tell whether something says more of who asks for it than that a library has it."""
    if isinstance(x, FunctionType):
        same = x.__code__.co_filename == by.__code__.co_filename
        return same or not _is_of_library(x.__module__)
    kept = isinstance(x, (*_CONTAINERS, dict, functools.partial, MethodType, ModuleType))
    if kept or not hasattr(x, "__dict__") or any(hasattr(x, name) for name in _WRAPPED):
        return True
    return not _is_of_library((x if isinstance(x, type) else type(x)).__module__)


@functools.cache
def _is_of_library(module: str | None) -> bool:
    root = (module or "builtins").partition(".")[0]
    known = root in sys.stdlib_module_names and root != "__main__"
    place = getattr(sys.modules.get(root), "__file__", None) or ""
    return known or root.startswith("chainrules_") or "site-packages" in place


def names_in(code: CodeType) -> list[str]:
    """List the names that code asks for, with what is defined in it."""
    return [*code.co_names, *[n for inner in _codes(code) for n in names_in(inner)]]


@functools.lru_cache(maxsize=512)
def _globals_in(code: CodeType) -> list[str]:
    """List the global names that code asks for: an attribute, as ``.T``, may be called the same."""
    own = [step.argval for step in dis.get_instructions(code) if step.opname in _GLOBAL]
    return list(dict.fromkeys(own + [n for inner in _codes(code) for n in _globals_in(inner)]))


_GLOBAL = "LOAD_GLOBAL", "LOAD_NAME"


def source_of(function: Any) -> Source | None:
    """Find the definition of a function; None where there is none that is certainly it.

    Examples
    --------
    >>> source_of(len) is None
    True
    """
    if not isinstance(function, FunctionType):
        return None
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename))
    if not text or len(text) > _LONG:
        return None
    definitions, imports = _definitions(text)
    for node in definitions.get((code.co_name, code.co_firstlineno), ()):
        made = _Module(node, code, imports, keeps=False).compiled(node)
        if made is not None and _same(made, code):
            return Source(function, _copied(node), imports)
    return None


_LONG = 400_000


@functools.lru_cache(maxsize=8)
def _definitions(text: str) -> tuple[dict[tuple[str, int], list[Definition]], list[ast.stmt]]:
    """List the definitions in a file, by the name and the first line of their code.

    Besides, what the file imports: a call of what a module has is compiled in another way.
    """
    found: dict[tuple[str, int], list[Definition]] = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return found, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
            found.setdefault((node.name, first), []).append(node)
    imported = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    return found, [n for n in imported if getattr(n, "module", "") != "__future__"]


def _copied(node: Definition) -> Definition:
    """Copy a definition: its like in the table of its file stays as it is."""
    module = ast.parse(ast.unparse(_stripped(node)))
    made = module.body[0]
    if isinstance(made, ast.Expr):
        made = made.value  # type: ignore[assignment]
    assert isinstance(made, (ast.FunctionDef, ast.Lambda))
    ast.increment_lineno(made, node.lineno - 1)
    return made


def _stripped(node: Definition) -> Definition:
    """Leave out what is no part of a function's code: decorators, defaults, annotations."""
    args = node.args
    bare: Callable[[ast.arg], ast.arg] = lambda a: ast.arg(a.arg)
    plain = ast.arguments(
        posonlyargs=[bare(a) for a in args.posonlyargs],
        args=[bare(a) for a in args.args],
        vararg=bare(args.vararg) if args.vararg else None,
        kwonlyargs=[bare(a) for a in args.kwonlyargs],
        kw_defaults=[None] * len(args.kwonlyargs),
        kwarg=bare(args.kwarg) if args.kwarg else None,
        defaults=[],
    )
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Lambda(plain, node.body), node)
    return ast.copy_location(_function(node.name, plain, node.body), node)


def _function(name: str, args: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made: Any = ast.FunctionDef(name, args, body, [], None, None)
    made.type_params = []  # of Python 3.12 and later
    return made  # type: ignore[no-any-return]


@final
class _Module:
    """A definition inside a function that has the names which it takes from outside.

    With ``keeps`` it takes all of them, whether they are used or not. What is changed inside of its
    statements is changed here.
    """

    def __init__(
        self, node: Definition, code: CodeType, imports: list[ast.stmt], *, keeps: bool
    ) -> None:
        plain = _stripped(node)
        outside = code.co_freevars
        self._pair: Any = None
        if keeps and outside:
            names: Any = ast.Tuple([ast.Name(n, ast.Load()) for n in outside], ast.Load())
            last = ast.Lambda(_NOTHING, names)
            if isinstance(plain, ast.Lambda):
                self._pair = ast.Tuple([plain.body, last], ast.Load())
                plain.body = ast.Subscript(self._pair, ast.Constant(0), ast.Load())
            else:
                plain.body = [*plain.body, ast.Expr(last)]
        self._plain: Any = plain
        inner: Any = ast.Expr(plain) if isinstance(plain, ast.Lambda) else plain
        given = ast.arguments([], [ast.arg(n) for n in outside], None, [], [], None, [])
        outer = _function("outer", given, [inner])
        self._tree = ast.fix_missing_locations(ast.Module([*imports, outer], []))
        self._file = code.co_filename

    def compiled(self, node: Definition) -> CodeType | None:
        if isinstance(node, ast.Lambda):  # the whole of it may be another expression now
            if self._pair is not None:
                self._pair.elts[0] = node.body
            else:
                self._plain.body = node.body
        try:
            made = compile(self._tree, self._file, "exec", dont_inherit=True, optimize=-1)
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return None
        return next(_codes(next(_codes(made))), None)


_NOTHING = ast.arguments([], [], None, [], [], None, [])


def _codes(code: CodeType) -> Iterator[CodeType]:
    return (c for c in code.co_consts if isinstance(c, CodeType))


def _same(a: CodeType, b: CodeType) -> bool:
    """Tell whether two pieces of code do the same, wherever they stand."""
    plain = [[repr(x) for x in c.co_consts if not isinstance(x, CodeType)] for c in (a, b)]
    inner = [list(_codes(c)) for c in (a, b)]
    return (
        a.co_code == b.co_code
        and (a.co_names, a.co_varnames, a.co_freevars) == (b.co_names, b.co_varnames, b.co_freevars)
        and plain[0] == plain[1]
        and len(inner[0]) == len(inner[1])
        and all(map(_same, *inner))
    )
