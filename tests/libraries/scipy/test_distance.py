"""Distances of ``scipy.spatial.distance``."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.spatial.distance as theirs

import chainrules_scipy.distance as ours
from chainrules_py import UnsupportedKeywordError
from chainrules_tape import grad
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


def test_at_one_point():
    assert not grad(lambda a: np.sum(ours.pdist(a)))(np.ones((2, 2))).any()


def test_squares():
    p = theirs.pdist(B)
    check_same(ours.squareform, theirs.squareform, p)
    assert np.array_equal(ours.squareform(theirs.squareform(p)), p)


def test_what_is_not_taken():
    with pytest.raises(UnsupportedKeywordError, match="hamming"):
        ours.cdist(A, B, "hamming")
