"""Functions that compute with NumPy, in programs that JAX traces: what runs, and how often."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import numpy as np
import pytest
import scipy.special

from chainrules_jax import callback, export, supports
from chainrules_py import (
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    RuleError,
    Tangent,
    ZeroTangent,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from tests.engines.rules_by_numpy import taxes

pytestmark = pytest.mark.usefixtures("double")


X = np.array([0.4, 1.1, -0.7])


def kernels(vectorized=False):
    """A function, its pullback and that one's own derivative, all by NumPy, which count runs."""
    runs = SimpleNamespace(value=0, slope=0, bend=0)

    def counted(name, f):
        def body(x):
            assert isinstance(x, np.ndarray)
            setattr(runs, name, getattr(runs, name) + 1)
            return f(x)

        body.__name__ = name
        made = primitive(body)
        callback(made, result=lambda x: x, vectorized=vectorized)
        return made

    value, slope, bend = (
        counted("value", np.sin),
        counted("slope", np.cos),
        counted("bend", lambda x: -np.sin(x)),
    )

    @rule(value)
    def value_rule(x):
        push, pull = lambda t, x: slope(x) * t, lambda bar, x: slope(x) * bar
        return value(x), (LinearMap(push, pull, x),)

    scalar_rule(slope, lambda _y, x: bend(x))
    scalar_rule(bend, lambda _y, x: -slope(x))
    return export(value), runs


@pytest.mark.parametrize("compile", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_kernel_runs_once_per_value_and_gradient(near, compile):
    f, runs = kernels()
    g = compile(jax.value_and_grad(f))
    for n in range(1, 4):
        y, bar = g(0.1 * n)
        near((y, bar), (np.sin(0.1 * n), np.cos(0.1 * n)))
        assert (runs.value, runs.slope) == (n, n)
    h = compile(lambda x: jax.jvp(f, (x,), (1.0,)))
    near(h(0.3), (np.sin(0.3), np.cos(0.3)))
    assert (runs.value, runs.slope) == (4, 4)


def test_second_and_third_order_go_through_the_rules_of_the_pullback(near):
    f, runs = kernels()
    for second in (jax.jacfwd(jax.grad(f)), jax.grad(jax.jacfwd(f)), jax.grad(jax.grad(f))):
        runs.bend = 0
        near(second(0.3), -np.sin(0.3))
        assert runs.bend
        near(jax.jit(second)(0.3), -np.sin(0.3))
    near(jax.jit(jax.grad(jax.grad(jax.grad(f))))(0.3), -np.cos(0.3))


@pytest.mark.parametrize("vectorized", [False, True])
def test_batches_go_slice_by_slice_or_all_at_once(near, vectorized):
    f, runs = kernels(vectorized)
    near(jax.vmap(jax.grad(f))(X), np.cos(X))
    assert runs.slope == (1 if vectorized else 3)
    near(jax.jit(jax.vmap(jax.vmap(jax.grad(f))))(X[None]), np.cos(X)[None])


def test_residuals_are_not_computed_again(near):
    """What the rule saved from a kernel is an argument of the backward pass."""
    runs = []

    @primitive
    def factored(x):
        runs.append("factored")
        return np.exp(x)

    callback(factored, result=lambda x: x)

    @rule(factored)
    def factored_rule(x):
        y = factored(x)
        return y, (LinearMap(lambda t, y: y * t, lambda bar, y: v.conj(y) * bar, y),)

    f = jax.jit(jax.value_and_grad(lambda x: export(factored)(x) ** 2))
    near(f(0.5), (np.exp(1.0), 2 * np.exp(1.0)))
    assert runs == ["factored"]
    pulled = jax.vjp(export(factored), 0.5)[1]
    near((pulled(1.0)[0], pulled(2.0)[0]), (np.exp(0.5), 2 * np.exp(0.5)))
    assert len(runs) == 2


def test_several_results_operands_and_options(near):
    @primitive
    def divided(x, k, *, by):
        return np.divmod(x * k, by)

    callback(divided, result=lambda x, k, *, by: (x, x))

    @rule(divided)
    def divided_rule(x, k, *, by):
        push = lambda t, k: Tangent.of(tuple, {0: ZeroTangent(), 1: k * t}, 2)
        pull = lambda bar, k: k * bar[1]
        return divided(x, k, by=by), (LinearMap(push, pull, k), NoTangent())

    f = jax.jit(lambda x, k: export(divided)(x, k, by=2.0))
    near(f(X, 3), np.divmod(3 * X, 2.0))
    near(jax.grad(lambda x: f(x, 3)[1].sum())(X), 3.0)


def test_errors_say_what_to_write(near):
    @primitive
    def unknown(x):
        return np.sin(x)

    callback(unknown)
    near(export(unknown)(X), np.sin(X))
    near(jax.jit(export(unknown))(X), np.sin(X))  # it is tried on other numbers first
    assert supports(unknown, X).jit

    @primitive
    def longer(x):
        return np.append(x, 1.0)

    callback(longer, result=lambda x: x)
    with pytest.raises(Exception, match=r"longer gave float64.4.*said shapes .3,"):
        jax.jit(export(longer))(X).block_until_ready()
    with pytest.raises(RuleError, match="is none"):
        callback(np.sin)
    with pytest.raises(RuleError, match="is none"):
        callback(v.sin)


@pytest.mark.parametrize("operation", [v.erfcx, v.iv], ids=["erfcx", "iv"])
def test_operations_that_jax_lacks_are_called_back(near, operation):
    operands, axes = ((X,), (0,)) if operation is v.erfcx else ((0.5, np.abs(X)), (None, 0))
    jitted = jax.jit(export(operation))(*operands)
    near(jitted, operation(*operands))
    slope = jax.jit(jax.vmap(jax.grad(export(operation), len(operands) - 1), axes))
    h, at = 1e-6, lambda h: operation(*operands[:-1], operands[-1] + h)
    near(slope(*operands), (at(h) - at(-h)) / (2 * h), 1e-7)


@pytest.mark.parametrize("compile", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_a_batch_of_numbers_beside_a_batch_of_arrays(near, compile):
    @primitive
    def wave(a, x):
        return a * np.sin(x)

    scalar_rule(wave, lambda _y, a, x: v.sin(x), lambda _y, a, x: wave(a, v.cos(x)))
    callback(wave, result=lambda a, x: x, vectorized=True)
    a, x = np.array([0.5, 1.5, 2.5]), np.arange(1.0, 10.0).reshape(3, 3)
    near(compile(jax.vmap(export(wave)))(a, x), a[:, None] * np.sin(x))
    of_orders = jax.vmap(export(v.jv), (0, None))
    near(compile(of_orders)(a, x[0]), scipy.special.jv(a[:, None], x[0]))
    slope = jax.vmap(lambda a, x: jax.grad(lambda x: export(v.jv)(a, x).sum())(x))
    near(compile(slope)(a, x), scipy.special.jvp(a[:, None], x))


def test_a_whole_number_in_one_branch_does_not_make_the_others_whole(near):
    tax = export(taxes())
    net = lambda x: x - tax(x)
    near(jax.jit(jax.value_and_grad(net))(7.0), (5.2, 0.7))
    near(jax.grad(jax.jit(net))(7.0), 0.7)
    near(jax.vmap(jax.grad(net))(np.array([0.5, 7.0])), [1.0, 0.7])


def test_positions_stay_whole_numbers():
    found = jax.jit(export(primitive(lambda x: int(np.argmax(np.asarray(x))))))(X)
    assert found == 1
    assert found.dtype.kind == "i"


@pytest.mark.parametrize(
    "body, said",
    [
        (lambda x: np.emath.sqrt(x), r"gave complex128.*of float64"),
        (lambda x: x * 1.5 if x.sum() > 500.0 else np.zeros(3, int), r"gave float64.*of int64"),
        (lambda x: x if x.sum() > 500.0 else x.astype("f"), r"gave float64.*of float32"),
    ],
)
def test_a_result_that_the_promised_dtype_cannot_hold_is_an_error(body, said):
    body.__name__ = "branching"
    branching = primitive(body)
    callback(branching)
    at = np.array([-1e3, 1e3, 1e3])
    with pytest.raises(Exception, match=said):
        jax.jit(export(branching))(at).block_until_ready()


def test_a_body_may_compute_with_more_digits_than_its_operands_have(near):
    precise = primitive(lambda x: np.sin(x.astype(float)))
    callback(precise, result=lambda x: x)
    found = jax.jit(export(precise))(X.astype("f"))
    assert found.dtype == np.float32
    near(found, np.sin(X), 1e-6)


def test_the_reason_why_a_body_has_no_derivative_is_raised_as_it_is():
    @primitive
    def refusing(x):
        raise NotDifferentiableError("there is no derivative: write another function")

    callback(refusing)
    for run in (jax.jit(export(refusing)), jax.vmap(export(refusing))):
        with pytest.raises(NotDifferentiableError, match="write another function"):
            run(X)
