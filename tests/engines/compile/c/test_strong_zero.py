"""Strong products in C have the zeros of NumPy's, with their signs."""

import itertools
import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning
from chainrules_tape import grad
from tests.engines.compile.c.near import near
from tests.engines.compile.c.test_c import compiled

pytestmark = pytest.mark.usefixtures("native")
OPERATIONS = {
    "roots": lambda x: np.sqrt(x) + np.sqrt(np.abs(x)),
    "logarithms": lambda x: np.log(x) * np.log1p(x),
    "cube root": np.cbrt,
    "power": lambda x: np.abs(x) ** 0.5,
    "quotient": lambda x: 1 / x + x / np.flip(x),
    "arcsine": lambda x: np.arcsin(x) + np.arctanh(x),
    "largest": lambda x: np.max(x.reshape(5, -1), axis=1, keepdims=True) + np.maximum(x, 0.5)[:1],
    "spread": lambda x: np.std(x.reshape(5, -1), axis=0) + np.hypot(x, x[::-1])[:1],
    "numbers": lambda x: np.sqrt(x[1]) * np.cbrt(x[0]) / x[2],
}
SEEDS = (-0.0, 0.0, -0.0, 1e-300, -1.0)
OPERANDS = (
    (0.1, 0.2, 0.3, 0.4, 0.5),
    (0.5, 0.0, 0.5, 0.5, 0.5),
    (0.5, 0.5, -0.0, 0.0, 0.0),
    (np.inf, -np.inf, np.nan, 1e-310, 2.0),
    (1e200, -1.0, 1.0, 1e-200, 0.0),
)


@pytest.mark.parametrize(
    "name, dtype",
    [
        pytest.param(name, dtype, marks=() if fast else pytest.mark.slow)
        for name, dtype in itertools.product(OPERATIONS, (np.float64, np.float32))
        for fast in [name == "power" and dtype is np.float64]
    ],
)
def test_zeros_of_cotangents_have_the_signs_that_numpy_gives_them(name, dtype):
    def derivative(x, s):
        y = OPERATIONS[name](x)
        return np.sum(y * s[: y.size].reshape(y.shape)) if np.ndim(y) else y * s[0]

    pull = grad(derivative)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", RecordingWarning)
        g = compiled(pull)
        s = np.tile(SEEDS, 30).astype(dtype)
        for x in OPERANDS:
            given = np.tile(x, 30).astype(dtype)
            for seeds in (s, -s):
                assert near(g(given, seeds), pull(given, seeds)), x
