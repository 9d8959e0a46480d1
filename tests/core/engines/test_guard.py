"""The guard of one differentiation: what it sees of writes, and what a rule keeps of its own."""

from __future__ import annotations

import functools
import gc
import math
import signal
import sys
import time

import numpy as np
import pytest

from chainrules_compat import augmented_rule, custom_vjp
from chainrules_py import LinearMap, MutationError, primitive, rrule, rule
from chainrules_py.extend import Guard
from chainrules_tape import grad, jvp, linearize, vjp
from tests.fuzz.hiding import HIDING
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
    guard, before = Guard(), x.copy()
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


@pytest.mark.nightly
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("size", SIZES)
def test_200_places_for_each_size(size, door):
    assert not unseen(size, door, 200, np.random.default_rng(7))


def test_what_is_large_is_locked_and_given_back_once_and_for_all():
    x = np.ones((1100, 1000))
    guard = Guard("lock")
    guard.hold(x)
    guard.hold(x[1:])  # no owner: it is compared in a sample alone
    assert not x.flags.writeable
    guard.unlock()
    assert x.flags.writeable
    other = np.ones_like(x)
    guard.hold(other)
    assert other.flags.writeable
    guard.release()
    assert repr(guard) == "<guard of 0 arrays, fingerprint>"


def test_a_guard_that_is_dropped_gives_back_what_it_locked_without_a_line_of_python():
    x, ran = np.ones(1_000_001), []
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
def test_an_interrupt_at_any_instant_gives_large_arrays_back():
    x, c = np.ones(1_000_001), np.ones(1_000_001)
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


def kept_in_a_cell():
    buffer = np.empty(3)

    def forward(x):
        np.multiply(x, 2.0, out=buffer)
        return (lambda y_bar: y_bar * buffer), buffer

    return forward


def kept_by_an_object():
    me = Keeper()

    def forward(x):
        np.multiply(x, 2.0, out=me.buffer)
        return (lambda y_bar: y_bar * me.buffer), me.buffer

    return forward


def kept_by_the_module():
    def forward(x):
        np.multiply(x, 2.0, out=BUFFER)
        return (lambda y_bar: y_bar * BUFFER), BUFFER

    return forward


def kept_in_a_partial():
    buffer = np.empty(3)

    def forward(x):
        np.multiply(x, 2.0, out=buffer)
        return functools.partial(np.multiply, buffer), buffer

    return forward


def kept_in_a_list():
    buffers = [{"first": np.empty(3)}]

    def forward(x):
        np.multiply(x, 2.0, out=buffers[0]["first"])
        return (lambda y_bar: y_bar * buffers[0]["first"]), buffers[0]["first"]

    return forward


def by_rule(forward):
    @primitive
    def square(x):
        return x * x

    @rule(square)
    def square_rule(x: np.ndarray):
        times, _ = forward(x)
        return x * x, (LinearMap(times, times),)

    return square


def by_rule_that_saves(forward):
    @primitive
    def square(x):
        return x * x

    @rule(square)
    def square_rule(x: np.ndarray):
        _, buffer = forward(x)
        times = lambda t, slope: t * slope
        return x * x, (LinearMap(times, times, buffer),)

    return square


def by_rrule(forward):
    @primitive
    def square(x):
        return x * x

    @rrule.register(square)
    def square_rrule(x: np.ndarray):
        times, _ = forward(x)
        return x * x, lambda y_bar: (times(y_bar),)

    return square


KEPT = [kept_in_a_cell, kept_by_an_object, kept_by_the_module, kept_in_a_partial, kept_in_a_list]


def pulled_by_grad(f, x, between):
    def loss(x):
        y = np.sum(f(x))
        between()
        return y

    return grad(loss)(x)


def pulled_by_vjp(f, x, between):
    _, pull = vjp(f, x)
    between()
    return pull(np.ones(3))[0]


def pulled_by_rrule(f, x, between):
    _, pull = rrule(f, x)
    between()
    return pull(np.ones(3))[0]


def pushed(f, x, between):
    _, push = linearize(f, x)
    between()
    return push(np.ones(3))


@pytest.mark.parametrize("door", [pulled_by_grad, pulled_by_vjp, pulled_by_rrule, pushed])
@pytest.mark.parametrize("stated", [by_rule, by_rule_that_saves, by_rrule])
@pytest.mark.parametrize("kept", KEPT)
def test_a_buffer_that_a_rule_reuses(kept, stated, door):
    if door is pushed and stated is by_rrule:
        pytest.skip("it has no push")
    f, x = stated(kept()), np.arange(3.0)
    np.testing.assert_array_equal(door(f, x, lambda: None), 2.0 * x)
    np.testing.assert_array_equal(door(f, x, lambda: None), 2.0 * x)
    with pytest.raises(MutationError, match=r"square (saved|looks at)"):
        door(f, x, lambda: f_again(f, x + 1.0))


def f_again(f, x):
    vjp(f, x)
    rrule(f, x)


def test_a_result_that_a_rule_reuses():
    buffer = np.empty(3)

    @primitive
    def doubled(x):
        return np.multiply(x, 2.0, out=buffer)

    @rule(doubled)
    def doubled_rule(x: np.ndarray):
        return np.multiply(x, 2.0, out=buffer), (LinearMap(lambda t: 2 * t, lambda t: 2 * t),)

    with pytest.raises(MutationError, match="doubled saved"):
        grad(lambda x: np.sum(doubled(x) * doubled(x + 1.0)))(np.ones(3))


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


def _by_custom(h):
    f = custom_vjp(lambda x: x**2)
    f.defvjp(lambda x: (f(x), h.make(x)), lambda kept, bar: (2.0 * h.read(kept) * bar,))
    return f


def _by_pair(h):
    f = primitive(lambda x: x**2)
    backward = lambda kept, bar: (2.0 * h.read(kept) * bar,)
    augmented_rule(f, lambda x: (f(x), (h.make(x),)), backward, types=(object,))
    return f


def _by_rrule(h):
    f = primitive(lambda x: x**2)

    @rrule.register(f, types=(object,))
    def f_rrule(x):
        kept = h.make(x)
        return f(x), lambda bar: (2.0 * h.read(kept) * bar,)

    return f


def _by_map(h):
    f = primitive(lambda x: x**2)

    @rule(f, types=(object,))
    def f_rule(x):
        times = lambda t, kept: 2.0 * h.read(kept) * t
        return f(x), (LinearMap(times, times, h.make(x)),)

    return f


SAVED = [
    (state, ask) for state in (_by_custom, _by_pair, _by_rrule, _by_map) for ask in (rrule, vjp)
]
SOME = ((_by_custom, rrule), (_by_map, rrule))


@pytest.mark.parametrize(
    "state, ask",
    [pytest.param(*how, marks=() if how in SOME else pytest.mark.nightly) for how in SAVED],
)
@pytest.mark.parametrize("hidden", [name for name, h in HIDING.items() if h.read])
def test_what_a_rule_saved_is_watched_over_wherever_it_is(hidden, state, ask):
    for written in (False, True):
        x = np.array([0.7, -1.3])
        _, pull = ask(state(HIDING[hidden]), x)
        if written:
            x *= 3.0
            with pytest.raises(MutationError):
                print(pull(np.ones(2)))
        else:
            np.testing.assert_allclose(pull(np.ones(2))[0], [1.4, -2.6])
