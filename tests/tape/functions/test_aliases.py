"""Arguments that share memory, one of which is written to: NumPy's value, or an error."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from chainrules_py import MutationError
from chainrules_tape import grad
from tests.fuzz.aliases import HELD, outcome, program
from tests.fuzz.generators import judge


def test_programs_with_several_names_for_one_memory():
    judge("aliases", range(500))


def test_not_all_of_them_are_refused():
    assert [outcome(program(seed)) for seed in range(60)].count("right") > 6


def doubling(way, w):
    """A function that writes to its argument, and reads an array that is held in some way."""
    read = HELD[way](w)

    def f(x):
        x *= 2.0
        return np.sum(read() * x)

    return f


def _in_a_cell(w):
    def f(x):
        x *= 2.0
        return np.sum(w * x)

    return f


def _in_a_default(w):
    def f(x, w=w):
        x *= 2.0
        return np.sum(w * x)

    return f


@pytest.mark.parametrize("make", [_in_a_cell, _in_a_default])
def test_a_function_that_writes_to_its_argument_and_captured_it_is_refused(make):
    w = np.arange(1.0, 4.0)
    f = make(w)
    with pytest.raises(MutationError, match="knows besides"):
        grad(f)(w)


@pytest.mark.parametrize("way", HELD)
def test_what_holds_another_array_is_no_reason_to_refuse(way):
    w = np.arange(1.0, 4.0)  # which lives on, also where it is referred to weakly
    f = doubling(way, w)
    np.testing.assert_array_equal(grad(f)(np.ones(3)), [2.0, 4.0, 6.0])


def test_the_owner_of_the_memory_that_is_no_array():
    buffer = bytearray(np.ones(3).tobytes())

    def f(x):
        x *= 2.0
        return np.sum(np.frombuffer(buffer) * x)

    with pytest.raises(MutationError, match="knows besides"):
        grad(f)(np.frombuffer(buffer))


def test_parts_that_do_not_overlap_may_be_written_to():
    def f(a, b):
        a *= 2.0
        return np.sum(a * b)

    theta = np.arange(6.0)
    for a, b in itertools.permutations([theta[:3], theta[3:]]):
        np.testing.assert_array_equal(grad(f)(a, b), 2.0 * b)
    np.testing.assert_array_equal(grad(f)(theta[::2], theta[1::2]), 2.0 * theta[1::2])
    np.testing.assert_array_equal(grad(f, argnums=1)(theta[::2], theta[1::2].copy()), [0, 4, 8])


def test_the_error_names_the_argument_and_the_remedy():
    b = np.arange(3.0)

    def f(a, c):
        a *= 2.0
        return np.sum(a * c)

    with pytest.raises(
        MutationError, match=r"float64\[3\], argument 0.*knows besides.*x\.copy\(\)"
    ):
        grad(f)(b, b)
    with pytest.raises(MutationError, match="another argument shares its memory"):
        grad(f, (0, 1))(b, b)
