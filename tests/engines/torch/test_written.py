"""Tensors that a rule looks up, and tensors that are written to where PyTorch clones them."""

import pytest

from chainrules_py import LinearMap, export, primitive, rrule, rule
from chainrules_py import ops as v

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

X = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64)


def by_rule(cap):
    f = primitive(lambda x: x * x * cap())
    rule(f)(
        lambda x: (f(x), (LinearMap(lambda t: 2 * x * t * cap(), lambda g: 2 * x * g * cap()),))
    )
    return f


def backward(f):
    q = X.clone().requires_grad_()
    y = f(q)
    return lambda: torch.autograd.grad(y.sum(), q)


def test_memory_that_is_not_written_to_may_be_read_in_any_way():
    cap = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    with torch.inference_mode():
        inference = torch.ones(3, dtype=torch.float64)
    for held in (cap[:, 1], cap.T[1, :3], cap[0, 0].expand(3), inference, cap[0, :3].conj()):
        f = export(by_rule(lambda held=held: held), to="torch")
        (pull,) = (backward(f),)
        _ = cap.data, cap.numpy(), cap.tolist(), held.clone()
        torch.testing.assert_close(pull()[0], 2 * X * held)
    freed = torch.ones(3)
    freed.untyped_storage().resize_(0)
    pull = backward(export(by_rule(lambda: 2.0 + 0 * freed.ndim), to="torch"))
    torch.testing.assert_close(pull()[0], 4 * X)


# ----------------------------------- where PyTorch clones what it saved when that is written to


def holding_operand():
    @primitive
    def exp(x):
        return v.exp(x)

    @rrule.register(exp)
    def exp_rrule(x):
        return v.exp(x), lambda y_bar: (v.exp(x) * y_bar,)

    return export(exp, to="torch")


def holding_result():
    @primitive
    def exp(x):
        return v.exp(x)

    @rrule.register(exp)
    def exp_rrule(x):
        y = v.exp(x)
        return y, lambda y_bar: (y * y_bar,)

    return export(exp, to="torch")


@pytest.mark.parametrize(
    "what, written",
    [
        ("operand", "result"),
        ("operand", "nothing"),
        ("result", "operand"),
        ("result", "nothing"),
    ],
)
def test_a_closure_holds_what_it_saw_where_saved_tensors_may_be_written_to(what, written):
    f = holding_operand() if what == "operand" else holding_result()
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        x = X.clone().requires_grad_()
        a = x * 1.0
        y = f(a)
        if written == "operand":
            a.mul_(3.0)
        z = y.mul_(3.0) if written == "result" else y
        slope = torch.exp(X) * (3.0 if written == "result" else 1.0)
        torch.testing.assert_close(torch.autograd.grad(z.sum(), x)[0], slope)
