"""The table of peers, what it claims, the page's copy of it, pictures and flames."""

from __future__ import annotations

import csv
import dataclasses
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import (
        bench_compile,
        by_numba,
        compilers,
        first,
        flames,
        keeping,
        machine,
        peers,
        pictures,
        scaling,
        tables,
        timing,
    )
    from benchmarks.programs import ENGINES, OURS, PROGRAMS, engine, leaves, program
    from benchmarks.programs.bests import BEST
finally:
    sys.path.remove(str(ROOT))

SMALL = PROGRAMS["ADBench GMM N=200, d=5, K=10"]
CHAIN = "chain of 1000 operations, length 4"


def entry(ratio):
    return {"seconds": 1e-3 * ratio, "ratio": ratio, "rounds": 9}


def measured(**changes):
    """A measurement as it is kept."""
    ratios = {"NumPy by hand": 1.0, OURS: 2.0, "autograd": 9.0, "MyGrad": 8.0, "JAX, jit": 0.5}
    ratios.update({"PyTorch, 1 thread": 5.0, "PyTorch, 2 threads": 5.5, "JAX, eager": 200.0})
    ratios.update(changes.pop("ratios", {}))
    entries = {name: entry(ratio) for name, ratio in ratios.items()}
    return {
        "clock": "wall",
        **machine.describe(),
        "date": "2026-01-01",
        "programs": {CHAIN: entries},
        "first": {CHAIN: {OURS: 0.3, "JAX, jit": 1.5}},
        "facts": {
            "hot lookup, ns": 90,
            "rrule of sin, ratio": 3.7,
            "import, ratio": 0.5,
            "bytes per operation": 126,
        },
        **changes,
    }


# ---------------------------------------------------------------------------------- measuring


def test_the_interval_of_a_median():
    """Order statistics: all of six values, the fourth to the twelfth of fifteen."""
    assert timing.interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
    assert timing.interval(range(6)) == (0, 5)
    assert timing.interval(range(1, 16)) == (4, 12)


def test_the_interval_covers_the_median_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for n in (6, 9, 16, 31):
        draws = rng.exponential(size=(2000, n))
        covered = [low <= np.log(2.0) <= high for low, high in map(timing.interval, draws)]
        assert np.mean(covered) >= 0.94


def test_turns_end_after_their_limit_but_not_before_three_rounds():
    found = timing.turns({"f": lambda: None}, rounds=10**6, seconds=1e-4, limit=0.0)
    assert len(found["f"]) == 3


def test_a_slow_second_call_does_not_shorten_the_turns():
    """What is bound at the second call is used by all that follow."""
    took = []

    def f():
        took.append(4e-3 if len(took) == 1 else 1e-4)

    (found,) = timing.turns({"f": f}, rounds=1, seconds=5e-3, clock=lambda: sum(took))["f"]
    assert found == pytest.approx(1e-4)
    assert len(took) > 50


def test_what_is_asked_before_a_turn_is_not_timed():
    seen = []

    def f():
        seen.append("f")

    f.before = lambda: seen.append("before")
    timing.turns({"f": f}, rounds=2, seconds=0.0)
    assert seen == ["before", "f", "f", "before", "f", "before", "f"]


def test_an_engine_that_computes_another_gradient_is_not_timed(monkeypatch):
    def wrong(of, arguments):
        y, bars = of.by_hand(*arguments)
        return lambda: (y, tuple(1.001 * bar for bar in bars))

    def absent(of, arguments):
        raise ImportError

    monkeypatch.setitem(ENGINES, "autograd", wrong)
    monkeypatch.setitem(ENGINES, "MyGrad", absent)
    of = dataclasses.replace(SMALL, without={"JAX, jit": "a reason"})
    names = ("autograd", "MyGrad", "JAX, jit", OURS)
    found = peers.compare(of, names=names, rounds=3, limit=0.1)
    assert found["autograd"]["wrong"]
    assert "off by" in found["autograd"]["reason"]
    assert found["MyGrad"] == {"reason": "not installed"}
    assert found["JAX, jit"] == {"reason": "a reason"}
    assert found["NumPy by hand"]["ratio"] == 1.0
    assert found[OURS]["ratio"] > 0.0
    lines = list(peers.claims({"programs": {SMALL.name: found}}))
    assert any("autograd computes a wrong gradient" in line for line in lines)


def test_gradients_of_other_shapes_differ():
    wanted = [np.zeros(()), np.zeros(3)]
    assert "1 arrays instead of 2" in peers.differs(SMALL, wanted, 0.0)
    assert "shape" in peers.differs(SMALL, wanted, (0.0, np.zeros(4)))
    assert not peers.differs(SMALL, wanted, (0.0, np.zeros(3)))


def test_the_time_to_a_first_gradient():
    assert 0 < first.once(OURS, CHAIN) < 60
    assert first.once(OURS, CHAIN, patience=0.001) == np.inf
    assert first.once(OURS, "no such program") is None


def test_engines_are_imported_when_they_are_asked_for():
    """Each pays for its own imports in the time to a first gradient."""
    source = Path(program.__file__).read_text(encoding="utf-8")
    head = source.partition("@dataclasses")[0]
    assert not [e for e in ("chainrules", "torch", "jax", "mygrad") if f"import {e}" in head]


def test_scaling_is_measured(monkeypatch):
    monkeypatch.setattr(scaling, "MEASURES", {"operations": scaling.MEASURES["operations"]})
    short = dataclasses.replace(scaling.MEASURES["operations"], sizes=(30,))
    monkeypatch.setitem(scaling.MEASURES, "operations", short)
    monkeypatch.setattr(scaling, "ENGINES", ("NumPy by hand", OURS))
    monkeypatch.setattr(scaling, "ROWS", 800)
    found = scaling.measure(0.1)
    assert all(x > 0 for x in found["operations"]["engines"][OURS]["bytes"])
    assert len(found["workers"]["engines"][OURS]["seconds"]) == len(found["workers"]["sizes"])


# ---------------------------------------------------------------------------------- the table


def test_the_table_marks_who_leads():
    head, row = peers.table(measured())
    at = dict(zip(head, row, strict=True))
    assert at[OURS] == "*2.00*"
    assert at["autograd"] == "9.00"
    assert at["after compiling, first is"] == "XLA 4.00 ×"
    assert at["first gradient, JAX, jit"] == "1.50 s"


def test_the_table_says_where_the_claim_does_not_hold():
    good = list(peers.claims(measured()))
    assert "of autograd in 1 of 1; MyGrad in 1 of 1; PyTorch, 1 thread in 1 of 1" in good[0]
    assert len(good) == 2
    late = {CHAIN: {OURS: 2.0, "JAX, jit": 1.5}}
    bad = list(peers.claims(measured(ratios={"PyTorch, 1 thread": 1.0}, first=late)))
    assert "MyGrad in 1 of 1; PyTorch, 1 thread in 0 of 1" in bad[0]
    assert bad[1] == f"Behind in {CHAIN}: PyTorch, 1 thread, 0.50 × our time."
    assert bad[-1] == f"Later in {CHAIN}: 2.00 s, jax.jit's 1.50 s."


def test_the_command_measures_prints_and_keeps(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(keeping, "LATEST", tmp_path)
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.setattr(peers, "compare", lambda *_, **__: measured()["programs"][CHAIN])
    operations = ["chain of 1000", "--no-first", "--no-scaling", "--minutes", "0.01"]
    assert peers.main(operations) == 0
    said = capsys.readouterr().out
    assert "*2.00*" in said
    assert "NumPy" in said
    assert keeping.latest(tmp_path)["programs"][CHAIN][OURS]["ratio"] == 2.0


def test_no_measurement_says_how_to_make_one(tmp_path):
    with pytest.raises(FileNotFoundError, match="make bench"):
        keeping.latest(tmp_path)


# ------------------------------------------------------------------------------------ the page


def test_what_stands_between_the_markers_is_replaced():
    text = f"before\n{tables.BEGIN}\nstale\n{tables.END}\nafter\n"
    new = tables.rewritten(text, measured())
    assert new.startswith("before\n")
    assert new.endswith("after\n")
    assert "stale" not in new
    assert "**2.00**" in new
    assert "2026-01-01" in new
    assert tables.rewritten(new, measured()) == new


def test_markers_are_demanded():
    with pytest.raises(ValueError, match="once each"):
        tables.rewritten("nothing", measured())


def test_the_page_shows_the_last_measurement():
    assert tables.main(["--check"]) == 0


def test_the_picture_of_the_readme_shows_the_last_measurement():
    kept = (pictures.PICTURES / pictures.SUMMARY).read_text(encoding="utf-8")
    assert pictures.summary(keeping.latest()) == kept
    assert all([name in kept for name in pictures.IN_SUMMARY])
    ET.fromstring(kept)


# ------------------------------------------------------------------------- pictures and flames


def test_pictures_are_the_same_for_the_same_measurement(tmp_path):
    kept = {"seconds": [1e-3, 2e-3], "bytes": [10, None]}
    found = {
        "operations": {"of": "", "sizes": [1, 10], "engines": {OURS: kept, "autograd": kept}},
        "workers": {"of": "", "sizes": [1, 2], "engines": {OURS: {"seconds": [2.0, 1.0]}}},
    }
    one, other = (pictures.draw(found, tmp_path / name) for name in "ab")
    for a, b in zip(one, other, strict=True):
        assert a.read_bytes() == b.read_bytes()
        ET.parse(a)


BELOW = "<module> (flames.py:1);measured_body (benchmarks/flames.py:9);f.<locals>.<lambda>"
RAW = f"""\
{BELOW} (chainrules_py/a.py:1) 3
{BELOW} (chainrules_py/a.py:2);g (chainrules_tape/b.py:3) 1
<module> (flames.py:1);elsewhere (x.py:1) 50
"""


def test_flames_join_the_lines_of_a_function():
    root = flames.parsed(RAW, "measured_body")
    assert root.count == 4
    assert flames.shares(root) == {
        "chainrules_py: f.<locals>.<lambda>": 0.75,
        "chainrules_tape: g": 0.25,
    }
    picture = ET.fromstring(flames.svg(root, "a < b"))
    widths = [float(r.get("width")) for r in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert widths[-2:] == [flames.WIDTH, flames.WIDTH / 4]


def test_what_is_profiled_runs():
    for _, build in flames.PATHS.values():
        build()()


def test_the_table_of_compiled_programs_is_what_was_measured():
    with bench_compile.KEPT.open(encoding="utf-8") as file:
        columns, *rows = csv.reader(file)
    assert tuple(columns) == bench_compile.COLUMNS
    assert [row[0] for row in rows] == [*PROGRAMS]
    page = tables.PAGE.read_text(encoding="utf-8")
    wanted = tables.between(page, bench_compile.BEGIN, bench_compile.END, bench_compile.table(rows))
    assert page == wanted


@pytest.mark.slow
def test_a_row_of_the_table_of_compiled_programs():
    name, *figures = bench_compile.row(PROGRAMS["Poisson regression 500 x 8"])
    assert name == "Poisson regression 500 x 8"
    assert len(figures) == len(bench_compile.COLUMNS) - 1
    assert all([float(x) > 0 for x in figures])


def test_the_table_of_compilers_is_what_was_measured():
    page = compilers.PAGE.read_text(encoding="utf-8")
    assert compilers.rewritten(page) == page
    names = [name for name, *_ in compilers.kept()]
    assert [*dict.fromkeys(names)] == [*by_numba.BY_NUMBA, "measured"]


@pytest.mark.parametrize("name", list(by_numba.BY_NUMBA)[:2])
def test_loops_for_numba_compute_the_same(name):
    arguments = PROGRAMS[name].inputs()
    wanted = program.leaves(PROGRAMS[name].by_hand(*arguments))
    assert not peers.differs(PROGRAMS[name], wanted, by_numba.BY_NUMBA[name](*arguments))


@pytest.mark.parametrize("name", BEST)
def test_the_best_numpy_gives_the_gradients(name):
    chosen = PROGRAMS[name]
    arguments = chosen.inputs()
    before = [np.array(x) for x in arguments]
    wanted = leaves(engine(peers.HAND, chosen, arguments)())
    assert not peers.differs(chosen, wanted, BEST[name](*arguments))
    assert all(map(np.array_equal, arguments, before))
