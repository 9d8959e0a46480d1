"""The tool that compares golden numbers: it finds what changed, and updates that alone."""

import re
import shutil
from typing import Any

import numpy as np
import pytest

from chainrules_py import TracerError, frule, rrule
from chainrules_py import ops as v
from tests.golden import __main__ as tool
from tests.golden import compare, entries
from tests.golden.draws import digest_of, program
from tests.golden.numbers import Number, Refusal, number, refusal
from tests.golden.store import read

FEW = ["--jobs=0", "^program 1[0-4]$", r"^sample (sin|vecdot)\(", r"^call linalg\.det\("]
SINE = "sample sin(real[2, 3]) 0"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("golden") / "golden.npy"
    assert tool.main([*FEW, "--update"], path) == 0
    return path


@pytest.fixture
def path(made, tmp_path):
    return shutil.copy(made, tmp_path / made.name)


def scaled_pull(factor):
    """Give the direct rule of the sine, and no other, a fault."""

    def planted(f, *operands, **options):
        y, pull = rrule(f, *operands, **options)
        if f is not v.sin:
            return y, pull
        return y, lambda y_bar: [bar * factor for bar in pull(y_bar)]

    return planted


def test_nothing_differs_where_nothing_changed(path, capsys):
    before = path.read_bytes()
    assert tool.main(FEW, path) == 0
    assert tool.main([*FEW, "--update"], path) == 0
    assert path.read_bytes() == before
    assert "no difference" in capsys.readouterr().out


def test_a_relative_change_of_1e_12_is_found_and_named(path, monkeypatch, capsys):
    monkeypatch.setattr(entries, "rrule", scaled_pull(1 + 1e-12))
    assert tool.main(FEW, path) == 1
    out = capsys.readouterr().out
    assert "changed: " in out
    assert f"{SINE}, pull: the weighted sum " in out
    assert "vecdot" not in out


def test_what_is_allowed_is_no_failure(path, monkeypatch):
    monkeypatch.setattr(entries, "rrule", scaled_pull(1 + 2.0**-52))
    assert tool.main(FEW, path) == 1
    monkeypatch.setitem(compare.ALLOWED, r"^sample sin\(", 4)
    assert tool.main(FEW, path) == 0
    monkeypatch.setattr(entries, "rrule", scaled_pull(1 + 2.0**-45))
    assert tool.main(FEW, path) == 1


def test_numbers_of_another_machine_are_compared_to_rounding(path, monkeypatch, capsys):
    monkeypatch.setattr("tests.golden.run.fingerprint", lambda: {"numpy": "another"})
    monkeypatch.setattr(entries, "rrule", scaled_pull(1 + 1e-12))
    assert tool.main(FEW, path) == 0
    assert "made elsewhere" in capsys.readouterr().out
    monkeypatch.setattr(entries, "rrule", scaled_pull(1 + 1e-4))
    assert tool.main(FEW, path) == 1


def test_an_update_is_of_what_its_pattern_finds(path, monkeypatch):
    old = read(path)
    monkeypatch.setattr(entries, "rrule", scaled_pull(1.5))
    assert tool.main(["--jobs=0", "--update", re.escape(SINE)], path) == 0
    new = read(path)
    assert list(new) == list(old)
    assert {n for n in old if old[n] != new[n]} == {SINE}
    before, now = [dict[str, Any](entries[SINE].parts) for entries in (old, new)]
    assert [part for part in before if before[part] != now[part]] == ["pull", "pull, float32"]
    assert now["pull"].total == pytest.approx(1.5 * before["pull"].total)


def test_refusals_are_listed_and_crashes_are_failures(path, monkeypatch, capsys):
    def planted(error):
        def push(*args, **options):
            raise error

        return push

    monkeypatch.setattr(entries, "frule", planted(TracerError("no")))
    assert tool.main(FEW, path) == 0
    assert "refusal: " in capsys.readouterr().out
    assert tool.main([*FEW, "--strict"], path) == 1
    monkeypatch.setattr(entries, "frule", planted(TypeError("no")))
    assert tool.main(FEW, path) == 1
    assert "is crash: TypeError now" in capsys.readouterr().out
    assert refusal(ValueError("output array is read-only")) == Refusal("read-only")


def test_what_is_lost_is_a_failure_and_what_is_removed_is_listed(path, monkeypatch, capsys):
    there = dict(entries.entries())
    monkeypatch.setattr(tool.source, "entries", lambda: there)
    monkeypatch.setattr(entries, "_of_operands", lambda *_: {"value": Number(0, 0.0)})
    del there[SINE]
    assert tool.main(FEW, path) == 1
    out = capsys.readouterr().out
    assert f"gone: 1 (entries whose sample or call was removed)\n  {SINE}" in out
    assert "sample sin(real[]) 1, pull" in out[out.index("lost: ") :]


def test_a_program_that_is_drawn_otherwise_is_not_compared(path, monkeypatch, capsys):
    monkeypatch.setattr(entries, "program", lambda n: program(n + 1))
    assert tool.main(FEW, path) == 1
    out = capsys.readouterr().out
    assert "another: 5 " in out
    assert "changed" not in out
    assert tool.main([*FEW, "--update", "--only=another"], path) == 0
    assert tool.main(FEW, path) == 0


def test_a_program_is_the_same_in_every_run():
    assert digest_of(program(16)) == 1162270257
    assert digest_of(program(17)) == digest_of(program(17))


def test_names_are_of_one_line():
    assert not [name for name in entries.entries() if "\n" in name or "\t" in name]


def test_a_number_is_known_to_the_last_bit_and_by_its_sum():
    x = np.array([1.0, -2.0, 3.0])
    y = x * (1 + 2.0**-52)
    assert number(x) == number(x.copy())
    assert number(x).bits != number(y).bits
    assert 0 < number(y).ulps(number(x)) <= 2
    assert number(x).bits != number(x.astype(np.float32)).bits
    assert number(np.array([0.0])).bits != number(np.array([-0.0])).bits
    assert number(np.array([np.nan])) == number(-np.array([np.nan]))
    assert number([x, 2.0]).bits != number([x, 3.0]).bits
    assert not number(3).is_near(number(4))


def test_a_change_of_what_is_near_the_largest_number_is_seen():
    assert number(np.array([1e308])).total != number(np.array([1.1e308])).total


def test_the_rules_are_those_of_the_library():
    assert entries.rrule is rrule
    assert entries.frule is frule
