"""Adding rows into a buffer: few and many, repeated, negative, and such as are not there."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import vocabulary as v
from chainrules_py.vocabulary.indexing import Index
from chainrules_tape import grad


@pytest.mark.parametrize("count", [0, 3, 62, 63, 400])
@pytest.mark.parametrize("lowest", [0, -10])
def test_rows_are_added_as_numpy_adds_them(count, lowest):
    rng = np.random.default_rng(0)
    rows, y = rng.integers(lowest, 10, count), rng.normal(size=(count, 8))
    expected = np.zeros((10, 8))
    np.add.at(expected, rows, y)
    found = grad(lambda x: np.sum(x[rows] * y))(np.ones((10, 8)))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("count", [3, 400])
@pytest.mark.parametrize("row", [10, -11])
def test_rows_that_are_not_there_are_an_error(count, row):
    index, arrays = Index.split(np.full(count, row))
    buffer = np.zeros((10, 8))
    with pytest.raises(IndexError):
        v.add_at(buffer, np.ones((count, 8)), *arrays, index=index)
