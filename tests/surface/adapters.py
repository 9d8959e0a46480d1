"""Abilities of each engine with exported functions, tried: the table of the documentation.

``make adapters`` exports the battery to every engine, applies each of its transformations, compares
the numbers with differences, and writes what came out to ``docs/adapters.csv``. A cell is ``yes``,
``wrong``, or the class of the error that was raised.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from chainrules_py.engines.export import exporter
from chainrules_py.testing.errors import WrongError
from chainrules_py.testing.everywhere.real_function import Trial
from tests.engines.battery import Point, points

ENGINES = ("torch", "jax", "autograd", "mlx")


def trial_of(point: Point) -> Trial:
    """Make a trial of a point of the battery."""
    entry = point.entry
    return Trial(entry.f, point.operands, dict(entry.options), entry.gauge, point.moving)


def columns(engine: str) -> Iterator[str]:
    """Yield the columns of the table for an engine."""
    yield from (f"{engine} {name}" for name in exporter(engine).transformations.table)


def attempt(trial: Trial, engine: str, transformation: str) -> str:
    """Try one transformation by an engine, and return the cell of the table."""
    adapter = exporter(engine)
    table, asarray, context, _, digits = adapter.transformations
    with warnings.catch_warnings(), context():
        warnings.simplefilter("ignore")
        f = trial.function(adapter.export(trial.f), asarray or np.asarray)
        try:
            found = table[transformation].run(f, asarray(trial.z), asarray(trial.u))
            trial.judge(table[transformation].gives, found, digits)
        except WrongError:
            return "wrong"
        except Exception as error:
            return type(error).__name__
    return "yes"


def write(path: Path, engines: list[str], rules: list[str], *, missing: bool = False) -> int:
    """Try rules, or all, with some of the engines; write the table, and give how many are not yes.

    What is not tried stays as it is, with ``missing`` also what is there. The table is written
    after each rule.
    """
    found: dict[str, dict[str, str]] = {point.name: {"rule": point.name} for point in points()}
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            found |= {row["rule"]: row for row in csv.DictReader(file) if row["rule"] in found}
    others = 0
    for point in points():
        if rules and point.name not in rules:
            continue
        trial = trial_of(point)
        for engine in engines:
            for column in columns(engine):
                if missing and found[point.name].get(column):
                    continue
                answer = attempt(trial, engine, column.removeprefix(f"{engine} "))
                found[point.name][column] = answer
                others += answer != "yes"
        names = ["rule", *[name for engine in ENGINES for name in columns(engine)]]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(
                file, names, lineterminator="\n", restval="", extrasaction="ignore"
            )
            writer.writeheader()
            writer.writerows(found.values())
    return others


if __name__ == "__main__":
    chosen = [name for name in sys.argv[2:] if name in ENGINES] or list(ENGINES)
    named = [name for name in sys.argv[2:] if name not in ENGINES]
    sys.stdout.write(f"{write(Path(sys.argv[1]), chosen, named)} cells are not yes\n")
