"""Every file of `chainrules_tape.fast` can be unplugged: the bits of all answers stay the same."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_tape import Tape, grad, value_and_grad
from chainrules_tape.tape import FastVariable
from tests.fuzz.hashes import of_block
from tests.fuzz.hashes import parts as parts_of
from tests.plain import FILES, ROOM, without

X = np.linspace(-1.0, 2.0, 12).reshape(3, 4)
PLACES = np.array([2, 0, 2])


def whole(x):
    return np.sum(x[:] * x[...] * -0.0) + np.sum(x[None])


def parts(x):
    y = 0.0
    for i in range(3):
        y = y + np.sum(x[i] * x[i, 1:3].sum()) - x[i, 0] * x[0, i]
    return y


def rows(x):
    return np.sum(x[PLACES] ** 2) + np.sum(x[:2] * x[PLACES[:2]]) + np.sum(x[PLACES, 1] * x[0, 0])


def joined(x):
    return np.sum(np.concatenate([x, np.sin(x)])[1:5] * np.stack([x[0], x[1], x[2], x[0]]))


def factored(x):
    a = x @ x.T + 3.0 * np.eye(3)
    return np.linalg.slogdet(a)[1] + np.sum(np.linalg.inv(a) @ x) + np.linalg.cholesky(a)[2, 1]


def written(x):
    y = x * 1.0
    y[0] = x[1] * x[2]
    y[:, 1] += x[:, 0]
    return np.sum(y * x) + np.sum(y[0] / 3.0)


def arithmetic(x):
    return np.sum((1.0 / (x + 5.0) - x * X + X * x) * np.maximum(x, 0.5) * (x > 0.0))


PROGRAMS = (whole, parts, rows, joined, factored, written, arithmetic)


def answers():
    """Values, gradients and products with Hessians, to the last bit but the sign of their zeros.

    A part is reshaped back, or added to zeros, where -0.0 becomes 0.0.
    """
    found = []
    for f in PROGRAMS:
        y, bar = value_and_grad(f)(X)
        second = grad(lambda x, f=f: np.sum(grad(f)(x) * X))(X)
        found += [np.asarray(a).tobytes() for a in (y, bar, second + 0.0)]
    return found


def test_each_file_is_plugged_in_by_a_class_of_its_own():
    assert FILES == ("concatenate", "dispatch_by_type", "slices")


@pytest.mark.parametrize(
    "files", [(), *[(file,) for file in FILES]], ids=lambda f: str(*f) or "all"
)
def test_answers_are_the_same_bits(files):
    plugged = answers()
    with without(*files):
        assert answers() == plugged


def test_the_short_ways_are_gone():
    with without(), Tape() as tape:
        x = tape.variable(X)
        assert not isinstance(x, FastVariable)
        assert not [c for c in type(x).__mro__ if c.__module__.startswith(ROOM)]


def to_single(x):
    """Return what a value is: of arrays to the last bit, of numbers to single precision.

    Without the short ways, the uses of a Python number are added up in another order.
    """
    return parts_of(np.float32(x) if np.ndim(x) == 0 and np.isrealobj(x) else x)


@pytest.mark.parametrize("block", [7, 8])
def test_random_programs_give_the_same_bits(block):
    """Fifty programs of each; ``make test-plain`` runs many more."""
    plugged = of_block(block, to_single)
    with without():
        assert of_block(block, to_single) == plugged
