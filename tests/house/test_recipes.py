"""Recipes for other machines: what they call is there, as far as that can be seen from here."""

from __future__ import annotations

import ast
import importlib.machinery
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z][\w-]*):(?!=)", MAKE, re.MULTILINE))
PATHS = sorted((ROOT / ".github").rglob("*.yml"))
RECIPES = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in PATHS}
JOBS = {(name, job): of for name, recipe in RECIPES.items() for job, of in recipe["jobs"].items()}


def commands(job: dict[str, Any]) -> list[list[str]]:
    """The operations of every command of a job, with each value of its matrix in place."""
    matrix = job.get("strategy", {}).get("matrix", {})
    found = []
    for line in "\n".join(step["run"] for step in job["steps"] if "run" in step).splitlines():
        lines = [line]
        for key, values in matrix.items():
            name = re.compile(r"\$\{\{\s*matrix\." + key + r"\s*\}\}")
            lines = [name.sub(str(value), each) for each in lines for value in values]
        assert all("${{" not in each for each in lines), line
        found += [shlex.split(each) for each in dict.fromkeys(lines)]
    return found


def is_here(module: str) -> bool:
    """Look where modules are, without hooks: that of setuptools warns when pip is looked for."""
    path, name = None, ""
    for part in module.split("."):
        name = f"{name}.{part}".lstrip(".")
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None:
            return False
        path = spec.submodule_search_locations
    return True


def wrong_with(operations: list[str]) -> list[str]:
    """Name what a command asks for that is not here."""
    tool, rest = operations[0], operations[1:]
    if tool == "make":
        return [w for w in rest if "=" not in w and not w.startswith("-") and w not in TARGETS]
    if tool != "python" or rest[0] != "-m":
        return operations
    module, rest = rest[1], rest[2:]
    found = [] if is_here(module) else [module]
    if module == "pytest":
        known = {marker.partition(":")[0] for marker in markers()}
        named = [rest[k + 1] for k, w in enumerate(rest) if w == "-m"]
        asked = {n.id for e in named for n in ast.walk(ast.parse(e)) if isinstance(n, ast.Name)}
        found += sorted(asked - known)
        paths = [w for k, w in enumerate(rest) if w[0] != "-" and rest[k - 1] not in ("-m", "-n")]
        found += [path for path in paths if not (ROOT / path).exists()]
    if module == "pip":
        groups = [rest[k + 1] for k, w in enumerate(rest) if w == "--group"]
        found += [group for group in groups if group not in PROJECT["dependency-groups"]]
    return found


def markers() -> list[str]:
    return PROJECT["tool"]["pytest"]["ini_options"]["markers"]


def test_there_are_recipes():
    assert "nightly.yml" in RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_says_when_it_runs(name):
    when = RECIPES[name].get("on", RECIPES[name].get(True))  # YAML 1.1 reads `on` as true
    assert when
    for each in when.get("schedule", ()):
        assert re.fullmatch(r"(\d+|\*)( (\d+|\*)){4}", each["cron"])


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_what_a_job_calls_is_here(job):
    of = JOBS[job]
    assert 0 < of["timeout-minutes"] <= 360
    assert of["runs-on"]
    for step in of["steps"]:
        assert ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])
    wrong = {
        " ".join(operations): what
        for operations in commands(of)
        if (what := wrong_with(operations))
    }
    assert not wrong


def test_a_recipe_installs_the_torch_that_make_does():
    pinned = set(re.findall(r"torch==[\d.]+", str(RECIPES)))
    assert pinned == set(re.findall(r"^TORCH := (torch==[\d.]+)", MAKE, re.MULTILINE))
    assert pinned < set(PROJECT["dependency-groups"]["libraries"])


def test_versions_of_python_are_those_that_are_stated():
    versions = {str(v) for of in JOBS.values() for v in matrix_of(of).get("python", ())}
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert least in versions


def matrix_of(job: dict[str, Any]) -> dict[str, Any]:
    return job.get("strategy", {}).get("matrix", {})


@pytest.mark.parametrize(
    "line", ["make tests", "python -m pytests", "python -m pytest -m 'not fast'", "rm -rf ."]
)
def test_a_recipe_that_is_wrong_is_found(line):
    assert wrong_with(shlex.split(line))
