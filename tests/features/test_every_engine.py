"""Features of engines: one rule serves all of them, in every mode and order."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_py import LinearMap, export, non_differentiable, primitive, rule
from chainrules_tape import grad
from tests.features.rows import feature

A = np.array([0.3, 1.0, 2.0])
DOCS = Path(__file__).resolve().parents[2] / "docs"


@primitive
def scaled(x, *, by=2.0):
    """An exponential of one's own, with an option."""
    return by * v.exp(x)


@rule(scaled)
def scaled_rule(x, *, by=2.0):
    y = scaled(x, by=by)
    return y, (LinearMap(lambda t, y: t * y, lambda b, y: b * y, y),)


@feature("N1", "one statement serves PyTorch, JAX, autograd and the others", page="export",
         best="requested in Keras, PennyLane, JAX, PyTorch")  # fmt: skip
@feature("N15", "one call gives a function to several engines", page="export",
         best="requested in DifferentiationInterface, Enzyme")  # fmt: skip
@feature("N2", "both modes, vmap, jit, any order, through a public interface", page="jax",
         best="requested in JAX, PyTorch, jaxopt")  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_one_rule_for_all():
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    assert {"jax", "torch"} <= {*export(scaled, to=["jax", "torch"])}
    f = export(scaled, to="jax")
    third = jax.jit(jax.vmap(jax.grad(jax.grad(jax.grad(f)))))
    np.testing.assert_allclose(third(A.astype("f4")), 2 * np.exp(A), rtol=1e-5)
    y_dot = jax.jvp(lambda x: f(x, by=3.0), (A.astype("f4"),), (np.ones(3, "f4"),))[1]
    np.testing.assert_allclose(y_dot, 3 * np.exp(A), rtol=1e-5)
    g = export(scaled, to="torch")
    found = torch.func.vmap(torch.func.hessian(g))(torch.tensor(A))
    np.testing.assert_allclose(found, 2 * np.exp(A))


@feature("N3", "a table by function, mode, order, dtype, keyword, made by running; not by argument",
         page="coverage", best="requested in PyTorch, functorch, autograd, Stan",
         here="in part")  # fmt: skip
def test_the_table_of_what_is_covered():
    text = (DOCS / "coverage.csv").read_text(encoding="utf-8")
    rows = {row["name"]: row for row in csv.DictReader(text.splitlines())}
    assert int(rows["sinh"]["tape float32"]) > 0
    assert int(rows["multiply"]["second order complex"]) > 0


@feature("N8", "the convention of complex derivatives is each consumer's own", page="conventions",
         best="requested in JAX, PyTorch, PyTensor, MLX")  # fmt: skip
def test_complex_conventions():
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    z = 0.3 + 0.7j
    ours = grad(lambda z: abs(v.multiply(z, 2.0 + 1.0j)))(z)
    x = torch.tensor(z, requires_grad=True)
    export(v.multiply, to="torch")(x, torch.tensor(2.0 + 1.0j)).abs().backward()
    theirs = jax.grad(lambda z: abs(export(v.multiply, to="jax")(z, 2.0 + 1.0j)))(z)
    np.testing.assert_allclose(complex(x.grad), ours, rtol=1e-6)
    np.testing.assert_allclose(complex(theirs), np.conj(ours), rtol=1e-6)


@feature("N9", "nested containers, keywords and constants in one signature", page="write-a-rule",
         best="requested in PyTorch, functorch, JAX")  # fmt: skip
def test_containers_and_keywords():
    @primitive
    def model(p, x, *, power=2):
        return v.sum(p["w"][0] * x**power)

    jax = pytest.importorskip("jax")
    p = {"w": [A.astype("f4")], "name": "linear"}
    found = grad(model)(p, 2.0, power=3)
    np.testing.assert_allclose(found["w"][0], 8.0 * np.ones(3))
    f = export(model, to="jax")
    theirs = jax.grad(lambda w: f({"w": [w], "name": "linear"}, 2.0, power=3))(p["w"][0])
    np.testing.assert_allclose(theirs, 8.0 * np.ones(3))


@feature("N13", "not differentiable, in one word for all engines", page="write-a-rule",
         best="requested in PyTorch")  # fmt: skip
def test_not_differentiable_everywhere():
    @primitive
    def bucket(x):
        return v.floor(x)

    non_differentiable(bucket)
    assert grad(lambda x: bucket(x) * x)(2.5) == 2.0
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    assert jax.grad(lambda x: export(bucket, to="jax")(x) * x)(2.5) == 2.0
    x = torch.tensor(2.5, requires_grad=True)
    (export(bucket, to="torch")(x) * x).backward()
    assert x.grad == 2.0
