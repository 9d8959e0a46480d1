"""What a program is hangs on nothing that the process has compiled before."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("scipy")

FIRST = """
import sys
import numpy as np
from chainrules_compile import compile
from chainrules_tape import value_and_grad

if "arrays" in sys.argv:
    compile(np.sum)(np.ones(2))
number = {"float": float, "float64": np.float64, "float32": np.float32}[sys.argv[1]]
for f in (np.log, np.sqrt):
    compiled = compile(value_and_grad(lambda x, y: f(x * y + 0.3) * y))
    compiled(number(1.5), number(0.7))
    print(compiled.source)
    compiled = compile(value_and_grad(lambda x, y: x / y))
    compiled(number(1.5), number(0.7))
    print(compiled.source)
"""


@pytest.mark.parametrize("number", ["float", "float64", "float32"])
def test_functions_of_numbers_are_the_first_that_are_compiled(number):
    cold, warm = [
        subprocess.run([sys.executable, "-c", FIRST, number, *more], capture_output=True, text=True)
        for more in ([], ["arrays"])
    ]
    assert "def call" in cold.stdout, cold.stderr
    assert cold.stdout == warm.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each program has a child")
@pytest.mark.parametrize(
    "start, step",
    [(24, 300), pytest.param(0, 1, marks=pytest.mark.nightly)],
)
def test_programs_of_samples(start, step):
    run = [sys.executable, "-m", "tests.engines.compile.cold", str(start), str(step)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout.endswith(" programs, 0 wrong\n"), done.stdout + done.stderr
