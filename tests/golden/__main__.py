"""Compare values and derivatives with the golden numbers, or make some of these anew.

Examples
--------
    make golden                                  all of them, in some two minutes
    make golden ARGS="svd"                       entries in whose names "svd" is found
    make golden ARGS="--update svd"              make these anew, and list what changed
    make golden ARGS="--update --only another"   of those that are other programs now
"""

from __future__ import annotations

import argparse
import collections
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.golden import entries as source
from tests.golden.compare import FAILURES, KINDS, Difference, compare
from tests.golden.run import run
from tests.golden.store import PATH, Entries, read, write

SHOWN = 40
"""Differences of each kind that are listed; ``--all`` lists all."""


def updated(old: Entries, new: Entries, differences: Sequence[Difference]) -> Entries:
    """Return the entries that are kept, with those that differ made anew."""
    names = {d.name for d in differences if d.kind != "rounded"}
    there = source.entries()
    kept = {name: entry for name, entry in old.items() if name not in names or name in new}
    kept |= {name: new[name] for name in new if name in names}
    return {name: kept[name] for name in [*there, *(kept.keys() - there.keys())] if name in kept}


def _listed(differences: Sequence[Difference], every: bool) -> None:
    for kind, meaning in KINDS.items():
        found = [d for d in differences if d.kind == kind]
        found.sort(key=lambda d: d.name.startswith("program"))  # others name what is wrong
        if found:
            print(f"\n{kind}: {len(found)} ({meaning})")
            shown = found if every else found[: SHOWN if kind != "rounded" else 5]
            for difference in shown:
                print(f"  {difference}")
            if len(shown) < len(found):
                print(f"  and {len(found) - len(shown)} more; --all lists them")


def main(argv: Sequence[str] | None = None, path: Path = PATH) -> int:
    """Compare, or update; return whether anything failed."""
    parser = argparse.ArgumentParser(
        "python -m tests.golden",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("patterns", nargs="*", help="regular expressions found in names of entries")
    parser.add_argument("--update", action="store_true", help="make entries that differ anew")
    parser.add_argument("--only", choices=KINDS, action="append", help="kinds that are updated")
    parser.add_argument("--strict", action="store_true", help="another refusal is a failure too")
    parser.add_argument("--all", action="store_true", help="list all differences")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    given = parser.parse_args(argv)

    start = time.perf_counter()
    old, there = read(path), source.entries()
    match = re.compile("|".join(given.patterns)).search
    names = [name for name in there if match(name)]
    gone = [name for name in old if name not in there and match(name)]
    if not names and not gone:
        parser.error(f"no entry has a name in which {given.patterns} is found")
    new = run(names, given.jobs)
    differences = [*compare(old, new, gone)]
    if given.only:
        differences = [d for d in differences if d.kind in given.only]
    _listed(differences, given.all)

    counts = collections.Counter([d.kind for d in differences])
    results = sum([len(entry.parts) for entry in new.values()])
    exact = sum([name in old and old[name].made == new[name].made for name in new])
    said = ", ".join([f"{n} {kind}" for kind, n in counts.items()]) or "no difference"
    print(
        f"\n{len(new)} entries with {results} results, of {exact} to the bit: {said} "
        f"({time.perf_counter() - start:.0f} s)"
    )
    if exact < len(new) and old:
        here = next(iter(new.values())).made if new else {}
        print(f"Others were made elsewhere, and are compared to rounding; this is {here}.")
    if given.update:
        write(path, updated(old, new, differences))
        print(f"The differences are the golden numbers now: {path}")
        return 0
    failing = [kind for kind in KINDS if kind != "rounded"] if given.strict else FAILURES
    return int(any([kind in failing for kind in counts]))


if __name__ == "__main__":
    sys.exit(main())
