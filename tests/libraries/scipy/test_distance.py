"""Distances of ``scipy.spatial.distance``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.spatial
import scipy.spatial.distance as theirs

import chainrules_scipy
import chainrules_scipy.distance as ours
from chainrules_py import (
    DegeneracyWarning,
    TracerError,
    UnsupportedKeywordError,
    ignore_derivatives,
)
from chainrules_tape import grad, hessian, jvp
from tests.libraries.scipy.same import check_same

_rng = np.random.default_rng(4)
A, B = abs(_rng.normal(size=(4, 3))) + 0.1, abs(_rng.normal(size=(5, 3))) + 0.1
W = np.array([0.5, 1.0, 2.0])
OPERANDS = {"seuclidean": (W,), "mahalanobis": (np.diag(W) + 0.1,), "minkowski": (3,)}


@pytest.mark.parametrize("metric", sorted(ours._METRICS))
def test_metrics(metric):
    options = {"p": 3} if metric == "minkowski" else {}
    for name, xs in (("cdist", (A, B)), ("pdist", (B,))):
        check_same(getattr(ours, name), getattr(theirs, name), *xs, metric=metric, **options)
    of_vectors = getattr(ours, metric), getattr(theirs, metric)
    check_same(*of_vectors, A[0], B[0], *OPERANDS.get(metric, ()))
    if metric not in ("seuclidean", "mahalanobis", "jensenshannon"):
        check_same(*of_vectors, A[0], B[0], **options, w=W)


@pytest.mark.parametrize(
    "metric, options",
    [
        ("seuclidean", {"V": [1.0, 2.0, 3.0]}),
        ("mahalanobis", {"VI": [[2.0, 0.1, 0.0], [0.1, 2.0, 0.3], [0.0, 0.3, 1.5]]}),
        ("euclidean", {"w": [1, 2, 3]}),
        ("correlation", {"w": [1.0, 2.0, 3.0]}),
        ("minkowski", {"p": 3, "w": (1, 2, 3)}),
    ],
)
def test_options_as_lists(metric, options):
    for name, xs in (("cdist", (A, B)), ("pdist", (B,))):
        check_same(getattr(ours, name), getattr(theirs, name), *xs, metric=metric, **options)


def test_variances_in_a_list():
    """Some numbers of a list may be traced."""
    f = lambda s, m: np.sum(m.pdist(A, "seuclidean", V=[s, 2.0, 3.0]))
    slope = (f(1.5 + 1e-6, theirs) - f(1.5 - 1e-6, theirs)) / 2e-6
    assert abs(grad(lambda s: f(s, ours))(1.5) - slope) < 1e-7


def test_one_vector_in_a_list():
    """SciPy takes lists, and so do metrics where the other vector is differentiated."""
    x, y = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.1, 0.4])
    for name in ("euclidean", "cityblock", "jensenshannon", "cosine", "braycurtis", "canberra"):
        f = getattr(ours, name)
        found = grad(lambda y, f=f: f(x.tolist(), y))(y)
        np.testing.assert_array_equal(found, grad(lambda y, f=f: f(x, y))(y))


def test_at_one_point():
    assert not grad(lambda a: np.sum(ours.pdist(a)))(np.ones((2, 2))).any()


def test_squares():
    p = theirs.pdist(B)
    check_same(ours.squareform, theirs.squareform, p)
    assert np.array_equal(ours.squareform(theirs.squareform(p)), p)
    value, slope = jvp(ours.squareform, (np.array([1, 2, 3]),), (np.ones(3),))
    assert value.dtype == theirs.squareform([1, 2, 3]).dtype
    np.testing.assert_array_equal(value, theirs.squareform([1, 2, 3]))
    np.testing.assert_array_equal(slope, 1 - np.eye(3))


def test_what_is_not_taken():
    with pytest.raises(UnsupportedKeywordError, match="hamming"):
        ours.cdist(A, B, "hamming")


def test_triangles_have_no_derivative():
    corners = lambda x, points: x[scipy.spatial.Delaunay(points).simplices[0]]
    area = lambda points: lambda x: abs(np.linalg.det(np.diff(corners(x, points(x)), axis=0))) / 2
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    with chainrules_scipy.install():
        with pytest.raises(TracerError, match=r"use ignore_derivatives\(points\)"):
            grad(area(lambda x: x))(x)
        found = grad(area(ignore_derivatives))(x)
    np.testing.assert_allclose(found, [[-0.5, -0.5], [0.5, 0.0], [0.0, 0.5]])


def test_points_and_themselves():
    """The distance of a point to itself is 0 wherever it is: no length without a derivative."""
    x = np.random.default_rng(2).normal(size=(4, 2))
    f = lambda x: np.sum(ours.cdist(x, x) ** 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DegeneracyWarning)
        found = hessian(f)(x)
    truth = hessian(lambda x: np.sum((x[:, None] - x) ** 2))(x)
    np.testing.assert_allclose(found, truth, atol=1e-12)


P, Q = np.array([0.3, 0.7, 0.0, 1.2]), np.array([0.5, 0.5, 0.0, 0.3])
SLOPES = {
    "function": lambda of, p, q: of.jensenshannon(p, q),
    "base": lambda of, p, q: of.jensenshannon(p, q, base=2),
    "cdist": lambda of, p, q: of.cdist(p[None], q[None], "jensenshannon")[0, 0],
    "pdist": lambda of, p, q: of.pdist(np.stack([p, q]), "jensenshannon")[0],
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("form", SLOPES)
@pytest.mark.parametrize("q", [Q, 3 * Q + np.array([0.0, 0.0, 1.0, 0.0])], ids=["both", "one"])
def test_empty_bins_have_the_slopes_from_inside(q, form):
    """In a bin that is empty in one operand alone it is infinite, and all others are finite."""
    f = lambda p, q, of=ours: SLOPES[form](of, p, q)
    steps = np.eye(4) * 1e-7
    for k, x in enumerate((P, q)):
        at = lambda x, of, k=k: f(*(x, q) if k == 0 else (P, x), of)
        truth = np.array([(at(x + s, theirs) - at(x, theirs)) / 1e-7 for s in steps])
        truth[(x == 0) & ((P, q)[1 - k] > 0)] = -np.inf
        found = grad(lambda x, at=at: at(x, ours))(x)
        pushed = [jvp(lambda x, at=at: at(x, ours), (x,), (e,))[1] for e in np.eye(4)]
        np.testing.assert_allclose(found, truth, rtol=1e-5)
        np.testing.assert_allclose(pushed, found, rtol=1e-12)


def test_empty_bins_have_the_second_derivatives_from_inside():
    slopes = grad(lambda p: ours.jensenshannon(p, Q))
    truth = [(slopes(P + s) - slopes(P)) / 1e-7 for s in np.eye(4) * 1e-7]
    found = hessian(lambda p: ours.jensenshannon(p, Q))(P)
    np.testing.assert_allclose(found, truth, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("other", [lambda p: p, lambda p: p.copy(), ignore_derivatives])
def test_a_divergence_of_equal_shares_has_no_slope(other):
    for p in (P, np.ones(3)):
        f = lambda p: ours.jensenshannon(p, other(p))
        assert f(p) == 0.0
        np.testing.assert_array_equal(grad(f)(p), np.zeros(len(p)))
        assert jvp(f, (p,), (p * np.arange(len(p)),))[1] == 0.0


@pytest.mark.parametrize(
    "f",
    [
        lambda p, of: of.jensenshannon(p, np.array([0.3, 0.7, 0.2])) ** 2,
        lambda p, of: of.mahalanobis(p, np.array([0.3, 0.7, 0.2]), np.diag(W) + 0.1) ** 2,
    ],
    ids=["jensenshannon", "mahalanobis"],
)
def test_squares_of_distances_bend_where_they_are_0(f):
    p, steps = np.array([0.3, 0.7, 0.2]), np.eye(3) * 1e-4
    four = lambda a, b: f(p + a + b, theirs) - f(p + a - b, theirs) - f(p - a + b, theirs)
    truth = [[(four(a, b) + f(p - a - b, theirs)) / 4e-8 for a in steps] for b in steps]
    np.testing.assert_allclose(hessian(lambda p: f(p, ours))(p), truth, rtol=1e-5, atol=1e-6)


def test_a_missing_number_makes_distances_missing():
    x = np.array([[1.0, np.nan], [2.0, 3.0]])
    found = jvp(lambda x: ours.cdist(x, B[:, :2], "minkowski", p=3), (x,), (x,))[0]
    np.testing.assert_allclose(found, theirs.cdist(x, B[:, :2], "minkowski", p=3))
