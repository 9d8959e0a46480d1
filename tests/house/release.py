"""Builds a release and uses it as a stranger would: ``make release``.

Wheel and sdist are built into ``dist``, and checked by twine. The wheel is installed into a new
environment of each Python that is found; what that takes is written into docs/installs.csv, which
docs/versions.md shows. Then the pages of `tests.house.newcomers` are followed with this wheel.
``python -m tests.house.release --installs`` stops before the pages.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.house import newcomers
from tests.house.matrix import ROOT, USE, pythons, run

TABLE = ROOT / "docs" / "installs.csv"
IMPORT = """\
import sys, time
before, start = {*sys.modules}, time.process_time()
import chainrules_py
print(time.process_time() - start, len({*sys.modules} - before))
"""


def build(into: Path) -> list[Path]:
    """Build wheel and sdist, and have twine check what an index would read of them."""
    shutil.rmtree(into, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-d", str(into))
    built = sorted(into.iterdir(), key=lambda path: path.suffix != ".whl")
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, built))
    return built


def installed(version: str, python: str, wheel: Path, folder: Path) -> dict[str, str]:
    """Install the wheel into a new environment, use it, and say what that took."""
    place = folder / version
    run(python, "-m", "venv", str(place))
    inside, start = str(place / "bin" / "python"), time.monotonic()
    run(inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel))
    seconds = time.monotonic() - start
    listed = run(inside, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check")
    packages = dict(line.split("==") for line in listed.splitlines())
    site = next((place / "lib").glob("python*/site-packages"))
    ours = sum([f.stat().st_size for f in site.glob("chainrules_*/**/*.py")])
    run(inside, "-W", "error", "-c", USE, cwd=folder)
    times = [run(inside, "-I", "-c", IMPORT, cwd=folder).split() for _ in range(20)]
    return {
        "Python": version,
        "wheel, MB": f"{wheel.stat().st_size / 1e6:.2f}",
        "installed with it": ", ".join(
            [f"{name} {packages[name]}" for name in sorted(packages) if name not in _NOT_OURS]
        ),
        "our code, MB": f"{ours / 1e6:.1f}",
        "install, s": f"{seconds:.0f}",
        "import, ms of CPU": f"{1e3 * min([float(t) for t, _ in times]):.0f}",
        "modules": times[-1][1],
    }


_NOT_OURS = {"pip", "setuptools", "chainrules-py"}


def write(rows: list[dict[str, str]]) -> None:
    """Write the table of installations."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(arguments: list[str]) -> int:
    """Build, check, install and measure, and follow the pages; one line for each."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("pages", nargs="*", help="pages to follow, all by default")
    parser.add_argument("--installs", action="store_true", help="follow no pages")
    asked = parser.parse_args(arguments)
    wheel, sdist = build(ROOT / "dist")
    version = re.fullmatch(r"chainrules_py-([^-]+)-.*", wheel.name)
    assert version is not None
    print(f"{version[1]}: {wheel.name}, {sdist.name} built and checked", flush=True)
    with tempfile.TemporaryDirectory() as name:
        rows = []
        for python, path in pythons([]).items():
            rows.append(installed(python, path, wheel, Path(name)))
            print(", ".join([f"{key} {value}" for key, value in rows[-1].items()]), flush=True)
    write(rows)
    return 0 if asked.installs else newcomers.main(asked.pages, wheel)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
