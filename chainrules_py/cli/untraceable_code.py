"""Constructs that no engine can trace, how to find them in a program, and what to write instead.

A program is read and not run. What to write is the advice of the errors at run time, given for a
line of which only the text is known.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import importlib
import itertools
import linecache
import pkgutil
import re
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_numpy.random_draw_advice import MOVED
from chainrules_py.cli.migrate_from_autograd import lines_of
from chainrules_py.extend import Line, advised, filled, in_place, remedy


@dataclasses.dataclass(frozen=True)
class Obstacle:
    """A construct that loses derivatives, or is refused, with its replacement.

    Attributes
    ----------
    name : str
        A short name, which is its anchor on the page.
    before, after : str
        The body of a function of an array ``x`` that is refused, and of one that traces.
    find : callable
        Yields the lines of a function that are this construct, with their replacements. An empty
        one says that the replacement depends on values.
    """

    name: str
    before: str
    after: str
    find: Callable[[Program, ast.AST], Iterator[tuple[ReadLine, str]]]


@dataclasses.dataclass(frozen=True)
class Found:
    """A line of a program with an obstacle; ``write`` is empty if it depends on values."""

    line: int
    column: int
    obstacle: str
    code: str
    write: str


def obstacles_in(text: str) -> list[Found]:
    r"""Return the lines in the functions of a program that do not trace.

    The program is read, not run; ignore reports about values that are not differentiated.

    Parameters
    ----------
    text : str
        The program.

    Returns
    -------
    list of Found
        In the order of the lines.

    Raises
    ------
    SyntaxError
        If the program is not valid Python.

    Examples
    --------
    >>> for found in obstacles_in("def loss(x):\n    return math.sin(x[0])\n"):
    ...     print(found.line, found.code, "->", found.write)
    2 math.sin(x[0]) -> np.sin(x[0])
    """
    program = Program(text)
    seen: dict[tuple[int, int, str], Found] = {}
    try:
        for function in program.functions:
            for obstacle in (*OBSTACLES, *PLAIN):
                for line, write in obstacle.find(program, function):
                    key = (line.place[1], line.column, obstacle.name)
                    code = line.texts[0].partition("\n")[0].rstrip()
                    seen.setdefault(key, Found(*key, code, program.complete(line, write)))
    finally:
        linecache.cache.pop(program.file, None)
    return [seen[key] for key in sorted(seen)]


class Program:
    """A program that is read: its functions, and what its imports name."""

    def __init__(self, text: str) -> None:
        tree = ast.parse(text)
        self.file = f"<program {id(self)}>"
        linecache.cache[self.file] = (len(text), None, lines_of(text), self.file)
        self.code = compile("", self.file, "exec")  # for advice that reads parameters: of none
        self.imported = _imported(tree)
        self.parents = {
            child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)
        }
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        self.functions = [node for node in ast.walk(tree) if isinstance(node, kinds)]

    def stored(self, name: str) -> Iterator[ast.expr]:
        """Yield the expressions whose values are given to a name."""
        for node in self.parents:
            if (
                isinstance(node, ast.Assign | ast.AnnAssign)
                and node.value is not None
                and name in map(ast.unparse, _targets(node))
            ):
                yield node.value

    def complete(self, line: ReadLine, write: str) -> str:
        """Return a replacement with the parentheses and the imports that it needs."""
        write = re.sub("^((?!use |write ).*?[:;] )?(use|write) ", "", write)
        parent: Any = self.parents.get(line.node)
        beside = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Attribute, ast.Starred)
        of = isinstance(parent, beside) or line.node in (
            getattr(parent, "func", None),
            getattr(parent, "value", None) if isinstance(parent, ast.Subscript) else None,
        )
        try:
            made: Any = ast.parse(write, mode="eval").body if of else ast.Name("x")
        except SyntaxError:  # a statement, or words
            made = ast.Name("x")
        closed = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Call, ast.Tuple)
        write = write if isinstance(made, closed) or write[:1] == "(" else f"({write})"
        for name, path in (
            ("np", "import numpy as np"),
            ("ignore_derivatives", "from chainrules_py import ignore_derivatives"),
        ):
            used = re.search(rf"(?<![\w.]){name}[.(]", write)
            if used and self.imported and name not in self.imported:
                write += (" and" if ", after '" in write else ", after") + f" '{path}'"
        return write


def _imported(tree: ast.AST) -> dict[str, str]:
    """Return the dotted paths of the names that a program imports."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                found[alias.asname or root] = alias.name if alias.asname else root
    return found


@functools.cache
def _object(path: str) -> Any:
    """Return the module or object at a dotted path of ``math``, NumPy or SciPy, or None."""
    if path.partition(".")[0] not in {"cmath", "math", "numpy", "scipy"}:
        return None
    try:
        return pkgutil.resolve_name(path)
    except (ImportError, AttributeError, ValueError):
        return None


class ReadLine(Line):
    """An expression of a program that is not run: any name that is not imported may be traced."""

    node: Any

    def __init__(self, program: Program, node: Any) -> None:
        self.program, self.node, self.column = program, node, node.col_offset
        self.plain: set[str] = set()
        self._position = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
        self.frame = types.SimpleNamespace(f_code=program.code, f_locals={}, f_globals={})
        self.at, self.inner, self.library, self.stored = -1, [], [], None

    def path(self, node: ast.AST) -> str:
        """Return the dotted path of a name or an attribute, by the program's imports, or ''."""
        if isinstance(node, ast.Attribute):
            owner = self.path(node.value)
            return owner and f"{owner}.{node.attr}"
        usual = {"np": "numpy"} | self.program.imported
        return usual.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    def value_of(self, node: ast.AST | None) -> Any:
        """Return an object of a library, or a builtin, that a name leads to, or None."""
        path = self.path(node or ast.Pass())
        found = _object(path)
        if found is None and isinstance(node, ast.Name):
            return getattr(builtins, path, None)
        return super().value_of(node) if found is None and not path else found

    def resolved(self, node: ast.AST) -> Any:
        """Return the module that a name leads to: other values are not known."""
        return self.value_of(node) if isinstance(node, ast.Name) else None

    def traced(self, node: ast.AST | None = None) -> Iterator[str]:
        """Yield the names in an expression that may be of traced values."""
        left: list[Any] = [node or self.node]  # no recursion: a sum may have many terms
        while left:
            part = left.pop()
            called, operator = getattr(part, "func", part), getattr(part, "op", None)
            name = getattr(called, "attr", getattr(called, "id", ""))
            steps = isinstance(part, ast.Compare) or isinstance(operator, ast.FloorDiv | ast.Not)
            if steps or name in _CONSTANT:
                continue
            children = [x for x in ast.iter_child_nodes(part) if not _is_builtin(called, x)]
            left += reversed(children)
            if isinstance(part, ast.Name) and part.id not in self.plain:
                yield from [part.id] * (_object(self.path(part)) is None)

    def varies(self, count: int | None = None) -> bool:
        """Return whether one of the first arguments of the call, or an option, may be traced."""
        plain = {"axis", "dtype", "out", "size"}
        options = [each.value for each in self.node.keywords if each.arg not in plain]
        return any([any(self.traced(each)) for each in (*self.node.args[:count], *options)])

    @property
    def advice(self) -> str:
        """What an error says to write instead of the call; empty if that depends on values."""
        found = remedy(self) or advised(self.function, self) or ""
        return found if found.startswith(("use ", "write ")) else ""


Find = Callable[["Program", ast.AST], Iterator[tuple[ReadLine, str]]]


_CONSTANT = frozenset(
    (
        *("ignore_derivatives", "len", "shape", "ndim", "size", "nbytes"),
        *("argmax", "argmin", "argsort", "argpartition", "lexsort", "searchsorted", "digitize"),
        *("nonzero", "flatnonzero", "argwhere", "count_nonzero"),
        *("floor", "ceil", "trunc", "rint", "round", "fix", "floor_divide"),
        *("isnan", "isfinite", "isinf", "isclose", "allclose", "array_equal", "signbit"),
        *("all", "any"),
    )
)
"""Functions and attributes that are plain, whatever they are of."""


def _is_builtin(called: ast.AST, part: ast.AST) -> bool:
    return part is called and hasattr(builtins, getattr(part, "id", ""))


def _each(write: Callable[[ReadLine, str], str | None], kind: Any = ast.Call) -> Find:
    """Make a search from what to write for a call and the path of its function, or None."""

    def find(program: Program, function: ast.AST) -> Iterator[tuple[ReadLine, str]]:
        for node in ast.walk(function):
            if isinstance(node, kind):
                line = ReadLine(program, node)
                path = line.path(getattr(node, "func", node))
                try:
                    found = write(line, path)
                except RecursionError:  # it has too many parts
                    found = ""
                if found is not None:
                    yield line, found

    return find


def _is_literal(node: ast.AST) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return all([_is_literal(x) for x in node.elts])
    if isinstance(node, ast.UnaryOp):
        return _is_literal(node.operand)
    return isinstance(node, ast.Constant)


def _first(line: ReadLine) -> ast.expr | None:
    """Return the first argument, or None if none is written by its place."""
    return next((arg for arg in line.node.args if not isinstance(arg, ast.Starred)), None)


_PLACES = ("array", "asarray", "asanyarray", "ascontiguousarray")


def _of_floats(line: ReadLine, path: str) -> str | None:
    if path not in [f"numpy.{name}" for name in _PLACES] or not line.varies(1):
        return None
    if (line.option("dtype") or next(iter(line.arguments[1:2]), "None")) in ("None", "object"):
        return None
    return "" if _first(line) is None else line.advice


def _math(line: ReadLine, path: str) -> str | None:
    module, _, name = path.rpartition(".")
    # A traced number can be rounded, to a number that is plain, and multiplied.
    traces = name in ("ceil", "floor", "trunc", "prod")
    if module not in ("math", "cmath") or traces or not line.varies():
        return None
    unpacked = any([isinstance(arg, ast.Starred) for arg in line.node.args]) and name != "hypot"
    unknown = line.node.keywords and name != "isclose"
    write = advised(line.function, line)
    return "" if write and (unpacked or unknown) else write


def _numbers(line: ReadLine, path: str) -> str | None:
    one = len(line.node.args) == 1 and _first(line) is not None and line.varies()
    return line.advice if one and path in ("float", "int", *_FLOATS) else None


_FLOATS = ("numpy.float64", "numpy.float32")


def _members(line: ReadLine, _: str) -> str | None:
    of, name = line.node.func, getattr(line.node.func, "attr", "")
    if name not in ("item", "tolist") or not any(line.traced(of)):
        return None
    write = "list({0})" if name == "tolist" else "{0}"
    if line.node.args:
        write = "{0}.ravel()[{all}]" if len(line.node.args) == 1 else "{0}[{all}]"
    found = filled(write, ast.unparse(of.value), all=", ".join(line.arguments))
    return in_place(found)


def _elements(line: ReadLine, path: str) -> str | None:
    if path == "numpy.nditer":
        return line.advice if line.node.args else ""
    if path != "numpy.fromiter" or not line.varies():
        return None
    dtype = line.option("dtype") or next(iter(line.arguments[1:2]), "")
    if dtype not in ("float", "np.float64", "numpy.float64", "'f8'", "'float64'"):
        return None
    first = _first(line)
    if first is None or len(line.node.args) > 2 or line.option("count"):
        return ""
    return line.advice or f"np.stack([*{ast.unparse(first)}])"


def _means(line: ReadLine, path: str) -> str | None:
    means = ("numpy.mean", "numpy.std", "numpy.var", "numpy.median", "numpy.average")
    listed = isinstance(_first(line), (ast.List, ast.Tuple, ast.ListComp))
    return line.advice if listed and path in means and line.varies() else None


def _texts(line: ReadLine, _: str) -> str | None:
    value = line.node.value
    if line.node.format_spec is None or not any(line.traced(value)):
        return None
    return f"ignore_derivatives({ast.unparse(value)}) there"


def _likes(line: ReadLine, path: str) -> str | None:
    like = line.option("like") if path in _EMPTY else None
    return None if like is None else _like(line, like)


def _mapped(line: ReadLine, path: str) -> str | None:
    if path != "numpy.frompyfunc":
        return None
    return line.advice if line.arguments[2:] == ["1"] and not line.node.keywords else ""


def _out(line: ReadLine, path: str) -> str | None:
    out = next((each.value for each in line.node.keywords if each.arg == "out"), None)
    if out is None or not path.startswith("numpy.") or _is_literal(out) or not line.varies():
        return None
    name = ast.unparse(out)
    if any([_copies(line, x) for x in (out, *line.program.stored(name))]):
        return None  # it may be traced
    line.plain = {name}
    around: Any = line.node
    while not isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.expr_context)):
        around = line.program.parents.get(around, ast.Load())
        if isinstance(around, _INSIDE) and isinstance(out, _NAMED):
            return ""  # there is no line before it
    # An array that the caller passed has to be written to, which a new one of its name is not.
    passed = {x.arg for x in ast.walk(around) if isinstance(x, ast.arg)}
    if isinstance(out, ast.Tuple) or passed & line.plain:
        return ""
    without = line.without("out")
    if without is None or not isinstance(line.program.parents.get(line.node), ast.Expr):
        return line.advice
    return f"use {without.replace('[...]', '', 1)}"


def _copies(line: ReadLine, node: ast.AST) -> bool:
    """Return whether an array is made like another one, which may be traced."""
    called = getattr(node, "func", None)
    return getattr(called, "attr", "") == "copy" or line.path(called or node).endswith("_like")


_INSIDE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMED = (ast.Name, ast.Attribute, ast.Subscript)


def _random(line: ReadLine, path: str) -> str | None:
    owner, _, name = path.rpartition(".")
    drawn = owner == "numpy.random" or bool({*owner.split(".")} & {"rng", "generator"})
    parameters = MOVED.get(name, ("",))[0].count(" ")  # without the size, or the axis
    if not drawn or name not in MOVED or not line.varies(parameters):
        return None
    return advised(getattr(np.random.Generator, name, None) or line.function, line)


def _scipy(line: ReadLine, path: str) -> str | None:
    frozen = isinstance(line.program.parents.get(line.node), ast.Attribute)
    if not path.startswith("scipy.") or not (line.varies() or frozen):
        return None
    if write := advised(line.function, line):
        return write
    owner = path.rpartition(".")[0]
    for place in (path, owner):  # of a method of a distribution, its owner
        module, _, name = place.rpartition(".")
        there = _object(place)
        if there is None or isinstance(there, types.ModuleType):
            continue
        ours = importlib.import_module("chainrules_scipy").OURS.get(module)
        here = getattr(importlib.import_module(ours), name, None) if ours else None
        if here is not None and here is not there:
            return f"use {name}, after 'from {ours} import {name}'"
    return None


_EMPTY = ("numpy.zeros", "numpy.empty", "numpy.ones")
_KEPT = ("numpy.full", "numpy.eye", "numpy.identity", "numpy.array")
"""Functions that make buffers: of numbers of one kind, and of numbers that are kept."""
_WRITERS = ("fill_diagonal", "copyto", "put", "place", "putmask", "put_along_axis", "add.at")


def _like(line: ReadLine, x: str) -> str:
    """Return a call that makes a buffer like x; empty if the options of the buffer are unknown."""
    given = dict(zip(("shape", "dtype", "order"), line.arguments, strict=False))
    given |= {each.arg or "": ast.unparse(each.value) for each in line.node.keywords}
    given.pop("like", None)
    if "" in given or "shape" not in given or any([text[0] == "*" for text in line.arguments]):
        return ""
    options = ", ".join([f"{name}={text}" for name, text in given.items()])
    return f"np.{line.path(line.node.func).rpartition('.')[2]}_like({x}, {options})"


def _is_buffer(line: ReadLine, path: str) -> bool:
    """Return whether a call makes an array of plain floats."""
    if path not in (*_EMPTY, *_KEPT) or line.option("like"):
        return False
    dtype = line.option("dtype") or next(iter(line.arguments[_DTYPES.get(path, 1) :]), None)
    if path in ("numpy.full", "numpy.array"):
        parts = [x for arg in line.node.args for x in ast.walk(arg)]
        kept = line.node.args[-1:] if path == "numpy.full" else line.node.args[:1]
        if any([any(line.traced(x)) for x in kept]):
            return False
        if dtype is None:
            return any([isinstance(getattr(x, "value", None), float) for x in parts])
    return dtype is None or re.match(_WHOLE, dtype) is None


_DTYPES = {"numpy.full": 2, "numpy.eye": 3}
_WHOLE = r"(\w+\.)?(u?int|bool|object|str)|'([<>=|]?[?biuSUO]\d*|u?int\d*|bool|object|str)'"


def _targets(node: Any) -> list[ast.expr]:
    """Return what an assignment stores to."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _writes(node: Any, line: ReadLine) -> Iterator[tuple[Any, ast.AST]]:
    """Yield the arrays that a statement or a call writes to, with what it writes."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
        for target in itertools.chain.from_iterable(map(ast.walk, _targets(node))):
            if isinstance(target, ast.Subscript) and isinstance(target.ctx, ast.Store):
                yield target.value, node.value
    elif isinstance(node, ast.Call) and node.args:
        path = line.path(node.func)
        if path.startswith("numpy.") and path.removeprefix("numpy.") in _WRITERS:
            yield node.args[0], ast.Tuple(node.args[1:])
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "fill":
            yield node.func.value, node.args[0]


def _buffers(program: Program, function: Any) -> Iterator[tuple[ReadLine, str]]:
    made: dict[str, ReadLine] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Call):
            line = ReadLine(program, node.value)
            if _is_buffer(line, line.path(node.value.func)):
                made |= {x.id: line for x in _targets(node) if isinstance(x, ast.Name)}
    for node in ast.walk(function):
        for target, value in _writes(node, ReadLine(program, function)) if made else ():
            while isinstance(target, ast.Subscript):
                target = target.value
            if _is_literal(value) or not isinstance(target, ast.Name) or target.id not in made:
                continue
            line = made.pop(target.id)
            arguments = [x.arg for x in ast.walk(function.args) if isinstance(x, ast.arg)]
            parameters = [name for name in arguments if name not in ("self", "cls")]
            of = [name for name in line.traced(value) if name in parameters]
            shape = {*line.traced()}
            of = [name for name in (*of, *parameters) if name not in shape]
            x = of[0] if of else "x"
            kept = line.path(line.node.func) in _KEPT
            beside = f"{ast.unparse(line.node)} + np.zeros_like({x}, shape=())"
            yield line, beside if kept else _like(line, x)


OBSTACLES = (
    Obstacle(
        "math",
        "return math.sin(x[0])",
        "return np.sin(x[0])",
        _each(_math),
    ),
    Obstacle(
        "number",
        "return float(x[0]) ** 2 + x[1]",
        "return x[0] ** 2 + x[1]",
        _each(_numbers),
    ),
    Obstacle(
        "item",
        "return x[0].item() ** 2",
        "return x[0] ** 2",
        _each(_members),
    ),
    Obstacle(
        "text",
        "return x[0] * len(f'{x[0]:.3f}')",
        "return x[0] * len(f'{ignore_derivatives(x[0]):.3f}')",
        _each(_texts, ast.FormattedValue),
    ),
    Obstacle(
        "asarray",
        "return np.sum(np.asarray(x, dtype=float) ** 2)",
        "return np.sum(x**2)",
        _each(_of_floats),
    ),
    Obstacle(
        "mean",
        "return np.mean([x[0], x[1]])",
        "return np.mean(np.stack([x[0], x[1]]))",
        _each(_means),
    ),
    Obstacle(
        "iterator",
        "return np.sum(np.fromiter((y**2 for y in x), float))",
        "return np.sum(np.stack([y**2 for y in x]))",
        _each(_elements),
    ),
    Obstacle(
        "buffer",
        "b = np.zeros(2)\n    b[0] = x[0] ** 2\n    return np.sum(b)",
        "b = np.zeros_like(x, shape=2)\n    b[0] = x[0] ** 2\n    return np.sum(b)",
        _buffers,
    ),
    Obstacle(
        "out",
        "y = np.empty(2)\n    np.sin(x, out=y)\n    return np.sum(y)",
        "y = np.sin(x)\n    return np.sum(y)",
        _each(_out),
    ),
    Obstacle(
        "vectorize",
        "return np.sum(np.frompyfunc(lambda y: y**2, 1, 1)(x))",
        "from chainrules_numpy.composites.mapping import vectorize\n"
        "    return np.sum(vectorize(lambda y: y**2)(x))",
        _each(_mapped),
    ),
    Obstacle(
        "random",
        "return np.random.normal(x[0], 1.0)",
        "return x[0] + 1.0 * np.random.standard_normal()",
        _each(_random),
    ),
    Obstacle(
        "scipy",
        "import scipy.integrate\n    return scipy.integrate.quad(lambda t: t * x[0], 0.0, 1.0)[0]",
        "from chainrules_scipy.integrate import quad\n"
        "    return quad(lambda t: t * x[0], 0.0, 1.0)[0]",
        _each(_scipy),
    ),
)
"""Constructs that do not trace, in the order in which programs encounter them."""
PLAIN = (
    Obstacle(
        "like",
        "b = np.zeros(2, like=x[0])\n    b[0] = x[0]\n    return np.sum(b)",
        "b = np.zeros_like(x[0], shape=2)\n    b[0] = x[0]\n    return np.sum(b)",
        _each(_likes),
    ),
)
"""Constructs that trace, but do not run with plain numbers."""
