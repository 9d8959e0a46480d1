"""What a function gives at first, in a process in which nothing is loaded, it gives again."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("scipy")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each call has a child")
@pytest.mark.parametrize("start, step", [(5, 2003), pytest.param(0, 41, marks=pytest.mark.slow)])
def test_the_first_answer_is_that_of_the_second_call(start, step):
    run = [sys.executable, "-m", "tests.faults.first_calls", str(start), str(step)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.stdout.endswith(" cases, 0 wrong\n"), done.stdout + done.stderr
