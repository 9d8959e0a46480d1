"""Counts that hang on numbers, wherever NumPy or Python takes one: asked anew at each call.

A count is a number of NumPy's, which C code takes for "an int or a sequence": a shape, a size, an
axis, how often a list is repeated. The compiled function is called where the count is another.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from chainrules_compile import RecordingError, compile
from chainrules_tape import value_and_grad

pytestmark = pytest.mark.filterwarnings("ignore")

COUNTS = {
    "sum": lambda x: np.sum(x > 1),
    "method": lambda x: (x > 1).sum(),
    "count_nonzero": lambda x: np.count_nonzero(x > 1),
    "argmax": np.argmax,
    "searchsorted": lambda x: np.searchsorted(np.sort(x), 1.5),
    "int32": lambda x: np.sum(x > 1, dtype=np.int32),
    "uint8": lambda x: np.sum(x > 1, dtype=np.uint8),
    "floor": lambda x: np.max(np.floor(x).astype(int)),
    "below zero": lambda x: np.sum(x > 1) - 2,
    "length": lambda x: len(x[x > 1]),
    "nonzero": lambda x: len((x > 1).nonzero()[0]),
}
USES = {
    "ones": lambda n, x: np.ones(n).sum(),
    "zeros": lambda n, x: np.zeros(n).size,
    "zeros like": lambda n, x: np.zeros(n, like=x).size,
    "full": lambda n, x: np.full(n, 2.0).sum(),
    "empty": lambda n, x: np.empty(n).size,
    "ndarray": lambda n, x: np.ndarray(n).size,
    "ones_like": lambda n, x: np.ones_like(3.0, shape=n).sum(),
    "empty_like": lambda n, x: np.empty_like(x, shape=n).size,
    "broadcast_to": lambda n, x: np.broadcast_to(1.0, n).sum(),
    "broadcast_shapes": lambda n, x: np.broadcast_shapes((1,), n)[0],
    "in a tuple": lambda n, x: np.ones((n, 2)).sum(),
    "in a list": lambda n, x: np.ones([2, n]).sum(),
    "by name": lambda n, x: np.ones(shape=n).sum(),
    "random": lambda n, x: np.random.default_rng(0).random(n).sum(),
    "normal": lambda n, x: np.random.default_rng(0).normal(size=n).sum(),
    "choice": lambda n, x: np.random.default_rng(0).choice(5, n).sum(),
    "seed": lambda n, x: np.random.default_rng(n).random(),
    "eye": lambda n, x: np.eye(n).sum(),
    "identity": lambda n, x: np.identity(n).sum(),
    "linspace": lambda n, x: np.linspace(0, 1, n).sum(),
    "arange": lambda n, x: np.arange(n).sum(),
    "tile": lambda n, x: np.tile(x, n).sum(),
    "repeat": lambda n, x: np.repeat(x, n).sum(),
    "resize": lambda n, x: np.resize(x, n).sum(),
    "reshape": lambda n, x: np.concatenate([x, x]).reshape(n, -1)[0].sum(),
    "split": lambda n, x: np.split(np.arange(6.0), n)[0].sum(),
    "array_split": lambda n, x: np.array_split(x, n)[0].sum(),
    "histogram": lambda n, x: np.histogram(np.array([1.0, 2.0, 7.0]), bins=n)[0].sum(),
    "bincount": lambda n, x: np.bincount([0], minlength=n).size,
    "diag": lambda n, x: np.diag(x, n).size,
    "vander": lambda n, x: np.vander(x, n).sum(),
    "roll": lambda n, x: np.roll(x, n)[0],
    "slice": lambda n, x: x[:n].sum(),
    "diff": lambda n, x: np.diff(x, n % 3).sum(),
    "axis": lambda n, x: np.outer(x, x[:2]).sum(axis=n % 2).size,
    "axis by place": lambda n, x: np.sum(np.outer(x, x[:2]), n % 2).size,
    "concatenate": lambda n, x: np.concatenate([np.ones((1, 2))] * 2, n % 2).shape[0],
    "tensordot": lambda n, x: np.tensordot(np.ones((2, 2)), np.ones((2, 2)), n % 3).size,
    "matrix_power": lambda n, x: np.linalg.matrix_power(np.array([[1.0, 2.0], [3.0, 4.0]]), n)[
        0, 0
    ],
    "round": lambda n, x: np.round(x * 1.2345, n).sum(),
    "range": lambda n, x: sum(range(n)),
    "a list": lambda n, x: sum([2.0] * n),
    "to a list": lambda n, x: len(n * [x]),
    "a tuple": lambda n, x: len((x,) * n),
    "a text": lambda n, x: len("ab" * n),
    "bytes": lambda n, x: len(bytes(n)),
    "islice": lambda n, x: len(list(itertools.islice(range(9), n))),
}
POINTS = [[0.0, 1.0, 3.0], [2.0, 2.0, 3.0], [2.0, 1.0, 3.0], [0.0, 0.5, 0.7], [5.0, 1.0, 0.0]]
PAIRS = list(itertools.product(COUNTS, USES))
WAYS = {"value": lambda f: f, "gradient": value_and_grad}


def outcome(f, x):
    try:
        return [np.asarray(y).tolist() for y in np.atleast_1d(np.array(f(x), dtype=object))]
    except RecordingError:
        raise
    except Exception as error:
        return type(error)


def check(count, use, way):
    """Compare the compiled function with the function, from each point on."""

    def program(x):
        return np.sum(x * x) + USES[use](COUNTS[count](x), x)

    plain = WAYS[way](program)
    for start in range(2):
        compiled = compile(plain)
        for point in POINTS[start:] + POINTS[:start]:
            x = np.array(point)
            want = outcome(plain, x)
            try:
                have = outcome(compiled, x)
            except RecordingError:
                continue
            assert have == want, f"{use} of {count} at {point}"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count, use", PAIRS[::47])
def test_counts_are_asked_anew(count, use, way):
    check(count, use, way)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("count, use", PAIRS)
def test_all_counts_are_asked_anew(count, use, way):
    check(count, use, way)
