"""Every example in a docstring of packages and workshop runs, and gives what it shows."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
from pathlib import Path

import pytest

from tests.fake_gpu.backend import is_importable

ROOT = Path(__file__).resolve().parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def packages():
    """The core, and every package in ``backends`` whose library is there."""
    yield "chainrules_py"
    for folder in sorted((ROOT / "backends").iterdir()):
        if (folder / "__init__.py").exists() and (
            folder.name != "chainrules_cupy" or is_importable()
        ):
            yield folder.name


def modules():
    yield importlib.import_module("tests.engines.battery")
    for name in (*packages(), "tests.fake_gpu", "tests.fuzz", "tests.surface"):
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if found.name.endswith(".thunder") and importlib.util.find_spec("thunder") is None:
                continue  # it has an environment of its own
            yield importlib.import_module(found.name)


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    seen = set()
    for module in modules():
        for test in finder.find(module):
            if "\nSciPy's text:\n" in test.docstring:
                continue
            if test.examples and test.name not in seen:
                seen.add(test.name)
                yield pytest.param(test, id=test.name)


# PyTorch warns of what it uses itself.
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize("example", list(examples()))
def test_example(example, capsys):
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(example, clear_globs=False)
    assert not runner.failures, capsys.readouterr().out
