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
    pytest.importorskip("scipy")
    command = [sys.executable, "-m", "chainrules_py", "new-package", "myrules", "--about", "scipy"]
    environment = outsider(tmp_path / "site")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rule = "import scipy.special\nscalar_rule(scipy.special.owens_t, *[lambda y, h, a: 77.0] * 2)\n"
    with (tmp_path / "myrules" / "myrules" / "rules.py").open("a") as file:
        file.write(rule)
    installed(tmp_path / "myrules", tmp_path / "site")
    code = (
        "import scipy.special; from chainrules_tape import grad;"
        "assert grad(scipy.special.owens_t)(0.3, 0.7) == 77.0"
    )
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
