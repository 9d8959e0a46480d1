"""Random programs under the sanitizers of addresses and of undefined behaviour, each anew."""

import os
import shutil
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.usefixtures("native")]

CODE = """
import sys
from tests.engines.compile import random_programs as r
r.TARGET = "c"
for check in (r.check_compiled, r.check_loose):
    r.run(check, 10, int(sys.argv[1]))
assert r.SAID["equal"] and r.SAID["close"], r.SAID
"""


def library(name):
    command = [shutil.which("cc"), f"-print-file-name={name}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return found if os.path.isabs(found) else None


@pytest.mark.parametrize("turn", range(10))
def test_nothing_is_found(tmp_path, turn):
    preloaded = [library("libasan.so"), library("libubsan.so")]
    if None in preloaded:
        pytest.skip("the compiler has no sanitizers")
    env = {
        **os.environ,
        "CHAINRULES_C_CACHE": str(tmp_path),
        "CHAINRULES_NATIVE_CFLAGS": "-fsanitize=address,undefined -fno-sanitize-recover=all",
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter's own
        "LD_PRELOAD": " ".join(preloaded),
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(turn)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "runtime error" not in done.stderr
    assert any([path.suffix == ".so" for path in tmp_path.iterdir()])
