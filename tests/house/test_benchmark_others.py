"""The programs of others that engines are measured on: every engine computes what is by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
try:
    from benchmarks.others import ENGINES, OTHERS, WASTED, __main__, difference
finally:
    sys.path.remove(str(ROOT))

SLOW = ("jax", "c")
"""Engines that compile for a second, for programs other than these."""
QUICK = ("scalar_beale", "mlp_tiny", "hvp_rosen10")


def cases():
    for name, program in OTHERS.items():
        for by in ENGINES:
            if by != "hand":
                slow = not program.small or (by in SLOW and name not in QUICK)
                marks = [pytest.mark.slow] if slow else []
                yield pytest.param(name, by, id=f"{name} by {by}", marks=marks)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name, by", list(cases()))
def test_every_engine_computes_what_is_computed_by_hand(name, by):
    if by in ("jax", "torch", "autograd"):
        pytest.importorskip(by)
    program = OTHERS[name]
    if by == "jax":
        import jax

        with jax.enable_x64(True):
            answer = ENGINES[by](program, program.inputs())()
    else:
        answer = ENGINES[by](program, program.inputs())()
    assert difference(program, answer) <= program.rtol


@pytest.mark.parametrize("name", [n for n in OTHERS if OTHERS[n].kind == "gradient"])
def test_the_gradients_by_hand_are_right(name):
    """Against differences along a random direction."""
    program = OTHERS[name]
    if not program.small:
        pytest.skip("its smaller sizes are compared")
    rng, arguments = np.random.default_rng(1), program.inputs()
    moving, loss = arguments[: program.moving], program.loss(np)
    directions = [rng.normal(size=np.shape(x)) for x in moving]
    _, bars = program.by_hand(*arguments)

    def along(h):
        moved = [
            list(np.asarray(x) + h * t) if isinstance(x, list) else x + h * t
            for x, t in zip(moving, directions, strict=True)
        ]
        return loss(*moved, *arguments[program.moving :])

    slope = (along(1e-6) - along(-1e-6)) / 2e-6
    found = sum([np.vdot(bar, t) for bar, t in zip(bars, directions, strict=True)])
    np.testing.assert_allclose(found, slope, rtol=1e-5)


def test_there_are_fifty_two_and_nine_that_leave_out_work():
    assert (len(OTHERS), len(WASTED)) == (52, 9)
    assert OTHERS.keys() > WASTED


def test_the_table_and_its_means_are_of_the_lines_of_the_file(tmp_path, capsys, monkeypatch):
    file = tmp_path / "others.jsonl"
    rest = {"off": {}, "reasons": {}, "first": {}, "commit": "x", "quiet": False}
    times = {
        "scalar_beale": {"hand": 1e-6, "eager": 4e-6, "torch": 2e-6},
        "zero_tuple_n10": {"hand": 1e-6, "eager": 1e-6, "torch": 2e-6},
    }
    lines = [json.dumps({"name": name, "times": t, **rest}) for name, t in times.items()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.setattr(__main__.machine, "commit", lambda: "x")
    given = [*times, "--only", "hand,eager,torch", "--file", str(file)]
    __main__.main(given)
    assert "No means" in capsys.readouterr().out
    __main__.main([*given, "--any-load"])
    printed = capsys.readouterr().out
    assert "all: eager 2.000 of 2; torch 2.000 of 2" in printed
    assert "without work left out: eager 4.000 of 1; torch 2.000 of 1" in printed
    assert "eager behind torch in 1 of 2: scalar_beale 2.00" in printed
