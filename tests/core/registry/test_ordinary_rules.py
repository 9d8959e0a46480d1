"""Rules of people, written as people write them: each gives the right number."""

from __future__ import annotations

import dataclasses
import sys
import types
from collections import Counter

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    NotImplementedTangent,
    ProjectionError,
    RuleError,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import grad, hessian, jacobian, jvp, linearize, value_and_grad, vjp

X = np.linspace(0.1, 1.0, 5)


def stated_by_rrule(pull, value=np.sin):
    f = primitive(lambda x: value(x))
    rrule.register(f)(lambda x: (value(x), lambda y_bar: (pull(y_bar, x),)))
    return f


def total(f):
    return lambda x: np.sum(f(x))


# ------------------------------------------------------------------------- rules that keep things


def test_a_memory_that_the_pull_reads_by_key():
    memory = {}
    f = primitive(np.sin)

    @rrule.register(f)
    def f_rrule(x):
        key = x.tobytes()
        memory[key] = np.cos(x)
        return np.sin(x), lambda y_bar: (y_bar * memory[key],)

    g = grad(lambda x: np.sum(f(x) + f(2.0 * x)))(X)
    np.testing.assert_allclose(g, np.cos(X) + 2.0 * np.cos(2.0 * X))
    assert len(memory) == 2


def test_scratch_that_is_written_to_and_copied():
    scratch = np.empty_like(X)

    def pull(y_bar, x):
        np.cos(x, out=scratch)
        np.multiply(scratch, y_bar, out=scratch)
        return scratch.copy()

    f = stated_by_rrule(pull)
    np.testing.assert_allclose(grad(lambda x: np.sum(f(f(x))))(X), np.cos(np.sin(X)) * np.cos(X))


def test_statistics_on_a_model():
    model = types.SimpleNamespace(calls=0, mean=np.zeros(5), seen=[])
    f = primitive(np.sin)

    @rule(f)
    def f_rule(x):
        model.calls += 1
        model.mean = 0.9 * model.mean + 0.1 * x
        model.seen.append(float(np.max(x)))

        def pull(y_bar, x):
            model.calls += 1
            return y_bar * np.cos(x)

        return np.sin(x), (LinearMap(lambda t, x: t * np.cos(x), pull, x),)

    for _ in range(3):
        np.testing.assert_allclose(grad(total(f))(X), np.cos(X))
    assert model.calls == 6
    _, push = linearize(total(f), X)
    assert push(np.ones(5)) == pytest.approx(np.sum(np.cos(X)))


class Model:
    def __init__(self):
        self.scale = np.full(5, 3.0)
        self.tables = {"a": [1.0, 2.0]}

    def __call__(self, x):
        return self.scale * x


def frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"scale": np.full(5, 3.0)})


HELD = {
    "dict": (lambda: {"scale": np.full(5, 3.0)}, lambda held: held["scale"]),
    "list": (lambda: [3.0] * 5, lambda held: np.asarray(held)),
    "frame": (frame, lambda held: held["scale"].to_numpy()),
    "model": (Model, lambda held: held.scale),
}


@pytest.mark.parametrize("constructor", ["rule", "rrule", "scalar_rule"])
@pytest.mark.parametrize("name", HELD)
def test_what_a_rule_reads(name, constructor):
    make, read = HELD[name]
    held = make()
    f = primitive(lambda x: read(held) * x)
    if constructor == "rule":
        half = lambda t: t * read(held)
        rule(f)(lambda x: (read(held) * x, (LinearMap(half, half),)))
    elif constructor == "rrule":
        rrule.register(f)(lambda x: (read(held) * x, lambda y_bar: (y_bar * read(held),)))
    else:
        scalar_rule(f, lambda _y, _x: read(held))
    np.testing.assert_array_equal(grad(total(f))(X), np.full(5, 3.0))
    np.testing.assert_array_equal(jvp(f, (X,), (X,))[1], 3.0 * X)


def test_an_option_that_is_none_without_an_annotation():
    @primitive
    def f(x, w=None):
        return np.sum(x) if w is None else np.sum(w * x)

    @rule(f)
    def f_rule(x, w=None):
        weight = np.ones_like(x) if w is None else w
        to_x = LinearMap(lambda t: np.sum(weight * t), lambda y_bar: y_bar * weight)
        to_w = LinearMap(lambda t: np.sum(t * x), lambda y_bar: y_bar * x)
        return f(x, w), (to_x, NoTangent() if w is None else to_w)

    np.testing.assert_array_equal(grad(lambda x: f(x))(X), np.ones(5))
    np.testing.assert_array_equal(grad(lambda x: f(x, None))(X), np.ones(5))
    np.testing.assert_array_equal(grad(lambda x: f(x, 2.0 * X))(X), 2.0 * X)


def test_a_method_whose_rule_names_self():
    class Layer:
        def __init__(self, scale):
            self.scale = scale

        @primitive
        def apply(self, x):
            return self.scale * np.sin(x)

    @rrule.register(Layer.apply)
    def apply_rrule(self, x):
        pull = lambda y_bar: (NoTangent(), y_bar * self.scale * np.cos(x))
        return self.scale * np.sin(x), pull

    layer = Layer(3.0)
    np.testing.assert_allclose(grad(lambda x: np.sum(layer.apply(x)))(X), 3.0 * np.cos(X))


def test_what_a_rule_gives_is_not_written_to():
    ones = np.ones(5)
    f = stated_by_rrule(lambda y_bar, x: ones, np.sum)
    g = grad(lambda x: f(x) + f(x) + np.sum(x * x) + f(x))(X)
    np.testing.assert_array_equal(g, 3.0 + 2.0 * X)
    np.testing.assert_array_equal(ones, np.ones(5))


def test_a_loop_that_goes_on_after_the_call():
    def program(x):
        for k in (1.0, 2.0, 3.0):
            f = primitive(lambda x, k=k: k * x)
            rrule.register(f)(lambda x, k=k: (k * x, lambda y_bar: (k * y_bar, NoTangent())))
            x = f(x)
        return np.sum(x)

    np.testing.assert_array_equal(grad(program)(X), np.full(5, 6.0))


# ------------------------------------------------------------------------------------ whole numbers


def square(constructor):
    f = primitive(lambda n: n * n)
    if constructor == "rule":
        rule(f)(lambda n: (n * n, (LinearMap(lambda t: 2 * n * t, lambda b: 2 * n * b),)))
    elif constructor == "rrule":
        rrule.register(f)(lambda n: (n * n, lambda b: (2 * n * b,)))
    elif constructor == "frule":
        frule.register(f)(lambda ts, n: (n * n, 2 * n * ts[0]))
    else:
        scalar_rule(f, lambda _y, n: 2 * n)
    return f


@pytest.mark.parametrize("constructor", ["rule", "rrule", "scalar_rule"])
def test_maps_of_whole_numbers_are_those_of_real_ones(constructor):
    n = np.array([100, 5], np.int8)  # 2 * 100 wraps
    y, pull = vjp(lambda n: square(constructor)(n), n)
    np.testing.assert_array_equal(y, n * n)  # the function's
    assert y.dtype == np.int8
    np.testing.assert_array_equal(pull(np.ones(2))[0], [200.0, 10.0])


@pytest.mark.parametrize("constructor", ["rule", "frule", "scalar_rule"])
def test_pushes_of_whole_numbers_are_those_of_real_ones(constructor):
    n = np.array([100, 5], np.int8)
    np.testing.assert_array_equal(frule((np.ones(2),), square(constructor), n)[1], [200.0, 10.0])


@pytest.mark.parametrize("constructor", ["rule", "rrule"])
def test_an_index_stays_whole(constructor):
    f = primitive(lambda x, i: x[i])

    def pull(y_bar, x, i):
        bar = np.zeros_like(x)
        np.add.at(bar, i, y_bar)
        return bar

    if constructor == "rule":
        push = lambda t, x, i: t[i]
        rule(f)(lambda x, i: (x[i], (LinearMap(push, pull, x, i), NoTangent())))
    else:
        rrule.register(f)(lambda x, i: (x[i], lambda b: (pull(b, x, i), NoTangent())))
    g = grad(lambda x: np.sum(f(x, np.array([1, 1, 3]))))(X)
    np.testing.assert_array_equal(g, [0, 2, 0, 1, 0])


def test_a_body_may_be_one_constant():
    @primitive
    def two(x):
        return 2.0

    @primitive
    def three():
        return 3.0

    assert (two(X), three(), primitive(lambda x: 4.0)(X)) == (2.0, 3.0, 4.0)
    assert grad(lambda x: x * two(x) * three())(5.0) == 6.0


# -------------------------------------------------------------------------- what does not belong


@pytest.mark.parametrize("derivative", [grad, lambda f: lambda x: jvp(f, (x,), (x,))])
@pytest.mark.parametrize(
    "f, line",
    [(lambda x, y: x * y, r"f\(x, y\)"), (lambda x, *, n: x * n, r"f\(x, n=\.\.\.\)")],
    ids=["operand", "option"],
)
def test_what_a_call_forgets_is_named(f, line, derivative):
    f.__name__ = "f"
    f = primitive(f)
    missing = "missing a required (keyword-only )?argument"  # the latter from Python 3.12 on
    with pytest.raises(TypeError, match=f"{missing}: .*; write {line}"):
        derivative(lambda x: f(x))(2.0)


@pytest.mark.parametrize("constructor", ["forward", "reverse"])
def test_a_partial_of_a_wrong_shape(constructor):
    f = primitive(np.sin)
    scalar_rule(f, lambda _y, x: np.ones(7))
    with pytest.raises(ProjectionError, match=r"partial|another shape"):
        grad(lambda x: f(x))(0.5) if constructor == "reverse" else jvp(f, (0.5,), (1.0,))


@pytest.mark.parametrize("push", [np.sum, lambda t: t[:1], lambda t: np.stack([t, t])])
@pytest.mark.parametrize("mode", ["one", "two", "many"])
def test_a_push_of_a_wrong_shape(push, mode):
    """Broadcasting it to the result gave another derivative, silently."""
    f = primitive(lambda x, y: 2.0 * x + y)
    half = lambda bar: bar
    rule(f)(lambda x, y: (2.0 * x + y, (LinearMap(push, half), LinearMap(half, half))))
    ways = {
        "one": lambda: jvp(lambda x: f(x, X), (X,), (X,)),
        "two": lambda: jvp(f, (X, X), (X, X)),
        "many": lambda: jacobian(lambda x: f(x, X), mode="forward")(X),
    }
    with pytest.raises(ProjectionError, match=r"result of shape \(5,\): give one of shape \(5,\)"):
        ways[mode]()


def test_a_push_like_its_operand_broadcasts_as_the_operand_does():
    f = primitive(lambda x, y: 2.0 * x + y)
    half, twice = (LinearMap(lambda t, c=c: c * t, lambda bar, c=c: c * bar) for c in (1.0, 2.0))
    rule(f)(lambda x, y: (2.0 * x + y, (twice, half)))
    for x, y in ((X, np.ones((3, 5))), (np.ones((3, 1)), X), (2.0, X), (X, 2.0)):
        y_dot = jvp(f, (x, y), (x, y))[1]
        np.testing.assert_allclose(y_dot, 2.0 * x + y)


def test_a_scalar_rule_of_a_function_that_gives_a_dataclass():
    made = dataclasses.make_dataclass("Box", ["a"])
    f = primitive(lambda x: made(np.sin(x)))
    scalar_rule(f, lambda _y, x: np.cos(x))
    with pytest.raises(RuleError, match=r"gave Box.*; state its rule by @rule"):
        grad(lambda x: np.sum(f(x).a))(X)


def test_a_complex_partial_of_a_real_function():
    f = primitive(np.sin)
    scalar_rule(f, lambda _y, x: 1j * np.cos(x))
    with pytest.raises(ProjectionError, match="complex"):
        grad(total(f))(X)


def test_the_other_mode_of_what_is_not_implemented():
    f = primitive(lambda x, n: n * x)
    reason = NotImplementedTangent("no derivative in the order")
    rrule.register(f)(lambda x, n: (n * x, lambda b: (n * b, reason)))
    with pytest.raises(NotDifferentiableError, match="no derivative in the order"):
        jvp(lambda x, n: f(x, n), (2.0, 3.0), (1.0, 1.0))
    assert value_and_grad(lambda x: f(x, 3.0))(2.0) == (6.0, 3.0)


# ------------------------------------------------------------------------------------------ frames


def by_scalar_rule():
    f = primitive(np.sin)
    scalar_rule(f, lambda _y, x: np.cos(x))
    return f


def by_rule():
    f = primitive(np.sin)
    halves = lambda t, x: t * np.cos(x)
    rule(f)(lambda x: (np.sin(x), (LinearMap(halves, halves, x),)))
    return f


def frames(f, n):
    """Count the calls of these packages' functions in a warm gradient of a chain of n."""

    def chain(x):
        for _ in range(n):
            x = f(x)
        return np.sum(x)

    g, counted = grad(chain), Counter()
    for _ in range(3):
        g(X)

    def profile(frame, event, _arg):
        if event == "call" and "/chainrules_" in frame.f_code.co_filename:
            counted["all"] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        g(X)
    finally:
        sys.setprofile(before)
    return counted["all"]


@pytest.mark.parametrize(
    "make, most",
    [
        (by_scalar_rule, 22),
        (by_rule, 30),
        (lambda: stated_by_rrule(lambda y_bar, x: y_bar * np.cos(x)), 37),
    ],
)
def test_frames_of_one_operation(make, most):
    f = make()
    assert frames(f, 2) - frames(f, 1) <= most


def test_the_halves_of_maps_need_no_hash():
    @dataclasses.dataclass
    class Times:
        k: float

        def __call__(self, t):
            return self.k * t

    @primitive
    def f(x, y):
        return 2 * x + 3 * y

    @rule(f)
    def _(x, y):
        return f(x, y), (LinearMap(Times(2.0), Times(2.0)), LinearMap(Times(3.0), Times(3.0)))

    assert grad(f, argnums=(0, 1))(1.0, 2.0) == (2.0, 3.0)


def test_second_derivatives_at_a_number_of_python():
    @primitive
    def cube(x):
        return x**3

    scalar_rule(cube, lambda y, x: 3 * x**2)
    f = lambda x: cube(x) * x
    assert hessian(f)(2.0) == 48.0
    assert grad(grad(f))(2.0) == jvp(grad(f), (2.0,), (1.0,))[1] == 48.0
    assert grad(grad(grad(f)))(2.0) == 48.0
