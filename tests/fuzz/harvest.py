"""Calls that others wrote: those of the docstrings and test suites of NumPy and SciPy, noted.

Their text is run with each call ``f(x)`` written as ``note(f, x)``; what is called by its public
name with real or complex numbers is kept, a few forms (dtypes, axes, options) of each function.

    python -m tests.fuzz.harvest                              # of all docstrings
    python -m tests.fuzz.harvest 4 5 6                        # of some of 60 parts of them
    python -m tests.fuzz.harvest linalg/tests/test_basic.py   # of SciPy's, or NumPy's, suites
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import copy
import doctest
import importlib
import io
import signal
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

MODULES = (
    *("numpy", "numpy.linalg", "numpy.fft", "numpy.lib.scimath", "numpy.polynomial.polynomial"),
    *("scipy.linalg", "scipy.special", "scipy.stats", "scipy.signal", "scipy.signal.windows"),
    *("scipy.ndimage", "scipy.interpolate", "scipy.integrate", "scipy.optimize", "scipy.fft"),
    *("scipy.spatial", "scipy.spatial.distance", "scipy.spatial.transform"),
)
FORMS = 30
"""So many forms of one function are kept."""
PARTS = 60
"""So many parts docstrings are taken in."""
LARGEST = 600
"""So many numbers a call has at most."""


class Harvested(NamedTuple):
    """Call of a function, or of a method of what another call made."""

    name: str
    made_by: Harvested | None
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def _public() -> dict[int, tuple[str, Any]]:
    names: dict[int, tuple[str, Any]] = {}
    for home in MODULES:
        module = importlib.import_module(home)
        for name in dir(module):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = getattr(module, name, None)
            if name[0] == "_" or not callable(found) or isinstance(found, types.ModuleType):
                continue
            if not (isinstance(found, type) and issubclass(found, (np.generic, BaseException))):
                names.setdefault(id(found), (f"{home}.{name}", found))
    return names


def has_numbers(x: Any, depth: int = 4) -> bool:
    """Tell whether something is, or holds, real or complex numbers."""
    if isinstance(x, (list, tuple)):
        return depth > 0 and any([has_numbers(item, depth - 1) for item in x])
    dtype = x.dtype if isinstance(x, (np.ndarray, np.generic)) else type(x)
    return dtype in (float, complex) or getattr(dtype, "kind", "") in ("f", "c")


def size(x: Any) -> int:
    if isinstance(x, (list, tuple)):
        return sum(map(size, x))
    return int(getattr(x, "size", 1)) if isinstance(x, np.ndarray) else 1


def _form(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        lengths = tuple([min(n, 2) for n in x.shape])
        return type(x).__name__, x.dtype.str, lengths, x.flags.c_contiguous, x.flags.writeable
    if isinstance(x, (list, tuple)):
        return type(x).__name__, *map(_form, x[:3])
    if isinstance(x, (float, complex)):
        return type(x).__name__, x != x, abs(x) == np.inf, x == 0
    return repr(x)[:40] if isinstance(x, (bool, int, str, type, type(None))) else type(x).__name__


class Harvest:
    """Calls that were noted."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, Harvested]] = {}
        self._names = _public()
        self._made: dict[int, tuple[Any, Harvested]] = {}
        self._inside = False

    def note(self, function: Any, /, *args: Any, **options: Any) -> Any:
        """Call a function; keep the call, if it is one of NumPy's or SciPy's, and ends well."""
        noted = None
        if not self._inside:
            self._inside = True
            with contextlib.suppress(Exception):  # of what cannot be copied
                noted = self._noted(function, args, options)
            self._inside = False
        result = function(*args, **options)
        if noted is not None:
            forms = self.calls.setdefault(noted.name, {})
            form = str([*map(_form, args), *[(k, _form(x)) for k, x in sorted(options.items())]])
            if len(forms) < FORMS:
                forms.setdefault(form, noted)
            if type(result).__module__.startswith("scipy."):
                self._made[id(result)] = result, noted
        return result

    def _noted(self, function: Any, args: Any, options: Any) -> Harvested | None:
        name, made_by = self._name(function)
        if name is None:
            return None
        owner = getattr(function, "__self__", None)
        args = (owner, *args) if name.startswith("ndarray.") else args
        given = [*args, *options.values()]
        held = [*made_by.arguments, *made_by.options.values()] if made_by else []
        if sum(map(size, given)) > LARGEST or not any(map(has_numbers, given + held)):
            return None
        return Harvested(name, made_by, *copy.deepcopy((args, options)))

    def _name(self, function: Any) -> tuple[str | None, Harvested | None]:
        known = self._names.get(id(function))
        if known is not None and known[1] is function:
            return known[0], None
        owner, name = (getattr(function, key, None) for key in ("__self__", "__name__"))
        if isinstance(owner, np.ndarray):
            return f"ndarray.{name}", None
        for what, last in ((owner, f".{name}"), (function, "")):
            known = self._names.get(id(what))
            if last and known is not None and known[1] is what:
                return known[0] + last, None
            made = self._made.get(id(what))
            if made is not None and made[0] is what:
                return f"{made[1].name}(){last}", made[1]
        return None, None


class _Noting(ast.NodeTransformer):
    """Writes ``note(f, x)`` for ``f(x)``, but where the place of a call counts."""

    left = frozenset(("super", "locals", "globals", "vars", "dir", "eval", "exec", "print"))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in self.left:
            return node
        note = ast.copy_location(ast.Name("__note__", ast.Load()), node)
        return ast.copy_location(ast.Call(note, [node.func, *node.args], node.keywords), node)


def noting(tree: Any) -> Any:
    """Rewrite the calls of a program."""
    return ast.fix_missing_locations(_Noting().visit(tree))


class _TooLongError(BaseException):  # which nothing that runs meanwhile suppresses
    pass


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """Raise in what takes longer."""

    def late(*_: Any) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)  # again, where a callback's error is lost
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def of_docstrings(every: int = 1, start: int = 0) -> Harvest:
    """Run the examples of all public functions, or of some, and note their calls."""
    harvest = Harvest()
    texts = {doc for _, f in harvest._names.values() if ">>>" in (doc := f.__doc__ or "")}
    builtins.__note__ = harvest.note  # type: ignore[attr-defined]
    for text in sorted(texts)[start::every]:
        names: dict[str, Any] = {"np": np, "numpy": np, "scipy": scipy}
        np.random.seed(0)  # noqa: NPY002 (as they draw)
        for example in doctest.DocTestParser().get_examples(text):
            if "plt" in example.source:
                continue
            with (
                contextlib.suppress(Exception, _TooLongError),
                contextlib.redirect_stdout(io.StringIO()),
                warnings.catch_warnings(),
                at_most(10),
            ):
                warnings.simplefilter("ignore")
                code = compile(noting(ast.parse(example.source)), "<docstring>", "exec")
                exec(code, names)
    return harvest


def of_suites(*files: str) -> Harvest:
    """Run test modules of NumPy and SciPy, and note their calls."""
    import _pytest.assertion.rewrite as rewriting
    import pytest

    harvest = Harvest()
    builtins.__note__ = harvest.note  # type: ignore[attr-defined]
    site = Path(np.__file__).parent.parent
    paths = [str(path) for file in files for path in site.glob(f"*/{file}")]
    rewriting.rewrite_asserts = lambda tree, *_: noting(tree)  # nobody reads what they say
    rewriting._read_pyc = lambda *_, **__: None
    rewriting._write_pyc = lambda *_, **__: True
    said = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:warnings", "-c", "/dev/null"]
    where = ["--rootdir", str(site), "--confcutdir", str(site), "--import-mode=importlib"]
    pytest.main([*said, "-m", "not slow and not xslow", *where, *paths])
    return harvest


def main(arguments: list[str]) -> int:
    """Print what is wrong with calls, and return how many were looked at."""
    from tests.fuzz.harvested import judged

    parts = [int(x) for x in arguments if x.isdigit()]
    found = [of_suites(*arguments)] if arguments and not parts else []
    found += [of_docstrings(PARTS, part) for part in (() if found else parts or range(PARTS))]
    calls = [call for each in found for forms in each.calls.values() for call in forms.values()]
    for call in calls:
        with contextlib.redirect_stdout(io.StringIO()):  # what is called may print
            wrong = judged(call)
        for line in wrong:
            print(call.name, line, flush=True)
    return len(calls)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # examples write files
        print(main(sys.argv[1:]), "calls")
