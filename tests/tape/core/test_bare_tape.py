"""The tape: orders and nestings, structures, what it refuses, what it leaves behind."""

from __future__ import annotations

import dataclasses
import gc
import math
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    ProjectionError,
    Tangent,
    TracerError,
    UnsupportedKeywordError,
    ZeroTangent,
    frule,
    ignore_derivatives,
    opt_out,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import Library, register_array_type
from chainrules_tape import grad, jvp, value_and_grad, vjp


def derivative(f):
    """Forward mode, of a function of one number."""
    return lambda x: jvp(f, (x,), (1.0,))[1]


# ------------------------------------------------------------------------------ orders and nestings


def test_three_orders_of_sin():
    x = 0.7
    assert grad(grad(grad(np.sin)))(x) == pytest.approx(-math.cos(x), rel=1e-14)


def test_perturbations_are_not_confused():
    assert grad(lambda x: x * grad(lambda y: x * y * y)(x))(3.0) == 54
    assert derivative(lambda x: x * derivative(lambda y: x * y * y)(x))(3.0) == 54
    assert derivative(lambda x: x * grad(lambda y: x * y * y)(x))(3.0) == 54
    assert grad(lambda x: x * derivative(lambda y: x * y * y)(x))(3.0) == 54
    assert (
        derivative(lambda x: x * derivative(lambda y: x + y)(1.0))(1.0) == 1
    )  # Siskind and Pearlmutter


MODES = {"reverse": grad, "forward": derivative}


@pytest.mark.parametrize("outer", MODES.values(), ids=MODES)
@pytest.mark.parametrize("middle", MODES.values(), ids=MODES)
@pytest.mark.parametrize("inner", MODES.values(), ids=MODES)
@pytest.mark.parametrize(
    "f, third",
    [
        (lambda x: np.exp(2 * x) * x, lambda x: (8 * x + 12) * math.exp(2 * x)),
        (lambda x: np.sin(x) * np.cos(x), lambda x: -4 * math.cos(2 * x)),
        (lambda x: x * x * x * x / 3.0, lambda x: 8 * x),
        (lambda x: 1.0 / (1.0 + x), lambda x: -6 / (1 + x) ** 4),
    ],
)
def test_every_nesting_of_modes_agrees_with_the_closed_form(outer, middle, inner, f, third):
    assert outer(middle(inner(f)))(0.3) == pytest.approx(third(0.3), rel=1e-12)


def test_forward_over_reverse_over_arrays():
    x, t = np.array([0.1, 0.5, -0.8]), np.array([1.0, -2.0, 0.5])

    def f(x):
        return np.sum(np.sin(x) * x[0])

    _, hvp = jvp(grad(f), (x,), (t,))
    h = 1e-5
    assert hvp == pytest.approx((grad(f)(x + h * t) - grad(f)(x - h * t)) / (2 * h), rel=1e-7)
    assert grad(lambda x: np.sum(grad(f)(x) * t))(x) == pytest.approx(hvp, rel=1e-12)


def test_a_pullback_can_be_differentiated_in_its_cotangent():
    x = np.array([0.3, 0.4])

    def of_cotangent(y_bar):
        return np.sum(rrule(np.sin, x)[1](y_bar)[0] * np.array([2.0, 3.0]))

    assert grad(of_cotangent)(np.ones(2)) == pytest.approx(np.cos(x) * np.array([2.0, 3.0]))


# ------------------------------------------------------------------------------ rules by payload


class Heavy(np.ndarray):
    """An array class of a user's."""


register_array_type(Heavy, Library(np))


@primitive
def planted(x):
    """Three times x, with a wrong derivative for `Heavy`."""
    return 3.0 * x


scalar_rule(planted, lambda _y, _x: 3.0)
calls = {"heavy": 0}


@rule(planted)
def planted_rule_heavy(x: Heavy):
    calls["heavy"] += 1
    return 3.0 * x, (LinearMap(lambda t: 30.0 * t, lambda t: 30.0 * t),)


def test_a_users_rule_is_not_lost_inside_an_outer_differentiation():
    x = np.array([1.0, 2.0]).view(Heavy)

    def f(x):
        return np.sum(planted(x) * x)

    expected = 10 * 3.0 * x + 3.0 * x  # the planted factor, on one of the two
    assert np.all(grad(f)(x) == expected)
    before = calls["heavy"]
    seen = []

    def inner(x):
        seen.append(np.asarray(ignore_derivatives(grad(f)(x))))
        return np.sum(grad(f)(x))

    grad(inner)(x)
    jvp(inner, (x,), (np.ones(2).view(Heavy),))
    assert calls["heavy"] >= before + 4
    for at_second_order in seen:
        assert np.all(at_second_order == np.asarray(expected))


# ------------------------------------------------------------------------------ structures


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any
    name: str = "layer"

    @primitive
    def __call__(self, x):
        return x * self.w + self.b


class Other(Layer):
    """Another layer, with fields of the same names."""


ran = {"pull": 0, "push": 0, "rule": 0}


@rule(Layer.__call__)
def layer_rule(self: Layer, x: np.ndarray):
    ran["rule"] += 1

    def push_self(t, x):
        ran["push"] += 1
        return x * t.w + t.b

    def pull_self(y_bar, x):
        ran["pull"] += 1
        return Tangent[Layer](w=y_bar * x, b=y_bar)

    return x * self.w + self.b, (
        LinearMap(push_self, pull_self, x),
        LinearMap(lambda t, w: t * w, lambda y_bar, w: y_bar * w, self.w),
    )


def test_a_dataclass_layer_runs_its_rule_inside_a_program():
    layer, x = Layer(np.array([1.0, 2.0]), np.array(0.5)), np.array([0.3, -0.4])
    ran.update(pull=0, push=0, rule=0)
    g = grad(lambda layer: np.sum(np.sin(layer(x))))(layer)
    assert ran == {"rule": 1, "pull": 1, "push": 0}
    c = np.cos(x * layer.w + layer.b)
    assert isinstance(g, Tangent)
    assert g.w == pytest.approx(c * x)
    assert g.b == pytest.approx(c.sum())
    assert g.name == NoTangent()
    stepped = layer - 0.1 * g
    assert isinstance(stepped, Layer)
    assert stepped.w == pytest.approx(layer.w - 0.1 * c * x)
    assert stepped.name == "layer"
    _, y_dot = jvp(
        lambda layer: np.sum(np.sin(layer(x))),
        (layer,),
        (Tangent[Layer](w=np.ones(2), b=np.array(1.0)),),
    )
    assert ran["push"] == 1
    assert y_dot == pytest.approx(np.sum(c * x) + c.sum())


def test_a_layer_at_second_order():
    layer, x = Layer(np.array([1.0, 2.0]), np.array(0.5)), np.array([0.3, -0.4])

    def of_x(x):
        return np.sum(np.sin(layer(x)))

    s = np.sin(x * layer.w + layer.b)
    assert grad(lambda x: np.sum(grad(of_x)(x)))(x) == pytest.approx(-s * layer.w**2)


class Pair(NamedTuple):
    a: Any
    b: Any


@pytest.mark.parametrize(
    "argument, expected",
    [
        ((2.0, [3.0, 4.0]), (3.0, [2.0, 0.0])),
        ({"x": 2.0, "y": 3.0, "n": "text"}, {"x": 3.0, "y": 2.0}),
    ],
)
def test_containers_give_the_same_container(argument, expected):
    def f(p):
        return p[0] * p[1][0] if isinstance(p, tuple) else p["x"] * p["y"]

    assert grad(f)(argument) == expected


def test_a_namedtuple_gives_a_tangent_of_it():
    g = grad(lambda p: p.a * p.a)(Pair(3.0, 1.0))
    assert isinstance(g, Tangent)
    assert (g.a, g.b) == (6.0, 0.0)


def test_several_outputs_and_their_cotangents():
    y, pullback = vjp(lambda x: {"s": np.sin(x), "twice": (2.0 * x, "constant")}, 0.5)
    assert y["twice"] == (1.0, "constant")
    assert pullback({"s": 1.0, "twice": (3.0, NoTangent())}) == (
        pytest.approx(math.cos(0.5) + 6.0),
    )
    assert pullback({"s": 1.0, "twice": ZeroTangent()}) == (pytest.approx(math.cos(0.5)),)


def test_argnums_keywords_and_values():
    def f(x, y, *, scale):
        return scale * x * y

    assert grad(f, argnums=1)(2.0, 3.0, scale=5.0) == 10.0
    assert grad(f, argnums=(0, -1))(2.0, 3.0, scale=5.0) == (15.0, 10.0)
    assert value_and_grad(f)(2.0, 3.0, scale=5.0) == (30.0, 15.0)
    with pytest.raises(NotDifferentiableError, match="argument 2"):
        grad(f, argnums=2)(2.0, 3.0, scale=5.0)


def test_an_unused_argument_has_a_dense_zero_gradient_and_a_flag_none():
    g = grad(lambda x, unused, flag: np.sum(x), argnums=(0, 1, 2))(
        np.ones(2), np.ones((2, 3)), True
    )
    assert g[1].shape == (2, 3)
    assert not g[1].any()
    assert g[2] == NoTangent()


# ------------------------------------------------------------------------- accumulation, ownership


def test_what_comes_back_aliases_nothing_and_inputs_are_untouched():
    x, y_bar = np.arange(3.0), np.ones(3)
    for f in (lambda x: x + 0.0, lambda x: x, lambda x: x + x, lambda x: (x + 0.0) + (x + x)):
        _, pullback = vjp(f, x)
        (bar,) = pullback(y_bar)
        assert bar.flags.writeable
        assert not np.shares_memory(bar, y_bar)
        bar += 100.0
        assert np.all(y_bar == 1)
        assert np.all(x == np.arange(3.0))
        (again,) = pullback(y_bar)
        assert np.all(again == bar - 100.0)


def test_reading_elements_one_by_one_builds_no_array_per_element(monkeypatch):
    x = np.arange(1000.0)
    g = grad(lambda x: sum((x[i] * float(i) for i in range(300)), 0.0))(x)
    assert np.all(g[:300] == np.arange(300.0))
    assert not g[300:].any()


def test_repeated_indices_add():
    x = np.arange(4.0)
    i = np.array([1, 1, 1, 3])
    assert grad(lambda x: np.sum(x[i] * np.array([1.0, 2.0, 3.0, 4.0])))(x).tolist() == [0, 6, 0, 4]


def test_same_inputs_give_the_same_bits():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)

    def f(x):
        parts = [np.sin(x * k) for k in range(9)]
        total = parts[0]
        for p in parts[1:]:
            total = total + p * x
        return np.sum(total)

    assert len({grad(f)(x).tobytes() for _ in range(5)}) == 1


def test_float32_stays_and_mixed_operands_come_back_in_their_own_dtype():
    x, y = np.ones(3, np.float32), np.full(3, 2.0)
    gx, gy = grad(lambda x, y: np.sum(x * y + np.sin(x)), argnums=(0, 1))(x, y)
    assert (gx.dtype, gy.dtype) == (np.float32, np.float64)
    g = grad(lambda x: np.sum(np.sin(2.5 * x) * x + 1.0))(x)
    assert g.dtype == np.float32


def test_a_real_operand_of_a_complex_program_has_a_real_gradient():
    x, z = np.array([0.3, 0.4]), np.array([1 + 2j, 0.5 - 1j])

    def f(x):
        y = x * z
        return np.sum(np.real(y * np.conj(y)))

    g = grad(f)(x)
    assert g.dtype == np.float64
    assert g == pytest.approx(2 * x * np.abs(z) ** 2)


def test_the_gradient_of_a_number_among_arrays_is_a_number():
    assert isinstance(grad(lambda y: np.sum(np.arange(3.0) * y))(3.0), float)
    assert isinstance(jvp(lambda y: np.sum(np.arange(3.0) * y), (3.0,), (1.0,))[1], float)


def test_broadcast_operands_come_back_in_their_own_shape():
    a, b, c = np.ones((3, 1)), np.ones(4), 2.0
    ga, gb, gc_ = grad(lambda a, b, c: np.sum(a * b * c), argnums=(0, 1, 2))(a, b, c)
    assert (ga.shape, gb.shape) == ((3, 1), (4,))
    assert ga[0, 0] == 8.0
    assert gb[0] == 6.0
    assert gc_ == 12.0


def test_a_tape_frees_its_arrays_when_it_is_dropped():
    x = np.ones(3)
    _, pullback = vjp(lambda x: np.sin(np.sin(x)), x)
    saved = [
        weakref.ref(a)
        for r in _tape_of(pullback)
        for a in r
        if isinstance(a, np.ndarray) and a is not x
    ]
    assert saved
    del pullback
    gc.collect()
    assert all(ref() is None for ref in saved)


def _tape_of(pullback):
    return pullback.args[0].tape


# ------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    "f", [lambda x: x, lambda x: np.sum(x) * 1j, lambda x: (x, x), lambda x: "text"]
)
def test_grad_asks_for_one_real_number(f):
    with pytest.raises(NotDifferentiableError, match="one real number"):
        grad(f)(np.ones(2))


@pytest.mark.parametrize(
    "convert", [lambda x: np.asarray(x, float), float, int, complex, lambda x: [0][x]]
)
def test_a_traced_value_does_not_become_plain_in_silence(convert):
    with pytest.raises(TracerError, match=r"derivative|index|int"):
        grad(convert)(2.0)


def test_a_tracer_that_escapes_is_refused_and_nothing_is_recorded():
    kept = []

    def f(x):
        kept.append(x)
        return x * x

    grad(f)(1.0)
    with pytest.raises(TracerError, match="after the grad, vjp, jvp"):
        kept[0] * 2.0
    y, _ = vjp(lambda x: x + 1.0, 1.0)
    assert type(y) is float


def test_unknown_functions_and_keywords_are_named():
    with pytest.raises(NotDifferentiableError, match=r"datetime_as_string.*primitive\("):
        grad(lambda x: np.datetime_as_string(x))(np.ones(3))
    with pytest.raises(UnsupportedKeywordError, match="signature"):
        grad(lambda x: np.sum(np.sin(x, signature="d->d")))(np.ones(3))
    with pytest.raises(TracerError, match=r"use np\.sin\(x\)"):
        grad(lambda x: np.sum(np.sin(x, out=np.empty(3))))(np.ones(3))
    with pytest.raises(TracerError, match=r"np\.subtract\.accumulate"):
        grad(lambda x: np.sum(np.subtract.accumulate(x)))(np.ones(3))
    with pytest.raises(TracerError, match="tofile"):
        grad(lambda x: x.tofile("nowhere"))(np.ones(3))
    with pytest.raises(AttributeError, match="no_such"):
        grad(lambda x: x.no_such)(np.ones(3))


def test_a_backend_that_could_not_be_imported_is_named(monkeypatch):
    from chainrules_py.primitives import plugins

    monkeypatch.setitem(plugins.failures, "chainrules_numpy", "RuntimeError: planted")
    with pytest.raises(NotDifferentiableError, match=r"chainrules_numpy.* RuntimeError: planted"):
        grad(lambda x: np.datetime_as_string(x))(np.ones(3))


def test_an_option_that_is_traced_is_refused_by_name():
    with pytest.raises(NotDifferentiableError, match="axis of sum"):
        grad(lambda x: v.sum(np.ones((2, 2)) * x, axis=x))(1.0)
    with pytest.raises(NotDifferentiableError, match="shape of reshape"):
        grad(lambda x: v.reshape(np.ones((2, 2)) * x, shape=(x, 4)))(1.0)
    with pytest.raises(TracerError, match="int"):
        grad(lambda x: np.sum(np.ones((2, 2)) * x, axis=x))(1.0)


def test_wrong_tangents_are_refused():
    with pytest.raises(ProjectionError):
        jvp(np.sin, (np.ones(3),), (np.ones(4),))
    with pytest.raises(ProjectionError):
        jvp(np.sin, (np.ones(3),), (None,))
    with pytest.raises(ProjectionError, match="one tangent for each"):
        jvp(np.sin, (1.0,), (1.0, 1.0))
    with pytest.raises(ProjectionError, match="cannot be perturbed"):
        jvp(np.where, (np.array([True]), 1.0, 2.0), (np.ones(1), 1.0, 1.0))
    _, pullback = vjp(np.sin, np.ones(3))
    for wrong in (np.ones(4), None, (1.0, 2.0, 3.0)):
        with pytest.raises(ProjectionError):
            pullback(wrong)
    _, pullback = vjp(grad(lambda layer: layer.w * layer.b**2), Layer(2.0, 3.0))
    for wrong in (1.0, Layer(1.0, 1.0), Tangent[Other](w=1.0, b=1.0)):
        with pytest.raises(ProjectionError, match="has its own form"):
            pullback(wrong)


def test_an_error_inside_a_rule_says_whose_rule_it_was():
    @primitive
    def fails(x):
        return x

    scalar_rule(fails, lambda _y, x: x @ np.ones((7, 7)))
    with pytest.raises(ValueError, match="7") as error:
        grad(lambda x: np.sum(fails(x)))(np.ones(3))
    notes = "\n".join(error.value.__notes__)
    assert "while pulling back float64[3] through fails" in notes
    assert f"rule: {__file__}:" in notes
    with pytest.raises(ValueError, match="7") as error:
        rrule(fails, np.ones(3))[1](np.ones(3))
    assert "through fails(float64[3])" in "\n".join(error.value.__notes__)


# ------------------------------------------------------------------------- through and around rules


def test_a_primitive_without_a_rule_is_differentiated_through_its_body():
    @primitive
    def composed(x):
        return np.sin(x) * x

    assert grad(composed)(0.5) == pytest.approx(math.cos(0.5) * 0.5 + math.sin(0.5))
    assert derivative(composed)(0.5) == pytest.approx(math.cos(0.5) * 0.5 + math.sin(0.5))


def test_an_opted_out_primitive_is_differentiated_through_its_body():
    @primitive
    def f(x):
        return x * x

    scalar_rule(f, lambda _y, _x: 100.0)
    assert grad(f)(3.0) == 100.0
    opt_out(f, float)
    assert grad(f)(3.0) == 6.0


def test_a_rule_of_one_mode_is_transposed_for_the_other():
    @primitive
    def f(x):
        return x * x

    @rrule.register(f)
    def f_rrule(x: float):
        return x * x, lambda y_bar: (100.0 * y_bar,)

    assert grad(f)(3.0) == 100.0
    assert derivative(f)(3.0) == 100.0

    @primitive
    def g(x):
        return x * x

    @frule.register(g)
    def g_frule(tangents, x: float):
        return x * x, 100.0 * tangents[0]

    assert (grad(g)(3.0), derivative(g)(3.0)) == (100.0, 100.0)


def test_derivatives_can_be_ignored():
    assert grad(lambda x: x * ignore_derivatives(x))(3.0) == 3.0
    assert grad(lambda x: grad(lambda y: y * ignore_derivatives(x * y))(x))(3.0) == 0.0
    constant = ignore_derivatives(lambda x: (x * x, "text"))
    assert grad(lambda x: x * constant(x)[0])(3.0) == 9.0
    assert derivative(lambda x: x * constant(x)[0])(3.0) == 9.0


def test_comparisons_and_branches_look_at_values():
    def f(x):
        return x * x if x > 1.0 else -x

    assert (grad(f)(3.0), grad(f)(0.5)) == (6.0, -1.0)


def test_tracing_changes_no_bit_of_a_value():
    rng = np.random.default_rng(1)
    for x in (
        0.3,
        np.float64(0.3),
        np.array(0.3),
        rng.normal(size=7),
        rng.normal(size=(2, 3)).astype(np.float32),
    ):

        def program(x):
            return np.exp(np.sin(x) * x / 3 - x) + x * 2.0 - np.cos(x)

        for f in (
            program,
            lambda x: x**2,
            lambda x: x**0.5 if np.all(np.asarray(ignore_derivatives(x)) > 0) else x,
        ):
            plain = f(x)
            traced, _ = vjp(f, x)
            assert type(traced) is type(plain)
            assert np.asarray(traced).tobytes() == np.asarray(plain).tobytes()
            pushed, _ = jvp(f, (x,), (np.ones_like(x) if isinstance(x, np.ndarray) else 1.0,))
            assert np.asarray(pushed).tobytes() == np.asarray(plain).tobytes()


def test_rules_that_call_back_into_the_engine():
    from chainrules_py import ForwardMode, ReverseMode
    from chainrules_tape.rule_config import config

    @primitive
    def twice(f, x):
        return f(f(x))

    @rrule.register(twice, types=(object, float), requires=ReverseMode)
    def twice_rrule(config, f, x):
        y1, pull1 = config.rrule_via_ad(f, x)
        y2, pull2 = config.rrule_via_ad(f, y1)
        return y2, lambda y_bar: (NoTangent(), pull1(pull2(y_bar)[0])[0])

    @frule.register(twice, types=(object, float), requires=ForwardMode)
    def twice_frule(config, tangents, f, x):
        y1, d1 = config.frule_via_ad((tangents[1],), f, x)
        return config.frule_via_ad((d1,), f, y1)

    f = np.sin
    expected = math.cos(math.sin(0.4)) * math.cos(0.4)
    assert rrule(config, twice, f, 0.4)[1](1.0)[1] == pytest.approx(expected)
    assert frule((NoTangent(), 1.0), config, twice, f, 0.4)[1] == pytest.approx(expected)
    assert grad(lambda x: twice(f, x))(0.4) == pytest.approx(expected)
    assert derivative(lambda x: twice(f, x))(0.4) == pytest.approx(expected)
