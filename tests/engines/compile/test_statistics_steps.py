"""Means, variances, norms and differences: their steps, in all targets, at all axes and layouts."""

import itertools
import shutil

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py.ops import logsumexp
from chainrules_tape import grad, value_and_grad

AXES = {
    "all": None, "first": 0, "last": -1, "two": (0, 2), "others": (-1, 1), "every": (0, 1, 2),
}  # fmt: skip
STATISTICS = {
    "mean": lambda x, axis: np.mean(x, axis),
    "mean kept": lambda x, axis: x - np.mean(x, axis=axis, keepdims=True),
    "var": lambda x, axis: np.var(x, axis=axis),
    "unbiased": lambda x, axis: np.var(x, axis, ddof=1, keepdims=True) * x,
    "std": lambda x, axis: np.std(x, axis=axis, ddof=0.5),
    "total": lambda x, axis: np.sum(x, axis) * np.prod(x, axis=axis),
    "logsumexp": lambda x, axis: logsumexp(x, axis=axis),
    "logsumexp kept": lambda x, axis: x - logsumexp(x, axis=axis, keepdims=True),
    "largest": lambda x, axis: np.max(x, axis=axis) - np.min(x, axis),
}
OF_ONE_AXIS = {
    "norm": lambda x, axis: np.linalg.norm(x, axis=axis),
    "norm kept": lambda x, axis: x / np.linalg.norm(x, axis=axis, keepdims=True),
    "norm of order 2": lambda x, axis: np.linalg.norm(x, 2, axis),
    "diff": lambda x, axis: np.diff(x, axis=axis),
    "diff twice": lambda x, axis: np.diff(x, 2, axis),
}
OF_TWO = {
    "Frobenius": lambda x, axis: np.linalg.norm(x, axis=axis),
    "spectral": lambda x, axis: np.linalg.norm(x, 2, axis),
}
CASES = [
    *itertools.product(STATISTICS.values(), AXES.values()),
    *itertools.product(OF_ONE_AXIS.values(), (0, 1, -1)),
    *itertools.product(OF_TWO.values(), ((0, 1), (2, 0))),
    (lambda x, axis: np.linalg.norm(x), None),
    (lambda x, axis: np.linalg.norm(x[0, 0], 2), None),
]
LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "turned": lambda x: x[::-1, :, ::-1].copy()[::-1, :, ::-1],
    "gaps": lambda x: np.repeat(x, 2, -1)[..., ::2],
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_their_steps_are_what_numpy_gives(layout, dtype, target):
    if target == "c" and shutil.which("cc") is None:
        pytest.skip("there is no cc")
    x = LAYOUTS[layout](np.random.default_rng(0).uniform(0.5, 2.0, (2, 4, 3)).astype(dtype))
    eps = np.finfo(dtype).eps

    def every(x):
        return [f(x, axis) for f, axis in CASES]

    def total(x):
        return sum([np.sum(np.sin(f(x, axis) / 1000)) for f, axis in CASES])

    for f in (every, value_and_grad(total)):
        compiled = compile(f, target=target)
        for z in (x, x * dtype(1.5)):
            for found, wanted in zip(compiled(z), f(z), strict=True):
                assert type(found) is type(wanted)
                assert found.dtype == wanted.dtype
                bound = 200 * eps * np.max(np.abs(wanted), initial=0.0)
                np.testing.assert_allclose(found, wanted, rtol=200 * eps, atol=bound)
                assert np.shape(found) == np.shape(wanted)


def test_steps_are_shared():
    """Of a mean, a variance and a deviation the sums are taken once."""
    compiled = compile(lambda x: (np.mean(x), np.var(x), np.std(x), np.linalg.norm(x - 1.0)))
    compiled(np.arange(6.0))
    assert compiled.source.count("add_reduce(") == 4
    assert "mean(" not in compiled.source


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("target", ["numpy", "c"])
def test_gradients_of_logsumexp_are_operations_also_where_sums_are_infinite(target):
    if target == "c" and shutil.which("cc") is None:
        pytest.skip("there is no cc")
    g = grad(lambda x: np.sum(np.sin(logsumexp(x, axis=0))))
    compiled, x = compile(g, target=target), np.arange(6.0).reshape(2, 3)
    first = compiled(x)
    (program,) = compiled.programs
    assert not [c for c in program.recorded if "pull" in getattr(c.function, "__name__", "")]
    for column in ([-np.inf, 1.0], [-np.inf, -np.inf], [np.inf, 0.0], [np.nan, 0.0], x[:, 0]):
        y = x.copy()
        y[:, 0] = column
        np.testing.assert_allclose(compiled(y), g(y), rtol=1e-12)
    np.testing.assert_array_equal(compiled(x), first)


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("x", [np.zeros(0), np.array([np.nan, 1.0]), np.array([np.inf, -np.inf])])
def test_what_has_no_mean(x):
    f = lambda x: (np.mean(x), np.var(x), np.std(x, ddof=3), np.sum(x))
    np.testing.assert_array_equal(compile(f)(x), f(x))
