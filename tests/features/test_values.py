"""Features of values: structures with tangents of their own, in-place writes, sources, samples."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_compile import compile
from chainrules_kit.custom_derivatives import augmented_rule
from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    ProjectionError,
    RuleError,
    Tangent,
    primitive,
    rrule,
    rule,
)
from chainrules_py.extend import register_tangent
from chainrules_tape import Tape, grad, hessian, jacobian, jvp, name, vjp
from chainrules_tape.tools.test_vectors import oracle
from tests.features.rows import feature

W = np.arange(4.0).reshape(2, 2)


@dataclasses.dataclass
class Symmetric:
    full: np.ndarray


@dataclasses.dataclass
class Velocity:
    rate: float


@dataclasses.dataclass
class Angle:
    turns: float


@dataclasses.dataclass
class Lost:
    x: float


register_tangent(Symmetric, project=lambda t: Tangent[Symmetric](full=(t.full + t.full.T) / 2))
register_tangent(
    Angle, give=lambda t: Velocity(t.turns), take=lambda t: Tangent[Angle](turns=t.rate)
)


@feature(48, "projection to a structure of one's own", page="write-a-rule",
         best="ChainRules.jl: ProjectTo")  # fmt: skip
def test_cotangents_of_a_structure_are_projected_everywhere():
    def f(s):
        return np.sum(np.sin(s.full) * W)

    plain = np.cos(W) * W
    even = (plain + plain.T) / 2
    np.testing.assert_allclose(grad(f)(Symmetric(W)).full, even)
    np.testing.assert_allclose(vjp(f, Symmetric(W))[1](1.0)[0].full, even)
    np.testing.assert_allclose(grad(lambda d: f(d["s"]))({"s": Symmetric(W)})["s"].full, even)

    @primitive
    def area(s: Symmetric):
        return v.sum(s.full * W)

    @rule(area)
    def area_rule(s: Symmetric):
        def push(t, w):
            return v.sum(t.full * w)

        return area.__wrapped__(s), (
            LinearMap(push, lambda b, w: Tangent[Symmetric](full=b * w), W),
        )

    np.testing.assert_allclose(rrule(area, Symmetric(W))[1](1.0)[0].full, (W + W.T) / 2)
    with pytest.raises(NotDifferentiableError, match="one by one"):
        vjp(lambda s: np.sin(s.full), Symmetric(W))[1](np.ones((3, 2, 2)), batched=True)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_rows_of_a_jacobian_are_projected(mode):
    def f(s):
        return np.sin(s.full) @ (W + 1.0) * s.full[0, 1]

    rows = jacobian(f, mode=mode)(Symmetric(W)).full
    pull = vjp(f, Symmetric(W))[1]
    for i, j in np.ndindex(2, 2):
        np.testing.assert_allclose(rows[i, j], pull(np.eye(4)[2 * i + j].reshape(2, 2))[0].full)
    of_number = jacobian(lambda d: f(d["s"])[0, 1], mode=mode)({"s": Symmetric(W), "n": 3})
    np.testing.assert_allclose(of_number["s"].full, rows[0, 1])


def test_both_sides_of_a_hessian_are_projected():
    def f(s):
        return np.sum(np.sin(s.full) * W) ** 2

    H = hessian(f)(Symmetric(W)).full.full
    for axes in ((1, 0, 2, 3), (0, 1, 3, 2), (2, 3, 0, 1)):
        np.testing.assert_allclose(H, np.transpose(H, axes))
    U, h = np.array([[0.0, 1.0], [1.0, 3.0]]), 1e-6
    ahead, behind = [grad(f)(Symmetric(W + t * U)).full for t in (h, -h)]
    np.testing.assert_allclose(np.sum(H * U, (2, 3)), (ahead - behind) / (2 * h), atol=1e-6)
    with pytest.raises(NotDifferentiableError, match="register_tangent"):
        jacobian(lambda s: s.full * 1j)(Symmetric(W))


@feature(28, "a type with a tangent space of its own", page="write-a-rule",
         best="JAX: hijax; autograd: VSpace")  # fmt: skip
def test_a_tangent_is_of_another_class():
    def f(a):
        return np.sin(a.turns)

    assert grad(f)(Angle(0.0)) == Velocity(1.0)
    assert jvp(f, (Angle(0.0),), (Velocity(2.0),))[1] == 2.0
    assert grad(lambda x: grad(f)(Angle(x)).rate)(1.0) == -np.sin(1.0)
    assert jvp(lambda x: Angle(x * x), (3.0,), (1.0,))[1] == Velocity(6.0)
    assert vjp(lambda x: Angle(x * x), 3.0)[1](Velocity(1.0)) == (6.0,)
    with pytest.raises(RuleError, match="together"):
        register_tangent(Lost, give=lambda t: t)
    with pytest.raises(RuleError, match="not a structure"):
        register_tangent(float)
    register_tangent(Lost, give=lambda t: object(), take=lambda t: t)
    with pytest.raises(ProjectionError, match="no structure"):
        grad(lambda a: a.x * a.x)(Lost(1.0))


@feature(27, "numbers in an unregistered object are an error", page="write-a-rule",
         best="Zygote: Tangent of any struct")  # fmt: skip
def test_an_unregistered_object_is_no_constant():
    class Plain:
        def __init__(self):
            self.w = np.ones(3)

    for given in (Plain(), {"a": Plain(), "b": 1.0}):
        with pytest.raises(NotDifferentiableError, match="Plain"):
            grad(lambda p: 1.0 if not isinstance(p, dict) else p["b"])(given)


@feature(52, "in-place operations and views are differentiable", page="tape", best="JAX: .at, Refs")
def test_a_program_that_writes():
    def f(x):
        y = np.zeros(4, like=x)
        y[::2] = x * x
        view = y[1:]
        view += 1.0
        x[0] = y[2] * 3.0
        return np.sum(y * y) + np.sum(x)

    def plain(x):
        a, b = x[0] * x[0], x[1] * x[1]
        return a * a + 1.0 + (b + 1.0) ** 2 + 1.0 + 3.0 * (b + 1.0) + x[1]

    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(grad(f)(x.copy()), grad(plain)(x))


@feature(
    56, "a rule says that it is recomputed", page="custom-derivatives", best="JAX: hiprim.remat"
)
def test_a_rule_keeps_its_operands_and_runs_again():
    runs = []

    @primitive
    def f(x):
        return np.exp(x)

    def forward(x):
        runs.append(1)
        y = np.exp(x)
        return y, (y,)

    augmented_rule(f, forward, lambda y, b: (b * y,), recompute=True)
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x)))(W), np.exp(W))
    assert len(runs) == 2


@feature(78, "the generated backward pass is readable and runs", page="compile",
         best="Zygote, FreeTensor")  # fmt: skip
def test_the_source_of_a_gradient():
    slope = compile(grad(lambda x: np.sum(np.sin(x) * x)))
    np.testing.assert_allclose(slope(W), np.cos(W) * W + np.sin(W))
    assert "cos" in slope.source
    assert "def " in slope.source


@feature(76, "names of values and of gradients, dL/dw, in listings and sources", page="tape",
         best="tinygrad, Theano: names of variables")  # fmt: skip
def test_values_have_names():
    with Tape(differentiable=True) as tape:
        w = tape.variable(2.0, "w")
        y = name(w * w, "L")
        assert "L = w * w" in str(tape)
        assert tape.grad(y, w).value == 4.0
    assert "dL/dw = " in str(tape)
    assert 'label="dL/dw = ' in tape.to_dot()


@feature(95, "samples as data that other engines can read", page="tools", best="PyTorch: OpInfo")
def test_samples_are_json():
    calls = [
        (v.multiply, (2.0, 3.0), {}),
        (v.sum, (W,), {"axis": 0}),
        (v.exp, (W + 1j,), {}),
        (v.take, (W, np.array([1, 0, 1])), {"axis": 0}),
    ]
    rows = json.loads(oracle(calls))
    assert [row["function"] for row in rows] == ["multiply", "sum", "exp", "take"]
    assert rows[0]["expected"][0]["data"] == [0.75 * 3.0]
    assert rows[1]["expected"][0]["shape"] == [2, 2]
    bar = np.array(rows[2]["cotangent"]["data"]).reshape(2, 2, 2)
    wanted = (bar[..., 0] + 1j * bar[..., 1]) * np.conj(np.exp(W + 1j))
    found = np.array(rows[2]["expected"][0]["data"]).reshape(2, 2, 2)
    np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], wanted)
    assert rows[3]["expected"][1] is None
