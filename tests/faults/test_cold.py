"""Faults in the first run of a program leave nothing half made behind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("_testcapi")
pytest.importorskip("autograd")
pytest.importorskip("scipy")
if not hasattr(os, "fork"):
    pytest.skip("this system does not fork", allow_module_level=True)


@pytest.mark.parametrize(
    "number",
    [pytest.param(30, marks=pytest.mark.slow), pytest.param(3000, marks=pytest.mark.nightly)],
)
def test_first_runs(number):
    """In a process of its own, in which nothing has run."""
    run = [sys.executable, "-m", "tests.faults.cold", str(number)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout.endswith(f"{number} faults, 0 wrong\n"), done.stdout + done.stderr
