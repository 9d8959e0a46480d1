"""Table of what runs on which array library, rule by rule, for the documentation.

``python -m tests.surface.libraries docs/libraries.csv`` runs two samples of every operation on
every library and counts the checks that passed. A cell is that number, a reason out of
`chainrules_py.testing.cases.unsupported_operations`, ``"refused"`` where the library itself takes
none of the samples, or ``"FAILED"``. With ``--stale`` only operations and cells whose samples or
reasons have changed are run.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from chainrules_py.registry.explain import rules_for
from chainrules_py.testing import Backend
from chainrules_py.testing.cases.calls_from_samples import Instance, instances
from chainrules_py.testing.cases.unsupported_operations import UNSUPPORTED, unsupported
from chainrules_py.testing.sample_runs import operations_of, run_samples
from tests.fake_gpu.backend import backend

LIBRARIES = ("numpy", "array_api_strict:device1", "cupy-host", "torch", "jax")
"""The columns: NumPy; the standard alone, on a second device; CuPy with its memory on the host;
PyTorch and JAX on the CPU."""
REFUSED, FAILED = "refused", "FAILED"


def _samples(operation: Callable[..., Any]) -> list[Instance]:
    return [i for i in instances(operation) if i.sample.has_arrays]  # type: ignore[arg-type]


def rows() -> list[Callable[..., Any]]:
    """Return the operations of the table: those with a rule and a sample with arrays."""
    return [
        operation for operation in operations_of() if rules_for(operation) and _samples(operation)
    ]


def facts(operation: Callable[..., Any]) -> dict[str, str]:
    """Return the facts of a row that are known without running a sample."""
    family = str(operation.__module__).rpartition(".")[2]
    return {
        "family": family,
        "operation": operation.__name__,
        "samples": str(len(_samples(operation))),
    }


def cell(operation: Callable[..., Any], library: Backend) -> str:
    """Run an operation's samples on a library, and say what came out."""
    there = [i for i in _samples(operation) if library.library not in i.sample.without]
    if not there:
        return REFUSED
    gaps = {unsupported(library.library, i) for i in there}
    if "" not in gaps:
        return gaps.pop()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        summary = run_samples(operation, backends=[library], depth="cheap")
    if not summary.passed:
        return FAILED
    return str(sum(f.verdict == "passed" for o in summary.outcomes for f in o.findings))


def lines(libraries: tuple[str, ...] = LIBRARIES) -> Iterator[dict[str, str]]:
    """Yield the rows, one by one."""
    there = {name: backend(name) for name in libraries}
    for operation in rows():
        yield facts(operation) | {name: cell(operation, library) for name, library in there.items()}


def _is_stale(row: dict[str, str], name: str) -> bool:
    """Tell whether a cell says something else than what the gaps say now."""
    gap = UNSUPPORTED.get(backend(name).library, {}).get(row["operation"])
    return not row[name].isdigit() and row[name] not in (gap, REFUSED)


def stale_lines(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a table, where only what has changed since is run again."""
    with path.open(encoding="utf-8", newline="") as file:
        there = {row["operation"]: row for row in csv.DictReader(file)}
    for operation in rows():
        row = there.get(operation.__name__, {})
        stated = facts(operation)
        same = {name: row.get(name, "") for name in stated} == stated
        stale = [name for name in LIBRARIES if not same or _is_stale(row, name)]
        yield row | stated | {name: cell(operation, backend(name)) for name in stale}


def write(path: Path, found: Iterable[dict[str, str]]) -> int:
    """Write the table; give the number of cells that failed."""
    failed = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        names = ["family", "operation", "samples", *LIBRARIES]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        for line in found:
            writer.writerow(line)
            file.flush()  # it takes a while, and one may want to look
            failed += sum(line[name] == FAILED for name in LIBRARIES)
    return failed


if __name__ == "__main__":
    table = Path(sys.argv[1])
    some = list(stale_lines(table)) if "--stale" in sys.argv else lines()
    sys.stdout.write(f"{write(table, some)} cells failed\n")
