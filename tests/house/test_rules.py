"""The rules' house: where derivatives are stated, who names operations, and what has samples."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
import tokenize
from pathlib import Path

import pytest

from chainrules_py import Primitive, ops, rules_for
from chainrules_py.testing import backends
from chainrules_py.testing.samples import samples_of

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "chainrules_py"
BACKENDS = sorted(p for p in (ROOT / "backends").rglob("*.py"))
ENGINE = ROOT / "backends" / "chainrules_tape"  # and what is done with it, which knows operations
TAPE = sorted(
    [p for p in ENGINE.rglob("*.py") if p.relative_to(ENGINE).parts[0] not in {"tools", "pictures"}]
    + [*(CORE / "tracing").rglob("*.py")]
)
OPERATIONS = {
    name: operation for name, operation in vars(ops).items() if isinstance(operation, Primitive)
}


def name(path):
    return path.relative_to(ROOT).as_posix()


def test_operations_are_exported_under_their_own_names():
    assert {n for n in ops.__dict__ if n in OPERATIONS} == {w.__name__ for w in OPERATIONS.values()}


@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_operation_with_a_rule_has_samples(operation):
    if rules_for(OPERATIONS[operation]):
        assert samples_of(OPERATIONS[operation]), (
            f"enter {operation} in the table of chainrules_py/testing/samples"
        )


# Operations that write into a buffer of the engine's own, which nobody differentiates in.
_WRITING = {"add_along_axis", "add_at"}


@pytest.mark.parametrize("operation", sorted(OPERATIONS.keys() - _WRITING))
def test_operation_has_a_rule(operation):
    assert rules_for(OPERATIONS[operation]), (
        "state one, or non_differentiable, in chainrules_py/rules"
    )


# ------------------------------------------------------------------------- one door for statements

_DOORS = {"enter", "Statement"}
_DOORKEEPERS = {
    "chainrules_py/primitives/primitive.py",
    "chainrules_py/registry/constructors.py",
    "backends/chainrules_kit/custom_derivatives/custom_jvp_vjp.py",
    "backends/chainrules_kit/custom_derivatives/augmented_rule.py",
    "backends/chainrules_kit/custom_derivatives/rules_from_engine_functions.py",
    "chainrules_py/registry/table.py",
    # Constructors that stand outside of the core, and what puts statements around people's
    # statements.
    "backends/chainrules_autograd/extend.py",
    "backends/chainrules_kit/custom_derivatives/hooks.py",
    "backends/chainrules_tape/tools/derived_rules.py",
    "backends/chainrules_tape/tools/text_rules.py",
}


@pytest.mark.parametrize("source", [*sorted(CORE.rglob("*.py")), *BACKENDS], ids=name)
def test_derivatives_are_stated_through_the_constructors(source):
    """Nobody but the constructors makes a statement, or a recipe, or touches the tables."""
    if name(source) in _DOORKEEPERS:
        return
    used = []
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func
            written = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            if written in _DOORS or written.endswith("Recipe"):
                used.append((node.lineno, written))
        written = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if written and node.attr == "stated":
            used.append((node.lineno, node.attr))
    assert not used


@pytest.mark.parametrize("source", sorted((CORE / "rules").rglob("[!_]*.py")), ids=name)
def test_rules_import_operations_and_constructors_only(source):
    """No array library, no engine, no judge: what a rule says, it says of every array."""
    allowed = re.compile(
        r"chainrules_py(\.(rule_config|errors|primitives\.(closures|primitive)"
        r"|registry\.(constructors|bind\.(batched_tangents|linear))|rules|tangents|tracing\.roots"
        r"|values\.(dispatch_types|find_tracers)|ops)(\..*)?)?$"
    )
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert allowed.match(node.module or "") or node.module in _STANDARD, (
                f"line {node.lineno}: {node.module}"
            )
        elif isinstance(node, ast.Import):
            assert all(a.name in _STANDARD for a in node.names), f"line {node.lineno}"


_STANDARD = {
    "__future__",
    "collections.abc",
    "functools",
    "itertools",
    "math",
    "operator",
    "string",
    "typing",
}


# ------------------------------------------------------------------------- the tape knows no
# operations

# Operations that Python, or any program, has a use for besides.
_ORDINARY = {
    "max": "Python's own",
    "min": "Python's own",
    "sum": "Python's own",
    "all": "Python's own",
    "any": "Python's own",
    "abs": "Python's own",
    "round": "Python's own",
    "map": "Python's own",
    "inner": "the inner one of two",
    "outer": "the outer one of two",
    "trace": "how the calls of a tracer are traced",
    "real": "a kind of number",
    "where": "the index of __getitem__",
    "equal": "what a comparison says",
    "copy": "an argument of NumPy's __array__",
}


@pytest.mark.parametrize("source", TAPE, ids=name)
def test_tape_names_no_operation(source):
    """An engine asks what a call means; it does not know."""
    found, last = [], ""
    with source.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            text, before, last = token.string, last, token.string
            if before in {".", "def"}:  # methods: of the tape's own classes, of sets and dicts
                continue
            if token.type == tokenize.STRING:
                text = _literal(text)
            elif token.type != tokenize.NAME or keyword.iskeyword(text):
                continue
            if text in OPERATIONS and text not in _ORDINARY:
                found.append(f"line {token.start[0]}: {text}")
    assert not found


def _literal(text):
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):  # a part of an f-string
        return text
    return value if isinstance(value, str) else text


def test_tape_imports_no_module_of_operations():
    """Only the tables of operators and of indexing, which speak of Python's syntax, and views."""
    allowed = {"binary_operators", "square_operator", "unary_operators", "index", "is_strict"}
    for source in TAPE:
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("chainrules_py"):
                names = {a.name for a in node.names}
                assert "ops" not in names
                if node.module == "chainrules_py.ops.engine_operations":
                    continue  # whose memory a result is: it has no words
                assert not (node.module or "").startswith("chainrules_py.ops") or names <= allowed


def test_ordinary_names_are_operations_or_builtins():
    """The list above names no more than it has to."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in TAPE)
    stale = [
        operation
        for operation in _ORDINARY
        if not (hasattr(builtins, operation) or re.search(rf"\b{operation}\b", text))
    ]
    assert not stale


# ------------------------------------------------------------------------- the plugin


def test_plugin_knows_the_backends():
    """It lists them again, for it may not import the list."""
    from chainrules_py.testing.plugin import _LIBRARIES

    known = {b.name: b.library for b in backends()}
    assert {n: m for n, m in _LIBRARIES.items() if n in known} == known
