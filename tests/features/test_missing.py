"""Derivatives that nobody has stated, or that are stated once: told, and never a zero."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_kit.custom_derivatives import augmented_rule, once_differentiable
from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    NotImplementedTangent,
    ProjectionError,
    UndefinedTangent,
    export,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_tape import grad, hessian, jacobian, jvp, linearize, vjp
from tests.features.rows import feature

A = np.array([0.3, 1.0, 2.0])
B = np.array([[3.0, 1.0, 0.2], [1.0, 4.0, 0.1], [0.2, 0.1, 5.0]])
times = lambda t, c: t * c


def power(reason):
    """A power whose derivative in the exponent nobody gives."""

    @primitive
    def f(n, x):
        return x**n

    @rule(f)
    def f_rule(n, x):
        return f(n, x), (reason, LinearMap(times, times, n * x ** (n - 1)))

    return f


@feature(14, "a rule says that it is not implemented in one operand", page="write-a-rule",
         best="ChainRules.jl: @not_implemented")  # fmt: skip
@pytest.mark.parametrize("kind", [NotImplementedTangent, UndefinedTangent])
def test_what_is_known_is_used_and_the_rest_is_told(kind):
    f = power(kind("the exponent counts"))
    np.testing.assert_allclose(grad(lambda x: np.sum(f(2.0, x)))(A), 2 * A)
    np.testing.assert_allclose(jvp(lambda x: f(2.0, x), (A,), (A,))[1], 2 * A * A)
    np.testing.assert_allclose(hessian(lambda x: np.sum(f(2.0, x)))(A), 2 * np.eye(3))
    for told in (
        lambda: grad(f, 0)(2.0, 3.0),
        lambda: grad(f, (0, 1))(2.0, 3.0),
        lambda: jvp(f, (2.0, 3.0), (1.0, 1.0)),
        lambda: vjp(lambda n: f(n, A), 2.0)[1](np.ones(3)),
    ):
        with pytest.raises(NotDifferentiableError, match="the exponent counts"):
            told()


@feature("N5", "not implemented, in both modes and all engines", page="write-a-rule",
         best="requested in JAX")  # fmt: skip
def test_engines_tell_it_as_well():
    f = power(NotImplementedTangent("the exponent counts"))
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    of_jax, of_torch = export(f, to="jax"), export(f, to="torch")
    x = torch.tensor(3.0)
    assert float(jax.grad(of_jax, 1)(2.0, 3.0)) == 6.0
    assert float(torch.func.grad(of_torch, 1)(torch.tensor(2.0), x)) == 6.0
    for told in (
        lambda: jax.grad(of_jax)(2.0, 3.0),
        lambda: jax.jvp(of_jax, (2.0, 3.0), (1.0, 1.0)),
        lambda: torch.func.grad(of_torch)(torch.tensor(2.0), x),
    ):
        with pytest.raises(NotDifferentiableError, match="the exponent counts"):
            told()


AFTER = [
    np.sum, lambda x: np.reshape(x, (3, 1)), lambda x: x[1:], lambda x: B @ x, np.sort, np.cumsum,
    lambda x: np.outer(x, x), lambda x: np.linalg.solve(B, x), lambda x: np.concatenate([x, x]),
    lambda x: np.stack([x, x]), lambda x: np.where(x > 0, x, 0), np.linalg.norm, np.exp, np.prod,
    lambda x: np.einsum("i,ij->j", x, B), np.max, lambda x: np.fft.fft(x).real, np.diag, np.var,
    lambda x: np.linalg.svd(np.diag(x), compute_uv=False), np.median, lambda x: np.pad(x, 1),
    lambda x: np.linalg.eigh(B + np.outer(x, x))[0], lambda x: np.convolve(x, x),
    lambda x: np.zeros(3, like=x) + x,
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(AFTER)))
def test_it_spreads_through_every_operation(k):
    @primitive
    def g(x):
        return np.multiply(x, 2.0)

    @rule(g)
    def g_rule(x):
        return g(x), (NotImplementedTangent("nobody knows"),)

    h = lambda x: AFTER[k](g(x))
    for told in (
        lambda: jvp(h, (A,), (A,)),
        lambda: jvp(h, (A,), (np.eye(3),), batched=True),
        lambda: linearize(h, A)[1](A),
        lambda: jacobian(h, mode="forward")(A),
        lambda: jacobian(h, mode="reverse")(A),
        lambda: grad(lambda x: np.sum(h(x)))(A),
        lambda: hessian(lambda x: np.sum(h(x)))(A),
    ):
        with pytest.raises(NotDifferentiableError):
            told()


def test_a_partial_of_one_output_is_none():
    @primitive
    def two(x):
        return x * 2.0, x * 3.0

    scalar_rule(two, lambda y, x: (2.0, None), outputs=2)
    assert grad(lambda x: two(x)[0] + two(x)[1])(1.0) == 2.0
    assert jvp(two, (1.0,), (1.0,))[1] == (2.0, 0.0)


@feature(26, "operands that are nested dicts, lists and tuples", page="write-a-rule",
         best="JAX: pytrees")  # fmt: skip
def test_rules_of_nested_containers_give_plain_ones():
    @primitive
    def model(p, xs):
        return p["w"] * xs[0] + p["b"]["c"] * xs[1]

    @rule(model)
    def model_rule(p: dict, xs: list):
        def push(t):
            return t["w"] * xs[0] + t["b"]["c"] * xs[1]

        def pull(y_bar):
            return {"w": y_bar * xs[0], "b": {"c": y_bar * xs[1]}}

        def push_xs(t):
            return p["w"] * t[0] + p["b"]["c"] * t[1]

        def pull_xs(y_bar):
            return [y_bar * p["w"], y_bar * p["b"]["c"]]

        return model(p, xs), (LinearMap(push, pull), LinearMap(push_xs, pull_xs))

    p = {"w": 2.0, "b": {"c": 3.0}}
    assert grad(model, (0, 1))(p, [4.0, 5.0]) == ({"w": 4.0, "b": {"c": 5.0}}, [2.0, 3.0])
    assert jvp(model, (p, [4.0, 5.0]), (p, [1.0, 1.0]))[1] == 4 * 2 + 5 * 3 + 2 + 3
    torch = pytest.importorskip("torch")
    of = {"w": torch.tensor(2.0), "b": {"c": torch.tensor(3.0, requires_grad=True)}}
    export(model, to="torch")(of, [4.0, 5.0]).backward()
    assert of["b"]["c"].grad == 5.0


def test_a_container_of_other_keys_is_no_tangent():
    @primitive
    def f(p):
        return p["w"] * 1.0

    @rule(f)
    def f_rule(p: dict):
        return f(p), (LinearMap(lambda t: t["w"], lambda b: {"v": b}),)

    with pytest.raises(ProjectionError, match=r"no field .v."):
        grad(f)({"w": 1.0})


@feature(43, "a pull adds to the buffer that waits", page="write-a-rule",
         best="ChainRules.jl: add!!; Chainer: backward_accumulate")  # fmt: skip
def test_pull_into_is_called_where_a_sum_waits():
    runs = []

    @primitive
    def f(x):
        return x * 2.0

    def add(buffer, y_bar, c):
        runs.append(1)
        buffer += c * y_bar

    @rule(f)
    def f_rule(x):
        return f(x), (LinearMap(times, times, 2.0, pull_into=add),)

    def loss(x):
        y = f(x)
        return np.sum(y * x * x)

    np.testing.assert_allclose(grad(loss)(A), 6 * A * A)
    assert len(runs) == 1
    np.testing.assert_allclose(hessian(loss)(A), np.diag(12 * A))
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(loss)(x)))(A), 12 * A)
    np.testing.assert_allclose(compile(grad(loss))(A), 6 * A * A)
    np.testing.assert_allclose(jacobian(lambda x: f(x) * x * x)(A), np.diag(6 * A * A))


@feature(64, "a mark for what is differentiable once", page="custom-derivatives",
         best="PyTorch: once_differentiable")  # fmt: skip
def test_a_half_that_is_right_to_first_order_only():
    @primitive
    def f(x):
        return np.exp(x)

    @rule(f)
    def f_rule(x):
        y = f(x)
        half = once_differentiable(times)
        return y, (LinearMap(half, half, y),)

    @primitive
    def g(x):
        return np.exp(x)

    augmented_rule(g, lambda x: (g(x), (g(x),)), once_differentiable(lambda y, b: (y * b,)))
    np.testing.assert_allclose((grad(f)(1.0), grad(g)(1.0)), np.e)
    np.testing.assert_allclose(jvp(f, (1.0,), (1.0,))[1], np.e)
    for h in (f, g):
        for told in (
            lambda h=h: grad(grad(h))(1.0),
            lambda h=h: hessian(h)(1.0),
            lambda h=h: jvp(grad(h), (1.0,), (1.0,)),
        ):
            with pytest.raises(NotDifferentiableError, match="differentiable once"):
                told()
    jax = pytest.importorskip("jax")
    assert jax.grad(export(f, to="jax"))(0.0) == 1.0
    with pytest.raises(NotDifferentiableError, match="differentiable once"):
        jax.grad(jax.grad(export(f, to="jax")))(0.0)


@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_person_s_push_of_what_is_not_implemented(shape):
    """It may do more with a tangent than computing with it: the error says what is missing."""
    unstated = primitive(lambda x: x * 1.0)
    summed = primitive(lambda x: x * 2.0)

    @rule(unstated)
    def unstated_rule(x):
        return x * 1.0, (NotImplementedTangent("no derivative of this"),)

    @rule(summed)
    def summed_rule(x):
        double = lambda t: 2.0 * np.asarray(t, float)
        return x * 2.0, (LinearMap(double, double),)

    x = np.ones(shape)
    with pytest.raises(NotDifferentiableError, match="no derivative of this"):
        jvp(lambda x: summed(unstated(x)), (x,), (x,))
