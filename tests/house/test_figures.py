"""The figures of docs/design/coverage.md: how much is written for each rule and each row."""

from __future__ import annotations

import ast
import functools
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest

from chainrules_py import Primitive, ops, rules_for
from chainrules_py.primitives.aliases.alias import aliases
from chainrules_py.primitives.plugins import module_of, see, see_all

see(None, (np.ndarray,))
see_all()
ROOT = Path(__file__).resolve().parents[2]
NUMPY = ROOT / "backends" / "chainrules_numpy"
TABLES = [
    *sorted((NUMPY / "function_aliases").glob("*.py")),
    *[
        NUMPY / f"{name}.py"
        for name in ("linalg", "methods", "ufunc_methods", "ufuncs", "in_place_functions")
    ],
]
ENTERS = {"alias", "member", "refused", "row", "ufunc_row"}


def lines_of_code(path):
    """Lines that are neither blank, nor comments, nor docstrings."""
    text = path.read_text(encoding="utf-8")
    found, documentation = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(
            node
        ):
            documentation |= {*range(node.body[0].lineno, node.body[0].end_lineno + 1)}
    beside = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*beside, tokenize.ENDMARKER):
            found |= {*range(token.start[0], token.end[0] + 1)}
    return len(found - documentation)


def lines_of_rows(path):
    """Lines of the statements that enter rows, loops and their tables included."""
    total = 0
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        calls = (n for n in ast.walk(statement) if isinstance(n, ast.Call))
        enters = any(getattr(call.func, "id", "") in ENTERS for call in calls)
        table = isinstance(statement, (ast.Assign, ast.AnnAssign))
        if table or (enters and not isinstance(statement, ast.FunctionDef)):
            total += statement.end_lineno - statement.lineno + 1
    return total


@functools.cache
def figures():
    """By their names on the page, as numbers."""
    operations = [w for w in vars(ops).values() if isinstance(w, Primitive) and rules_for(w)]
    rules = [*(ROOT / "chainrules_py" / "rules").rglob("*.py")]
    rows = [native for native in aliases if is_numpys(native)]
    lowerings = {found for n in rows for found in map(home, aliases[n].lower.values()) if found}
    shared = [found for found in lowerings if found[0] in SHARED]
    return {
        "aliases of NumPy's functions, ufuncs and methods": len(rows),
        "lines of tables for each alias": sum(map(lines_of_rows, TABLES)) / len(rows),
        "operations with a rule": len(operations),
        "lines of code for each of them, both modes": sum(map(lines_of_code, rules))
        / len(operations),
        "the same, with docstrings, comments and blank lines": sum(map(length, rules))
        / len(operations),
        "lowerings that families share": len(shared),
        "lowerings that only one family has": len(lowerings) - len(shared),
    }


SHARED = (
    "chainrules_numpy.keyword_lowerings",
    "chainrules_numpy.function_aliases.alias_constructors",
)


def is_numpys(native):
    """Whether it is a function of NumPy's, or a method of one of its classes."""
    return module_of(getattr(native, "__self__", None) or native).partition(".")[0] == "numpy"


def home(lowering):
    """Where the function of a lowering is written, and its name."""
    function = getattr(lowering, "convert", lowering)
    module = getattr(function, "__module__", "")
    if not module.startswith("chainrules_numpy"):
        return None
    return module, function.__qualname__.partition(".")[0]


def length(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def on_the_page():
    """Name, figure and aim of each row of its first table."""
    text = (ROOT / "docs" / "design" / "coverage.md").read_text(encoding="utf-8")
    for line in text.partition("## Tables are read")[0].splitlines():
        name, figure, aim = (
            [cell.strip() for cell in line.split("|")[1:4]] if "|" in line else [""] * 3
        )
        if name in figures():
            yield name, float(figure), float(aim or "inf")


def test_page_has_the_figures():
    """Up to a twentieth, so that not each new rule changes the page."""
    found = {name: figure for name, figure, _ in on_the_page()}
    assert found == pytest.approx(figures(), rel=0.05)


# A row with keywords is broken by the formatter, one keyword to a line.
MISSED = {"lines of tables for each alias": 2.1, "lines of code for each of them, both modes": 12.4}


def test_aims_are_kept():
    for name, _, aim in on_the_page():
        assert round(figures()[name], 1) <= MISSED.get(name, aim), name  # as the page shows it


def test_import_looks_at_no_entry_points():
    """They are read when a type is first seen: with many packages installed that takes 30 ms."""
    code = (
        "import importlib.metadata as m, numpy, plum, sys\n"
        "def read(*_, **__): raise AssertionError('entry points were read')\n"
        "m.entry_points = read\n"
        "import chainrules_numpy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ------------------------------------------------------------------------------ what comes late


def test_import_reads_no_rule_no_signature_and_no_more_of_numpy():
    """What it costs beyond NumPy and plum is in docs/design/coverage.md."""
    code = (
        "import inspect, numpy, plum, sys\n"
        "before = {*sys.modules}\n"
        "def read(*_, **__): raise AssertionError('a signature was inspected')\n"
        "inspect.signature = read\n"
        "import chainrules_numpy\n"
        "late = ('chainrules_py.rules.', 'chainrules_py.composites.python_number_implementations',"
        " 'chainrules_kit.solvers')\n"
        "print([m for m in sys.modules if m.startswith(late)])\n"
        "print([m for m in {*sys.modules} - before if m.startswith('numpy')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[]", "[]"]


WAITING = """
from chainrules_py.primitives.plugins import _waiting, module_of
late = {}
for name, modules in _waiting.items():
    for module in modules:
        late.setdefault(module, set()).add(name)
"""


@pytest.fixture(scope="session")
def late():
    """The modules that wait for others in a new process, with what each waits for."""
    imports = "import chainrules_py.ops, chainrules_numpy, chainrules_scipy"
    code = f"{imports}\n{WAITING}\nprint(late)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ast.literal_eval(done.stdout)


@pytest.mark.parametrize(
    "name", sorted(n for n, w in vars(ops).items() if isinstance(w, Primitive))
)
def test_files_that_come_late_wait_for_each_of_their_operations(name, late):
    """Else a rule, or an implementation, is missing until something else loads its file."""
    operation = vars(ops)[name]
    written = [s.source.module for s in rules_for(operation)]
    written += [getattr(f, "__module__", "") for f in operation._methods.methods.values()]
    written.append(getattr(operation._fallback, "__module__", ""))
    for module in set(written) & late.keys():
        assert operation.__module__ in late[module], (
            f"{module} does not wait for {operation.__module__}"
        )


def test_files_with_rows_wait_for_each_of_their_functions():
    code = (
        "import importlib, numpy as np, sys\n"
        "import chainrules_numpy\n"
        "from chainrules_py.primitives.aliases.alias import aliases\n"
        f"{WAITING}"
        "for module in sorted(late):\n"
        "    rows, loaded = {*aliases}, {*sys.modules}\n"
        "    importlib.import_module(module)\n"
        "    about = {a for m in {*sys.modules} - loaded for a in late.get(m, ())}\n"
        "    for f in {*aliases} - rows:\n"
        "        ufunc = getattr(f, '__self__', None)\n"
        "        home = ufunc if isinstance(ufunc, np.ufunc) else f\n"
        "        assert module_of(home) in about, (module, f, module_of(home))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
