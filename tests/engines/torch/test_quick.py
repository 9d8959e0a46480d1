"""The short way of eager calls, which a second call takes: it gives what the first does."""

from __future__ import annotations

import warnings

import pytest

from chainrules_py import (
    MutationError,
    ProjectionError,
    ZeroTangent,
    export,
    primitive,
    scalar_rule,
)
from chainrules_py import ops as v

torch = pytest.importorskip("torch")
F32, F64 = torch.float32, torch.float64

PARTIALS = {
    "of the operand": lambda _y, x: v.cos(x),
    "of the result": lambda y, _x: v.sqrt(1.0 - y * y),
    "of both": lambda y, x: v.cos(x) + 0.0 * y,
    "in torch": lambda _y, x: torch.cos(x),
    "wider": lambda _y, x: torch.cos(x.double()),
    "narrower": lambda _y, x: torch.cos(x).float(),
    "a view": lambda _y, x: torch.cos(x).expand(3, *x.shape)[1],
}
"""Partials of the sine, between -1 and 1."""
MAKES = {
    "double": lambda: torch.tensor([0.3, -0.7], dtype=F64),
    "single": lambda: torch.tensor([0.3, -0.7], dtype=F32),
    "bfloat16": lambda: torch.tensor([0.3, -0.7], dtype=torch.bfloat16),
    "half": lambda: torch.tensor([0.3, -0.7], dtype=torch.float16),
    "expanded": lambda: torch.tensor(0.3, dtype=F64).expand(4),
    "strided": lambda: torch.tensor([[0.3, 0.1], [-0.7, 0.2]], dtype=F64).mT[0],
    "empty": lambda: torch.zeros(0, dtype=F64),
    "no axes": lambda: torch.tensor(0.3, dtype=F64),
    "parameter": lambda: torch.nn.Parameter(torch.tensor([0.3, -0.7], dtype=F64)),
}


def sine(partial):
    @primitive
    def wave(x):
        return torch.sin(x)

    scalar_rule(wave, partial)
    return export(wave, to="torch")


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("name", PARTIALS)
def test_each_call_gives_what_pytorch_gives(name, make):
    f = sine(PARTIALS[name])
    for _ in range(3):
        x = MAKES[make]()
        x = x if x.requires_grad else x.requires_grad_()
        (bar,) = torch.autograd.grad(torch.sin(x).sum(), x)
        y = f(x)
        (ours,) = torch.autograd.grad(y.sum(), x)
        assert (y.dtype, ours.dtype, ours.shape) == (x.dtype, x.dtype, x.shape)
        near = {F64: 1e-6, F32: 1e-5}.get(x.dtype, 2e-2)
        torch.testing.assert_close(ours, bar, atol=near, rtol=near)


def test_dtypes_take_turns():
    f = sine(lambda _y, x: torch.cos(x))
    for dtype in (F64, F32, torch.float16, F32, F64, torch.bfloat16, F64, torch.bfloat16):
        x = torch.tensor([0.3, -0.7]).to(dtype).requires_grad_()
        (ours,) = torch.autograd.grad(f(x).sum(), x)
        assert ours.dtype is dtype
        torch.testing.assert_close(ours.double(), torch.cos(x.double()), atol=1e-2, rtol=1e-2)


def test_a_higher_derivative_is_of_the_rule():
    f = sine(lambda _y, x: 3.0 * v.cos(x))  # told apart from PyTorch's own sine
    for _ in range(3):
        x = torch.tensor([0.3, -0.7], dtype=F64, requires_grad=True)
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        torch.testing.assert_close(g, 3.0 * torch.cos(x))
        torch.testing.assert_close(h, -3.0 * torch.sin(x))


@pytest.mark.parametrize(
    "partial, error",
    [
        (lambda _y, x: torch.ones(2, 2, dtype=F64) * x, ProjectionError),
        (lambda _y, x: torch.cos(x) + 1j, ProjectionError),
        (lambda _y, x: "cos" + str(x.ndim), ProjectionError),
    ],
    ids=["too many", "complex", "text"],
)
def test_what_is_no_partial_is_refused_each_time(partial, error):
    f = sine(partial)
    for _ in range(3):
        x = torch.tensor([0.3, -0.7], dtype=F64, requires_grad=True)
        y = f(x)
        with pytest.raises(error):
            torch.autograd.grad(y.sum(), x)


def test_partials_that_give_another_thing_each_time():
    gives = (torch.full((2,), 2.0, dtype=F64), 2.0, torch.tensor(2.0), 2, ZeroTangent())
    now = []
    f = sine(lambda _y, x: now[-1] if x.ndim else None)
    for given, expected in zip(gives, (2.0, 2.0, 2.0, 2.0, 0.0), strict=True):
        now.append(given)
        x = torch.tensor([0.3, -0.7], dtype=F64, requires_grad=True)
        (ours,) = torch.autograd.grad(f(x).sum(), x)
        assert ours.tolist() == [expected] * 2


def test_values_that_are_another_thing_each_time():
    gives = [lambda x: x.sin(), lambda x: x.sin().float(), lambda x: v.sin(x).detach().numpy()]
    ran = []

    @primitive
    def wave(x):
        ran.append(1)
        return gives[len(ran) % 3](x.detach())

    scalar_rule(wave, lambda _y, x: torch.cos(x))
    f = export(wave, to="torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(7):
            x = torch.tensor([0.3, -0.7], dtype=F64, requires_grad=True)
            y = f(x)
            (ours,) = torch.autograd.grad(y.sum(), x)
            torch.testing.assert_close(ours, torch.cos(x), atol=1e-6, rtol=1e-6)
            torch.testing.assert_close(y.double(), torch.sin(x), atol=1e-6, rtol=1e-6)


def test_what_is_written_to_in_place_is_refused_each_time():
    f = sine(lambda _y, x: torch.cos(x))
    for _ in range(3):
        x = torch.tensor([0.3, -0.7], dtype=F64, requires_grad=True)
        z = 2.0 * x
        y = f(z)
        z.mul_(2.0)
        with pytest.raises(MutationError, match=r"clone\(\)"):
            torch.autograd.grad(y.sum(), x)
        with pytest.raises(MutationError, match=r"clone\(\)"):
            torch.autograd.grad(y.sum(), x, create_graph=True)


def test_a_partial_that_leaves_pytorch_in_few_digits():
    """NumPy has no bfloat16: the second call must not take the way of other dtypes."""
    f = sine(lambda _y, x: torch.as_tensor(v.cos(x.detach().numpy())))
    for dtype in (F32, F32, torch.bfloat16, torch.bfloat16, F32):
        x = torch.tensor([0.3, -0.7]).to(dtype).requires_grad_()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (ours,) = torch.autograd.grad(f(x).sum(), x)
        torch.testing.assert_close(ours.float(), torch.cos(x).float(), atol=1e-2, rtol=1e-2)


def test_tensors_without_elements_and_subclasses():
    class Named(torch.Tensor):
        pass

    f = sine(lambda _y, x: torch.cos(x))
    for _ in range(3):
        x = torch.empty(2, dtype=F64, device="meta", requires_grad=True)
        (ours,) = torch.autograd.grad(f(x).sum(), x)
        assert ours.is_meta
        x = torch.tensor([0.3], dtype=F64).as_subclass(Named).requires_grad_()
        (ours,) = torch.autograd.grad(f(x).sum(), x)
        torch.testing.assert_close(torch.Tensor(ours), torch.cos(torch.tensor([0.3], dtype=F64)))


def guards(f, *xs):
    """Count what a compiled program asks at each call."""
    compiled = torch.compile(f, backend="eager", fullgraph=True)
    compiled(*xs)
    entries = torch._dynamo.eval_frame._debug_get_cache_entry_list(f.__code__)
    return len(str(entries[0].guard_manager).splitlines())


def test_a_compiled_program_asks_no_more_than_of_one_by_hand():
    class ByHand(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return torch.sin(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, y_bar):
            return y_bar * torch.cos(*ctx.saved_tensors)

    f, g = sine(lambda _y, x: torch.cos(x)), ByHand.apply
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's compiler makes one of its own
        by_hand = guards(lambda x: torch.tanh(g(x)), x)
    assert guards(lambda x: torch.tanh(f(x)), x) <= by_hand
