"""Ten faults, planted one at a time in a copy: each is to be found by `make test`, in every draw.

``make test-planted`` copies the last commit, plants each fault in it, and runs what ``make test``
selects, for three draws: first the suites of the fault's room, then, if they find nothing, all. A
test that fails without the fault as well has not found it. ``ARGS="--rooms rule write"`` plants
some of them, ``--draws`` draws otherwise, ``--whole`` runs what ``make test-all`` does.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """One text for another in a file, and the suites that are run first."""

    room: str
    path: str
    right: str
    wrong: str
    suites: tuple[str, ...]


FAULTS = (
    Fault(
        "rule",  # in the second derivative of logaddexp alone
        "chainrules_py/rules/elementwise.py",
        "lambda share, x, y: -share * logaddexp_share(y, x),",
        "lambda share, x, y: share * logaddexp_share(y, x),",
        ("tests/rules/test_elementwise.py", "tests/testing/test_samples.py"),
    ),
    Fault(
        "projection",  # where axes are in front and others stretched
        "chainrules_py/tangents/sum_to_shape.py",
        "self.drop = len(result) if lead and stretched else 0",
        "self.drop = 0",
        ("tests/core/tangents", "tests/rules", "tests/testing/test_samples.py"),
    ),
    Fault(
        "binding",  # of complex numbers alone
        "chainrules_py/registry/bind/elementwise_pulls.py",
        "parts, n = self._parts(conjugate=True), len(self.saved)",
        "parts, n = self._parts(conjugate=False), len(self.saved)",
        ("tests/core/registry", "tests/core/engines", "tests/rules", "tests/testing"),
    ),
    Fault(
        "write",  # of one part of an array to another
        "backends/chainrules_tape/array_writes/writes_and_views.py",
        "if source == pattern:",
        "if source is not None:",
        ("tests/tape/array_writes",),
    ),
    Fault(
        "view",  # of what is written to afterwards
        "backends/chainrules_tape/array_writes/writes_and_views.py",
        "    view.add(made)  # last: a write in another thread may outdate it from now on\n",
        "",
        ("tests/tape/array_writes",),
    ),
    Fault(
        "pass",  # a result that is written over while it is needed
        "backends/chainrules_compile/passes/buffer_reuse.py",
        "if last[root] != i or root in foreign:",
        "if root in foreign:",
        ("tests/engines/compile/test_passes.py", "tests/engines/compile"),
    ),
    Fault(
        "exporter",  # of negative cotangents
        "backends/chainrules_torch/engine/autograd_functions.py",
        "bar = half(y_bar, *tensors[at : at + n])",
        "bar = half(y_bar.abs(), *tensors[at : at + n])",
        ("tests/engines/torch", "tests/engines/test_rows.py"),
    ),
    Fault(
        "alias",  # what NaNs count as
        "backends/chainrules_numpy/function_aliases/reductions.py",
        "r.without_nan(x, 1)",
        "r.without_nan(x, 0)",
        ("tests/libraries/numpy", "tests/rules/test_reductions.py"),
    ),
    Fault(
        "check",  # of a push, against differences
        "chainrules_py/testing/checks/derivatives.py",
        "if case.has_push and not np.all(np.abs(case.pushed()[:, -1] - want) <= allowed):",
        "if False:",
        ("tests/testing/test_check.py", "tests/testing/planted"),
    ),
    Fault(
        "guard",
        "backends/chainrules_numpy/memory.py",
        "if flags.writeable:",
        "if False:",
        ("tests/core/engines/test_mutation_guard.py", "tests/tape/array_writes"),
    ),
)


class Copy:
    """The last commit in a folder of its own, in which tests are run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        clone = ["git", "clone", "--quiet", "--shared", str(ROOT), str(folder)]
        subprocess.run(clone, check=True)

    def plant(self, fault: Fault) -> None:
        path = self.folder / fault.path
        text = path.read_text(encoding="utf-8")
        self._write(path, text.replace(fault.right, fault.wrong, 1))

    def mend(self, fault: Fault) -> None:
        self._write(self.folder / fault.path, (ROOT / fault.path).read_text(encoding="utf-8"))

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
            compiled.unlink()  # which may be as old as the text, and is taken for its own

    def failures(self, draw: str, jobs: int, *arguments: str) -> list[str]:
        """Run tests until one fails; list those that failed."""
        marks = "not nightly and not gpu" + (" and not slow" if draw else "")
        command = [sys.executable, "-m", "pytest", "-n", str(jobs), "--by=function", "-x", "-q"]
        command += ["--dist=worksteal", "-m", marks, "-p", "no:cacheprovider", *arguments]
        path = os.pathsep.join([str(self.folder), str(self.folder / "backends")])
        env = {**os.environ, "CHAINRULES_DRAW": draw, "PYTHONPATH": path}
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True)
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)
        if done.returncode not in (0, 1, 5) and not failed:
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
        return failed


def finder(copy: Copy, fault: Fault, draw: str, jobs: int) -> str | None:
    """Find a test that fails with the fault, and passes without it."""
    for suites in (fault.suites, ("tests",)):
        copy.plant(fault)
        failed = copy.failures(draw, jobs, *suites)
        copy.mend(fault)
        files = sorted({name.partition("::")[0] for name in failed})
        alone = set(copy.failures(draw, jobs, "--maxfail=1000", *files)) if files else set()
        for name in failed:
            if name not in alone:
                return name
    return None


def main() -> int:
    """Plant the faults, and say which were found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", nargs="*", default=["one", "two", "three"])
    parser.add_argument("--rooms", nargs="*", default=[fault.room for fault in FAULTS])
    parser.add_argument("--whole", action="store_true", help="run what `make test-all` runs")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    lost = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder) / "copy")
        for draw in [""] if given.whole else given.draws:
            for fault in FAULTS:
                if fault.room in given.rooms:
                    found = finder(copy, fault, draw, given.jobs)
                    lost += found is None
                    print(f"{draw:8} {fault.room:12} {found or 'NOT FOUND'}", flush=True)
    print(f"{lost} not found")
    return lost > 0


if __name__ == "__main__":
    raise SystemExit(main())
