"""A package that only brings rules: installed from its folder, it works without being imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
THIRD = ROOT / "examples" / "thirdparty"


def outsider(folder):
    """An environment in which the packages of a folder are installed beside ours."""
    paths = [str(folder), str(ROOT), str(ROOT / "backends")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def installed(source, folder):
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--target", str(folder), str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_as_an_outsider_installs_it(tmp_path):
    pytest.importorskip("hatchling")
    pytest.importorskip("scipy")
    installed(THIRD, tmp_path)
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    environment = outsider(tmp_path)
    command = [*tests, str(THIRD / "tests"), f"--rootdir={tmp_path}"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@pytest.mark.slow
def test_a_new_package_is_one_that_can_be_installed(tmp_path):
    pytest.importorskip("hatchling")
    pytest.importorskip("click")
    command = [sys.executable, "-m", "chainrules_py", "new-package", "myrules", "--about", "numpy"]
    environment = outsider(tmp_path / "site")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    installed(tmp_path / "myrules", tmp_path / "site")
    code = (
        "import sys, numpy as np; from chainrules_tape import grad;"
        "grad(lambda x: np.sum(x))(np.ones(2)); assert 'myrules' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_broken_package_is_named_and_skipped(tmp_path):
    package = tmp_path / "broken"
    package.mkdir()
    (package / "__init__.py").write_text("import nothing_of_that_name\n")
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[chainrules_py.rules]\nnumpy = broken\n")
    code = (
        "import numpy as np; from chainrules_tape import grad; from chainrules_py import explain;"
        "print(grad(lambda x: np.sum(x))(np.ones(2)), explain(np.sin, 1.0))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=outsider(tmp_path), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "[1. 1.]" in done.stdout
    assert "broken could not be imported: ModuleNotFoundError" in done.stdout
