"""LAPACK's functions of triangles, with SciPy and without: same results, errors, digits."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_numpy import triangular_lapack
from chainrules_numpy.triangular_lapack import inverted, is_one_column, solved, which_triangle
from chainrules_py import ops as v

linalg = pytest.importorskip("scipy.linalg")
RNG = np.random.default_rng(12)
dtypes = pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
upper_or_lower = pytest.mark.parametrize("upper", [False, True], ids=["lower", "upper"])


def triangle(n, dtype="d", upper=False):
    x = RNG.standard_normal((n, n)) / n + 1j * RNG.standard_normal((n, n)) / n
    x = (x if np.dtype(dtype).kind == "c" else x.real).astype(dtype) + np.eye(n, dtype=dtype) * 2
    return np.triu(x) if upper else np.tril(x)


@pytest.fixture(params=["with SciPy", "without"])
def scipy_or_not(request, monkeypatch):
    if request.param == "without":
        monkeypatch.setattr(triangular_lapack, "_scipy", lambda: None)
    return request.param


@dtypes
@upper_or_lower
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_solutions(n, order, upper, dtype):
    a = np.array(triangle(n, dtype, upper), order=order)
    for shape in ((n,), (n, 1)):
        b = RNG.standard_normal(shape).astype(dtype)
        before = b.copy()
        for unit in (False, True):
            x = solved(a, b, upper, unit)
            m = a - np.diag(np.diag(a)) + np.eye(n, dtype=dtype) if unit else a
            assert x.shape == b.shape
            assert x.dtype == a.dtype
            eps = np.finfo(dtype).eps
            np.testing.assert_allclose(m @ x, b, rtol=100 * eps, atol=100 * n * eps)
        np.testing.assert_array_equal(b, before)
    assert n == 1 or which_triangle(a) is upper


@dtypes
def test_inverses(dtype):
    a = triangle(30, dtype)
    before = a.copy()
    x = inverted(a)
    assert x.dtype == a.dtype
    assert not np.triu(x, 1).any()
    np.testing.assert_allclose(x @ a, np.eye(30), atol=100 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize("dtype", ["d", "D"])
@pytest.mark.parametrize("n", [1, 17, 44, 50, 64, 65, 100, 128, 129])
def test_cotangents_of_factors_are_the_same_with_and_without(n, dtype, monkeypatch):
    a = triangle(n, dtype)
    y_bar = RNG.standard_normal((n, n)).astype(dtype)
    found = v.cholesky_cotangent(y_bar, a)
    stack = v.cholesky_cotangent(np.stack([y_bar, 2 * y_bar]), a)
    monkeypatch.setattr(triangular_lapack, "_scipy", lambda: None)
    expected = v.cholesky_cotangent(y_bar, a)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(stack, [expected, 2 * expected], rtol=1e-10, atol=1e-13)


@upper_or_lower
@pytest.mark.parametrize("n", [5, 20, 40, 100, 200])
def test_solving_again(n, upper, scipy_or_not):
    a, b = triangle(n, upper=upper), RNG.standard_normal(n)
    full = RNG.standard_normal((n, n)) + n * np.eye(n)
    corner = a.copy()
    corner[(n // 2, 0) if upper else (0, n // 2)] = 0.25  # with zeros in its corners, and no more
    for m in (a, full, corner):
        for right in (b, b[:, None], np.stack([b, b], 1)):
            np.testing.assert_allclose(v.solve_again(m, right), np.linalg.solve(m, right))
    for right in (b, b[:, None]):
        x = v.solve_triangular(full, right, upper=upper)
        half = np.triu(full) if upper else np.tril(full)
        np.testing.assert_allclose(half @ x, right, atol=1e-12)


@pytest.mark.parametrize("n", [20, 60])
def test_singular_matrices_raise_as_numpy_says_it(n, scipy_or_not):
    a, b = triangle(n), np.ones(n)
    a[n // 2, n // 2] = 0.0
    for call in (
        lambda: v.solve_again(a, b),
        lambda: v.solve_again(a.T, b),
        lambda: v.solve_triangular(a, b),
        lambda: v.cholesky_cotangent(np.eye(n), a),
    ):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            call()


def test_what_is_no_number_stays_seen(scipy_or_not):
    a = triangle(30)
    a[29, 0] = np.nan
    assert np.isnan(v.solve_again(a, np.ones(30))).any()
    assert np.isnan(v.solve_again(a.T, np.ones(30))).any()


@dtypes
@pytest.mark.parametrize("n", [1, 2, 9, 64, 65])
def test_adjugates_and_inverses_of_rules(n, dtype, scipy_or_not):
    a = (RNG.standard_normal((n, n)) / np.sqrt(n) + 1.5 * np.eye(n)).astype(dtype)
    a[:, 0] *= -1
    eps = 1e3 * np.finfo(dtype).eps
    for x in (a, a.T, a[::-1], np.asfortranarray(a)):
        expected = np.linalg.inv(x) * np.linalg.det(x)
        scale = eps * np.abs(expected).max()
        np.testing.assert_allclose(v.adjugate(x), expected, rtol=eps, atol=scale)
        np.testing.assert_allclose(v.inv_again(x), np.linalg.inv(x), rtol=eps, atol=eps)
        assert v.adjugate(x).dtype == v.inv_again(x).dtype == dtype
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        v.inv_again(np.zeros((n, n), dtype))
    assert np.all(v.adjugate(np.zeros((n, n), dtype)) == (n == 1))


@pytest.mark.parametrize("k", [-200, -3, -1, 0, 1, 4, 250])
def test_triangles_are_those_of_numpy(k):
    for shape in ((1, 1), (4, 4), (3, 7), (7, 3), (0, 3), (2, 3, 3), (205, 201), (5,)):
        x = RNG.standard_normal(shape)
        x.flat[::3] = np.nan
        for y in (x, x.T, x[::-1], x.astype("F"), x > 0):
            for operation, function in ((v.tril, np.tril), (v.triu, np.triu)):
                found, expected = operation(y, k=k), function(y, k)
                assert found.dtype == expected.dtype
                assert found.strides == expected.strides
                assert found.tobytes() == expected.tobytes()


def test_what_goes_to_lapack():
    a, b = np.eye(3), np.ones(3)
    assert is_one_column(a, b)
    assert is_one_column(a, b[:, None])
    assert not is_one_column(a, b[None, :, None])
    assert not is_one_column(a[None], b)
    assert not is_one_column(a, np.eye(3))
    assert not is_one_column(a, b.astype(np.float32))
    assert not is_one_column(np.eye(0), np.ones(0))
    assert not triangular_lapack.has_triangles(a.astype(np.longdouble))


@pytest.mark.parametrize("n", [50, 64])
def test_digits_are_kept_of_a_kernel_that_is_nearly_singular(n, scipy_or_not):
    """Against the formula in extended precision: two halves of it would keep seven digits."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("longdouble is double here")
    x = np.linspace(0, 1, n)
    factor = np.linalg.cholesky(np.exp(-((x[:, None] - x) ** 2) / 0.18) + 1e-10 * np.eye(n))
    y_bar = np.tril(RNG.standard_normal((n, n)))
    L, inverse = factor.astype(np.longdouble), np.eye(n, dtype=np.longdouble)
    for i in range(n):
        inverse[i] = (inverse[i] - L[i, :i] @ inverse[:i]) / L[i, i]
    half = np.tri(n) - 0.5 * np.eye(n)
    middle = (L.T @ y_bar) * half
    expected = (inverse.T @ (middle + middle.T) @ inverse) * half
    error = np.abs(v.cholesky_cotangent(y_bar, factor) - expected).max()
    assert error < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("n", [2, 3, 9, 80])
def test_the_layout_of_an_adjugate_hangs_on_no_number(n):
    """Programs in C are for the layout that was recorded: products after it had other bits."""
    b = np.linspace(1.0, 2.0, n)
    regular, singular = np.diag(b) + 0.1, np.outer(b, b)
    found = [v.adjugate(a).flags.f_contiguous for a in (regular, singular)]
    assert found[0] == found[1]
