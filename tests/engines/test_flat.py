"""Ten thousand gradients of exported functions leave nothing behind, in each engine."""

from __future__ import annotations

import gc
import importlib
import os
from pathlib import Path

import numpy as np
import pytest

from chainrules_py import export
from chainrules_py.values.caches import forget
from chainrules_tape import grad, jvp
from tests.fuzz.statements import stated

X = np.array([3.0, 5.0])
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not tell its memory so"
)


def in_torch(g):
    torch = pytest.importorskip("torch")
    x = torch.tensor(X, requires_grad=True)
    return lambda: torch.autograd.grad(g(x).sum(), x)


def in_torch_func(g):
    torch = pytest.importorskip("torch")
    x, f = torch.tensor(X), torch.func.grad(lambda x: g(x).sum())
    return lambda: f(x)


def in_jax(g):
    jax = pytest.importorskip("jax")
    x, f = jax.numpy.asarray(X), jax.grad(lambda x: g(x).sum())
    return lambda: f(x)


def in_autograd(g):
    pytest.importorskip("autograd")
    f = importlib.import_module("autograd").grad(lambda x: g(x).sum())
    return lambda: f(X)


def in_mlx(g):
    mx = pytest.importorskip("mlx.core")
    x, f = mx.array(X), mx.grad(lambda x: g(x).sum())
    return lambda: mx.eval(f(x))


def in_mygrad(g):
    mygrad = pytest.importorskip("mygrad")
    return lambda: g(mygrad.tensor(X)).sum().backward()


ENGINES = {
    "torch": in_torch,
    "torch func": in_torch_func,
    "jax": in_jax,
    "autograd": in_autograd,
    "mlx": in_mlx,
    "mygrad": in_mygrad,
}


TABLES = 2 * 4096
"""Entries of two tables of JAX's.

A gradient of its own that computes something of constants, as of ``c * c * x``, or by a rule under
`jax.custom_jvp`, leaves one in each, with a weak reference to what is gone, until they are full.
"""


@pytest.fixture(autouse=True)
def collecting():
    """Collect garbage as often as Python does by itself, not as rarely as in other tests."""
    often = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*often)


def left_behind(step, n, before):
    """Return how many objects, and bytes of memory, so many calls leave behind."""
    for _ in range(before):
        step()
    gc.collect()
    objects, size = len(gc.get_objects()), resident()
    for _ in range(n):
        step()
    gc.collect()
    size = resident() - size  # before the objects are listed, which takes megabytes
    return len(gc.get_objects()) - objects, size


def resident():
    """Return how many bytes of memory this process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def check(engine, constructor, n, before=100):
    g = export(stated(constructor, (object,)), to=engine.partition(" ")[0])
    objects, size = left_behind(ENGINES[engine](g), n, before)
    assert objects < 100
    assert size < 4_000_000


@pytest.mark.parametrize("engine", ["torch", "autograd", "mlx"])
def test_a_hundred(engine):
    check(engine, "rule", 100)


@pytest.mark.slow
@pytest.mark.parametrize("constructor", ["rule", "rrule and frule", "custom_vjp", "custom_jvp"])
@pytest.mark.parametrize("engine", ENGINES)
def test_ten_thousand(engine, constructor):
    fills = engine == "jax" and constructor == "custom_jvp"
    check(engine, constructor, 10_000, before=TABLES + 100 if fills else 100)


IMPORTED = {"torch": "torch", "jax": "jax.numpy", "autograd": "autograd.numpy"}


@pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
@pytest.mark.parametrize("engine", IMPORTED)
def test_imports_that_are_made_anew(engine):
    library = pytest.importorskip(IMPORTED[engine])
    import_rule = importlib.import_module(f"chainrules_{engine}").import_rule

    def step():
        f = import_rule(lambda x, *, by=1.0: library.sin(x) * by, operands=1)
        grad(lambda x: np.sum(f(x) * f(x, by=2.0)))(X)
        jvp(lambda x: np.sum(f(x)), (X,), (X,))
        forget()  # what is known of some hundred functions is kept otherwise

    assert left_behind(step, 20, 10)[0] < 100
