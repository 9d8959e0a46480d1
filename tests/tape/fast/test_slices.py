"""Parts, rows and joins by the shortest way give what the long one gives, and see what it sees."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import MutationError
from chainrules_tape import Tape, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp

RNG = np.random.default_rng(5)
X = RNG.normal(size=(5, 4))
CUBE = RNG.normal(size=(2, 3, 4))

PARTS = {
    "element": (1, 2),
    "last": (-1, -1),
    "row": 3,
    "row from the end": -2,
    "slice": slice(1, 3),
    "columns": (slice(None), slice(1, 3)),
    "backwards": slice(None, None, -1),
    "both backwards": (slice(4, 0, -2), slice(None, None, -1)),
    "nothing": slice(3, 3),
    "new axis": (slice(None), None, slice(None)),
    "new axes": (None, 2, None, slice(1, None), None),
    "ellipsis": (..., 1),
    "0-d": (0, 1, ...),
    "all": ...,
    "all of one": slice(None),
    "none": None,
    "empty tuple": (),
    "nested": (..., None, slice(None, None, 2)),
    "numpy's integers": (np.int64(2), slice(np.int32(0), np.int64(3))),
    "array": np.array([0, 3, 3, -1]),
    "small integers": np.array([4, 4, 0, 4], np.uint8),
    "negative small integers": np.array([-1, -5, 4, -1], np.int8),
    "matrix": np.array([[0, 1], [1, 0]]),
    "one row": np.array(2),
    "mask of rows": np.array([True, False, True, True, False]),
    "mask": X > 0,
    "list": [1, 1, 2],
    "no rows": np.array([], int),
    "columns by an array": (slice(None), np.array([3, 0, 3])),
    "pairs": (np.array([0, 0, 4]), np.array([1, 1, -1])),
    "row and array": (2, np.array([1, 1])),
    "apart": (np.array([0, 0]), None, np.array([2, 2])),
    "array and list": (np.array([0, 0]), [1, 1]),
}


def scattered(x, where, y_bar):
    x_bar = np.zeros(x.shape, np.result_type(x, y_bar))
    np.add.at(x_bar, where, y_bar)
    return x_bar


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", list(PARTS))
def test_a_cotangent_is_added_where_it_was_read(name, dtype):
    where = PARTS[name]
    x = (X * (1 + 0.5j) if dtype == "complex128" else X).astype(dtype)
    y, pullback = vjp(lambda x: x[where], x)
    assert np.array_equal(y, x[where])
    y_bar = RNG.normal(size=np.shape(y)).astype(dtype)
    for _ in range(2):
        (x_bar,) = pullback(y_bar)
        assert x_bar.dtype == dtype
        np.testing.assert_array_equal(x_bar, scattered(x, where, y_bar))
    x_dot = RNG.normal(size=x.shape).astype(dtype)
    np.testing.assert_array_equal(jvp(lambda x: x[where], (x,), (x_dot,))[1], x_dot[where])


@pytest.mark.parametrize("intermediate", [False, True])
@pytest.mark.parametrize("name", list(PARTS))
def test_many_reads_of_one_array_add_up(name, intermediate):
    """Parts, elements, rows and all of it, before and after what is looked at."""
    where = PARTS[name]
    rows, weights = np.array([1, 1, 4], np.uint8), RNG.normal(size=np.shape(X[where]))

    def f(x):
        x = 2.0 * x if intermediate else x
        a = x[1:3].sum() + x[2, 2] + (x[None] * 3.0).sum() + x[rows].sum() * 0.5
        b = (x[where] * weights).sum() + (x[where] * weights).sum() + x.sum()
        return a + b + (x[[0, 0]] * x[0]).sum() + x[rows.astype(int)].sum()

    x_bar = np.ones_like(X) * 4.0
    x_bar[1:3] += 1.0
    x_bar[2, 2] += 1.0
    np.add.at(x_bar, rows, 1.5)
    np.add.at(x_bar, where, 2.0 * weights)
    scale = 2.0 if intermediate else 1.0
    x_bar[0] += 4.0 * scale * X[0]
    np.testing.assert_allclose(grad(f)(X), scale * x_bar, rtol=1e-13, atol=1e-13)
    assert np.array_equal(grad(f)(X), grad(f)(X))


@pytest.mark.parametrize("name", list(PARTS))
def test_second_derivatives_and_batches(name):
    where = PARTS[name]

    def f(x):
        return (x[where] ** 3).sum() * x[0, 0]

    def wanted(x):
        x_bar = scattered(x, where, 3.0 * x[where] ** 2 * x[0, 0])
        x_bar[0, 0] += (x[where] ** 3).sum()
        return x_bar

    np.testing.assert_allclose(grad(f)(X), wanted(X), rtol=1e-12)
    v, h = RNG.normal(size=X.shape), 1e-5
    differences = (wanted(X + h * v) - wanted(X - h * v)) / (2 * h)
    np.testing.assert_allclose(hvp(f, (X,), (v,))[0], differences, rtol=1e-6, atol=1e-6)
    over = grad(lambda x: (grad(f)(x) * v).sum())(X)
    np.testing.assert_allclose(over, differences, rtol=1e-6, atol=1e-6)
    H = hessian(f)(X)
    np.testing.assert_allclose(np.tensordot(H, v, 2), differences, rtol=1e-6, atol=1e-6)
    n = np.size(X[where])
    picked = np.eye(X.size)[np.arange(X.size).reshape(X.shape)[where]].reshape(n, X.size)
    for mode in ("forward", "reverse"):
        J = jacobian(lambda x: x[where], mode=mode)(X)
        np.testing.assert_array_equal(J.reshape(n, X.size), picked)


def test_rows_of_an_input_wait_and_are_added_in_one_order():
    """So many that they are added several times, of several dtypes, with other reads between."""
    table = RNG.normal(size=(40, 6))
    places = [RNG.integers(-40, 40, 9).astype(d) for d in ("int64", "int32", "int8") * 200]
    weights = RNG.normal(size=(600, 9, 6))

    def f(x):
        total = x[3:5].sum()
        for i, (ix, w) in enumerate(zip(places, weights, strict=True)):
            total = total + (x[ix] * w).sum()
            if i % 150 == 0:
                total = total + (x * 2.0).sum() + x[7, 1]
        return total

    wanted = np.zeros_like(table)
    for ix, w in zip(places, weights, strict=True):
        np.add.at(wanted, ix, w)
    wanted[3:5] += 1.0
    wanted += 8.0
    wanted[7, 1] += 4.0
    first = grad(f)(table)
    np.testing.assert_allclose(first, wanted, rtol=1e-12, atol=1e-12)
    assert all(np.array_equal(grad(f)(table), first) for _ in range(3))


def test_rows_of_values_of_a_tape_that_is_asked_for_them():
    """Cotangents of what is no input are asked for before all is played."""
    ix = np.array([1, 1, 0])
    with Tape(persistent=True) as tape:
        x = tape.variable(X)
        y = x * 3.0
        loss = (y[ix] ** 2).sum() + (x[ix] ** 2).sum()
    for _ in range(2):
        x_bar, y_bar = tape.grad(loss, [x, y])
        np.testing.assert_allclose(y_bar, scattered(X, ix, 6.0 * X[ix]))
        np.testing.assert_allclose(x_bar, 10.0 / 3.0 * y_bar)


def test_what_else_is_asked_for_changes_no_bit():
    """What waits for the rows of an input goes on waiting when another value is asked for."""
    places = [RNG.integers(0, 5, 3) for _ in range(8)]
    with Tape(persistent=True) as tape:
        x = tape.variable(X)
        y = x * 3.0
        rows = [x[ix] for ix in places]
        loss = sum(
            (y[ix] * row**3).sum() + (x[1:] * row[0]).sum()
            for ix, row in zip(places, rows, strict=True)
        )
    alone = tape.grad(loss, x)
    assert np.array_equal(tape.grad(loss, [x, y, *rows])[0], alone)
    assert np.array_equal(tape.grad(loss, [rows[4], x])[1], alone)


class Place(tuple):
    """As a named tuple is one."""

    __slots__ = ()


def test_tuples_of_other_classes_are_tuples():
    y, pullback = vjp(lambda x: x[Place((1, slice(1, 3)))], X)
    assert np.array_equal(y, X[1, 1:3])
    assert np.array_equal(pullback(y)[0], scattered(X, (1, slice(1, 3)), y))


@pytest.mark.parametrize("read", [lambda x, i: x[i], lambda x, i: x[:, i]])
def test_an_index_that_is_written_to_is_found(read):
    ix = np.array([0, 1, 1])
    _, pullback = vjp(lambda x: read(x, ix), X)
    ix[0] = 2
    with pytest.raises(MutationError, match="written to after that"):
        pullback(np.ones_like(read(X, ix)))

    def f(x):
        y = read(x, ix)
        ix[0] = 3
        return y.sum()

    with pytest.raises(ValueError, match="read-only"):
        grad(f)(X)
    ix[0] = 1


def test_bounds_that_are_written_to_were_read_before():
    stop = np.array(2)

    def f(x):
        y = x[:stop].sum() + x[(slice(stop), 0)].sum()
        stop[...] = 4
        return y

    x_bar = grad(f)(X)
    assert np.array_equal(x_bar, [[2.0, 1, 1, 1]] * 2 + [[0.0] * 4] * 3)


def written_between(x):
    x = x * 1.0
    a, b = x[1:3], x[2]
    first = x[0] * b
    x[2, 1:] = first[:3] * 2.0
    c, rows = x[2:4], x[np.array([2, 2, 0])]
    a *= 2.0
    b[0] = x[0, 0]
    return (x * x).sum() + (a * c).sum() + (rows * x[None, 2]).sum() + first.sum() + x[2][0]


def whole_is_written(x):
    x = x * 1.0
    y = x[:, None, :]
    y[1:3] *= 3.0
    z = x[...]
    z[0] = x[4]
    x[3] += y[1, 0]
    return (y * y).sum() + z.sum() * x[0, 0]


@pytest.mark.parametrize("f", [written_between, whole_is_written])
def test_parts_see_writes(f):
    value, x_bar = value_and_grad(f)(X)
    assert value == f(X)
    h, v = 1e-6, RNG.normal(size=X.shape)
    slope = (f(X + h * v) - f(X - h * v)) / (2 * h)
    np.testing.assert_allclose((x_bar * v).sum(), slope, rtol=1e-7)
    np.testing.assert_allclose(jvp(f, (X,), (v,))[1], slope, rtol=1e-7)
    differences = (grad(f)(X + h * v) - grad(f)(X - h * v)) / (2 * h)
    np.testing.assert_allclose(np.tensordot(hessian(f)(X), v, 2), differences, rtol=1e-6)
    np.testing.assert_allclose(hvp(f, (X,), (v,))[0], differences, rtol=1e-6)


def test_integers_and_numbers_of_python_are_read_as_before():
    assert grad(lambda x: (x[1] * x[0])[0] * 1.0)(np.array([[1.0, 2.0], [3.0, 4.0]]))[1, 0] == 1.0
    x_bar = grad(lambda x, i: (x[i] * i[0] * 1.0).sum(), argnums=0)(X, np.array([1, 2]))
    assert np.array_equal(x_bar, scattered(X, [1, 2], np.ones((2, 4))))


@pytest.mark.parametrize("where", [9, (0, 0, 0), "text", 1.0, (slice(None), 2.5), np.array([0.5])])
def test_what_is_no_index_is_said_by_numpy_or_here(where):
    with pytest.raises(IndexError):
        grad(lambda x: x[where].sum())(X)
    with pytest.raises(IndexError):
        X[where]


def test_listings_say_what_was_read_and_joined():
    with Tape() as tape:
        x = tape.variable(X, "x")
        a, b = x[1:3], x[np.array([0, 1])]
        np.stack([a, b, x[None, :2][0]])
    text = str(tape)
    assert "getitem(x" in text
    assert "stack(v0, v1, v3" in text


# ------------------------------------------------------------------------------------------ joins

A, B, C = RNG.normal(size=(3, 2, 4))
JOINS = {
    "stack": lambda xs: np.stack(xs),
    "stack, last axis": lambda xs: np.stack(xs, axis=-1),
    "stack, second": lambda xs: np.stack(tuple(xs), 1),
    "concatenate": lambda xs: np.concatenate(xs),
    "concatenate, last axis": lambda xs: np.concatenate(tuple(xs), axis=-1),
    "concatenate, flat": lambda xs: np.concatenate(xs, axis=None),
    "unlike lengths": lambda xs: np.concatenate([xs[0], xs[1][:1], xs[2][:0], xs[0]]),
    "twice the same": lambda xs: np.stack([xs[0], xs[0], xs[2], xs[0]]),
    "one": lambda xs: np.stack([xs[1]]),
    "two": lambda xs: np.concatenate([xs[1], xs[2]], 1),
    "numbers": lambda xs: np.stack([xs[0][0, 0], xs[1][1, 1], xs[0].sum()]),
    "with plain ones": lambda xs: np.stack([xs[0], A, xs[2]]),
    "one beside plain ones": lambda xs: np.concatenate([A, xs[1], A[:1]]),
    "of vectors": lambda xs: np.stack([xs[0][0], xs[1][1], xs[2][0]]),
    "of two dtypes": lambda xs: np.stack([xs[0], xs[1].astype(np.float32), xs[2]]),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", list(JOINS))
def test_parts_of_what_was_joined(name, dtype):
    f = JOINS[name]
    if name == "of two dtypes" and dtype == "complex128":
        pytest.skip("NumPy warns that parts are lost")
    xs = [(x * (1 + 0.3j) if dtype == "complex128" else x).astype(dtype) for x in (A, B, C)]
    y, pullback = vjp(lambda *xs: f(xs), *xs)
    plain = f(xs)
    assert np.array_equal(y, plain)
    assert y.dtype == plain.dtype
    y_bar = RNG.normal(size=y.shape).astype(y.dtype)
    x_bars = pullback(y_bar)
    assert [x_bar.dtype for x_bar in x_bars] == [dtype] * 3
    dots = [RNG.normal(size=x.shape).astype(dtype) for x in xs]
    pushed = jvp(lambda *xs: f(xs), tuple(xs), tuple(dots))[1]
    close = 1e-4 if dtype == "float32" or name == "of two dtypes" else 1e-12
    paired = sum(np.vdot(x_bar, dot) for x_bar, dot in zip(x_bars, dots, strict=True))
    np.testing.assert_allclose(paired.real, np.vdot(y_bar, pushed).real, rtol=close, atol=close)
    if dtype == "float64":
        blocks = jacobian(lambda *xs: f(xs), argnums=(0, 1, 2), mode="reverse")(*xs)
        for block, x_bar in zip(blocks, x_bars, strict=True):
            found = np.tensordot(y_bar, block, y.ndim)
            np.testing.assert_allclose(found, x_bar, rtol=close, atol=close)


@pytest.mark.parametrize("name", [name for name in JOINS if name != "of two dtypes"])
def test_joined_twice_differentiated(name):
    f = JOINS[name]

    def loss(x):
        y = f([x * A, x * x, np.sin(x)])
        return (y * y).sum()

    v = RNG.normal(size=B.shape)
    (product,), h = hvp(loss, (B,), (v,)), 1e-5
    differences = (grad(loss)(B + h * v) - grad(loss)(B - h * v)) / (2 * h)
    np.testing.assert_allclose(product, differences, rtol=1e-6, atol=1e-6)
    over = grad(lambda x: (grad(loss)(x) * v).sum())(B)
    np.testing.assert_allclose(over, differences, rtol=1e-6, atol=1e-6)


def test_joins_of_several_levels():
    def f(x):
        return grad(lambda y: (np.stack([x, y, x * y]) ** 2).sum() * np.concatenate([y, x]).sum())(
            B
        )

    def plain(x):
        s = (np.stack([x, B, x * B]) ** 2).sum()
        return (2 * B + 2 * x * x * B) * np.concatenate([B, x]).sum() + s

    v, h = RNG.normal(size=A.shape), 1e-6
    assert np.allclose(f(A), plain(A))
    pushed = jvp(f, (A,), (v,))[1]
    np.testing.assert_allclose(pushed, (plain(A + h * v) - plain(A - h * v)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.stack([x, x[:1], x]),
        lambda x: np.stack([x, x, x], axis=5),
        lambda x: np.concatenate([x, x[0], x]),
        lambda x: np.concatenate([x, x, x], axis=2),
        lambda x: np.stack([]),
    ],
)
def test_what_does_not_fit_is_said_by_numpy(f):
    with pytest.raises(ValueError) as by_numpy:
        f(A)
    with pytest.raises(ValueError) as here:
        grad(lambda x: f(x).sum())(A)
    assert str(here.value).startswith(str(by_numpy.value)[:40])
