"""Orders in memory: results of programs lie as those of their functions do, and so do their sums.

The last digits of a sum hang on the order in which NumPy walks over an array, and those of a
product of matrices on whether BLAS may read its operands where they are. A seed that
is the same number in all elements is a plain one beside noted arrays, which libraries pull.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py.extend import flatten
from chainrules_tape import grad, hessian, hvp, jvp, value_and_grad

RNG = np.random.default_rng(7)
LIES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "backwards": lambda x: x[::-1],
    "turned": lambda x: x[..., ::-1],
    "gaps": lambda x: np.repeat(x, 2, -1)[..., ::2],
    "spread": lambda x: np.broadcast_to(x[:1], x.shape),
}


def written(x, y):
    z = np.zeros(x.shape, like=x)
    z[:, 0] = x[:, 0] / (x[:, 0] @ x[:, 0] + 1.0)
    z[:, 1] = z[:, 0] * 3.3 + y[:, 1]
    return z**3


FUNCTIONS = {
    "sin": lambda x, y: np.sin(x),
    "product": lambda x, y: x * y,
    "quotient": lambda x, y: x / (y * y + 1.0),
    "square": lambda x, y: x * x,
    "where zero": lambda x, y: np.where(x > 0, 0.0, y),
    "where": lambda x, y: np.where(x > 0.1, x, y) * x,
    "outer": lambda x, y: np.outer(x[:, 0], y[0]),
    "outer of one": lambda x, y: np.outer(x[0], x[0]),
    "matrices": lambda x, y: x @ y.T,
    "matrix and vector": lambda x, y: x @ y[0],
    "vector and matrix": lambda x, y: x[:, 0] @ y,
    "rows": lambda x, y: x - np.mean(y, axis=1, keepdims=True),
    "columns": lambda x, y: x * np.sum(y, axis=0),
    "transposed": lambda x, y: x.T + y.T,
    "joined": lambda x, y: np.concatenate([x, y], 1),
    "flat": lambda x, y: (x * y).reshape(-1) ** 2,
    "part": lambda x, y: x[1:, ::2] * y[1:, ::2],
    "maximum": lambda x, y: np.maximum(x, y),
    "summed": lambda x, y: np.cumsum(x * y, axis=0),
    "written": written,
    "several uses": lambda x, y: np.sin(x) + x + y * x,
    "uses of one number": lambda x, y: x + x.T.T + 2.0 * x + x[::-1],
    "uses apart": lambda x, y: np.concatenate([np.sin(x), x, x * y], 0),
    "scaled": lambda x, y: (x + x) / np.sum(x) - np.max(y),
    "by rows": lambda x, y: np.stack([x[0] * y[1], x[1], np.sin(x[0])]),
    "filled alike": lambda x, y: (np.full_like(x, 1.5) + x) * y,
    "in a buffer of a shape": lambda x, y: np.zeros_like(x, shape=(3, 2)) + x[0, 0] * y[0, 0],
    "slopes": lambda x, y: np.gradient(x, axis=0) * y,
    "copied in order": lambda x, y: x.copy("K") * y.T.copy("A").T,
}
LOSSES = {
    "sum": lambda f: lambda x, y: np.sum(f(x, y)),
    "mean": lambda f: lambda x, y: np.mean(f(x, y)),
    "step": lambda f: lambda x, y: np.sum(x - 0.1 * grad(lambda x: np.sum(f(x, y)))(x)),
}


def forms(f):
    yield lambda x, y: f(x, y)
    for loss in LOSSES.values():
        g = loss(f)
        yield value_and_grad(g, (0, 1))
        yield lambda x, y, g=g: jvp(lambda x: g(x, y), (x,), (y,))
        yield lambda x, y, g=g: hvp(lambda x: g(x, y), (x,), (y,))


def compare(f, shape, lies):
    for form in forms(f):
        program = compile(form)
        for _ in range(3):
            given = [LIES[name](RNG.standard_normal(shape)) for name in lies]
            wanted, found = flatten(form(*given))[0], flatten(program(*given))[0]
            for x, y in zip(wanted, found, strict=True):
                np.testing.assert_allclose(y, x, rtol=1e-12, atol=1e-13 * np.max(np.abs(x)) + 1e-16)
                assert getattr(x, "strides", None) == getattr(y, "strides", None)
        assert program.programs, program.explain()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_lie_as_they_do_without(name):
    """Between 4,096 and 16,384 elements a spread cotangent is an array, and above it a view."""
    for shape, lies in (((4, 3), ("F", "gaps")), ((66, 70), ("F", "C")), ((5, 7), ("turned", "F"))):
        compare(FUNCTIONS[name], shape, lies)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(2, 2), (5, 7), (40, 41), (66, 70), (128, 128), (129, 130)])
def test_results_in_all_orders(name, shape):
    for lies in itertools.product(LIES, LIES):
        compare(FUNCTIONS[name], shape, lies)


def test_constant_hessians():
    """Nothing is computed but a copy, which lies as the Hessian does."""
    a, x = RNG.standard_normal((4, 4)), RNG.standard_normal(4)
    for f in (lambda x: x @ x, lambda x: np.sum(x * x), lambda x: x @ a @ x):
        wanted = hessian(f)(x)
        assert compile(hessian(f))(x).strides == wanted.strides


def test_arrays_of_no_elements_are_written_to():
    """Whatever their strides are."""
    f = compile(value_and_grad(lambda x: np.sum(x[::-1] * x + np.flip(x, -1) ** 2)))
    f(np.ones((4, 5)))
    y, x_bar = f(np.zeros((0, 4)))
    assert y == 0.0
    assert x_bar.shape == (0, 4)
