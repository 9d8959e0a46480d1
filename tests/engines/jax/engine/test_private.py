"""Versions of JAX that lack the names that are not public: other ways, and the same numbers."""

import importlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from chainrules_jax import _private, callback, export
from chainrules_jax.engine import call
from chainrules_py import primitive
from tests.engines.jax.engine import test_names

pytestmark = pytest.mark.usefixtures("double", "public")


@pytest.fixture
def public():
    """JAX of which nothing private can be imported."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("jax._src.core", "jax._src.util"):
            patch.setitem(sys.modules, name, None)
        importlib.reload(_private)
    assert _private.axis_env is None
    assert not _private.held_weakly
    yield
    importlib.reload(_private)
    assert _private.axis_env is not None


def test_gradients():
    x = np.array([3.0, 4.0])
    norm = export(np.linalg.norm)
    assert np.allclose(jax.grad(norm)(x), x / 5.0)
    assert np.allclose(jax.jit(jax.hessian(norm))(x), np.eye(2) / 5.0 - np.outer(x, x) / 125.0)


def test_gradients_before_traces_had_public_names(monkeypatch):
    for name in ("set_current_trace", "take_current_trace"):
        monkeypatch.setattr(call, name, None)
    x = np.array([3.0, 4.0])
    norm = export(np.linalg.norm)
    assert np.allclose(jax.grad(norm)(x), x / 5.0)
    assert np.allclose(jax.hessian(norm)(x), np.eye(2) / 5.0 - np.outer(x, x) / 125.0)


def test_axes_have_names():
    test_names.check(test_names.CASES[::211], test_names.X[:2])


def test_a_body_of_numpy_has_no_axes():
    test_names.test_a_body_of_numpy_has_no_axes("grad within", True)
    f = primitive(lambda x: np.sin(x))
    callback(f, result=lambda x: x)
    assert np.allclose(jax.vmap(export(f), axis_name="i")(jnp.arange(3.0)), np.sin([0.0, 1.0, 2.0]))
