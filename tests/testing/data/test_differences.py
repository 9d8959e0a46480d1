"""Functions that round inside: as far as that goes, and no farther, a rule may be another."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_diagnosis import grain
from tests.testing.planted.build import slope
from tests.testing.planted.judging import ask
from tests.testing.planted.written import summing


def rounded(x, dtype):
    return np.asarray(x, dtype)


def wide(x):
    return np.asarray(x, float)


INSIDE = {
    "a function": (
        lambda x, t: wide(np.tanh(rounded(x, t))),
        lambda x: 1 - np.tanh(x) ** 2,
    ),
    "a term": (
        lambda x, t: x + wide(np.exp(rounded(x, t))),
        lambda x: 1 + np.exp(x),
    ),
    "a factor outside": (lambda x, t: 0.1 * wide(np.exp(rounded(x, t))), lambda x: 0.1 * np.exp(x)),
    "the result": (lambda x, t: wide(rounded(np.sin(x), t)), np.cos),
    "a product": (lambda x, t: wide(rounded(x, t) * rounded(x, t)), lambda x: 2 * x),
}
SUMS = {
    "a sum": (
        lambda x, t: 0.1 * np.sum(wide(np.tanh(rounded(x, t)))),
        lambda x: 0.1 * (1 - np.tanh(x) ** 2),
    ),
    "a logarithm of a sum": (
        lambda x, t: float(np.log(np.sum(np.exp(rounded(x, t))))),
        lambda x: np.exp(x) / np.exp(x).sum(),
    ),
}


def made(name, factor, dtype=np.float32):
    if name in SUMS:
        value, partial = SUMS[name]
        return summing(lambda x: value(x, dtype), lambda x: factor * partial(x))
    value, partial = INSIDE[name]
    return slope(lambda x: value(x, dtype), lambda _y, x: factor * partial(x))


DAILY = [("a function", 4), ("a sum", 5)]
"""Calls that were called wrong; there are more at night."""
DRAWS = [(name, seed) for name in (*INSIDE, *SUMS) for seed in range(4, 20)]


@pytest.mark.parametrize(
    "name, seed",
    [pytest.param(*d, marks=() if d in DAILY else pytest.mark.nightly) for d in DRAWS],
)
def test_rounding_inside_is_none_of_the_rules(name, seed):
    """It was held against rules, or not, as the draw would have it."""
    x = np.random.default_rng(seed).standard_normal(3)
    right, wrong = [ask(made(name, k), (x,), seed=seed) for k in (1.0, 1.25)]
    assert not right.is_alarm, right.error
    assert wrong.is_alarm


SMOOTH = {
    "a sine": np.sin,
    "a pole": lambda x: 1 / x,
    "a logarithm": lambda x: np.log(np.abs(x)),
    "bounds": lambda x: np.clip(x, -x[0], x[1]),
    "an order": np.sort,
    "a kink": np.abs,
    "short waves": lambda x: np.sin(1e6 * x),
    "a jump": lambda x: np.where(x > x[1], 2.0, x),
    "an inverse": lambda x: np.linalg.inv(3 * np.eye(3) + np.outer(x, x)),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SMOOTH)
def test_what_bends_is_not_what_is_rounded(name, seed):
    rng = np.random.default_rng(seed)
    x, d = rng.standard_normal((2, 3))
    there = lambda t: SMOOTH[name](x + t * d)
    assert grain(there) == 0.0
    narrow = grain(lambda t: there(t).astype(np.float32))
    assert narrow == 0.0 if name == "short waves" else 2.0**-26 < narrow < 2.0**-15
