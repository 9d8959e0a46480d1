"""The notebook "Simple Autograd", program by program: first and second gradients, and aggregates.

The notebook prints four digits. The numbers below have two more, such that every number that it
prints comes out.
"""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp, user_grad
from chainrules_py import LinearMap, ZeroTangent, ignore_derivatives, primitive, rule
from chainrules_py.testing import check_rule
from chainrules_tape import Tape, grad, jvp

# a = tensor([0.4605, 0.4061, 0.9422, 0.3946]), b = tensor([0.0850, 0.3296, 0.9888, 0.6494])
A = np.array([0.460471, 0.406056, 0.942167, 0.394640])
B = np.array([0.085043, 0.329583, 0.988767, 0.649410])
# a = tensor([0.0171, 0.1633, 0.5833, 0.3794]), b = tensor([0.3774, 0.6308, 0.5239, 0.1387])
A2 = np.array([0.017100, 0.163300, 0.583322, 0.379371])
B2 = np.array([0.377400, 0.630817, 0.523883, 0.138671])

FIRST = "[0.0850 0.3296 0.9888 0.6494]", "[0.6306 1.0652 2.9197 1.6935]"
SECOND = "[1.2611 2.1304 5.8394 3.3869]", "[2.6923 4.9201 13.6563 8.0727]"
SECOND_2 = "[1.5438 2.8499 3.2622 1.3134]", "[3.8424 6.9614 7.5721 2.9042]"


def shown(x) -> str:
    """As the notebook prints a tensor."""
    return "[" + " ".join(f"{value:.4f}" for value in getattr(x, "value", x)) + "]"


def simple(a, b):
    t = a + b
    return t * b


# ------------------------------------------------------------------------------------------- grad


def test_using_grad():
    """The loss is a vector; the notebook starts from a one for each of its entries."""
    with Tape() as tape:
        a, b = tape.variable(A2, name="a"), tape.variable(B2, name="b")
        loss = simple(a, b)
    da, db = tape.grad(loss, [a, b], seed=np.ones(4))
    assert shown(da) == "[0.3774 0.6308 0.5239 0.1387]"
    assert shown(db) == "[0.7719 1.4249 1.6311 0.6567]"


def test_what_does_not_contribute_is_known_to_be_zero():
    """The notebook's None, which skips the work behind it, is a zero with a name here."""
    with Tape() as tape:
        a, b = tape.variable(A, name="a"), tape.variable(B, name="b")
        loss = a * a
    da, db = tape.grad(loss, [a, b], seed=np.ones(4))
    assert shown(da) == "[0.9209 0.8121 1.8843 0.7893]"
    assert db is ZeroTangent()


def run_gradients(my_fn, a=A, b=B, second_loss=True):
    """The gradient of a sum, then that of the squared norm of the gradient, on one tape."""
    with Tape(differentiable=True) as tape:
        a, b = tape.variable(a, name="a"), tape.variable(b, name="b")
        loss_0 = np.sum(my_fn(a, b))
        da, db = tape.grad(loss_0, [a, b])
        if not second_loss:
            return da, db
        loss_1 = np.sum(da * da + db * db)
        return tape.grad(loss_1, [a, b])


def run_nested(my_fn, a=A, b=B, second_loss=True):
    """The same by functions of functions."""

    def gradient(a, b):
        return grad(lambda a, b: np.sum(my_fn(a, b)), (0, 1))(a, b)

    def norm(a, b):
        da, db = gradient(a, b)
        return np.sum(da * da + db * db)

    return grad(norm, (0, 1))(a, b) if second_loss else gradient(a, b)


RUNS = pytest.mark.parametrize("run", [run_gradients, run_nested], ids=["tape", "nested"])


@RUNS
def test_gradients_of_gradients(run):
    assert tuple(map(shown, run(simple))) == SECOND
    assert tuple(map(shown, run(simple, second_loss=False))) == FIRST
    assert tuple(map(shown, run(simple, A2, B2))) == SECOND_2


def test_the_tape_can_be_read():
    """`v0 = a + b`: the notebook prints each operation as it runs."""
    with Tape(differentiable=True) as tape:
        a, b = tape.variable(A, name="a"), tape.variable(B, name="b")
        loss = np.sum(simple(a, b))
        forward = str(tape).splitlines()
        tape.grad(loss, [a, b])
        both = str(tape).splitlines()
    assert [line.partition("  #")[0] for line in forward] == [
        "a = input",
        "b = input",
        "v0 = a + b",
        "v1 = v0 * b",
        "v2 = sum(v1)",
    ]
    assert both[: len(forward)] == forward
    assert any("* v0" in line for line in both[len(forward) :])  # the use of t in the gradient


# ------------------------------------------------------------------------------------- aggregates


def by_recomputing():
    """`simple_recompute`: the backward function computes t again, of a and b."""

    @primitive
    def aggregate(a, b):
        return simple(a, b)

    def backward(a, b, r_bar):
        t = a + b
        t_bar = r_bar * b
        return t_bar, t_bar + r_bar * t

    augmented_rule(aggregate, lambda a, b: (simple(a, b), (a, b)), backward)
    return aggregate


def by_saving(recompute=False):
    """`simple_variable`: t is saved. Where it is itself differentiated in, it is a variable."""

    @primitive
    def aggregate(a, b):
        return simple(a, b)

    def forward(a, b):
        t = a + b
        return t * b, (t, b)

    def backward(t, b, r_bar):
        t_bar = r_bar * b
        return t_bar, t_bar + r_bar * t

    augmented_rule(aggregate, forward, backward, recompute=recompute)
    return aggregate


def by_rule():
    """Value and linear maps, side by side."""

    @primitive
    def aggregate(a, b):
        return simple(a, b)

    @rule(aggregate)
    def aggregate_rule(a, b):
        t = a + b
        along_a = lambda x, b: x * b
        along_b = lambda x, t, b: x * (t + b)
        return t * b, (LinearMap(along_a, along_a, b), LinearMap(along_b, along_b, t, b))

    return aggregate


def by_vjp():
    aggregate = custom_vjp(simple)

    def fwd(a, b):
        t = a + b
        return t * b, (t, b)

    def bwd(res, r_bar):
        t, b = res
        return r_bar * b, r_bar * b + r_bar * t

    aggregate.defvjp(fwd, bwd)
    return aggregate


def by_jvp():
    aggregate = custom_jvp(simple)

    @aggregate.defjvp
    def aggregate_jvp(primals, tangents):
        (a, b), (a_dot, b_dot) = primals, tangents
        t, t_dot = a + b, a_dot + b_dot
        return t * b, t_dot * b + t * b_dot

    return aggregate


def by_region():
    def aggregate(a, b):
        @user_grad(a, b)
        def r(a, b):
            t = a + b
            return t * b, lambda r_bar: (r_bar * b, r_bar * b + r_bar * t)

        return r

    return aggregate


AGGREGATES = {
    "recompute": by_recomputing,
    "save": by_saving,
    "save, and recompute": lambda: by_saving(recompute=True),
    "rule": by_rule,
    "vjp": by_vjp,
    "jvp": by_jvp,
    "region": by_region,
}


@RUNS
@pytest.mark.parametrize("form", AGGREGATES)
def test_aggregates_are_right_at_both_orders(form, run):
    aggregate = AGGREGATES[form]()
    assert tuple(map(shown, run(aggregate, second_loss=False))) == FIRST
    assert tuple(map(shown, run(aggregate))) == SECOND
    assert tuple(map(shown, run(aggregate, A2, B2))) == SECOND_2


@pytest.mark.parametrize("form", [form for form in AGGREGATES if form != "region"])
def test_aggregates_pass_the_judge(form):
    check_rule(AGGREGATES[form](), A, B)


@RUNS
def test_uses_of_the_aggregate_and_of_its_gradient_together(run):
    """The exercise: both the result and the saved t have a cotangent in the second pass."""

    def loss(my_fn):
        def both(a, b):
            r = my_fn(a, b)
            return r * r

        return both

    want = tuple(map(shown, run(loss(simple))))
    for form in AGGREGATES:
        assert tuple(map(shown, run(loss(AGGREGATES[form]())))) == want, form


def test_forward_mode_through_the_aggregates():
    want = jvp(simple, (A, B), (B, A))[1]
    for form in AGGREGATES:
        np.testing.assert_allclose(jvp(AGGREGATES[form](), (A, B), (B, A))[1], want, err_msg=form)


# ----------------------------------------------------------------------- what goes wrong there


def wrong_on_purpose():
    """`simple_variable_wrong`: the use of t in the gradient is not accounted for."""

    @primitive
    def aggregate(a, b):
        return simple(a, b)

    def forward(a, b):
        t = a + b
        return t * b, (ignore_derivatives(t), b)

    def backward(t, b, r_bar):
        return r_bar * b, r_bar * b + r_bar * t

    augmented_rule(aggregate, forward, backward)
    return aggregate


@RUNS
def test_the_wrong_aggregate_takes_asking_for(run):
    """The first gradient does not show it: only the second, where the notebook has da = None."""
    assert tuple(map(shown, run(wrong_on_purpose(), second_loss=False))) == FIRST
    da, db = run(wrong_on_purpose())
    assert shown(db) == "[1.4312 2.7896 7.8169 4.6857]"
    assert da is ZeroTangent() or not np.any(da)


def test_the_judge_names_the_wrong_aggregate():
    with pytest.raises(AssertionError, match="second order wrong"):
        check_rule(wrong_on_purpose(), A, B)
