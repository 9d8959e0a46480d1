"""Calls that others wrote: the examples in the docstrings of NumPy and SciPy, run and judged.

They run in a process of their own: examples change options of NumPy's, and write files. All of
them, and NumPy's and SciPy's own test suites: `python -m tests.fuzz.harvest`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np

from chainrules_py import Array, primitive, scalar_rule
from chainrules_py import ops as v
from tests.fuzz.harvest import Harvested
from tests.fuzz.harvested import judged


@primitive
def cube(x: Array) -> Any:
    """A function whose rule is wrong."""
    return v.multiply(x, v.multiply(x, x))


scalar_rule(cube, lambda y, x: 2.0 * x * x)


def test_a_wrong_rule_is_seen() -> None:
    call = Harvested(f"{__name__}.cube", None, (np.array([0.5, 2.0]),), {})
    assert [line.split()[1] for line in judged(call)] == ["forward", "reverse"]


def test_calls_of_docstrings() -> None:
    """Each argument that floats: the value of NumPy or SciPy, both derivatives, or a refusal."""
    command = [sys.executable, "-m", "tests.fuzz.harvest", "4", "5", "6", "13", "14", "15", "24"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    said = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    *wrong, count = said.stdout.splitlines()
    assert wrong == []
    assert int(count.split()[0]) > 300
