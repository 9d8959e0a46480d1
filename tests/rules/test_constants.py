"""Statistics of numbers that are all equal: their spread has derivative 0, by our convention."""

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_tape import grad, jvp

LEVELS = [0.1, 1 / 3, 1e-300, 1e17, -0.7, 0.0]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("f", [np.std, np.nanstd, v.std, lambda x: x.std()])
def test_the_spread_of_equal_numbers_has_slope_zero(f, level, n):
    x = np.full(n, level)
    # What is composed of several operations may leave rounding, beside slopes of 1 / n.
    np.testing.assert_allclose(grad(f)(x), np.zeros(n), atol=1e-16)
    np.testing.assert_allclose(jvp(f, (x,), (np.arange(1.0, n + 1),))[1], 0.0, atol=1e-13)


@pytest.mark.parametrize("axis", [0, 1, (0, 2), -1, None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_along_axes_only_equal_numbers_count(axis, keepdims):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 4, 5))
    axes = tuple(range(3)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    first = tuple([slice(None) if i in [a % 3 for a in axes] else slice(0, 1) for i in range(3)])
    x[first] = 0.1  # one of the groups is constant
    slope = grad(lambda x: np.sum(np.std(x, axis=axis, keepdims=keepdims)))(x)
    assert np.all(slope[first] == 0.0)
    if axis is not None:
        others = np.ones(x.shape, bool)
        others[first] = False
        mean = np.mean(x, axis=axes, keepdims=True)
        n = np.prod([x.shape[a] for a in axes])
        with np.errstate(all="ignore"):
            want = (x - mean) / (n * np.std(x, axis=axes, keepdims=True))
        np.testing.assert_allclose(slope[others], want[others], rtol=1e-10)


def test_complex_and_nan():
    np.testing.assert_array_equal(grad(np.std)(np.full(3, 0.1 + 0.2j)), np.zeros(3))
    assert np.all(np.isnan(grad(np.std)(np.full(3, np.nan))))
