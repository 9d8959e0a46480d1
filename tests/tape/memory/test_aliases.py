"""Random programs with many names for the same memory: they do what NumPy does, or say why not."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from chainrules_py import MutationError
from chainrules_tape import Tape, jvp, linearize, vjp

SHAPES = [(12,), (3, 4), (2, 3, 2), (4, 1, 3)]
NAMES = 9
"""How many arrays a program has at a time."""
IN_PLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv]
OUT = [np.add, np.multiply, np.subtract, np.arctan2, np.hypot]
ALONE = [np.sin, np.tanh, np.negative, np.square]


class Program:
    """Program of random steps, the same for the same seed: shapes alone decide what it does."""

    def __init__(self, seed: int, steps: int) -> None:
        self.seed = seed
        self.steps = steps

    def __call__(self, x):
        rng = np.random.default_rng(self.seed)
        names, seen, kinds = [x * 1.0, np.flip(x) * 0.5], [], list(STEPS)
        for _ in range(self.steps):
            step = STEPS[kinds[int(rng.integers(len(kinds)))]]
            made = step(rng, names, seen)
            if made is not None and np.ndim(made) and made.size and made.size <= 40:
                names.append(made)
            while len(names) > NAMES:
                names.pop(int(rng.integers(len(names))))
        return [*seen, *names]


def pick(rng, names):
    return names[int(rng.integers(len(names)))]


def index_of(shape, rng):
    """A basic index: elements, slices with any step, new axes, an ellipsis."""
    entries = []
    for n in shape:
        kind = int(rng.integers(7))
        if kind == 0:
            entries.append(int(rng.integers(-n, n)))
        elif kind == 1:
            entries.append(slice(None))
        elif kind == 2:
            entries.append(slice(None, None, -1))
        elif kind == 3:
            entries.append(slice(int(rng.integers(-n, n)), None, int(rng.choice([-2, -1, 1, 2]))))
        else:
            start, stop = sorted(int(i) for i in rng.integers(0, n + 1, 2))
            entries.append(slice(start, stop, int(rng.choice([1, 1, 2]))))
    if rng.integers(4) == 0:
        del entries[int(rng.integers(len(entries))) :]
        if rng.integers(2):
            entries.append(Ellipsis)
    if rng.integers(6) == 0:
        entries.insert(int(rng.integers(len(entries) + 1)), None)
    return entries[0] if len(entries) == 1 and rng.integers(2) else tuple(entries)


def factors_of(n, rng):
    """A shape with n elements."""
    shape = []
    while n > 1 and len(shape) < 3:
        found = [k for k in range(2, n + 1) if n % k == 0]
        k = found[int(rng.integers(len(found)))]
        shape.append(k)
        n //= k
    shape.append(n)
    return tuple(int(k) for k in rng.permutation(shape))


def a_part(rng, names, seen):
    a = pick(rng, names)
    return a[index_of(a.shape, rng)]


def a_shape(rng, names, seen):
    a = pick(rng, names)
    return a.reshape(factors_of(a.size, rng))


def a_line(rng, names, seen):
    a = pick(rng, names)
    return (a.ravel(), a.reshape(-1), a.flatten(), np.ravel(a))[int(rng.integers(4))]


def an_order(rng, names, seen):
    a = pick(rng, names)
    return np.transpose(a, tuple(int(i) for i in rng.permutation(a.ndim)))


def a_turn(rng, names, seen):
    a = pick(rng, names)
    turns = [np.flip, np.atleast_2d, lambda a: a.T, np.squeeze, np.real, lambda a: a[::-1]]
    turns += [lambda a: np.expand_dims(a, 0), lambda a: np.swapaxes(a, 0, -1), np.copy]
    turns += [lambda a: np.rot90(a) if a.ndim > 1 else a, lambda a: np.roll(a, 1)]
    turns += [lambda a: np.moveaxis(a, 0, -1)]
    return turns[int(rng.integers(len(turns)))](a)


def a_half(rng, names, seen):
    a = pick(rng, names)
    halves = np.array_split(a, 2, axis=int(rng.integers(a.ndim)))
    names.append(halves[0])
    return halves[1]


def a_row(rng, names, seen):
    a = pick(rng, names)
    for row in a:
        if np.ndim(row):
            row *= 1.5
    return row if np.ndim(row) else None


def fitting(rng, names, shape):
    """What can be written into a shape: an array of it, or of a part of it, or a number."""
    found = []
    for a in names:
        for b in (a, a.T, a[:1], a[..., :1], a[..., -1:]):
            try:
                if np.broadcast_shapes(b.shape, shape) == shape:
                    found.append(b)
            except ValueError:
                pass
    if not found or rng.integers(3) == 0:
        return float(rng.uniform(0.5, 1.5))
    return found[int(rng.integers(len(found)))]


def a_write(rng, names, seen):
    a = pick(rng, names)
    where = index_of(a.shape, rng)
    a[where] = fitting(rng, names, np.shape(np.empty(a.shape)[where])) * 0.5


def a_write_of_a_view(rng, names, seen):
    a = pick(rng, names)
    where = index_of(a.shape, rng)
    a[where] = fitting(rng, names, np.shape(np.empty(a.shape)[where]))


def a_shift(rng, names, seen):
    """Both sides have elements in common."""
    a = pick(rng, names)
    if len(a) > 1:
        if rng.integers(2):
            a[1:] = a[:-1]
        else:
            a[:] = a[::-1]


def an_update(rng, names, seen):
    a = pick(rng, names)
    other = fitting(rng, names, a.shape)
    change = IN_PLACE[int(rng.integers(len(IN_PLACE)))]
    if change is operator.itruediv:
        other = np.abs(other) + 1.0
    change(a, np.tanh(other) if change is operator.imul else other)


def an_update_of_a_part(rng, names, seen):
    a = pick(rng, names)
    where = index_of(a.shape, rng)
    if rng.integers(2):
        a[where] *= 0.5
    else:
        a[where] += fitting(rng, names, np.shape(np.empty(a.shape)[where]))


def an_out(rng, names, seen):
    a = pick(rng, names)
    if rng.integers(2):
        f = OUT[int(rng.integers(len(OUT)))]
        b, c = fitting(rng, names, a.shape), fitting(rng, names, a.shape)
        f(np.add(b, 2.5), c, out=a)
    else:
        ALONE[int(rng.integers(len(ALONE)))](a, out=a)


def an_out_of_a_part(rng, names, seen):
    a = pick(rng, names)
    part = a[index_of(a.shape, rng)]
    if np.ndim(part) and part.size:
        np.tanh(part[::-1], out=part)


def a_choice(rng, names, seen):
    a = pick(rng, names)
    places = np.arange(a.size).reshape(a.shape)
    if rng.integers(2):
        a[places % 3 == 1] = float(rng.uniform())
    else:
        a[rng.integers(0, len(a), 2)] *= 0.5


def a_copyto(rng, names, seen):
    a = pick(rng, names)
    np.copyto(a, fitting(rng, names, a.shape))


def a_use(rng, names, seen):
    seen.append(np.sum(np.sin(pick(rng, names))))


def an_array(rng, names, seen):
    return np.cos(pick(rng, names)) + 0.1


def an_element(rng, names, seen):
    a = pick(rng, names)
    where = tuple(int(rng.integers(n)) for n in a.shape)
    seen.append(a[where] * 1.0)
    a[where] = a[where] * 0.5 + 0.25


def a_buffer(rng, names, seen):
    a = pick(rng, names)
    buffer = (np.zeros_like, np.empty_like)[int(rng.integers(2))](a)
    buffer[...] = 0.5
    return buffer


def a_view_to_read(rng, names, seen):
    """Views that cannot be written to, and see what is."""
    a = pick(rng, names)
    if a.ndim > 1 and rng.integers(2):
        seen.append(np.diagonal(a))
    else:
        seen.append(np.broadcast_to(a, (2, *a.shape)))


STEPS = {
    f"{f.__name__} {i}": f
    for f, times in {
        a_part: 5, a_shape: 3, a_line: 2, an_order: 2, a_turn: 4, a_half: 1, a_row: 1, a_write: 3,
        a_write_of_a_view: 2, a_shift: 1, an_update: 3, an_update_of_a_part: 3, an_out: 2,
        an_out_of_a_part: 1, a_choice: 1, a_copyto: 1, a_use: 2, an_array: 1, an_element: 1,
        a_buffer: 1, a_view_to_read: 1,
    }.items()
    for i in range(times)
}  # fmt: skip


def total(ys):
    return sum([np.sum(np.sin(y) * (k + 1.5)) for k, y in enumerate(ys)])


def trial(seed):
    """Return a program, and where to run it."""
    rng = np.random.default_rng((seed, 1))
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    return Program(seed, 4 + seed % 37), rng.uniform(0.5, 1.5, shape), rng.standard_normal(shape)


def check(seed):
    """Compare values with NumPy, and derivatives in all modes with each other; False if refused."""
    program, x, t = trial(seed)
    with np.errstate(all="ignore"):
        expected = [np.array(y) for y in program(x.copy())]

        def f(x):
            return total(program(x))

        try:
            y, pullback = vjp(f, x)
        except MutationError:  # nobody knows whether NumPy would have copied
            return False
        with Tape(guard="off") as tape:
            values = [getattr(y, "value", y) for y in program(tape.variable(x))]
        assert len(values) == len(expected)
        for value, of_numpy in zip(values, expected, strict=True):
            np.testing.assert_allclose(value, of_numpy, rtol=1e-12, atol=1e-12)
        if not np.isfinite(y) or abs(y) > 1e6:
            return True
        (bar,) = pullback(1.0)
        pushed = jvp(f, (x,), (t,))
        assert pushed[0] == y
        np.testing.assert_allclose(pushed[1], np.sum(bar * t), rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(linearize(f, x)[1](t), pushed[1], rtol=1e-7, atol=1e-7)
    return True


@pytest.mark.parametrize("seed", range(100))
def test_many_names_for_one_memory(seed):
    check(seed)
