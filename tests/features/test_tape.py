"""Features of the tape, each as a small program."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    LostDerivativeWarning,
    MutationError,
    NotDifferentiableError,
    ProjectionError,
    TracerError,
    ZeroTangent,
    export,
    primitive,
    rule,
)
from chainrules_tape import (
    Tape,
    checkpoint,
    grad,
    hessian,
    hook,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from chainrules_tape.tools import no_record, taylor
from tests.features.rows import feature

A = np.array([1.0, 2.0, 3.0])
W = np.arange(6.0).reshape(2, 3)


@feature(
    68, "many directions in one call", page="tape", best="PyTorch: is_grads_batched; JAX: vmap"
)
def test_vjp_and_jvp_take_batches_of_seeds():
    rng = np.random.default_rng(0)
    runs = []

    def f(w, x, c):
        runs.append(1)
        return np.tanh(w @ x), np.sum(x) * 2.0

    _, pullback = vjp(f, W, A, 3.0)
    seeds = rng.standard_normal((5, 2)), rng.standard_normal(5)
    found = pullback(seeds, batched=True)
    for k, bars in enumerate(found):
        one_by_one = [pullback((seeds[0][i], seeds[1][i]))[k] for i in range(5)]
        np.testing.assert_allclose(bars, np.stack(one_by_one), rtol=1e-14)
    assert len(runs) == 1
    ts = rng.standard_normal((4, 2, 3))
    y, y_dot = jvp(lambda w: {"a": np.tanh(w @ A), "c": 1.0}, (W,), (ts,), batched=True)
    each = [jvp(lambda w: np.tanh(w @ A), (W,), (t,))[1] for t in ts]
    np.testing.assert_allclose(y_dot["a"], np.stack(each), rtol=1e-14)
    assert y["c"] == 1.0
    assert y_dot["c"].tolist() == [0.0] * 4
    assert jvp(lambda x: x * x, (2.0,), (np.arange(3.0),), batched=True)[1].tolist() == [0, 4, 8]


@pytest.mark.parametrize("seed", [np.ones(3), np.ones((4, 2)), 1.0, np.ones((4, 3)) * 1j, None])
def test_a_batch_of_another_shape_is_an_error(seed):
    with pytest.raises(ProjectionError):
        jvp(lambda x: x * x, (A,), (seed,), batched=True)
    with pytest.raises(ProjectionError):
        vjp(lambda x: x * x, A)[1](seed, batched=True)


@dataclass
class Layer:
    w: np.ndarray
    b: float


@feature(40, "a policy for unused inputs: zeros, None, or an error", page="tape",
         best="PyTorch: allow_unused, materialize_grads")  # fmt: skip
def test_what_the_result_does_not_depend_on():
    def f(w, b, more):
        return np.sum(w * more["u"])

    given = A, 2.0, {"u": A, "v": 2.0, "name": "x"}
    found = grad(f, (0, 1, 2))(*given)
    assert found[1] == 0.0
    assert found[2]["v"] == 0.0
    found = grad(f, (0, 1, 2), unused="none")(*given)
    assert found[1] is None
    assert found[2]["v"] is None
    np.testing.assert_array_equal(found[2]["u"], A)
    with pytest.raises(NotDifferentiableError, match="argument 1"):
        grad(f, (0, 1), unused="raise")(*given)
    with pytest.raises(NotDifferentiableError, match=r"argument 2\['v'\]"):
        value_and_grad(f, 2, unused="raise")(*given)
    (layer,) = [grad(lambda x: np.sum(x.w), unused="none")(Layer(A, 1.0))]
    assert layer["b"] is None
    with pytest.raises(NotDifferentiableError, match="unused="):
        grad(f, unused="zeros")


@feature(71, "gradients by the names of the arguments", page="tape",
         best="FreeTensor: requires and provides")  # fmt: skip
def test_gradients_come_by_name():
    def f(w, b, scale=2.0):
        return np.sum(w * b) * scale

    found = grad(f, (0, 1), argnames="scale", by_name=True)(A, 3.0)
    assert list(found) == ["w", "b", "scale"]
    np.testing.assert_array_equal(found["w"], [6.0] * 3)
    assert (found["b"], found["scale"]) == (12.0, 18.0)
    value, found = value_and_grad(f, by_name=True)(A, 3.0)
    assert value == 36.0
    assert list(found) == ["w"]
    twice = grad(lambda x: np.sum(grad(f, by_name=True)(x * x, 1.0)["w"] * x))(A)
    np.testing.assert_array_equal(twice, [2.0] * 3)
    with pytest.raises(NotDifferentiableError, match=r"counts from the end.*write argnames="):
        grad(lambda a, b: a * b, -1, by_name=True)(1.0, 2.0)
    with pytest.raises(NotDifferentiableError, match="has no name"):
        grad(lambda *xs: xs[0], by_name=True)(1.0)


def spies():
    pulled = []

    def make(name, factor):
        @primitive
        def f(x):
            return factor * x

        @rule(f)
        def f_rule(x):
            def pull(b):
                pulled.append(name)
                return factor * b

            return factor * x, (LinearMap(lambda t: factor * t, pull),)

        return f

    return pulled, make("a", 2.0), make("b", 3.0), make("c", 5.0)


@feature(69, "a gradient stops at intermediates", page="tape", best="PyTorch: GradientEdge")
@feature(70, "only the pulls on the way are run", page="tape", best="PyTorch, JAX")
@pytest.mark.parametrize("form", [{}, {"persistent": True}, {"differentiable": True}])
def test_only_what_leads_to_a_source_is_pulled(form):
    pulled, a, b, c = spies()

    def recorded():
        pulled.clear()
        with Tape(**form) as tape:
            x, y = tape.variable(A), tape.variable(A)
            h, k = a(x), b(y)
            loss = np.sum(c(h * k))
            found = {}
            for name, source in (("h", h), ("x", x), ("y", y), ("xy", [x, y])):
                if "differentiable" in form:
                    pulled.clear()
                    found[name] = tape.grad(loss, source), [*pulled]
        if "persistent" in form:
            for name, source in (("h", h), ("x", x), ("y", y), ("xy", [x, y])):
                pulled.clear()
                found[name] = tape.grad(loss, source), [*pulled]
        if not form:
            found["h"] = tape.grad(loss, h), [*pulled]
        return found

    expected = {"h": ["c"], "x": ["c", "a"], "y": ["c", "b"], "xy": ["c", "b", "a"]}
    for name, (value, seen) in recorded().items():
        assert seen == expected[name]
        value = value[0] if name == "xy" else value
        factor = {"h": 15.0, "x": 30.0, "y": 30.0, "xy": 30.0}[name]
        np.testing.assert_allclose(getattr(value, "value", value), factor * A)


def test_a_checkpoint_beside_the_way():
    f = checkpoint(lambda x, y: np.sin(x) * y)
    with Tape() as tape:
        x, y = tape.variable(A), tape.variable(A)
        loss = np.sum(f(x, y) * f(y, y))
    np.testing.assert_allclose(tape.grad(loss, x), np.cos(A) * A * np.sin(A) * A)


def clip(bar):
    return bar.clip(-1.0, 1.0)


def peaks(x):
    return 5.0 * np.sum(np.exp(x) * x)


@feature(79, "hooks on values and functions, which can be removed", page="tape",
         best="PyTorch: pre-hooks, post-accumulate hooks")  # fmt: skip
@feature(20, "edit a cotangent in flight", page="tape", best="PyTorch: register_hook")
def test_hooks_on_values_and_on_functions():
    plain = grad(peaks)(A)
    with hook(np.exp, clip):
        np.testing.assert_allclose(grad(peaks)(A), 5 * np.exp(A) + np.exp(A))
    np.testing.assert_array_equal(grad(peaks)(A), plain)
    hung = hook(np.exp, lambda bar: ZeroTangent())
    np.testing.assert_allclose(grad(peaks)(A), 5 * np.exp(A))
    hung.remove()
    hung.remove()
    np.testing.assert_array_equal(grad(peaks)(A), plain)

    def removed(x):
        y = np.exp(x)
        hook(y, clip).remove()
        return 5.0 * np.sum(y * x)

    np.testing.assert_array_equal(grad(removed)(A), plain)


def test_a_hook_is_no_derivative_of_anything():
    """Unless it is linear, other modes and derivatives of gradients are errors."""

    def on_a_value(x):
        y = np.sin(x)
        hook(y, clip)
        return 5.0 * np.sum(y * x)

    def before_a_constant_cotangent(x):
        y = np.sin(x)
        hook(y, clip)
        return 5.0 * np.sum(y)

    refusals = (NotDifferentiableError, TracerError)
    with hook(np.exp, clip):
        for f in (peaks, on_a_value, before_a_constant_cotangent, lambda x: 5 * np.sum(np.exp(x))):
            for call in (
                lambda f=f: jvp(f, (A,), (A,)),
                lambda f=f: linearize(f, A)[1](A),
                lambda f=f: hessian(f)(A),
                lambda f=f: grad(lambda x: np.sum(grad(f)(x)))(A),
            ):
                with pytest.raises(refusals):
                    call()
    seen = []

    def logged(x):
        y = np.sin(x)
        hook(y, seen.append, linear=True)
        return np.sum(y * y)

    np.testing.assert_allclose(hessian(logged)(A), np.diag(2 * np.cos(2 * A)))
    assert seen


def test_a_linear_hook_is_transposed_in_forward_mode():
    def f(x):
        y = np.sin(x)
        hook(y, lambda bar: bar * A, linear=True)
        return np.sum(y * y)

    slope = grad(f)(A)
    np.testing.assert_allclose(jvp(f, (A,), (W[1],))[1], slope @ W[1])
    np.testing.assert_allclose(linearize(f, A)[1](W[1]), slope @ W[1])
    with hook(np.exp, lambda bar: 2.0 * bar, linear=True):
        np.testing.assert_allclose(jvp(peaks, (A,), (W[1],))[1], grad(peaks)(A) @ W[1])


@pytest.mark.slow
def test_hooks_around_rules_are_met_in_other_engines():
    jax = pytest.importorskip("jax")
    torch = pytest.importorskip("torch")
    with hook(np.exp, clip):
        assert jax.grad(lambda x: 5.0 * export(np.exp, to="jax")(x))(0.0) == 1.0
        x = torch.tensor(0.0, requires_grad=True)
        (5.0 * export(np.exp, to="torch")(x)).backward()
        assert float(x.grad) == 1.0
    assert jax.grad(lambda x: 5.0 * export(np.exp, to="jax")(x))(0.0) == 5.0


# --------------------------------------------------------------------- blocks without a record


def partly_recorded(x):
    y = np.sin(x)
    with no_record():
        s = np.exp(y) * x
        s = s / np.sum(s)
        b = np.zeros(3, like=x)
        b[1:] = x[1:]
        s[0] = 2.0
    return np.sum(s * y + b * x)


@feature(84, "a no-record block, and a stop of gradients", page="tools", best="PyTorch: no_grad")
def test_what_is_computed_in_the_block_is_constant():
    y = np.sin(A)
    s = np.exp(y) * A
    s = s / np.sum(s)
    s[0] = 2.0
    expected = s * np.cos(A) + np.array([0.0, *A[1:]])
    np.testing.assert_allclose(grad(partly_recorded)(A), expected)
    np.testing.assert_allclose(vjp(partly_recorded, A)[1](1.0)[0], expected)
    np.testing.assert_allclose(linearize(partly_recorded, A)[1](A), expected @ A)
    np.testing.assert_allclose(grad(checkpoint(partly_recorded))(A), expected)
    np.testing.assert_allclose(grad(checkpoint(partly_recorded, save="cheap"))(A), expected)
    by_hand = Tape()
    x = by_hand.variable(A)
    np.testing.assert_allclose(by_hand.grad(partly_recorded(x), x), expected)
    with Tape(differentiable=True) as tape:
        x = tape.variable(A)
        np.testing.assert_allclose(tape.grad(partly_recorded(x), x).value, expected)
    with pytest.raises(TracerError, match="forward mode"):
        jvp(partly_recorded, (A,), (A,))
    with pytest.raises(TracerError, match="Taylor series"):
        taylor(partly_recorded, A, A, 1)

    def inside(x):
        with no_record():
            slope = grad(lambda z: np.sum(z * z * x))(x)
        return np.sum(slope * x)

    np.testing.assert_allclose(grad(inside)(A), 2 * A * A)


def test_nothing_older_is_written_to_in_the_block():
    def whole(x):
        y = x * 1.0
        with no_record():
            y[0] = 5.0
        return np.sum(y)

    def through_a_view(x):
        y = x * 1.0
        with no_record():
            view = y[1:]
            view += 1.0
        return np.sum(y)

    def through_another_shape(x, view):
        y = x * 1.0
        with no_record():
            view(y)[1:] = 5.0
        return np.sum(y * y)

    views = (np.ravel, np.transpose, lambda y: y.reshape(3, 1), lambda y: y.reshape(3, 1)[:, 0])
    for f in (whole, through_a_view, *[partial(through_another_shape, view=v) for v in views]):
        with pytest.raises(MutationError, match="no_record"):
            grad(f)(A)


def test_copies_are_written_to_in_the_block():
    def f(x):
        with no_record():
            (y,) = vjp(lambda z: z[1:], np.zeros((4, 1)))[1](x.reshape(3, 1))
            y = y.ravel().copy()
            y[1:] = 5.0
        return np.sum(y[1:] * x)

    np.testing.assert_array_equal(grad(f)(A), [5.0, 5.0, 5.0])


def test_a_result_of_the_block_gives_a_warning():
    def overwritten(x):
        y = x * 1.0
        with no_record():
            y += 5.0
        return np.sum(y * y)

    def part(x):
        return overwritten(x) + x[0]

    with pytest.warns(LostDerivativeWarning, match="overwritten"):
        assert not grad(overwritten)(A).any()
    np.testing.assert_array_equal(grad(part)(A), [1.0, 0.0, 0.0])


def test_the_block_of_another_task():
    async def recorded():
        with Tape() as tape:
            x = tape.variable(3.0)
            await asyncio.sleep(0.002)
            y = x * x
        return tape.grad(y, x)

    async def muted():
        with no_record():
            await asyncio.sleep(0.01)

    async def both():
        return await asyncio.gather(recorded(), muted())

    assert asyncio.run(both()) == [6.0, None]


@pytest.mark.slow
def test_the_block_in_other_engines():
    jax = pytest.importorskip("jax")
    torch = pytest.importorskip("torch")

    def scaled(x):
        with no_record():
            scale = x * x
        return scale * x

    with pytest.raises(TracerError, match="JAX"):
        jax.grad(scaled)(3.0)
    x = torch.tensor(3.0, requires_grad=True)
    scaled(x).backward()
    assert float(x.grad) == 9.0
