"""Follows pages as a newcomer would: ``make test-newcomers``, each in a fresh environment, timed.

Of each page the line that installs is run, from the wheel that is built here, and then its blocks,
in order, as written; those that are meant to raise have to. A page may take five minutes in all.
Without a GPU, CuPy's page is followed as it says there: in a checkout, with arrays on the host.
``python -m tests.house.newcomers dask`` chooses pages.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.house import pages

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300
HAS_GPU = shutil.which("nvidia-smi") is not None
ON_HOST = "ON_HOST.prepare()"
"""In the block that is for machines without a GPU."""
PAGES = {
    "tape": "NumPy gradients",
    "pytorch": "one's own rule in PyTorch",
    "jax": "one's own rule in JAX",
    "build-an-engine": "an engine",
    "cupy": "CuPy",
    "dask": "Dask",
    "coming-from": "coming from autograd and others",
    "gallery": "whole programs",
}
INSTALL = re.compile(r"pip install \"?chainrules-py(?:\[([\w,]+)\])?\"?((?: [a-z][\w-]*)*)")


def installed(page: str) -> tuple[str, list[str]]:
    """The extras in the line that installs, and what else it names; without one KeyError."""
    found = INSTALL.search(pages.text_of(page))
    if found is None:
        raise KeyError(page)
    return found[1] or "", found[2].split()


def build(into: Path) -> Path:
    """Build the wheel."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    return next(into.glob("*.whl"))


def followed(page: str) -> list[pages.Block]:
    """Return the blocks of a page that are followed on this machine."""
    shown = [block for block in pages.blocks(page) if not block.hidden]
    return [block for block in shown if not (HAS_GPU and ON_HOST in block.code)]


def follow(page: str, wheel: Path, folder: Path) -> tuple[float, str]:
    """Return the seconds that a page took, and what went wrong; the environment is new."""
    start = time.perf_counter()
    python = str(folder / page / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(folder / page)], check=True)
    wanted, more = installed(page)
    what = f"{wheel}[{wanted}]" if wanted else str(wheel)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, what, *more], capture_output=True, text=True, check=False)
    if done.returncode:
        return time.perf_counter() - start, done.stderr
    work = folder / "work"  # the page's own name would hide a library's
    work.mkdir(exist_ok=True)
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    if page == "cupy":
        for path in [ROOT / "tests" / "__init__.py", *(ROOT / "tests" / "fake_gpu").glob("*.py")]:
            copied = work / path.relative_to(ROOT)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copied)
    try:
        pages.run(followed(page), work, python, work)
    except RuntimeError as error:
        return time.perf_counter() - start, str(error)
    return time.perf_counter() - start, ""


def main(wanted: list[str], wheel: Path | None = None) -> int:
    """Follow the pages, with a wheel that is there or one built here; one line for each."""
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = wheel or build(folder)
        for page in wanted or PAGES:
            seconds, wrong = follow(page, wheel, folder)
            if wrong or seconds > LIMIT:
                failed += 1
            said = f"failed: {wrong[-1500:]}" if wrong else "followed to its last line"
            print(f"{PAGES[page]} (docs/{page}.md): {seconds:.0f} s, {said}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
