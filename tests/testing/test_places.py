"""Masks and places are varied: a rule that forgets them is found, and a right one is not."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import LinearMap, NoTangent, primitive, rule
from chainrules_py.testing import RuleCheckError, check_rule

X = np.array([0.5, -1.25, 2.0])
N = NoTangent()
MASKS = [[True, True, True], [True, True, False], [False, False, False], [True, False, True]]
RISING = [[0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 2], [0, 0], [0, 1]]


def judged(value, body, *operands):
    f = primitive(value)
    rule(f)(body)
    return check_rule(f, *operands)


def masked(x, m):
    return np.where(m, x, 0.0)


def picked(x, m):
    return x[m]


def scattered(x, m, b):
    x_bar = np.zeros_like(x)
    x_bar[m] = b
    return x_bar


def packed(x, m, b):
    x_bar = np.zeros_like(x)
    x_bar[: len(b)] = b
    return x_bar


WRONG_MASKS = {
    "forgotten by both": lambda x, m: (masked(x, m), (LinearMap(lambda t: t, lambda b: b), N)),
    "forgotten by the pull": lambda x, m: (
        masked(x, m),
        (LinearMap(lambda t: np.where(m, t, 0.0), lambda b: b), N),
    ),
    "its first": lambda x, m: (
        masked(x, m),
        (LinearMap(lambda t: np.where(m, t, 0.0), lambda b: np.where(m[0], b, 0.0)), N),
    ),
}


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("name", WRONG_MASKS)
def test_a_rule_that_forgets_a_mask_is_found(name, mask):
    with pytest.raises(RuleCheckError):
        judged(masked, WRONG_MASKS[name], X, np.array(mask))


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_a_right_rule_of_a_mask_is_no_alarm(mask):
    mask = np.array(mask)
    body = lambda x, m: (
        masked(x, m),
        (LinearMap(lambda t: np.where(m, t, 0.0), lambda b: np.where(m, b, 0.0)), N),
    )
    judged(masked, body, X, mask)
    body = lambda x, m: (picked(x, m), (LinearMap(lambda t: t[m], lambda b: scattered(x, m, b)), N))
    judged(picked, body, X, mask)


@pytest.mark.parametrize("mask", MASKS[:2], ids=str)
def test_a_rule_that_packs_what_a_mask_picks_is_found(mask):
    body = lambda x, m: (picked(x, m), (LinearMap(lambda t: t[m], lambda b: packed(x, m, b)), N))
    with pytest.raises(RuleCheckError):
        judged(picked, body, X, np.array(mask))


def test_a_flag_is_given_the_other_way():
    body = lambda x, flag: (x * 2.0 if flag else x * 3.0, (LinearMap(*[lambda t: 2.0 * t] * 2), N))
    with pytest.raises(RuleCheckError, match="another mask"):
        judged(lambda x, flag: x * 2.0 if flag else x * 3.0, body, X, True)


def summed(x, ids):
    y = np.zeros(int(ids.max()) + 1)
    np.add.at(y, ids, x)
    return y


@pytest.mark.parametrize("ids", RISING, ids=str)
@pytest.mark.parametrize("slip", ["sorted", "counted"])
def test_a_rule_of_rising_places_is_found(slip, ids):
    ids = np.array(ids)
    pulls = {
        "sorted": lambda b, i: b[np.sort(i)],
        "counted": lambda b, i: np.repeat(b, np.bincount(i)),
    }
    wrong = lambda x, i: (
        summed(x, i),
        (LinearMap(lambda t: summed(t, i), lambda b: pulls[slip](b, i)), N),
    )
    x = np.arange(1.0, len(ids) + 1.0)
    with pytest.raises(RuleCheckError, match="another order of the indices"):
        judged(summed, wrong, x, ids)
    right = lambda x, i: (summed(x, i), (LinearMap(lambda t: summed(t, i), lambda b: b[i]), N))
    judged(summed, right, x, ids)


def test_places_that_have_to_rise_are_given_in_no_other_order():
    """Of a part without elements ``reduceat`` gives the next, which this rule does not know."""

    def value(x, starts):
        return np.add.reduceat(x, starts)

    def body(x, starts):
        ends = np.append(starts[1:], len(x))
        pull = lambda b: np.repeat(b, ends - starts)
        return value(x, starts), (LinearMap(lambda t: value(t, starts), pull), N)

    with pytest.raises(RuleCheckError, match="wrong only for a repeated index"):
        judged(value, body, np.arange(1.0, 6.0), np.array([0, 2, 4]))


def test_a_distance_of_points_of_which_some_are_equal_is_skipped():
    def value(a, b):
        return np.sqrt(np.sum((a[:, None] - b[None]) ** 2, -1))

    def body(a, b):
        u = (a[:, None] - b[None]) / value(a, b)[..., None]
        of_a = lambda t: np.sum(u * t[:, None], -1), lambda g: np.sum(u * g[..., None], 1)
        of_b = lambda t: -np.sum(u * t[None], -1), lambda g: -np.sum(u * g[..., None], 0)
        return value(a, b), (LinearMap(*of_a), LinearMap(*of_b))

    rng = np.random.default_rng(0)
    judged(value, body, rng.standard_normal((3, 3)), rng.standard_normal((4, 3)))


def test_a_count_of_rounds_is_no_length():
    """Longer operands are matrices for which the rounds do not converge."""
    a = np.array([[4.0, 0.5, -0.25], [0.25, 5.0, 0.5], [-0.5, 0.25, 6.0]])

    def value(a, b):
        x, d = np.zeros_like(b), np.diag(a)
        for _ in range(300):
            x = (b - (a @ x - d * x)) / d
        return x

    def body(a, b):
        y = value(a, b)
        of_a = lambda t: value(a, -t @ y), lambda g: -np.outer(value(a.T, g), y)
        return y, (LinearMap(*of_a), LinearMap(lambda t: value(a, t), lambda g: value(a.T, g)))

    judged(value, body, a, X)
