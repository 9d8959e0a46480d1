"""Functions that operations are given: what they get, and derivatives inside of dual numbers."""

from __future__ import annotations

import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.autograd import forward_ad  # noqa: E402
from torch.func import grad, hessian, jacrev, jvp, vmap  # noqa: E402

from chainrules_py import ops as v  # noqa: E402
from chainrules_torch import export  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
D = torch.float64
A = torch.tensor(0.5, dtype=D)
TIMES, ROW = torch.tensor([0.0, 0.5, 1.0], dtype=D), torch.tensor([0.1, 0.2, 0.3], dtype=D)


# ----------------------------------------------------------------- the time of `odeint`


def rate(y, t):
    """Of y' = -y sin t, that is y = y₀ exp(cos t - cos t₀); it needs tensors."""
    assert isinstance(t, torch.Tensor)
    assert t.shape == ()
    return -y * torch.sin(t)


def exact(y0, t):
    return y0 * torch.exp(torch.cos(t) - torch.cos(t[0]))


DOORS = {
    "the operation": lambda y0, t: v.odeint(rate, y0, t),
    "exported": functools.partial(export(v.odeint), rate),
    "code": export(lambda y0, t: v.odeint(rate, y0, t)),
    "bosh3": lambda y0, t: v.odeint(rate, y0, t, method="bosh3"),
}
FORMS = {
    "value": lambda f: f(A, TIMES),
    "grad by the state": lambda f: grad(lambda y: f(y, TIMES)[-1])(A),
    "grad by times": lambda f: grad(lambda t: f(A, t)[-1])(TIMES),
    "jacrev by times": lambda f: jacrev(lambda t: f(A, t))(TIMES),
    "jvp by times": lambda f: jvp(lambda t: f(A, t), (TIMES,), (ROW,))[1],
    "hessian": lambda f: hessian(lambda t: f(A, t)[-1])(TIMES)[-1, -1],
    "vmap over states": lambda f: vmap(lambda y: f(y, TIMES))(ROW),
    "vmap over times": lambda f: vmap(lambda s: f(A, TIMES * s))(1.0 + ROW),
    "vmap of grad": lambda f: vmap(grad(lambda s: f(A, TIMES * s)[-1]))(1.0 + ROW),
    "compile": lambda f: torch.compile(f, backend="aot_eager")(A, TIMES),
}


def backward(f):
    y0, t = A.clone().requires_grad_(), TIMES.clone().requires_grad_()
    return torch.autograd.grad(f(y0, t)[-1], (y0, t))


CALLS = [
    (door, form)
    for door in DOORS
    for form in [*FORMS, "backward"]
    if (form != "compile" or door in ("exported", "code"))  # what compiles is exported
    and (door != "bosh3" or form in ("value", "grad by times", "backward"))
]


@pytest.mark.parametrize("door, form", CALLS)
def test_functions_of_odeint_are_given_the_time_as_a_tensor(door, form):
    torch._dynamo.reset()
    run = FORMS.get(form, backward)
    torch.testing.assert_close(run(DOORS[door]), run(exact), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("times", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("state", [torch.float32, torch.float64, torch.complex64, torch.complex128])
def test_the_time_is_as_wide_as_the_times_and_the_state(state, times):
    seen = set()

    def noting(y, t):
        seen.add(t.dtype)
        return rate(y, t)

    y0 = torch.ones(2, dtype=state, requires_grad=True)
    y = v.odeint(noting, y0, torch.arange(3).to(times))
    y[-1].abs().sum().backward()
    wide = times == torch.float64 or state in (torch.float64, torch.complex128)
    assert seen == {torch.float64 if wide else torch.float32}
    assert y.dtype == state
    expected = exact(torch.ones((), dtype=D), torch.arange(3.0, dtype=D)).expand(2, 3).T
    torch.testing.assert_close(y.real.double(), expected, rtol=1e-3, atol=0.0)


def test_numpys_functions_are_given_a_number():
    v.odeint(lambda y, t: -y if type(t) is float else None, 1.0, np.array([0.0, 1.0]))


# ------------------------------------------------------------ numbers where operations begin

STARTS = {
    "root": lambda x, a: v.root(lambda x: torch.sin(x) - a, x),
    "root in a dict": lambda x, a: v.root(lambda x: {"u": torch.sin(x["u"]) - a}, {"u": x})["u"],
    "fixed_point": lambda x, a: v.fixed_point(lambda x: torch.cos(x) * a, x),
    "minimize": lambda x, a: v.minimize(lambda x: torch.square(x - a), x),
    "linear_solve": lambda x, a: v.linear_solve(lambda x: torch.mul(x, a), x),
    "odeint": lambda x, a: v.odeint(lambda y, _t: torch.sin(y) * a, x, TIMES),
    "scan": lambda x, a: v.scan(lambda c, u: (torch.sin(c) * a + u, torch.cos(c)), x, ROW)[1],
}


@pytest.mark.parametrize("form", ["value", "grad", "backward", "exported"])
@pytest.mark.parametrize("kind", [float, np.float64])
@pytest.mark.parametrize("operation", STARTS)
def test_operations_that_begin_with_a_number_give_functions_tensors(operation, kind, form):
    def run(x):
        f = functools.partial(STARTS[operation], x)
        if form == "backward":
            a = A.clone().requires_grad_()
            return torch.autograd.grad(f(a).sum(), a)[0]
        if form == "grad":
            return grad(lambda a: f(a).sum())(A)
        return export(f)(A) if form == "exported" else f(A)

    torch.testing.assert_close(run(kind(0.3)), run(torch.tensor(0.3, dtype=D)))


def test_whole_numbers_that_are_carried_are_counts():
    names = ["a", "b", "c"]
    count, ys = v.scan(lambda n, x: (n + 1, x * len(names[n])), 0, ROW)
    assert type(count) is int
    torch.testing.assert_close(ys, ROW)


# --------------------------------- gradients of tangents, inside of a level of dual numbers

SOLVED = {
    "root": lambda a: v.root(lambda x, a: x * x - a, torch.ones_like(a), a),
    "root, captured": lambda a: v.root(lambda x: x * x - a, torch.ones_like(a)),
    "fixed_point": lambda a: v.fixed_point(lambda x, a: 0.5 * (x + a / x), torch.ones_like(a), a),
    "minimize": lambda a: v.minimize(lambda x, a: x * x * x / 3 - a * x, torch.ones_like(a), a),
    "linear_solve": lambda a: v.linear_solve(lambda x, a: x * a, torch.ones_like(a), a),
    "odeint": lambda a: v.odeint(lambda y, _t, a: -a * y, a, TIMES, a)[-1],
}
CLOSED = {
    "linear_solve": lambda a: 1.0 / a,
    "odeint": lambda a: a * torch.exp(-a),
}


@pytest.mark.parametrize("needs", [False, True])
@pytest.mark.parametrize("door", [export, lambda f: f])
@pytest.mark.parametrize("operation", SOLVED)
def test_a_gradient_of_the_tangent_of_a_solution_in_exported_code(operation, door, needs):
    def run(f):
        a = torch.tensor(4.0, dtype=D, requires_grad=needs)
        with forward_ad.dual_level():
            y = f(forward_ad.make_dual(a, torch.ones_like(a)))
            y, t = forward_ad.unpack_dual(y)
            bars = torch.autograd.grad(t, a) if needs else ()
        return y.detach(), t.detach(), *bars

    found, due = run(door(SOLVED[operation])), run(CLOSED.get(operation, torch.sqrt))
    torch.testing.assert_close(found, due, rtol=1e-6, atol=1e-8)
