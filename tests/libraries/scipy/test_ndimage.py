"""Filters and interpolation of ``scipy.ndimage``."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.ndimage as theirs

import chainrules_scipy.ndimage as ours
from chainrules_py import TracerError, UnsupportedKeywordError
from chainrules_tape import grad, value_and_grad
from chainrules_tape.tools import taylor
from tests.libraries.scipy.same import check_same

_rng = np.random.default_rng(2)
X = _rng.normal(size=(6, 7))
W, V = _rng.normal(size=(3, 4)), _rng.normal(size=4)
AT = np.stack([_rng.uniform(-1.5, 7, 9), _rng.uniform(-2, 8, 9)])
MATRIX = np.array([[0.913, 0.1071], [-0.2113, 1.1317]])


def _same(name, *xs, **options):
    check_same(getattr(ours, name), getattr(theirs, name), *xs, **options)


@pytest.mark.parametrize(
    "mode",
    [
        "reflect",
        "constant",
        "nearest",
        "mirror",
        "wrap",
        "grid-wrap",
        "grid-mirror",
        "grid-constant",
    ],
)
def test_filters(mode):
    given = {"mode": mode, "cval": 0.3}
    _same("correlate1d", X, V, **given)
    _same("convolve1d", X, V, axis=0, origin=1, **given)
    _same("correlate", X, W, **given)
    _same("convolve", X, W, origin=(1, -1), **given)
    _same("correlate1d", X, V * (1 + 2j), **given)  # SciPy conjugates weights of a correlation
    _same("correlate", X, W * (1 + 2j), **given)
    _same("convolve1d", X, V * (1 + 2j), **given)
    _same("gaussian_filter1d", X, np.array(1.3), order=2, axis=0, **given)
    _same("gaussian_filter", X, np.array([0.8, 1.2]), **given)
    _same("gaussian_filter", X, 0.8, order=(0, 3), radius=3, **given)
    _same("uniform_filter1d", X, 4, origin=1, **given)
    _same("uniform_filter", X, 3, **given)
    _same("sobel", X, **given)
    _same("prewitt", X, axis=0, **given)
    _same("laplace", X, **given)
    _same("gaussian_laplace", X, 1.1, **given)
    _same("gaussian_gradient_magnitude", X, 1.1, **given)


WINDOWS = {
    "maximum_filter": {},
    "minimum_filter": {},
    "grey_dilation": {},
    "median_filter": {},
    "rank_filter": {"rank": 2},
    "percentile_filter": {"percentile": 30},
    "generic_filter": {"function": lambda w: np.sum(w * w)},
    "vectorized_filter": {"function": lambda w, axis: np.sum(w * w, axis=axis)},
}


@pytest.mark.parametrize("name", WINDOWS)
def test_the_value_outside_of_an_image_is_an_operand(name):
    def filtered(library, c):
        return getattr(library, name)(X, size=(2, 3), mode="constant", cval=c, **WINDOWS[name])

    check_same(*[functools.partial(filtered, library) for library in (ours, theirs)], np.array(0.3))


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("mode", ["reflect", "constant", "nearest", "mirror", "grid-wrap"])
def test_interpolation(order, mode):
    # Of "nearest" SciPy goes on for 12 elements, which is 1e-8 at the fifth order.
    given = {"order": order, "mode": mode, "cval": 0.3, "rtol": 1e-8}
    fixed = () if order else (1,)
    _same("map_coordinates", X, AT, fixed=fixed, **given)
    _same("zoom", X, 1.6, **given)
    if order:
        _same("shift", X, np.array([0.3, -1.2]), **given)
        _same("affine_transform", X, MATRIX, np.array([0.3171, -0.2219]), **given)
        _same("rotate", X, np.array(33.0), reshape=False, **given)


def test_interpolation_after_the_sum_of_scipy_was_looked_up():
    """The module's ``sum`` is SciPy's from then on, and was called for Python's."""
    assert ours.sum is not sum
    _same("affine_transform", X, MATRIX, np.array([0.3171, -0.2219]))
    filtered = functools.partial(ours.generic_gradient_magnitude, derivative=ours.sobel)
    expected = theirs.generic_gradient_magnitude(X + 1j, theirs.sobel)
    np.testing.assert_allclose(filtered(X + 1j), expected)


def test_forms():
    _same("spline_filter", X)
    _same("spline_filter1d", X, order=5, mode="reflect")
    _same("rotate", X, 33.0, order=1)
    _same("affine_transform", X, np.array([0.913, 1.137]), order=1, output_shape=(3, 4))
    whole = np.array([[0.913, 0.1071, 0.3171], [-0.2113, 1.1317, 0.219], [0.0, 0.0, 1.0]])
    _same(
        "affine_transform",
        X,
        whole,
        order=1,
        still=lambda k, x: k == 1 and np.arange(3)[:, None] == 2,
    )


@pytest.mark.parametrize("x", [0.37, -0.37])
@pytest.mark.parametrize(
    "name, arguments",
    [
        *[(name, ()) for name in ("laplace", "uniform_filter")],
        *[(f"gaussian_{name}", (1.0,)) for name in ("filter", "gradient_magnitude", "laplace")],
        ("correlate", (np.array(1.3),)),
    ],
)
def test_an_image_may_be_a_number(name, arguments, x):
    _same(name, np.array(x), *arguments)


@pytest.mark.parametrize(
    "name, argument",
    [("geometric_transform", lambda i: (0.7 * i[0], 0.8 * i[1])), ("zoom", 1.5), ("shift", 0.3)],
)
def test_integers_stay_integers(name, argument):
    image = np.arange(30).reshape(5, 6) ** 2
    found, known = (getattr(module, name)(image, argument) for module in (ours, theirs))
    np.testing.assert_array_equal(found, known, strict=True)


def test_what_is_not_taken():
    with pytest.raises(RuntimeError, match="boundary mode"):
        ours.shift(X, 0.3, mode="other")
    with pytest.raises(UnsupportedKeywordError, match="output"):
        grad(lambda x: ours.laplace(x, output=X.copy()).sum())(X)
    with pytest.raises(UnsupportedKeywordError, match="output"):
        grad(lambda x: ours.gaussian_gradient_magnitude(x, 1.0, output=X.copy()).sum())(X)
    with pytest.raises(UnsupportedKeywordError, match=r"py:\d+: ours.sobel\(x\)\n.* nest jvp"):
        taylor(lambda x: ours.sobel(x), X, X, 2)  # SciPy's source passes an output


@pytest.mark.parametrize("name", ["morphological_gradient", "gaussian_filter", "label"])
def test_a_plain_image_is_not_filtered_into_a_traced_array(name):
    def f(x):
        y = 1.0 * x
        getattr(theirs, name)(X, 3, output=y)
        return np.sum(y)

    with pytest.raises(TracerError):
        grad(f)(X)


@pytest.mark.parametrize("width", [np.float32(0.8), np.array([0.8, 0.9], np.float32)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "smoothed",
    [
        ours.gaussian_laplace,
        ours.gaussian_gradient_magnitude,
        functools.partial(ours.gaussian_filter, order=1),
        functools.partial(ours.gaussian_filter, order=(0, 3)),
    ],
)
def test_widths_of_single_precision_have_derivatives(smoothed, dtype, width):
    """The value is SciPy's, which computes the kernel from single precision."""
    image = X.astype(dtype)

    def f(image, width):
        return np.sum(smoothed(image, width) ** 2)

    value, (_, found) = value_and_grad(f, (0, 1))(image, width)
    assert value == f(image, width)
    assert value_and_grad(f)(image, width)[0] == value
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, grad(f, 1)(image, np.float64(width)), rtol=1e-6)
