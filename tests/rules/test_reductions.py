"""Reductions as users of NumPy write them."""

import math
import warnings

import numpy as np
import pytest

from chainrules_py import UnsupportedKeywordError, frule, rrule
from chainrules_py import ops as v
from chainrules_py.extend import bind, find_rule
from chainrules_tape import grad, jacobian, jvp, vjp

rng = np.random.default_rng(1)
BOX = rng.standard_normal((2, 3, 4))
FLAT = rng.standard_normal((3, 4))
COMPLEX = FLAT + 1j * rng.standard_normal((3, 4))
MASK = np.array([[True, False, True, True], [False, True, False, False], [True, True, True, True]])
ZEROS = FLAT * (np.arange(12).reshape(3, 4) % 5 != 0)

AXES = [None, 0, -1, 1, (0, 2), (-1, 0), (2, 1, 0)]
REDUCTIONS = [np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.var, np.std, np.ptp]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("f", REDUCTIONS, ids=lambda f: f.__name__)
def test_axes(agree, f, axis):
    agree(lambda x: f(x, axis=axis), BOX)
    agree(lambda x: f(x, axis, keepdims=True), BOX, second=False)


@pytest.mark.parametrize("f", REDUCTIONS, ids=lambda f: f.__name__)
def test_small_shapes(agree, f):
    for x in (np.array(0.7), np.ones(1) * 0.7, np.ones((1, 1)) * 0.7):
        if f is not np.std:
            agree(f, x)


CALLS = {
    "sum where": lambda x: np.sum(x, where=MASK),
    "sum where axis": lambda x: np.sum(x, 1, where=MASK, keepdims=True),
    "sum where broadcast": lambda x: np.sum(x, axis=0, where=MASK[0]),
    "sum initial": lambda x: np.sum(x, axis=0, initial=3.0),
    "sum where initial": lambda x: np.sum(x, axis=0, initial=3.0, where=MASK),
    "prod where": lambda x: np.prod(x, axis=1, where=MASK),
    "prod initial": lambda x: np.prod(x, axis=0, initial=0.5),
    "mean where": lambda x: np.mean(x, axis=1, where=MASK),
    "mean where keepdims": lambda x: np.mean(x, axis=0, where=MASK, keepdims=True),
    "mean where all": lambda x: np.mean(x, where=MASK),
    "max initial": lambda x: np.max(x, axis=1, initial=0.1),
    "max where initial": lambda x: np.max(x, axis=1, initial=-3.0, where=MASK),
    "min where initial": lambda x: np.min(x, axis=0, initial=3.0, where=MASK),
    "var ddof": lambda x: np.var(x, axis=0, ddof=1),
    "var correction": lambda x: np.var(x, axis=0, correction=0.5),
    "std ddof": lambda x: np.std(x, ddof=1),
    "cumsum": np.cumsum,
    "cumsum axis": lambda x: np.cumsum(x, axis=-2),
    "cumprod": np.cumprod,
    "cumprod axis": lambda x: np.cumprod(x, axis=0),
    "cumulative_sum": lambda x: np.cumulative_sum(x, axis=1, include_initial=True),
    "cumulative_prod": lambda x: np.cumulative_prod(x, axis=0, include_initial=True),
    "diff": lambda x: np.diff(x, n=2, axis=0),
    "method sum": lambda x: x.sum(),
    "method sum axis": lambda x: x.sum(axis=(0, -1)),
    "method sum where": lambda x: x.sum(axis=0, where=MASK, initial=1.0),
    "method mean": lambda x: x.mean(-1, keepdims=True),
    "method max": lambda x: x.max(axis=0),
    "method min": lambda x: x.min(),
    "method prod": lambda x: x.prod(axis=1),
    "method var": lambda x: x.var(0, ddof=1),
    "method std": lambda x: x.std(),
    "method cumsum": lambda x: x.cumsum(0),
    "method cumprod": lambda x: x.cumprod(1),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(agree, name):
    # A sum of what a mask leaves in may round otherwise than NumPy's own.
    agree(CALLS[name], FLAT, exact="where" not in name and "initial" not in name)


COMPLEX_CALLS = [np.sum, np.mean, np.prod, np.var, np.std, np.cumsum, np.cumprod]


@pytest.mark.parametrize("f", COMPLEX_CALLS, ids=lambda f: f.__name__)
def test_complex(agree, f):
    agree(lambda x: f(x, axis=0), COMPLEX)
    agree(lambda x: f(x, axis=None), COMPLEX)


@pytest.mark.parametrize(
    "x", [ZEROS, np.zeros((3, 4)), np.array([[0.0], [2.0]])], ids=["some", "all", "one"]
)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_prod_at_zeros_is_exact(agree, x, axis):
    agree(lambda x: np.prod(x, axis=axis), x, second=False)
    agree(lambda x: np.cumprod(x, axis=0), x, second=False)
    jax = pytest.importorskip("jax", reason="JAX is the oracle of this test")
    expected = jax.grad(lambda x: jax.numpy.sum(jax.numpy.prod(x, axis=axis)))(x.astype(np.float32))
    np.testing.assert_allclose(
        grad(lambda x: np.sum(np.prod(x, axis=axis)))(x), expected, rtol=1e-4
    )


def test_third_derivative_of_a_product_with_zeros():
    # xyz has one third derivative, 1, at every point
    def third(x):
        first = grad(np.prod)
        second = grad(lambda x: first(x)[0])
        return grad(lambda x: second(x)[1])(x)

    np.testing.assert_array_equal(third(np.zeros(3)), [0.0, 0.0, 1.0])


@pytest.mark.parametrize("n", range(10))
def test_products_of_others_of_every_length(n):
    x = rng.standard_normal(n)
    expected = [np.prod(np.delete(x, i)) for i in range(n)]
    np.testing.assert_allclose(grad(np.prod)(x), expected, rtol=1e-12)


KINKS = [
    (np.max, [1.0, 3.0, 3.0], [0.0, 0.5, 0.5]),
    (np.min, [1.0, 1.0, 1.0, 2.0], [1 / 3, 1 / 3, 1 / 3, 0.0]),
    (np.std, [2.0, 2.0], [0.0, 0.0]),
    (np.var, [2.0, 2.0], [0.0, 0.0]),
    (np.ptp, [2.0, 2.0], [0.0, 0.0]),
]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("f, x, expected", KINKS)
def test_kinks(f, x, expected):
    x = np.array(x)
    np.testing.assert_allclose(grad(f)(x), expected)
    pushed = [jvp(f, (x,), (e,))[1] for e in np.eye(len(x))]
    np.testing.assert_allclose(pushed, expected)


@pytest.mark.parametrize("f", [*REDUCTIONS, np.cumsum, np.cumprod], ids=lambda f: f.__name__)
def test_float32_stays(f):
    x = FLAT.astype(np.float32)
    y, pullback = vjp(lambda x: f(x, axis=0), x)
    (bar,) = pullback(np.ones_like(y))
    y_dot = jvp(lambda x: f(x, axis=0), (x,), (x,))[1]
    assert (y.dtype, bar.dtype, y_dot.dtype) == (np.float32,) * 3


def test_dtype_keyword():
    x = FLAT.astype(np.float32)
    y, pullback = vjp(lambda x: np.sum(x, axis=0, dtype=np.float64), x)
    assert y.dtype == np.float64
    assert pullback(np.ones(4))[0].dtype == np.float32
    np.testing.assert_array_equal(
        grad(lambda x: np.mean(x, dtype="f8"))(x), np.full((3, 4), 1 / 12, np.float32)
    )


@pytest.mark.parametrize(
    "f",
    [
        np.any,
        np.all,
        np.argmax,
        np.argmin,
        np.count_nonzero,
        lambda x: x.argmax(0),
        lambda x: x.any(axis=1),
    ],
)
def test_no_derivative(f):
    y = f(FLAT)
    seen = []
    gradient = grad(lambda x: (seen.append(f(x)), np.sum(x))[1])(FLAT)
    np.testing.assert_array_equal(gradient, np.ones((3, 4)))
    np.testing.assert_array_equal(seen[0], y)
    assert type(seen[0]) is type(y)


def test_empty():
    np.testing.assert_array_equal(grad(np.sum)(np.zeros((0, 2))), np.zeros((0, 2)))
    np.testing.assert_array_equal(grad(np.prod)(np.zeros((0, 2))), np.zeros((0, 2)))
    y, pullback = vjp(lambda x: np.prod(x, axis=0), np.zeros((0, 2)))
    np.testing.assert_array_equal(y, [1.0, 1.0])
    assert pullback(y)[0].shape == (0, 2)


def test_an_operand_behind_one_that_was_left_out():
    x, order = np.array([2.0, 0.0, 1.0]), np.array([1, 2, 0])
    found = []
    grad(lambda x: (found.append(np.searchsorted(x, [0.5, 1.5], sorter=order)), np.sum(x))[1])(x)
    np.testing.assert_array_equal(found[0], [1, 2])


def test_a_list_is_one_of_several_arguments():
    """Not all of them: three distances for one axis are no three axes."""
    x = np.array([0.0, 1.0, 4.0])
    np.testing.assert_allclose(
        vjp(lambda x: np.gradient(x, [0.0, 1.0, 3.0]), x)[0], np.gradient(x, [0.0, 1.0, 3.0])
    )


def test_direct_rules_of_a_keyword_that_makes_it_a_composite():
    where = FLAT > 0
    y, pullback = rrule(np.mean, FLAT, axis=0, where=where)
    np.testing.assert_allclose(y, np.mean(FLAT, axis=0, where=where))
    expected = np.where(where, 1 / np.sum(where, axis=0), 0)
    np.testing.assert_allclose(pullback(np.ones(4))[0], expected)
    y, y_dot = frule((FLAT,), np.var, FLAT, mean=0.0)
    np.testing.assert_allclose(y_dot, 2 * np.mean(FLAT**2))


def test_of_no_elements_an_extreme_is_what_it_starts_with():
    y, bars = vjp(lambda x, c: np.max(x, axis=0, initial=c), np.zeros((0, 3)), 2.0)
    np.testing.assert_array_equal(y, [2.0] * 3)
    assert bars(np.ones(3))[1] == 3.0
    assert vjp(lambda x: np.min(x, axis=(0, 1), initial=5), np.zeros((0, 3), np.float32))[0] == 5


def test_refused_keywords_name_themselves():
    out = np.zeros(4)
    for f in (np.sum, np.mean, np.max, np.var, np.cumsum):
        with pytest.raises(UnsupportedKeywordError, match="out"):
            grad(lambda x, f=f: np.sum(f(x, axis=0, out=out)))(FLAT)


def test_where_of_an_extreme_wants_initial_as_numpy_does():
    with pytest.raises(ValueError, match="initial"):
        grad(lambda x: np.max(x, where=MASK))(FLAT)


def test_nan_is_not_hidden():
    with np.errstate(invalid="ignore"):
        assert np.isnan(grad(np.max)(np.array([1.0, np.nan]))).all()


def test_operations_by_frule_and_rrule():
    y, y_dot = frule((np.ones(3),), v.prod, np.array([2.0, 0.0, 3.0]))
    assert (y, y_dot) == (0.0, 6.0)
    y, pullback = rrule(v.max, np.array([[1.0, 2.0], [4.0, 3.0]]), axis=-1)
    np.testing.assert_array_equal(pullback(np.array([10.0, 20.0]))[0], [[0.0, 10.0], [20.0, 0.0]])
    y, pullback = rrule(np.sum, np.ones((2, 3)), axis=0)
    np.testing.assert_array_equal(pullback(np.arange(3.0))[0], [[0.0, 1.0, 2.0]] * 2)


def test_linear_reductions_save_no_array():
    x = np.ones(5)
    for operation in (v.sum, v.mean):
        rule = find_rule(operation, (np.ndarray,))
        bound = bind(rule, (np.ndarray,), (True,), "reverse")
        _, record = bound.run(None, x, axis=None, keepdims=False)
        assert not any(isinstance(saved, np.ndarray) for saved in record)


@pytest.mark.parametrize("include_initial", [False, True])
@pytest.mark.parametrize("shape, axis", [((2, 0), 1), ((0, 3), 0), ((2, 3), 0), ((2, 3), -1)])
def test_cumulative_products_of_many_directions_at_once(shape, axis, include_initial):
    x = np.arange(1.0, 1 + math.prod(shape)).reshape(shape)
    f = lambda x: np.cumulative_prod(x, axis=axis, include_initial=include_initial)
    ahead, back = [jacobian(f, mode=mode)(x) for mode in ("forward", "reverse")]
    assert ahead.shape == back.shape == (*f(x).shape, *shape)
    assert np.allclose(ahead, back)


@pytest.mark.parametrize("dtype", ["d", "f", "D"])
@pytest.mark.parametrize("shape", [(200, 3), (4, 50, 5), (200, 1), (0, 3), (150, 0), (120, 40)])
def test_sums_down_short_rows_are_sums(shape, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    if x.size:
        x.flat[1] = np.inf
    for a in (x, np.asfortranarray(x), x[..., ::2]):
        have = v.sum(a, axis=-2, keepdims=True)
        assert have.dtype == dtype
        want = np.sum(a, axis=-2, keepdims=True)
        np.testing.assert_allclose(have, want, rtol=1e-4 if dtype == "f" else 1e-10, atol=1e-4)


MANY = 70_000  # half precision ends at 65,504
OF_MANY = {
    "mean": np.mean,
    "method": lambda x: x.mean(),
    "average": np.average,
    "of axes": lambda x: np.mean(x.reshape(7, 10_000), axis=(0, 1)),
    "where": lambda x: np.mean(x, where=x > -1.0),
    "var": np.var,
    "var where": lambda x: np.var(x, where=x > -1.0),
    "std": np.std,
    "nanmean": np.nanmean,
    "nanstd": np.nanstd,
    "max": np.max,
    "nanmin": np.nanmin,
    "median": np.median,
    "quantile": lambda x: np.quantile(x, 0.3),
    "pad": lambda x: np.pad(x, 1, mode="mean")[0],
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("name", OF_MANY)
def test_more_elements_than_half_precision_counts(name, equal):
    f = OF_MANY[name]
    x = np.full(MANY, 0.5) if equal else np.random.default_rng(0).random(MANY)
    x = x.astype(np.float16)
    if not np.isfinite(f(x)):
        pytest.skip("NumPy's value is not finite")
    wide = x.astype(np.float64)
    want = grad(f)(wide)
    np.testing.assert_allclose(grad(f)(x), want, rtol=4e-3, atol=1.2e-7)
    due = jvp(f, (wide,), (np.ones(MANY),))[1]
    np.testing.assert_allclose(jvp(f, (x,), (np.ones_like(x),))[1], due, rtol=1e-2, atol=2e-3)


def test_a_mean_of_nothing_warns_as_numpy_does():
    with warnings.catch_warnings(record=True) as of_numpy:
        warnings.simplefilter("always")
        np.mean(np.zeros(0))
    with warnings.catch_warnings(record=True) as of_ours:
        warnings.simplefilter("always")
        assert grad(np.mean)(np.zeros(0)).shape == (0,)
    assert [str(w.message) for w in of_ours] == [str(w.message) for w in of_numpy]
