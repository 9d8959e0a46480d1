"""Tensors that a rule looks up, written to between a call and its derivative, in any way."""

import contextlib
import functools
import itertools

import numpy as np
import pytest

from chainrules_compat import custom_jvp, custom_vjp
from chainrules_py import (
    LinearMap,
    MutationError,
    export,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import vocabulary as v
from chainrules_tape import vjp

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

X = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64)


def by_rule(cap):
    f = primitive(lambda x: x * x * cap())
    rule(f)(
        lambda x: (f(x), (LinearMap(lambda t: 2 * x * t * cap(), lambda g: 2 * x * g * cap()),))
    )
    return f


def by_scalar_rule(cap):
    f = primitive(lambda x: x * x * cap())
    scalar_rule(f, lambda y, x: 2 * x * cap())
    return f


def by_rrule(cap):
    f = primitive(lambda x: x * x * cap())
    rrule.register(f)(lambda x: (f(x), lambda g: (2 * x * g * cap(),)))
    return f


def by_frule(cap):
    f = primitive(lambda x: x * x * cap())
    frule.register(f)(lambda dots, x: (f(x), 2 * x * dots[0] * cap()))
    return f


def by_custom_vjp(cap):
    f = custom_vjp(lambda x: x * x * cap())
    f.defvjp(lambda x: (f(x), x), lambda x, g: (2 * x * g * cap(),))
    return f


def by_custom_jvp(cap):
    f = custom_jvp(lambda x: x * x * cap())
    f.defjvp(lambda primals, dots: (f(*primals), 2 * primals[0] * dots[0] * cap()))
    return f


FORMS = [by_rule, by_scalar_rule, by_rrule, by_frule, by_custom_vjp, by_custom_jvp]


def still(cap):
    return torch.nn.Parameter(cap, requires_grad=False)


HOLDERS = {
    "cell": lambda cap: lambda: cap,
    "item": lambda cap, box={}: lambda: box.setdefault(id(cap), cap),
    "part": lambda cap: lambda part=cap[1:]: part.sum(),
    "parameter": lambda cap: functools.partial(getattr, torch.nn.ParameterList([still(cap)]), "0"),
}


def _put(cap):
    cap.data = cap.data * 10


def _swap(cap):
    cap.data[[0, 1]] = cap.data[[1, 0]]


WRITES = {
    "mul_": lambda cap: cap.mul_(10),
    "detached": lambda cap: cap.detach().mul_(10),
    "data": lambda cap: cap.data.mul_(10),
    "data set": _put,
    "element of data": lambda cap: cap.data[-1].fill_(7.0),
    "elements exchanged": _swap,
    "copied into data": lambda cap: cap.data.copy_(cap.data + 1),
    "NumPy": lambda cap: np.multiply(cap.numpy(), 10, out=cap.numpy()),
    "storage": lambda cap: cap.untyped_storage().fill_(1),
    "inference": lambda cap: torch.inference_mode()(lambda: cap.mul_(10))(),
    "foreach": lambda cap: torch._foreach_mul_([cap], 10),
    "set_": lambda cap: cap.set_((cap * 10).clone()),
}


def backward(f):
    q = X.clone().requires_grad_()
    y = f(q)
    return lambda: torch.autograd.grad(y.sum(), q)


def twice(f):
    q = X.clone().requires_grad_()
    y = f(q)
    return lambda: torch.autograd.grad(y.sum(), q, create_graph=True)


def functional(f):
    y, pull = torch.func.vjp(f, X)
    return lambda: pull(torch.ones_like(y))


def on_the_tape(f):
    _, pull = vjp(f, X)
    return lambda: pull(torch.ones_like(X))


MODES = {"backward": backward, "twice": twice, "func": functional, "tape": on_the_tape}

CASES = [*itertools.product(FORMS, MODES, HOLDERS, WRITES)]


def check(form, mode, holder, write):
    cap = torch.tensor([2.0, 3.0, 5.0], dtype=torch.float64)
    f = form(HOLDERS[holder](cap))
    f = f if mode == "tape" else export(f, to="torch")
    (right,) = MODES[mode](f)()
    pull = MODES[mode](f)
    with torch.no_grad():
        WRITES[write](cap)
    with contextlib.suppress(MutationError):
        (found,) = pull()
        # What the rule holds may be another memory, or may have been used up at the call.
        torch.testing.assert_close(found, right)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", [*MODES])
def test_a_write_is_seen_or_does_not_matter(form, mode):
    of = [case for case in CASES if case[:2] == (form, mode)]
    for case in of[FORMS.index(form) + 5 * [*MODES].index(mode) :: 17]:
        check(*case)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mode", [*MODES])
def test_every_write(form, mode):
    for case in CASES:
        if case[:2] == (form, mode):
            check(*case)


@pytest.mark.parametrize("write", [*WRITES])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.complex128])
def test_each_write_is_seen_of_a_tensor_that_is_looked_up(write, dtype):
    cap = torch.tensor([2.0, 3.0, 5.0], dtype=dtype)
    if write == "NumPy" and dtype is torch.bfloat16:
        pytest.skip("NumPy has no such numbers")
    pull = backward(export(by_rule(lambda: cap.real.double()), to="torch"))
    with torch.no_grad():
        WRITES[write](cap)
    with pytest.raises(MutationError, match="was written to"):
        pull()


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


@pytest.mark.parametrize("what", ["operand", "result"])
@pytest.mark.parametrize("written", ["operand", "result", "nothing"])
def test_a_closure_holds_what_it_saw_where_saved_tensors_may_be_written_to(what, written):
    f = holding_operand() if what == "operand" else holding_result()
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        x = X.clone().requires_grad_()
        a = x * 1.0
        y = f(a)
        if written == "operand":
            a.mul_(3.0)
        z = y.mul_(3.0) if written == "result" else y
        if what == written:
            with pytest.raises(MutationError, match="holds it, where PyTorch cannot exchange it"):
                torch.autograd.grad(z.sum(), x)
        else:
            slope = torch.exp(X) * (3.0 if written == "result" else 1.0)
            torch.testing.assert_close(torch.autograd.grad(z.sum(), x)[0], slope)
