"""Versions of JAX that lack the names that are not public: other ways, and the same numbers."""

import importlib
import sys

import jax
import numpy as np
import pytest
from jax._src.interpreters import ad

from chainrules_jax import _private, export
from chainrules_jax.engine.call_primitive import call_p

pytestmark = pytest.mark.usefixtures("double", "public")


@pytest.fixture
def public():
    """JAX of which nothing private can be imported."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("jax._src.core", "jax._src.util", "jax._src.interpreters.ad"):
            patch.setitem(sys.modules, name, None)
        importlib.reload(_private)
    assert not _private.held_weakly
    assert not _private.primitive_linearizations
    yield
    importlib.reload(_private)
    assert _private.held_weakly
    assert (call_p in _private.primitive_linearizations) == (jax.__version_info__ < (0, 11, 1))


@pytest.fixture
def linearized(public):
    """JAX that derives how to linearize from the derivatives of calls."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(ad.primitive_linearizations, call_p, raising=False)
        yield


@pytest.mark.usefixtures("linearized")
def test_gradients():
    x = np.array([3.0, 4.0])
    norm = export(np.linalg.norm)
    assert np.allclose(jax.grad(norm)(x), x / 5.0)
    assert np.allclose(jax.jit(jax.hessian(norm))(x), np.eye(2) / 5.0 - np.outer(x, x) / 125.0)
