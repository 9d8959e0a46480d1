"""Generators of random numbers: those that are known draw the same again."""

from __future__ import annotations

import functools
import random

import numpy as np

from chainrules_py import rrule
from chainrules_py.values import random_generators
from chainrules_py.values.random_generators import is_generator, register_generator, states

rrule(np.sin, np.ones(1))  # the library is there


def test_what_was_drawn_is_drawn_again():
    mine, other = np.random.default_rng(0), random.Random(0)
    np.random.rand()  # noqa: NPY002
    put = states([mine, other], True)
    draw = lambda: (mine.random(), other.random(), np.random.rand(), random.random())  # noqa: NPY002
    drawn = draw()
    assert draw() != drawn
    for call in put:
        call()
    assert draw() == drawn


def test_a_module_that_another_thread_registers_meanwhile(monkeypatch):
    """Both threads import it; the second found its entry gone."""
    monkeypatch.setitem(random_generators.with_generators, "random", "planted")
    meanwhile = lambda _: random_generators.with_generators.pop("random")
    monkeypatch.setattr(random_generators.importlib, "import_module", meanwhile)
    assert is_generator(random.Random)


def test_a_generator_of_ones_own():
    class Counter:
        at = 0

    assert not is_generator(Counter)
    put = lambda x, state: functools.partial(setattr, x, "at", state)
    register_generator(Counter, lambda x: x.at, put)
    counter = Counter()
    kept = states([counter], False)
    counter.at = 5
    for call in kept:
        call()
    assert counter.at == 0
    assert is_generator(Counter)
