"""What holds of exported functions in PyTorch beside the battery: calls, modes, memory, errors."""

from __future__ import annotations

import copy
import dataclasses
import functools
import gc
import math
import pickle
import re
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import chainrules_tape
from chainrules_kit import Support
from chainrules_kit.custom_derivatives import custom_vjp
from chainrules_py import (
    LinearMap,
    MutationError,
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    RuleError,
    Tangent,
    UnsupportedKeywordError,
    ZeroTangent,
    explain,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import export as export_to
from chainrules_py import ops as v
from chainrules_py.tangents.zeros import is_zero
from chainrules_py.testing import check_rule
from chainrules_py.testing.samples.decompositions import eigenspaces
from tests.engines.battery import CONSTANT, ONE_MODE, only_forward, only_reverse

torch = pytest.importorskip("torch")
pytest.importorskip("chainrules_torch")

from torch.autograd import forward_ad  # noqa: E402
from torch.autograd.function import once_differentiable  # noqa: E402
from torch.func import grad, hessian, jacrev, jvp, vmap  # noqa: E402

from chainrules_torch import (  # noqa: E402
    callback,
    export,
    import_rule,
    supports,
)

# PyTorch says this of what it calls itself.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
F64 = torch.float64


def leaf(*numbers, dtype=F64):
    return torch.tensor(numbers if len(numbers) > 1 else numbers[0], dtype=dtype).requires_grad_()


def same(found, expected, **tolerances):
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=found.dtype), **tolerances)


# -------------------------------------------------------------------------------------- calls


def test_the_core_exports_by_name():
    f = export_to(v.sin, to=["torch"])["torch"]
    x = leaf(0.5)
    f(x).backward()
    same(x.grad, np.cos(0.5))


@primitive
def quotient(x, y):
    return x / y


scalar_rule(quotient, lambda z, x, y: 1.0 / y, lambda z, x, y: -z / y)


def test_operands_and_options_are_given_as_to_the_function():
    x, f = leaf(1.0, 2.0), export(quotient)
    for call in (lambda: f(x, 4.0), lambda: f(x=x, y=4.0), lambda: f(x, y=4.0)):
        same(torch.autograd.grad(call().sum(), x)[0], [0.25, 0.25])
    total = export(np.sum)
    m = torch.arange(6.0, dtype=F64).reshape(2, 3).requires_grad_()
    assert total(m, axis=1, keepdims=True).shape == (2, 1)
    same(torch.autograd.grad(total(m, axis=0)[1], m)[0], [[0.0, 1.0, 0.0]] * 2)
    with pytest.raises(UnsupportedKeywordError, match="out"):
        total(m, out=m)


@primitive
def scaled_by(x, /, *, c):
    return x * c[0] + math.copysign(1, c[0])


def test_options_that_are_equal_are_compared_by_their_bits():
    f, x = export(scaled_by), torch.tensor([1, 2])
    for c in ((1,), (1.0,), (0.0,), (-0.0,), (True,)):
        torch.testing.assert_close(f(x, c=c), x * c[0] + math.copysign(1, c[0]))


def test_a_method_of_a_class_is_exported():
    @dataclasses.dataclass
    class Scale:
        factor: Any

        @primitive
        def __call__(self, x):
            return self.factor * x

    @rule(Scale.__call__, types=(Scale, object))
    def scale_rule(self, x):
        return self(x), (
            LinearMap(
                lambda t, x: t.factor * x,
                lambda bar, x: Tangent[Scale](factor=v.sum(x * bar)),
                x,
            ),
            LinearMap(lambda t, c: c * t, lambda bar, c: c * bar, self.factor),
        )

    factor, x = leaf(3.0), leaf(1.0, 2.0)
    y = export(Scale(factor))(x)
    bars = torch.autograd.grad(y.sum(), (factor, x))
    same(bars[0], 3.0)
    same(bars[1], [3.0, 3.0])


class Line(NamedTuple):
    slope: Any
    height: Any


@primitive
def on_line(line, x, name=None):
    return Line(line["at"].slope * x, line["at"].height + x)


@rule(on_line, types=(dict, object, object))
def on_line_rule(line, x, name=None):
    def pull_line(bar, x):
        slope, height = (0.0 if is_zero(part) else part for part in bar)
        return Tangent[dict](
            at=Tangent[Line](slope=v.sum(slope * x), height=v.sum(height + 0.0 * x))
        )

    def pull_x(bar, slope):
        return slope * bar.slope + bar.height

    return on_line(line, x, name), (
        LinearMap(lambda t, x: (t["at"].slope * x, t["at"].height + 0.0 * x), pull_line, x),
        LinearMap(lambda t, slope: (slope * t, t), pull_x, line["at"].slope),
        NoTangent(),
    )


@pytest.mark.parametrize("unused", ["slope", "height", None])
def test_structures_in_and_out_and_text(unused):
    slope, height, x = leaf(3.0), leaf(0.5), leaf(1.0, 2.0)
    y = export(on_line)({"at": Line(slope, height), "name": "a"}, x, "text")
    assert type(y) is Line
    used = [part.sum() for name, part in zip(Line._fields, y, strict=True) if name != unused]
    bars = torch.autograd.grad(sum(used), (slope, height, x))
    same(bars[0], 0.0 if unused == "slope" else 3.0)
    same(bars[1], 0.0 if unused == "height" else 2.0)
    same(bars[2], {"slope": [1.0, 1.0], "height": [3.0, 3.0], None: [4.0, 4.0]}[unused])


def test_integers_in_and_out():
    x, places = leaf(1.0, 2.0, 3.0), torch.tensor([2, 0, 2])
    (bar,) = torch.autograd.grad(export(v.take)(x, places).sum(), x)
    same(bar, [1.0, 0.0, 2.0])
    sign, logarithm = export(v.slogdet)(2.0 * torch.eye(2, dtype=F64).requires_grad_())
    assert not sign.requires_grad or torch.autograd.grad(sign, x, allow_unused=True)[0] is None
    m, n = export(v.frexp)(x)
    assert n.dtype is torch.int32
    assert not n.requires_grad
    same(torch.autograd.grad(m.sum(), x)[0], [0.5, 0.25, 0.25])
    assert export(v.argmax)(x).item() == 2
    assert logarithm.requires_grad


@pytest.mark.parametrize("wanted", [(True, False), (False, True), (True, True)])
def test_only_the_halves_run_that_are_asked_for(wanted):
    ran = []

    @primitive
    def product(x, y):
        return x * y

    @rule(product)
    def product_rule(x, y):
        def pull(name):
            return lambda bar, other: ran.append(name) or bar * other

        return product(x, y), (
            LinearMap(lambda t, y: t * y, pull("x"), y),
            LinearMap(lambda t, x: t * x, pull("y"), x),
        )

    xs = [torch.tensor(3.0, requires_grad=w) for w in wanted]
    export(product)(*xs).backward()
    assert ran == [name for name, w in zip("xy", wanted, strict=True) if w]


def test_zeros_both_ways():
    x = leaf(0.4, 1.6)
    f = export(CONSTANT.f)
    y = f(x)
    assert torch.autograd.grad(f(x).sum() + x.sum(), x)[0].tolist() == [1.0, 1.0]
    assert y.tolist() == [0.0, 1.0]
    assert jvp(f, (x.detach(),), (torch.ones_like(x),))[1].tolist() == [0.0, 0.0]
    assert grad(lambda x: f(x).sum())(x.detach()).tolist() == [0.0, 0.0]
    # A cotangent that is missing, in a call of which another result was used.
    _, r = export(v.qr)(torch.eye(2, dtype=F64).requires_grad_())
    r.sum().backward()


def test_a_pullback_of_nothing_gives_nothing():
    """As PyTorch calls it where all cotangents are missing; the rule of eigh knows no such call."""
    a = torch.diag(torch.tensor([1.0, 3.0], dtype=F64)).requires_grad_()
    y = [torch._C._functions.UndefinedGrad()(part) for part in export(v.eigh)(a)]
    ones = [torch.ones_like(part) for part in y]
    assert torch.autograd.grad(y, a, ones, allow_unused=True) == (None,)


# ---------------------------------------------------------------------------- numbers and dtypes


@pytest.mark.parametrize("name", ["abs", "exp", "sqrt", "real", "imag", "conj", "square"])
def test_complex_gradients_are_those_of_pytorch(name):
    z = torch.tensor([0.5 + 1.2j, -0.3 - 0.7j], dtype=torch.complex128, requires_grad=True)
    loss = [f(z) for f in (export(getattr(v, name)), getattr(torch, name))]
    weights = torch.tensor([1.5 - 0.5j, 0.3 + 2.0j])
    bars = [torch.autograd.grad((y * weights).real.sum(), z)[0] for y in loss]
    torch.testing.assert_close(*bars)


def test_a_real_operand_has_a_real_cotangent():
    x = leaf(1.0, 2.0)
    z = torch.tensor([1.0 + 2.0j, 3.0 - 1.0j], requires_grad=True)
    y = export(v.multiply)(x, z)
    bars = torch.autograd.grad(y.real.sum() + y.imag.sum(), (x, z))
    assert bars[0].dtype is F64
    same(bars[0], [3.0, 2.0])
    assert bars[1].dtype is torch.complex64


def test_single_precision_stays_and_broadcasting_is_undone():
    @primitive
    def shifted(x, y):
        return x + y

    @rule(shifted)
    def shifted_rule(x, y):
        wide = lambda bar: bar.to(F64) * 1.0
        return shifted(x, y), (LinearMap(wide, wide), LinearMap(wide, wide))

    x, y = leaf(1.0, 2.0, dtype=torch.float32), leaf(3.0, dtype=torch.float32)
    bars = torch.autograd.grad(export(shifted)(x, y).sum(), (x, y))
    assert [bar.dtype for bar in bars] == [torch.float32] * 2
    assert [bar.shape for bar in bars] == [(2,), ()]
    dot = jvp(export(shifted), (x.detach(), y.detach()), (torch.ones(2), torch.ones(())))[1]
    assert dot.dtype is torch.float32


# ----------------------------------------------------------------- rules are never lost, any order


def ten_times(f=lambda x: x * x):
    g = primitive(f)
    scalar_rule(g, lambda y, x: 20.0 * x)
    return g


def test_a_rule_is_not_lost_at_second_order():
    """It says ten times as much as PyTorch would find out."""
    f = export(ten_times())
    x = leaf(3.0)
    (first,) = torch.autograd.grad(f(x), x, create_graph=True)
    same(first.detach(), 60.0)
    same(torch.autograd.grad(first, x)[0], 20.0)
    point = x.detach()
    for second in (grad(grad(f)), hessian(f), jacrev(jacrev(f))):
        same(second(point), 20.0)
    along = lambda x: jvp(f, (x,), (torch.ones_like(x),))[1]
    same(grad(along)(point), 20.0)
    same(along(point), 60.0)


def test_a_rule_within_another_is_not_lost():
    inner, outer = ten_times(), primitive(lambda x: v.sin(x))
    scalar_rule(outer, lambda y, x: inner(x))
    x = leaf(3.0)
    (first,) = torch.autograd.grad(export(outer)(x), x, create_graph=True)
    same(torch.autograd.grad(first, x)[0], 60.0)
    same(grad(grad(export(outer)))(x.detach()), 60.0)


def test_a_rule_in_code_is_found():
    inner = ten_times()
    f = export(lambda x, w: v.sum(inner(x) * w))
    x, w = leaf(1.0, 2.0), leaf(1.0, 3.0)
    bars = torch.autograd.grad(f(x, w), (x, w))
    same(bars[0], [20.0, 120.0])
    same(bars[1], [1.0, 4.0])
    same(vmap(grad(f), (0, None))(torch.ones(2, 2, dtype=F64), w.detach()), [[20.0, 60.0]] * 2)


def test_what_a_rule_computed_unwatched_is_computed_again():
    """The derivative of a saved intermediate would be missing from the second derivative."""

    @primitive
    def logistic(x):
        return 1.0 / (1.0 + v.exp(-x))

    ran = []

    @rule(logistic)
    def logistic_rule(x):
        ran.append(1)
        s = 1.0 / (1.0 + v.exp(-x))
        slope = s * (1.0 - s)
        return s, (LinearMap(lambda t, slope: t * slope, lambda bar, slope: bar * slope, slope),)

    x = leaf(0.3)
    f = export(logistic)
    f(x).backward()
    assert len(ran) == 1
    s = torch.sigmoid(x.detach())
    (first,) = torch.autograd.grad(f(x), x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    same(second.detach(), s * (1 - s) * (1 - 2 * s))
    same(third, s * (1 - s) * (1 - 6 * s + 6 * s * s))


@pytest.mark.parametrize("constructor", ["rule", "rrule"])
def test_what_a_half_keeps_in_its_defaults_is_computed_again(constructor):
    """It was taken for a function that keeps nothing, and the slope for a constant."""
    cube = primitive(lambda x: x * x * x)

    def maps(x):
        slope = 3.0 * x * x
        half = lambda t, slope=slope: slope * t
        return x * x * x, (LinearMap(half, half),)

    def written_out(x):
        slope = 3.0 * x * x
        return x * x * x, lambda bar, slope=slope: (slope * bar,)

    (rule(cube) if constructor == "rule" else rrule.register(cube))(
        maps if constructor == "rule" else written_out
    )
    x = leaf(0.5, 2.0)
    (first,) = torch.autograd.grad(export(cube)(x).sum(), x, create_graph=True)
    same(torch.autograd.grad(first.sum(), x)[0], 6.0 * x.detach())


# --------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize(
    "f", [lambda x: export(np.add)(x, 1.0), export(np.positive), export(np.transpose)]
)
def test_a_tangent_that_a_rule_returns_as_it_is_is_a_copy(f):
    x, x_dot = torch.ones(2, 2), torch.ones(2, 2)
    jvp(f, (x,), (x_dot,))[1].mul_(3.0)
    with forward_ad.dual_level():
        forward_ad.unpack_dual(f(forward_ad.make_dual(x, x_dot))).tangent.mul_(3.0)
    same(x_dot, np.ones((2, 2)))


def saves_intermediates():
    f = primitive(lambda x: v.sin(x))

    @rule(f)
    def f_rule(x):
        c = v.cos(x)
        return v.sin(x), (LinearMap(lambda t, c: t * c, lambda bar, c: bar * c, c),)

    return f


@pytest.mark.parametrize(
    "f", [v.sin, v.exp, v.sort, saves_intermediates()], ids=["input", "output", "rule", "else"]
)
def test_a_saved_tensor_that_was_written_to_is_an_error(f):
    x = leaf(0.5, -0.2)
    given = x * 1.0
    y = export(f)(given)
    (y if f is v.exp else given).mul_(2.0)
    if f is v.exp or f is v.sin:
        with pytest.raises(MutationError, match="modified in place"):
            y.sum().backward()
    else:  # nothing was saved that was written to, unless the rule is run again
        with pytest.raises(MutationError, match="modified in place"):
            torch.autograd.grad(y.sum(), x, create_graph=True)


def test_saved_tensors_go_through_pytorch():
    """Its hooks see them, and the memory is freed after a pass."""
    x, seen = leaf(0.5, -0.2), []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        y = export(v.multiply)(x, x)
    assert len(seen) == 2
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


@pytest.mark.parametrize("f", [v.exp, v.sort, v.qr, saves_intermediates()])
def test_a_result_is_freed_with_its_last_name(f):
    gc.collect()
    gc.disable()
    try:
        y = export(f)(torch.eye(3, dtype=F64).requires_grad_())
        held = weakref.ref(y if isinstance(y, torch.Tensor) else y[0])
        del y
        assert held() is None
    finally:
        gc.enable()


def test_modules_that_have_one_are_copied():
    module = torch.nn.Module()
    module.f, module.w = export(np.sin), torch.nn.Parameter(torch.ones(2))
    again = pickle.loads(pickle.dumps(copy.deepcopy(module)))
    again.f(again.w).sum().backward()
    same(again.w.grad, np.cos([1.0, 1.0]))


def test_checkpointed_programs():
    f = export(saves_intermediates())
    x = leaf(0.5)
    y = torch.utils.checkpoint.checkpoint(lambda x: f(f(x)), x, use_reentrant=False)
    y.backward()
    same(x.grad, np.cos(0.5) * np.cos(np.sin(0.5)))


# ----------------------------------------------------------------------------- what is missing


def test_a_missing_mode_is_the_transpose_of_the_other():
    x = torch.tensor([1.0, 2.0], dtype=F64)
    reverse, forward = export(only_reverse), export(only_forward)
    same(grad(lambda x: reverse(x).sum())(x), [2.0, 4.0])
    same(jvp(forward, (x,), (torch.ones_like(x),))[1], [2.0, 4.0])
    same(jvp(reverse, (x,), (torch.ones_like(x),))[1], [2.0, 4.0])
    with forward_ad.dual_level():
        y = reverse(forward_ad.make_dual(x, torch.ones_like(x)))
        same(forward_ad.unpack_dual(y).tangent, [2.0, 4.0])
    same(grad(lambda x: forward(x).sum())(x), [2.0, 4.0])
    forward(x.requires_grad_()).sum().backward()
    same(x.grad, [2.0, 4.0])
    assert set(ONE_MODE) == {"reverse", "forward"}


def test_without_a_rule_nothing_is_lost():
    @primitive
    def opaque(x):
        return np.logaddexp(0.0, x)

    callback(opaque)
    x = leaf(0.5)
    assert export(opaque)(x.detach()).item() == pytest.approx(np.logaddexp(0.0, 0.5))
    for f in (export(opaque), export(lambda x: 2.0 * opaque(x))):
        with pytest.raises(NoRuleError, match="opaque"):
            f(x)
        with pytest.raises(NoRuleError, match="opaque"):
            grad(f)(x.detach())
        with pytest.raises(NoRuleError, match="opaque"):
            jvp(f, (x.detach(),), (torch.ones((), dtype=F64),))


def test_what_cannot_be_called_is_refused():
    with pytest.raises(NoRuleError, match="cannot be called"):
        export(3.0)(leaf(1.0))


def test_a_module_with_a_function_that_was_made_in_one_is_copied():
    def made():
        f = primitive(lambda x: v.sin(x))
        scalar_rule(f, lambda y, x: v.cos(x))
        return f

    class Waves(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.f = export(made())
            self.plain = made()
            self.w = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return self.f(self.w * x).sum()

    module = Waves()
    again = copy.deepcopy(module)
    assert again.plain is module.plain
    again(torch.ones(2)).backward()
    torch.testing.assert_close(again.w.grad, torch.cos(torch.ones(2)))
    assert module.w.grad is None


# ------------------------------------------------------------------------------------ the reverse


def test_an_imported_function_on_the_tape():
    lgamma = import_rule(torch.lgamma)
    x = np.array([1.5, 2.5])
    second = chainrules_tape.grad(
        lambda x: np.sum(chainrules_tape.grad(lambda x: np.sum(lgamma(x)))(x))
    )
    np.testing.assert_allclose(second(x), torch.polygamma(1, torch.tensor(x)).numpy())
    y, y_dot = frule((np.ones(2),), lgamma, x)
    assert type(y) is np.ndarray
    assert type(lgamma(np.float64(2.5))) is np.float64
    assert type(chainrules_tape.grad(lgamma)(np.float64(2.5))) is np.float64
    np.testing.assert_allclose(y_dot, torch.digamma(torch.tensor(x)).numpy())


@pytest.mark.parametrize("code", ["<f8", ">f8", ">f4", ">c16", ">i4"])
def test_arrays_of_another_byte_order_are_entered(code):
    x = np.array([1.0, 2.0]).astype(code)
    np.testing.assert_array_equal(import_rule(torch.square)(x), x * x)
    np.testing.assert_array_equal(export(v.multiply)(torch.ones(2), x).numpy(), x)
    if x.dtype.kind == "f":
        slope = chainrules_tape.grad(lambda x: np.sum(import_rule(torch.square)(x)))(x)
        np.testing.assert_array_equal(slope, 2.0 * x)


def test_an_imported_function_shares_memory():
    seen = []
    f = import_rule(lambda x: seen.append(x.data_ptr()) or x * x)
    x = np.ones(3)
    f(x)
    assert seen == [x.ctypes.data]


def test_an_imported_rule_says_whence_it_is_and_gives_way():
    with pytest.raises(RuleError, match="leave out to="):
        import_rule(torch.sin, to=v.sin)

    @primitive
    def mine(x):
        return x * x

    import_rule(torch.square, to=mine)
    assert "import_rule of PyTorch for (object) (engine)" in repr(explain(mine, np.ones(2)))
    assert rrule(mine, np.array([3.0]))[1](np.ones(1))[0].tolist() == [6.0]
    scalar_rule(mine, lambda y, x: 20.0 * x)
    assert rrule(mine, np.array([3.0]))[1](np.ones(1))[0].tolist() == [60.0]


def replaced(x):
    return torch.lgamma(x) * 2


def test_what_is_imported_is_pickled_under_the_name_of_its_function(monkeypatch):
    imported = import_rule(replaced)
    monkeypatch.setitem(globals(), "replaced", imported)
    assert pickle.loads(pickle.dumps(imported)) is imported


def test_a_function_of_a_dict_is_refused_by_a_plain_call():
    x, f = np.array([0.4, 1.1]), lambda p: torch.sin(p["a"]) * p["b"]
    with pytest.raises(NotDifferentiableError) as raised:
        import_rule(f)({"a": x, "b": 2.0})
    mended = import_rule(eval(str(raised.value).partition(", as ")[2], {"f": f}))
    slope = chainrules_tape.grad(lambda x: np.sum(mended(x, 2.0)))(x)
    np.testing.assert_allclose(slope, 2.0 * np.cos(x))


def test_a_fixed_array_is_an_operand_by_name():
    x, w, times = np.array([0.4, 1.1]), np.array([2.0, -3.0]), import_rule(lambda x, w: x * w)
    np.testing.assert_array_equal(chainrules_tape.grad(lambda x: np.sum(times(x, w=w)))(x), w)


def test_an_imported_function_of_several_operands():
    polar = import_rule(lambda x, y: (torch.hypot(x, y), torch.atan2(y, x), torch.sign(x).int()))
    x, y = np.array([1.0, 2.0]), np.array([0.5, -1.0])
    (r, angle, sign), pullback = rrule(polar, x, y)
    assert sign.dtype == np.int32
    bars = pullback((np.ones(2), np.zeros(2), NoTangent()))
    np.testing.assert_allclose(bars, [x / r, y / r])
    dots = frule((np.ones(2), ZeroTangent()), polar, x, y)[1]
    np.testing.assert_allclose([dots[0], dots[1]], [x / r, -y / r**2])
    assert angle.shape == (2,)


@pytest.mark.parametrize(
    "beside",
    [3, True, 2.5, 1j, None, "text", np.float64(2.0), np.ones(2), [1, {"n": 2.0}]],
    ids=repr,
)
def test_an_imported_function_gives_more_than_tensors(beside):
    f = import_rule(lambda x: {"y": x.sin(), "n": beside, "shape": x.shape}, operands=1)
    exported = export(f)
    x = torch.tensor([0.3, 0.7])
    leaf = x.clone().requires_grad_()
    slopes = [
        torch.autograd.grad(exported(leaf)["y"].sum(), leaf)[0],
        grad(lambda x: exported(x)["y"].sum())(x),
        jvp(lambda x: exported(x)["y"], (x,), (torch.ones(2),))[1],
        torch.tensor(chainrules_tape.grad(lambda x: np.sum(f(x)["y"]))(x.numpy())),
    ]
    for slope in slopes:
        torch.testing.assert_close(slope, x.cos())


def test_an_imported_function_without_a_mode_or_an_order():
    """PyTorch has the second derivative of this one since 2.14, and no forward mode."""
    cdist = import_rule(torch.cdist)
    x, y = np.random.default_rng(0).standard_normal((2, 3, 2))
    total = lambda x: np.sum(cdist(x, y) ** 2)
    slope = 6 * x - 2 * y.sum(0)
    np.testing.assert_allclose(chainrules_tape.grad(total)(x), slope)
    hessian = lambda x: chainrules_tape.hessian(total)(x).reshape(6, 6)
    if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 14):
        np.testing.assert_allclose(hessian(x), 6 * np.eye(6), atol=1e-12)
    else:
        with pytest.raises(NotDifferentiableError, match="PyTorch does not differentiate"):
            hessian(x)
    with pytest.raises(NotDifferentiableError, match="PyTorch does not differentiate"):
        chainrules_tape.jvp(total, (x,), (x,))


def test_a_second_derivative_that_pytorch_lacks_is_refused():
    attend = torch.nn.functional.scaled_dot_product_attention
    f = import_rule(lambda x: attend(x, 2 * x, 3 * x), operands=1)
    x = np.random.default_rng(0).standard_normal((1, 1, 3, 4))
    total = lambda x: np.sum(np.sin(f(x)))
    assert chainrules_tape.grad(total)(x).shape == x.shape
    with pytest.raises(NotDifferentiableError, match=r"(?s)PyTorch does not.*is not implemented"):
        chainrules_tape.hvp(total, (x,), (x,))


def test_an_imported_function_that_differentiates_by_autograd():
    def slope(x):
        x = x.detach().requires_grad_()
        return torch.autograd.grad((x**3).sum(), x)[0]

    by_autograd = import_rule(slope)
    np.testing.assert_allclose(by_autograd(np.ones(2)), [3.0, 3.0])
    with pytest.raises(
        NotDifferentiableError, match=r"write torch\.func\.grad for torch\.autograd"
    ):
        chainrules_tape.grad(lambda x: np.sum(by_autograd(x)))(np.ones(2))
    by_func = import_rule(torch.func.grad(lambda x: (x**3).sum()), operands=1)
    np.testing.assert_allclose(chainrules_tape.grad(lambda x: np.sum(by_func(x)))(np.ones(2)), 6.0)


class Product(torch.autograd.Function):
    """x³c², with its first derivatives, as before setup_context."""

    @staticmethod
    def forward(ctx, x, c):
        ctx.save_for_backward(x, c)
        return x**3 * c**2

    @staticmethod
    def backward(ctx, bar):
        x, c = ctx.saved_tensors
        return 3 * x**2 * c**2 * bar, 2 * x**3 * c * bar


class Once(Product):
    backward = staticmethod(once_differentiable(Product.backward))


@pytest.mark.parametrize("more", [lambda x, c: 0, lambda x, c: x**2 + 0 * c])
def test_an_imported_autograd_function_without_setup_context(more):
    x, c = np.array([1.3, 0.7]), np.array([0.5, 2.0])
    of = import_rule(lambda x, c: Product.apply(x, c) + more(x, c))
    slope, push = chainrules_tape.grad, chainrules_tape.jvp
    each = lambda f: (
        slope(lambda c: f(x, c))(c),
        push(f, (x, c), (c, x))[1],
        chainrules_tape.hessian(lambda x: f(x, c))(x),
        slope(lambda c: np.sum(slope(lambda x: f(x, c))(x)))(c),
        slope(lambda c: push(lambda x: f(x, c), (x,), (x,))[1])(c),
    )
    plain = each(lambda x, c: np.sum(x**3 * c**2 + more(x, c)))
    for have, want in zip(each(lambda x, c: np.sum(of(x, c))), plain, strict=True):
        np.testing.assert_allclose(have, want)
    given = slope(lambda x: of(x, torch.ones(2)).sum())(torch.ones(2))
    assert not given.requires_grad


def test_an_imported_function_that_is_differentiable_once():
    """Twice, PyTorch's graph would give zeros."""
    x = np.array([1.3, 0.7])
    once = import_rule(lambda x: Once.apply(x, torch.ones_like(x)) + x)
    slope = chainrules_tape.grad(lambda x: np.sum(once(x)))
    np.testing.assert_allclose(slope(x), 3 * x**2 + 1)
    for of in (lambda x: np.sum(slope(x)), lambda x: chainrules_tape.jvp(once, (x,), (x,))):
        with pytest.raises(NotDifferentiableError, match="is marked @once_differentiable"):
            chainrules_tape.grad(of)(x)


def test_an_imported_function_with_a_derivative_in_one_operand_alone():
    zeta = import_rule(torch.special.zeta)
    slope = chainrules_tape.grad(lambda q: zeta(np.array(3.0), q))(np.array(2.0))
    at = torch.tensor([2.0 + 1e-5, 2.0 - 1e-5], dtype=torch.float64)
    above, below = torch.special.zeta(3.0, at).tolist()
    np.testing.assert_allclose(slope, (above - below) / 2e-5, rtol=1e-8)
    with pytest.raises(NotDifferentiableError, match=r"import_rule\(special_zeta\)"):
        chainrules_tape.grad(lambda x: zeta(x, np.array(2.0)))(np.array(3.0))


def test_an_imported_function_as_an_oracle():
    svdvals = import_rule(torch.linalg.svdvals)
    a = np.random.default_rng(0).standard_normal((3, 2))
    ours = rrule(v.svdvals, a)[1](np.array([1.0, 2.0]))
    np.testing.assert_allclose(rrule(svdvals, a)[1](np.array([1.0, 2.0]))[0], ours[0], atol=1e-12)


# ------------------------------------------------------------------------------ tensors as arrays


def test_rules_on_tensors():
    x = torch.tensor([0.5, 1.0])
    y, pullback = rrule(v.sin, x)
    torch.testing.assert_close(y, torch.sin(x))
    torch.testing.assert_close(pullback(torch.ones(2))[0], torch.cos(x))
    torch.testing.assert_close(frule((torch.ones(2),), v.sin, x)[1], torch.cos(x))
    hvp = chainrules_tape.grad(lambda x: v.sum(chainrules_tape.grad(lambda x: v.sum(x * x * x))(x)))
    torch.testing.assert_close(hvp(x), 6.0 * x)


PLACES, FIRST = torch.tensor([1, 2, 0]), torch.tensor(1)


@pytest.mark.parametrize(
    "where",
    [
        (0, slice(None), PLACES),
        (slice(None), 0, slice(None), PLACES),
        (slice(None), FIRST, slice(None), PLACES),
        (0, ..., [1, 2, 0]),
        (0, slice(None), None, PLACES),
        (0, PLACES, slice(None), PLACES),
        (slice(None), PLACES, slice(None), 0),
    ],
)
def test_an_integer_beside_an_array_in_an_index_is_none_as_in_pytorch(where):
    x = torch.arange(120.0, dtype=torch.float64).reshape(2, 3, 4, 5) / 60
    f = lambda x: x[where] ** 2

    def written(x):
        y = x * 1.0
        y[where] = x[where] * 3.0
        return y.square()

    for each in (f, written):
        truth = x.clone().requires_grad_()
        want = each(truth)
        bar = torch.arange(want.numel(), dtype=x.dtype).reshape(want.shape)
        y, pull = chainrules_tape.vjp(each, x)
        torch.testing.assert_close(y, want.detach())
        torch.testing.assert_close(pull(bar)[0], torch.autograd.grad(want, truth, bar)[0])
        due = torch.func.jvp(each, (x,), (x,))[1]
        torch.testing.assert_close(chainrules_tape.jvp(each, (x,), (x,))[1], due)


def test_views_of_tensors_on_the_tape():
    """Sizes are methods in PyTorch: writing to a part, and to a view, once failed over that."""

    def loss(x):
        y = 2.0 * x
        y[0] = x[1] * x[2]
        part = y[1:]
        part[0] = x[0]
        return v.sum(y * y)

    x = torch.tensor([1.0, 2.0, 3.0], dtype=F64)
    same(chainrules_tape.grad(loss)(x), [2.0, 36.0, 48.0])
    picked = chainrules_tape.grad(lambda x: x[0] * x[0] + v.sum(x[1:] * x[:2]))
    second = chainrules_tape.grad(lambda x: v.sum(picked(x) * x))
    same(second(x), [8.0, 8.0, 4.0])


def test_numbers_beside_conditions_keep_their_digits():
    condition = torch.tensor([True, False])
    y = v.where(condition, 0.1, 2)
    assert y.dtype is F64
    assert y.tolist() == [0.1, 2.0]


def test_least_squares_of_lesser_rank():
    """NumPy gives no squares; where the rank is hidden, as under vmap, they are no number."""
    a = torch.tensor([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]], dtype=F64)
    b = torch.tensor([1.0, 2.0, 3.0], dtype=F64)
    assert v.lstsq(a, b)[1].shape == (0,)
    full = a + torch.eye(3, 2, dtype=F64)
    squares = vmap(lambda a: v.lstsq(a, b)[1])(torch.stack([a, full]))
    assert squares[0].isnan().all()
    same(squares[1], v.lstsq(full, b)[1])


def test_the_judge_takes_another_phase_in_single_precision():
    """It took the gauge of the double one, and found a rule wrong that is right."""
    x = torch.tensor(
        [[0.0589, 4.7122, 0.4224], [-4.7382, 0.5236, 0.5399], [-0.1819, 0.5990, 9.4515]], dtype=F64
    )
    check_rule(v.eig, x, gauge=eigenspaces, checks=("float32",))


# ------------------------------------------------------------------------------------- support


def test_supports():
    x = torch.ones(3, dtype=F64)
    everything = supports(v.sin, x)
    assert everything == Support(grad=True, jvp=True, vmap=True, jit=True, order=np.inf)
    one = supports(only_reverse, x)
    assert (one.grad, one.jvp) == (True, True)
    assert supports(CONSTANT.f, x).order == 0
    unstated = custom_vjp(lambda x: x)
    assert not supports(unstated, x).grad
    assert supports(v.sin) == supports(np.sin) == everything


def test_without_a_rule_the_body_is_differentiated():
    twice = ten_times()
    f = export(primitive(lambda x: 2.0 * twice(x)))
    assert grad(f)(torch.tensor(3.0)).item() == 120.0
    (bar,) = torch.autograd.grad(f(x := leaf(3.0)), x)
    same(bar, 120.0)
    with pytest.raises(NoRuleError):
        export(custom_vjp(lambda x: x))(x)


@pytest.mark.parametrize("q", [[20, 60], np.array([20, 60]), 20])
@pytest.mark.parametrize("f", [np.percentile, np.nanpercentile])
def test_percentiles_at_whole_numbers_have_all_digits(f, q):
    """20 / 100 of whole tensors is in single precision."""
    x = np.array([0.1, 0.7, 0.3, 0.9, 0.45])
    loss = lambda x: np.sum(f(x, q) ** 2)
    found = chainrules_tape.value_and_grad(loss)(torch.tensor(x))
    for have, want in zip(found, chainrules_tape.value_and_grad(loss)(x), strict=True):
        np.testing.assert_allclose(have.numpy(), want, rtol=1e-15)


def test_an_imported_function_that_draws_is_refused():
    """The pull drew other numbers than the value."""
    dropout = import_rule(torch.nn.functional.dropout)
    with pytest.raises(NotDifferentiableError, match="draws random numbers"):
        chainrules_tape.grad(lambda x: torch.sum(dropout(x)))(torch.ones(8))
    still = chainrules_tape.grad(lambda x: torch.sum(dropout(x, 0.5, False)))(torch.ones(3))
    assert still.tolist() == [1.0] * 3


def test_a_number_that_an_imported_function_takes_plain_stays_one():
    """Its pull made tensors of all numbers, which ``elu`` and ``normalize`` do not take."""
    elu, x = import_rule(torch.nn.functional.elu), -torch.rand(3)
    slope = chainrules_tape.grad(lambda x: torch.sum(elu(x, 0.7)))(x)
    torch.testing.assert_close(slope, 0.7 * torch.exp(x))
    with pytest.raises(NotDifferentiableError, match="takes a plain number"):
        chainrules_tape.grad(lambda a: torch.sum(elu(x, a)))(0.7)
    unit, t = import_rule(torch.nn.functional.normalize), torch.rand(2, 3, requires_grad=True)
    known = torch.autograd.grad(torch.nn.functional.normalize(t, dim=1).sum(), t)
    torch.testing.assert_close(torch.autograd.grad(unit(t, dim=1).sum(), t), known)


def test_options_of_an_imported_function_are_bound_as_its_message_says():
    norm, x = import_rule(torch.linalg.norm), torch.tensor([[0.6, -0.8], [3.0, 4.0]])
    line = "import_rule(functools.partial(torch.linalg.norm, dim=1))"
    with pytest.raises(TypeError, match=re.escape(line)):
        norm(x, dim=1)
    bound = eval(line, {"import_rule": import_rule, "functools": functools, "torch": torch})
    slope = chainrules_tape.grad(lambda x: torch.sum(bound(x)))(x)
    torch.testing.assert_close(slope, torch.tensor([[0.6, -0.8], [0.6, 0.8]]))
