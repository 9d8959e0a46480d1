"""Features of rules and of functions of functions, each as a small program."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule, user_grad
from chainrules_py import (
    Array,
    LinearMap,
    MutationError,
    ProjectionError,
    ReverseMode,
    RuleError,
    add_tangents,
    bilinear_rule,
    explain,
    frule,
    is_zero,
    linear_rule,
    non_differentiable,
    opt_out,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py.extend import HigherOrder
from chainrules_py.ops import stack
from chainrules_tape import Tape, debug_nans, grad, hessian, hvp, jacobian, jvp, vjp
from tests.features.rows import feature

A = np.array([0.3, 1.0, 2.0])
times = lambda t, c: t * c


@feature("24", "rules by types, which ask for dtypes and devices", here="in part",
         page="write-a-rule",
         best="Chainer: forward_cpu, forward_gpu; PyTorch: dispatch keys")  # fmt: skip
def test_a_rule_for_one_dtype():
    @primitive
    def f(x):
        return x * x

    @rule(f)
    def f_rule(x: Array):
        factor = 20 if x.dtype == np.float32 else 2
        return f(x), (LinearMap(times, times, factor * x),)

    slope = grad(lambda x: np.sum(f(x)))
    assert slope(np.ones(2)).tolist() == [2.0, 2.0]
    assert slope(np.ones(2, np.float32)).tolist() == [20.0, 20.0]


@feature("17", "Riccati's equations, and problems with constraints", page="higher-order",
         best="JAX: implicit differentiation")  # fmt: skip
def test_controls_and_constraints():
    linalg = pytest.importorskip("chainrules_scipy.linalg")
    from chainrules_scipy.optimize import minimize

    a, b = np.array([[0.0, 1.0], [9.81, 0.0]]), np.array([[0.0], [1.0]])
    cost = lambda r: linalg.solve_continuous_are(a, b, np.eye(2), r * np.eye(1))[0, 0]
    step = 1e-5
    np.testing.assert_allclose(
        grad(cost)(1.0), (cost(1 + step) - cost(1 - step)) / (2 * step), rtol=1e-6
    )

    def bought(budget):
        held = {"type": "ineq", "fun": lambda x: budget - x @ np.array([1.0, 2.0, 50.0])}
        found = minimize(lambda x: -np.sum(np.sqrt(x + 0.01)), np.full(3, 0.1),
                         bounds=[(0, None)] * 3, constraints=held)  # fmt: skip
        return found.x

    np.testing.assert_allclose(jacobian(bought)(3.0), [2 / 3, 1 / 6, 0.0], atol=1e-6)


@feature("N10", "values that a function captured, in a rule of one's own", page="higher-order",
         best="requested in JAX, jaxopt")  # fmt: skip
def test_a_function_of_functions_of_ones_own():
    @HigherOrder
    def each(f, x):
        return stack(*[f(t) for t in x])

    @rrule.register(each, requires=ReverseMode)
    def each_rrule(config, f: object, x):
        pairs = [config.rrule_via_ad(lambda f, t: f(t), f, t) for t in x]
        ys, pulls = zip(*pairs, strict=True)

        def pullback(y_bar):
            bars = [pull(b) for pull, b in zip(pulls, y_bar, strict=True)]
            f_bar = bars[0][0]
            for of_f, _ in bars[1:]:
                f_bar = add_tangents(f_bar, of_f)
            return f_bar, stack(*[of_x for _, of_x in bars])

        return stack(*ys), pullback

    loss = lambda w, x: np.sum(each(lambda t: w * t * t, x))
    by_w, by_x = grad(loss, (0, 1))(2.0, A)
    np.testing.assert_allclose(by_w, np.sum(A * A))
    np.testing.assert_allclose(by_x, 4 * A)
    np.testing.assert_allclose(
        grad(grad(lambda w: np.sum(each(lambda t: w**2 * t, A))))(2.0), 2 * A.sum()
    )


@feature("3", "both modes of one function, each stated by itself", page="write-a-rule",
         best="JAX: hijax")  # fmt: skip
@feature("35", "rules see which tangents are zero", page="write-a-rule",
         best="JAX: symbolic_zeros; ChainRules.jl: ZeroTangent")  # fmt: skip
def test_both_modes_and_symbolic_zeros():
    seen = []

    @primitive
    def f(x, y):
        return x * y, x + y

    @rrule.register(f)
    def f_rrule(x, y):
        def pullback(z_bar):
            seen.append(("reverse", is_zero(z_bar[0]), is_zero(z_bar[1])))
            p, q = (0.0 if is_zero(t) else t for t in (z_bar[0], z_bar[1]))
            return p * y + q, p * x + q

        return f(x, y), pullback

    @frule.register(f)
    def f_frule(tangents, x, y):
        seen.append(("forward", *map(is_zero, tangents)))
        p, q = (0.0 if is_zero(t) else t for t in tangents)
        return f(x, y), (p * y + q * x, p + q)

    assert grad(lambda x: f(x, 3.0)[0])(2.0) == 3.0
    assert jvp(lambda x: f(x, 3.0), (2.0,), (1.0,))[1] == (3.0, 1.0)
    assert seen == [("reverse", False, True), ("forward", False, True)]


@feature("9", "one partial for each operand states both modes", page="write-a-rule",
         best="PyTorch: auto_element_wise; ChainRules.jl: @scalar_rule")  # fmt: skip
@feature("10", "linear in one word", page="write-a-rule", best="JAX: deflinear")
@feature("11", "bilinear in one word", page="write-a-rule", best="JAX: defbilinear")
@feature("12", "not differentiable in one word", page="write-a-rule",
         best="ChainRules.jl: @non_differentiable")  # fmt: skip
def test_the_short_constructors():
    f = primitive(lambda x, y: np.exp(x * y))
    scalar_rule(f, lambda z, x, y: z * y, lambda z, x, y: z * x)
    assert jvp(f, (1.0, 2.0), (1.0, 0.0))[1] == 2 * np.exp(2.0)
    assert grad(f, 1)(1.0, 2.0) == np.exp(2.0)
    turned = primitive(lambda x: np.flip(x))
    linear_rule(turned, lambda y_bar, x: np.flip(y_bar))
    assert grad(lambda x: turned(x)[0])(A).tolist() == [0.0, 0.0, 1.0]
    product = primitive(lambda x, y: np.matmul(x, y))
    bilinear_rule(product, lambda z, x, y: z @ y.T, lambda z, x, y: x.T @ z)
    m = np.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(hessian(lambda x: np.sum(product(x, m.T)))(m), 0.0)
    steps = primitive(lambda x: np.floor(x))
    non_differentiable(steps)
    assert grad(lambda x: steps(x) * x)(2.5) == 2.0


@feature("16", "signatures are opted out of a rule", page="write-a-rule",
         best="ChainRules.jl: @opt_out")  # fmt: skip
@feature("33", "without a rule, the body is differentiated", page="write-a-rule",
         best="Thunder, Zygote")  # fmt: skip
@feature("29", "which rule is used, and where it stands", page="write-a-rule", best="Thunder")
def test_opting_out_and_explaining():
    @primitive
    def f(x):
        return x["a"] * 2.0 if isinstance(x, dict) else x * 3.0

    @rule(f)
    def f_rule(x):
        return f(x), (LinearMap(times, times, 30.0),)

    opt_out(f, dict)
    assert grad(f)({"a": 1.0}) == {"a": 2.0}
    assert grad(f)(1.0) == 30.0
    assert "test_problems.py" in repr(explain(f, 1.0))


@feature("7", "what is saved is stated", page="custom-derivatives", best="Thunder, Enzyme")
@feature("62", "gradients of gradients are right by construction", page="custom-derivatives",
         best="JAX: custom_vjp")  # fmt: skip
@feature("19", "a derivative of a piece of code in a loop", page="custom-derivatives",
         best="FreeTensor: UserGrad")  # fmt: skip
def test_aggregates():
    @primitive
    def f(x):
        return np.tanh(2.0 * x)

    def forward(x):
        y = np.tanh(2.0 * x)
        return y, (y,)

    augmented_rule(f, forward, lambda y, y_bar: (2.0 * y_bar * (1.0 - y * y),))
    y = np.tanh(0.6)
    np.testing.assert_allclose(grad(grad(f))(0.3), -8.0 * y * (1.0 - y * y))

    def reversed_in_a_loop(x):
        for _ in range(3):

            @user_grad(x)
            def x(x):
                return 2.0 * x, lambda y_bar: (-y_bar,)

        return x

    assert grad(reversed_in_a_loop)(1.0) == -1.0


@feature("49", "a write to a saved value is an error", page="tape",
         best="PyTorch: version counters")  # fmt: skip
@feature("80", "the call that makes a NaN is named", page="tape",
         best="PyTorch: detect_anomaly; JAX: debug_nans")  # fmt: skip
@feature("60", "a used tape is an error", page="tape", best="PyTorch: retain_graph")
def test_safety():
    w = np.array([1.0, 2.0, 3.0])

    def careless(x):
        y = np.sum(w * x)
        w[:1] = 10.0
        return y

    with pytest.raises(MutationError):
        grad(careless)(np.ones(3))
    with pytest.raises(Exception, match=r"log.*gave NaN"), debug_nans(), np.errstate(all="ignore"):
        grad(lambda x: np.sum(np.log(x)))(np.array([1.0, -1.0]))
    with Tape() as tape:
        a = tape.variable(A)
        loss = np.sum(a * a)
    tape.grad(loss, a)
    with pytest.raises(Exception, match="consumed"):
        tape.grad(loss, a)


@feature("65", "modes mix", page="tape", best="JAX")
@feature("67", "Jacobians, Hessians and their products", page="tape", best="JAX, autograd")
def test_modes_mix():
    f = lambda x: np.sum(np.sin(x) * x[0])
    h = hessian(f)(A)
    e = np.eye(3)[1]
    np.testing.assert_allclose(jvp(grad(f), (A,), (e,))[1], h[1])
    np.testing.assert_allclose(grad(lambda x: jvp(f, (x,), (e,))[1])(A), h[1])
    np.testing.assert_allclose(vjp(grad(f), A)[1](e)[0], h[1])
    np.testing.assert_allclose(np.asarray(hvp(f, (A,), (e,))).ravel()[-3:], h[1])


@feature("82", "a wrong arity of a rule is reported", page="write-a-rule", best="JAX")
@pytest.mark.parametrize("answer", [(1.0,), 1.0, (1.0, 1.0, 1.0), [1.0, 1.0], (1.0, None), None])
def test_wrong_answers_are_reported(answer):
    f = primitive(lambda x, y: x + y)
    rrule.register(f)(lambda x, y: (f(x, y), lambda z_bar: answer))
    with pytest.raises((RuleError, ProjectionError), match=r"rule|tangent"):
        grad(f, (0, 1))(1.0, 2.0)
