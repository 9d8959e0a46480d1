"""Detection: the pattern of a linear function, by about as many pushes as it has colors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from chainrules_tape.tools.sparsity.detection import chunks, detect, long_first

RNG = np.random.default_rng(3)


class Linear:
    """A linear function of a pattern, which counts what is pushed and pulled."""

    def __init__(self, a):
        self.a = sparse.csr_array(a, dtype=float)
        self.pushes = self.pulls = 0

    def push(self, seeds):
        self.pushes += len(seeds)
        return (self.a @ seeds.T.astype(float)).T > 0

    def pull(self, seeds):
        self.pulls += len(seeds)
        return (self.a.T @ seeds.T.astype(float)).T > 0

    def detected(self, pulls=True):
        m, n = self.a.shape
        return detect(self.push, self.pull if pulls else None, n, m)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 60), st.integers(1, 60), st.floats(0.0, 0.4), st.integers(0, 99), st.booleans()
)
def test_what_is_detected_is_the_pattern(m, n, density, seed, pulls):
    a = np.random.default_rng(seed).random((m, n)) < density
    assert np.array_equal(Linear(a).detected(pulls).toarray(), a)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1)])
def test_of_nothing(shape):
    assert Linear(np.zeros(shape)).detected().nnz == 0


def test_few_pushes_for_a_band():
    f = Linear(sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(4000, 4000)))
    assert f.detected().nnz == 11998
    assert f.pushes < 80


def test_long_rows_are_pulled():
    """Each would give every column a color of its own."""
    a = np.eye(2000, dtype=bool)
    a[[0, 7]] = a[:, 3] = True
    f = Linear(a)
    assert np.array_equal(f.detected().toarray(), a)
    assert f.pushes < 100
    assert f.pulls == 2


def test_few_rows_are_pulled():
    f = Linear(np.ones((3, 5000)))
    assert f.detected().nnz == 15000
    assert f.pulls == 3


@pytest.mark.parametrize("n", [300, 3000])
def test_a_dense_pattern_is_given_up_early(n):
    f = Linear(np.ones((n, n)))
    assert f.detected() is None
    assert f.pushes < 600


def test_spread_entries_are_not_taken_for_a_dense_pattern():
    """Wide blocks share rows, narrow ones do not."""
    a = sparse.random_array((5000, 5000), density=1e-3, rng=RNG)
    assert Linear(a).detected().nnz == a.nnz


def test_parts_of_many_directions_are_bounded():
    assert chunks(0, 10) == []
    assert chunks(3, 10) == [(0, 3)]
    assert chunks(5, 1 << 20) == [(0, 2), (2, 4), (4, 5)]
    assert chunks(2, 1 << 30) == [(0, 1), (1, 2)]


def test_which_rows_are_computed_one_by_one():
    order, least = long_first(np.array([3, 90, 2, 80, 3]))
    assert sorted(order.tolist()) == [1, 3]
    assert least == 5
    order, least = long_first(np.array([3, 4, 3]))
    assert len(order) == 0
    assert least == 4
