"""The rule book: a page for each operation, written at each build from the statements.

Formulas are traced: a partial, or a transpose, is called once at a sample, and the calls that it
makes are printed. Pictures are of the operation and of what the tape says is its derivative.
"""

from __future__ import annotations

import csv
import inspect
import io
import itertools
import linecache
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sphinx.application import Sphinx

from chainrules_compile import compile as compile_
from chainrules_py import ChainRulesError, Primitive, ops, rules_for, space
from chainrules_py.testing import backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_tape import grad
from chainrules_tape.pictures import formula
from chainrules_tape.pictures.formulas import as_letter

HERE = Path(__file__).resolve().parents[1]
BOOK = HERE / "book"
LONGEST = 420
KINDS = {
    "ElementwiseRecipe": "element by element: a partial for each operand (`scalar_rule`)",
    "LinearRecipe": "linear: pushing is applying it; a transpose for each operand (`linear_rule`)",
    "BilinearRecipe": "bilinear: a transpose for each of two operands (`bilinear_rule`)",
    "ConstantRecipe": "constant wherever it is continuous (`non_differentiable`)",
    "GeneralRecipe": "a function of the operands that gives a linear map for each (`@rule`)",
    "FruleRecipe": "a function of the tangents and the operands (`@frule.register`)",
    "RruleRecipe": "a function that gives the value and a pullback (`@rrule.register`)",
}

INDEX = """# The rule book

A page for each of the {n} operations: its rule as it is stated, the formulas that are read from the
rule, a picture, and where it runs. In formulas, a bar is a cotangent, a partial is that of the
result, and values have the names that the rule gives them.

{sections}"""
SECTION = """## {family}

```{{toctree}}
:maxdepth: 1

{entries}
```
"""


def operations() -> dict[str, Primitive[..., Any]]:
    """The operations, by name."""
    return {n: w for n, w in sorted(vars(ops).items()) if isinstance(w, Primitive)}


def sample_of(operation: Primitive[..., Any]) -> tuple[Any, dict[str, Any]] | None:
    """Operands and options of a real sample of an operation, with matrices where there are some."""
    found = [i.build(backend("numpy")) for i in instances(operation) if not i.complex]
    size = lambda call: sum([{2: 3}.get(np.ndim(x), min(np.ndim(x), 2)) for x in call[0]])
    return max(found, key=size, default=None)


def lines_of(statement: Any) -> str:
    """The statement as it is written: a function, or the call of a constructor."""
    function = getattr(statement.recipe, "function", None)
    if function is not None:
        return inspect.getsource(inspect.unwrap(function)).rstrip()
    file, _, number = statement.source.where.rpartition(":")
    lines = linecache.getlines(file)[int(number) - 1 :]
    named = [
        f
        for f in dict.fromkeys(statement.recipe.functions)
        if getattr(f, "__name__", "<")[0] != "<"
    ]
    halves = [inspect.getsource(f) for f in named if inspect.isfunction(f)]
    return "\n\n".join([*halves, "".join(_whole(lines))]).rstrip()


def _whole(lines: list[str]) -> list[str]:
    """The lines of one call: up to the parenthesis that closes the first."""
    depth = 0
    for n, line in enumerate(lines):
        depth += sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
        if depth <= 0:
            return lines[: n + 1]
    return lines[:1]


def traced(function: Any, operands: tuple[Any, ...], options: dict[str, Any]) -> str | None:
    """The formula of what a function computes, or None where it is too long for one."""
    names = [
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.kind is not p.KEYWORD_ONLY
    ]
    names += [f"{names[-1]}{k}" for k in range(len(names), len(operands))]  # of *xs
    held = {k: x for k, x in enumerate(operands) if not isinstance(x, (np.ndarray, np.generic))}
    free = [k for k in range(len(operands)) if k not in held]

    def called(*xs: Any) -> Any:
        given = dict(zip(free, xs, strict=True)) | held
        return function(*[given[k] for k in range(len(operands))], **options)

    try:
        program = compile_(called)
        program(*[operands[k] for k in free])
        recorded = program.programs[0].recorded
    except (ChainRulesError, ArithmeticError, TypeError, ValueError, AttributeError, IndexError):
        return None
    shown = dict(zip([v.name for v in recorded.inputs], [names[k] for k in free], strict=True))
    text = formula(recorded, names={old: as_letter(new) for old, new in shown.items()})
    return text if len(text) <= LONGEST else None


def formulas(operation: Primitive[..., Any], statement: Any) -> list[str]:
    """The formulas of a statement: one for each operand that has one."""
    recipe, sample = statement.recipe, sample_of(operation)
    kind = type(recipe).__name__
    if sample is None:
        return []
    operands, options = sample
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        y = operation(*operands, **options)
        if kind == "ElementwiseRecipe":
            given = tuple([np.atleast_1d(np.asarray(x)) for x in (y, *operands)])
            halves = [(p, given, r"\partial_{%s}") for p in recipe.partials]
            options = {}
        elif kind == "LinearRecipe" and not recipe.variadic:
            flags = recipe.stated_in(len(operands))
            spaces = [space(x) if flag else x for x, flag in zip(operands, flags, strict=True)]
            halves = [
                (t if callable(t) else None, (y, *spaces), r"\bar{%s}") for t in recipe.transposes
            ]
        elif kind == "BilinearRecipe":
            halves = [(t, (y, *operands), r"\bar{%s}") for t in (recipe.adjoints)]
        else:
            return []
        found = []
        for k, (half, given, left) in enumerate(halves):
            text = None if half is None else traced(half, given, options)
            if text is not None:
                name = list(inspect.signature(half).parameters)[1 + k]
                found.append(f"$$\n{left % as_letter(name)} = {text}\n$$")
    return found


def picture(operation: Primitive[..., Any]) -> str | None:
    """A drawing of a function of one number and its derivative, as SVG."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    if len(operation.operands) != 1 or operation.variadic or operation.options:
        return None
    if type(rules_for(operation)[0].recipe).__name__ != "ElementwiseRecipe":
        return None
    x = np.linspace(-4.0, 4.0, 801) + 1e-9
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            y, slope = (
                np.asarray(operation(x)),
                np.asarray(grad(lambda x: ops.sum(operation(x)))(x)),
            )
        except ChainRulesError:
            return None
    seen = np.isfinite(y) & np.isfinite(slope)
    if y.dtype.kind != "f" or np.count_nonzero(seen) < 100:
        return None
    figure = Figure(figsize=(6.0, 2.6), layout="constrained")
    axes = figure.add_subplot()
    for values, label, style in ((y, f"{operation.__name__}(x)", "-"), (slope, "derivative", "--")):
        axes.plot(x, np.where(seen & (np.abs(values) < 30), values, np.nan), style, label=label)
    axes.set_xlabel("x")
    axes.set_ylim(*np.clip(axes.get_ylim(), -6.0, 6.0))
    axes.axhline(0.0, color="grey", linewidth=0.5)
    axes.legend()
    text = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": operation.__name__, "svg.fonttype": "path"}):
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def tables() -> dict[str, list[tuple[str, str]]]:
    """Of each operation: what the pages of libraries and of engines count of it."""
    found: dict[str, list[tuple[str, str]]] = {}
    with (HERE / "libraries.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cells = itertools.islice(row.items(), 3, None)
            found.setdefault(row["operation"], []).extend(
                [(name, f"{n} checks") for name, n in cells if n]
            )
    with (HERE / "adapters.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            engines: dict[str, list[str]] = {}
            for name, cell in itertools.islice(row.items(), 1, None):
                engines.setdefault(name.partition(" ")[0], []).append(cell)
            found.setdefault(row["rule"], []).extend(
                [
                    (f"exported to {engine}", f"{cells.count('yes')} of {len(cells)} ways")
                    for engine, cells in engines.items()
                ]
            )
    return found


def bare(signature: inspect.Signature) -> inspect.Signature:
    """A signature without its annotations."""
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=signature.empty)


def page(operation: Primitive[..., Any], runs: list[tuple[str, str]]) -> str:
    """The page of an operation."""
    name, doc = operation.__name__, inspect.getdoc(operation) or ""
    parts = [f"# {name}", f"```text\n{name}{bare(operation.signature)}\n```", doc.split("\n\n")[0]]
    drawn = picture(operation)
    if drawn:
        parts.append(f"```{{raw}} html\n{drawn}\n```")
    for statement in rules_for(operation):
        kind = KINDS.get(type(statement.recipe).__name__, "")
        file, _, line = statement.source.where.rpartition(":")
        known = Path(file).is_relative_to(HERE.parent)
        where = f"{Path(file).relative_to(HERE.parent) if known else Path(file).name}:{line}"
        parts.append(
            f"## Rule\n\n{kind[:1].upper()}{kind[1:]}. Modes: {', '.join(statement.modes)}."
        )
        parts += formulas(operation, statement)
        try:
            source = lines_of(statement)
        except (OSError, TypeError, ValueError):
            source = ""
        if source:
            parts.append(f"```python\n# {where}\n{source}\n```")
    rest = "\n\n".join(doc.split("\n\n")[1:])
    if rest:
        parts.append(f"## What it says\n\n```text\n{rest}\n```")
    if runs:
        rows = "\n".join(f"| {place} | {count} |" for place, count in runs)
        parts.append(f"## Where it runs\n\n| | right |\n|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def write(_app: Sphinx) -> None:
    """Write the pages that changed."""
    BOOK.mkdir(exist_ok=True)
    runs, found = tables(), operations()
    pages = {f"{name}.md": page(operation, runs.get(name, [])) for name, operation in found.items()}
    families: dict[str, list[str]] = {}
    for name, operation in found.items():
        family = operation.__module__.rpartition(".")[2].replace("_", " ").capitalize()
        families.setdefault(family, []).append(name)
    sections = "\n".join(
        [
            SECTION.format(family=f, entries="\n".join(names))
            for f, names in sorted(families.items())
        ]
    )
    pages["index.md"] = INDEX.format(n=len(found), sections=sections)
    for old in set(BOOK.glob("*.md")) - {BOOK / name for name in pages}:
        old.unlink()
    for name, text in pages.items():
        file = BOOK / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
