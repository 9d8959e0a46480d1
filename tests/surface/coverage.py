"""Counts of the checks of NumPy's functions: the table of the documentation.

``make coverage`` runs every call and writes what was checked to ``docs/coverage.csv``. A cell is a
number of checks that were run, ``n/a`` with a reason out of `REASONS`, or ``gap``.
"""

from __future__ import annotations

import collections
import csv
import functools
import inspect
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from chainrules_py.primitives.aliases.alias import aliases
from chainrules_py.primitives.plugins import see, see_all
from chainrules_py.testing.samples.sample import Sample
from tests.surface.calls import names_with_calls, surface_calls
from tests.surface.calls.call import SurfaceCall
from tests.surface.checks import check_call, check_twin, complex_twin
from tests.surface.names import Listed, listed_as, listed_names, native_named
from tests.surface.point import Point, direct

COLUMNS = {
    "frule": {"real": "frule", "complex": "frule", "float32": "float32 frule"},
    "rrule": {"real": "rrule", "complex": "rrule", "float32": "float32 rrule"},
    "tape": {"real": "reverse", "complex": "reverse", "float32": "float32"},
    "second order": {
        "real": "second order",
        "complex": "second order",
        "float32": "float32 second order",
    },
}
"""The columns of the table: what is checked of real, complex and float32 operands."""

REASONS = {
    "constant": "it is locally constant",
    "real": "NumPy refuses complex operands",
    "numbers": "its operands are numbers of Python or whole numbers",
    "method": "a direct rule is of the function, not of the method",
    "keyword": "what moves is a keyword or in a list, of which a direct rule is not told",
    "absent": "the NumPy that is installed does not have it",
}
"""Why a cell is ``n/a``."""

IRRELEVANT = {
    "like": "NumPy hands the call on because of it, and takes nothing from it",
    "einsum_call": "private to np.einsum",
    "overwrite_input": "a plain call changes its operand, which other calls take after it",
}
"""Keywords that no call has to exercise, and why."""


@functools.cache
def _names() -> dict[str, list[str]]:
    """Map each name that is listed to the names that calls were entered for."""
    found: dict[str, list[str]] = {}
    for name in names_with_calls():
        found.setdefault(listed_as(name).name, []).append(name)
    return found


def calls_of(name: str) -> Iterator[SurfaceCall]:
    """Yield the calls of a function, under whichever of its names they were entered."""
    for each in _names().get(name, ()):
        yield from surface_calls(each)


# --------------------------------------------------------------------------------- keywords


def _parameters(name: str) -> dict[str, Any]:
    """Return the parameters of a function of NumPy with their defaults, in order."""
    native = native_named(name)
    row = aliases.get(native)
    try:
        found = inspect.signature(native).parameters.values()
    except (TypeError, ValueError):
        return {} if row is None else dict(row.defaults)
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {p.name: p.default for p in found if p.kind not in variadic}


def _given(sample: Sample, names: list[str]) -> set[str]:
    return {*sample.options, *[n for n, _ in zip(names, sample.operands, strict=False)]}


def keywords_of(name: str) -> dict[str, str]:
    """Tell how each keyword of a function is answered.

    Parameters
    ----------
    name : str
        As behind ``np.``.

    Returns
    -------
    dict
        By keyword the number of calls that exercise it, as text; ``"refused"``, which a test of
        its own calls; ``"n/a"``, if it is one of `IRRELEVANT`, or an array that is written into;
        or ``"gap"``.
    """
    see(None, (np.ndarray,))
    see_all()
    parameters = _parameters(name)
    row = aliases.get(native_named(name))
    counts: collections.Counter[str] = collections.Counter()
    for call in calls_of(name):
        counts.update(_given(call.sample, [*parameters]))
    found = {}
    for keyword, default in parameters.items():
        if default is inspect.Parameter.empty or keyword == "self":
            continue  # an operand, which every call gives
        if counts[keyword]:
            found[keyword] = str(counts[keyword])
        elif keyword in IRRELEVANT or (keyword == "out" and _is_written(native_named(name))):
            found[keyword] = "n/a"
        else:
            found[keyword] = "refused" if row is not None and keyword in row.refuse else "gap"
    return found


def _is_written(native: Any) -> bool:
    """Tell whether an output is written into: of truth values, or as the row of a function says."""
    truths = {each[-1] for each in getattr(native, "types", ()) if "O" not in each} == {"?"}
    return truths or "out" in getattr(aliases.get(native), "lower", ())


def keywords_without_answer() -> dict[str, list[str]]:
    """Find, by name, the keywords that no call exercises and nothing refuses."""
    found = {}
    for listed in rows():
        if listed.answer != "none" and listed.is_there:
            gaps = [k for k, answer in keywords_of(listed.name).items() if answer == "gap"]
            if gaps:
                found[listed.name] = gaps
    return found


# ------------------------------------------------------------------------------------ counts


def _counted(name: str) -> dict[str, collections.Counter[str]]:
    """Count, by kind of number, how often each cell was checked; every call is run."""
    counts = {kind: collections.Counter[str]() for kind in ("real", "complex")}
    for call in calls_of(name):
        counts["complex" if call.complex else "real"].update(check_call(call))
        counts["complex"].update(check_twin(call))
    return counts


def _cells(listed: Listed) -> dict[str, str]:
    """Compute the cells of a row by column."""
    if not listed.is_there:
        return {f"{c} {kind}": "n/a absent" for c, kinds in COLUMNS.items() for kind in kinds}
    counts = _counted(listed.name)
    cells = {}
    for column, kinds in COLUMNS.items():
        for kind, cell in kinds.items():
            either = counts["real"] + counts["complex"]
            of = either if kind == "float32" else counts[kind]
            number = of[cell]
            if listed.answer == "constant" and column != "second order":
                number = max(number, of["constant"]) if kind != "float32" else number
            cells[f"{column} {kind}"] = str(number or _reason(listed, column, kind) or "gap")
    return cells


def _stays_complex(call: SurfaceCall) -> bool:
    """Tell whether a call can be made complex, and does not cast its operands to real numbers."""
    twin = complex_twin(call)
    if twin is None:
        return False
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        point = Point(twin)
        try:
            point.value(*point.xs)
        except np.exceptions.ComplexWarning:
            return False
    return True


def _reason(listed: Listed, column: str, kind: str) -> str | None:
    """Why nothing was checked, if that is as it has to be."""
    calls = [*calls_of(listed.name)]
    if not calls:
        return None
    if listed.answer == "constant":
        return "n/a constant"
    if kind == "complex" and not any(c.complex or _stays_complex(c) for c in calls):
        return "n/a real"
    points = [Point(c) for c in calls if c.sample.smooth]
    if column in ("frule", "rrule"):
        if listed.kind == "method":
            return "n/a method"
        if all(direct(p) is None for p in points):
            return "n/a keyword"
    if kind == "float32" and not any(isinstance(x, np.ndarray) for p in points for x in p.xs):
        return "n/a numbers"
    return None


def _number_of_calls(name: str) -> int:
    return sum(1 for _ in calls_of(name))


def facts(listed: Listed) -> dict[str, str]:
    """Return the facts of a row that are known without running a call."""
    answered = keywords_of(listed.name) if listed.answer != "none" and listed.is_there else {}
    return {
        "kind": listed.kind,
        "name": listed.name,
        "answer": listed.answer,
        "reason": listed.reason,
        "calls": str(_number_of_calls(listed.name)),
        "keywords": ", ".join([f"{k} {answer}" for k, answer in answered.items()]),
    }


def rows() -> list[Listed]:
    """Return the rows of the table: the names listed, and methods of ufuncs that have calls."""
    listed = listed_names()
    found = [listed_as(name) for name in names_with_calls()]
    return [*listed, *[row for row in found if row.kind == "ufunc method"]]


def write(path: Path) -> int:
    """Run every call and write the table; give the number of gaps."""
    gaps = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        columns = [f"{c} {kind}" for c, kinds in COLUMNS.items() for kind in kinds]
        names = ["kind", "name", "answer", "reason", "calls", *columns, "keywords"]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for listed in rows():
            cells = dict.fromkeys(columns, "") if listed.answer == "none" else _cells(listed)
            writer.writerow(facts(listed) | cells)
            gaps += sum(cell == "gap" for cell in cells.values())
    return gaps


if __name__ == "__main__":
    count = write(Path(sys.argv[1]))
    sys.stdout.write(f"{count} gaps\n")
