"""The house: what stands at the top, what the wheel holds, what the commands are."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = SETTINGS["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
TEXT = {".py", ".pyi", ".md", ".toml", ".yaml", ".yml", ".json", ".svg", ".css", ".cfg", ".txt", ""}
IGNORED = {".git", ".venv", "build", "dist", "_build", "generated", "jupyter_execute", "shared"}

# Spelled in pieces: this file is searched as well.
REGISTRIES = ("pypi" + ".org", "files.python" + "hosted", "anaconda" + ".org", "npmjs" + ".")
NETWORKS = (
    "cdn" + ".",
    "jsdeliv" + "r",
    "unpk" + "g.com",
    "cdn" + "js",
    "google" + "apis",
    "gstat" + "ic",
    "bootstrap" + "cdn",
    "code.jquery" + ".com",
)


def text_files() -> list[Path]:
    """Every text file of the tree that is not built, cached or ignored."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(
            d for d in folders if d not in IGNORED and not (d.startswith(".") and d != ".ci")
        )
        if Path(folder).name.endswith(("_cache", "__pycache__")):
            folders.clear()
            continue
        found += [Path(folder, f) for f in sorted(files) if Path(f).suffix in TEXT]
    return found


def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))


@pytest.mark.parametrize(
    "name",
    [
        "chainrules_py",
        "backends",
        "tests",
        "benchmarks",
        "docs",
        "examples",
        ".ci/run",
        ".importlinter",
        ".pre-commit-config.yaml",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "pyproject.toml",
    ],
)
def test_stands_at_the_top(name):
    assert (ROOT / name).exists()


def test_backends_is_a_folder_of_packages_and_no_package():
    assert not (ROOT / "backends" / "__init__.py").exists()
    folders = {f"backends/{p.name}" for p in (ROOT / "backends").iterdir() if p.is_dir()}
    assert folders - {"backends/__pycache__"} == {p for p in PACKAGES if "/" in p}


@pytest.mark.parametrize("package", PACKAGES)
def test_package_is_typed_and_states_its_api(package):
    assert (ROOT / package / "py.typed").exists()
    assert "__all__" in (ROOT / package / "__init__.py").read_text(encoding="utf-8")


STATED = (
    "chainrules_py/__init__.py",
    "chainrules_py/extend.py",
    "chainrules_py/composites/higher_order.py",
    "chainrules_py/cli/__init__.py",
    "chainrules_py/testing/__init__.py",
    "chainrules_py/testing/*/__init__.py",
    "chainrules_py/testing/strategies.py",
    "chainrules_py/ops/*",
    "backends/*/__init__.py",
    "backends/chainrules_numpy/composites/mapping.py",
    "backends/chainrules_numpy/pandas.py",
    "benchmarks/*/__init__.py",
    "tests/*/__init__.py",
    "backends/chainrules_autograd/*",
    "backends/chainrules_scipy/[!_]*.py",
)


@pytest.mark.parametrize("package", [*PACKAGES, "benchmarks", "tests"])
def test_names_are_stated_where_they_may_be_imported_from(package):
    """A list in an inner room repeats names that nobody may rely on."""
    sources = [p.relative_to(ROOT).as_posix() for p in (ROOT / package).rglob("*.py")]
    inner = [name for name in sources if not any(fnmatch(name, stated) for stated in STATED)]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in inner}
    assert not [name for name, text in texts.items() if re.search("^__all__", text, re.MULTILINE)]


def test_hard_dependencies_are_these_three():
    names = {re.match(r"[\w-]+", d)[0] for d in SETTINGS["project"]["dependencies"]}
    assert names == {"numpy", "plum-dispatch", "array-api-compat"}


def test_plum_is_one_that_orders_signatures_with_any():
    assert "plum-dispatch>=2.10.1" in SETTINGS["project"]["dependencies"]


def test_extras_never_name_the_cupy_source_package():
    extras = SETTINGS["project"]["optional-dependencies"]
    libraries = {"scipy", "dask", "torch", "jax", "autograd"}
    others = {"cli", "mlx", "mygrad", "native", "pytensor", "thunder", "tinygrad", "zig"}
    assert set(extras) == {"cuda12", "cuda13"} | libraries | others
    assert "cupy" not in {d for extra in extras.values() for d in extra}


def test_one_torch_is_pinned_everywhere():
    pins = re.findall(r"torch==[\d.]+", (ROOT / "constraints.txt").read_text(encoding="utf-8"))
    pins += re.findall(r"torch==[\d.]+", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert len(set(pins)) == 1


def test_entry_points_name_modules_that_exist():
    folders = {Path(p).name: ROOT / p for p in PACKAGES}
    for group in SETTINGS["project"]["entry-points"].values():
        for module in group.values():
            top, *rest = module.partition(":")[0].split(".")
            place = folders[top].joinpath(*rest)
            assert place.with_suffix(".py").exists() or (place / "__init__.py").exists(), module


def test_wheel_holds_the_packages(tmp_path):
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed, so no wheel can be built")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for package in PACKAGES:
        top = Path(package).name
        sources = {
            f"{top}/{p.relative_to(ROOT / package).as_posix()}"
            for p in (ROOT / package).rglob("*.py")
        }
        assert {f"{top}/__init__.py", f"{top}/py.typed"} <= names
        assert sources <= names
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {Path(p).name for p in PACKAGES}


def test_ci_calls_make_test():
    run = ROOT / ".ci" / "run"
    assert os.access(run, os.X_OK)
    assert re.search(r"^make test$", run.read_text(encoding="utf-8"), re.MULTILINE)


def test_commands_exist():
    wanted = {"demo", "test", "test-all", "test-gpu", "lint", "docs", "bench", "clean"}
    assert wanted <= targets()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/benchmarks.md"])
def test_commands_of_a_page_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:`|\$ )make ([a-z][a-z-]*)", text))
    assert named
    assert named <= targets()


def test_no_text_has_marks_of_a_merge():
    marks = tuple(mark * 7 + " " for mark in "<>")
    lines = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in text_files()
        for line in path.read_text(encoding="utf-8", errors="ignore").splitlines()
        if line.startswith(marks)
    ]
    assert not lines


def test_no_text_names_a_registry_or_a_content_network():
    """Installers know their registry; pages are complete without a network."""
    found = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in text_files()
        for host in (*REGISTRIES, *NETWORKS)
        if host in path.read_text(encoding="utf-8", errors="ignore").lower()
    ]
    assert not found
