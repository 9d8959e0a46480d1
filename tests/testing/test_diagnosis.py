"""Names of mistakes, of matrices alone, and what is no name."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.diagnosis import Block, name_jacobian, name_ratio

RNG = np.random.default_rng(5)
X = RNG.uniform(0.5, 2.0, 4)
Y = RNG.uniform(0.5, 2.0, 4)
FULL = RNG.standard_normal((4, 4))
SQUARE = RNG.standard_normal((4, 9))


def block(have, want, x, y):
    return Block(have, want, 1e-9 * np.ones(want.shape), Coordinates(x), Coordinates(y))


def named(have, want, x=X, y=Y):
    """Name a difference of one operand at one point."""
    return name_jacobian([{0: block(have, want, x, y)}], ["x"])


def swapped(m):
    return np.swapaxes(m.reshape(4, 3, 3), 1, 2).reshape(4, 9)


SQUARES = {"x": np.zeros((3, 3)), "y": np.zeros(4)}


@pytest.mark.parametrize(
    "change, says, where",
    [
        (lambda w: np.nan * w, "NaN", {}),
        (lambda w: 0.0 * w, "zero", {}),
        (lambda w: 2.0 * w, "factor 2", {}),
        (lambda w: -w, "wrong sign", {}),
        (lambda w: np.pi * w, "factor pi", {}),
        (lambda w: w / 4, "factor 1/4 (mean instead of sum?)", {}),
        (lambda w: w.T, "transposed", {}),
        (lambda w: -w.T, "transposed, wrong sign", {}),
        (lambda w: np.diag(np.diag(w)), "only the diagonal is kept", {}),
        (
            lambda w: w - w.mean(axis=1, keepdims=True),
            "mean subtracted, along axis 0",
            {},
        ),
        (lambda w: w[:, ::-1], "elements in reverse order", {}),
        (lambda w: w[:, [1, 0, 3, 2]], "the right numbers in the wrong places", {}),
        (lambda w: w + 0.5, "off by the constant 1/2", {}),
        (swapped, "transposed", SQUARES),
        (lambda w: (w + swapped(w)) / 2, "symmetrised", SQUARES),
    ],
)
def test_mistake_is_named(change, says, where):
    want = SQUARE if where is SQUARES else FULL
    assert says in named(change(want), want, **where)


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda w: w + np.diag([1.0, 2.0, 4.0], k=1), "numbers where zeros belong"),
        (lambda w: w * np.where(X > 1.2, 3.0, 1.0), "factor 3 in "),
        (lambda w: w * [2, 1, 1, 2], "factor 2 in 2 of 4 entries"),
        (lambda w: np.where(np.diag(X > 1.2), 0.0, w), "zero in "),
    ],
)
def test_places_are_named(change, says):
    want = np.diag(np.cos(X))
    assert says in named(change(want), want)


def test_nothing_is_named_where_it_is_not_sure():
    assert named(FULL, FULL) == ""
    assert named(FULL + RNG.standard_normal((4, 4)), FULL) == "wrong numbers"
    assert name_ratio(FULL + 1.0, FULL, single=False) == ""


def test_operands_that_are_exchanged():
    a, b = FULL, np.cos(FULL)
    of = lambda have, want: block(have, want, X, Y)
    assert name_jacobian([{0: of(b, a), 1: of(a, b)}], ["a", "b"]) == "swapped operands a and b"
    assert name_jacobian([{0: of(a, a), 1: of(a, b)}], ["a", "b"]) == "the derivative of a for b"
