"""Plans: every entry is read once, from an image in which it stands alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from chainrules_py import NotDifferentiableError
from chainrules_tape import Plan


def entries_of(plan, a):
    """The entries of a matrix, computed as a plan says."""
    images = [a @ (plan.columns == c) for c in range(plan.pushes)]
    images += [a.T @ (plan.rows == c) for c in range(plan.pulls)]
    return np.array([images[d][i] for d, i in zip(plan.direction, plan.place, strict=True)])


def drawn(m, n, density, seed):
    a = sparse.random_array((m, n), density=density, rng=np.random.default_rng(seed)).tocsr()
    a.sort_indices()
    return a


SIZES = st.integers(1, 25)


@settings(max_examples=150, deadline=None)
@given(
    SIZES,
    SIZES,
    st.floats(0, 0.5),
    st.integers(0, 99),
    st.sampled_from(["auto", "forward", "reverse"]),
)
def test_entries_of_random_patterns(m, n, density, seed, mode):
    a = drawn(m, n, density, seed)
    plan = Plan(a, mode)
    assert np.array_equal(entries_of(plan, a), a.data)
    assert mode != "forward" or plan.pulls == 0
    assert mode != "reverse" or plan.pushes == 0


@settings(max_examples=150, deadline=None)
@given(SIZES, st.floats(0, 0.5), st.integers(0, 99))
def test_entries_of_random_symmetric_patterns(n, density, seed):
    a = drawn(n, n, density, seed)
    a = (a + a.T).tocsr()
    a.sort_indices()
    assert np.array_equal(entries_of(Plan(a, symmetric=True), a), a.data)


@settings(max_examples=50, deadline=None)
@given(SIZES, SIZES, st.integers(0, 99))
def test_entries_by_long_rows_and_columns(m, n, seed):
    """Where pushes and pulls share the work."""
    rng = np.random.default_rng(seed)
    a = np.eye(m + 20, n + 20)
    a[rng.integers(0, m + 20)], a[:, rng.integers(0, n + 20)] = 1, 1
    a = sparse.csr_array(a)
    a.data = rng.normal(size=a.nnz)
    for b in (a, a.T.tocsr()):
        plan = Plan(b)
        b.sort_indices()
        assert np.array_equal(entries_of(plan, b), b.data)
        assert plan.pushes + plan.pulls < 6


def test_passes_read_every_entry_once():
    plan = Plan(np.ones((300, 300)))
    assert len(plan.passes) > 1
    read = np.concatenate([p.entries for p in plan.passes])
    assert np.array_equal(read[plan.rank], np.arange(90_000))


def arrow(n):
    a = np.eye(n)
    a[0], a[:, 0] = 1, 1
    return a


def test_it_prints_its_colors():
    assert repr(Plan(sparse.csr_array((2, 3)))) == "<Plan of 2 x 3: 0 entries>"
    assert str(Plan(arrow(4))) == (
        "<Plan of 4 x 4: 10 entries, 4 pushes>\na b c d\na b . .\na . c .\na . . d"
    )
    assert str(Plan(arrow(9))).splitlines()[:3] == [
        "<Plan of 9 x 9: 25 entries, 2 pushes, 1 pull>",
        "A A A A A A A A A",
        "a b . . . . . . .",
    ]
    symmetric = Plan(arrow(41), symmetric=True)
    assert str(symmetric) == "<Plan of symmetric 41 x 41: 121 entries, 2 pushes>"


@pytest.mark.parametrize("symmetric", [False, True])
def test_it_is_pickled(symmetric):
    plan = Plan(arrow(20), symmetric=symmetric)
    again = pickle.loads(pickle.dumps(plan))
    assert repr(again) == repr(plan)
    assert np.array_equal(again.direction, plan.direction)
    assert again.mode == plan.mode


def test_a_pattern_is_what_is_stored():
    """Zeros as well, and each place once; the array of the caller stays as it is."""
    given = sparse.coo_array(([0.0, 1.0, 1.0], ([0, 1, 1], [2, 0, 0])), shape=(2, 3))
    plan = Plan(given)
    assert plan.pattern.toarray().tolist() == [[False, False, True], [True, False, False]]
    assert given.nnz == 3
    unsorted = sparse.csr_array((np.ones(2), [2, 0], [0, 2]), shape=(1, 3))
    assert Plan(unsorted).pattern.indices.tolist() == [0, 2]
    assert unsorted.indices.tolist() == [2, 0]
    assert Plan(sparse.csr_matrix(np.eye(2))).pushes == 1


def test_what_is_no_pattern():
    with pytest.raises(
        NotDifferentiableError, match=r"a pattern is a matrix.*this one is float64\[3\]"
    ):
        Plan(np.ones(3))
    with pytest.raises(NotDifferentiableError, match="pattern is not symmetric; write"):
        Plan(np.tri(3), symmetric=True)
    with pytest.raises(NotDifferentiableError, match="mode='both'; write"):
        Plan(np.eye(3), "both")
