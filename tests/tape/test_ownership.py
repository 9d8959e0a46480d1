"""What is handed out is nobody else's memory: cotangents, tangents and values may be written to."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_tape import grad, hvp, jacobian, jvp, vjp

FUNCTIONS = {
    "itself": lambda x: x,
    "a reshaping": lambda x: x.reshape(2, 3),
    "a slice": lambda x: x[::2],
    "a transposition": lambda x: x.reshape(2, 3).T,
    "a sum with nothing": lambda x: x + 0,
    "a concatenation": lambda x: np.concatenate([x, x]),
    "twice the same": lambda x: (x, x),
    "a broadcast": lambda x: np.broadcast_to(x, (3, 6)),
}


def arrays(x):
    return list(x) if isinstance(x, tuple) else [x]


def disjoint(*groups):
    flat = [a for group in groups for a in group]
    for k, a in enumerate(flat):
        assert not any(np.shares_memory(a, b) for b in flat[:k])


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_cotangents_are_nobody_elses(name):
    f, x = FUNCTIONS[name], np.arange(6.0)
    y, pullback = vjp(f, x)
    seeds = tuple([np.ones_like(a) for a in arrays(y)])
    given = seeds if isinstance(y, tuple) else seeds[0]
    first, second = pullback(given), pullback(given)
    disjoint(first, second, seeds, [x])
    disjoint(first, arrays(y)[:1], [x])
    first[0][...] = 7.0
    np.testing.assert_array_equal(pullback(given)[0], second[0])


@pytest.mark.parametrize("name", list(FUNCTIONS))
def test_tangents_are_nobody_elses(name):
    f, x, x_dot = FUNCTIONS[name], np.arange(6.0), np.ones(6)
    y, y_dot = jvp(f, (x,), (x_dot,))
    disjoint([x], [x_dot], arrays(y)[:1])
    for t in arrays(y_dot):
        assert t.flags.writeable
        disjoint([t], [x], [x_dot])


def test_gradients_that_are_one_array_are_given_apart():
    x, y, c = np.arange(6.0), np.arange(6.0), np.ones(6)
    for pair in ((x, y), (x, x)):
        disjoint(grad(lambda a, b: np.sum(a + b), (0, 1))(*pair), [x, y])
    disjoint([grad(lambda a: np.sum(a * c))(x)], [c, x])
    disjoint(vjp(lambda a, b: a * b, x, c)[1](np.ones(6)), [c, x])
    disjoint(vjp(lambda a: np.dot(a, c), x)[1](1.0), [c, x])
    disjoint(hvp(lambda a, b: np.sum(a * b), (x, y), (c, c)), [c, x, y])
    disjoint([jacobian(lambda a: a)(x)], [x])
    assert x.flags.writeable
    assert c.flags.writeable


@pytest.mark.parametrize("n", [3, 4, 20])
def test_gradients_of_many_are_given_apart(n):
    """One cotangent for all, parts of one array, and the arguments themselves."""
    table, seed = np.arange(6.0 * n).reshape(n, 6), np.ones(6)
    xs = [*table[: n // 2], *[row.copy() for row in table[n // 2 :]]]
    same = vjp(lambda xs: sum(xs), xs)[1](seed)[0]
    parts = grad(lambda xs: np.sum(np.concatenate(xs)))(xs)
    squares = grad(lambda xs: sum([0.5 * np.dot(x, x) for x in xs]))(xs)
    disjoint(same, parts, squares, [seed], [table], xs[n // 2 :])
    np.testing.assert_array_equal(squares, table)
    np.testing.assert_array_equal(same + parts, np.ones((2 * n, 6)))


def test_an_array_of_somebodys_is_copied_once():
    """What a pull gives back is what its rule had saved, and somebody else has that as well."""
    kept = []

    def f(x):
        y = x * 1.0
        kept.append(y.__payload__)
        return np.sum(y)

    x = np.arange(3.0)
    g = grad(f)(x)
    disjoint([g], [x], kept)
