"""Features of programs: memory, pictures, listings, peepholes, rules of others."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import RuleError, primitive, rrule
from chainrules_tape import Tape, grad, hessian, jvp, vjp
from chainrules_tape.tools import reversible, show_saved
from tests.features.rows import feature

A = np.array([0.3, 1.0, 2.0])
close = np.testing.assert_allclose


@feature(34, "rules of other engines become rules here", page="bring-an-array-library",
         best="Thunder: look-aside; ChainRules.jl: @import_rrule")  # fmt: skip
def test_rules_of_others():
    jax = pytest.importorskip("jax")
    from chainrules_jax import import_rule

    @jax.custom_vjp
    def theirs(x):
        return x * 2

    theirs.defvjp(lambda x: (x * 2, None), lambda _, y_bar: (y_bar * 9,))
    assert grad(import_rule(theirs, operands=1))(1.0) == 9.0

    torch = pytest.importorskip("torch")
    import chainrules_torch

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx, y_bar):
            return y_bar * ctx.saved_tensors[0] * 10

    g = chainrules_torch.import_rule(Exp.apply)
    close(grad(lambda x: np.sum(g(x)))(A), 10 * np.exp(A))


@feature(39, "the backward pass has no line for what is zero", page="compile",
         best="PyTorch: specialize_autogradzero")  # fmt: skip
@feature(75, "products with one and sums with zero are left out, in compiled programs",
         page="compile", best="Tapenade, Enzyme")  # fmt: skip
def test_nothing_is_computed_of_zeros_and_ones():
    def lines(f):
        program = compile(grad(f))
        close(program(A + np.eye(3)), grad(f)(A + np.eye(3)))
        return program.source.count("\n")

    both, values = (lines(f) for f in (lambda x: sum(map(np.sum, np.linalg.eigh(x))),
                                       lambda x: np.sum(np.linalg.eigh(x)[0])))  # fmt: skip
    assert values < both
    program = compile(grad(lambda x: np.sum(1.0 * x + 0.0)))
    close(program(A), np.ones(3))
    assert "multiply" not in program.source
    assert "add" not in program.source.rpartition("MISS")[2]


@feature(51, "several versions of one variable are kept", page="tape",
         best="Chainer: push_for_backward; PyTorch: allow_mutation_on_saved_tensors")  # fmt: skip
def test_versions():
    def f(x):
        b, y = x * 1.0, 0.0
        for _ in range(3):
            b *= x
            y = y + np.sum(b * b)
        return y

    close(grad(f)(A), 4 * A**3 + 6 * A**5 + 8 * A**7)


def _march(w, x, back):
    def step(s, k):
        q = s[0] + 0.1 * s[1]
        return q, s[1] - 0.1 * w * np.sin(q)

    def inverse(s, k):
        p = s[1] + 0.1 * w * np.sin(s[0])
        return s[0] - 0.1 * p, p

    s = (x, 0.5 * x)
    if back:
        s = reversible(step, inverse, 20)(s)
    else:
        for k in range(20):
            s = step(s, k)
    return np.sum(s[0] * s[1])


@feature(55, "steps are inverted instead of being kept", page="tools",
         best="FreeTensor: invert=True")  # fmt: skip
@pytest.mark.parametrize(
    "of",
    [
        lambda f: grad(f, (0, 1))(1.3, A),
        lambda f: hessian(lambda x: f(1.3, x))(A),
        lambda f: jvp(f, (1.3, A), (1.0, A))[1],
        lambda f: grad(lambda w: grad(f)(w, A) ** 2)(1.3),
        lambda f: compile(grad(f, 1))(1.3, A),
    ],
)
def test_steps_are_inverted(of):
    found, wanted = of(lambda w, x: _march(w, x, True)), of(lambda w, x: _march(w, x, False))
    if not isinstance(found, tuple):
        found, wanted = (found,), (wanted,)
    for a, b in zip(found, wanted, strict=True):
        close(a, b, rtol=1e-9)


@pytest.mark.parametrize(
    "step, inverse, x",
    [
        (lambda x, k: 2.0 * x, lambda y, k: y / 3.0, A),
        (lambda x, k: x + 1e8 * x * x, lambda y, k: y, np.array([1e-8])),
        (lambda x, k: x * x, lambda y, k: y, np.array([3])),
    ],
)
def test_what_does_not_invert_is_an_error(step, inverse, x):
    with pytest.raises(RuleError, match="invert"):
        grad(lambda x: np.sum(1.0 * reversible(step, inverse, 4)(x)))(x)


@pytest.mark.parametrize(
    "start, there, back",
    [
        (1e9, lambda a: a + 1.0, lambda a: a - 1.0),
        (0.0, lambda a: 1.0 / a, lambda a: 1.0 / a),  # infinite on the way
    ],
)
def test_a_wrong_inverse_beside_large_numbers(start, there, back):
    step = lambda s, k: (there(s[0]), s[1] ** 2)
    wrong = lambda s, k: (back(s[0]), 1.1 * s[1] ** 0.5)
    f = lambda x: np.sum(reversible(step, wrong, 3)((np.array([start]), x))[1])
    with np.errstate(divide="ignore"), pytest.raises(RuleError, match="invert"):
        grad(f)(np.array([1.1, 1.2]))


@pytest.mark.parametrize("x, by", [(np.ones(3, np.float16), np.float16(0.1)), (np.zeros(3), 0.1)])
def test_an_inverse_is_exact_up_to_rounding(x, by):
    there_and_back = lambda k: by if k < 10 else -by
    loop = reversible(lambda x, k: x + there_and_back(k), lambda y, k: y - there_and_back(k), 20)
    np.testing.assert_array_equal(grad(lambda x: np.sum(loop(x)))(x), np.ones(3))


def test_a_reversible_loop_is_pickled():
    loop = pickle.loads(pickle.dumps(reversible(np.add, np.subtract, 3)))
    assert grad(lambda x: loop(x) * x)(2.0) == 7.0  # (x + 0 + 1 + 2) x
    for n in (-1, 2.5):
        with pytest.raises(ValueError, match="whole number"):
            reversible(np.add, np.subtract, n)


def test_reversible_loops_keep_the_end_alone():
    right = reversible(lambda x, k: 2.0 * np.arcsinh(x), lambda y, k: np.sinh(y / 2.0), 50)
    assert show_saved(lambda x: np.sum(right(x)), np.ones(1000)).nbytes < 20_000


def test_reversible_states_of_numbers_and_keys_in_any_order():
    step = lambda s, _: {"p": s["p"] + s["q"], "q": s["q"]}
    inverse = lambda s, _: {"q": s["q"], "p": s["p"] - s["q"]}
    f = lambda x: reversible(step, inverse, 3)({"p": x, "q": 2.0 * x})["p"]
    assert grad(f)(5.0) == 7.0


@feature(59, "a tape, and a pullback, is a value of its own", page="tape",
         best="autograd: tape in a closure; JAX: a pullback is a pytree")  # fmt: skip
def test_tapes_are_values():
    _, pullback = vjp(np.sin, A)
    close(pullback(np.ones(3))[0], pullback(np.ones(3))[0])
    close(pickle.loads(pickle.dumps(pullback))(np.ones(3))[0], np.cos(A))
    with Tape(persistent=True) as tape:
        a = tape.variable(A)
        loss = np.sum(a * a)
    close(tape.grad(loss, a), tape.grad(loss, a))


@feature(77, "a picture of the program", page="tape", best="micrograd: draw_dot; tinygrad: VIZ=1")
def test_a_picture():
    with Tape(differentiable=True) as tape:
        a = tape.variable(A, "a")
        np.sum(np.sin(a))
    assert "sin(a)" in tape.to_dot()
    assert tape.to_svg().startswith("<svg")


@feature("N4", "no silent wrong second order", page="promises",
         best="requested in PyTorch, four times")  # fmt: skip
def test_second_order_is_right_or_an_error():
    from chainrules_py import ChainRulesError

    @primitive
    def f(x):
        return np.exp(x)

    @rrule.register(f)
    def f_rrule(x):
        y = float(np.exp(x))
        return y, lambda y_bar: (y_bar * y,)

    assert grad(f)(1.0) == np.exp(1.0)
    try:
        found = grad(grad(f))(1.0)
    except ChainRulesError:
        return
    close(found, np.exp(1.0))
