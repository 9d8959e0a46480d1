"""Sums of products have NumPy's bits at any size: gradients in what is spread over an array."""

import itertools
import math
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning
from chainrules_tape import grad, value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.c.test_c import compiled
from tests.engines.compile.shadow import alike

pytestmark = pytest.mark.usefixtures("native")
# From 16,384 products on NumPy's are sums by `einsum`; what is short, or spread, is one of BLAS's.
SHAPES = [(16384,), (128, 128), (10, 20, 30), (16383,), (16385,), (131072,), (127, 129), (129, 127)]
SHAPES += [(4096, 8, 4), (64, 8, 32), (2048, 8), (2341, 7), (4, 5000), (16384, 1), (5, 4, 30, 40)]
SHAPES += [(4, 5, 6, 7)]
EXPRESSIONS = {
    "products": lambda x, a: x * a,
    "quotients": lambda x, a: x / a,
    "squares of quotients": lambda x, a: (x / a) ** 2,
    "masked": lambda x, a: np.where(x > 0, x * a, 0.0),
    "sines": lambda x, a: np.sin(x * a),
    "sines times": lambda x, a: np.sin(x) * a,
    "exponentials": lambda x, a: np.exp(-np.abs(a * x)) * x,
    "shares": lambda x, a: np.log(np.abs(x / a) + 0.1) * (x / a),
    "sums": lambda x, a: np.tanh(x + a),
}
ENDS = {"ones": np.sum, "numbers": lambda y: np.sum(y * np.cos(y))}
WAYS = {"C": lambda x: x, "turned": np.transpose, "backwards": lambda x: x[::-1]}
NUMBERS = {
    "sum": np.sum,
    "mean": np.mean,
    "first": lambda x: x.reshape(-1)[0],
    "squares": lambda x: np.sum(x * x, axis=0),
    "variance": lambda x: np.sqrt(np.mean((x - np.mean(x, axis=0)) ** 2, axis=0) + 0.1),
    "last axis": lambda x: np.sum(x, axis=-1, keepdims=True),
}


def forms(shape):
    """Return the shapes that are spread over another."""
    kept = itertools.product(*[sorted({1, n}) for n in shape])
    found = {(), (1,), shape[-1:], *kept} - {shape}
    return sorted(found, key=lambda form: (len(form), form))


def check(f, *shapes, dtype="d"):
    """Compare a function with its programs, made of ones and made of random numbers."""
    rng = np.random.default_rng(0)
    draws = [[rng.standard_normal(s).astype(dtype) for s in shapes] for _ in range(3)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", RecordingWarning)
        for first in ([np.ones(s, dtype) for s in shapes], draws[-1]):
            program = compiled(f)
            program(*first)
            for xs in draws:
                found, wanted = program(*xs), f(*xs)
                assert near(found, wanted) or alike(f, xs, {}, found, wanted), program.source


def total(name, end, way="C"):
    return lambda x, a: ENDS[end](EXPRESSIONS[name](WAYS[way](x), a))


def in_each(name, shape, way="C"):
    """Return the values and gradients in an array and in all that is spread over it."""
    losses = [value_and_grad(total(name, end, way), (0, 1)) for end in ENDS]

    def each(x, *others):
        return tuple([f(x, a) for f in losses for a in others])

    return each, shape[::-1] if way == "turned" else shape, *forms(shape)


def in_numbers(name, shape):
    """Return the gradients where what is spread is computed of the array."""

    def loss(end, of):
        return grad(lambda x: total(name, end)(x, of(x)))

    losses = [loss(end, of) for of in NUMBERS.values() for end in ENDS]
    # Of what is divided by numbers that cancel, two ways of rounding have no digit in common.
    away = np.linspace(3.0, 5.0, math.prod(shape)).reshape(shape)
    return lambda x: tuple([f(x + away) for f in losses]), shape


@pytest.mark.parametrize(
    "shape, name, way",
    [
        ((16384,), "sines", "C"),
        ((128, 128), "quotients", "C"),
        ((10, 20, 30), "sums", "C"),
        ((8, 64, 32), "products", "turned"),
    ],
)
def test_gradients_in_what_is_spread(shape, name, way):
    check(*in_each(name, shape, way))


@pytest.mark.parametrize(
    "shape, name", [((16384,), "squares of quotients"), ((128, 128), "shares")]
)
def test_gradients_through_numbers_of_the_array(shape, name):
    check(*in_numbers(name, shape))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_all_gradients_in_what_is_spread(shape, name):
    for way in WAYS:
        check(*in_each(name, shape, way))


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_all_gradients_through_numbers_of_the_array(shape, name):
    check(*in_numbers(name, shape))


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_single_precision(shape):
    check(*in_each("sines", shape), dtype="f")
    check(*in_numbers("squares of quotients", shape), dtype="f")


def test_sums_of_rows_of_many_products_are_c():
    # A bias and a scale of a batch: only sums along the last axis are left to NumPy.
    f = value_and_grad(lambda x, g, b: np.sum(np.tanh(x * g + b)), (0, 1, 2))
    xs = [np.random.default_rng(0).standard_normal(s) for s in ((256, 128), (128,), (128,))]
    program = compiled(f)
    assert near(program(*xs), f(*xs))


@pytest.mark.parametrize("axis", [None, 0])
def test_what_is_counted_of_whole_numbers_are_those_that_are_not_zero(axis):
    """They were added: as many for a mask of ones, of which the program was recorded."""
    count = compiled(lambda x: np.count_nonzero(x, axis=axis))
    for factor in (1, 3, -2):
        x = factor * np.array([[0, 1, 1], [1, 0, 1]])
        assert np.array_equal(count(x), np.count_nonzero(x, axis=axis))
