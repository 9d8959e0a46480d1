"""autograd's own tests, with exported functions in the place of autograd's.

They are in autograd's source distribution, and not in what is installed.
CHAINRULES_AUTOGRAD_SOURCES names its folder.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("autograd", reason="autograd is not installed")

SOURCES = os.environ.get("CHAINRULES_AUTOGRAD_SOURCES")


def test_exported_functions_stand_in_the_place_of_autograds():
    code = "from tests.engines.autograd.engine.in_place import INSTALLED; print(len(INSTALLED))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert int(found.stdout) >= 170


@pytest.mark.nightly
@pytest.mark.skipif(not SOURCES, reason="CHAINRULES_AUTOGRAD_SOURCES names no folder")
def test_autograds_own_tests():
    place = str(Path(SOURCES) / "tests")
    plugin = ("-p", "tests.engines.autograd.engine.in_place", "-p", "no:cacheprovider", "-n", "0")
    alone = ("-c", os.devnull, "--rootdir", place, "-q", "-W", "ignore")
    command = [sys.executable, "-m", "pytest", *alone, *plugin, place]
    found = subprocess.run(command, capture_output=True, check=False, text=True)
    assert found.returncode == 0, found.stdout[-3000:]
