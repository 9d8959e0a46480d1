"""Links: a pair of them in one number, as deep programs keep it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from chainrules_tape import Tape, checkpoint, debug_nans, grad, hessian, jacobian
from chainrules_tape.core.cotangent_routing import DEEP, pair, parents
from chainrules_tape.fast import dispatch_by_type

LAST = (1 << 26) - 1


@pytest.mark.parametrize("seed", range(5))
def test_a_pair_is_the_two_links(seed):
    rng = random.Random(seed)
    several = [0, 1, DEEP, LAST, LAST + 1, 1 << 27, 1 << 40]
    several += [int(2 ** rng.uniform(0, 28)) for _ in range(300)]
    for i in several:
        for j in (*several[:7], rng.choice(several)):
            assert parents(pair(i, j)) == (i, j)
            assert type(pair(i, j)) is (float if max(i, j) <= LAST else tuple)


X = np.linspace(0.2, 0.8, 5)
CALLS = (
    lambda x, y: x * y,
    lambda x, y: x + y,
    lambda x, y: x - 0.5 * y,
    lambda x, y: x / (2.0 + y * y),
    lambda x, y: np.hypot(x, y),
    lambda x, y: np.maximum(x, y) * np.sin(y),
    lambda x, y: np.where(x > y, x * y, y),
)


def drawn(seed):
    """A program of thirty calls of two values each, that were made any time before."""
    rng = random.Random(seed)
    calls = [(rng.choice(CALLS), rng.random(), rng.random()) for _ in range(30)]

    def program(x):
        made = [x, x * x]
        for f, i, j in calls:
            made.append(f(made[int(i * len(made))], made[int(j * len(made))]))
        return made[-1] + made[-2]

    return program


WAYS = {
    "grad": lambda f, x: grad(lambda x: np.sum(f(x)))(x),
    "grad of a number": lambda f, x: grad(f)(float(x[0])),
    "grad of grad": lambda f, x: grad(grad(f))(float(x[0])),
    "hessian": lambda f, x: hessian(lambda x: np.sum(f(x)))(x),
    "jacobian": lambda f, x: jacobian(f)(x),
    "checkpoint": lambda f, x: grad(lambda x: np.sum(checkpoint(f)(x)))(x),
    "debug_nans": lambda f, x: debug_nans()(grad(lambda x: np.sum(f(x))))(x),
}


def listed(f, x):
    with Tape() as tape:
        f(tape.variable(x))
    return str(tape)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", range(4))
def test_programs_whose_pairs_are_numbers(way, seed, monkeypatch):
    f, run = drawn(seed), WAYS[way]
    expected, text = run(f, X), listed(f, X)
    monkeypatch.setattr(dispatch_by_type, "DEEP", 0)
    np.testing.assert_array_equal(run(f, X), expected)
    assert listed(f, X) == text


def test_a_deep_program():
    """Its later pairs are numbers, and its earlier ones are not."""

    def deep(x):
        y = x
        for _ in range(DEEP):
            y = 0.5 * (y * x) + x
        return y

    x = 0.3
    assert grad(deep)(x) == pytest.approx(1 / (1 - 0.5 * x) ** 2, rel=1e-12)
