"""What the tests of several files of JAX have in common."""

from __future__ import annotations

import pytest


@pytest.fixture
def double():
    """JAX with 64 bits, as NumPy has them."""
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(True):
        yield
