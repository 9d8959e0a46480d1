"""The check of batches on arrays whose dtypes are not NumPy's."""

from __future__ import annotations

import pytest

from chainrules_py import primitive, scalar_rule
from chainrules_py.testing import check_rule


def test_the_precision_of_another_librarys_dtype_is_known():
    """`np.finfo` refuses such a dtype, and the check raised."""
    xp = pytest.importorskip("array_api_strict")

    @primitive
    def cube(x, /):
        return x * x * x

    scalar_rule(cube, lambda _y, x: 3 * x * x)
    report = check_rule(cube, xp.asarray([1.0, 2.0]), checks=("batched",))
    assert report.verdict("batched") == "passed"
