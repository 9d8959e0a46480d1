"""Parts of NumPy's parameters beside Dask's data: their gradients are Dask's, as lazy."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest

from chainrules_tape import hvp, value_and_grad, vjp
from tests.libraries.dask.test_dask import Counting, X, close, lazy_x

PACKED = {
    "a slice": lambda w, x: np.tanh(x @ w[:6]),
    "an intercept": lambda w, x: np.logaddexp(0.0, w[0] + x @ w[1:7]),
    "elements": lambda w, x: w[0] * x[:, 0] + w[1] * x[:, 1] ** 2 + w[0],
    "unpacked": lambda w, x: (lambda a, b, *rest: a * x[:, 0] + b + rest[2])(*w),
    "places": lambda w, x: x @ w[[0, 1, 2, 2, 3, 0]],
    "taken": lambda w, x: x @ np.take(w, [5, 1, 2, 1, 3, 0]),
    "a mask": lambda w, x: x @ w[np.arange(8) > 1],
    "split": lambda w, x: x @ np.split(w, [6])[0] + np.split(w, [6])[1][1],
    "two layers": lambda w, x: np.tanh(x[:, :3] @ w[:6].reshape(3, 2)) @ w[6:],
    "steps": lambda w, x: x[:, :4] @ w[::-2] + w[-1],
    "joined": lambda w, x: x @ np.concatenate([w, w])[5:11],
    "stacked": lambda w, x: x[:, :3] @ np.stack([w[0], w[1], w[1]]),
    "a diagonal": lambda w, x: x @ np.diag(w)[:6, 2],
    "rows": lambda w, x: sum(x[:, :4] @ row for row in w.reshape(2, 4)),
    "written": lambda w, x: x @ doubled_first(w)[:6],
}
P = np.linspace(0.2, 1.0, 8)


def doubled_first(w):
    w = w.copy()
    w[0] = w[0] * w[1]
    return w


@pytest.mark.parametrize("name", PACKED)
def test_parts_of_numpys_parameters_are_lazy(name):
    """What flowed to a part was written into memory of NumPy's: all data was read for each."""
    f = lambda w, x: np.sum(PACKED[name](w, x) ** 2)
    computed = Counting()
    with dask.config.set(scheduler=computed):
        value, slope = value_and_grad(f)(P, lazy_x())
        pulled = vjp(lambda w: f(w, lazy_x()), P)[1](1.0)[0]
        bent = hvp(lambda w: f(w, lazy_x()), (P,), (P,))
    assert computed.n == 0
    assert all(isinstance(x, da.Array) for x in (value, slope, pulled))
    expected, bar = value_and_grad(f)(P, X)
    close(dask.compute(value, slope, pulled), [expected, bar, bar])
    close(dask.compute(*bent), hvp(lambda w: f(w, X), (P,), (P,)))
