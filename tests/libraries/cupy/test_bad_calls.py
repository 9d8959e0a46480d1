"""Without a device every call of CuPy's functions ends in an answer or in an error of ours."""

from __future__ import annotations

import collections
import json
import subprocess
import sys

import pytest

from tests.fake_gpu.backend import backend

pytest.importorskip("cupy")


@pytest.mark.skipif(bool(backend("cupy-host").missing), reason="there is a GPU")
def test_no_error_is_anybody_elses():
    run = [sys.executable, "-m", "tests.libraries.cupy.bad_calls"]
    ends = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    assert {call: end for call, end in ends.items() if ":" in end} == {}
    assert collections.Counter(ends.values())["ours"] > 300
