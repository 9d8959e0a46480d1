"""Colors: no two columns of one color share a row; what has two colors in a graph is a star."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from chainrules_tape.tools.sparsity.coloring import color_columns, color_stars, count_colors


@st.composite
def patterns(draw, symmetric=False):
    m = draw(st.integers(1, 9))
    n = m if symmetric else draw(st.integers(1, 9))
    bits = draw(st.lists(st.booleans(), min_size=m * n, max_size=m * n))
    a = np.array(bits).reshape(m, n)
    return a | a.T if symmetric else a


@settings(max_examples=150, deadline=None)
@given(patterns())
def test_no_row_has_two_columns_of_a_color(a):
    colors = color_columns(sparse.csc_array(a))
    assert np.array_equal(colors < 0, ~a.any(0))
    for c in range(count_colors(colors)):
        assert a[:, colors == c].sum(1).max() == 1


@settings(max_examples=150, deadline=None)
@given(patterns(symmetric=True))
def test_what_has_two_colors_is_a_star(a):
    """By the definition: neighbours differ, and no path of four vertices has two colors."""
    colors = color_stars(sparse.csr_array(a))
    assert np.array_equal(colors < 0, ~a.any(0))
    n = len(a)
    edge = a & ~np.eye(n, dtype=bool)
    for i, j in zip(*edge.nonzero(), strict=True):
        assert colors[i] != colors[j]
        for k in edge[j].nonzero()[0]:
            for h in edge[k].nonzero()[0]:
                if len({i, j, k, h}) == 4:
                    assert len({*colors[[i, j, k, h]].tolist()}) > 2


def band(n, width):
    return sparse.diags_array(
        np.ones(2 * width + 1), offsets=range(-width, width + 1), shape=(n, n)
    )


def arrow(n):
    a = np.eye(n, dtype=bool)
    a[0], a[:, 0] = True, True
    return sparse.csr_array(a)


@pytest.mark.parametrize(
    "a, columns, stars",
    [
        (band(50, 0), 1, 1),
        (band(50, 1), 3, 3),
        (band(50, 2), 5, 5),
        (arrow(50), 50, 2),
        (sparse.block_diag([sparse.coo_array(np.ones((4, 4)))] * 9), 4, 4),
        (sparse.csr_array(np.ones((7, 7))), 7, 7),
        (sparse.csr_array((5, 5)), 0, 0),
    ],
    ids=["diagonal", "tridiagonal", "five diagonals", "arrow", "blocks", "full", "empty"],
)
def test_counts(a, columns, stars):
    assert count_colors(color_columns(a.tocsc())) == columns
    assert count_colors(color_stars(a.tocsr())) == stars


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_of_nothing(shape):
    assert color_columns(sparse.csc_array(shape)).tolist() == [-1] * shape[1]
