"""The guard: what a derivative depends on is not written to before it is taken, or that is said."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from chainrules_py import LinearMap, MutationError, NotDifferentiableError, primitive, rule
from chainrules_py import ops as v
from chainrules_py.extend import Guard, Library, Memory, register_array_type, type_info
from chainrules_tape import Tape, grad, jvp, linearize, value_and_grad, vjp

RNG = np.random.default_rng(3)
READ_ONLY = "read-only"


def large():
    """An array with more elements than are compared."""
    return np.ones((11, 10))


def fresh(*shape):
    return RNG.uniform(0.5, 1.5, shape or (4,))


@dataclasses.dataclass
class Layer:
    w: Any

    @primitive
    def __call__(self, x):
        return self.w * x


# --------------------------------------------------------- what a record saves is not written to

CAPTURES = {
    "x * c": lambda x, c: x * c,
    "c * x": lambda x, c: c * x,
    "x / c": lambda x, c: x / c,
    "x ** c": lambda x, c: x**c,
    "np.multiply": lambda x, c: np.multiply(c, x),
    "broadcast": lambda x, c: x[:, None] * c,
    "matmul": lambda x, c: np.outer(x, x) @ c,
    "c @ x": lambda x, c: c @ x,
    "where": lambda x, c: np.where(c > 0, x * c, x),
    "dot": np.dot,
    "twice": lambda x, c: x * c + x * c,
    "structure": lambda x, c: Layer(c)(x),
    "an operation": lambda x, c: v.multiply(x, c),
    "minimum": lambda x, c: np.minimum(x, c),
    "einsum": lambda x, c: np.einsum("i,i->", x, c),
    "another tape": lambda x, c: np.sum(grad(lambda z: np.sum(z * z * c))(x)),
}


WAYS_TO_WRITE = {
    "an element": lambda c: c.__setitem__(0, 7.0),
    "all": lambda c: c.__imul__(2.0),
    "out": lambda c: np.multiply(c, 2.0, out=c),
    "fill": lambda c: c.fill(3.0),
    "copyto": lambda c: np.copyto(c, 3.0),
    "sort": lambda c: c.sort(),
}


@pytest.mark.parametrize("size", [4, 1000])
@pytest.mark.parametrize("way", WAYS_TO_WRITE)
def test_a_write_to_an_array_that_is_locked_says_why_and_what_to_write(way, size):
    c = np.ones(size)

    def program(x):
        y = np.sum(x * c)
        WAYS_TO_WRITE[way](c)
        return y

    for door in (grad(program), lambda x: value_and_grad(program)(x)):
        with pytest.raises(MutationError, match=r"test_guard.py:\d+: .*\n.*v = \w\.copy\(\)"):
            door(2.0)
    with pytest.raises(MutationError, match="read-only"), Tape() as tape:
        program(tape.variable(2.0))
    c[0] = 1.0  # it can be written to when that is over
    c.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        grad(lambda x: (WAYS_TO_WRITE[way](c), x * 1.0)[1])(2.0)


@pytest.mark.parametrize("name", CAPTURES)
def test_the_line_that_writes_to_a_captured_array_raises(name):
    f, x, c = CAPTURES[name], fresh(), fresh()

    def program(x):
        y = np.sum(f(x, c) * 1.0)
        c[0] = 7.0
        return y

    line = program.__code__.co_firstlineno + 2
    with pytest.raises(
        MutationError, match=rf"test_guard.py:{line}: c\[0\] = 7.0\n.*v = c\.copy\(\)"
    ):
        grad(program)(x)
    assert c.flags.writeable
    assert np.isfinite(grad(lambda x: np.sum(f(x, c)))(x)).all()


@pytest.mark.parametrize("name", CAPTURES)
def test_a_captured_array_that_was_written_to_is_named_by_the_pullback(name):
    f, x, c = CAPTURES[name], fresh(), fresh()
    _, pullback = vjp(lambda x: np.sum(f(x, c)), x)
    before = pullback(1.0)[0]
    np.testing.assert_array_equal(pullback(1.0)[0], before)
    c[1] += 0.25
    with pytest.raises(MutationError, match=r"float64\[4\], which \w+ saved.*\.copy\(\)"):
        pullback(1.0)
    c[1] -= 0.25


def test_conditions_and_indices_are_captured_too():
    x, mask, places = fresh(), np.array([True, False, True, True]), np.array([0, 1, 1])

    def written(f):
        _, pullback = vjp(f, x)
        return pullback

    pullback = written(lambda x: np.where(mask, x, 0.0))
    mask[0] = False
    with pytest.raises(MutationError, match=r"bool\[4\]"):
        pullback(np.ones(4))
    pullback = written(lambda x: x[places])
    places[0] = 2
    with pytest.raises(MutationError, match=r"int64\[3\], which getitem saved"):
        pullback(np.ones(3))

    def write_at(x):
        y = x * 1.0
        y[places] = 1.0
        return y

    pullback = written(write_at)
    places[0] = 3
    with pytest.raises(MutationError, match="put_at"):
        pullback(np.ones(4))


def test_what_no_record_saves_may_be_written_to():
    x, c = fresh(), fresh()

    def f(x):
        y = x + c - c
        z = c / x  # which saves the quotient
        c[:] = 0.0
        return np.sum(y) + np.sum(np.sin(c)) + 0.0 * np.sum(z)

    assert grad(f)(x).tolist() == [1.0] * 4


def test_arguments_are_watched_by_their_names_outside():
    w, x = fresh(), fresh()

    def f(w, x):
        y = np.sum(w * x)
        x_outside[0] = 9.0
        return y

    x_outside = x
    with pytest.raises(MutationError, match="read-only"):
        grad(f, (0, 1))(w, x)
    _, pullback = vjp(lambda p, q: p["w"][0] * q * q, {"w": [w]}, x)
    x[0] += 1.0
    with pytest.raises(MutationError, match=r"float64\[4\], argument 1,"):
        pullback(np.ones(4))
    x[0] -= 1.0
    w *= 2.0
    with pytest.raises(MutationError, match=r"argument 0\['w'\]\[0\]"):
        pullback(np.ones(4))
    view = w[:]

    def g(x, *, scale):
        view[0] = 3.0
        return np.sum(x * scale)

    with pytest.raises(MutationError, match="argument 'scale'"):
        grad(g, argnames="scale")(x, scale=w)


# ------------------------------------------------------------------ right programs stay right


def test_a_step_just_works():
    w, x = fresh(), fresh(8, 4)
    for _ in range(3):
        loss, g = value_and_grad(lambda w, x: np.mean((x @ w) ** 2))(w, x)
        w -= 0.1 * g
        x += 0.0
    assert loss > np.mean((x @ w) ** 2)
    with Tape() as tape:
        a = tape.variable(w, "a")
        loss = np.sum((x @ a) ** 2)
    g = tape.grad(loss, a)
    w -= 0.01 * g
    x += 1.0


@pytest.mark.parametrize("when", ["function", "result", "pull", "seed"])
def test_after_an_exception_everything_can_be_written_to(when):
    w, c = fresh(), fresh()

    @primitive
    def fails(x):
        return x

    from chainrules_py import LinearMap, rule

    @rule(fails)
    def fails_rule(x: np.ndarray):
        return x * 1.0, (LinearMap(lambda t: t, lambda y_bar: 1 / 0),)

    def f(w):
        y = w * c
        if when == "function":
            raise ZeroDivisionError
        return y if when == "result" else np.sum(fails(y))

    with pytest.raises((ZeroDivisionError, NotDifferentiableError)):
        grad(f)(w)
    w += 1.0
    c += 1.0


def test_what_was_read_only_before_stays_so():
    w, c = fresh(), fresh()
    c.flags.writeable = False
    grad(lambda w: np.sum(w * c))(w)
    assert not c.flags.writeable
    assert w.flags.writeable


def test_rows_of_a_table_that_is_being_filled():
    """A part that was captured is watched, the rest of the array is not."""
    table = np.zeros((5, 4))

    def f(x):
        for t in range(5):
            table[t] = np.arange(4.0) + t
            x = x * table[t]
        return np.sum(x)

    x = fresh()
    np.testing.assert_allclose(grad(f)(x), np.prod(table, axis=0))

    def g(x):
        y = x * table[1]
        table[1, 2] = -1.0
        return np.sum(y)

    with pytest.raises(MutationError, match="multiply"):
        grad(g)(x)


def test_threads_see_their_own_tapes():
    w = fresh()
    started, done = threading.Barrier(4), []

    def work(k):
        c = fresh()
        started.wait()
        for _ in range(50):
            bar = grad(lambda w: np.sum(np.sin(w * c) * k))(w)
        done.append(np.allclose(bar, k * c * np.cos(w * c)) and c.flags.writeable)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 4
    w += 1.0


def test_tasks_see_their_own_tapes():
    async def work(k):
        x = np.full(3, float(k))
        with Tape() as tape:
            a = tape.variable(x, "a")
            b = a * a
            await asyncio.sleep(0)
            loss = np.sum(b * k)
            await asyncio.sleep(0)
        bar = tape.grad(loss, a)
        x += 1.0
        return bar

    async def main():
        return await asyncio.gather(*[work(k) for k in range(5)])

    for k, bar in enumerate(asyncio.run(main())):
        assert bar.tolist() == [2.0 * k * k] * 3


# --------------------------------------------------------------------------------- large arrays


def test_a_large_array_is_read_only_until_the_gradient_is_taken():
    x, c, shut, base = large(), large(), large(), large()
    shut.flags.writeable = False
    part = base[:10]

    def f(x):
        y = np.sum(x * c) + np.sum(x * shut) + np.sum(x[:10] * part)
        base[1] += 0.0
        for a in (c, outside):
            with pytest.raises(ValueError, match="read-only"):
                a[0, 0] = 1.0
        return y + grad(lambda z: np.sum(z * c))(outside)[0, 0]

    outside = x
    grad(f)(x)
    for a in (x, c, part, base):
        assert a.flags.writeable
    assert not shut.flags.writeable


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, GeneratorExit])
def test_whatever_is_raised_a_large_array_is_given_back(error):
    x, c = large(), large()

    def f(x):
        np.sum(x * c)
        raise error

    with pytest.raises(error):
        grad(f)(x)
    assert x.flags.writeable
    assert c.flags.writeable


@pytest.mark.parametrize("kind", [TypeError, ValueError, RuntimeError, AttributeError])
def test_an_error_in_a_pull_of_a_nested_gradient_gives_the_array_back_to_who_keeps_it(kind):
    @primitive
    def square(x):
        return x * x

    def pull(c):
        raise kind("a mistake in a pull")

    @rule(square)
    def _(x):
        return x * x, (LinearMap(lambda t: 2 * x * t, pull),)

    weights = fresh()
    with pytest.raises(kind, match="a mistake in a pull") as kept:
        grad(lambda x: np.sum(grad(lambda x: np.sum(square(x * weights)))(x)))(fresh())
    assert weights.flags.writeable
    assert kept.value.__traceback__ is not None


def test_two_tapes_on_one_large_array():
    x = large()
    tapes = []
    for _ in range(2):
        with Tape() as tape:
            a = tape.variable(x, "a")
            tapes.append((tape, np.sum(a * a), a))
    for tape, loss, a in tapes:
        assert tape.grad(loss, a)[0, 0] == 2.0
    assert x.flags.writeable


# ----------------------------------------------------------------------------- through a view


def test_a_write_through_a_view_made_before():
    x, c = fresh(), fresh()
    view = c[1:]

    def f(x):
        y = np.sum(x * c)
        view[0] = 5.0
        return y

    with pytest.raises(MutationError, match=r"float64\[4\], which multiply saved"):
        grad(f)(x)
    c[1] = 5.0


@pytest.mark.parametrize("mode", ["sample", "full"])
@pytest.mark.parametrize(
    "make",
    {
        "line": lambda: fresh(100_000),
        "matrix": lambda: fresh(300, 400),
        "transposed": lambda: fresh(300, 400).T,
        "strided": lambda: fresh(600, 400)[::2, ::3],
        "thin": lambda: fresh(100_000, 1),
        "many axes": lambda: fresh(*[3] * 9),
        "empty": lambda: fresh(0, 3),
        "complex": lambda: fresh(300, 400) * 1j,
    }.items(),
    ids=lambda pair: pair[0] if isinstance(pair, tuple) else pair,
)
def test_a_change_of_everything_is_seen(mode, make):
    c = make[1]()
    view = c[...]
    guard = Guard(mode)
    guard.hold(c, "c")
    guard.check()
    view += 1.0
    if c.size:
        with pytest.raises(MutationError, match=r"complex128|float64"):
            guard.check()
        view -= 1.0
    guard.release()
    assert c.flags.writeable


def test_full_sees_every_byte():
    c = fresh(300, 400)
    guard = Guard("full")
    guard.hold(c, "c")
    assert c.flags.writeable
    c[123, 45] = np.nextafter(c[123, 45], 9)
    with pytest.raises(MutationError, match=r"float64\[300, ?400\], c, was written to"):
        guard.check()
    small = fresh(4, 4)
    guard = Guard("sample")
    guard.hold(small)
    small[2, 1] = np.nan
    with pytest.raises(MutationError, match="which is differentiated in"):
        guard.check()


def test_linearize_watches_and_does_not_lock():
    x, c = fresh(), fresh()
    _, push = linearize(lambda x: np.sin(x * c), x)
    t = fresh()
    np.testing.assert_allclose(push(t), np.cos(x * c) * c * t)
    c += 1.0
    with pytest.raises(MutationError, match="multiply"):
        push(t)
    _, push = linearize(np.sin, x)
    x += 1.0
    with pytest.raises(MutationError):
        push(t)


def test_what_a_pullback_gave_and_took_may_be_written_to():
    x, y_bar = fresh(), fresh()
    for f in (np.exp, lambda x: x, lambda x: x.reshape(2, 2), lambda x: (np.tanh(x),) * 2):
        y, pullback = vjp(f, x)
        ys = y if isinstance(y, tuple) else (y,)
        seed = tuple(y_bar.reshape(y.shape) for y in ys)
        seed = seed if isinstance(y, tuple) else seed[0]
        expected = pullback(seed)[0]
        kept = x.copy()
        for y in ys:
            y *= 0.0
        bar = pullback(seed)[0]
        np.testing.assert_array_equal(bar, expected)
        bar *= 0.0
        np.testing.assert_array_equal(pullback(seed)[0], expected)
        np.testing.assert_array_equal(x, kept)


def test_values_on_the_way_are_shown_read_only():
    def f(x):
        y = np.exp(x)
        with pytest.raises(ValueError, match=READ_ONLY):
            y.__payload__[...] = 0.0
        return np.sum(y)

    x = fresh()
    np.testing.assert_array_equal(grad(f)(x), np.exp(x))
    jvp(f, (x,), (x,))
    grad(lambda x: x * float(x.__payload__.flags.writeable is False))(np.array(1.0))


# ------------------------------------------------------------------------------ the tape's own


def test_a_tape_watches_its_arrays_until_its_gradient_is_taken():
    a, c = fresh(), fresh()
    with Tape() as tape:
        x = tape.variable(a, "weights")
        loss = np.sum(x * c)
    c += 1.0
    with pytest.raises(MutationError, match="multiply"):
        tape.grad(loss, x)
    a += 1.0
    c += 1.0


def test_a_tape_that_is_dropped_or_left_by_an_exception_lets_go():
    a, c = large(), large()

    def drop():
        with Tape() as tape:
            x = tape.variable(a)
            assert (x * c).shape == (11, 10)
            assert not a.flags.writeable
            assert not c.flags.writeable
        assert a.flags.writeable
        tape = Tape()
        return tape.variable(a) * c

    y = drop()
    assert not a.flags.writeable
    assert not c.flags.writeable
    del y
    assert a.flags.writeable
    assert c.flags.writeable
    with pytest.raises(ZeroDivisionError), Tape() as tape:
        np.sum(tape.variable(a) * c) * (1 / 0)
    assert a.flags.writeable
    assert c.flags.writeable


def test_a_persistent_tape_compares_when_its_block_is_over():
    a = fresh()
    with Tape(persistent=True) as tape:
        x = tape.variable(a, "weights")
        loss = np.sum(x * x)
    a -= 0.1 * tape.grad(loss, x)
    with pytest.raises(MutationError, match="weights"):
        tape.grad(loss, x)


def test_modes():
    a, c = fresh(), fresh()
    with Tape(guard="off") as tape:
        x = tape.variable(a)
        y = x * c
        c[0] = 3.0
        loss = np.sum(y)
    assert tape.grad(loss, x)[0] == 3.0
    for mode in ("sample", "full"):
        with Tape(guard=mode) as tape:
            x = tape.variable(a)
            loss = np.sum(x * c)
            c[0] += 1.0
        with pytest.raises(MutationError):
            tape.grad(loss, x)
    with pytest.raises(ValueError, match="'lock', 'sample', 'full', 'off'"):
        Tape(guard="locked")
    assert "0 arrays" in repr(Guard("off"))


def test_a_differentiable_tape_watches_what_it_would_replay():
    a, c = fresh(), fresh()
    with Tape(differentiable=True, guard="sample") as tape:
        x = tape.variable(a, "x")
        y = np.sum(x + c)
        c += 1.0
        with pytest.raises(MutationError):
            tape.grad(y * y, x)


def test_nothing_is_kept_and_there_are_no_cycles():
    a, c = fresh(), fresh()
    gc.collect()
    gc.disable()
    try:
        references = []
        for run in (
            lambda c: grad(lambda a: np.sum(a * c))(a),
            lambda c: vjp(lambda a: a * c, a),
            lambda c: linearize(lambda a: a * c, a),
            lambda c: taped(a, c),
            lambda c: written(a, c),
        ):
            mine = c.copy()
            references.append(weakref.ref(mine))
            run(mine)
            del mine
        assert [reference() for reference in references] == [None] * 5
    finally:
        gc.enable()


def taped(a, c):
    with Tape() as tape:
        x = tape.variable(a)
        loss = np.sum(x * c)
    return tape.grad(loss, x)


def written(a, c):
    def f(a):
        b = np.zeros_like(a)
        b[1:] = a[:-1] * c[1:]
        row = b[1:]
        row += 1.0
        return np.sum(row)

    return grad(f)(a), vjp(f, a), jvp(f, (a,), (a,))


# ------------------------------------------------------------------------------- other libraries


def test_arrays_without_a_flag_are_compared():
    xp = pytest.importorskip("array_api_strict")
    x, c = xp.asarray(fresh()), xp.asarray(fresh())

    def f(x):
        return xp.sum(x * c)

    _, pullback = vjp(lambda x: x * c, x)
    c[0] = 9.0
    with pytest.raises(MutationError, match="multiply"):
        pullback(xp.ones(4))

    def g(x):
        y = v.sum(x * c)
        c[1] = 9.0
        return y

    with pytest.raises(MutationError, match="multiply"):
        grad(g)(x)
    buffer = grad(filled)(x)
    np.testing.assert_allclose(np.asarray(buffer._array), 2 * np.asarray(x._array))


def filled(x):
    y = v.zeros_like(x) + 0.0 * x
    for i in range(4):
        y[i] = x[i] * x[i]
    y += 1.0
    return v.sum(y)


def test_a_library_that_says_nothing_of_its_memory_is_left_alone():
    class Immutable(np.ndarray):
        pass

    assert type_info(Immutable).memory is type_info(np.ndarray).memory
    assert type_info(float).memory is None
    seen = []
    memory = Memory(
        owner=lambda x: x,
        layout=lambda x: 0,
        laid_out=lambda x, like: x,
        fingerprint=lambda x, full: seen.append(full) or 0,
    )
    register_array_type(Immutable, Library(np, memory=memory))
    guard = Guard("lock")
    guard.hold(fresh().view(Immutable))
    guard.hold(3.0)
    guard.check()
    guard.release()
    assert seen == [False, False]


@pytest.mark.parametrize("derivative", [grad, value_and_grad])
@pytest.mark.parametrize("taken_in", [0, 1])
def test_a_loss_that_is_stored_keeps_no_array(derivative, taken_in):
    stored, data = [], [np.arange(200.0) for _ in range(12)]

    def loss(w, data):
        stored.append(sum([np.sum(w * x) for x in data]))
        return stored[-1]

    references = list(map(weakref.ref, data))
    derivative(loss, argnums=taken_in)(np.ones(200), data)
    del data
    gc.collect()
    assert [r() for r in references] == [None] * 12
    assert np.isclose(float(stored[0]), 12 * np.sum(np.arange(200.0)))
