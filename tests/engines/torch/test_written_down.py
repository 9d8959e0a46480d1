"""Programs that PyTorch writes down, by `torch.export` and `make_fx`, of functions with a rule."""

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import LinearMap, NoTangent, export, frule, primitive, rrule, rule, scalar_rule
from chainrules_py import ops as v

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

X = torch.tensor([0.5, -0.3, 1.2], dtype=torch.float64)


def plain():
    @primitive
    def f(x):
        return v.sin(x)

    return f


def by_scalar_rule():
    f = plain()
    scalar_rule(f, lambda y, x: 3.0 * v.cos(x))
    return f


def by_rule():
    f, times = plain(), lambda t, slope: slope * t
    rule(f)(lambda x: (f(x), (LinearMap(times, times, 3.0 * v.cos(x)),)))
    return f


def by_rrule():
    f = plain()
    rrule.register(f)(lambda x: (f(x), lambda y_bar: (3.0 * v.cos(x) * y_bar,)))
    return f


def by_frule():
    f = plain()
    frule.register(f)(lambda ts, x: (f(x), 3.0 * v.cos(x) * ts[0]))
    return f


def by_augmented():
    f = plain()
    augmented_rule(f, lambda x: (f(x), (x,)), lambda x, y_bar: (3.0 * v.cos(x) * y_bar,))
    return f


def by_vjp():
    f = custom_vjp(lambda x: v.sin(x))
    f.defvjp(lambda x: (f(x), x), lambda x, y_bar: (3.0 * v.cos(x) * y_bar,))
    return f


def by_jvp():
    f = custom_jvp(lambda x: v.sin(x))
    f.defjvp(lambda xs, ts: (f(*xs), 3.0 * v.cos(*xs) * ts[0]))
    return f


def by_jvps():
    f = custom_jvp(lambda x: v.sin(x))
    f.defjvps(lambda t, y, x: 3.0 * v.cos(x) * t)
    return f


FORMS = (
    by_scalar_rule, by_rule, by_rrule, by_frule, by_augmented, by_vjp, by_jvp, by_jvps,
)  # fmt: skip


class Module(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f
        self.w = torch.nn.Parameter(torch.tensor(2.0, dtype=torch.float64))

    def forward(self, x):
        return self.f(self.w * x)


@pytest.mark.parametrize("strict", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", FORMS)
def test_a_module_is_exported_where_gradients_are_enabled(form, strict):
    program = torch.export.export(Module(export(form(), to="torch")), (X,), strict=strict)
    torch.testing.assert_close(program.module()(X), torch.sin(2.0 * X))


@pytest.mark.parametrize("form", FORMS)
def test_a_gradient_that_is_written_down_is_the_rule_s(form):
    f = export(form(), to="torch")
    leaf = X.clone().requires_grad_()
    backward = lambda x: torch.autograd.grad(f(x).sum(), x)[0]
    for slope, x in ((backward, leaf), (torch.func.grad(lambda x: f(x).sum()), X)):
        written = make_fx(slope)(x)
        for at in (x, 2.0 * x.detach()):
            torch.testing.assert_close(written(at).detach(), 3.0 * torch.cos(at.detach()))
    np.testing.assert_allclose(make_fx(f)(leaf)(2.0 * X).detach(), np.sin(2.0 * X))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_what_numpy_computes_is_written_down_as_an_operation(mode):
    @primitive
    def f(x, n):
        return np.sin(x) * np.cumsum(n)

    rule_of = lambda x, n: (f(x, n), lambda y_bar: (np.cos(x) * np.cumsum(n) * y_bar, NoTangent()))
    rrule.register(f)(rule_of)
    exported, n = export(f, to="torch"), torch.tensor([1, 2, 3])
    slope = torch.func.grad(lambda x, n: exported(x, n).sum())
    for call, of in ((exported, np.sin), (slope, np.cos), (torch.vmap(slope, (0, None)), np.cos)):
        x = torch.stack([X, X]) if call is not exported and call is not slope else X
        written = make_fx(call, tracing_mode=mode)(x, n)
        np.testing.assert_allclose(written(2 * x, 2 * n), of(2 * x.numpy()) * np.array([2, 6, 12]))
