"""Sorting, partitions and sets: who gets the derivative of an element, where some are equal too."""

import numpy as np
import pytest

from chainrules_py import NoTangent, UnsupportedKeywordError, rrule
from chainrules_py import ops as v
from chainrules_tape import grad, jvp, vjp

rng = np.random.default_rng(8)
LINE = rng.permutation(9) + rng.uniform(0, 0.5, 9)
TIES = np.array([2.0, 1.0, 2.0, 0.0, 1.0, 2.0])
NANS = np.array([2.0, np.nan, 1.0, np.nan, 0.0])


@pytest.mark.parametrize("x", [LINE, TIES, NANS], ids=["all different", "ties", "nan"])
@pytest.mark.parametrize(
    "f", [np.sort, lambda x: np.partition(x, 3), lambda x: np.partition(x, (0, -1))]
)
def test_each_element_goes_to_one_place(f, x):
    """A permutation, whose inverse is the pull."""
    y, pullback = vjp(f, x)
    weights = rng.standard_normal(len(x))
    (x_bar,) = pullback(weights)
    np.testing.assert_array_equal(np.sort(x_bar), np.sort(weights))
    _, y_dot = jvp(f, (x,), (x_bar,))
    np.testing.assert_array_equal(y_dot, weights)
    np.testing.assert_array_equal(jvp(f, (x,), (np.nan_to_num(x),))[1], np.nan_to_num(y))


def test_equal_elements_stay_in_order():
    order = jvp(np.sort, (TIES,), (np.arange(6.0),))[1]
    np.testing.assert_array_equal(order, np.argsort(TIES, kind="stable"))


def test_partition_as_jax_has_it():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)

    def f(np):
        return lambda x: np.partition(x, 4)[4] * 3 + np.partition(x, 2)[2] ** 2

    np.testing.assert_allclose(grad(f(np))(LINE), jax.grad(f(jax.numpy))(LINE), rtol=1e-12)


def test_fields_have_no_order_here():
    for f in (np.sort, np.argsort, lambda x, order: np.partition(x, 1, order=order)):
        with pytest.raises(UnsupportedKeywordError, match="order"):
            grad(lambda x, f=f: np.sum(f(x, order="name")) * 1.0)(LINE)


# --------------------------------------------------------------------------------------------- sets


def test_values_follow_the_first_of_equal_elements():
    """The convention: to move one of two that are equal makes two of them."""
    for f in (np.unique, np.unique_values, lambda x: np.unique_all(x).values):
        y, pullback = vjp(f, TIES)
        order = np.argsort(y)
        (bar,) = pullback(np.array([10.0, 20.0, 30.0])[np.argsort(order)])
        np.testing.assert_array_equal(bar, [30.0, 20.0, 0.0, 10.0, 0.0, 0.0])


def test_equal_elements_that_move_together(agree):
    """Two copies of one array: the convention is the derivative."""
    agree(lambda x: np.unique(np.concatenate([x, x[::2]])), LINE)
    agree(lambda x: np.intersect1d(x, 1.0 * x[2:6]), LINE)
    agree(lambda x: np.union1d(x, x), LINE)
    agree(lambda x: np.setdiff1d(x, x[:3]), LINE)
    agree(lambda x: np.setxor1d(x, x[:3]), LINE)
    agree(lambda x: np.unique(np.stack([x, 2 * x, x]), axis=0), LINE)


def test_the_rest_is_constant():
    def f(x):
        values, *counts = np.unique(x, True, True, True)
        assert all(type(n) is np.ndarray for n in counts)
        common, *places = np.intersect1d(x, [1.0, 2.0], return_indices=True)
        assert all(type(n) is np.ndarray for n in places)
        assert type(np.isin(x, 1.0)) is np.ndarray
        return np.sum(values) + 10 * np.sum(common)

    np.testing.assert_array_equal(grad(f)(TIES), [11.0, 11.0, 0.0, 1.0, 0.0, 0.0])


def test_namedtuples_stay_what_they_are():
    y, _ = vjp(np.unique_counts, TIES)
    assert type(y) is type(np.unique_counts(TIES))
    assert y.counts.tolist() == [1, 2, 3]


def test_integers_and_booleans():
    """Data that cannot move comes through as it is."""
    whole = np.array([3, 1, 3])
    y, pullback = vjp(np.unique, whole)
    assert y.dtype == whole.dtype
    assert pullback(np.ones(2))[0].tolist() == [1.0, 1.0, 0.0]
    assert rrule(v.sort, np.array([True, False]))[1](np.zeros(2))[0] is NoTangent()


@pytest.mark.parametrize("x", [[1.0, np.nan, 3.0, 2.0, 3.0], [1 + 1j, np.nan, 1 - 1j, 3.0, 3.0]])
def test_nan_is_the_last_of_a_descending_sort_too(x):
    x, known = np.array(x), [2, 4, 3, 0, 1] if x[2] == 3 else [3, 4, 0, 2, 1]
    assert v.argsort(x, descending=True).tolist() == known
    y, pullback = vjp(lambda x: v.sort(x, descending=True), x)
    np.testing.assert_array_equal(y, x[known])
    np.testing.assert_array_equal(pullback(np.arange(5.0) + 0 * y[0])[0][known], np.arange(5.0))


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.5.0", reason="NumPy has descending= since 2.5"
)
@pytest.mark.parametrize("f", [np.sort, np.argsort])
def test_a_kind_beside_descending_is_an_error_of_numpy(f):
    with pytest.raises(ValueError, match="kind"):
        grad(lambda x: np.sum(x * f(x, kind="quicksort", descending=True)))(np.array([1.0, 3.0]))
