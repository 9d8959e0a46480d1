"""Every generator of programs, as many as are asked for; what fails is shown as small as it gets.

`make test-nightly` runs a million of each; with ``CHAINRULES_PROGRAMS=20000`` in the environment
fewer, with another ``CHAINRULES_SEED`` others. A generator that has fewer runs each of them once.
"""

import pytest

from tests.fuzz import aliases
from tests.fuzz.generators import GENERATORS, PROGRAMS, SEED, Generator, judge
from tests.fuzz.smaller import simpler, smallest, without_one

pytestmark = pytest.mark.filterwarnings("ignore")  # of other libraries
BLOCKS = 20


FEW = {"owned": 300, "gives": 200, "leftovers": 300, "forms": 300}
FEW |= {"callables": 30, "results": 300}


@pytest.mark.parametrize("name", ["seeds", "places", *FEW])
def test_some_programs(name):
    judge(name, range(FEW.get(name, 60)))


@pytest.mark.nightly
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("name", GENERATORS)
def test_as_many_as_are_asked_for(engines, name, block):
    size = GENERATORS[name].size()
    n = -(-(PROGRAMS if size is None else min(PROGRAMS, size)) // BLOCKS)
    first = (SEED + 1) * 10**8 + block * n
    judge(name, range(first, first + n))


@pytest.mark.parametrize("name", GENERATORS)
def test_a_program_is_the_same_for_the_same_seed_and_has_smaller_ones(name):
    generator = GENERATORS[name]
    assert generator.draw(7) == generator.draw(7)
    assert any([any(True for _ in generator.smaller(generator.draw(seed))) for seed in range(9)])


def test_as_many_seeds_as_there_are_programs_draw_each_once():
    generator = GENERATORS["gives"]
    assert generator.size() == 2000
    assert len({generator.draw(10**8 + seed) for seed in range(2000)}) == 2000


def test_what_fails_is_shown_as_small_as_it_gets(monkeypatch):
    def fails(program):
        return "wrong" if any("out=" in write for _, write in program.steps) else ""

    found = Generator("", aliases.program, fails, aliases.smaller)
    monkeypatch.setitem(GENERATORS, "aliases", found)
    with pytest.raises(AssertionError, match="wrong") as error:
        judge("aliases", range(100))
    shown = str(error.value)
    assert shown.count("out=") == 1
    assert "x *= " not in shown
    assert shown.count("Name(") == 2
    assert shown.count("Name(part='all'") == 2


def test_what_cannot_be_run_is_not_taken_for_what_fails():
    def fails(items):
        return 1 / len(items) if 3 in items else 0

    assert smallest((1, 2, 3, 4), without_one, fails) == (3,)
    assert smallest((1, 2), without_one, lambda items: 1 / len(items)) == (1,)


def test_entries_that_come_earlier_are_simpler():
    assert list(simpler("bc", ("ab", "abc"))) == [("a", "c"), ("b", "a"), ("b", "b")]
