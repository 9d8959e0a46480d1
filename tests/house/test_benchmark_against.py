"""Comparing with a commit: what is slower is found, and what is not slower is not cried out."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import against, trees
finally:
    sys.path.remove(str(ROOT))

MLP = "MLP 10-32-32-10, batch 32"


@pytest.mark.parametrize(
    "ratios, said",
    [
        ([1.2] * 6, "slower"),
        ([0.8] * 6, "faster"),
        ([1.01] * 6, "same"),
        ([1.2] * 5, "unknown"),
        ([1.04, 1.2, 1.2, 1.2, 1.2, 1.2], "same, as far as can be seen"),
        ([1.04, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2], "slower"),
    ],
)
def test_slower_is_what_is_slower_for_certain(ratios, said):
    assert against.verdict(ratios) == said


def pairs(rng, **means):
    """What pairs of processes would find, with five percent of noise."""

    def measure(names):
        return {n: means[n] * float(np.exp(0.05 * rng.normal())) for n in names}, {}

    return measure


def slower(results):
    return [name for name, (_, said) in results.items() if said == "slower"]


def test_the_table_has_the_slowest_first():
    results = {"a": ([1.0] * 6, "same"), "b": ([1.5] * 6, "slower")}
    assert against.as_table(results, ["calls of x.T: 7 -> 8"]).splitlines()[2:] == [
        "| b | 1.500 | 1.500 to 1.500 | **slower** |",
        "| a | 1.000 | 1.000 to 1.000 | same |",
        "",
        "- calls of x.T: 7 -> 8",
    ]


def test_no_wolf_is_cried(capsys):
    """A hundred comparisons of fifty workloads that did not change."""
    rng = np.random.default_rng(0)
    names = {f"w{i}": 1.0 for i in range(50)}
    cried = [
        slower(against.compare(pairs(rng, **names), list(names), 0.05, 0.0)) for _ in range(100)
    ]
    assert sum(map(len, cried)) == 0


def test_a_wolf_is_seen(capsys):
    rng = np.random.default_rng(0)
    names = {"w1": 1.0, "w2": 1.2, "w3": 0.8}
    for _ in range(20):
        assert slower(against.compare(pairs(rng, **names), list(names), 0.05, 1.0)) == ["w2"]
    assert "measured again" in capsys.readouterr().out


def test_what_a_base_does_not_have_is_left_out(capsys):
    measure = lambda names: ({}, {"new": "base: KeyError"})
    assert slower(against.compare(measure, ["new"], 0.05, 0.0)) == []
    assert "left out, base: KeyError" in capsys.readouterr().out


def test_time_ends_a_comparison_that_does_not_settle():
    rng = np.random.default_rng(0)
    measure = lambda names: ({"w": float(rng.uniform(0.5, 2.0))}, {})
    (_, values), *_ = against.collect(measure, ["w"], time.monotonic())
    assert len(values) == against.FEWEST


def test_counts_that_grew_need_no_clock():
    assert against.worse({"a": 1.0, "b": 2.0}, {"a": 1.1, "b": 2.0, "c": 3.0}) == ["a: 1 -> 1.1"]


def test_the_working_tree_against_itself():
    found, failed = against.pair(ROOT, ROOT, [MLP, "nothing"], rounds=3)
    assert 0.3 < found[MLP] < 3.0
    assert "KeyError" in failed["nothing"]


@pytest.fixture
def slowed(tmp_path):
    """The packages, with a tape whose gradients take half as long again."""
    for name in trees.FOLDERS:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "backends/chainrules_tape/__init__.py").open("a", encoding="utf-8") as file:
        file.write(
            """
import time
_fast = value_and_grad
def value_and_grad(*args, **keywords):
    run = _fast(*args, **keywords)
    def slow(*primals):
        start = time.process_time()
        answer = run(*primals)
        end = time.process_time()
        while time.process_time() - end < 0.5 * (end - start):
            pass
        return answer
    return slow
"""
        )
    return tmp_path


@pytest.mark.slow
def test_a_tree_that_became_slower_is_found(slowed, capsys):
    measure = lambda names: against.pair(ROOT, slowed, names)
    assert slower(against.compare(measure, [MLP, "rrule sin"], 0.05, 1.0)) == [MLP]


def test_the_right_tree_is_measured(tmp_path):
    """Not the one that is installed."""
    with pytest.raises(RuntimeError, match="was to be measured"):
        against.Worker(tmp_path)


def test_what_git_does_not_know_is_said():
    with pytest.raises(ValueError, match="rev-parse"):
        trees.tree("no-such-commit")
