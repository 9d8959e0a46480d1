"""The tape in people's hands: variables, gradients, their gradients, hooks, and its life."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

from chainrules_py import (
    LostDerivativeWarning,
    MutationError,
    NoTangent,
    NotDifferentiableError,
    ProjectionError,
    Tangent,
    TracerError,
    ZeroTangent,
    ignore_derivatives,
)
from chainrules_scipy import stats
from chainrules_tape import Tape, grad, hook, jvp, linearize, vjp

RNG = np.random.default_rng(5)
A, B = RNG.uniform(0.5, 1.5, 4), RNG.uniform(0.5, 1.5, 4)


def loss_of(a, b):
    return np.sum(np.sin(a) * b + a / b)


def differences(f, x, h=1e-5):
    """The gradient of a function of an array, element by element."""
    bars = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = h
        bars[i] = (8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h)
    return bars


def test_gradients_of_named_variables():
    with Tape() as tape:
        a, b = tape.variable(A, "a"), tape.variable(B, "b")
        loss = loss_of(a, b)
    a_bar, b_bar = tape.grad(loss, [a, b])
    np.testing.assert_allclose(a_bar, differences(lambda x: loss_of(x, B), A), rtol=1e-8)
    np.testing.assert_allclose(b_bar, differences(lambda x: loss_of(A, x), B), rtol=1e-8)


def test_the_container_of_the_sources_comes_back():
    with Tape(persistent=True) as tape:
        x = tape.variable({"w": A, "b": 2.0}, "p")
        loss = np.sum(x["w"] * x["b"])
    bars = tape.grad(loss, x)
    np.testing.assert_allclose(bars["w"], 2.0 * np.ones(4))
    assert bars["b"] == pytest.approx(A.sum())
    assert tape.grad(loss, x["b"]) == pytest.approx(A.sum())
    assert isinstance(tape.grad(loss, (x["b"],)), tuple)
    assert [x["w"].tape_name, x["b"].tape_name] == ["p['w']", "p['b']"]


def test_zero_where_nothing_flows():
    with Tape() as tape:
        a, b = tape.variable(A), tape.variable(B)
        loss = np.sum(a * a)
    a_bar, b_bar = tape.grad(loss, [a, b])
    assert b_bar is ZeroTangent()
    np.testing.assert_allclose(a_bar, 2 * A)


def test_a_loss_that_depends_on_nothing():
    with Tape() as tape:
        a = tape.variable(A)
    assert tape.grad(3.0, a) is ZeroTangent()


def test_intermediates_have_cotangents_too():
    with Tape() as tape:
        a = tape.variable(A)
        y = np.exp(a)
        z = y * y
        loss = np.sum(z) + np.sum(y)
    y_bar, loss_bar, z_bar = tape.grad(loss, [y, loss, z])
    np.testing.assert_allclose(y_bar, 2 * np.exp(A) + 1)
    assert loss_bar == 1.0
    np.testing.assert_allclose(z_bar, np.ones(4))


def test_seeds_at_results_and_intermediates():
    with Tape(persistent=True) as tape:
        a = tape.variable(A)
        y = np.exp(a)
        z = np.sin(y)
    s, t = RNG.standard_normal(4), RNG.standard_normal(4)
    _, pullback = vjp(lambda a: (np.exp(a), np.sin(np.exp(a))), A)
    np.testing.assert_allclose(tape.grad([y, z], a, seed=[s, t]), pullback((s, t))[0])
    np.testing.assert_allclose(
        tape.grad((y, z), a, seed=(ZeroTangent(), t)), pullback((np.zeros(4), t))[0]
    )
    with pytest.raises(ProjectionError):
        tape.grad(z, a, seed=np.ones(3))
    with pytest.raises(NotDifferentiableError, match=r"Tape.grad needs one real number.*np\.sum"):
        tape.grad(z, a)


def test_several_losses_on_a_persistent_tape():
    with Tape(persistent=True) as tape:
        a = tape.variable(A)
        first, second = np.sum(a * a), np.sum(np.cos(a))
    np.testing.assert_allclose(tape.grad(first, a), 2 * A)
    np.testing.assert_allclose(tape.grad(second, a), -np.sin(A))
    np.testing.assert_allclose(tape.grad(first, a), 2 * A)


def test_the_first_gradient_consumes_the_tape():
    with Tape() as tape:
        a = tape.variable(A)
        loss = np.sum(a * a)
    tape.grad(loss, a)
    assert len(tape) == 0
    with pytest.raises(TracerError, match="persistent=True"):
        tape.grad(loss, a)


def test_a_failed_gradient_consumes_it_as_well():
    with Tape() as tape:
        a = tape.variable(A)
        loss = np.sum(a * a)
        hook(loss, lambda bar: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tape.grad(loss, a)
    with pytest.raises(TracerError):
        tape.grad(loss, a)


def test_recording_ends_with_the_block():
    with Tape() as tape:
        a = tape.variable(A)
    with pytest.raises(TracerError, match=r"move this line into the 'with Tape\(\)' block"):
        a + 1.0


def test_an_exception_in_the_block_leaves_nothing():
    tape = Tape()
    with pytest.raises(ZeroDivisionError), tape:
        tape.variable(1 / 0)
    assert len(tape) == 0


def test_sources_that_are_not_of_this_tape():
    with Tape() as tape, Tape() as other:
        a, b = tape.variable(A), other.variable(A)
        loss, theirs = np.sum(a * a), np.sum(b)
    with pytest.raises(TracerError, match=r"tape\.variable"):
        tape.grad(loss, b)
    with pytest.raises(TracerError, match=r"tape\.variable"):
        tape.grad(loss, A)
    with pytest.raises(TracerError, match="another tape"):
        tape.grad(theirs, a)


def test_what_cannot_be_a_variable():
    with pytest.raises(NotDifferentiableError, match="str"):
        Tape().variable("text")
    tape = Tape()
    x = tape.variable(2.0)
    with pytest.raises(TracerError, match="variable of this tape"):
        tape.variable({"x": x})
    y = tape.variable(ignore_derivatives(x))
    assert tape.grad(x * y * y, {"x": x, "y": y}) == {"x": 4.0, "y": 8.0}


@pytest.mark.parametrize("how", [{}, {"persistent": True}, {"differentiable": True}])
def test_the_gradient_leaves_out_what_cannot_be_perturbed(how):
    with Tape(**how) as tape:
        p = tape.variable({"a": [1.0, "s", None], "name": "n", "on": True, "unused": 3.0})
        g = tape.grad(p["a"][0] * 2.0, p)
    assert list(g) == ["a", "unused"]
    assert g["a"][0] == 2.0
    assert g["a"][1:] == [NoTangent(), NoTangent()]
    assert isinstance(g["unused"], ZeroTangent)


def test_a_tape_inside_a_tape():
    with Tape() as outer:
        x = outer.variable(A, "x")
        with Tape() as inner:
            y = inner.variable(x, "y")
            loss = np.sum(y * y * y)
        slope = inner.grad(loss, y)
        again = np.sum(slope * slope)
    np.testing.assert_allclose(outer.grad(again, x), 36 * A**3)


@pytest.mark.parametrize("loss", [lambda y: y, lambda y: [y]])
def test_a_loss_of_a_differentiation_inside_of_the_tape(loss):
    with Tape(persistent=True) as tape:
        u = tape.variable(2.0)
        of = lambda z: tape.grad(loss(u * u * z), u, loss(1.0))
        for run in (grad(of), lambda z: jvp(of, (z,), (1.0,)), lambda z: linearize(of, z)):
            with pytest.raises(TracerError, match="begun inside this one"):
                run(3.0)
        assert jvp(lambda z: tape.grad(u * u, u, z), (3.0,), (1.0,)) == (12.0, 4.0)


def test_a_tape_inside_grad_and_jvp():
    def slope(x):
        with Tape() as tape:
            y = tape.variable(x)
            loss = np.sum(np.sin(y) * y)
        return np.sum(tape.grad(loss, y) ** 2)

    expected = differences(slope, A)
    np.testing.assert_allclose(grad(slope)(A), expected, rtol=1e-7)
    t = RNG.standard_normal(4)
    assert jvp(slope, (A,), (t,))[1] == pytest.approx(expected @ t, rel=1e-7)


# ------------------------------------------------------------------- gradients of gradients


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: np.sum((a + b) * b),
        loss_of,
        lambda a, b: np.sum(np.sqrt(a) ** b),
        lambda a, b: np.linalg.slogdet(np.outer(a, b) + 2 * np.eye(4))[1],
        lambda a, b: np.sum(np.concatenate([a[1:], b[::2]]) ** 3),
        lambda a, b: np.sum(a @ np.outer(a, b)) * a[0],
        lambda a, b: np.sum(np.linalg.svd(np.outer(a, b) + np.eye(4) * a)[1] ** 3),
        lambda a, b: np.prod(a) * np.std(b),
        lambda a, b: np.sum(a * a) * np.max(b),
    ],
)
def test_any_order_on_one_tape(f):
    def nested(a, b):
        return grad(f, argnums=(0, 1))(a, b)

    def second(a, b):
        a_bar, b_bar = nested(a, b)
        return np.sum(a_bar * a_bar) + np.sum(np.sin(b_bar))

    def third(a, b):
        a_bar, b_bar = grad(second, argnums=(0, 1))(a, b)
        return np.sum(a_bar * b_bar)

    with Tape(differentiable=True) as tape:
        a, b = tape.variable(A), tape.variable(B)
        a_bar, b_bar = tape.grad(f(a, b), [a, b])
        loss = np.sum(a_bar * a_bar) + np.sum(np.sin(b_bar))
        a2, b2 = tape.grad(loss, [a, b])
        a3, b3 = tape.grad(np.sum(a2 * b2), [a, b])
    for found, expected in zip((a2, b2), grad(second, argnums=(0, 1))(A, B), strict=True):
        np.testing.assert_allclose(found.value, expected, rtol=1e-9, atol=1e-12)
    for found, expected in zip((a3, b3), grad(third, argnums=(0, 1))(A, B), strict=True):
        np.testing.assert_allclose(found.value, expected, rtol=1e-8, atol=1e-10)


def test_python_numbers_any_order():
    with Tape(differentiable=True) as tape:
        x = tape.variable(2.0)
        y, expected = x**5 * 2.0, [160.0, 320.0, 480.0, 480.0, 240.0]
        for value in expected:
            y = tape.grad(y, x)
            assert y.value == pytest.approx(value)
    assert type(y.value) is float


def test_one_array_as_two_variables():
    with Tape(differentiable=True) as tape:
        a, b = tape.variable(A), tape.variable(A)
        a_bar = tape.grad(np.sum(a * a * b), a)
        b_bar = tape.grad(np.sum(a_bar), b)
    np.testing.assert_allclose(b_bar.value, 2 * A)


def test_a_constant_gradient_is_a_variable_too():
    with Tape(differentiable=True) as tape:
        a = tape.variable(A)
        a_bar = tape.grad(np.sum(3.0 * a), a)
        assert tape.grad(np.sum(a_bar), a) is ZeroTangent()
    np.testing.assert_allclose(a_bar.value, 3.0)


def test_a_differentiable_tape_is_asked_in_its_block():
    with Tape(differentiable=True) as tape:
        a = tape.variable(A)
        loss = np.sum(a)
    with pytest.raises(TracerError, match="inside the 'with' block"):
        tape.grad(loss, a)


# ------------------------------------------------------------------------------------- hooks


def test_hooks_log_clip_and_stop():
    seen = []
    with Tape(persistent=True) as tape:
        a = tape.variable(A)
        y = a * 10.0
        z = np.sin(a)
        loss = np.sum(y) + np.sum(z)
        hook(y, seen.append)
        hook(y, lambda bar: np.clip(bar, None, 0.25))
        hook(z, lambda bar: ZeroTangent())
    np.testing.assert_allclose(tape.grad(loss, a), 2.5 * np.ones(4))
    np.testing.assert_array_equal(seen, [np.ones(4)])


@pytest.mark.parametrize(
    "given",
    [
        lambda bar: np.ones((2, 4)),
        lambda bar: bar[None],
        lambda bar: bar[:2],
        lambda bar: bar * 1j,
        np.fft.fft,
        lambda bar: 1.0,
        lambda bar: "one",
    ],
)
def test_what_a_hook_gives_belongs_to_its_value(given):
    def f(x):
        y = x * x
        hook(y, given)
        return np.sum(y)

    with pytest.raises((ProjectionError, NotDifferentiableError)):
        grad(f)(A)


def test_hooks_on_inputs_and_in_grad():
    seen = []

    def f(x):
        hook(x, lambda bar: seen.append(bar) or 2 * bar)
        return np.sum(x * x)

    np.testing.assert_allclose(grad(f)(A), 4 * A)
    np.testing.assert_allclose(seen[0], 2 * A)
    hook(A, lambda bar: 1 / 0)


def test_a_hook_runs_once_with_the_whole_cotangent():
    seen = []

    def f(x):
        y = np.exp(x)
        hook(y, lambda bar: seen.append(bar))
        return np.sum(y) + np.sum(2 * y) + np.sum(y * y)

    grad(f)(A)
    assert len(seen) == 1
    np.testing.assert_allclose(seen[0], 3 + 2 * np.exp(A))


def test_a_hook_cannot_write_to_what_others_have():
    """The cotangent of a sum is that of both its terms, and the person's own."""
    x, seed = np.ones(3), np.ones(3)

    def f(x):
        y = x * 1.0
        hook(y, lambda bar: np.multiply(bar, 10.0, out=bar))
        return y + x * 2.0

    _, pullback = vjp(f, x)
    with pytest.raises(MutationError, match=r"hook .*lambda.* writes .*read-only"):
        pullback(seed)
    assert seed.tolist() == [1.0, 1.0, 1.0]
    _, pullback = vjp(lambda x: (hook(x, lambda bar: bar), x)[1], x)
    (x_bar,) = pullback(seed)
    x_bar += 1.0
    assert seed.tolist() == [1.0, 1.0, 1.0]


def test_what_a_hook_returns_is_brought_to_the_value():
    def f(x):
        hook(x, lambda bar: np.ones(7))
        return np.sum(x * x)

    with pytest.raises(ProjectionError):
        grad(f)(A)

    def narrow(x):
        hook(x, lambda bar: bar.astype(np.float64) * 2)
        return np.sum(x * x)

    assert grad(narrow)(A.astype(np.float32)).dtype == np.float32


def test_hooks_on_a_differentiable_tape_are_differentiated():
    with Tape(differentiable=True) as tape:
        a = tape.variable(A)
        hook(a, lambda bar: 3.0 * bar, linear=True)
        a_bar = tape.grad(np.sum(a * a * a), a)
        bend = tape.grad(np.sum(a_bar), a, seed=1.0)
    np.testing.assert_allclose(a_bar.value, 9 * A**2)
    # The second gradient passes the hook on a as well.
    np.testing.assert_allclose(bend.value, 54 * A)


# ------------------------------------------------------------------------------------ memory


class Marked(np.ndarray):
    """An array whose end can be seen."""


def test_memory_goes_as_the_pass_goes():
    alive = []
    with Tape() as tape:
        x = tape.variable(np.ones(1000))
        y = x
        refs = []
        for _ in range(10):
            y = np.sin(y)
            refs.append(weakref.ref(y.payload))
            hook(y, lambda bar: alive.append(sum(r() is not None for r in refs)))
        loss = np.sum(y)
        del y
    tape.grad(loss, x)
    assert alive == sorted(alive, reverse=True)
    assert alive[0] >= 9
    assert alive[-1] <= 2


def test_no_cycles():
    gc.collect()
    gc.disable()
    try:
        with Tape(differentiable=True) as tape:
            x = tape.variable(np.ones(10))
            y = np.sin(x)
            ref = weakref.ref(y.payload)
            tape.grad(np.sum(y * y), x)
        del tape, x, y
        assert ref() is None
    finally:
        gc.enable()


def test_cotangents_are_nobody_elses_arrays():
    with Tape() as tape:
        a, b = tape.variable(A), tape.variable(B)
        y = a + b
        seed = np.ones(4)
    a_bar, b_bar, y_bar = tape.grad(y, [a, b, y], seed=seed)
    for bar in (a_bar, b_bar, y_bar):
        bar += 1.0
    np.testing.assert_array_equal([seed, a_bar, b_bar, y_bar], [np.ones(4), *[2 * np.ones(4)] * 3])


def test_dataclasses_on_a_tape():
    import dataclasses

    @dataclasses.dataclass
    class Line:
        slope: float
        offset: object

    with Tape() as tape:
        line = tape.variable(Line(2.0, A), "line")
        loss = np.sum(line.slope * line.offset)
    bars = tape.grad(loss, line)
    assert isinstance(bars, (Tangent, Line))
    np.testing.assert_allclose(bars.offset, 2.0)


@pytest.mark.parametrize("how", [{}, {"persistent": True}, {"differentiable": True}])
@pytest.mark.parametrize("part", [slice(None), slice(1, None)])
def test_what_is_written_to_after_the_loss_is_no_source(how, part):
    """Its gradient would be zero, of a value that the loss was not computed with."""
    with Tape(**how) as tape:
        a = tape.variable(A.copy())
        seen = a[part]
        a[1] = a[0] * 2.0
        loss = np.sum(a * a) + np.sum(seen)
        assert not isinstance(tape.grad(loss, [a, seen])[0], ZeroTangent) if how else True
        a *= 2.0
        later = a * 3.0
        for source in (a, seen):
            with pytest.raises(MutationError, match="after the loss"):
                tape.grad(loss, [source])
        assert isinstance(tape.grad(loss, later), ZeroTangent)


def test_a_hook_may_write_to_a_cotangent_of_an_inner_level():
    def slope(x):
        def f(y):
            z = y * 1.0
            hook(z, double, linear=True)
            return np.sum(z * z) + np.sum(y)

        return np.sum(grad(f)(x) * x)

    def double(bar):
        if isinstance(bar, np.ndarray):
            return bar * 2.0
        bar *= 2.0
        return bar

    np.testing.assert_allclose(grad(slope)(A), 8 * A + 1.0)


def test_a_hook_that_is_said_to_be_linear_is_compared():
    def f(x, bend):
        y = x * x
        hook(y, bend, linear=True)
        return np.sum(3.0 * y)

    x = np.array([0.5, 1.0])
    for given in (x, 0.5):
        with pytest.raises(NotDifferentiableError, match="leave linear=True out"):
            grad(f)(given, lambda b: b * b)
    np.testing.assert_allclose(grad(f)(x, lambda b: 2.0 * (b - np.mean(b))), 0.0)
    np.testing.assert_allclose(grad(f)(x, lambda b: None), 6.0 * x)
    np.testing.assert_allclose(grad(f)(x, lambda b: -b), -6.0 * x)


def second_on_one_tape(f, x):
    with Tape(differentiable=True) as tape:
        x = tape.variable(x, "x")
        return tape.grad(tape.grad(f(x), x), x).value


SECONDS = {
    "a quantile": (stats.norm.ppf, 0.2),
    "a quantile in a shape": (lambda a: stats.gamma.ppf(0.3, 1 + a), 1.3),
    "a square of a length": (lambda x: np.abs(x) ** 2, 0.0),
    "an even function of a root": (lambda x: np.cos(np.sqrt(x * x)), 0.0),
    "a norm": (lambda x: np.linalg.norm(np.stack([x, 2 * x])) ** 2, 0.0),
    "a complex number": (lambda x: np.abs(np.exp(1j * x) + 1) ** 2, 0.3),
    "a part of a spectrum": (lambda x: np.abs(np.fft.fft(np.stack([x, x * x, 1.0]))[1]) ** 2, 0.3),
}


@pytest.mark.parametrize("name", SECONDS)
def test_a_differentiable_tape_has_the_second_derivatives_of_nested_gradients(name):
    """Solutions by steps were right to first order alone, and squares of lengths had none at 0."""
    f, x = SECONDS[name]
    np.testing.assert_allclose(second_on_one_tape(f, x), grad(grad(f))(x), rtol=1e-9)


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = 0.0
    name: str = "tanh"


class Pair(NamedTuple):
    low: Any
    high: Any


def test_the_gradient_of_a_structure_is_that_of_grad():
    layer, pair = Layer(np.ones(3), 2.0), Pair(np.ones(2), 3.0)
    loss = lambda layer, pair: np.sum(layer.w**2) * layer.b + np.sum(pair.low) * pair.high
    with Tape() as tape:
        xs = tape.variable(layer), tape.variable(pair)
        y = loss(*xs)
    found, expected = tape.grad(y, xs), grad(loss, (0, 1))(layer, pair)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other)
        assert repr(one) == repr(other)
    np.testing.assert_allclose((layer - 0.1 * found[0]).w, layer.w - 0.1 * 4.0)
    np.testing.assert_allclose((pair - 0.1 * found[1]).high, pair.high - 0.1 * 2.0)


HELD = [
    {"w": np.ones(3), "act": "tanh"},
    {"w": np.ones(3), "more": [None, "a", True], "texts": np.array(["a"])},
    {"w": np.ones(3), "layer": Layer(2.0)},
]


@pytest.mark.parametrize("params", HELD)
def test_a_variable_may_hold_what_cannot_vary(params):
    with Tape() as tape:
        p = tape.variable(params)
        loss = np.sum(p["w"] ** 2)
    found = tape.grad(loss, p)
    assert found.keys() == grad(lambda p: np.sum(p["w"] ** 2))(params).keys()
    np.testing.assert_array_equal(found["w"], 2 * np.ones(3))


@pytest.mark.parametrize("value", ["a", None, True, {"act": "tanh"}, []])
def test_a_variable_of_which_nothing_varies_is_refused(value):
    with Tape() as tape, pytest.raises(NotDifferentiableError, match="holds none"):
        tape.variable(value)


def test_a_refusal_that_the_block_of_a_tape_caught_is_reported():
    def record():
        with Tape() as tape:
            x = tape.variable(A)
            with contextlib.suppress(TracerError):
                float(x[0])
            return tape, x, np.sum(x)

    with pytest.warns(LostDerivativeWarning, match=r"the block of a Tape\(\) caught an error"):
        tape, x, loss = record()
    np.testing.assert_array_equal(tape.grad(loss, x), np.ones(4))
