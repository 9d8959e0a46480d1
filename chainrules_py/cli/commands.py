"""The commands of the command line; output is coloured on terminals only."""

from __future__ import annotations

import codecs
import difflib
import functools
import importlib.metadata
import json
import re
import sys
import types
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress
from rich.syntax import Syntax
from rich.table import Table

from chainrules_numpy.random_draw_advice import draw_of_parameters
from chainrules_py import ChainRulesError, coverage, explain, rules_for
from chainrules_py.cli import templates
from chainrules_py.cli.composite_primitives import composite
from chainrules_py.cli.doctor import state
from chainrules_py.cli.function_and_operands import (
    function_in,
    function_named,
    is_script,
    operands_of,
    raised,
    script,
)
from chainrules_py.cli.migrate_from_autograd import lines_of, migrated
from chainrules_py.cli.untraceable_code import obstacles_in
from chainrules_py.cli.versions import show_versions
from chainrules_py.cli.versions import versions as found_versions
from chainrules_py.extend import name_of, primal_of, rules_in, see_all, see_roots

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _console() -> Console:
    width = None if sys.stdout.isatty() else 160
    return Console(width=width, highlight=False, soft_wrap=not sys.stdout.isatty())


def _json(found: Any) -> None:
    click.echo(json.dumps(found, indent=1, ensure_ascii=False, default=str))


def _known(look: Any, *given: Any) -> Any:
    try:
        return look(*given)
    except LookupError as error:
        raise click.ClickException(str(error)) from error


def _operands(texts: tuple[str, ...]) -> tuple[Any, ...]:
    try:
        return operands_of(texts)
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _function(place: str) -> Any:
    f = _known(function_in, place)
    if not callable(f):
        raise click.ClickException(
            f"{place} is not a function but a value of {type(f).__name__}; name a function"
        )
    return f


def _called(place: str, texts: tuple[str, ...], made: Any) -> Any:
    """Return ``made(f, *operands)`` for a function and operands from the command line."""
    if not texts:
        raise click.UsageError(
            f"{place} is given no operands; write a shape for each, float64[3,2], or an "
            f"expression with np, 'np.ones(3)'"
        )
    operands, f = _operands(texts), _function(place)
    try:
        return made(f, *operands)
    except (Exception, SystemExit) as error:  # a function may raise anything
        raise click.ClickException(raised(place, error)) from error


def _starts_one(f: Any) -> str:
    """Return the command that starts a rule for a function, by a name that a function can have."""
    name = name_of(f).rpartition(".")[2]
    return f"`chainrules new-rule {name if name.isidentifier() else 'f'}` starts one"


def _program(file: str) -> str:
    """Return the text of a program, without the mark of its encoding."""
    if file.endswith(".ipynb"):
        raise click.ClickException(
            f"{file} is a notebook, and a script is read: write one by "
            f"`jupyter nbconvert --to script {file}`"
        )
    try:
        return Path(file).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"{file}: what is read has to be text in UTF-8: {error}"
        raise click.ClickException(message) from error


def _read(file: str, made: Any) -> Any:
    """Return ``made(text)`` of a program."""
    try:
        return made(_program(file))
    except SyntaxError as error:
        raise click.ClickException(f"{file}:{error.lineno}: {error.msg}") from error
    except (RecursionError, MemoryError) as error:
        raise click.ClickException(f"{file} has an expression that is too deep to read") from error


@click.group(context_settings=HELP)
def commands() -> None:
    """Look up derivatives that are stated: what there is, what is wrong, and what to write."""


@commands.command("explain")
@click.argument("function")
@click.argument("operands", nargs=-1)
def explain_command(function: str, operands: tuple[str, ...]) -> None:
    """Show which rules FUNCTION has, and which one a call with OPERANDS takes.

    FUNCTION is a dotted path, `numpy.matmul`, or `script.py:function`; an operand is a shape,
    `float64[3,2]`, or an expression, `np.ones(3)`.
    """
    f = _function(function)
    statements = rules_for(f)
    if not statements and (found := composite(f)) is not None:
        click.echo(f"{function} is differentiable: a composite of {found}")
        return
    if operands:
        _check_complete(function, f, len(operands))
        click.echo(repr(_called(function, operands, explain)))
        return
    if not statements:
        click.echo(repr(explain(f)))
        write = f"no rule is stated; {_starts_one(f)}"
        click.echo(draw_of_parameters(f) or write)
        raise SystemExit(1)
    _console().print(_statements(statements))


def _check_complete(place: str, f: Any, count: int) -> None:
    """Raise if a call of an operation with ``count`` operands misses one."""
    primal = primal_of(f)
    if primal is None or primal.variadic:
        return
    parameters = [primal.signature.parameters[name] for name in primal.operands[count:]]
    if missing := [p.name for p in parameters if p.default is p.empty]:
        raise click.UsageError(
            f"{place} takes ({', '.join(primal.operands)}), and {', '.join(missing)} is missing; "
            f"write a shape for each, float64[3,2]"
        )


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _statements(statements: Any) -> Table:
    table = _table("function", "for", "modes", "layer", "constructor", "where")
    for s in statements:
        table.add_row(
            s.primal.__name__,
            ", ".join([getattr(c, "__name__", str(c)) for c in s.signature]),
            "/".join(s.modes),
            s.layer.name.lower(),
            "opted out" if s.recipe is None else s.recipe.constructor,
            str(s.where),
        )
    return table


@commands.command()
@click.argument("module")
@click.option("--json", "as_json", is_flag=True, help="As data.")
def rules(module: str, as_json: bool) -> None:
    """List the rules that MODULE, or a module in it, states."""
    _known(function_named, module)
    see_roots({module.partition(".")[0]})
    found = rules_in(module)
    if as_json:
        _json([{"function": s.primal.__name__, "modes": s.modes, "where": s.where} for s in found])
    else:
        _console().print(_statements(found))
        click.echo(f"{len(found)} rules")


@commands.command("coverage")
@click.option("--json", "as_json", is_flag=True, help="As data.")
def coverage_command(as_json: bool) -> None:
    """List the modes that are stated for each primitive."""
    see_all()
    found = coverage()
    if as_json:
        _json(found)
        return
    table = _table("primitive", "modes")
    for name, modes in found.items():
        table.add_row(name, "/".join(modes) or "none: locally constant, or opted out")
    _console().print(table)
    click.echo(f"{len(found)} primitives, {sum(len(m) == 2 for m in found.values())} in both modes")


@commands.command()
@click.argument("module")
@click.argument("operands", nargs=-1)
@click.option("--seed", default=0, help="Where directions are drawn from.")
@click.option("--backend", multiple=True, default=("numpy",), help="Array libraries.")
@click.option("--json", "as_json", is_flag=True, help="As data.")
def check(
    module: str, operands: tuple[str, ...], seed: int, backend: tuple[str, ...], as_json: bool
) -> None:
    """Check every rule that MODULE states; the exit status is 1 if one is wrong.

    MODULE may be a script, `rules.py`, and one function as well, `module.function` or
    `rules.py:function`; with OPERANDS its rule is checked there, and else at its samples. On a
    terminal, a bar shows the progress.
    """
    from chainrules_py.testing import check_module, check_rule, run_samples

    if operands:
        report = _called(module, operands, functools.partial(check_rule, seed=seed))
        click.echo(str(report))
        raise SystemExit(not report.passed)
    found = _known(script if is_script(module) else function_in, module)
    judge = (
        functools.partial(check_module, found)
        if isinstance(found, types.ModuleType)
        else functools.partial(run_samples, found)
    )
    if isinstance(found, types.FunctionType) and not rules_for(found):
        raise click.ClickException(f"{module} has no rule to check; {_starts_one(found)}")
    try:
        summary = _known(lambda: judge(backends=list(backend), seeds=(seed,)))
    except SystemExit as error:  # of a function that has a rule
        raise click.ClickException(raised(module, error)) from error
    if as_json:
        _json(summary.as_dict())
    else:
        table = _table("function", "sample", "library", "passed", "failed", "skipped")
        for o in summary.outcomes:
            said = [f.verdict for f in o.findings]
            counts = [str(said.count(v)) for v in ("passed", "failed", "skipped")]
            wrong = o in summary.failures
            table.add_row(
                o.operation,
                o.sample,
                o.backend or "no sample",
                *counts,
                style="red" if wrong else None,
            )
        _console().print(table)
        for o in summary.failures:
            click.echo(o.text)
        click.echo(summary.headline)
    raise SystemExit(not summary.passed)


@commands.command("new-rule")
@click.argument("name")
@click.argument("operands", nargs=-1)
@click.option(
    "--kind", type=click.Choice(templates.KINDS), default="rule", help="Which constructor."
)
def new_rule(name: str, operands: tuple[str, ...], kind: str) -> None:
    """Print a primitive NAME with a rule and a test to fill in."""
    if kind == "bilinear" and len(operands) != 2:
        raise click.ClickException(
            f"a bilinear function has two operands, and these are {len(operands)}: name two"
        )
    if wrong := templates.unfit(name, operands, kind):
        raise click.ClickException(
            f"{wrong}: name the function and its operands otherwise, each by a name of its own"
        )
    click.echo(templates.new_rule(name, operands or ("x",), kind), nl=False)


@commands.command("new-package")
@click.argument("name")
@click.option("--about", required=True, help="The root module of the functions that rules are for.")
def new_package(name: str, about: str) -> None:
    """Write a package NAME that brings nothing but rules, in a folder NAME here."""
    if wrong := templates.unfit_package(name, about):
        raise click.UsageError(wrong)
    if Path(name).exists():
        raise click.ClickException(f"there is a {name} already; choose another name")
    for path, text in templates.new_package(name, about).items():
        at = Path(name) / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_text(text, encoding="utf-8")
        click.echo(str(at))


@commands.command()
@click.argument("script", type=click.Path(exists=True, dir_okay=False), required=False)
@click.option("--json", "as_json", is_flag=True, help="As data.")
def doctor(script: str | None, as_json: bool) -> None:
    """Look for lines of SCRIPT that do not trace; without one, look at the installation.

    It runs nothing of the script. Of the installation it runs one value and one gradient in each
    library and engine. The exit status is 1 if something was found.
    """
    if script is None:
        raise SystemExit(_installation(as_json))
    found = _read(script, obstacles_in)
    if as_json:
        _json([vars(f) for f in found])
    else:
        for f in found:
            click.echo(f"{script}:{f.line}:{f.column + 1}: {f.code}")
            write = f"write {f.write}" if f.write else "an error will say what to write"
            click.echo(f"    {f.obstacle}: where the value is differentiated, {write}")
        click.echo(f"{len(found)} lines, read and not run")
    raise SystemExit(bool(found))


def _installation(as_json: bool) -> bool:
    rows = [
        (f"chainrules_py.{kind}", point.name, point.value, state(kind, point))
        for kind in ("backends", "engines", "exporters", "rules", "operations")
        for point in sorted(
            importlib.metadata.entry_points(group=f"chainrules_py.{kind}"), key=lambda p: p.name
        )
        if point.name != "builtins"
    ]
    broken = [row for row in rows if row[-1].startswith("broken")]
    if as_json:
        _json({"versions": found_versions(), "packages": rows})
    else:
        table = _table("announced as", "for", "package", "state")
        for row in rows:
            table.add_row(*row, style="red" if row in broken else None)
        _console().print(table)
        show_versions()
    return bool(broken)


@commands.command()
@click.argument("function")
@click.argument("operands", nargs=-1)
@click.option("--output", "-o", type=click.Path(), help="An .svg or .dot file.")
def graph(function: str, operands: tuple[str, ...], output: str | None) -> None:
    """Record FUNCTION at OPERANDS, and draw what is recorded."""
    from chainrules_tape import Tape

    def recorded(f: Any, *xs: Any) -> Any:
        with Tape(differentiable=True) as tape:
            f(*[tape.variable(x) for x in xs])
        return tape

    if output is not None and not output.endswith((".svg", ".dot")):
        raise click.ClickException(
            f"-o {output}: a graph is written as .svg, or as text for Graphviz, .dot"
        )
    if output is not None and not Path(output).parent.is_dir():
        raise click.ClickException(
            f"there is no folder {str(Path(output).parent)!r} for -o {output}; make it first"
        )
    tape = _called(function, operands, recorded)
    if output is None:
        click.echo(str(tape))
        return
    text = tape.to_svg() if output.endswith(".svg") else tape.to_dot()
    Path(output).write_text(text, encoding="utf-8")
    click.echo(f"wrote {output}")


@commands.command("compile")
@click.argument("function")
@click.argument("operands", nargs=-1)
@click.option("--gradient", is_flag=True, help="Of its value and gradient.")
@click.option("--save", type=click.Path(), help="Write a module that needs NumPy alone.")
def compile_command(
    function: str, operands: tuple[str, ...], gradient: bool, save: str | None
) -> None:
    """Compile FUNCTION at OPERANDS to a straight line of NumPy calls, and show or save it."""
    from chainrules_compile import compile
    from chainrules_tape import value_and_grad

    def run_once(f: Any, *xs: Any) -> Any:
        if gradient:
            name, f = name_of(f), value_and_grad(f)
            f.__name__ = f"value_and_gradient_of_{name}"
        compiled = compile(f)
        compiled(*xs)
        return compiled

    compiled = _called(function, operands, run_once)
    if save is not None:
        compiled.save(save)
        click.echo(f"wrote {save}")
    elif sys.stdout.isatty():
        _console().print(Syntax(compiled.source, "python", background_color="default"))
    else:
        click.echo(compiled.source)


@commands.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@click.option("--write", is_flag=True, help="Change the files; else only show what would change.")
def migrate(files: tuple[str, ...], write: bool) -> None:
    """Rewrite programs for autograd so that they run here: show the difference, or write it."""
    with Progress(
        transient=True, disable=not sys.stderr.isatty(), console=Console(stderr=True)
    ) as bar:
        failed = False
        for file in bar.track(files, description="reading"):
            try:
                _migrate(file, write=write)
            except click.ClickException as error:  # the others are migrated
                click.echo(f"Error: {error.format_message()}", err=True)
                failed = True
    raise SystemExit(failed)


def _migrate(file: str, *, write: bool) -> None:
    before, moved = _read(file, lambda text: (text, migrated(text)))
    lines = difflib.unified_diff(lines_of(before), lines_of(moved.text), file, file)
    text = "".join([line if line.endswith("\n") else f"{line}\n" for line in lines])
    if not text:
        click.echo(f"{file}: nothing changes", err=True)
    elif sys.stdout.isatty():
        _console().print(Syntax(text, "diff", background_color="default"))
    else:
        click.echo(text, nl=False)
    for note in moved.notes:
        click.echo(f"{file}: {note}", err=True)
    if write:
        marked = Path(file).read_bytes().startswith(codecs.BOM_UTF8)
        Path(file).write_bytes(moved.text.encode("utf-8-sig" if marked else "utf-8"))


@commands.command()
@click.option("--json", "as_json", is_flag=True, help="As data.")
def versions(as_json: bool) -> None:
    """Show the versions of what takes part, as a report of a mistake should have them."""
    if as_json:
        _json(found_versions())
    else:
        show_versions()


def run(arguments: list[str] | None = None) -> int:
    """Run a command; return its exit status."""
    try:
        commands.main(arguments, prog_name="chainrules", standalone_mode=False)
    except click.ClickException as error:
        number = re.match(r"-[\d.]", getattr(error, "option_name", None) or "")
        message = error.format_message()
        if number:
            message = f"{message.rstrip('.')}; write -- before an operand that is negative"
        click.echo(f"Error: {message}", err=True)  # one line, without the usage
        return error.exit_code
    except click.exceptions.Abort:
        return 130
    except SystemExit as left:
        return int(left.code or 0)
    except (ChainRulesError, OSError) as error:
        click.echo(f"{type(error).__name__}: {error}", err=True)
        return 1
    return 0
