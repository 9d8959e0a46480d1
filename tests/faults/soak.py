"""Gradients of small programs, a million of them: ``python -m tests.faults.soak 1000000``.

Memory is to be flat: what the process holds is printed as it goes, in MB, with objects that the
collector knows. Answers are compared, bit for bit, with those of the beginning.
"""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.faults.programs import PROGRAMS, answer, quiet

FEW = [program for program in PROGRAMS if program.__name__ != "large"]
PAGE = resource.getpagesize()


def resident() -> float:
    """MB of memory that the process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def soak(gradients: int, looks: int = 10) -> Iterator[tuple[int, float, int]]:
    """Run the programs in turn; give the number of runs, MB and objects, now and then."""
    expected = quiet()
    for k in range(gradients + 1):
        program = FEW[k % len(FEW)]
        if answer(program) != expected[program]:
            msg = f"{program.__name__} has another answer at gradient {k}"
            raise AssertionError(msg)
        if k % (gradients // looks) == 0:
            gc.collect()
            yield k, resident(), len(gc.get_objects())


def main() -> None:
    """Run as many as are asked for."""
    for k, megabytes, objects in soak(int(float(sys.argv[1]))):
        sys.stdout.write(f"{k:9} gradients: {megabytes:8.1f} MB, {objects} objects\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
