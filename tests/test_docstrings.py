"""Every example in a docstring of the public packages runs, and gives what it shows."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def packages():
    """The core, and every package in ``backends`` whose library is there."""
    yield "chainrules_py"
    for folder in sorted((ROOT / "backends").iterdir()):
        if (folder / "__init__.py").exists():
            yield folder.name


def modules():
    for name in packages():
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            yield importlib.import_module(found.name)


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    seen = set()
    for module in modules():
        for test in finder.find(module):
            if test.examples and test.name not in seen:
                seen.add(test.name)
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("example", list(examples()))
def test_example(example, capsys):
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    runner.run(example, clear_globs=False)
    assert not runner.failures, capsys.readouterr().out
