"""Indexing, as users of NumPy write it."""

import sys

import numpy as np
import pytest

from chainrules_py import NoTangent, ZeroTangent, rrule
from chainrules_py import ops as v
from chainrules_py.ops import Index
from chainrules_tape import grad, jvp, vjp

rng = np.random.default_rng(4)
BOX = rng.standard_normal((2, 3, 4))
FLAT = rng.standard_normal((3, 4))
LINE = rng.standard_normal(6)

WHERE = {
    "int": (LINE, 2),
    "negative": (LINE, -1),
    "slice": (LINE, np.s_[1:4]),
    "negative step": (LINE, np.s_[::-1]),
    "negative step, bounds": (LINE, np.s_[4:0:-2]),
    "empty slice": (LINE, np.s_[3:3]),
    "np.integer": (LINE, np.int32(3)),
    "slice of np.integer": (LINE, np.s_[np.int64(1) : np.int64(4)]),
    "None": (LINE, None),
    "Ellipsis": (LINE, ...),
    "several": (BOX, np.s_[1, ::2, -1]),
    "None between": (BOX, np.s_[:, None, 1:, ..., None]),
    "mask": (LINE, np.array([True, False, True, True, False, False])),
    "mask list": (LINE, [True, False, True, True, False, False]),
    "mask of two axes": (FLAT, FLAT > 0),
    "mask of the first axis": (FLAT, np.array([True, False, True])),
    "mask and slice": (FLAT, np.s_[1:, np.array([True, False, True, True])]),
    "mask of nothing": (LINE, np.zeros(6, bool)),
    "True": (LINE, True),
    "False": (LINE, False),
    "np.True_": (LINE, np.True_),
    "array": (LINE, np.array([4, 0, 2])),
    "array, repeated": (LINE, np.array([1, 1, 5, 1])),
    "array, negative": (LINE, np.array([-1, 5, -6])),
    "list": (LINE, [0, 0, 3]),
    "empty list": (LINE, []),
    "0-d array": (LINE, np.array(3)),
    "rows": (FLAT, np.array([2, 0, 2])),
    "rows, negative": (FLAT, np.array([-1, 2])),
    "rows by a matrix": (FLAT, np.array([[2, 0], [2, 2]])),
    "uint8": (FLAT, np.array([2, 0, 2], np.uint8)),
    "pairs": (FLAT, (np.array([0, 1, 0]), np.array([2, 2, 2]))),
    "broadcast pairs": (FLAT, (np.array([[0], [1]]), np.array([2, 2, 3]))),
    "slice and array": (FLAT, np.s_[:, [1, 1, 3]]),
    "arrays apart": (BOX, np.s_[[0, 1, 1], :, [2, 0, 0]]),
    "array and int": (BOX, np.s_[1, [0, 2, 0]]),
    "array and None": (FLAT, np.s_[None, [0, 2, 0]]),
    "mask and int": (FLAT, np.s_[np.array([True, False, True]), 1]),
    "ix_": (FLAT, np.ix_([0, 2, 2], [1, 3])),
}


@pytest.mark.parametrize("name", WHERE)
def test_subscripts(agree, name):
    x, where = WHERE[name]
    agree(lambda x: x[where], x)
    agree(lambda x: x[where] * x[where], x, second=False)
    agree(lambda x: x[where], x + 2j * x[::-1])


@pytest.mark.parametrize("name", WHERE)
def test_scatter_add_is_the_transpose(name):
    x, where = WHERE[name]
    pattern, arrays = Index.split(
        where, lambda entry: np.asarray(entry, dtype=None if entry else int)
    )
    y = rng.standard_normal(np.shape(x[where]))
    expected = x.copy()
    np.add.at(expected, where, y)
    np.testing.assert_allclose(v.scatter_add(x, y, *arrays, index=pattern), expected, rtol=1e-13)
    hash(pattern)
    np.testing.assert_array_equal(x[pattern.join(arrays)], x[where])


MANY = {
    "rows": ((100, 8), (), (80,), np.intp),
    "rows, small integers": ((100, 8), (), (80,), np.uint8),
    "rows, negative": ((100, 8), (), (80,), np.int8),
    "columns": ((9, 100), (slice(None),), (80,), np.intp),
    "columns, negative, by a matrix": ((9, 100), (slice(None),), (8, 10), np.int16),
    "the middle": ((3, 100, 4), (slice(None),), (70,), np.int32),
    "the last of three": ((3, 4, 100), (slice(None),) * 2, (70,), np.intp),
}


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("name", MANY)
def test_many_places_are_added_to_as_few_are(name, order):
    shape, before, picked, dtype = MANY[name]
    n = shape[len(before)]
    low = 0 if np.dtype(dtype).kind == "u" else -n
    where = (*before, rng.integers(low, n, picked).astype(dtype))
    x = np.asarray(rng.standard_normal(shape), order=order)
    expected = x.copy()
    y = rng.standard_normal(x[where].shape)
    np.add.at(expected, where, y)
    pattern, arrays = Index.split(where)
    np.testing.assert_allclose(v.scatter_add(x, y, *arrays, index=pattern), expected, rtol=1e-13)
    x_bar = vjp(lambda x: x[where] + 2 * x[where], x)[1](y)[0]
    np.testing.assert_allclose(x_bar, 3 * (expected - x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("where", [np.s_[[[0, 100]] * 400], np.s_[:, [0, -5] * 200]], ids=str)
def test_many_places_outside_are_errors(where):
    pattern, arrays = Index.split(where, np.asarray)
    y = np.ones((100, 400) if len(where) == 2 else (400, 2, 4))
    with pytest.raises(IndexError, match="out of bounds"):
        v.add_at(np.zeros((100, 4)), y, *arrays, index=pattern)


CALLS = {
    "take": (lambda x: np.take(x, [1, 1, 5]), LINE),
    "take flat": (lambda x: np.take(x, [[1, 11], [5, 1]]), FLAT),
    "take axis": (lambda x: np.take(x, np.array([3, 0, 0]), axis=-1), FLAT),
    "take matrix": (lambda x: np.take(x, [[0, 1], [2, 2]], axis=1), BOX),
    "take int": (lambda x: np.take(x, 2, axis=0), FLAT),
    "x.take": (lambda x: x.take([0, 0], axis=1), FLAT),
    "take_along_axis": (lambda x: np.take_along_axis(x, np.array([[0, 2, 2, 1]]), axis=0), FLAT),
    "take_along_axis flat": (lambda x: np.take_along_axis(x, np.array([0, 5, 5]), axis=None), FLAT),
    "take_along_axis broadcast": (
        lambda x: np.take_along_axis(x, np.array([[1, 1]]), axis=1),
        FLAT,
    ),
    "sort": (np.sort, FLAT),
    "sort axis": (lambda x: np.sort(x, axis=0), FLAT),
    "sort flat": (lambda x: np.sort(x, axis=None), FLAT),
    "by argsort": (lambda x: x[np.argsort(x)], LINE),
    "by argmax": (lambda x: x[np.argmax(x)], LINE),
    "rows as they are iterated": (lambda x: sum(row * row for row in x), FLAT),
    "unpacked": (lambda x: (lambda a, b, c: a * b + c)(*x), FLAT),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(agree, name):
    f, x = CALLS[name]
    agree(f, x)


def test_many_reads_build_no_array_each():
    """300 elements read one by one out of 1e5, whose cotangents are added into one buffer."""
    x = np.ones(100_000)

    def f(x):
        total = x[0] * x[1]
        for i in range(300):
            total = total + x[3 * i] * x[3 * i + 1]
        return total

    _, pullback = vjp(f, x)
    made = []

    def count(frame, event, function):
        if event == "c_call" and function.__name__ in {"zeros", "zeros_like", "copy", "empty"}:
            made.append(function)

    sys.setprofile(count)
    try:
        (bar,) = pullback(1.0)
    finally:
        sys.setprofile(None)
    assert bar.sum() == 602
    assert 1 <= len(made) < 5


def test_reads_mixed_with_other_uses():
    expected = np.full(6, 3.0)
    expected[1:4] += 1.0
    expected[2] += 5.0
    expected[[0, 0, 5]] += [2.0, 2.0, 1.0]

    def f(x):
        return np.sum(x[1:4]) + 3.0 * np.sum(x) + 5.0 * x[2] + np.sum(x[[0, 0, 5]])

    np.testing.assert_array_equal(grad(f)(LINE), expected)


def test_cotangents_of_the_caller_are_not_written_to():
    y_bar = np.ones(6)
    kept = y_bar.copy()
    _, pullback = vjp(lambda x: x * 1.0 + x[0] + x[np.array([1, 1, 1, 1, 1, 1])], LINE)
    pullback(y_bar)
    np.testing.assert_array_equal(y_bar, kept)


def test_float32_stays():
    x = LINE.astype(np.float32)
    for where in (2, np.s_[1:3], np.array([1, 1]), x > 0):
        y, pullback = vjp(lambda x, where=where: x[where], x)
        assert pullback(y)[0].dtype == np.float32
        assert jvp(lambda x, where=where: x[where], (x,), (x,))[1].dtype == np.float32


def test_indices_are_operands_without_a_tangent():
    where = np.array([1, 1, 2])
    _, pullback = rrule(v.getitem, LINE, where, index=Index((Index.HOLE,)))
    x_bar, where_bar = pullback(np.ones(3))
    np.testing.assert_array_equal(x_bar, [0, 2, 1, 0, 0, 0])
    assert where_bar is NoTangent()
    assert pullback(ZeroTangent()) == (ZeroTangent(), NoTangent())
    assert pullback(np.ones(3), wanted=(False, True)) == (ZeroTangent(), NoTangent())
    _, pullback = rrule(v.repeat, LINE, 2, axis=0)
    assert pullback(np.ones(12))[1] is NoTangent()


def test_rows_out_of_bounds_raise_as_numpy_does():
    with pytest.raises(IndexError):
        v.scatter_add(FLAT, np.ones((1, 4)), np.array([3]), index=Index((Index.HOLE,)))


@pytest.mark.parametrize("where", [1.5, "a", slice("a", None)])
def test_what_is_no_index(where):
    with pytest.raises((IndexError, TypeError)):
        grad(lambda x: np.sum(x[where]))(LINE)


def test_patterns_tell_true_from_one():
    assert Index.split(True)[0] != Index.split(1)[0]
    assert (
        Index.split((slice(1, 2), None, ..., True, 3))[0]
        == Index.split((slice(1, 2), None, ..., True, 3))[0]
    )
    assert (
        repr(Index.split((slice(1, None), None, ..., True, 3, [0]))[0])
        == "Index[1:, None, ..., True, 3, array]"
    )


def test_traced_integers_index():
    assert jvp(lambda x: x[x.astype(int)[0]] * 2.0, (np.arange(3.0),), (np.ones(3),))[1] == 2.0


def test_put_along_axis_add_repeats():
    y = v.put_along_axis_add(np.zeros((2, 3)), np.ones((2, 2)), np.array([[0, 0], [2, 1]]), axis=1)
    np.testing.assert_array_equal(y, [[2, 0, 0], [0, 1, 1]])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "read",
    [
        lambda x: np.take(x, [1, 1, 11]),
        lambda x: np.take(x, [1, 1], axis=0),
        lambda x: x[[1, 1]],
        lambda x: x[1:, ::2],
        lambda x: x[1, 2],
        lambda x: np.take_along_axis(x, np.array([[0, 0], [1, 1], [2, 3]]), axis=1),
    ],
)
def test_reading_adds_to_a_sum_in_any_memory_order(read, order):
    x = np.asarray(FLAT, order=order)
    w = np.asarray(rng.standard_normal((3, 4)), order=order)

    def f(x):
        y = x * 1.0  # collects the cotangents of three uses, of which the last are read last
        return np.sum(read(y)) + np.sum(y * w) + np.sum(y * w)

    alone = grad(lambda x: np.sum(read(x)))(FLAT)
    np.testing.assert_allclose(grad(f)(x), alone + 2 * w, rtol=1e-13)


def test_places_are_plain():
    def f(x):
        found = [np.where(x > 0), np.nonzero(x), x.nonzero(), np.argwhere(x), np.flatnonzero(x)]
        assert not [y for y in found if type(y) not in (tuple, np.ndarray)]
        return np.sum(x[np.where(x > 0)]) + np.sum(x[np.tril_indices_from(x)])

    gradient = grad(f)(FLAT)
    np.testing.assert_array_equal(gradient, (FLAT > 0) * 1.0 + np.tri(*FLAT.shape))


def test_where_of_a_condition_alone_by_every_engine():
    assert (
        jvp(lambda x: x[np.where(x > 0)], (FLAT,), (FLAT,))[1].tolist() == FLAT[FLAT > 0].tolist()
    )


def test_modes_that_take_does_not_know():
    with pytest.raises(ValueError, match="clipmode"):
        grad(lambda x: np.sum(np.take(x, [1], mode="nonsense")))(LINE)
    with pytest.raises(IndexError):
        grad(lambda x: np.sum(np.compress([0, 0, 0, 0, 0, 0, 0, 1], x)))(LINE)
    with pytest.raises(ValueError, match="1-d"):
        grad(lambda x: np.sum(np.compress([[True]], x)))(LINE)
    with pytest.raises(ValueError, match="unexpected"):
        grad(lambda x: np.sum(np.trim_zeros(x, "a")))(LINE)


def test_inserted_values_take_the_dtype_of_the_array():
    x = LINE.astype(np.float32)
    y, pullback = vjp(lambda x, t: np.insert(x, 1, t), x, np.array(0.5))
    assert y.dtype == np.float32
    assert [bar.dtype for bar in pullback(y)] == [np.float32, np.float64]


def test_zeros_that_are_trimmed_have_no_part_in_the_result():
    x = np.array([0.0, 0.0, 2.0, 0.0, 3.0, 0.0])
    _, pullback = vjp(np.trim_zeros, x)
    np.testing.assert_array_equal(pullback(np.arange(1.0, 4.0))[0], [0, 0, 1, 2, 3, 0])


def test_empty_lists_are_indices_of_any_shape():
    """Of the empty rows ``[[], []]`` an array of floats was made, which is no index."""
    x = np.arange(6.0)
    for where in ([], [[], []], range(0)):
        np.testing.assert_array_equal(v.index(x, where), x[where])
