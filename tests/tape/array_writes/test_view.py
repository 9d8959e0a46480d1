"""Views of traced arrays: writes are seen through them as NumPy's are, or refused."""

from __future__ import annotations

import gc
import operator
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

from chainrules_py import LinearMap, MutationError, primitive, rule
from chainrules_tape import Tape, grad, jvp, linearize, value_and_grad, vjp

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import counts
finally:
    sys.path.remove(str(ROOT))

RNG = np.random.default_rng(11)
LINE = RNG.uniform(0.5, 1.5, 6)
FLAT = RNG.uniform(0.5, 1.5, (3, 4))


# ------------------------------------------------------------------------------------------ views


def column_by_column(x):
    for column in x.T:
        column -= column.mean()
        column /= np.sqrt((column**2).sum())
    return x


def halves(x):
    left, right = x[:, :2], x[:, 2:]
    left += right
    right *= left
    del left
    return x, right


def chained(x):
    x[0][1] = x[1][2] * 2.0
    x[1:][0][2:] += x[0][:2]
    x[:, 1:][:, :2][0] = 1.5
    return x


def through_reshape(x):
    flat, cube = x.reshape(-1), x.reshape(3, 2, 2)
    flat[::5] = flat[1::5][:3] ** 2
    cube[1] *= 3.0
    cube[:, 0, 1] += flat[:3]
    return x, flat, cube


def through_everything(x):
    y = np.flip(np.expand_dims(x.T, 0), 1)
    y[0, 1] = x[:, 0] * 2.0
    np.squeeze(y)[2:] += 1.0
    np.moveaxis(y, 0, 2)[:, 1] *= 0.5
    np.swapaxes(x, 0, 1)[3] = np.atleast_2d(x)[:, 1]
    x.ravel()[7] = x[0, 0]
    return x, y


def old_values(x):
    kept, row = x[0].copy(), x[0]
    x[0] = row * 3.0
    row[1:3] = kept[:2]
    return kept, row, x


def siblings(x):
    a, b = x[:2], x[1:]
    a[1, 1:] = 2.0 * b[1, 1:]
    b += a
    return a * b


def orphans(x):
    """The array itself is gone; its parts still have elements in common."""
    a, b = (lambda y: (y[:2], y[1:]))(x * 2.0)
    a[1] = b[1] * a[0]
    b[0, 2:] += 1.0
    return a, b


def versions(x):
    """A use before a write has the old derivative, one after it the new one."""
    row, total = x[1], 0.0
    for k in range(3):
        total = total + np.sum(np.sin(row) * x[k])
        row *= 1.5
        x[k] += row
    return total * np.sum(x)


def a_view_of_a_view(x):
    middle = x[1:, 1:3]
    corner = middle[:, 0]
    x[2, 1] = 7.0 * x[0, 0]
    middle[0] = corner * 2.0
    corner += middle[1]
    return corner, x


def split_parts(x):
    top, *rest = np.split(x, 3)
    top += rest[0] * rest[1]
    first, second = np.array_split(x, 2, axis=1)
    second[:] = first[:, ::-1]
    return x


def in_a_loop_that_is_over(x):
    for row in x:
        total = row.sum()
    x += total
    return x * row


def rolled(x):
    y = np.rot90(x)
    y[0] = 0.5
    z = np.roll(x, 1)  # a copy
    x[1] = 3.0
    return x * z, y


def broadcast(x):
    y = np.broadcast_to(x[0], (5, 4))
    x[0] *= 2.0
    return y * 3.0


def parts_of_numbers(x):
    z = x + 1j * x[::-1]
    real = z.real
    z *= 2j
    return np.real(real * z) + z.imag


VIEWS = {
    f.__name__: f
    for f in (
        column_by_column,
        halves,
        chained,
        through_reshape,
        through_everything,
        old_values,
        siblings,
        orphans,
        versions,
        a_view_of_a_view,
        split_parts,
        in_a_loop_that_is_over,
        rolled,
        broadcast,
        parts_of_numbers,
    )
}


def total(ys):
    ys = ys if isinstance(ys, tuple) else (ys,)
    return sum(np.sum(np.sin(y) * (k + 1.5)) for k, y in enumerate(ys))


@pytest.mark.parametrize("name", VIEWS)
def test_views_see_writes_as_those_of_numpy_do(name):
    f = VIEWS[name]

    def program(x):
        return total(f(x * 1.0))

    y, pullback = vjp(program, FLAT)
    assert y == pytest.approx(program(FLAT), rel=1e-13)
    (bar,) = pullback(1.0)
    h, steps = 1e-3, (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    numeric = np.zeros_like(FLAT)
    for i in np.ndindex(FLAT.shape):
        e = np.zeros_like(FLAT)
        e[i] = h
        at = [program(FLAT + k * e) - program(FLAT - k * e) for k in range(1, 5)]
        numeric[i] = np.dot(steps, at) / h
    np.testing.assert_allclose(bar, numeric, rtol=1e-5, atol=1e-5)
    t = RNG.standard_normal(FLAT.shape)
    pushed = jvp(program, (FLAT,), (t,))
    assert pushed[0] == y
    assert pushed[1] == pytest.approx(np.sum(bar * t), rel=1e-10)
    assert linearize(program, FLAT)[1](t) == pytest.approx(pushed[1], rel=1e-10)
    _, bend = jvp(grad(program), (FLAT,), (t,))
    again = grad(lambda x: np.sum(grad(program)(x) * t))(FLAT)
    np.testing.assert_allclose(bend, again, rtol=1e-9, atol=1e-9)
    with Tape(differentiable=True) as tape:
        x = tape.variable(FLAT, "x")
        slope = tape.grad(program(x), x)
        (curved,) = tape.grad(np.sum(slope * t), [x])
    np.testing.assert_allclose(slope.value, bar, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(curved.value, bend, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("part", [lambda x: x.real, np.real, lambda x: x[:].real])
def test_the_real_part_of_a_real_argument_is_written_to(part):
    def program(x):
        real = part(x)
        real[0] = 7.0 * x[1]
        return np.sum(x * x)

    np.testing.assert_array_equal(grad(program)(np.arange(3.0)), [0.0, 100.0, 4.0])


def somewhere(shape, rng):
    """A basic index."""
    parts = []
    for n in shape:
        kind = rng.integers(0, 5)
        start, stop = sorted(rng.integers(0, n + 1, 2))
        step = int(rng.choice([1, 1, 2]))
        one = int(rng.integers(-n, n)) if kind == 0 else slice(None, None, -1)
        parts.append(one if kind < 2 else slice(int(start), int(stop), step))
    parts += [None] * int(rng.integers(0, 6) == 0)
    return tuple(parts if rng.integers(0, 5) else parts[:1])


def random_program(x, seed, steps):
    """Views of views, reads and writes, of a few arrays that have names."""
    rng = np.random.default_rng(seed)
    live, found = [x * 1.0, x.T * 2.0], 0.0
    for _ in range(steps):
        a, b = (live[int(rng.integers(0, len(live)))] for _ in range(2))
        where, c, kind = somewhere(a.shape, rng), float(rng.uniform(0.5, 1.5)), rng.integers(0, 20)
        if kind < 5:
            live.append(a[where])
        elif kind < 9:
            makers = (np.transpose, np.ravel, np.flip, np.real, np.copy, np.atleast_2d)
            live.append(makers[int(rng.integers(0, 6))](a))
        elif kind == 9:
            live.append(a.reshape(-1) if a.size % 2 else a.reshape(2, -1))
        elif kind < 12:
            part = a[where]
            a[where] = np.sum(b) * 0.1 if kind == 10 or not np.ndim(part) else part[..., ::-1] * c
        elif kind < 14:
            a[where] *= c
        elif kind < 16:
            a += np.sum(b) * 0.01
        elif kind == 16:
            a[np.arange(a.size).reshape(a.shape) % 3 == 1] = c
        elif kind == 17 and b.shape == a.shape:
            a[...] = np.cos(b)
        elif len(live) > 2:
            found = found + np.sum(np.sin(live.pop(int(rng.integers(0, len(live))))))
        live = [a for a in live if np.ndim(a) and a.size][-8:]
    return found + total(tuple(live))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_do_what_numpy_does(seed):
    def program(x):
        return random_program(x, seed, 5 + seed // 2)

    try:
        y, pullback = vjp(program, FLAT)
    except MutationError:  # a view of what was copied meanwhile was reshaped, and written to
        return
    assert y == pytest.approx(program(FLAT.copy()), rel=1e-12)
    t, h = RNG.standard_normal(FLAT.shape), 1e-5
    numeric = (program(FLAT + h * t) - program(FLAT - h * t)) / (2 * h)
    (bar,) = pullback(1.0)
    assert np.sum(bar * t) == pytest.approx(numeric, rel=1e-5, abs=1e-4)
    pushed = jvp(program, (FLAT,), (t,))
    assert pushed[0] == y
    assert pushed[1] == pytest.approx(np.sum(bar * t), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("parts", [list, lambda y: [y[i : i + 2] for i in range(len(y) - 1)]])
def test_a_write_to_one_of_many_views_costs_as_much_as_to_one_of_few(parts):
    """A view that is outdated already costs a write nothing, until it is read again."""

    def program(x):
        y = x.copy()
        for part in parts(y):
            part *= 2.0
        return np.sum(y * y)

    def cost(n):
        x = np.ones((n, 3))
        return counts.instructions(lambda: grad(program)(x))

    cost(4)
    assert cost(160) <= 4.5 * cost(40)
    x = RNG.uniform(0.5, 1.5, (6, 3))
    h = 1e-6 * np.ones_like(x)
    truth = (program(x + h) - program(x - h)) / 2e-6
    assert np.sum(grad(program)(x)) == pytest.approx(truth, rel=1e-8)


def test_a_view_that_is_read_again_sees_each_later_write():
    """Also a view of a view whose layout is not known, which is read again with its parent."""

    def program(x):
        y = x * 1.0
        y[0, 0] = 2.0
        column, total = y[:, 1], 0.0
        top = column[:3]
        for k in range(4):
            top[k % 3] = total + y[0, 0]
            y[1] *= top[1]
            total = total + np.sum(column) * np.sum(top)
        return total + np.sum(y)

    x = np.vstack([FLAT, FLAT])
    h = 1e-6 * np.ones_like(x)
    value, slope = value_and_grad(program)(x)
    assert value == pytest.approx(program(x), rel=1e-13)
    assert np.sum(slope) == pytest.approx((program(x + h) - program(x - h)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("end", [None, 2])
def test_a_column_that_is_raveled_is_a_copy_as_in_numpy(end):
    """NumPy's ravel of a column is a copy; its reshape is a view."""

    def program(x, read):
        y = np.stack([x[:end], x[:end] ** 2])[0]
        y[0] *= 1.5
        for k in range(3):
            column = read(y[:, k])
            y[:, k] -= column.mean()
            y[:, k] /= np.sqrt(np.sum(column**2))
            y += column.sum()
        return np.sum(y**3)

    with pytest.raises(MutationError, match=r"ravel or reshape.* c = A\[:, k\].ravel\(\).copy\(\)"):
        grad(lambda x: program(x, lambda y: y.reshape(-1)))(FLAT)
    h = 1e-6 * FLAT**2
    truth = (program(FLAT + h, np.ravel) - program(FLAT - h, np.ravel)) / 2
    copied, part = lambda y: y.ravel().copy(), lambda y: y[::-1][::-1].ravel("F")
    for read in (copied, lambda y: y.flatten(), np.ravel, lambda y: y.ravel(), part):
        value, slope = value_and_grad(lambda x, read=read: program(x, read))(FLAT)
        assert value == pytest.approx(program(FLAT, read), rel=1e-14)
        assert np.sum(slope * h) == pytest.approx(truth, rel=1e-6)


COPIES = {
    "copy": lambda y: y[0].copy(),
    "astype": lambda y: y.astype(float),
    "np.copy": np.copy,
    "places": lambda y: y[[0, 1]],
    "mask": lambda y: y[y > 0],
    "flatten": lambda y: y.flatten(),
    "ravel of a column": lambda y: y[:, 1:2].ravel(),
    "full_like": lambda y: np.full_like(y, y[0]),
    "full_like, of what is there": lambda y: np.full_like(y, y),
    "meshgrid": lambda y: np.meshgrid(y[0], y[1])[0],
    "tile": lambda y: np.tile(y, 1),
    "concatenate": lambda y: np.concatenate([y]),
    "roll": lambda y: np.roll(y, 0),
    "array": lambda y: np.array(y, like=y),
    "sum of nothing": lambda y: y.sum(axis=()),
}


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_no_view(name):
    def f(x):
        y = x * 1.0
        kept = COPIES[name](y)
        y *= 2.0
        kept += 1.0
        return np.sum(y) + 3.0 * np.sum(kept)

    assert vjp(f, FLAT)[0] == pytest.approx(f(FLAT), rel=1e-14)
    h, t = 1e-6, np.ones_like(FLAT)
    numeric = (f(FLAT + h * t) - f(FLAT - h * t)) / (2 * h)
    assert np.sum(grad(f)(FLAT)) == pytest.approx(numeric, rel=1e-8)


def test_a_copy_that_was_made_of_a_view_stays_as_it_was():
    def f(x):
        y = x * 1.0
        row = y[0]
        kept, grid = np.full_like(y, row), np.meshgrid(row, y[1])[0]
        row += 1.0
        kept[0] *= 2.0
        grid += kept.sum()
        return np.sum(np.sin(kept)) + np.sum(np.cos(grid)) + np.sum(y)

    assert vjp(f, FLAT)[0] == pytest.approx(f(FLAT), rel=1e-14)
    h, t = 1e-6, RNG.standard_normal(FLAT.shape)
    numeric = (f(FLAT + h * t) - f(FLAT - h * t)) / (2 * h)
    assert np.sum(grad(f)(FLAT) * t) == pytest.approx(numeric, rel=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda z: operator.iadd(z.real, 1.0),
        lambda z: operator.setitem(z.imag, 0, 1.0),
        lambda z: operator.setitem(z[1:].real, 0, 1.0),
    ],
)
def test_parts_of_complex_numbers_are_not_written_to(f):
    with pytest.raises(MutationError, match=r"y = y\.copy\(\).* as in z\[0\] = x"):
        grad(lambda x: f(x * (1.0 + 1j)))(LINE)


def test_what_broadcasting_gives_is_not_written_to():
    for write in (lambda y: operator.setitem(y, 0, 1.0), lambda y: operator.iadd(y, 1.0)):
        with pytest.raises(ValueError, match="read-only"):
            write(np.broadcast_to(LINE, (3, 6)))
        with pytest.raises(ValueError, match="read-only"):
            grad(lambda x, w=write: w(np.broadcast_to(x, (3, 6))))(LINE)


@pytest.mark.parametrize("inner", [grad, lambda f: lambda s: jvp(f, (s,), (1.0,))[1]])
def test_a_part_of_what_was_written_to_is_written_to_in_a_nested_derivative(inner):
    def f(s, k):
        y = LINE * s
        np.negative(y, out=y)
        y[1:] *= k
        return np.sum(y)

    slope = grad(lambda k: inner(lambda s: f(s, k))(1.0))(1.3)
    assert np.isclose(slope, -np.sum(LINE[1:]))


def test_where_nobody_knows_whether_numpy_would_have_copied_it_is_said():
    """A column of what is being written to has memory of its own here, and in NumPy it has not."""

    def parts(x):
        y = x * 1.0
        y[0, 0] = 2.0
        column = y[:, 1:2]
        return y, column, column.reshape(-1)

    def written_to(x):
        _, _, flat = parts(x)
        flat[0] = 0.0

    def used_after(x):
        _, column, flat = parts(x)
        column[0] = 0.0
        return np.sum(flat)

    assert grad(lambda x: np.sum(parts(x)[2]))(FLAT).tolist() == [[0.0, 1, 0, 0]] * 3
    for program in (written_to, used_after):
        with pytest.raises(MutationError, match=r"\.copy\(\)"):
            grad(program)(FLAT)


@primitive
def swapped(x, y):
    return y, x[::-1]


@rule(swapped)
def swapped_rule(x, y):
    back = LinearMap(lambda t: (0.0 * t, t[::-1]), lambda bar: bar[1][::-1])
    return (y, x[::-1]), (back, LinearMap(lambda t: (t, 0.0 * t), lambda bar: bar[0]))


@pytest.mark.parametrize("door", [lambda f, x: grad(f)(x), lambda f, x: jvp(f, (x,), (x,))])
@pytest.mark.parametrize("written", [0, 1])
def test_each_result_of_a_users_function_may_be_a_view_of_an_operand(door, written):
    def f(x):
        arrays = [x * 2.0, x * 3.0]
        results = swapped(*arrays)
        arrays[written] *= 2.0
        return np.sum(results[1 - written])

    with pytest.raises(MutationError, match="of which swapped gave a part"):
        door(f, LINE)


def test_windows_see_what_is_written():
    """NumPy's are views that cannot be written to themselves."""
    windows = np.lib.stride_tricks.sliding_window_view

    def f(x):
        x = x * 1.0
        parts = windows(x, 2)
        before = np.sum(parts**2)
        x[0] = 5.0 * x[1]
        return before + np.sum(parts**3)

    value, x_bar = value_and_grad(f)(LINE)
    assert value == f(LINE)
    v, h = RNG.normal(size=LINE.shape), 1e-6
    slope = (f(LINE + h * v) - f(LINE - h * v)) / (2 * h)
    np.testing.assert_allclose([x_bar @ v, jvp(f, (LINE,), (v,))[1]], slope, rtol=1e-7)

    def written(x):
        parts = windows(x * 1.0, 2)
        parts[0] = 0.0
        return np.sum(parts)

    with pytest.raises(ValueError, match="read-only"):
        grad(written)(LINE)


def test_views_of_views_of_views():
    def f(x):
        y = x * 1.0
        rest = y
        while len(rest) > 1:
            rest = rest[1:]
        y[-1] = y[0] * 2.0
        rest += y[1]
        return rest[0] * y[-1]

    x = np.ones(1200)
    bar = grad(f)(x)
    assert (bar[0], bar[1], np.count_nonzero(bar)) == (12.0, 6.0, 2)
    assert jvp(f, (x,), (x,))[1] == 18.0


def test_views_are_forgotten_and_make_no_cycles():
    gc.collect()
    gc.disable()
    try:
        kept = []

        def f(x):
            y = x * 1.0
            for i in range(100):
                row = y[i % 3]
                row += 1.0
            kept.extend([weakref.ref(y), weakref.ref(row)])
            assert len(y.as_view.children) < 40
            return np.sum(y)

        grad(f)(FLAT)
        assert [reference() for reference in kept] == [None, None]
    finally:
        gc.enable()


# -------------------------------------------------------------------------- the order in memory


ORDERS = {
    "full_like": lambda y: np.full_like(y, 2.0),
    "full_like in C order": lambda y: np.full_like(y, 2.0, order="C"),
    "astype": lambda y: y.astype(float),
    "astype in C order": lambda y: y.astype(float, order="C"),
    "copy": lambda y: y.copy(),
    "copy in order K": lambda y: y.copy("K"),
    "np.copy": lambda y: np.copy(y),
    "np.copy in order A": lambda y: np.copy(y, "A"),
    "np.array": lambda y: np.array(y),
    "vectorize": lambda y: np.vectorize(lambda element: 2.0 * element)(y),
    "zeros_like of a shape": lambda y: np.zeros_like(y, shape=(4, 3, 2)),
    "full_like of a shape": lambda y: np.full_like(y, 3.0, shape=(4, 3, 2)),
    "a product of gradient's": lambda y: np.gradient(y * y, axis=0) * 2.0,
    "a product of select's": lambda y: np.select([y > 3.5], [y], 0.0) * 2.0,
}


@pytest.mark.parametrize("turn", [(2, 1, 0), (1, 0, 2), (0, 2, 1), (0, 1, 2)])
@pytest.mark.parametrize("name", ORDERS)
def test_a_copy_is_laid_out_as_numpy_lays_it_out(name, turn):
    def written(x):
        y = ORDERS[name](x.transpose(turn))
        y.reshape(-1)[1] = 5.0 * x[0, 0, 0]
        return np.sum(y * y)

    x = np.arange(24.0).reshape(2, 3, 4) + 1.0
    value, slope = value_and_grad(written)(x)
    assert value == written(x)
    assert np.sum(slope * x) == pytest.approx(jvp(written, (x,), (x,))[1])
    step = 1e-6 * np.ones_like(x)
    assert np.sum(slope * 1e-6) == pytest.approx((written(x + step) - written(x - step)) / 2)


LAID_OUT = {
    "delete": lambda x: np.delete(x, [0], axis=1),
    "delete a slice": lambda x: np.delete(x, slice(0, 1), axis=1),
    "compress": lambda x: np.compress([1, 0, 1], x, axis=1),
    "unique": lambda x: np.unique(x, axis=1),
    "cross": lambda x: np.cross(x, x[::-1] + 1.0, axis=0),
    "cross with the axis of the result": lambda x: np.cross(x, x[::-1] + 1.0, axisc=0),
    "einsum in Fortran order": lambda x: np.einsum("ij,jk->ik", x, x, order="F"),
    "einsum in C order": lambda x: np.einsum("ij,jk->ki", x, x, order="C"),
    "einsum of one": lambda x: np.einsum("ij->ji", x + 0.0, order="C"),
    "pad": lambda x: np.pad(x, 1, mode="wrap"),
    "pad beyond": lambda x: np.pad(x, ((4, 0), (1, 7)), mode="wrap"),
    "pad by nothing": lambda x: np.pad(x, 0, mode="edge"),
    "astype of a column": lambda x: x[:, 1].astype(float),
    "astype of reversed rows": lambda x: x[::-1].astype(float),
    "filled alike": lambda x: np.full_like(x[0, ::-1], x[1]),
}


@pytest.mark.parametrize("name", LAID_OUT)
def test_a_write_by_a_reshape_is_the_write_of_the_program_or_raises(name):
    def written(x):
        y = LAID_OUT[name](x)
        y.ravel()[0] = 50.0
        return np.sum(y * y) + np.sum(x * x)

    x = np.arange(9.0).reshape(3, 3) + 1.0
    h = 1e-6 * np.ones_like(x)
    truth = (written(x + h) - written(x - h)) / 2e-6
    if name.startswith(("unique", "cross")):
        with pytest.raises(MutationError, match="whose order in memory may be another"):
            value_and_grad(written)(x)
        return
    value, slope = value_and_grad(written)(x)
    assert value == written(x)
    assert np.sum(slope) == pytest.approx(truth)


COMPOSED = {
    "full_like": lambda y: np.full_like(y, y[0, 0]),
    "delete": lambda y: np.delete(y, 0, 0),
    "insert": lambda y: np.insert(y, 0, 1.0, 0),
    "select": lambda y: np.select([y > 3], [y], 0.0),
    "compress": lambda y: np.compress([True, False, True], y, 0),
    "quantile": lambda y: np.quantile(np.stack([y, y]), 0.5, axis=0),
    "gradient": lambda y: np.gradient(y, axis=0),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_a_write_through_what_numpy_may_lay_out_otherwise_is_refused(name):
    def written(x, y):
        z = COMPOSED[name](y)
        z.reshape(-1)[0] = 5.0 * x[0, 0]
        return np.sum(z)

    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(MutationError, match="whose order in memory may be another"):
        grad(lambda x: written(x, x.T))(x)
    x = np.arange(9.0).reshape(3, 3)
    assert value_and_grad(lambda x: written(x, x))(x)[0] == written(x, x)


SPREAD = {
    "copy in order K": lambda y: y.copy("K"),
    "insert": lambda y: np.insert(y, 0, 1.0, 0),
}


@pytest.mark.parametrize("name", SPREAD)
def test_a_write_through_a_copy_of_a_broadcast_array_is_refused(name):
    """NumPy puts the axes along which it repeats innermost."""

    def written(x):
        z = SPREAD[name](np.broadcast_to(x * 1.0, (4, 3)))
        z.reshape(-1)[0] = 5.0
        return np.sum(z)

    with pytest.raises(MutationError, match="whose order in memory may be another"):
        grad(written)(np.ones(3))


def test_a_copy_of_a_view_that_was_written_to_by_indices_is_in_an_order_that_is_not_known():
    def written(x):
        y = np.sin(x)[1:]
        y[[0, 0]] = y[[0, 0]] * 1.2
        z = y.copy("K")
        z.ravel()[0] = 0.0
        return np.sum(z**2)

    with pytest.raises(MutationError, match="whose order in memory may be another"):
        grad(written)(np.asfortranarray(np.arange(1.0, 9.0).reshape(2, 2, 2)))


SHARING = {
    "asarray": np.asarray,
    "asanyarray": np.asanyarray,
    "ascontiguousarray": np.ascontiguousarray,
    "a copy if needed": lambda y: np.array(y, copy=None),
    "require": lambda y: np.require(y, requirements="C"),
    "a part": lambda y: np.asarray(y)[1:],
    "of a view": lambda y: np.asarray(y[1:]),
}
WRITES = {
    "element": lambda y: y.__setitem__(1, 5.0),
    "sum": lambda y: y.__iadd__(1.0),
    "by a view": lambda y: y[1:].__imul__(2.0),
}


@pytest.mark.parametrize("name", SHARING)
@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_what_asarray_gave_would_show_is_refused(name, write):
    def written(x):
        y = x * 2.0
        first = SHARING[name](y)
        WRITES[write](y)
        return np.sum(first)

    with pytest.raises(MutationError, match="asarray gave the elements"):
        grad(written)(np.arange(3.0))
    with pytest.raises(MutationError, match="asarray gave the elements"):
        jvp(written, (np.arange(3.0),), (np.ones(3),))


@pytest.mark.parametrize(
    "part", [lambda y: y[:, 0], lambda y: y[::2], lambda y: y.T, lambda y: y[::-1].T[:1]]
)
@pytest.mark.parametrize("made", [np.array, np.ascontiguousarray, np.asfortranarray])
def test_what_numpy_copies_to_be_without_gaps_is_written_to(made, part):
    x = np.arange(1.0, 9.0).reshape(4, 2)
    copies = not np.shares_memory(made(part(x)), x)

    def f(x):
        y = made(part(x))
        if copies:
            y.ravel()[:1] = 0.0
        return np.sum(y * part(x))

    steps = 1e-6 * np.eye(8).reshape(8, 4, 2)
    truth = [(f(x + e) - f(x - e)) / 2e-6 for e in steps]
    for slope in (grad(f)(x), vjp(f, x)[1](1.0)[0]):
        np.testing.assert_allclose(np.ravel(slope), truth, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("made", [np.asarray, np.asanyarray, np.ascontiguousarray])
def test_what_asarray_gives_of_an_array_without_axes_is_not_written_to(made):
    def f(x):
        y = made(x)
        y *= 3.0
        return x * x

    point = np.array(2.0)
    assert np.shares_memory(point, made(point))
    with pytest.raises(MutationError, match="copy"):
        grad(f)(point)
    assert grad(lambda x: np.sum(np.asarray(x) * np.array([x, 1.0])))(point) == 5.0


@pytest.mark.parametrize("write", WRITES)
def test_a_write_after_the_last_use_of_what_asarray_gave_is_seen(write):
    def written(x):
        y = x * 2.0
        total = np.sum(np.asarray(y)) + np.sum(np.array(y)) + np.asarray(y).max()
        kept = np.array(y)
        WRITES[write](y)
        return total + np.sum(y * kept)

    x = np.array([1.0, 3.0, 2.0])
    value, slope = value_and_grad(written)(x)
    assert value == written(x)
    assert jvp(written, (x,), (x,))[1] == pytest.approx(slope @ x)
    for step in 1e-6 * np.eye(3):
        difference = (written(x + step) - written(x - step)) / 2
        assert slope @ step == pytest.approx(difference, rel=1e-6)
