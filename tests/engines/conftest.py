"""What the tests of several files of JAX have in common."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def double():
    """JAX with 64 bits, as NumPy has them."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(True):
        yield


@pytest.fixture
def near(request):
    """See that numbers are equal, to what the module calls ``RTOL`` or to the last digits."""
    default = getattr(request.module, "RTOL", 1e-12)

    def near(have, want, rtol=default):
        np.testing.assert_allclose(have, want, rtol=rtol, atol=rtol)

    return near
