"""Names of mistakes, of matrices alone: each hypothesis of the grammar, and what is no name."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from chainrules_py.testing.diagnosis import Evidence, Place, name_jacobian, name_ratio

RNG = np.random.default_rng(5)
X = RNG.uniform(0.5, 2.0, 4)
Y = RNG.uniform(0.5, 2.0, 4)
FULL = RNG.standard_normal((4, 4))
ONE_COLUMN = np.outer([2, 3, 5, 1], [0, 0, 1, 0])
SQUARE = RNG.standard_normal((4, 9))


@dataclasses.dataclass
class Array:
    """The numbers of an array."""

    x: Any
    fields: dict[Any, Any] = dataclasses.field(default_factory=dict)
    is_leaf: bool = True
    kind: str = "real"

    @property
    def shape(self):
        return self.x.shape

    @property
    def size(self):
        return self.x.size

    def labels(self):
        return [f"[{i}]" for i in range(self.size)]


def named(have, want, x=X, y=Y, others=()):
    """Name a difference at one point; ``others`` are further operands, which are right."""
    place = Place([Array(x), *map(Array, others)], Array(y), ["x", "z"][: 1 + len(others)])
    room = np.zeros((len(want), sum(o.size for o in others)))
    have, want = np.hstack([have, room]), np.hstack([want, room])
    return name_jacobian([Evidence(have, want, 1e-9 * np.ones(want.shape), place)])


def swapped(m):
    return np.swapaxes(m.reshape(4, 3, 3), 1, 2).reshape(4, 9)


SQUARES = {"x": np.zeros((3, 3)), "y": np.zeros(4)}
GRID = {"x": np.zeros((2, 2)), "y": np.zeros((2, 2))}


@pytest.mark.parametrize(
    "change, says, where",
    [
        (lambda w: np.nan * w, "NaN", {}),
        (lambda w: 0.0 * w, "zero", {}),
        (lambda w: 2.0 * w, "factor 2", {}),
        (lambda w: -w, "wrong sign", {}),
        (lambda w: np.pi * w, "factor pi", {}),
        (lambda w: w / 4, "factor 1/4 (mean instead of sum?)", {}),
        (lambda w: (w * (1 + 1e-7)).astype(np.float32), "float32 result", {}),
        (lambda w: w.T, "transposed", {}),
        (lambda w: -w.T, "transposed, wrong sign", {}),
        (lambda w: np.diag(np.diag(w)), "only the diagonal is kept", {}),
        (lambda w: w - w.mean(axis=1, keepdims=True), "mean subtracted, along axis 0", {}),
        (lambda w: w[:, ::-1], "elements in reverse order", {}),
        (lambda w: np.roll(w, 1, axis=1), "off by one along axis 0", {}),
        (lambda w: w[:, [1, 0, 3, 2]], "the right numbers in the wrong places", {}),
        (lambda w: w + 0.5, "off by the constant 1/2", {}),
        (
            lambda w: w + [[0, 0, k, 0] for k in (2, 3, 5, 1)],
            "one element of 4 ([2] of the operand)",
            {},
        ),
        (swapped, "transposed", SQUARES),
        (lambda w: w + swapped(w), "cotangent is symmetrised", SQUARES),
        (lambda w: w * np.tri(3).ravel(), "only the lower triangle", SQUARES),
        (lambda w: w.reshape(2, 2, 2, 2)[::-1, :, ::-1].reshape(4, 4), "in operand and", GRID),
        (lambda w: w.reshape(2, 2, 2, 2).transpose(1, 2, 3, 0).reshape(4, 4), "another ord", GRID),
    ],
)
def test_mistake_is_named(change, says, where):
    want = SQUARE if where is SQUARES else FULL
    assert says in named(change(want), want, **where)


@pytest.mark.parametrize(
    "change, says",
    [
        (lambda w: w + np.eye(4, k=1), "numbers where zeros belong"),
        (lambda w: w * np.where(X > 1.2, 3.0, 1.0), "factor 3 where x >= "),
        (lambda w: w * [2, 1, 1, 2], "factor 2 at both ends of x (2 of 4 entries)"),
        (lambda w: np.where(np.diag(X > 1.2), 0.0, w), "zero where x >= "),
    ],
)
def test_places_are_named(change, says):
    want = np.diag(np.cos(X))
    assert says in named(change(want), want)


def test_what_is_broadcast_along_another_axis():
    weights = RNG.uniform(0.5, 2.0, (3, 3))
    right = np.einsum("ij,ki->kij", weights, np.eye(3)).reshape(3, 9)
    wrong = np.einsum("ij,kj->kij", weights, np.eye(3)).reshape(3, 9)
    where = np.zeros((3, 3)), np.zeros(3)
    assert "axis 1 of the operand in place of axis 0" in named(wrong, right, *where)


def test_nothing_is_named_where_it_is_not_sure():
    assert named(FULL, FULL) == ""
    assert named(FULL + RNG.standard_normal((4, 4)), FULL) == "wrong numbers"
    assert name_ratio(FULL + 1.0, FULL, single=False) == ""


def test_operands_that_are_exchanged():
    place = Place([Array(X), Array(Y)], Array(Y), ["a", "b"])
    a, b = FULL, RNG.standard_normal((4, 4))
    allowed = 1e-9 * np.ones((4, 8))
    evidence = Evidence(np.hstack([b, a]), np.hstack([a, b]), allowed, place)
    assert name_jacobian([evidence]) == "swapped operands a and b"
