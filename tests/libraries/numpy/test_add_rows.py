"""Rows that are read, and added into a buffer: few, many, repeated, negative, not there."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_numpy.gathers import add_along, read_columns, read_rows
from chainrules_numpy.memory import MEMORY
from chainrules_py import ops as v
from chainrules_py.ops.indexing import Index
from chainrules_tape import grad


def slow(first, end):
    return [pytest.param(k, marks=pytest.mark.slow) for k in range(first, end)]


@pytest.mark.parametrize("count", [0, 3, 62, 63, 400])
@pytest.mark.parametrize("lowest", [0, -10])
def test_rows_are_added_as_numpy_adds_them(count, lowest):
    rng = np.random.default_rng(0)
    rows, y = rng.integers(lowest, 10, count), rng.normal(size=(count, 8))
    expected = np.zeros((10, 8))
    np.add.at(expected, rows, y)
    found = grad(lambda x: np.sum(x[rows] * y))(np.ones((10, 8)))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("count", [3, 400])
@pytest.mark.parametrize("row", [10, -11])
def test_rows_that_are_not_there_are_an_error(count, row):
    index, arrays = Index.split(np.full(count, row))
    buffer = np.zeros((10, 8))
    with pytest.raises(IndexError):
        v.add_at(buffer, np.ones((count, 8)), *arrays, index=index)


def drawn(rng):
    """Draw a buffer, zeros of both signs among it, rows of it, and what is added to them."""
    n, width = rng.integers(1, 20), rng.choice([*range(1, 8), 14, 26])
    m = int(rng.integers(501, 900)) // width + 1
    shape = (m,) if rng.random() < 0.6 else (m // 2 + 1, 2)
    rows = rng.integers(-n, n, shape).astype(rng.choice([np.int64, np.int32, np.int8]))
    buffer = np.where(rng.random((n, width)) < 0.5, 0.0, rng.normal(size=(n, width)))
    if rng.random() < 0.2:
        buffer[rng.integers(n)] = -0.0
    y = rng.normal(size=(*shape, width))
    y[rng.random(y.shape) < 0.2] = -0.0
    if rng.random() < 0.2:
        y[(-1,) * y.ndim] = np.inf
    if rng.random() < 0.3:  # of another layout, or of two dtypes
        y = np.asfortranarray(y) if rng.random() < 0.5 else y.astype(np.float32)
    if rng.random() < 0.3:
        buffer, y = buffer.astype(np.float32), y.astype(np.float32)
    if width == 1 and rng.random() < 0.5:
        return buffer[:, 0].copy(), rows, y[..., 0]
    return buffer, rows, y


@pytest.mark.parametrize("seed", [*range(20), *slow(20, 400)])
def test_rows_that_are_counted_have_the_bits_of_rows_that_are_added(seed):
    buffer, rows, y = drawn(np.random.default_rng(seed))
    expected = buffer.copy()
    np.add.at(expected, rows, y)
    index, arrays = Index.split(rows)
    v.add_at(buffer, y, *arrays, index=index)
    assert buffer.tobytes() == expected.tobytes()


def tried(f):
    try:
        return f(), None
    except Exception as error:
        return None, (type(error), str(error))


@pytest.mark.parametrize("seed", [*range(60), *slow(60, 2000)])
def test_rows_are_read_as_numpy_reads_them(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=tuple(rng.integers(rng.integers(2), 5, rng.integers(1, 4))))
    x = [x, x.T, x[::2], np.asfortranarray(x)][rng.integers(4)]
    n, shape = len(x), tuple(rng.integers(0, 4, rng.integers(0, 4)))
    rows = rng.integers(-n - rng.integers(2), n + rng.integers(1, 3), shape)
    rows = np.asarray(rows, rng.choice([np.int64, np.int32, np.uint8, np.int8, np.bool_]))
    rows = [rows, rows.T, rows[::-1] if rows.ndim else rows][rng.integers(3)]
    (read, error), (wanted, theirs) = tried(lambda: read_rows(x, rows)), tried(lambda: x[rows])
    assert error == theirs
    assert type(read) is type(wanted)
    if isinstance(wanted, np.ndarray):
        assert read.tobytes() == wanted.tobytes()
        assert MEMORY.layout(read) == MEMORY.layout(wanted)
        assert read.flags.writeable


@pytest.mark.parametrize("seed", [*range(20), *slow(20, 400)])
def test_columns_are_read_and_added_as_numpy_reads_and_adds_them(seed):
    rng = np.random.default_rng(seed)
    n, lead = rng.integers(1, 20), (*rng.integers(1, 20, rng.integers(1, 3)),)
    columns = rng.integers(-n, n + (rng.random() < 0.1), rng.integers(1, 3000))
    columns = columns.astype(rng.choice([np.int64, np.int32, np.int8]))
    x = rng.normal(size=(lead[0], n))
    (read, error), (wanted, theirs) = (
        tried(lambda: read_columns(x, columns)),
        tried(lambda: x[:, columns]),
    )
    assert error == theirs
    if theirs:
        return
    assert read.tobytes() == wanted.tobytes()
    assert MEMORY.layout(read) == MEMORY.layout(wanted)
    buffer, y = rng.normal(size=(*lead, n)), rng.normal(size=(*lead, len(columns)))
    y = np.asfortranarray(y) if rng.random() < 0.5 else y
    expected = buffer.copy()
    np.add.at(expected, (..., columns), y)
    add_along(buffer, y, columns, len(lead))
    assert buffer.tobytes() == expected.tobytes()
