"""The pytest plugin, in a project of its own."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.forks import Forks

ROOT = Path(__file__).resolve().parents[2]
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


@pytest.fixture(scope="module")
def forks():
    with Forks("pytest, chainrules_py.testing") as forks:
        yield forks


@pytest.fixture
def pytest_in(forks):
    """``pytest_in(folder, ...)``: another pytest, in a folder of its own, with this plugin."""

    def pytest_in(folder, *arguments, plugin=True, **env):
        chosen = ["-q", "--strict-markers", "-p", "no:cacheprovider"]
        chosen += ["-p", "chainrules_py.testing.plugin"] * plugin
        return forks.pytest([*chosen, *arguments, str(folder)], folder, **env)

    return pytest_in


def test_it_is_active_only_where_it_is_asked_for(tmp_path, pytest_in):
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert "pytest11" not in groups
    (tmp_path / "test_it.py").write_text("import sys\n\n\ndef test_it(): ...\n", encoding="utf-8")
    assert "1 passed" in pytest_in(tmp_path, plugin=False).stdout
    assert "--chainrules-json" in pytest_in(tmp_path, "--help").stdout
    assert "--chainrules-json" not in pytest_in(tmp_path, "--help", plugin=False).stdout


def test_fixture_and_markers(tmp_path, pytest_in):
    pytest.importorskip("array_api_strict")
    (tmp_path / "test_it.py").write_text(USED, encoding="utf-8")
    done = pytest_in(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout or "3 passed, 1 skipped" in done.stdout


NIGHTLY = """
import pytest


@pytest.mark.nightly
def test_long(): ...


def test_short(): ...
"""

DEPTHS = {
    "": "1 passed, 1 deselected",
    "nightly": "1 passed, 1 deselected",
    "nightly or not nightly": "2 passed",
    "not nightly": "1 passed, 1 deselected",
}


@pytest.mark.parametrize("expression", DEPTHS)
def test_nightly_runs_only_if_named(tmp_path, expression, pytest_in):
    (tmp_path / "test_it.py").write_text(NIGHTLY, encoding="utf-8")
    done = pytest_in(tmp_path, "-m", expression)
    assert DEPTHS[expression] in done.stdout, done.stdout + done.stderr


GPU = """
import pytest


@pytest.mark.gpu
def test_on_a_gpu():
    import cupy

    assert cupy.arange(3).sum() == 3
"""


def test_gpu_skips_with_its_reason_where_there_is_none(tmp_path, pytest_in):
    (tmp_path / "test_it.py").write_text(GPU, encoding="utf-8")
    done = pytest_in(tmp_path, "-rs")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout or "needs a GPU: " in done.stdout


# ----------------------------------------------------------------------- a package of somebody else

PACKAGE = {
    "cubes/__init__.py": """
from chainrules_py import primitive, scalar_rule


@primitive
def cube(x, /):
    return x * x * x


@primitive
def wave(x, /):
    from chainrules_py.ops import sin

    return sin(3.0 * x)


scalar_rule(cube, lambda _y, x: 3 * x * x, complex="holomorphic")
""",
    "cubes/samples.py": """
from chainrules_py.testing import Draw, Sample, enter_samples
from cubes import cube

enter_samples(cube, Sample(Draw((2, 3)), complex=True), Sample(Draw(())), Sample(Draw(shape=None)))
""",
    "test_cubes.py": """
import cubes
import cubes.samples
from chainrules_py.testing import sample_tests

test_rules = sample_tests(cubes)
""",
}

WAVE = """
from chainrules_py.ops import cos

scalar_rule(wave, lambda _y, x: {factor} * cos(3.0 * x))
"""

WAVE_SAMPLES = """
from cubes import wave

enter_samples(wave, Sample(Draw((4,))))
"""


@pytest.fixture
def package(tmp_path):
    """``package(**added)``: files of a package, with these texts added at their ends."""

    def write(**added):
        for path, text in PACKAGE.items():
            (tmp_path / path).parent.mkdir(exist_ok=True)
            more = added.get(path.rpartition("/")[2].removesuffix(".py"), "")
            (tmp_path / path).write_text(text + more, encoding="utf-8")
        return tmp_path

    return write


CHECKED = ["-m", "not slow", "--chainrules-json=made/found.json"]


@pytest.mark.parametrize(
    "workers",
    [
        pytest.param([], id="one process"),
        pytest.param(["-p", "xdist", "-n", "2"], id="xdist", marks=pytest.mark.slow),
    ],
)
def test_package_gets_its_tests_by_one_line(package, workers, pytest_in):
    folder = package()
    done = pytest_in(folder, *CHECKED, *workers)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rules x checks x backends: 1 x " in done.stdout
    assert " passed, 0 failed, " in done.stdout
    kept = json.loads((folder / "made" / "found.json").read_text(encoding="utf-8"))
    cube = kept["operations"]["cubes.cube"]
    assert cube["modes"] == ["forward", "reverse"]
    assert cube["seeds"] == [0]
    assert cube["samples"] == 4
    assert not cube["failures"]
    assert cube["backends"]["numpy"]["depth"] == "full"
    assert cube["backends"]["numpy"]["checks"]["push"]["passed"] == 4
    if "array_api_strict" in cube["backends"]:
        there = cube["backends"]["array_api_strict"]
        assert there["depth"] == "cheap"
        assert there["checks"]["adjoint"] == {"passed": 2}


def test_package_with_a_wrong_rule_is_told_so(package, pytest_in):
    folder = package(__init__=WAVE.format(factor=2.0), samples=WAVE_SAMPLES)
    done = pytest_in(folder, *CHECKED)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "cubes/__init__.py:" in done.stdout
    assert "rules x checks x backends: 2 x " in done.stdout
    kept = json.loads((folder / "made" / "found.json").read_text(encoding="utf-8"))
    assert kept["operations"]["cubes.wave"]["failures"]
    assert kept["verdicts"]["failed"]


def test_package_with_a_right_rule_passes(package, pytest_in):
    folder = package(__init__=WAVE.format(factor=3.0), samples=WAVE_SAMPLES)
    done = pytest_in(folder, *CHECKED)
    assert done.returncode == 0, done.stdout + done.stderr


def test_package_with_a_rule_without_samples_is_told_so(package, pytest_in):
    done = pytest_in(package(__init__=WAVE.format(factor=3.0)), *CHECKED)
    assert done.returncode == 1
    assert "wave has a rule and no sample" in done.stdout


@pytest.mark.nightly
def test_twenty_draws_run_at_night(package, pytest_in):
    folder = package()
    done = pytest_in(folder, "-m", "nightly", "--chainrules-json=found.json")
    assert done.returncode == 0, done.stdout + done.stderr
    kept = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    assert kept["operations"]["cubes.cube"]["seeds"] == list(range(1, 21))


def test_file_is_written_where_no_sample_ran(tmp_path, pytest_in):
    (tmp_path / "test_it.py").write_text("def test_it(): ...", encoding="utf-8")
    done = pytest_in(tmp_path, "--chainrules-json=found.json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["operations"] == {}
