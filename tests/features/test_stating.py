"""Features of stating rules, each as a small program."""

from __future__ import annotations

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_compile import compile
from chainrules_kit.custom_derivatives import augmented_rule
from chainrules_py import (
    Capability,
    Config,
    LinearMap,
    NoReverseMode,
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    NotImplementedTangent,
    ReverseMode,
    RuleError,
    UndefinedTangent,
    ZeroTangent,
    export,
    overriding,
    primitive,
    rrule,
    rule,
    rules_for,
    scalar_rule,
    unregister,
)
from chainrules_py.extend import enter, find_rule
from chainrules_py.testing import check_rule
from chainrules_tape import grad, hessian, hook, jacobian, jvp
from tests.features.rows import feature

A = np.array([0.3, 1.0, 2.0])


@feature(6, "a joint rule gets the mask of wanted inputs", page="write-a-rule",
         best="PyTorch: needs_input_grad; autograd: defvjp_argnums")  # fmt: skip
@pytest.mark.parametrize("form", ["rrule", "rule", "augmented"])
def test_a_rule_gets_the_mask_of_wanted_operands(form):
    asked = []

    @primitive
    def product(x, y):
        return x * y

    if form == "rrule":

        @rrule.register(product)
        def product_rrule(x, y, *, wanted):
            asked.append(wanted)
            return x * y, lambda b: (
                b * y if wanted[0] else ZeroTangent(),
                x * b if wanted[1] else ZeroTangent(),
            )
    elif form == "rule":

        @rule(product)
        def product_rule(x, y, *, wanted):
            asked.append(wanted)
            left = (
                LinearMap(lambda t, y: t * y, lambda b, y: b * y, y) if wanted[0] else NoTangent()
            )
            right = LinearMap(lambda t, x: x * t, lambda b, x: x * b, x)
            return x * y, (left, right if wanted[1] else NoTangent())
    else:

        def forward(x, y, *, wanted):
            asked.append(wanted)
            return x * y, (x, y)

        augmented_rule(product, forward, lambda x, y, b: (b * y, x * b))

    assert grad(product)(2.0, 3.0) == 3.0
    assert asked[-1] == (True, False)
    assert grad(product, 1)(2.0, 3.0) == 2.0
    assert asked[-1] == (False, True)
    assert grad(product, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert asked[-1] == (True, True)
    assert grad(grad(lambda x: product(product(x, x), x)))(3.0) == 18.0
    assert jvp(product, (2.0, 3.0), (1.0, 0.0))[1] == 3.0
    assert rrule(product, 2.0, 3.0)[1](1.0) == (3.0, 2.0)


@feature(8, "what is saved depends on what is wanted", page="write-a-rule",
         best="PyTorch: wrap_opt_if")  # fmt: skip
def test_residuals_are_computed_only_for_a_wanted_pull():
    computed = []

    @primitive
    def power(x, p):
        return v.pow(x, p)

    @rule(power)
    def power_rule(x, p, *, wanted):
        def log():
            computed.append("log")
            return v.log(x)

        y = v.pow(x, p)
        at = p * v.pow(x, p - 1)
        in_p = LinearMap(lambda t, c: c * t, lambda b, c: c * b, y * log()) if wanted[1] else None
        return y, (LinearMap(lambda t, c: c * t, lambda b, c: c * b, at), in_p or NoTangent())

    assert grad(power)(2.0, 3.0) == 12.0
    assert computed == []
    np.testing.assert_allclose(grad(power, 1)(2.0, 3.0), 8.0 * np.log(2.0))
    assert computed == ["log"]


@feature(15, "undefined is not zero, and not the same as not implemented", page="write-a-rule",
         best="PyTensor: grad_undefined")  # fmt: skip
def test_an_undefined_tangent_raises_where_it_is_used():
    @primitive
    def pick(x, order):
        return x * 2.0

    @rule(pick)
    def pick_rule(x, order):
        nothing = UndefinedTangent("an order is a whole number")
        return x * 2.0, (
            LinearMap(lambda t: 2.0 * t, lambda b: 2.0 * b),
            LinearMap(lambda t: nothing, lambda b: nothing),
        )

    assert grad(pick)(1.0, 3.0) == 2.0
    for call in (
        lambda: grad(pick, 1)(1.0, 3.0),
        lambda: jvp(pick, (1.0, 3.0), (0.0, 1.0)),
        lambda: grad(lambda n: pick(1.0, n * 1.0))(3.0),
    ):
        with pytest.raises(NotDifferentiableError, match="whole number"):
            call()
    assert isinstance(UndefinedTangent("x"), NotImplementedTangent)


@feature(18, "a rule is chosen by what the engine can and cannot do, and by its name",
         page="write-a-rule", best="ChainRules.jl: RuleConfig")  # fmt: skip
def test_capabilities_are_open_and_may_be_absent():
    @primitive
    def half(x):
        return x / 2.0

    @rrule.register(half, requires=ReverseMode)
    def with_engine(config, x):
        return x / 2.0, lambda b: (b * 10.0,)

    @rrule.register(half, requires=NoReverseMode)
    def without_engine(config, x):
        return x / 2.0, lambda b: (b * 20.0,)

    class Mine(Config):
        capabilities = frozenset((Capability("mine"),))

    assert rrule(half, 1.0)[1](1.0) == (20.0,)
    assert grad(half)(1.0) == 10.0

    @primitive
    def third(x):
        return x / 3.0

    @rrule.register(third, requires=Capability("mine"))
    def of_mine(config, x):
        return x / 3.0, lambda b: (b * 30.0,)

    @rrule.register(third, requires=Capability("tape"))
    def of_the_tape(config, x):
        return x / 3.0, lambda b: (b * 40.0,)

    assert rrule(Mine(), third, 1.0)[1](1.0) == (30.0,)
    assert grad(third)(1.0) == 40.0
    with pytest.raises(NoRuleError, match="mine"):
        rrule(third, 1.0)


@feature("N11", "a rule runs although all cotangents are zero", page="write-a-rule",
         best="requested in JAX")  # fmt: skip
def test_a_regulariser_acts_although_nothing_reads_its_result():
    @primitive
    def decayed(w):
        return w * 1.0

    @rule(decayed, always=True)
    def decayed_rule(w):
        return w * 1.0, (LinearMap(lambda t: t, lambda b, w: b + 0.1 * w, w),)

    def loss(w):
        decayed(w)
        return np.sum(w * w)

    np.testing.assert_allclose(grad(loss)(A), 2.1 * A)
    both = jacobian(lambda w: (decayed(w), 2.0 * w)[1], mode="reverse")(A[:1])
    np.testing.assert_allclose(both, [[2.0 + 0.1 * A[0]]])
    assert rrule(decayed, 2.0)[1](ZeroTangent()) == (0.2,)
    jax = pytest.importorskip("jax")
    with pytest.raises(NoRuleError, match="zero cotangents"):  # an engine that would leave it out
        jax.grad(export(decayed, to="jax"))(1.0)


@feature("9", "scalar_rule for several outputs, with what partials share", page="write-a-rule",
         best="ChainRules.jl: @scalar_rule with @setup")  # fmt: skip
def test_a_scalar_rule_has_several_outputs_and_a_setup():
    computed = []

    def shared(r, x, y):
        computed.append(1)
        return v.sin(x), v.cos(x)

    @primitive
    def wave(x, y):
        return v.sin(x) * y, v.cos(x) * y

    scalar_rule(
        wave,
        lambda u, _r, _x, y: (u[1] * y, -u[0] * y),
        lambda u, _r, _x, _y: u,
        setup=shared,
        outputs=2,
    )
    grad(lambda x: np.sum(wave(x, 2.0)[0]))(A)
    assert len(computed) == 1
    check_rule(wave, A, np.array(2.0))
    check_rule(wave, 1.0, 2.0)
    np.testing.assert_allclose(grad(grad(lambda x: wave(x, 2.0)[0]))(0.5), -2 * np.sin(0.5))
    np.testing.assert_allclose(hessian(lambda x: wave(x, 2.0)[1])(0.5), -2 * np.cos(0.5))

    @primitive
    def one(x):
        return v.sin(x)

    scalar_rule(one, lambda _y, x: (v.cos(x), x), outputs=2)
    with pytest.raises(RuleError, match="outputs=2"):
        grad(one)(1.0)
    with pytest.raises(RuleError, match="u, y, x"):
        scalar_rule(one, lambda y, x: x, setup=lambda y, x: x)


@pytest.mark.parametrize("x", [1.5, np.array([[0.7], [1.2]])], ids=["number", "column"])
def test_outputs_of_a_scalar_rule_have_several_shapes(x):
    """What each output sends to an operand was added before it was summed to its shape."""

    @primitive
    def both(x, y):
        return x * y, x**2

    scalar_rule(both, lambda _, x, y: (y, 2 * x), lambda _, x, y: (x, None), outputs=2)
    check_rule(both, x, A)

    def loss(x):
        a, b = both(x, A)
        return np.sum(a) + np.sum(b)

    expected = np.sum(A) + 2 * x
    np.testing.assert_allclose(grad(loss)(x), expected)
    autograd = pytest.importorskip("autograd")
    second = autograd.grad(lambda x: autograd.numpy.sum(export(both, to="autograd")(x, A)[1]))
    np.testing.assert_allclose(second(x), 2 * x)


@pytest.mark.parametrize("x", [np.array([1.0 + 2.0j]), 1.0 + 2.0j, np.complex128(1.0 + 2.0j)])
def test_a_real_result_beside_a_complex_operand_has_real_cotangents(x):
    """The operand beside it was the cotangent as it is: complex, and not conjugated."""

    @primitive
    def real_part(x, y):
        return np.real(x * y)

    scalar_rule(real_part, lambda _, x, y: y, lambda _, x, y: x, complex="real")
    y, c = np.array([3.0]), np.array([3.0 + 4.0j])
    loss = lambda y: np.sum(real_part(x, y))
    assert grad(loss)(y).tolist() == [1.0]
    assert grad(lambda y: np.sum(real_part(y, x)))(y).tolist() == [1.0]
    np.testing.assert_allclose(grad(lambda c: loss(np.abs(c)))(c), [0.6 + 0.8j])
    np.testing.assert_allclose(hessian(lambda y: np.sum(real_part(x, y) ** 2))(y), [[2.0]])


def test_a_result_that_is_narrower_than_an_operand_has_narrow_cotangents():
    @primitive
    def half(x, y):
        return (x * y).astype(np.float32)

    scalar_rule(half, lambda _, x, y: y, lambda _, x, y: x)
    found = grad(lambda y: np.sum(half(A, y)))(A.astype(np.float32))
    assert found.dtype == np.float32


@feature("23", "rules are deleted, listed, and replaced for a block", page="write-a-rule",
         best="Thunder: a dict of rules")  # fmt: skip
def test_rules_go_and_come_back():
    @primitive
    def cube(x):
        return x * x * x

    scalar_rule(cube, lambda _y, x: 2.0 * x)
    assert grad(cube)(2.0) == 4.0
    taken = unregister(cube)
    assert len(taken) == 1
    assert rules_for(cube) == []
    assert find_rule(cube, (float,)) is None
    assert grad(cube)(2.0) == 12.0  # through its body
    with pytest.raises(RuleError, match="nothing is stated"):
        unregister(cube)
    for statement in taken:
        enter(statement)
    assert grad(cube)(2.0) == 4.0

    def straight(x):
        return v.sin(x), (LinearMap(lambda t: t, lambda b: b),)

    def doubled(x):
        return v.sin(x), (LinearMap(lambda t: 2.0 * t, lambda b: 2.0 * b),)

    with overriding(v.sin, straight):
        assert grad(np.sin)(1.0) == 1.0
        with overriding(v.sin, doubled):
            assert grad(np.sin)(1.0) == 2.0
        assert grad(np.sin)(1.0) == 1.0
    assert grad(np.sin)(0.0) == 1.0
    assert grad(np.sin)(1.0) == np.cos(1.0)


def test_compiled_programs_follow_the_rules():
    slope = compile(grad(lambda x: np.sum(np.exp(x) * x)))
    plain = slope(A)
    np.testing.assert_allclose(plain, np.exp(A) * (1 + A))
    with hook(np.exp, lambda bar: 0.0 * bar):
        np.testing.assert_allclose(slope(A), np.exp(A))
    np.testing.assert_array_equal(slope(A), plain)

    def flat(x):
        return v.exp(x), (LinearMap(lambda t: 0.0 * t, lambda b: 0.0 * b),)

    with overriding(v.exp, flat):
        np.testing.assert_allclose(slope(A), np.exp(A))
    np.testing.assert_array_equal(slope(A), plain)
