"""Check one function under every engine and transformation, and on every array library."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_kit import Transformations
from chainrules_py.engines.export import exporter, exporters
from chainrules_py.errors import ContractError, NoRuleError, NotDifferentiableError
from chainrules_py.primitives import plugins
from chainrules_py.testing import call_arguments, check
from chainrules_py.testing.cases.backends import KNOWN, Backend
from chainrules_py.testing.cases.case import Case
from chainrules_py.testing.errors import SkippedCheckError, WrongError, skip_if
from chainrules_py.testing.everywhere.findings_table import laid_out
from chainrules_py.testing.everywhere.real_function import Trial
from chainrules_py.testing.find_rule import missing_mode
from chainrules_py.testing.report.report import Finding, Report, RuleCheckError

__all__ = ["check_everywhere"]

_REFUSALS = (NoRuleError, NotDifferentiableError, ContractError, NotImplementedError)


def _check_parted(f: Any, operands: tuple[Any, ...], given: dict[str, Any]) -> Report:
    own = {k: given.pop(k) for k in [*given] if k in getattr(f, "options", ())}
    return _check(f, operands, own, **given)


@call_arguments.options_first({"gauge", "only", "seed"}, _check_parted)
def check_everywhere(
    f: Callable[..., Any],
    *operands: Any,
    gauge: Callable[[Any], Any] | None = None,
    only: str | tuple[str, ...] = (),
    seed: int = 0,
    **options: Any,
) -> Report:
    """Compare every transformation of every engine, on every array library, with differences.

    Parameters
    ----------
    f : callable
        An operation, a function under `primitive`, one with user-defined derivatives, or code made
        of these.
    *operands, gauge, seed, **options
        As in `check_rule`. An option of f takes precedence over a parameter of the same name.
    only : str or tuple of str
        Parts of the table to run: ``"jax"``, ``"tape on torch"``, ``"jax: jit of grad"``.

    Returns
    -------
    Report
        A finding for each cell. A cell is skipped where something is not installed, where an engine
        raises a refusal of this library, or where f itself rejects the engine's arrays.

    Raises
    ------
    RuleCheckError
        If a cell is wrong; the message contains the line that repeats it.

    Examples
    --------
    >>> from chainrules_py.ops import sin
    >>> check_everywhere(sin, 0.5, only=("autograd: grad", "autograd: jvp"))
    sin(float): 2 cells passed, 0 skipped
    autograd  grad ✓  jvp ✓
    seed 0; rule: ...
    """
    return _check(f, operands, options, gauge, only, seed)


def _check(
    f: Callable[..., Any],
    operands: tuple[Any, ...],
    options: dict[str, Any],
    gauge: Callable[[Any], Any] | None = None,
    only: str | tuple[str, ...] = (),
    seed: int = 0,
) -> Report:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        operands, options = call_arguments.filled(f, operands, options)
        only = (only,) if isinstance(only, str) else only
        call = call_arguments.shown_call(f, operands, options)
        trial = Trial(f, operands, options, gauge, seed=seed)
        if not trial.z.size:
            raise ValueError(f"nothing in {call} can be perturbed; give floating numbers")
        case = Case(f, operands, options, gauge, True, seed, None)
        complete = _is_complete(case)
        settings = check.Settings(seed=seed, gauge=gauge)
        report = Report(call, check.place_of_rule(case), seed, operands=operands, layout=laid_out)
        for place, load in _places():
            chosen = {o.partition(": ")[2] for o in only if _is_part(o, place)}
            if only and not chosen:
                continue
            strict = complete and place == "tape on numpy"
            for name, verdict, text, pattern in _run(trial, load, chosen, strict):
                cell = f"{place}: {name}" if name else place
                if verdict == "failed":
                    more = {"only": (cell,), **options}
                    again = check.again_line("check_everywhere", f, operands, more, settings)
                    text = f"{text}\n  again: {again}"
                report.findings.append(Finding(cell, verdict, text, pattern))
    if unmet := [o for o in only if not any(_is_part(o, f.check) for f in report.findings)]:
        known = [f.check for f in report.findings] or dict(_places())
        raise ValueError(
            f"only={unmet!r}: there is no such part of the table; there are {', '.join(known)}"
        )
    if report.failures:
        raise RuleCheckError(report)
    return report


def _is_part(chosen: str, cell: str) -> bool:
    (at, _, name), (place, _, column) = chosen.partition(": "), cell.partition(": ")
    return (place == at or place.startswith(f"{at} on ")) and (not column or name in ("", column))


def _is_complete(case: Case) -> bool:
    try:
        return not any(missing_mode(case, mode) for mode in ("forward", "reverse"))
    except NoRuleError:  # code made of operations, each of which has its own rule
        return True


_Place = tuple[Callable[..., Any], Transformations]


def _places() -> Iterator[tuple[str, Callable[[], _Place]]]:
    for name, module in plugins.announced(plugins.ENGINES):
        for library in KNOWN:
            yield f"{name} on {library}", functools.partial(_on, module, library)
    for name in exporters():
        yield name, functools.partial(_under, name)


def _on(module: str, library: Backend) -> _Place:
    """Return an engine with the arrays of a library."""
    skip_if(library.missing, library.missing)
    table = plugins.load(module).transformations.table
    own = exporter(library.name).transformations if library.name in exporters() else None
    places = Transformations(table, library.asarray)
    return lambda f: f, places if own is None else places._replace(context=own.context)


def _under(name: str) -> _Place:
    found = exporter(name)
    return found.export, found.transformations


def _run(
    trial: Trial, load: Callable[[], _Place], chosen: set[str], strict: bool
) -> Iterator[tuple[str, str, str, str]]:
    """Run the transformations of one place, or the chosen ones; yield the fields of findings."""
    try:
        export, engine = load()
        skip_if(
            trial.is_complex and not engine.takes_complex,
            "it has no derivatives of complex numbers",
        )
        with engine.context():
            asarray = engine.asarray or np.asarray
            f, z, u = trial.function(export(trial.f), asarray), *map(asarray, (trial.z, trial.u))
    except Exception as error:
        yield "", "skipped", _first(error), ""
        return
    untaken: set[str] = set()
    asked = set(engine.table) if "" in chosen or not chosen else chosen
    asked_first = {"value", *(t.within for n, t in engine.table.items() if n in asked)}
    for name, (gives, run, within) in engine.table.items():
        if name not in asked | asked_first:
            continue
        verdict, text, pattern = "passed", "", ""
        try:
            skip_if(within in untaken, f"nor does f itself run there: {within}")
            with engine.context():
                trial.judge(gives, run(f, z, u), engine.digits)
        except WrongError as error:
            verdict, text, pattern = "failed", error.text, error.pattern
        except Exception as error:
            # If the value alone fails too, the error is not about derivatives.
            untaken |= {name} if gives == "value" else set()
            refused = not strict and (gives == "value" or isinstance(error, _REFUSALS))
            silent = refused or isinstance(error, SkippedCheckError)
            verdict, text = "skipped" if silent else "failed", _first(error)
        if name in asked:
            yield name, verdict, text, pattern


def _first(error: Exception) -> str:
    line = str(error).partition("\n")[0]
    known = isinstance(error, (SkippedCheckError, ContractError))
    return line if known else f"{type(error).__name__}: {line}"
