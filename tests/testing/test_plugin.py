"""The pytest plugin, in a project of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROJECT = """
import sys

early = [m for m in ("chainrules_py", "numpy", "array_api_strict") if m in sys.modules]


def test_nothing_is_imported_by_the_plugin():
    assert early == []
"""

USED = """
import numpy as np
import pytest


@pytest.mark.slow
@pytest.mark.gpu
def test_markers_are_known(): ...


def test_backend(backend):
    x = backend.asarray(np.arange(3.0))
    assert type(x).__module__.partition(".")[0] == backend.xp.__name__
    if backend.device is not None:
        assert x.device == backend.device
    assert np.array_equal(backend.numpy(x), np.arange(3.0))
"""


def run(folder, text):
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "--strict-markers",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:hypothesispytest",
    ]
    # Other plugins that are installed may import what they like; only this one is looked at.
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [*command, "-p", "chainrules_pytest", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=env,
    )


def test_plugin_imports_no_core_and_no_array_library(tmp_path):
    done = run(tmp_path, PROJECT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_fixture_and_markers(tmp_path):
    pytest.importorskip("array_api_strict")
    done = run(tmp_path, USED)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout
