"""Sums of products of all steps as one product, where bits do not matter."""

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.calls import joined_rows
from chainrules_compile.passes import LOOSE, PASSES
from chainrules_compile.passes.products import with_joined_products
from chainrules_py.extend import flatten
from chainrules_tape import hvp, value_and_grad

RNG = np.random.default_rng(0)
W, B = RNG.standard_normal((3, 3)) / 2, RNG.standard_normal(3)
STEPS = 6


def vectors(w, b, x):
    for _ in range(STEPS):
        x = np.tanh(w @ x + b)
    return np.sum(x * x)


def from_the_right(w, b, x):
    for _ in range(STEPS):
        x = np.tanh(x @ w) + b
    return np.sum(x * x)


def rows(w, b, x):
    xs = np.stack([x, 2.0 * x])
    for _ in range(STEPS):
        xs = np.sin(xs @ w + b)
    return np.sum(xs * xs)


def with_more(w, b, x):
    y = np.sum(w * w) + np.sum(w @ w)
    for _ in range(STEPS):
        x = np.tanh(w @ x) * b
    return np.sum(x * x) * y


def twice_the_same(w, b, x):
    y = w @ x
    for _ in range(STEPS):
        x = np.tanh(w @ x) + y
    return np.sum(x) * np.sum(w @ x) + np.sum(b)


def in_two_weights(w, b, x):
    u = np.outer(b, b)
    for _ in range(STEPS):
        x = np.tanh(w @ x + u @ x)
    return np.sum(x * x)


FUNCTIONS = (vectors, from_the_right, rows, with_more, twice_the_same, in_two_weights)
FORMS = {
    "gradient": lambda f: value_and_grad(f, (0, 1, 2)),
    "hvp": lambda f: lambda w, b, x: hvp(lambda w: f(w, b, x), (w,), (w,)),
}


def leaves(y):
    return flatten(y)[0]


@pytest.mark.parametrize("form", ["gradient", pytest.param("hvp", marks=pytest.mark.slow)])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_one_product_is_the_sum_of_all(f, form):
    g = FORMS[form](f)
    compiled = compile(g, exact=False)
    for k in (1.0, -0.5):
        for x in (B, B[::-1], np.zeros(3)):
            for found, wanted in zip(
                leaves(compiled(k * W, B, x)), leaves(g(k * W, B, x)), strict=True
            ):
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    joined = [c for c in compiled.programs[0].program if c.function is joined_rows]
    assert joined
    assert len(joined) == len({c.operands for c in joined})


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_stays_so(odd):
    g, x = value_and_grad(rows, (0, 1, 2)), B.copy()
    compiled = compile(g, exact=False)
    compiled(W, B, x)
    x[1] = odd
    with np.errstate(all="ignore"):
        for found, wanted in zip(leaves(compiled(W, B, x)), leaves(g(W, B, x)), strict=True):
            np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))


def test_few_products_stay():
    def f(w, x):
        return np.sum(np.tanh(w @ np.tanh(w @ x)))

    compiled = compile(value_and_grad(f), exact=False)
    compiled(W, B)
    assert "joined_rows" not in compiled.source


def test_bits_are_kept_otherwise():
    assert with_joined_products in LOOSE.values()
    assert with_joined_products not in PASSES.values()


def test_rows_of_vectors_and_matrices():
    found = joined_rows(np.arange(2.0), np.ones(2), shape=(2, 2))
    np.testing.assert_array_equal(found, [[0.0, 1.0], [1.0, 1.0]])
    found = joined_rows(np.ones((2, 2)), np.zeros((1, 2)), shape=(3, 2))
    np.testing.assert_array_equal(found, [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
