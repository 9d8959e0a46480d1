"""Writing in place: whole programs, against the same programs written without it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from chainrules_py import TracerError
from chainrules_tape import Tape, grad, hessian, hvp, jacobian, jvp, linearize, value_and_grad

RNG = np.random.default_rng(11)
LINE = RNG.uniform(0.5, 1.5, 6)
FLAT = RNG.uniform(0.5, 1.5, (3, 4))
SQUARE = RNG.uniform(0.5, 1.5, (4, 4)) + 4 * np.eye(4)
W = RNG.standard_normal((4, 4)) / 2


def differences(f, x, h=1e-3):
    """The gradient of a function of an array, element by element, to the eighth order."""
    bars = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = h
        steps = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
        bars[i] = sum(c * (f(x + k * e) - f(x - k * e)) for k, c in enumerate(steps, 1)) / h
    return bars


# --------------------------------------------------------- programs, as written and without writes


def fill(x):
    buffer = np.zeros(6, like=x)
    for i in range(6):
        buffer[i] = np.sin(x[i]) * x[i - 1]
    return np.sum(buffer * buffer)


def fill_plain(x):
    y = np.sin(x) * np.roll(x, 1)
    return np.sum(y * y)


def recursion(x):
    u = np.empty_like(x)
    u[0] = x[0]
    for i in range(1, len(x)):
        u[i] = np.tanh(u[i - 1]) * x[i] + u[0]
    return np.sum(u * u)


def recursion_plain(x):
    u = [x[0]]
    for i in range(1, 6):
        u.append(np.tanh(u[-1]) * x[i] + u[0])
    return sum(a * a for a in u)


def states(x):
    h = np.zeros((4, 4), like=x)
    h[0] = x[0]
    for t in range(3):
        h[t + 1] = np.tanh(W @ h[t]) + x[t]
    return np.sum(h**2) + np.sum(h[2] * h[1])


def states_plain(x):
    h = [x[0]]
    for t in range(3):
        h.append(np.tanh(W @ h[-1]) + x[t])
    return sum(np.sum(a**2) for a in h) + np.sum(h[2] * h[1])


def heat(x):
    u = x * x
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = u[-1] = u[1] * 0.5
    return np.sum(u * np.arange(6.0))


def heat_plain(x):
    u = x * x
    for _ in range(3):
        inner = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        end = inner[:1] * 0.5
        u = np.concatenate((end, inner, end))
    return np.sum(u * np.arange(6.0))


def elimination(a):
    a = a.copy()
    b = a[:, 0] * 2.0
    for k in range(4):
        for i in range(k + 1, 4):
            factor = a[i, k] / a[k, k]
            a[i, k:] -= factor * a[k, k:]
            b[i] -= factor * b[k]
    y = np.zeros_like(b)
    for i in range(3, -1, -1):
        y[i] = (b[i] - a[i, i + 1 :] @ y[i + 1 :]) / a[i, i]
    return np.sum(y**2 + np.sin(y)) + a[3, 3]


def elimination_plain(a):
    y = np.linalg.solve(a, a[:, 0] * 2.0)
    return np.sum(y**2 + np.sin(y)) + 1.0 / np.linalg.solve(a, np.eye(4)[3])[3]


def before_and_after(x):
    y = x * 2.0
    before = np.sum(y * y)
    y[1:3] = np.sin(x[:2])
    between = np.sum(y**3)
    y *= x
    y[0] = 7.0
    return before + between + np.sum(y * y)


def before_and_after_plain(x):
    y = x * 2.0
    before = np.sum(y * y)
    y = np.concatenate((y[:1], np.sin(x[:2]), y[3:]))
    between = np.sum(y**3)
    y = np.concatenate((np.array([7.0]), (y * x)[1:]))
    return before + between + np.sum(y * y)


def mask(x):
    y = x * x
    y[y > 1.1] = 0.5
    y[x < 0.8] *= 3.0
    y[np.array([True, False, True, False, False, False])] = x[:2] * x[2:4]
    return np.sum(y * np.arange(1.0, 7.0))


def mask_plain(x):
    y = np.where(x * x > 1.1, 0.5, x * x)
    y = np.where(x < 0.8, 3.0 * y, y)
    y = np.concatenate(
        (x[:1] * x[2:3], y[1:2], x[1:2] * x[3:4], y[3:]),
    )
    return np.sum(y * np.arange(1.0, 7.0))


def places(x):
    y = x**2
    y[[0, 3]] = y[[3, 0]]
    y[np.array([5, 1])] += x[:2]
    y[1:] = y[:-1]
    y[::2] -= y[1::2]
    return np.sum(y * np.arange(1.0, 7.0))


def places_plain(x):
    y = x**2
    y = np.stack([y[3], y[1] + x[1], y[2], y[0], y[4], y[5] + x[0]])
    y = np.stack([y[0], y[0], y[1], y[2], y[3], y[4]])
    y = np.stack([y[0] - y[1], y[1], y[2] - y[3], y[3], y[4] - y[5], y[5]])
    return np.sum(y * np.arange(1.0, 7.0))


def repeated(x):
    y = x + 0.0
    y[[1, 2, 1, -5]] = x[2:] * np.array([1.0, 2.0, 3.0, 4.0])
    y[np.array([0, 0])] = x[0] * x[1]
    return np.sum(y * np.arange(1.0, 7.0))


def repeated_plain(x):
    y = np.stack([x[0] * x[1], 4.0 * x[5], 2.0 * x[3], x[3], x[4], x[5]])
    return np.sum(y * np.arange(1.0, 7.0))


def written_argument(x):
    x += 1.0
    x[0] = x[1] * x[2]
    x /= x[5]
    return np.sum(np.exp(x))


def written_argument_plain(x):
    y = x + 1.0
    y = np.concatenate((y[1:2] * y[2:3], y[1:])) / y[5]
    return np.sum(np.exp(y))


def rows(x):
    y = x * 1.0
    y[1] = y[0] * y[2]
    y[:, 1] = y[:, 0] + y[1, :3]
    y[2, ::2] = [x[0, 0] * 2.0, x[1, 1]]
    y[:2, 2:] *= x[:2, :1]
    y[...] = y + x[2]
    return np.sum(y**2)


def rows_plain(x):
    a, b, c = x[0], x[0] * x[2], x[2]
    y = np.stack([a, b, c])
    y = np.concatenate((y[:, :1], (y[:, 0] + y[1][:3])[:, None], y[:, 2:]), axis=1)
    last = np.stack([x[0, 0] * 2.0, y[2, 1], x[1, 1], y[2, 3]])
    top = np.concatenate((y[:2, :2], y[:2, 2:] * x[:2, :1]), axis=1)
    y = np.concatenate((top, last[None]), axis=0) + x[2]
    return np.sum(y**2)


def exchanges(x):
    """A sorting network: comparisons of values, and both elements written at once."""
    y = x * x
    for i in range(6):
        for j in range(5 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return np.sum(y * np.arange(1.0, 7.0) ** 2)


def exchanges_plain(x):
    return np.sum(np.sort(x * x) * np.arange(1.0, 7.0) ** 2)


def of_a_matrix(a):
    """Cholesky, by the book."""
    low = np.zeros_like(a)
    a = a @ a.T
    for j in range(4):
        low[j, j] = np.sqrt(a[j, j] - np.sum(low[j, :j] ** 2))
        for i in range(j + 1, 4):
            low[i, j] = (a[i, j] - low[i, :j] @ low[j, :j]) / low[j, j]
    return np.sum(low * W)


def of_a_matrix_plain(a):
    return np.sum(np.linalg.cholesky(a @ a.T) * W)


def all_operators(x):
    y = x * 2.0
    y += x
    y -= 0.5
    y *= x[::-1]
    y /= x + 1.0
    y **= 2
    y @= np.eye(6) + 0.1
    y %= 50.0
    return np.sum(np.sin(y))


def all_operators_plain(x):
    y = x * 2.0 + x - 0.5
    y = (y * x[::-1] / (x + 1.0)) ** 2
    return np.sum(np.sin(y @ (np.eye(6) + 0.1) % 50.0))


def constants_over(x):
    """What is written over by a constant keeps no derivative, and gets one again after."""
    y = x * x
    y[:] = 2.0
    y[2] = x[0]
    y //= 0.3
    y[1] = x[3]
    return np.sum(y * x)


def constants_over_plain(x):
    y = np.where(np.arange(6) == 2, x[0] // 0.3, 2.0 // 0.3)
    y = np.where(np.arange(6) == 1, x[3], y)
    return np.sum(y * x)


PROGRAMS = {
    "fill": (fill, fill_plain, LINE),
    "recursion": (recursion, recursion_plain, LINE),
    "states": (states, states_plain, FLAT),
    "heat": (heat, heat_plain, LINE),
    "elimination": (elimination, elimination_plain, SQUARE),
    "before and after": (before_and_after, before_and_after_plain, LINE),
    "mask": (mask, mask_plain, LINE),
    "places": (places, places_plain, LINE),
    "repeated places": (repeated, repeated_plain, LINE),
    "argument": (written_argument, written_argument_plain, LINE),
    "rows": (rows, rows_plain, FLAT),
    "exchanges": (exchanges, exchanges_plain, LINE),
    "matrix": (of_a_matrix, of_a_matrix_plain, SQUARE),
    "operators": (all_operators, all_operators_plain, LINE),
    "constants over": (constants_over, constants_over_plain, LINE),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_derivatives(name):
    f, plain, x = PROGRAMS[name]
    given = x.copy()
    y, bar = value_and_grad(f)(x)
    assert np.array_equal(x, given)
    assert x.flags.writeable
    assert y == pytest.approx(f(x.copy()), rel=1e-15)
    expected = grad(plain)(x)
    np.testing.assert_allclose(bar, expected, rtol=1e-9, atol=1e-12)
    numeric = differences(lambda x: f(x.copy()), x)
    np.testing.assert_allclose(bar, numeric, rtol=1e-7, atol=1e-7)
    t = RNG.standard_normal(x.shape)
    pushed = jvp(f, (x,), (t,))
    assert pushed[0] == y
    assert pushed[1] == pytest.approx(np.sum(expected * t), rel=1e-10)
    assert np.array_equal(x, given)


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_derivatives(name):
    f, plain, x = PROGRAMS[name]
    t = RNG.standard_normal(x.shape)
    expected = jvp(grad(plain), (x,), (t,))[1]
    close = {"rtol": 1e-8, "atol": 1e-10}
    np.testing.assert_allclose(jvp(grad(f), (x,), (t,))[1], expected, **close)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(f)(x) * t))(x), expected, **close)
    np.testing.assert_allclose(grad(lambda x: jvp(f, (x,), (t,))[1])(x), expected, **close)
    twice = jvp(lambda x: jvp(f, (x,), (t,))[1], (x,), (t,))[1]
    assert twice == pytest.approx(np.sum(expected * t), rel=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
def test_many_directions_at_once(name):
    f, plain, x = PROGRAMS[name]
    expected = hessian(plain)(x)
    np.testing.assert_allclose(hessian(f)(x), expected, rtol=1e-8, atol=1e-9)
    t = RNG.standard_normal(x.shape)
    pushed = linearize(f, x)[1](t)
    assert pushed == pytest.approx(np.sum(grad(plain)(x) * t), rel=1e-10)
    (bend,) = hvp(f, (x,), (t,))
    np.testing.assert_allclose(bend, jvp(grad(plain), (x,), (t,))[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
def test_jacobians(mode):
    def f(x):
        y = x * 1.0
        y[0] = y[1] * x[0]
        y[1:] *= 2.0
        y[[3, 4, 3]] = x[:3] * x[3]
        y[y > 2.5] = x[5]
        return y * y.sum()

    expected = np.stack([differences(lambda x, i=i: f(x.copy())[i], LINE) for i in range(6)])
    np.testing.assert_allclose(jacobian(f, mode=mode)(LINE), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", PROGRAMS)
def test_on_a_tape_that_is_differentiated_again(name):
    f, plain, x = PROGRAMS[name]
    with Tape(differentiable=True) as tape:
        a = tape.variable(x, "a")
        b = a * 1.0 if name == "argument" else a
        slope = tape.grad(f(b), a)
        bend = tape.grad(np.sum(slope * slope), a)
    expected = grad(plain)(x)
    np.testing.assert_allclose(slope.value, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        bend.value, 2 * jvp(grad(plain), (x,), (expected,))[1], rtol=1e-8, atol=1e-10
    )


OVERLAPS = {
    "a row from a column": (lambda M: M[1], lambda M: M[:, 2]),
    "a column from a row": (lambda M: M[:, 2], lambda M: M[1]),
    "every other element": (lambda M: M.reshape(-1)[:9:2], lambda M: M.reshape(-1)[:5]),
    "steps of one length": (lambda M: M.reshape(-1)[1:], lambda M: M.reshape(-1)[:-1]),
    "backwards": (lambda M: M.reshape(-1)[:], lambda M: M.reshape(-1)[::-1]),
    "turned": (lambda M: M[:], lambda M: M.T),
}


@pytest.mark.parametrize("of, source", OVERLAPS.values(), ids=list(OVERLAPS))
def test_what_overlaps_is_read_before_it_is_written(of, source):
    """As NumPy says of ``out=``; of one axis in two steps, NumPy 2.4 overwrites what it reads."""
    weights = np.arange(9.0).reshape(3, 3) + 1.0

    def written(M, source):
        M = M * 1.0
        of(M)[...] = source(M)
        return np.sum(M * weights)

    M, copied = np.arange(9.0).reshape(3, 3) + 0.5, lambda M: source(M).copy()
    value, slope = value_and_grad(lambda M: written(M, source))(M)
    assert value == written(M, copied)
    np.testing.assert_array_equal(slope, grad(lambda M: written(M, copied))(M))
    assert jvp(lambda M: written(M, source), (M,), (M,)) == (value, np.sum(slope * M))


# ------------------------------------------------------------------------- parts that are exchanged


@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_numbers_are_shuffled_in_place_as_numpy_does_it():
    def shuffled(x):
        y = x * x
        np.random.default_rng(3).shuffle(y)
        return np.sum(y * np.arange(6.0))

    order = np.arange(6)
    np.random.default_rng(3).shuffle(order)
    weights = np.zeros(6)
    weights[order] = np.arange(6.0)
    np.testing.assert_allclose(grad(shuffled)(LINE), 2 * LINE * weights, rtol=1e-14)


@pytest.mark.parametrize("derivative", [grad, lambda f: lambda x: jvp(f, (x,), (x,))])
def test_rows_that_would_be_duplicated_are_not_exchanged(derivative):
    def exchanged(x):
        y = x * 1.0
        y[0], y[1] = y[1], y[0]
        return np.sum(y[0])

    write = re.escape("use x[i], x[j] = np.copy(x[j]), np.copy(x[i])")
    with pytest.raises(TracerError, match=write):
        derivative(exchanged)(FLAT)

    def as_it_says(x):
        y = x * 1.0
        y[0], y[1] = np.copy(y[1]), np.copy(y[0])
        y[:, :2], y[:, 2:] = np.copy(y[:, 2:]), np.copy(y[:, :2])
        return np.sum(y[0] ** 2) + np.sum(y[1, :2] ** 3)

    slope = differences(as_it_says, FLAT)
    np.testing.assert_allclose(grad(as_it_says)(FLAT), slope, rtol=1e-9, atol=1e-9)


def test_rows_are_copied_forth_and_back():
    def copied(x):
        y = x * 1.0
        y[0] = y[1]
        y[1] = y[0]  # read anew
        row = y[2]
        y[2] = 5.0 * y[0]
        y[1] = row  # a view of what was written
        y[[0, 2]] = y[[2, 0]]
        return np.sum(y * y)

    np.testing.assert_allclose(grad(copied)(FLAT), differences(copied, FLAT), rtol=1e-9, atol=1e-9)
