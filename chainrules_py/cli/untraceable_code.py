"""Constructs that no engine can trace, how to find them in a program, and what to write instead."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterator

from chainrules_numpy.list_and_index_advice import stacked_list
from chainrules_numpy.plain_number_advice import OTHERWISE
from chainrules_numpy.random_draw_advice import MOVED, moved


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
        Yields the nodes in a function's body that are this construct, with their replacements.
    """

    name: str
    before: str
    after: str
    find: Callable[[ast.AST], Iterator[tuple[ast.expr, str]]]


@dataclasses.dataclass(frozen=True)
class Found:
    """A line of a program with an obstacle."""

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
    tree = ast.parse(text)
    tree = _Renamed(_imported(tree)).visit(tree)
    seen: dict[tuple[int, int, str], Found] = {}
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        for obstacle in (*OBSTACLES, *PLAIN):
            for node, write in obstacle.find(function):
                key = (node.lineno, node.col_offset, obstacle.name)
                code = (ast.get_source_segment(text, node) or "").partition("\n")[0]
                seen.setdefault(key, Found(*key, code, write))
    return [seen[key] for key in sorted(seen)]


class _Renamed(ast.NodeTransformer):
    """Replaces imported names by their dotted paths."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replace a name by the dotted path that it was imported from."""
        path = self.names.get(node.id)
        found = node if path is None else ast.parse(path, mode="eval").body
        for part in ast.walk(found):
            ast.copy_location(part, node)
        return found


def _imported(tree: ast.AST) -> dict[str, str]:
    """Return the dotted paths of names imported from NumPy, SciPy and ``math``."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            root = node.module.partition(".")[0]
            if root in {"math", "scipy", "numpy"}:
                module = node.module.replace("numpy", "np", 1) if root == "numpy" else node.module
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "numpy" and alias.asname != "np":
                    found[alias.asname or "numpy"] = "np"
                elif alias.asname and alias.name.partition(".")[0] in {"math", "scipy"}:
                    found[alias.asname] = alias.name
    return found


def _calls(body: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(body):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def _is_literal(node: ast.AST) -> bool:
    if isinstance(node, (ast.List, ast.Tuple)):
        return all([_is_literal(x) for x in node.elts])
    if isinstance(node, ast.UnaryOp):
        return _is_literal(node.operand)
    return isinstance(node, ast.Constant)


def _written(node: ast.Call, write: str) -> str:
    """Fill the arguments of a call into the replacement from the table."""
    found = [ast.unparse(arg) for arg in node.args]
    given = [*found, *"xyz"[len(found) :]]
    return write.removeprefix("use ").format(*given, all=", ".join(found or ["x"]), x=given[0])


def _of_floats(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        plain = {"np.array", "np.asarray", "np.asanyarray", "np.ascontiguousarray"}
        typed = len(node.args) > 1 or any([k.arg == "dtype" for k in node.keywords])
        if name in plain and typed and not _is_literal(node.args[0]):
            listed = isinstance(node.args[0], (ast.List, ast.Tuple))
            yield node, ast.unparse(stacked_list(node.args[0]) if listed else node.args[0])


def _buffers(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    made: dict[str, ast.Call] = {}
    for node in ast.walk(body):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name, options = ast.unparse(node.value.func), {k.arg for k in node.value.keywords}
            if name in {"np.zeros", "np.empty", "np.ones"} and "like" not in options:
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        made[target.id] = node.value
    for node in ast.walk(body):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AugAssign) else targets
        for target in targets:
            of = target.value if isinstance(target, ast.Subscript) else None
            if isinstance(of, ast.Name) and of.id in made:
                call = made.pop(of.id)
                shape = ast.unparse(call.args[0]) if call.args else "n"
                yield call, f"{ast.unparse(call.func)}_like(x, shape={shape})"


def _math(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        module, _, function = name.rpartition(".")
        if module == "math" and not all([_is_literal(x) for x in node.args]):
            yield node, _written(node, OTHERWISE.get(function, f"np.{function}({{all}})"))


def _numbers(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        if not node.args or _is_literal(node.args[0]):
            continue
        if name in {"float", "np.float64", "np.float32"}:
            yield node, ast.unparse(node.args[0])
        elif name == "int" and len(node.args) == 1:
            yield node, f"int(ignore_derivatives({ast.unparse(node.args[0])}))"


def _members(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, _ in _calls(body):
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"item", "tolist"}:
            yield node, ast.unparse(node.func.value)


def _elements(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        if name == "np.fromiter":
            yield node, ast.unparse(stacked_list(node.args[0]))
        elif name == "np.nditer":
            yield node, f"np.ravel({ast.unparse(node.args[0])})"


def _means(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        listed = node.args and isinstance(node.args[0], (ast.List, ast.ListComp))
        if listed and name in {"np.mean", "np.std", "np.var"} and not _is_literal(node.args[0]):
            yield node, f"{name}({ast.unparse(stacked_list(node.args[0]))})"


def _texts(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node in ast.walk(body):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            value = ast.unparse(node.value)
            if not value.startswith("ignore_derivatives"):
                yield node, f"ignore_derivatives({value}) there"


def _values(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node in ast.walk(body):
        if isinstance(node, ast.Attribute) and node.attr == "value":
            yield node, f"ignore_derivatives({ast.unparse(node.value)})"


def _likes(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        like = [k.value for k in node.keywords if k.arg == "like"]
        if like and name in {"np.zeros", "np.empty", "np.ones"} and node.args:
            shape = ast.unparse(node.args[0])
            yield node, f"{name}_like({ast.unparse(like[0])}, shape={shape})"


def _mapped(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        if name == "np.frompyfunc":
            f = ast.unparse(node.args[0]) if node.args else "f"
            yield node, f"vectorize({f}), of chainrules_numpy.composites.mapping"


def _out(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        out = [k.value for k in node.keywords if k.arg == "out"]
        if name.startswith("np.") and out:
            rest = ", ".join(map(ast.unparse, node.args))
            yield node, f"{ast.unparse(out[0])} = {name}({rest})"


def _random(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        owner, _, end = name.rpartition(".")
        drawn = owner == "np.random" or owner.partition(".")[0] in {"rng", "generator"}
        if drawn and end in MOVED and not all([_is_literal(x) for x in node.args[:2]]):
            arguments = [ast.unparse(arg) for arg in node.args]
            keywords = {k.arg or "": ast.unparse(k.value) for k in node.keywords}
            yield node, moved(end, owner, arguments, keywords)


@functools.cache
def _counterparts(module: str) -> tuple[str, frozenset[str]]:
    """Return our module for one of SciPy's modules, and the functions that it replaces."""
    if not module.startswith("scipy.") or importlib.util.find_spec("scipy") is None:
        return "", frozenset()
    ours = importlib.import_module("chainrules_scipy").OURS.get(module, "")
    if not ours:
        return "", frozenset()
    here, there = importlib.import_module(ours), importlib.import_module(module)
    names = {n for n in dir(here) if not n.startswith("_") and hasattr(there, n)}
    return ours, frozenset(n for n in names if getattr(here, n) is not getattr(there, n))


def _scipy(body: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    for node, name in _calls(body):
        module, _, function = name.rpartition(".")
        if module.startswith("scipy.stats."):
            yield node, f"from chainrules_scipy.stats import {module.rpartition('.')[2]}"
        elif function in _counterparts(module)[1]:
            yield node, f"from {_counterparts(module)[0]} import {function}"


OBSTACLES = (
    Obstacle(
        "math",
        "return math.sin(x[0])",
        "return np.sin(x[0])",
        _math,
    ),
    Obstacle(
        "number",
        "return float(x[0]) ** 2 + x[1]",
        "return x[0] ** 2 + x[1]",
        _numbers,
    ),
    Obstacle(
        "item",
        "return x[0].item() ** 2",
        "return x[0] ** 2",
        _members,
    ),
    Obstacle(
        "text",
        "return x[0] * len(f'{x[0]:.3f}')",
        "return x[0] * len(f'{ignore_derivatives(x[0]):.3f}')",
        _texts,
    ),
    Obstacle(
        "asarray",
        "return np.sum(np.asarray(x, dtype=float) ** 2)",
        "return np.sum(x**2)",
        _of_floats,
    ),
    Obstacle(
        "mean",
        "return np.mean([x[0], x[1]])",
        "return np.mean(np.stack([x[0], x[1]]))",
        _means,
    ),
    Obstacle(
        "iterator",
        "return np.sum(np.fromiter((y**2 for y in x), float))",
        "return np.sum(np.stack([y**2 for y in x]))",
        _elements,
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
        _out,
    ),
    Obstacle(
        "vectorize",
        "return np.sum(np.frompyfunc(lambda y: y**2, 1, 1)(x))",
        "from chainrules_numpy.composites.mapping import vectorize\n"
        "    return np.sum(vectorize(lambda y: y**2)(x))",
        _mapped,
    ),
    Obstacle(
        "random",
        "return np.random.normal(x[0], 1.0)",
        "return x[0] + 1.0 * np.random.standard_normal()",
        _random,
    ),
    Obstacle(
        "scipy",
        "import scipy.integrate\n    return scipy.integrate.quad(lambda t: t * x[0], 0.0, 1.0)[0]",
        "from chainrules_scipy.integrate import quad\n"
        "    return quad(lambda t: t * x[0], 0.0, 1.0)[0]",
        _scipy,
    ),
)
"""Constructs that do not trace, in the order in which programs encounter them."""
PLAIN = (
    Obstacle(
        "value",
        "return x[0] * x[1].value",
        "return x[0] * ignore_derivatives(x[1])",
        _values,
    ),
    Obstacle(
        "like",
        "b = np.zeros(2, like=x[0])\n    b[0] = x[0]\n    return np.sum(b)",
        "b = np.zeros_like(x[0], shape=2)\n    b[0] = x[0]\n    return np.sum(b)",
        _likes,
    ),
)
"""Constructs that trace, but do not run with plain numbers."""
