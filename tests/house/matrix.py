"""Installs and tests the library under other Pythons and other versions: ``make test-matrix``.

For each Python that is found, on the path or among pyenv's, the wheel and the sdist are installed
and used; then `make demo` and `make test` are run in new environments, one for each row: the
``newest`` versions for every Python, the ``oldest`` that pyproject.toml allows for the first Python
that it allows, and the ``pinned`` ones of constraints.txt for theirs. The results replace those of
the same rows in docs/versions.csv and docs/versions-reasons.csv, which docs/versions.md shows.

``python -m tests.house.matrix 3.13 newest`` chooses Pythons and rows, ``use`` the first part alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TABLE = ROOT / "docs" / "versions.csv"
REASONS = ROOT / "docs" / "versions-reasons.csv"
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
PINNED = "3.11"
ROWS = ("oldest", "pinned", "newest")
LIBRARIES = ("numpy", "scipy", "jax", "torch", "pytensor")
SUITES = {
    "core": ("tests/core", "tests/rules", "tests/tape", "tests/testing", "tests/programs"),
    "NumPy": ("tests/libraries/numpy",),
    "SciPy": ("tests/libraries/scipy",),
    "JAX": ("tests/engines/jax",),
    "PyTorch": ("tests/engines/torch",),
    "PyTensor and others": ("tests/engines/thin", "tests/engines/autograd"),
}
REST = "all others"
USE = """\
import numpy as np
from chainrules_py import primitive, rrule, scalar_rule
from chainrules_py.testing import check_rule
from chainrules_tape import grad, hessian
@primitive
def softplus(x):
    return np.logaddexp(0.0, x)
scalar_rule(softplus, lambda y, x: np.exp(x - y))
assert grad(lambda x: np.sum(softplus(x)))(np.zeros(2)).tolist() == [0.5, 0.5]
assert check_rule(softplus, np.array([0.3, -0.7])).passed
assert hessian(lambda x: np.prod(x))(np.ones(2)).tolist() == [[0.0, 1.0], [1.0, 0.0]]
"""


def run(*command: str, cwd: Path = ROOT) -> str:
    """Run a command and return what it printed; exit with that if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


# ---------------------------------------------------------------------------- what there is


def pythons(wanted: list[str]) -> dict[str, str]:
    """The interpreters that are there, by their versions, of those that are wanted."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    found = {version: _python(version) for version in wanted or VERSIONS}
    if here in found:
        found[here] = found[here] or sys.executable
    return {version: python for version, python in found.items() if python is not None}


def _python(version: str) -> str | None:
    """The first interpreter of a version that starts: a shim of pyenv's may not."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    builds = sorted(home.glob(f"{version}.*/bin/python{version}"), reverse=True)
    for python in [shutil.which(f"python{version}"), *map(str, builds)]:
        if python is not None and _works(python):
            return python
    return None


def _works(python: str) -> bool:
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def lowest() -> list[str]:
    """The lowest version of each library that pyproject.toml allows, as constraints."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    lines = [*PROJECT["project"]["dependencies"], *(line for extra in extras for line in extra)]
    bounds = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)")
    found = (bounds.match(line) for line in lines)
    return sorted({f"{each[1]}=={each[2]}" for each in found if each})


# ------------------------------------------------------------------------------ environments


def environment(python: str, place: Path, *what: str) -> Path:
    """Make an environment, install into it, and return its interpreter."""
    inside = place / "bin" / "python"
    if not inside.exists():
        run(python, "-m", "venv", str(place))
        run(str(inside), "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    if what:
        run(str(inside), "-m", "pip", "install", "--quiet", *what)
    return inside


def use(version: str, python: str, folder: Path, built: dict[str, Path]) -> None:
    """Install wheel and sdist with the newest NumPy, the wheel with the oldest; use them."""
    (oldest,) = (line for line in lowest() if line.startswith("numpy=="))
    for name, numpy in (("wheel", "numpy"), ("wheel", oldest), ("sdist", "numpy")):
        place = folder / f"{version}-{name}-{numpy}"
        inside = environment(python, place, numpy, f"{built[name]}[cli]")
        run(str(inside), "-W", "error", "-c", USE, cwd=place)
        run(str(place / "bin" / "chainrules"), "doctor", cwd=place)
        run(str(place / "bin" / "chainrules"), "explain", "numpy.matmul", cwd=place)
        print(f"{version}: {built[name].name} with {numpy} installed and used", flush=True)
        shutil.rmtree(place)


def make(place: Path, *what: str) -> subprocess.CompletedProcess[str]:
    """Run make with an environment of its own, and a draw that is the same in every row."""
    command = ["make", f"VENV={place}", f"CONSTRAINTS={place}.txt", *what]
    env = {"CHAINRULES_DRAW": "matrix", **os.environ}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def prepared(version: str, python: str, row: str, folder: Path) -> Path:
    """An environment with the project, the libraries of a row, and what the tests need."""
    place = folder / f"{version}-{row}"
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    held = {"pinned": pinned, "oldest": "\n".join(lowest())}.get(row, "")
    place.with_name(f"{place.name}.txt").write_text(held, encoding="utf-8")
    for what in (f"{place}/.stamp-test", "demo"):
        done = make(place, f"PYTHON={python}", what)
        if done.returncode:
            sys.exit(f"{place.name}: {what}\n{done.stdout}{done.stderr}")
    return place


# ------------------------------------------------------------------------------------ suites


@dataclass
class Result:
    """What became of the cases of a suite."""

    passed: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)

    def add(self, other: Result) -> None:
        """Count the cases of another file."""
        self.passed += other.passed
        for mine, more in ((self.failed, other.failed), (self.skipped, other.skipped)):
            for name, count in more.items():
                mine[name] = mine.get(name, 0) + count

    def __str__(self) -> str:
        more = [(sum(self.failed.values()), "failed"), (sum(self.skipped.values()), "skipped")]
        return ", ".join([f"{self.passed:,} passed", *(f"{n:,} {what}" for n, what in more if n)])


def suites_in(place: Path, paths: list[str]) -> dict[str, Result]:
    """Run `make test`, or what it runs in some folders, and add up the cases of each suite."""
    report = place.with_name(f"{place.name}.json")
    report.unlink(missing_ok=True)
    arguments = " ".join(["-p tests.house.results", f"--results={report}", *paths])
    done = make(place, "test", f"ARGS={arguments}")
    report.with_suffix(".log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if not report.exists():
        sys.exit(f"{place.name}: no results\n{done.stdout}{done.stderr}")
    found: dict[str, Result] = {}
    for path, counts in json.loads(report.read_text(encoding="utf-8")).items():
        found.setdefault(suite_of(path), Result()).add(Result(**counts))
    return {name: found[name] for name in (*SUITES, REST) if name in found}


def suite_of(path: str) -> str:
    """The suite that a test file belongs to."""
    return next((name for name, paths in SUITES.items() if path.startswith(paths)), REST)


def versions_in(inside: Path) -> dict[str, str]:
    """The versions of Python and of the libraries in an environment."""
    code = "import importlib.metadata as m, platform\nprint(platform.python_version())\n"
    code += f"for name in {LIBRARIES!r}: print(m.version(name))"
    python, *others = run(str(inside), "-c", code).split()
    return {"python": python, **dict(zip(LIBRARIES, others, strict=True))}


def tested(
    version: str, python: str, row: str, folder: Path, suites: list[str]
) -> dict[str, Result]:
    """Run suites in one row, and write what became of them into the tables."""
    start = time.monotonic()
    place = prepared(version, python, row, folder)
    versions = {"row": row, **versions_in(place / "bin" / "python")}
    results = suites_in(place, [path for name in suites for path in SUITES[name]])
    for name, result in results.items():
        print(f"{version} {row}: {name}: {result}", flush=True)
    minutes = (time.monotonic() - start) / 60
    print(f"{version} {row}: {minutes:.0f} minutes", flush=True)
    cells = {name: str(result) for name, result in results.items()}
    earlier = [line for line in read(TABLE) if is_of(line, version, row)]
    write(TABLE, version, row, [{**line, **versions, **cells} for line in earlier or [{}]])
    kept = [r for r in read(REASONS) if is_of(r, version, row) and r["suite"] not in results]
    write(REASONS, version, row, [*kept, *reasons(versions, results)])
    return results


def reasons(line: dict[str, str], results: dict[str, Result]) -> list[dict[str, str]]:
    """Which tests failed, and why others were skipped."""
    found = []
    for name, result in results.items():
        for kind, counts in (("failed", result.failed), ("skipped", result.skipped)):
            for what, count in sorted(counts.items()):
                cells = {"suite": name, "cases": str(count), "": kind, "test or reason": what}
                found.append({"row": line["row"], "python": line["python"], **cells})
    return found


def read(table: Path) -> list[dict[str, str]]:
    """Read the lines of a table, none where there is no table."""
    if not table.exists():
        return []
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_of(line: dict[str, str], version: str, row: str) -> bool:
    """Whether a line of a table is of a row and a Python."""
    return (line["row"], _minor(line["python"])) == (row, version)


def write(table: Path, version: str, row: str, lines: list[dict[str, str]]) -> None:
    """Put lines in place of those of the same row and Python."""
    others = [line for line in read(table) if not is_of(line, version, row)]
    lines = sorted(
        [*others, *lines],
        key=lambda line: (ROWS.index(line["row"]), VERSIONS.index(_minor(line["python"]))),
    )
    names = {name: None for line in lines for name in line}
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*names], restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


# -------------------------------------------------------------------------------------- main


def main(arguments: list[str]) -> int:
    """Build, install and use; then run the suites of all rows. Return how many tests failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.house.matrix")
    kinds = ["use", *ROWS]
    parser.add_argument("wanted", nargs="*", metavar="WANTED")
    parser.add_argument("--folder", type=Path, help="keep environments and reports there")
    parser.add_argument(
        "--suite", action="append", choices=SUITES, help="run this one, or more, not all"
    )
    options = parser.parse_args(arguments)
    if wrong := {*options.wanted} - {*VERSIONS, *kinds}:
        parser.error(f"{', '.join(wrong)}: choose of {', '.join([*VERSIONS, *kinds])}")
    there = pythons([each for each in options.wanted if each in VERSIONS])
    parts = [each for each in options.wanted if each in kinds] or kinds
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        if "use" in parts:
            run(sys.executable, "-m", "hatchling", "build", "-d", str(folder / "dist"))
            built = {
                "wheel": next((folder / "dist").glob("*.whl")),
                "sdist": next((folder / "dist").glob("*.tar.gz")),
            }
            for version, python in there.items():
                use(version, python, folder, built)
        for version, python in there.items():
            due = {"oldest": version == VERSIONS[0], "pinned": version == PINNED, "newest": True}
            for row in (each for each in due if due[each] and each in parts):
                results = tested(version, python, row, folder, options.suite or [])
                failed += sum(sum(result.failed.values()) for result in results.values())
                if options.folder is None:
                    shutil.rmtree(folder / f"{version}-{row}")
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
