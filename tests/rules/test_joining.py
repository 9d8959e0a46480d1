"""Joining and cutting, as users of NumPy write it."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import UnsupportedKeywordError, frule
from chainrules_py import vocabulary as v
from chainrules_tape import grad, vjp

rng = np.random.default_rng(3)
A, B = rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
C = rng.standard_normal((2, 1))
X, Y = rng.standard_normal(3), rng.standard_normal(3)
BOX = rng.standard_normal((2, 4, 3))

CALLS = {
    "concatenate": (lambda a, b: np.concatenate([a, b]), A, B),
    "concatenate axis": (lambda a, b: np.concatenate((a, b), axis=-1), A, C),
    "concatenate None": (lambda a, b: np.concatenate((a, b), axis=None), A, X),
    "concatenate one of them": (lambda a: np.concatenate((a, B), 1), A),
    "concatenate twice the same": (lambda a: np.concatenate((a, a)), A),
    "concatenate a list of numbers": (lambda x: np.concatenate((x, [1.0, 2.0])), X),
    "concatenate an array": (np.concatenate, BOX),
    "concat": (lambda a, b: np.concat([a, b], axis=0), A, B),
    "stack": (lambda a, b: np.stack([a, b]), A, B),
    "stack axis": (lambda a, b: np.stack([a, b], axis=1), A, B),
    "stack last": (lambda a, b: np.stack([a, b], -1), A, B),
    "stack numbers": (lambda x: np.stack([x[0], x[2] * x[1]]), X),
    "vstack": (lambda a, x: np.vstack([a, x]), A, X),
    "hstack": (lambda a, c: np.hstack([a, c]), A, C),
    "hstack vectors": (lambda x, y: np.hstack([x, y]), X, Y),
    "dstack": (lambda a, b: np.dstack([a, b]), A, B),
    "column_stack": (lambda x, y: np.column_stack([x, y]), X, Y),
    "append": (lambda x, y: np.append(x, y), X, Y),
    "append axis": (lambda a, b: np.append(a, b, axis=0), A, B),
    "unstack": (lambda a: np.unstack(a, axis=1)[0] * np.unstack(a, axis=1)[2], A),
    "split": (lambda x: np.split(x, 2, axis=1)[1], BOX),
    "split places": (lambda x: np.split(x, [1, 3], axis=1)[1], BOX),
    "array_split": (lambda x: np.array_split(x, 3, axis=1)[0], BOX),
    "hsplit": (lambda x: np.hsplit(x, 2)[0], BOX),
    "vsplit": (lambda x: np.vsplit(x, 2)[1], BOX),
    "dsplit": (lambda x: np.dsplit(x, 3)[1], BOX),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(agree, name):
    f, *xs = CALLS[name]
    agree(f, *xs)
    agree(f, *[x * (1 + 2j) for x in xs])


def test_all_parts_of_a_split_together(agree):
    agree(lambda x: np.concatenate(np.split(x, 2, axis=1)[::-1], axis=1), BOX)


def test_numbers_of_python():
    assert grad(lambda t: np.sum(np.stack([t, 2 * t, t * t])))(3.0) == 9.0
    assert grad(lambda t: np.sum(np.hstack([t, X * t])))(3.0) == pytest.approx(1 + X.sum())


def test_dtypes_each_get_their_own():
    a = A.astype(np.float32)
    y, pullback = vjp(lambda a, b: np.concatenate([a, b]), a, B)
    assert y.dtype == np.float64
    assert [bar.dtype for bar in pullback(y)] == [np.float32, np.float64]
    y, pullback = vjp(lambda a, z: np.concatenate([a, z]), A, B * 1j)
    assert [bar.dtype for bar in pullback(y)] == [np.float64, np.complex128]


def test_one_of_several_is_pushed():
    _, y_dot = frule((np.ones(3), np.zeros(3)), v.concat, X, Y)
    np.testing.assert_array_equal(y_dot, [1, 1, 1, 0, 0, 0])


def test_unequal_split_raises_as_numpy_does():
    with pytest.raises(ValueError, match="equal division"):
        grad(lambda x: np.sum(np.split(x, 3, axis=1)[0]))(BOX)


def test_unsupported():
    with pytest.raises(UnsupportedKeywordError, match="out"):
        grad(lambda a: np.sum(np.concatenate([a, B], out=np.zeros((4, 3)))))(A)


def test_booleans_among_numbers(agree):
    truth = np.array([True, False, True])
    agree(lambda x: np.concatenate([x, truth]), X)
    agree(lambda x: np.where(truth, x, False), X)
