"""``python -m tests.libraries.scipy.table docs``: what is differentiated of SciPy."""

from __future__ import annotations

import collections
import csv
import importlib
import io
import pathlib
import sys

from chainrules_scipy import OURS
from tests.libraries.scipy.samples.judge import judged, samples
from tests.libraries.scipy.samples.reasons import NOT_DIFFERENTIABLE

PLACES = (
    *("special", "linalg", "fft", "signal", "ndimage", "interpolate", "integrate", "optimize"),
    *("spatial", "spatial.distance", "spatial.transform", "sparse", "sparse.linalg", "stats"),
)


def names() -> list[tuple[str, str]]:
    """Return the public names of SciPy's modules that can be called, and what they are."""
    found = []
    for place in PLACES:
        module = importlib.import_module(f"scipy.{place}")
        for name in sorted(set(getattr(module, "__all__", dir(module)))):
            thing = getattr(module, name, None)
            is_error = isinstance(thing, type) and issubclass(thing, (BaseException, Warning))
            if callable(thing) and name[0] != "_" and not is_error:
                kind = "class" if isinstance(thing, type) else "function"
                found.append((f"{place}.{name}", kind))
    return found


def rows() -> list[dict[str, str]]:
    """Return a row for each name: its status, and of how many samples how many are right."""
    known = samples()
    reasons = {name: why for why, names in NOT_DIFFERENTIABLE.items() for name in names}
    found = []
    for name, kind in names():
        results = [judged(s) for s in known.get(name, ()) if s.operands]
        right = results.count("right")
        status = "no sample"
        if name in reasons:
            status = reasons[name]
        elif results:
            status = "differentiated" if right else "refused"
            status = "in part" if 0 < right < len(results) else status
            status = "wrong" if any(r.startswith("wrong") for r in results) else status
        count = f"{right} of {len(results)}" if results else ""
        found.append({"name": name, "kind": kind, "status": status, "samples": count})
    return found


def modules(table: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return a row for each module of SciPy's, of a row for each name: ours, and what is there."""
    of = collections.defaultdict(list)
    for row in table:
        of[row["name"].rpartition(".")[0]].append(row)
    found = []
    for place, names in of.items():
        ours = OURS.get(f"scipy.{place}", f"chainrules_scipy.{place}")
        there = [n for n in names if n["status"] in ("differentiated", "in part")]
        listed = ", ".join(f"`{n['name'].rpartition('.')[2]}`" for n in there)
        found.append(
            {
                "SciPy's module": f"`scipy.{place}`",
                "ours": f"`{ours}`",
                "differentiated": f"{len(there)} of {len(names)}",
                "names": listed,
            }
        )
    return found


def written(table: list[dict[str, str]]) -> str:
    """Return a table as it stands in a file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(table[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return out.getvalue()


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    judged_rows = rows()
    (folder / "scipy.csv").write_text(written(judged_rows), encoding="utf-8")
    (folder / "scipy-modules.csv").write_text(written(modules(judged_rows)), encoding="utf-8")
