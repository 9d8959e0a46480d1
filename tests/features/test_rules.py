"""Features of rules: how they are stated, what they are told, and what is made of their answers."""

from __future__ import annotations

import numpy as np
import pytest

import chainrules_py.ops as v
from chainrules_kit.custom_derivatives import augmented_rule
from chainrules_py import (
    ChainRulesError,
    LinearMap,
    NoTangent,
    ReverseMode,
    ZeroTangent,
    add_tangents,
    export,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py.extend import HigherOrder
from chainrules_py.testing import debug
from chainrules_tape import grad, hessian, jvp, stop_gradient, vjp
from tests.features.rows import feature

A = np.array([0.3, 1.0, 2.0])
close = np.testing.assert_allclose


def times(t, c):
    return t * c


@feature(1, "a reverse rule for a function of one's own", page="write-a-rule",
         best="tinygrad: grad_fxn; PyTorch: Function.backward")  # fmt: skip
def test_a_reverse_rule():
    @primitive
    def relu(x):
        return np.maximum(x, 0.0)

    @rrule.register(relu)
    def relu_rrule(x):
        mask = x > 0
        return relu(x), lambda y_bar: (y_bar * mask,)

    close(grad(lambda x: np.sum(relu(x)))(np.array([-1.0, 2.0])), [0.0, 1.0])


@feature(2, "a forward rule for a function of one's own", page="write-a-rule", best="JAX")
@feature(4, "the other mode follows", page="write-a-rule",
         best="JAX: transposition; PyTorch, autograd: two reverse passes")  # fmt: skip
def test_a_forward_rule_gives_the_reverse_and_the_other_way_round():
    @primitive
    def cube(x):
        return x**3

    @frule.register(cube)
    def cube_frule(tangents, x):
        return cube(x), 3 * x**2 * tangents[0]

    close(jvp(cube, (A,), (A,))[1], 3 * A**3)
    close(grad(lambda x: np.sum(cube(x)))(A), 3 * A**2)
    close(hessian(lambda x: np.sum(cube(x)))(A), np.diag(6 * A))

    @primitive
    def pair(x):
        return v.stack(x[0] * x[1], x[1] ** 2)

    @rrule.register(pair)
    def pair_rrule(x):
        return pair(x), lambda b: (v.stack(b[0] * x[1], b[0] * x[0] + 2 * b[1] * x[1]),)

    close(jvp(pair, (np.array([2.0, 3.0]),), (np.ones(2),))[1], [5.0, 6.0])


@feature(5, "each operand has a derivative of its own", page="write-a-rule",
         best="PyTorch: derivatives.yaml; JAX: defjvps; autograd: argnums")  # fmt: skip
@feature(25, "keyword arguments, by position and by name", page="write-a-rule",
         best="Zygote; PyTorch and JAX take none")  # fmt: skip
def test_each_operand_and_keywords():
    @primitive
    def f(x, y, *, k):
        return k * x * y

    @rule(f)
    def f_rule(x, y, *, k):
        return f(x, y, k=k), (LinearMap(times, times, k * y), NoTangent())

    assert grad(f)(2.0, 3.0, k=2) == 6.0
    assert grad(lambda x: f(y=3.0, x=x, k=2))(2.0) == 6.0
    with pytest.raises(ChainRulesError, match="option"):
        grad(lambda x: f(x, 3.0, k=x))(2.0)


@feature(13, "one output of several is not differentiable", page="write-a-rule",
         best="PyTorch: mark_non_differentiable")  # fmt: skip
def test_one_output_is_constant():
    @primitive
    def top(x):
        return np.max(x), np.argmax(x)

    @rrule.register(top)
    def top_rrule(x):
        hot = np.arange(len(x)) == np.argmax(x)
        return top(x), lambda y_bar: (y_bar[0] * hot,)

    close(grad(lambda x: top(x)[0] * 2 + top(x)[1])(A), [0.0, 0.0, 2.0])


@feature(22, "a rule stands far from its function", page="write-a-rule",
         best="ChainRules.jl; JAX: by wrapping; PyTorch: for its own operators")  # fmt: skip
def test_a_rule_for_a_function_of_others():
    import bisect

    between = primitive(bisect.bisect)
    operation = primitive(np.interp)
    assert operation is not None

    def theirs(x):
        return np.log(np.cosh(x))

    g = primitive(theirs)
    scalar_rule(g, lambda y, x: np.tanh(x))
    assert grad(g)(0.5) == np.tanh(0.5)
    assert between is not None


@feature(31, "what shape a result has, without computing it", page="jax",
         best="PyTorch: register_fake; JAX: abstract evaluation")  # fmt: skip
def test_a_result_without_computing_it():
    jax = pytest.importorskip("jax")
    import chainrules_jax

    @primitive
    def ordered(x):
        return np.asarray(sorted(x))

    chainrules_jax.callback(ordered, result=lambda x: x)

    @rule(ordered)
    def ordered_rule(x):
        i = v.argsort(x)
        back = lambda b, i: v.take(b, v.argsort(i))
        return ordered(x), (LinearMap(lambda t, i: v.take(t, i), back, i),)

    x = np.array([2.0, 0.5, 1.0], np.float32)
    close(jax.jit(export(ordered, to="jax"))(x), [0.5, 1.0, 2.0])


@feature(32, "another implementation, with a derivative of its own", page="write-a-rule",
         best="Thunder: register_implementation(checker, grad_transform)")  # fmt: skip
def test_another_implementation():
    @primitive
    def norm(x):
        return np.sqrt(np.sum(x * x))

    scalar = lambda x, y: LinearMap(lambda t, c: np.sum(t * c), times, x / y)

    @rule(norm)
    def norm_rule(x):
        y = norm(x)
        return y, (scalar(x, y),)

    ran = []

    @norm.implement
    def blas(x: np.ndarray):
        ran.append("blas")
        return np.linalg.norm(x)

    @rule(norm)
    def norm_of_arrays(x: np.ndarray):
        if x.size < 2:  # the checker: what is computed, and how its derivative is, by an if
            return abs(x[0]), (LinearMap(times, times, np.sign(x)),)
        ran.append("its rule")
        y = norm(x)
        return y, (scalar(x, y),)

    close(grad(norm)(A), A / np.linalg.norm(A))
    assert ran[-2:] == ["its rule", "blas"]
    close(vjp(norm, np.array([-2.0]))[1](1.0)[0], [-1.0])


@feature(36, "zeros that a rule gives cost no computation", page="write-a-rule",
         best="PyTorch: None; JAX: SymbolicZero; PyTensor: DisconnectedType")  # fmt: skip
@feature(37, "a zero is not the lack of a tangent", page="write-a-rule",
         best="JAX: float0; PyTensor: Disconnected and Null")  # fmt: skip
@feature(38, "what all cotangents are zero of is not pulled", page="tape", best="all")
@feature(42, "an operand's pull runs only if it is wanted", page="write-a-rule",
         best="ChainRules.jl: thunks")  # fmt: skip
def test_zeros():
    ran = []

    @primitive
    def f(x, y):
        return x * 2.0

    @rrule.register(f)
    def f_rrule(x, y):
        return f(x, y), lambda b: (ran.append("f"), (2 * b, ZeroTangent()))[1]

    assert grad(f, (0, 1))(1.0, 2.0) == (2.0, 0.0)
    assert grad(f, 1, unused="none")(1.0, 2.0) is None
    assert ZeroTangent() is not NoTangent()
    assert isinstance(rrule(v.take, A, np.array([1]))[1](np.ones(1))[1], NoTangent)
    assert grad(lambda p: p["x"] * 2.0)({"x": 1.0, "n": "a"}) == {"x": 2.0}
    ran.clear()
    grad(lambda x: stop_gradient(f(x, x)) + x)(1.0)
    grad(lambda x: (x, f(x, x))[0])(1.0)
    assert ran == []

    @primitive
    def g(x, y):
        return x * y

    @rule(g)
    def g_rule(x, y):
        pulls = [lambda b, c, n=n: (ran.append(n), b * c)[1] for n in "xy"]
        return g(x, y), (LinearMap(times, pulls[0], y), LinearMap(times, pulls[1], x))

    grad(g, 1)(1.0, 2.0)
    assert ran == ["y"]


@feature(41, "whole numbers have the derivative of the real ones that they are; flags are an error",
         page="conventions", best="JAX, autograd: an error")  # fmt: skip
def test_whole_numbers():
    assert grad(lambda n: n * 2.5)(3) == 2.5
    close(grad(lambda n: np.sum(n * 2.5))(np.array([1, 2])), [2.5, 2.5])
    with pytest.raises(ChainRulesError, match="bool"):
        grad(lambda n: n * 2.0)(True)


@feature(44, "who owns a buffer is known: sums are made in place, results are one's own",
         page="promises", best="autograd: mutable flags; PyTensor: destroy_map")  # fmt: skip
def test_results_are_ones_own():
    a, b = grad(lambda x, y: np.sum(x + y), (0, 1))(A, A)
    a[0] = 99.0
    assert b[0] == 1.0


@feature(46, "a cotangent is brought to its operand's shape, or refused", page="write-a-rule",
         best="JAX")  # fmt: skip
@feature(47, "a cotangent has its operand's dtype, and is real where that is", page="conventions",
         best="ChainRules.jl: ProjectTo; PyTorch")  # fmt: skip
def test_cotangents_are_those_of_their_operands():
    x, b = grad(lambda x, b: np.sum(x * b), (0, 1))(np.ones((3, 4)), np.ones(4))
    assert (x.shape, b.shape) == ((3, 4), (4,))
    assert grad(lambda x: np.sum(np.real(x * (1 + 2j))))(A.astype("f4")).dtype == np.float32

    @primitive
    def bad(x):
        return x

    @rrule.register(bad)
    def bad_rrule(x):
        return bad(x), lambda y_bar: (np.ones((5, 5)),)

    with pytest.raises(ChainRulesError, match="5"):
        grad(lambda x: np.sum(bad(x)))(A)


@feature(50, "what a rule keeps outside is named by debug()", page="promises",
         best="none: silently wrong in PyTorch")  # fmt: skip
def test_what_is_kept_outside_is_named():
    kept, a = {}, np.array(5.0)

    @primitive
    def square(x):
        return x * x

    @rrule.register(square)
    def square_rrule(x):
        kept["x"] = x
        return square(x), lambda y_bar: (2 * kept["x"] * y_bar,)

    with debug(), pytest.raises(ChainRulesError, match="square"):
        grad(lambda x: square(x) * square(x * 2))(3.0)

    @primitive
    def scaled(x):
        return x * 5.0

    @rrule.register(scaled)
    def scaled_rrule(x):
        return scaled(x), lambda y_bar: (a * y_bar,)

    def changed(x):
        y = scaled(x)
        a[()] = 1.0
        return y

    with debug(), pytest.raises(ChainRulesError, match="scaled"):
        grad(changed)(1.0)


@feature(63, "a rule is right at second order as it stands", page="custom-derivatives",
         best="JAX; PyTorch is silently wrong where a temporary is saved")  # fmt: skip
@feature(74, "temporaries become outputs", page="custom-derivatives",
         best="PyTorch: the one way without closures")  # fmt: skip
@feature(72, "one function for several, with a rule by hand", page="custom-derivatives",
         best="all")  # fmt: skip
def test_temporaries_are_differentiated_as_well():
    @primitive
    def fused(x):
        return np.tanh(x * 2.0)

    def forward(x):
        t = np.tanh(x * 2.0)
        return t, (t,)

    augmented_rule(fused, forward, lambda t, y_bar: (2.0 * y_bar * (1.0 - t * t),))
    t = np.tanh(0.6)
    close(grad(fused)(0.3), 2 * (1 - t**2))
    close(grad(grad(fused))(0.3), -8 * t * (1 - t**2))


@feature(81, "a missing rule is reported with function and argument", page="messages",
         best="PyTensor")  # fmt: skip
def test_a_missing_rule_is_named():
    @primitive
    def halved(x, y):
        return np.asarray([float(x) / 2.0])

    @rrule.register(halved)
    def halved_rrule(x: float, y: float):
        return halved(x, y), lambda y_bar: (y_bar[0] / 2.0, NoTangent())

    with pytest.raises(ChainRulesError, match="halved"):
        grad(lambda x: np.sum(halved(x, 1.0)))(A)


def test_a_rule_of_a_function_of_functions_is_asked():
    """It has a body as well, which says something else."""

    @HigherOrder
    def doubled(f, x):
        return f(x) * 1.0

    @rrule.register(doubled, requires=ReverseMode)
    def doubled_rrule(config, f: object, x):
        y, pull = config.rrule_via_ad(lambda f, t: f(t), f, x)
        return y, lambda y_bar: tuple([add_tangents(t, t) for t in pull(y_bar)])

    assert grad(lambda x: doubled(lambda t: t * t, x))(3.0) == 12.0
    assert grad(lambda w: doubled(lambda t: w * t * t, 3.0))(3.0) == 18.0
    assert jvp(lambda x: doubled(lambda t: t * t, x), (3.0,), (1.0,))[1] == 12.0
