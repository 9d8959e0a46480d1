"""The locks of many tapes on the same arrays: who holds one keeps it read-only, and at the end all
flags are what they were."""

from __future__ import annotations

import gc
import random
import threading

import numpy as np
import pytest

from chainrules_py import MutationError
from chainrules_py.extend import Library, Memory, register_array_type
from chainrules_tape import Tape, grad, value_and_grad, vjp
from chainrules_tape.memory.guard import Guard

pytestmark = pytest.mark.usefixtures("all_flags_come_back")

grad(np.sum)(np.ones(1))  # the library is there


def family():
    """Arrays that share memory in all ways, and some that were read-only before."""
    owner = np.arange(12.0)
    shut = np.arange(4.0)
    shut.flags.writeable = False
    half_shut = np.arange(6.0)
    view_of_half_shut = half_shut[:]
    half_shut.flags.writeable = False
    foreign = np.frombuffer(bytearray(32))
    return {
        "owner": owner,
        "all of it": owner.reshape(3, 4),
        "all of it again": owner[::-1],
        "all of a view": owner.reshape(3, 4).T,
        "a part": owner[2:5],
        "a part of a part": owner[2:5][:2],
        "alone": np.arange(5.0),
        "read-only": shut,
        "read-only view": shut[1:],
        "a view of what is read-only": view_of_half_shut,
        "what is read-only": half_shut,
        "memory of others": foreign,
        "a view of it": foreign[1:],
        "no axes": np.array(3.0),
        "empty": np.zeros((0, 3)),
    }


def flags(arrays):
    return {name: x.flags.writeable for name, x in arrays.items()}


@pytest.mark.parametrize("seed", range(60))
def test_any_history_of_locks(seed):
    """Held by any of the guards, an array cannot be written to; let go by all, it is as before."""
    chance = random.Random(seed)
    arrays = family()
    before = flags(arrays)
    open_guards: list[tuple[Guard, set[str]]] = []
    for _ in range(60):
        step = chance.random()
        if step < 0.3 or not open_guards:
            open_guards.append((Guard("lock"), set()))
        elif step < 0.75:
            guard, names = chance.choice(open_guards)
            some = chance.sample(list(arrays), chance.randint(1, 3))
            for name in some:
                guard.hold(arrays[name], name)
            names.update(some)
        elif step < 0.9:
            open_guards.pop(chance.randrange(len(open_guards)))[0].release()
        else:
            guard, _ = open_guards.pop(chance.randrange(len(open_guards)))
            guard.unlock_when_dropped()
            del guard
        for guard, names in open_guards:
            guard.check()
            for name in names:
                assert not arrays[name].flags.writeable, name
    for guard, _ in open_guards:
        guard.release()
    assert flags(arrays) == before


@pytest.mark.parametrize("release", [(0, 1), (1, 0)])
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x[:], lambda x: x[1:], lambda x: x.T])
def test_two_open_tapes_on_one_array(view, release):
    x = np.arange(4.0)
    y = view(x)
    tapes = []
    for a in (x, y):
        with Tape() as tape:
            v = tape.variable(a, "v")
            loss = np.sum(v * v)
        tapes.append((tape, v, loss, a))
    for i in release:
        for _, _, _, a in [tapes[k] for k in release[release.index(i) :]]:
            with pytest.raises(ValueError, match="read-only"):
                a += 1.0
        tape, v, loss, a = tapes[i]
        np.testing.assert_array_equal(tape.grad(loss, v), 2 * a)
    x += 1.0
    y += 1.0


def test_a_gradient_inside_of_another_keeps_the_locks_of_the_outer():
    x, c = np.arange(4.0), np.ones(4)
    seen = []

    def outer(x):
        y = np.sum(x * c)
        grad(lambda z: np.sum(z * c * c))(outside)
        for a in (outside, c):
            seen.append(a.flags.writeable)
            with pytest.raises(ValueError, match="read-only"):
                a[0] = 5.0
        with pytest.raises(ZeroDivisionError):
            grad(lambda z: np.sum(z * c) * (1 // 0))(outside)
        seen.extend([outside.flags.writeable, c.flags.writeable])
        return y

    outside = x
    grad(outer)(x)
    assert seen == [False] * 4
    x += c
    c += 1.0


def test_the_same_array_several_times():
    x = np.arange(3.0)
    value, bars = value_and_grad(lambda a, b: np.sum(a * b * x), (0, 1))(x, x)
    assert value == 9.0
    np.testing.assert_array_equal(bars[0], x * x)
    np.testing.assert_array_equal(bars[1], x * x)
    assert bars[0] is not bars[1]
    x += 1.0


@pytest.mark.parametrize("raises", [ValueError, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("where", ["before", "after"])
def test_whatever_is_raised_inside(raises, where):
    x, c = np.arange(3.0), np.arange(3.0)

    def f(x):
        y = x * c if where == "after" else x
        np.sum(y)
        raise raises

    with pytest.raises(raises):
        grad(f)(x)
    x += 1.0
    c += 1.0


def test_a_generator_that_is_left_in_the_middle():
    x = np.arange(3.0)

    def steps():
        with Tape() as tape:
            v = tape.variable(x, "x")
            yield v * v
            yield tape

    running = steps()
    v = next(running)
    assert not x.flags.writeable
    running.close()
    assert x.flags.writeable
    running = steps()
    next(running)
    del running, v
    gc.collect()
    x += 1.0


def test_a_fingerprint_that_cannot_be_taken_gives_the_flags_back():
    class Torn(np.ndarray):
        pass

    from chainrules_numpy import memory

    def fingerprint(x, full):
        raise MemoryError

    torn_memory = Memory(
        owner=memory.owner,
        layout=memory.layout,
        laid_out=memory.laid_out,
        fingerprint=fingerprint,
        lock=memory.lock,
        unlock=memory.unlock,
    )
    register_array_type(Torn, Library(np, memory=torn_memory))
    whole, torn = np.arange(3.0), np.arange(3.0).view(Torn)
    guard = Guard("lock")
    guard.hold(whole)
    with pytest.raises(MemoryError):
        guard.hold(torn)
    guard.release()
    assert whole.flags.writeable
    assert torn.flags.writeable
    assert torn.base.flags.writeable


def test_a_flag_that_was_set_back_by_hand_does_not_hide_the_write():
    x = np.arange(3.0)

    def f(v):
        y = np.sum(v * v)
        x.flags.writeable = True
        x[0] = 7.0
        return y

    with pytest.raises(MutationError, match="argument 0"):
        grad(f)(x)
    assert x.flags.writeable


def test_a_flag_that_was_set_back_by_hand_confuses_no_count():
    x = np.arange(3.0)
    first, second = Guard("lock"), Guard("lock")
    first.hold(x)
    x.flags.writeable = True
    second.hold(x)
    first.release()
    second.release()
    assert x.flags.writeable


@pytest.mark.parametrize("shape", [(8,), (8, 8)])
def test_threads_on_one_array(shape):
    """While anybody needs it, it is read-only, and when nobody does, it is not."""
    x = np.ones(shape)
    wrong, start = [], threading.Barrier(6)

    def work(k):
        mine = np.full(shape, float(k))
        start.wait()
        for i in range(150):
            guard = Guard("lock")
            guard.hold(x if i % 3 else x.T)
            guard.hold(mine)
            if x.flags.writeable or mine.flags.writeable:
                wrong.append(k)
            guard.check()
            guard.release()
            if not mine.flags.writeable:
                wrong.append(-k)

    def differentiate(k):
        start.wait()
        for _ in range(60):
            bar = grad(lambda v: np.sum(v * x * k))(x)
            if not (bar == k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    threads += [threading.Thread(target=differentiate, args=(k,)) for k in range(5, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    x += 1.0


def test_a_tape_that_is_dropped_by_another_thread():
    x = np.arange(3.0)
    held = []

    def make():
        with Tape() as tape:
            held.append(tape.variable(x, "x") * 2.0)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert not x.flags.writeable
    held.clear()
    gc.collect()
    x += 1.0


def test_locks_of_many_arrays_are_given_back_in_one_go():
    xs = [np.full(3, float(k)) for k in range(50)]
    rows = [x[:2] for x in xs]

    def f(*xs):
        return sum(np.sum(x * row[0]) for x, row in zip(xs, rows, strict=True))

    bars = grad(f, tuple(range(50)))(*xs)
    assert [bar[0] for bar in bars] == [float(k) for k in range(50)]
    assert all(a.flags.writeable for a in (*xs, *rows))
    _, pullback = vjp(f, *xs)
    assert all(a.flags.writeable for a in (*xs, *rows))
    rows[7][0] += 1.0
    with pytest.raises(MutationError, match="argument 7"):
        pullback(1.0)


@pytest.mark.parametrize(
    "made",
    [
        lambda x: np.lib.stride_tricks.as_strided(x, (3,), (8,)),
        lambda x: np.asarray(memoryview(x)[::2]),
        lambda x: pytest.importorskip("torch").from_numpy(x).numpy(),
        lambda x: np.asarray(memoryview(x)),
    ],
)
def test_what_numpy_would_not_open_again_is_not_locked(made):
    """Its fingerprint is there all the same."""
    x = made(np.arange(6.0))
    expected = x.copy()
    np.testing.assert_array_equal(grad(lambda y: np.sum(y * x))(np.ones(x.shape)), expected)
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(x), 2 * expected)
    x[0] = 7.0
    with Tape() as tape:
        y = tape.variable(np.ones(x.shape))
        loss = np.sum(y * x)
    np.asarray(x.base)[0] = 1.0  # as by a view made before
    with pytest.raises(MutationError):
        tape.grad(loss, y)
    assert x.flags.writeable


def test_a_guard_that_an_interrupt_let_go_gives_its_locks_back():
    """Between the tape's making and its release, or in the release itself."""
    x = np.arange(4.0)
    guard = Guard("lock")
    guard.hold(x)
    assert not x.flags.writeable
    del guard
    x += 1.0
