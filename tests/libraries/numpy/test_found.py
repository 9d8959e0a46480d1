"""What judging every call with other data found: each failed before it was mended.

The cells of `tests.surface.checks` find these as well; here they have names.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_py import (
    ChainRulesError,
    NoRuleError,
    NotDifferentiableError,
    TracerError,
    ZeroTangent,
    frule,
    rrule,
)
from chainrules_py.tangents.zeros import is_zero
from chainrules_tape import grad, jacobian, jvp, value_and_grad, vjp

X, Y = np.arange(3.0), np.ones(2)


# ------------------------------------------------------------------- one cotangent for each operand


@pytest.mark.parametrize("f", [np.concatenate, np.hstack, np.vstack])
@pytest.mark.parametrize("kind", [list, tuple])
def test_list_of_arrays_is_one_operand(f, kind):
    """An operation takes them one by one; what was called takes one list."""
    xs = kind([X, X + 1])
    y, pullback = rrule(f, xs)
    (bars,) = pullback(np.ones_like(y))
    assert [b.tolist() for b in bars] == [[1.0] * 3] * 2
    y, y_dot = frule((kind([X, X]),), f, xs)
    np.testing.assert_array_equal(y_dot, f([X, X]))


@pytest.mark.parametrize(
    "f, operands",
    [(np.digitize, (X, X)), (np.argpartition, (X, 1)), (np.isin, (X, X)), (np.lexsort, (X,))],
)
def test_defaults_are_no_operands(f, operands):
    _, y_dot = frule(tuple([ZeroTangent()] * len(operands)), f, *operands)
    _, pullback = rrule(f, *operands)
    assert is_zero(y_dot)
    assert len(pullback(ZeroTangent())) == len(operands)


# ------------------------------------------------------------------------- arrays without axes


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.prod(x, axis=0),
        lambda x: np.cumsum(x, axis=-1),
        lambda x: np.cumprod(x, axis=0),
        lambda x: np.take(x, [0, 0], axis=0),
        lambda x: np.take(x, [7, -9], axis=0, mode="wrap"),
        lambda x: x.take([7, -9], axis=-1, mode="clip"),
        lambda x: np.repeat(x, 2, axis=-1),
    ],
)
def test_axis_of_an_array_that_has_none(f):
    """NumPy takes axis 0 and -1 of a 0-d array."""
    x = np.array(1.5)
    np.testing.assert_array_equal(vjp(f, x)[0], f(x))
    n = np.size(f(x))
    assert grad(lambda x: np.sum(f(x)))(x) == n if n == 2 else 1
    assert np.sum(jvp(f, (x,), (np.array(1.0),))[1]) == n


@pytest.mark.parametrize("axes", [(0, 0), (0, 1, 0), (0, -2)], ids=str)
@pytest.mark.parametrize("name", ["rfftn", "rfft2", "irfftn", "fftn"])
def test_a_transform_twice_along_one_axis(name, axes):
    """It has the length that x had before the first."""
    x = np.arange(12.0).reshape(4, 3) + np.cos(np.arange(3.0))
    f = lambda x: getattr(np.fft, name)(x, axes=axes)
    y, pullback = vjp(f, x)
    np.testing.assert_array_equal(y, f(x))
    pulled = pullback(y)[0]
    truth = [np.sum(np.real(np.conj(y) * f(e.reshape(4, 3)))) for e in np.eye(12)]  # it is linear
    np.testing.assert_allclose(pulled.ravel(), truth, atol=1e-10)


# ------------------------------------------------------------------------------- empty arrays


def test_extremes_of_nothing_with_where_and_initial():
    x = np.zeros((2, 0, 2))
    f = lambda x, start: np.sum(np.max(x, axis=1, initial=start, where=np.ones((2, 0, 2), bool)))
    x_bar, start_bar = grad(f, argnums=(0, 1))(x, 0.5)
    assert x_bar.shape == x.shape
    assert start_bar == 4.0


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_an_initial_value_of_none_is_no_value(name):
    x = np.array([1.0, 2.0, 3.0])
    of_axes = lambda x: getattr(x, name)(0, None, None, False, None)  # of arrays: out, keepdims
    if name in ("max", "min"):
        of_axes = lambda x: getattr(x, name)(0, None, False, None)
    for f in (
        lambda x: getattr(np, name)(x, initial=None),
        lambda x: getattr(x, name)(initial=None),
        of_axes,
    ):
        near = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(grad(f)(x), near, atol=1e-8)


@pytest.mark.parametrize("f", [np.var, np.std])
def test_variance_of_nothing_is_nan(f):
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        assert np.isnan(grad(lambda x: f(x, ddof=1))(np.ones(1))).all()


@pytest.mark.parametrize("ord", [1, 2, np.inf, "nuc", "fro"])
@pytest.mark.parametrize("shape", [(0, 4), (3, 0)])
def test_norms_of_empty_matrices_are_zero(ord, shape):
    x = np.zeros(shape)
    y, pullback = vjp(lambda x: np.linalg.norm(x, ord), x)
    assert y == np.linalg.norm(x, ord) == 0
    assert pullback(1.0)[0].shape == shape


def test_covariance_of_no_variables():
    y, _ = vjp(lambda x: np.cov(x, np.ones((2, 5))), np.zeros((0, 5)))
    assert y.shape == np.cov(np.zeros((0, 5)), np.ones((2, 5))).shape == (0, 0)


@pytest.mark.parametrize("f", [np.quantile, np.nanquantile])
def test_no_quantiles(f):
    y, pullback = vjp(lambda x: f(x, np.zeros(0)), X)
    assert y.shape == (0,)
    np.testing.assert_array_equal(pullback(np.zeros(0))[0], np.zeros(3))


def test_histogram_of_nothing_keeps_its_dtype():
    y, _ = vjp(lambda w: np.histogram2d(np.zeros(0), np.zeros(0), 2, weights=w)[0], np.zeros(0))
    assert y.dtype == float


# --------------------------------------------------------------------------- layouts, integers


@pytest.mark.parametrize("ord", [np.inf, -np.inf])
def test_norm_of_complex_numbers_in_any_layout(ord):
    """NumPy's abs of complex numbers is not the same in every layout, to the last bit."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        z = rng.standard_normal(5) + 1j * rng.standard_normal(5)
        backwards = np.flip(np.flip(z).copy())
        f = lambda z: np.linalg.norm(z, ord)
        np.testing.assert_allclose(grad(f)(backwards), grad(f)(z), rtol=1e-12)


def test_integer_weights_of_a_density():
    """They make floats, and so they have a derivative."""
    data, weights = np.array([0, 1, 2, 2]), np.array([1, 2, 3, 4])
    f = lambda w: np.histogram(data, 3, density=True, weights=w)[0]
    y, pullback = rrule(np.histogram, data, 3, None, True, weights)
    *_, bar = pullback((np.array([1.0, 0.0, 0.0]), np.zeros(4)))
    np.testing.assert_allclose(bar, vjp(f, weights * 1.0)[1](np.array([1.0, 0.0, 0.0]))[0])
    np.testing.assert_allclose(y[0], f(weights))


# ------------------------------------------------------------------------------ masked arrays


@pytest.mark.parametrize(
    "f",
    [
        lambda x, m: x * m,
        lambda x, m: np.concatenate([x, m]),
        lambda x, m: np.average(x, weights=m),
        lambda x, m: np.where(m, x, x),
        lambda x, m: np.dot(x, m),
        lambda x, m: np.meshgrid(x, m),
        lambda x, m: np.quantile(x, m / 4),
        lambda x, m: np.allclose(x, m),
        lambda x, m: np.searchsorted(m, x),
    ],
)
def test_masked_arrays_are_refused(f):
    """Their arithmetic is another; without their mask they would be other numbers."""
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    with pytest.raises(ChainRulesError):
        vjp(lambda x: f(x, masked), X)


def test_direct_rule_of_a_masked_array_is_refused():
    with pytest.raises(NoRuleError, match="MaskedArray"):
        rrule(np.sin, np.ma.array(X, mask=[0, 1, 0]))


# --------------------------------------------------------------- operands that are no plain arrays


PRODUCTS = {
    "einsum": lambda a, b: np.einsum("i,i", a, b),
    "einsum lists": lambda a, b: np.einsum(a, [0], b, [0]),
    "tensordot": lambda a, b: np.tensordot(a, b, 1),
    "dot": np.dot,
    "inner": np.inner,
    "outer": np.outer,
    "vdot": np.vdot,
    "kron": np.kron,
    "matmul": np.matmul,
    "cross": np.cross,
    "multiply": np.multiply,
}


def as_memmap(x):
    """A view that is a memmap; a file is not needed for that."""
    return x.view(np.memmap)


@pytest.mark.parametrize("form", [list, tuple, as_memmap, lambda x: x.view(np.recarray)])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_take_every_form_of_an_array(name, form):
    f, data = PRODUCTS[name], np.array([2.0, -1.0, 0.5])
    for g, want in (
        (lambda x: f(x, form(data)), lambda x: f(x, data)),
        (lambda x: f(form(data), x), lambda x: f(data, x)),
    ):
        found, truth = (grad(lambda x, h=h: np.sum(h(x)))(X) for h in (g, want))
        np.testing.assert_array_equal(found, truth)
        found, truth = (jvp(lambda x, h=h: np.sum(h(x)), (X,), (X,))[1] for h in (g, want))
        assert found == truth
    if form not in (list, tuple):
        bar = grad(lambda x: np.sum(f(x, x)))(form(data))
        np.testing.assert_array_equal(bar, grad(lambda x: np.sum(f(x, x)))(data))


def test_einsum_with_a_number_and_axes_of_length_one():
    assert grad(lambda x: np.sum(np.einsum("i,->i", x, 2.0)))(X).tolist() == [2.0] * 3
    assert grad(lambda s: np.sum(np.einsum("i,->i", X, s)))(2.0) == 3.0
    one = np.array([2.0])
    assert grad(lambda x: np.einsum("i,i", x, one))(X).tolist() == [2.0] * 3
    assert grad(lambda x: np.einsum("i,i", X, x))(one).tolist() == [3.0]
    with pytest.raises(ValueError, match="different lengths"):  # NumPy reads what is not there
        grad(lambda x: np.sum(np.einsum("ii->i", x)))(np.ones((0, 3)))


@pytest.mark.parametrize("f", [np.diagonal, np.trace])
def test_a_diagonal_of_axes_that_are_not_there(f):
    for axes in [(1, 2), (-3, 1)]:
        with pytest.raises(np.exceptions.AxisError, match="out of bounds"):
            grad(lambda x, axes=axes: np.sum(f(x, 0, *axes)))(np.ones((2, 3)))


@pytest.mark.parametrize("f", [np.moveaxis, np.swapaxes, lambda x, i, j: x.swapaxes(i, j)])
def test_axes_that_are_not_there(f):
    with pytest.raises(np.exceptions.AxisError, match="out of bounds"):
        vjp(lambda x: f(x, 0, 2), np.ones((2, 3)))


def test_two_axes_moved_to_one_place():
    with pytest.raises(ValueError, match="repeated axis"):
        vjp(lambda x: np.moveaxis(x, (0, 1), (0, 0)), np.ones((2, 3)))


FLAT = {
    "concatenate": lambda x, s: np.concatenate((x, s), axis=None),
    "concat": lambda x, s: np.concat((s, x, 1.5), axis=None),
    "union1d": lambda x, s: np.union1d(s, x),
    "setxor1d": np.setxor1d,
    "setxor1d of unique elements": lambda x, s: np.setxor1d(x, s, assume_unique=True),
    "nanvar": lambda x, s: np.nanvar(x, ddof=np.real(s) / 4),
    "append": np.append,
    "hstack": lambda x, s: np.hstack((x, s)),
}


@pytest.mark.parametrize("s", [3, 3.5, True, 2j, np.float32(3.5), np.float64(3.5)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", FLAT)
def test_a_number_beside_an_array_has_the_dtype_that_it_has_in_numpy(name, dtype, s):
    """Joined flat, a Python number follows the array, and elsewhere it does not."""
    f, x = FLAT[name], np.array([1.0, 2.0, 4.0], dtype)
    truth = f(x, s)
    for y in (vjp(lambda x: f(x, s), x)[0], jvp(lambda x: f(x, s), (x,), (x,))[0]):
        assert y.dtype == truth.dtype
        np.testing.assert_allclose(y, truth, rtol=1e-3)


def test_a_traced_python_number_that_is_joined_flat():
    x = np.float32([1, 2])
    y, pullback = vjp(lambda s: np.concatenate((x, s), axis=None), 3.0)
    assert y.dtype == np.float32
    assert pullback(np.float32([5, 6, 7]))[0] == 7


ACCEPTED = {
    "fftshift": lambda x: np.fft.fftshift(x, axes=np.int64(0)),
    "array_split": lambda x: np.array_split(x, x.size / 2)[1],
    "split": lambda x: np.split(x, 2.0)[1],
    "roll": lambda x: np.roll(x, np.floor(1.5)),
    "roll along an axis": lambda x: np.roll(x, [-1.5, 3.0], axis=0),
    "roll by an array": lambda x: np.roll(x, np.array(1.0)),
    "repeat": lambda x: np.repeat(x, 2.7),
    "repeat each": lambda x: np.repeat(x, [2.5, 0, 1, 1.0]),
    "polyder": lambda x: np.polyder(x, 1.0),
    "polyint": lambda x: np.polyint(x, np.float64(2)),
    "polyfit": lambda x: np.polyfit(np.arange(4.0), x, 1.0),
    "gradient": lambda x: np.gradient(x, True),
    "quantile": lambda x: np.quantile(x, True),
    "quantiles": lambda x: np.nanquantile(x, [True, False]),
    "pinv": lambda x: np.linalg.pinv(x[:0].reshape(2, 0), rcond=(2.0, 2.0)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ACCEPTED)
def test_arguments_that_numpy_converts(name, dtype):
    f, x = ACCEPTED[name], np.array([1.0, 4.0, 2.0, 8.0], dtype)
    truth, y, (_, y_dot) = f(x), vjp(f, x)[0], jvp(f, (x,), (x,))
    assert y.dtype == truth.dtype
    assert y.shape == truth.shape
    np.testing.assert_allclose(y, truth, rtol=1e-5)
    np.testing.assert_allclose(y_dot, truth, rtol=1e-5)  # each is linear in x


@pytest.mark.parametrize(
    "zeros, slopes",
    [
        ([1.0, np.inf], [[0, 0], [-1, -1], [np.inf, 1]]),
        ([np.inf, 1.0], [[0, 0], [-1, -1], [1, np.inf]]),
        ([1.0, np.nan], [[0, 0], [-1, -1], [np.nan, 1]]),
    ],
)
def test_the_leading_one_of_a_polynomial_whose_zeros_are_not_finite(zeros, slopes):
    zeros = np.array(zeros)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(vjp(np.poly, zeros)[0], np.poly(zeros))
        np.testing.assert_array_equal(jacobian(np.poly)(zeros), slopes)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, o: np.sum(x * o),
        lambda x, o: np.dot(o, x),
        lambda x, o: np.sum(np.where(x > 1, x, o)),
        lambda x, o: np.concatenate([x, o])[0],
    ],
)
def test_object_arrays_beside_what_is_differentiated(f):
    with pytest.raises(NotDifferentiableError, match="no derivative is known in"):
        grad(f)(X, np.array([1.0, 2.0, 3.0], object))


@pytest.mark.parametrize(
    "f",
    [
        lambda u, x: np.sum((x + 0.1 * np.clip(u, -1.0, 1.0)) ** 2),
        lambda u, x: np.clip(u, -1, 1) @ x,
        lambda u, x: np.sum(np.maximum(u, 0.0) * x),
        lambda u, x: np.sum(np.sign(u) * x - np.floor(u) * x),
    ],
)
@pytest.mark.parametrize("x", [[0.3, 0.2], [0.3, -2.0], [-3.0, -2.0]])
def test_an_array_of_traced_numbers_that_become_constants(f, x):
    """Where all of them did, it was refused as an array of objects."""
    x = np.array(x)
    of_objects, stacked = (lambda x, m=m: f(m([2.5 * x[0], x[1]]), x) for m in (np.array, np.stack))
    np.testing.assert_array_equal(grad(of_objects)(x), grad(stacked)(x))
    np.testing.assert_array_equal(jvp(of_objects, (x,), (x,)), jvp(stacked, (x,), (x,)))


@pytest.mark.parametrize("x", [1.5, 2])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.where([True, False], x, 0.0),
        lambda x: np.where(True, x, [1.0, 2.0]),
        lambda x: np.where((x > 0, x < 0), x, 0.0),
        lambda x: np.dot([1.0, 2.0], x),
        lambda x: np.outer([1.0, 2.0], x),
        lambda x: np.inner(x, [1.0, 2.0]),
    ],
)
def test_lists_beside_a_python_number(f, x):
    """They were read as arrays beside NumPy's numbers alone."""
    loss = lambda x: np.sum(f(x))
    assert grad(loss)(x) == grad(loss)(np.float64(x))
    assert jvp(loss, (x,), (1.0,)) == jvp(loss, (np.float64(x),), (1.0,))


def test_where_that_leaves_nothing_out():
    assert grad(lambda x: np.max(x, where=True))(X).tolist() == [0, 0, 1]
    assert grad(lambda x: np.minimum.reduce(x, where=True))(X).tolist() == [1, 0, 0]


@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
@pytest.mark.parametrize("dtype", ["float32", "complex64", "int8"])
def test_about_a_mean_that_is_wider(f, dtype):
    x = np.array([[1.0, 4.0], [2.0, 8.0]]).astype(dtype)
    mean = np.array([[1.5, 6.0]], np.result_type(x, np.float64))
    value, due = vjp(lambda x: f(x, axis=0, mean=mean), x)[0], f(x, axis=0, mean=mean)
    assert value.dtype == due.dtype
    np.testing.assert_array_equal(value, due)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
@pytest.mark.parametrize("part", [np.real, np.imag])
def test_about_a_complex_mean_of_real_numbers(f, part):
    loss = lambda x: part(f(x, mean=1.5 + 1j))
    truth = [(loss(X + h) - loss(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(grad(loss)(X), truth, rtol=1e-6, atol=1e-8)


REFUSED = {
    "cross": lambda x: np.cross(x.reshape(3, 1), np.ones((2, 3)), axisa=0, axisb=2),
    "einsum with a path": lambda x: np.einsum(
        "a,b,c->abc", x, x, x, optimize=["einsum_path", (0, 1)]
    ),
    "einsum of large axes": lambda x: np.einsum(x, [52], [52]),
    "einsum of negative axes": lambda x: np.einsum(x, [-1], [-1]),
    "norm of a matrix": lambda x: np.linalg.norm(np.outer(x, x), 3),
    "norm of an axis": lambda x: np.linalg.norm(np.outer(x, x), 1, axis=(0, 5)),
    "tensorsolve": lambda x: np.linalg.tensorsolve(np.outer(x, x[:2]), x),
    "apply_along_axis": lambda x: np.apply_along_axis(np.sum, 1, x),
    "convolve": lambda x: np.convolve(x, x, mode=None),
    "qr": lambda x: np.linalg.qr(np.outer(x, x), "bad"),
    "delete": lambda x: np.delete([0, 1, 2], x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused_by_its_class(name):
    f, refusals = REFUSED[name], (ValueError, TypeError, IndexError, RuntimeError)
    with pytest.raises(refusals) as caught:
        f(X)
    with pytest.raises(caught.type):
        vjp(f, X)


@pytest.mark.parametrize(
    "f",
    [
        *(np.nanmean, np.nanmin, np.nanmax, np.nanmedian, np.nanstd, np.nanvar),
        lambda x, axis: np.nanquantile(x, [0.2, 0.5], axis=axis),
        lambda x, axis: np.nanpercentile(x, 50.0, axis=axis, keepdims=True),
        lambda x, axis: np.nanvar(x[:1], axis=axis, ddof=2),
        lambda x, axis: np.nanmean(x[:, :0], axis=axis),
    ],
)
def test_slices_without_numbers_warn_as_in_numpy(f):
    x = np.array([[1.0, 2.0], [np.nan, np.nan]])
    said = []
    for run in (lambda: f(x, axis=1), lambda: vjp(lambda x: f(x, axis=1), x)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run()
        said.append([(each.category, str(each.message)) for each in caught])
    assert said[0] == said[1] != []
    assert caught[0].filename == __file__


def test_a_gather_with_more_axes_than_np_add_at_takes():
    """It ended the process, as np.add.at does."""
    x, rows = np.arange(6.0).reshape(3, 2), np.ones((1,) * 31, int)
    for at, bar in ((x, [[0, 0], [4, 6], [0, 0]]), (x.T, [[0, 0, 0], [2, 6, 10]])):
        assert grad(lambda x: np.sum(x[None, rows] ** 2))(at).tolist() == bar


@pytest.mark.parametrize("places", [[], ([], [])])
@pytest.mark.parametrize("ufunc", [np.add, np.subtract])
def test_additions_at_no_places_change_nothing(ufunc, places):
    def f(x):
        z = 2.0 * x
        ufunc.at(z, places, 1.0)
        return np.sum(z**2)

    x = np.ones((2, 2))
    value, slope = value_and_grad(f)(x)
    assert (value, slope.tolist()) == (f(x), [[8.0, 8.0], [8.0, 8.0]])


class Holder:
    def __init__(self, held):
        self.held = held

    def __array__(self, dtype=None, copy=None):
        return self.held


def test_an_object_that_gives_numpy_a_traced_array():
    with pytest.raises(TracerError, match=r"write a\.__array__\(\)"):
        grad(lambda x: np.sum(np.minimum(Holder(x), 1.5)))(X)
    assert grad(lambda x: np.sum(np.minimum(Holder(x).__array__(), 1.5)))(X).tolist() == [1, 1, 0]
