"""Versions of JAX that lack the names that are not public: other ways, and the same numbers."""

import importlib
import sys

import jax
import numpy as np
import pytest

from chainrules_jax import _private, export

pytestmark = pytest.mark.usefixtures("double", "public")


@pytest.fixture
def public():
    """JAX of which nothing private can be imported."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("jax._src.core", "jax._src.util"):
            patch.setitem(sys.modules, name, None)
        importlib.reload(_private)
    assert not _private.held_weakly
    yield
    importlib.reload(_private)
    assert _private.held_weakly


def test_gradients():
    x = np.array([3.0, 4.0])
    norm = export(np.linalg.norm)
    assert np.allclose(jax.grad(norm)(x), x / 5.0)
    assert np.allclose(jax.jit(jax.hessian(norm))(x), np.eye(2) / 5.0 - np.outer(x, x) / 125.0)
