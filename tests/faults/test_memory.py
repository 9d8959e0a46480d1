"""Arrays that a gradient holds at its peak: what is still to be read, and hardly one more."""

from __future__ import annotations

import gc
import random
import sys
import tracemalloc

import numpy as np
import pytest

from chainrules_tape import Tape, checkpoint, grad, vjp
from chainrules_tape.core.cotangent_routing import parents

# Large enough that NumPy writes `a * b` into an operand that nobody else has.
X = np.linspace(0.1, 0.9, 70_000, dtype=np.float32)


def peak(run):
    """The most that a call holds at a time, in arrays like X."""
    run()
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


def bell(x):
    return np.exp(0.5 * np.sin(x)) * x


def by_hand(x):
    e = np.exp(0.5 * np.sin(x))
    return np.sum(e * x), e * (1 + 0.5 * np.cos(x) * x)


def test_a_gradient_takes_one_array_more_than_by_hand():
    gradient = grad(lambda x: np.sum(bell(x)))
    np.testing.assert_allclose(gradient(X), by_hand(X)[1], rtol=1e-5)
    assert peak(lambda: gradient(X)) < peak(lambda: by_hand(X)) + 1.1


@pytest.mark.parametrize("n", [3, 6])
def test_a_checkpoint_saves_what_it_says(n):
    """Of n calls that keep three arrays each: their arguments, and what one of them keeps."""

    def chain(step):
        def loss(x):
            for _ in range(n):
                x = step(x)
            return np.sum(x)

        return lambda: grad(loss)(X)

    step = lambda x: np.sin(x) * np.exp(-x)
    most = peak(chain(step)), peak(chain(checkpoint(step)))
    assert 3 * n < most[0] < 3 * n + 1.2
    assert n + 3 < most[1] < n + 4.2


# By name: an operation on the last value and the first, and the most bytes that one may keep.
DEEP = {
    "of Python's numbers": (lambda x, y: 1.000001 * x, 105),
    "a function of NumPy's on a number": (lambda x, y: np.sin(x), 130),
    "the last value twice": (lambda x, y: x * x, 130),
    "the last value and the first": (lambda x, y: y * x, 130),
    "their sum": (lambda x, y: x + y, 95),
    "a quotient": (lambda x, y: x / y, 130),
    "a power": (lambda x, y: x**y, 138),
    "a product of NumPy's": (lambda x, y: np.multiply(x, y), 146),
    "a function of NumPy's on two": (lambda x, y: np.hypot(x, y), 154),
}


def kept_by(step, depth):
    """Bytes that a pullback through so many of an operation keeps."""

    def deep(x, n):
        first = x
        for _ in range(n):
            x = step(x, first)
        return x

    vjp(lambda x: deep(x, 3), 1.0)
    gc.collect()
    tracemalloc.start()
    try:
        _pullback = vjp(lambda x: deep(x, depth), 1.0)[1]
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", DEEP)
def test_what_a_deep_program_keeps_for_an_operation_more(name):
    """The record, its place and its number on the tape, its links, and the number it saved."""
    step, most = DEEP[name]
    most += 16 * (sys.version_info >= (3, 14))  # two tuples, which store their hash there
    # The list of records has up to an eighth more places than records.
    assert (kept_by(step, 15_000) - kept_by(step, 5_000)) / 10_000 <= most + 2


@pytest.mark.nightly
@pytest.mark.parametrize("name", DEEP)
def test_what_a_million_operations_keep(name):
    step, most = DEEP[name]
    assert kept_by(step, 1_000_000) / 1_000_000 <= most


ONE = (np.sin, np.exp, np.negative, lambda a: 0.5 * a, lambda a: a + 1.0)
TWO = (np.multiply, np.add, np.subtract)


def drawn(seed):
    """A program of a dozen calls, of values that are used once, several times, or never."""
    rng = random.Random(seed)
    calls = [
        (rng.choice(rng.choice((ONE, TWO))), [rng.randrange(4) for _ in "ab"]) for _ in "x" * 12
    ]

    def program(x):
        last = [x] * 4
        for f, places in calls:
            last = [*last[1:], f(*[last[i] for i in places[: 1 + (f in TWO)]])]
        return np.sum(last[-1])

    return program


def tidy(tape, top):
    """Play records back, and let go of each thing when its record is done."""
    bars = {top: np.float32(1.0)}
    while len(tape) > 1:
        pull, links, *saved = tape.pop()
        y_bar = bars.pop(len(tape), None)
        if y_bar is None:
            continue
        into = parents(links)
        given = pull(y_bar, *saved)
        del y_bar
        given = list(given) if len(into) > 1 else [given]
        for i in into:
            bar = given.pop(0)
            bars[i] = bar if i not in bars else bars[i] + bar
            del bar
        saved.clear()
    return bars[0]


def most(way, program):
    """The most arrays that are held while a program's records are played back in some way."""
    gc.collect()
    tracemalloc.start()
    try:
        tape = Tape()
        x = tape.variable(X)
        y = program(x)
        tracemalloc.reset_peak()
        found = way(tape, y, x)
        return found, tracemalloc.get_traced_memory()[1] / X.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_kept_longer_than_it_is_read(seed):
    program = drawn(seed)
    most(lambda tape, y, x: tape.grad(y, x), program)  # what is made once is made
    found, held = most(lambda tape, y, x: tape.grad(y, x), program)
    wanted, needed = most(lambda tape, y, _: tidy(tape, y.place), program)
    np.testing.assert_array_equal(found, wanted)
    assert held < needed + 0.1
