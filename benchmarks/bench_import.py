"""Importing in a new process, and what the first gradient takes that waited for it.

``python -m benchmarks.bench_import`` measures processor time, which other processes on the machine
lengthen less than the time that passes; the least of several interleaved runs.
"""

from __future__ import annotations

import subprocess
import sys

MEASURE = """
import resource
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
"""
FIRST = """
import numpy as np
from chainrules_tape import grad
grad(lambda x: {})(np.ones(4))
"""
BASE = "import numpy, plum"
CODES = {
    "nothing": "pass",
    "numpy": "import numpy",
    "numpy and plum": BASE,
    "core": "import chainrules_py",
    "numpy, plum and chainrules_numpy": f"{BASE}, chainrules_numpy",
    "numpy, plum and chainrules_tape": f"{BASE}, chainrules_tape",
    "... and a gradient of sin": BASE + FIRST.format("np.sum(np.sin(x))"),
    "... of mean and norm": BASE + FIRST.format("np.mean(x) * np.linalg.norm(x)"),
    "... of all that waits": BASE
    + "\nimport chainrules_numpy\nfrom chainrules_py.primitives.plugins import see_all\nsee_all()",
}


class Import:
    """Whole processes."""

    def timeraw_numpy(self) -> str:
        return CODES["numpy"]

    def timeraw_core(self) -> str:
        return CODES["core"]

    def timeraw_numpy_and_plum(self) -> str:
        return CODES["numpy and plum"]

    def timeraw_numpy_and_plum_and_their_tables(self) -> str:
        return CODES["numpy, plum and chainrules_numpy"]

    def timeraw_numpy_and_plum_and_the_tape(self) -> str:
        return CODES["numpy, plum and chainrules_tape"]

    def timeraw_first_gradient(self) -> str:
        return CODES["... and a gradient of sin"]

    def timeraw_first_gradient_of_what_waits(self) -> str:
        return CODES["... of mean and norm"]


def measure(rounds: int = 15) -> dict[str, float]:
    """Milliseconds of processor time by name, less those of an interpreter that does nothing."""
    least = dict.fromkeys(CODES, float("inf"))
    for _ in range(rounds):
        for name, code in CODES.items():
            done = subprocess.run(
                [sys.executable, "-c", code + MEASURE], capture_output=True, text=True, check=True
            )
            least[name] = min(least[name], 1000 * float(done.stdout))
    return {name: found - least["nothing"] for name, found in least.items()}


if __name__ == "__main__":
    for what, milliseconds in measure().items():
        print(f"{what:40}{milliseconds:8.1f} ms")
