"""What no engine can see through in a program, how to find it, and what to write instead."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterator


@dataclasses.dataclass(frozen=True)
class Obstacle:
    """A construct that loses derivatives, or is refused, with what to write in its place.

    Attributes
    ----------
    name : str
        A short name, which is its anchor on the page.
    before, after : str
        The body of a function of an array ``x`` that is refused, and one that traces.
    why : str
        One sentence.
    find : callable
        Yields the nodes of a function's body where it stands, and what to write there.
    """

    name: str
    before: str
    after: str
    why: str
    find: Callable[[ast.AST], Iterator[tuple[ast.AST, str]]]


@dataclasses.dataclass(frozen=True)
class Found:
    """A line of a program where there is an obstacle."""

    line: int
    column: int
    obstacle: str
    code: str
    write: str


def obstacles_in(text: str) -> list[Found]:
    r"""Return the lines of a program, in its functions, that do not trace.

    It reads, and runs nothing; what it says of a value that is not differentiated can be ignored.

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
        If it is no Python.

    Examples
    --------
    >>> for found in obstacles_in("def loss(x):\n    return math.sin(x[0])\n"):
    ...     print(found.line, found.code, "->", found.write)
    2 math.sin(x[0]) -> np.sin
    """
    tree = ast.parse(text)
    names = _imported(tree)
    seen: dict[tuple[int, int, str], Found] = {}
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        body = _Renamed(names).visit(ast.parse(ast.unparse(function))) if names else function
        plain = [*ast.walk(function)]
        for obstacle in OBSTACLES:
            for node, write in obstacle.find(body):
                at = _same(node, body, plain, function)
                key = (at.lineno, at.col_offset, obstacle.name)
                code = ast.unparse(at).splitlines()[0]
                seen.setdefault(key, Found(at.lineno, at.col_offset, obstacle.name, code, write))
    return [seen[key] for key in sorted(seen)]


class _Renamed(ast.NodeTransformer):
    """Writes names that were imported from a module as the module has them."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Replace a name by the dotted path that it was imported as."""
        path = self.names.get(node.id)
        return node if path is None else ast.parse(path, mode="eval").body


def _same(node: ast.AST, body: ast.AST, plain: list[ast.AST], function: ast.AST) -> ast.expr:
    """Return the node of the program that one of its renamed copy was made of."""
    if body is function:
        return node  # type: ignore[return-value]
    kind = type(node)
    copies = [n for n in ast.walk(body) if type(n) is kind]
    originals = [n for n in plain if type(n) is kind]
    return originals[copies.index(node)]  # type: ignore[return-value]


def _imported(tree: ast.AST) -> dict[str, str]:
    """Return what short names stand for, as far as obstacles are concerned."""
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


def _of_floats(body: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node, name in _calls(body):
        plain = {"np.array", "np.asarray", "np.asanyarray", "np.ascontiguousarray"}
        typed = len(node.args) > 1 or any([k.arg == "dtype" for k in node.keywords])
        if name in plain and typed and not _is_literal(node.args[0]):
            yield node, "the value as it is, its .copy(), or chainrules_tape.asarray"


def _buffers(body: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    made = {}
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
                yield made.pop(of.id), "np.zeros(n, like=x)"


def _math(body: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node, name in _calls(body):
        if name.startswith("math.") and not all([_is_literal(x) for x in node.args]):
            other = {
                "math.fabs": "np.abs",
                "math.pow": "np.power",
                "math.gamma": "scipy.special.gamma",
            }
            other |= {"math.erf": "scipy.special.erf", "math.lgamma": "scipy.special.gammaln"}
            yield node, other.get(name, name.replace("math.", "np."))


def _numbers(body: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node, name in _calls(body):
        if name == "float" and node.args and not _is_literal(node.args[0]):
            yield node, "the value as it is"
        elif name in {"int", "round"} and len(node.args) == 1 and not _is_literal(node.args[0]):
            yield node, f"{name}(x.value), which is a constant"


def _members(body: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node, _ in _calls(body):
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"item", "tolist"}:
            yield node, "the array as it is, or ignore_derivatives(x)." + node.func.attr + "()"


def _mapped(body: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node, name in _calls(body):
        if name == "np.frompyfunc":
            yield node, "vectorize of chainrules_py.composites.functional, or a program of arrays"


def _out(body: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node, name in _calls(body):
        if name.startswith("np.") and any([keyword.arg == "out" for keyword in node.keywords]):
            yield node, "y = " + name + "(...), without out="


def _random(body: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node, name in _calls(body):
        end = name.rpartition(".")[2]
        drawn = name.startswith("np.random.") or name.partition(".")[0] in {"rng", "generator"}
        kinds = {"normal", "uniform", "exponential", "gamma", "beta"}
        if drawn and end in kinds and not all([_is_literal(x) for x in node.args[:2]]):
            yield node, "loc + scale * rng.standard_normal(shape), and so on"


@functools.cache
def _counterparts(module: str) -> tuple[str, frozenset[str]]:
    """Return our module for one of SciPy's, and the functions of it that have a counterpart."""
    if not module.startswith("scipy.") or importlib.util.find_spec("scipy") is None:
        return "", frozenset()
    ours = importlib.import_module("chainrules_scipy").OURS.get(module, "")
    if not ours:
        return "", frozenset()
    here, there = importlib.import_module(ours), importlib.import_module(module)
    names = {n for n in dir(here) if not n.startswith("_") and hasattr(there, n)}
    return ours, frozenset(n for n in names if getattr(here, n) is not getattr(there, n))


def _scipy(body: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    for node, name in _calls(body):
        module, _, function = name.rpartition(".")
        if module.startswith("scipy.stats."):
            yield node, f"from chainrules_scipy.stats import {module.rpartition('.')[2]}"
        elif function in _counterparts(module)[1]:
            yield node, f"from {_counterparts(module)[0]} import {function}"


OBSTACLES = (
    Obstacle(
        "asarray",
        "return np.sum(np.asarray(x, dtype=float) ** 2)",
        "return np.sum(x**2)",
        "What is traced is an array already; a plain copy of it would have no derivative.",
        _of_floats,
    ),
    Obstacle(
        "buffer",
        "b = np.zeros(2)\n    b[0] = x[0] ** 2\n    return np.sum(b)",
        "b = np.zeros(2, like=x)\n    b[0] = x[0] ** 2\n    return np.sum(b)",
        "A plain buffer holds plain numbers.",
        _buffers,
    ),
    Obstacle(
        "math",
        "return math.sin(x[0])",
        "return np.sin(x[0])",
        "The functions of `math` take Python's numbers alone.",
        _math,
    ),
    Obstacle(
        "number",
        "return float(x[0]) ** 2",
        "return x[0] ** 2",
        "Python lets nobody but a plain number come out of `float`, `int` and `round`.",
        _numbers,
    ),
    Obstacle(
        "item",
        "return x[0].item() ** 2",
        "return x[0] ** 2",
        "`item` and `tolist` give plain numbers.",
        _members,
    ),
    Obstacle(
        "vectorize",
        "return np.sum(np.frompyfunc(lambda y: y**2, 1, 1)(x))",
        "from chainrules_py.composites.functional import vectorize\n"
        "    return np.sum(vectorize(lambda y: y**2)(x))",
        "NumPy calls the function for elements, in C, and says nothing of a derivative.",
        _mapped,
    ),
    Obstacle(
        "out",
        "y = np.empty(2)\n    np.sin(x, out=y)\n    return np.sum(y)",
        "y = np.sin(x)\n    return np.sum(y)",
        "What is written into plain memory has no derivative.",
        _out,
    ),
    Obstacle(
        "random",
        "return np.random.normal(x[0], 1.0)",
        "rng = np.random.default_rng(0)\n    return x[0] + 1.0 * rng.standard_normal()",
        "Random numbers are drawn from plain parameters.",
        _random,
    ),
    Obstacle(
        "scipy",
        "import scipy.integrate\n    return scipy.integrate.quad(lambda t: t * x[0], 0.0, 1.0)[0]",
        "from chainrules_scipy.integrate import quad\n"
        "    return quad(lambda t: t * x[0], 0.0, 1.0)[0]",
        "SciPy's functions that are written in Python or C make plain arrays first; ufuncs do not.",
        _scipy,
    ),
)
"""What does not trace, in the order in which programs meet it."""
