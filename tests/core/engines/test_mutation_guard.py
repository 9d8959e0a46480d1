"""The guard of one differentiation: what it sees of writes, and what a rule keeps of its own."""

from __future__ import annotations

import gc
import math
import signal
import sys
import time

import numpy as np
import pytest

from chainrules_py import LinearMap, MutationError, primitive, rrule, rule
from chainrules_py.extend import Guard
from chainrules_tape import grad, jvp, vjp
from tests.fuzz.places import DOORS, SIZES, unseen

RNG = np.random.default_rng(0)
grad(np.sum)(np.ones(1))  # the library is there


# -------------------------------------------------------------------------- what a print can see

SHAPES = {
    "small": (7,),
    "4,096": (4096,),
    "just above": (4097,),
    "matrix": (300, 40),
    "rows of 4,093": (5, 4093),
    "1e6": (1000, 1000),
}
LAYOUTS = {
    "as it is": lambda x: x,
    "transposed": lambda x: x.T,
    "every other": lambda x: np.repeat(x, 2, axis=0)[::2],
    "single": lambda x: x.astype(np.float32),
    "complex": lambda x: x * 1j,
    "whole numbers": lambda x: (100 * x).astype(np.int16),
}


def reverse(x):
    x[...] = x[::-1].copy()


def roll(x):
    x[...] = np.roll(x, 1)


def exchange(x):
    flat = x.reshape(-1) if x.flags.c_contiguous else x.T.reshape(-1)
    flat[[0, -1]] = flat[[-1, 0]]


def sort(x):
    x.sort(axis=0)


def last(x):
    x[(-1,) * x.ndim] += 1


@pytest.mark.parametrize("write", [reverse, roll, exchange, sort, last])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_write_is_seen(shape, layout, write):
    if write is exchange and layout == "every other":
        pytest.skip("no view of it has one axis")
    x = LAYOUTS[layout](RNG.normal(size=SHAPES[shape]))
    guard, before = Guard("full"), x.copy()
    guard.hold(x, "x")
    guard.check()
    write(x)
    if np.array_equal(x, before):
        pytest.skip("the same numbers")
    with pytest.raises(MutationError, match=", x, was written to"):
        guard.check()
    x[...] = before
    guard.check()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("size", SIZES)
def test_one_element_written_to_between_record_and_pull(size, door):
    n = 40 if math.prod(SIZES[size]) < 10_000 else 4
    assert not unseen(size, door, n, np.random.default_rng(len(size)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_sample_sees_a_step_that_changes_all(shape, layout):
    x = LAYOUTS[layout](RNG.normal(size=SHAPES[shape]))
    guard = Guard()
    guard.hold(x, "x")
    guard.check()
    x += 1
    with pytest.raises(MutationError, match=", x, was written to"):
        guard.check()


@pytest.mark.parametrize("made", [np.ones, lambda n: np.ones(n).reshape(2, -1).T])
@pytest.mark.parametrize("n", [4, 1000])
def test_two_guards_share_a_lock(made, n):
    x = made(n)
    guards = Guard("lock"), Guard("lock"), Guard("lock")
    for guard in guards:
        guard.hold(x)
    for k in (1, 0, 2):
        assert not x.flags.writeable
        guards[k].release()
    assert x.flags.writeable


def test_a_part_of_an_array_is_compared_and_the_rest_may_be_filled():
    table = np.zeros((3, 4))
    guard = Guard("lock")
    guard.hold(table[0])
    table[1] = 1.0
    guard.check()
    table[0] = 1.0
    with pytest.raises(MutationError):
        guard.check()


def test_memory_of_others_is_compared():
    x = np.frombuffer(bytearray(80))
    guard = Guard("lock")
    guard.hold(x)
    x += 1.0
    with pytest.raises(MutationError):
        guard.check()


@pytest.mark.parametrize("unlocks", [False, True])
@pytest.mark.parametrize("k", [0, 10, 20], ids=["large", "small", "a part"])
def test_arrays_that_are_held_together_are_compared_one_by_one(k, unlocks):
    table = np.ones((10, 4))
    arrays = [np.ones(n) for n in (100, 4) for _ in range(10)] + list(table)
    arrays[-1].flags.writeable = False  # and stays so
    guard = Guard("lock")
    assert not guard.hold_all(arrays)
    assert [x.flags.writeable for x in arrays] == [False] * 20 + [True] * 9 + [False]
    guard.check()
    if unlocks:
        guard.unlock()
        assert [x.flags.writeable for x in arrays] == [True] * 29 + [False]
    else:
        arrays[k].flags.writeable = True
    arrays[k][...] = 5.0
    if k or unlocks:  # a large array is not compared while it is locked
        with pytest.raises(MutationError):
            guard.check()
    assert len(guard.held) == len(arrays)


@pytest.mark.nightly
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("size", SIZES)
def test_200_places_for_each_size(size, door):
    assert not unseen(size, door, 200, np.random.default_rng(7))


def test_an_array_is_locked_and_given_back_once_and_for_all():
    x = np.ones((11, 10))
    guard = Guard("lock")
    guard.hold(x)
    guard.hold(x[1:])  # a part: it is compared in a sample
    assert not x.flags.writeable
    guard.unlock()
    assert x.flags.writeable
    other = np.ones_like(x)
    guard.hold(other)
    assert other.flags.writeable
    guard.release()
    assert repr(guard) == "<guard of 0 arrays, sample>"


def test_a_guard_that_is_dropped_gives_back_what_it_locked_without_a_line_of_python():
    x, ran = np.ones(1_000), []
    guard = Guard("lock")
    guard.hold(x)
    sys.setprofile(lambda frame, event, _: ran.append(frame) if event == "call" else None)
    try:
        del guard  # nothing is called in which an interrupt could be raised
    finally:
        sys.setprofile(None)
    assert x.flags.writeable
    assert not ran


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer that sends signals")
def test_an_interrupt_at_any_instant_gives_arrays_back():
    x, c = np.ones(1_000), np.ones(1_000)
    gradient = grad(lambda x: np.sum(x * c))
    start = time.perf_counter()
    gradient(x)
    took, came = time.perf_counter() - start, 0

    def interrupt(_, frame):
        while frame is not None:
            if frame.f_code is gradient.func.__code__:  # elsewhere it would stop the tests
                raise KeyboardInterrupt
            frame = frame.f_back

    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # what is raised while it calls back is lost, in Python itself
    try:
        for k in range(60):
            # At another instant of the gradient each time; one at least has to come in it.
            signal.setitimer(signal.ITIMER_REAL, max(1e-5, 1.2 * took * (k + 1) / 60))
            try:
                gradient(x)
            except KeyboardInterrupt:
                came += 1
            assert x.flags.writeable
            assert c.flags.writeable
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert came


# --------------------------------------------------------------------- what a rule keeps of its own

BUFFER = np.empty(3)


class Keeper:
    """Knows a buffer, and other arrays that its rule does not ask for."""

    def __init__(self):
        self.buffer = np.empty(3)
        self.other = np.zeros(3)


def test_attributes_that_a_rule_does_not_name_are_nobodys():
    me = Keeper()

    @primitive
    def scaled(x):
        return x * 2.0

    @rule(scaled)
    def scaled_rule(x: np.ndarray):
        return x * 2.0, (LinearMap(lambda t: t * me.buffer, lambda t: t * me.buffer),)

    me.buffer[:] = 2.0
    _, pull = vjp(scaled, np.ones(3))
    me.other += 1.0
    assert pull(np.ones(3))[0].tolist() == [2.0] * 3


# ------------------------------------------------------------------------ frule and rrule by hand


def test_the_pullback_of_an_explicit_rrule_sees_what_was_written_to():
    x, c = np.arange(1.0, 4.0), np.ones(3)
    y, pull = rrule(np.multiply, x, c)
    assert pull(np.ones(3))[1].tolist() == [1.0, 2.0, 3.0]
    x[0] = 7.0
    with pytest.raises(MutationError, match="multiply saved"):
        pull(np.ones(3))
    y, pull = rrule(np.exp, c)
    y *= 2.0
    with pytest.raises(MutationError, match="exp saved"):
        pull(np.ones(3))
    y, pull = rrule(np.add, x, c)  # which saves none of the two
    x += 1.0
    y += 1.0
    assert pull(np.ones(3))[0].tolist() == [1.0] * 3
    y, y_dot = jvp(np.exp, (x,), (c,))
    np.testing.assert_array_equal(y, y_dot)
