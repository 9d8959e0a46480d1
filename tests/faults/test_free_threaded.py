"""Threads of a free-threaded CPython, if there is one that has NumPy and what the core needs.

``CHAINRULES_FREE_THREADED`` names it, or it is in the path or among the versions of pyenv. The
project claims nothing of it (`docs/promises.md`), so that its absence is no failure.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = [f"python3.{minor}t" for minor in (13, 14, 15)]

RIGHT = """if True:
    import sys, threading, time
    import numpy as np
    from chainrules_tape import grad

    def loss(x):
        for _ in range(30):
            x = np.sin(x) * x + 0.1
        return np.sum(x)

    gradient, x = grad(loss), np.linspace(0.1, 0.9, 8)
    expected, right = gradient(x).tobytes(), []

    def run(n):
        right.append(all([gradient(x).tobytes() == expected for _ in range(n)]))

    def seconds(threads, n):
        several = [threading.Thread(target=run, args=(n // threads,)) for _ in range(threads)]
        start = time.perf_counter()
        for thread in several:
            thread.start()
        for thread in several:
            thread.join()
        return time.perf_counter() - start

    n = int(sys.argv[1])
    ratios = [seconds(1, n) / seconds(8, n) for _ in range(5)]
    assert all(right) and not sys._is_gil_enabled()
    print(max(ratios))
"""


@functools.cache
def interpreter() -> str:
    """Return one that can run the tape."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [os.environ.get("CHAINRULES_FREE_THREADED"), *map(shutil.which, NAMES)]
    found += [str(path) for path in pyenv.glob("*t/bin/python")]
    for python in filter(None, found):
        has = [python, "-c", "import numpy, plum, array_api_compat"]
        if subprocess.run(has, capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip("no free-threaded CPython with NumPy is installed (pyenv install 3.14t)")


def ratio(n: int) -> float:
    """Return how many times faster eight threads are than one, all of whose answers are right."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "backends")))}
    run = [interpreter(), "-c", RIGHT, str(n)]
    return float(subprocess.run(run, env=env, capture_output=True, check=True).stdout)


def test_eight_threads_are_right():
    assert ratio(80) > 0


@pytest.mark.nightly
def test_eight_threads_are_faster_than_one():
    if (os.cpu_count() or 1) < 2:
        pytest.skip("one processor")
    assert ratio(4000) >= 1.6


def test_nothing_is_claimed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert not [line for line in project["classifiers"] if "Free Threading" in line]
