"""Sparse arrays of other engines' elements: their products, against those of the tape."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import chainrules_scipy
from chainrules_scipy.sparse import with_data
from chainrules_tape import grad, hessian

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
ROWS, COLUMNS = np.array([0, 1, 2, 0, 0]), np.array([0, 1, 0, 2, 0])  # one place twice
POINTERS = np.array([0, 2, 3, 4])
D = np.array([1.0, 2.0, -0.5, 0.7, 0.3])


def _coo(d: Any) -> Any:
    return sparse.coo_array((d, (ROWS, COLUMNS)), shape=(3, 3))


PROGRAMS = {
    "vector": lambda d: _coo(d) @ d[:3],
    "matrix": lambda d: _coo(d) @ (d[:3].reshape(3, 1) * d[3:].reshape(1, 2)),
    "csr": lambda d: sparse.csr_array((d[:4], (ROWS[:4], COLUMNS[:4])), shape=(3, 3)) @ d[:3],
    "pointers": lambda d: sparse.csr_array((d[:4], COLUMNS[:4], POINTERS), shape=(3, 3)) @ d[:3],
    "transposed": lambda d: _coo(d).T @ d[:3],
    "constant": lambda d: with_data(_coo(D), d) @ d[:3],
    "sum": lambda d: _coo(d).toarray()[0] * d[1],
}


def _of_jax(f: Any) -> Any:
    jax = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    x = jax.numpy.asarray(D)
    return jax.jit(jax.grad(f))(x), jax.jit(jax.hessian(f))(x), jax.jit(jax.grad(f))(x)


def _of_torch(f: Any) -> Any:
    torch: Any = pytest.importorskip("torch")
    importlib.import_module("chainrules_torch")
    x = torch.tensor(D)
    needs = x.clone().requires_grad_()
    eager = torch.autograd.grad(f(needs), needs)[0]
    return torch.func.grad(f)(x), torch.func.hessian(f)(x), eager


def _of_mlx(f: Any) -> Any:
    mx: Any = pytest.importorskip("mlx.core")
    importlib.import_module("chainrules_mlx")
    found = mx.grad(f)(mx.array(D.astype("f4")))
    return found, None, found


SLOW, SOME = pytest.mark.slow, ("pointers", "constant")
ENGINES = {"jax": _of_jax, "torch": _of_torch, "mlx": _of_mlx}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "name", [p if p in SOME else pytest.param(p, marks=SLOW) for p in PROGRAMS]
)
def test_products(engine: str, name: str) -> None:
    f: Any = lambda d: (PROGRAMS[name](d) ** 2).sum()
    with chainrules_scipy.install():
        slope, second = grad(f)(D), hessian(f)(D)
        first, twice, again = ENGINES[engine](f)
    np.testing.assert_allclose(np.asarray(first), slope, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.asarray(again), slope, rtol=1e-4, atol=1e-4)
    if twice is not None:
        np.testing.assert_allclose(np.asarray(twice), second, rtol=1e-4, atol=1e-4)


def test_a_constant_of_scipys_and_a_vector_of_jaxs() -> None:
    jax = pytest.importorskip("jax")
    importlib.import_module("chainrules_jax")
    A = sparse.csr_array(np.array([[2.0, 0.0, 1.0], [0.0, 3.0, 0.0]]))
    mine = with_data(A, jax.numpy.asarray(A.data))
    found = jax.jit(jax.grad(lambda x: (mine @ x).sum()))(jax.numpy.ones(3))
    np.testing.assert_array_equal(np.asarray(found), A.T @ np.ones(2))
