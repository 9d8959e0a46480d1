"""Hints for assertions of numpy.testing that need plain numbers, in a compiled function."""

from __future__ import annotations

import numpy as np

from chainrules_py.extend import advise

for _assertion in (
    np.testing.assert_allclose,
    np.testing.assert_approx_equal,
    np.testing.assert_array_almost_equal,
    np.testing.assert_array_max_ulp,
):
    advise(_assertion, "use assert np.allclose({0}, {1}, rtol=1e-7)")
