"""Programs in PyTorch that call exported functions: NumPy kernels, solvers, what is compiled."""

from __future__ import annotations

import collections
import functools
import importlib
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chainrules_kit import Support
from chainrules_py import (
    Array,
    LinearMap,
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    ReverseMode,
    RuleError,
    TracerError,
    ZeroTangent,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from tests.engines.rules_by_numpy import taxes

torch = pytest.importorskip("torch")
pytest.importorskip("chainrules_torch")

from functorch.compile import make_boxed_func  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch.func import grad, hessian, jvp, vjp, vmap  # noqa: E402

from chainrules_py.extend import HigherOrder, Thunk  # noqa: E402
from chainrules_torch import (  # noqa: E402
    callback,
    export,
    supports,
)

# PyTorch says this of what it calls itself.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
F64 = torch.float64
ROOT = Path(__file__).resolve().parents[3]


def leaf(*numbers):
    return torch.tensor(numbers if len(numbers) > 1 else numbers[0], dtype=F64).requires_grad_()


def same(found, expected, **tolerances):
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=found.dtype), **tolerances)


# -------------------------------------------------------------------------------- NumPy kernels


def kernel(result=lambda x: x):
    """log(1 + eˣ) and its slope, as NumPy computes them, and how often they ran."""
    ran = {"softplus": 0, "slope": 0}

    @primitive
    def slope(x):
        ran["slope"] += 1
        assert isinstance(x, np.ndarray)
        return np.asarray(1.0 / (1.0 + np.exp(-x)))

    @primitive
    def softplus(x):
        ran["softplus"] += 1
        assert isinstance(x, np.ndarray)
        return np.asarray(np.logaddexp(0.0, x))

    scalar_rule(softplus, lambda y, x: slope(x))
    scalar_rule(slope, lambda y, x: y * (1.0 - y))
    callback(softplus, result=result)
    callback(slope, result=result)
    return export(softplus), ran


def slopes(x):
    s = 1.0 / (1.0 + np.exp(-x))
    return s, s * (1 - s)


def test_a_kernel_runs_once_for_value_and_gradient():
    f, ran = kernel()
    x = leaf(0.5, -1.0)
    y = f(x)
    y.sum().backward()
    assert ran == {"softplus": 1, "slope": 1}
    same(x.grad, slopes(x.detach().numpy())[0])
    f(x.detach())
    assert ran == {"softplus": 2, "slope": 1}
    value, pull = vjp(f, x.detach())
    pull(torch.ones_like(value))
    assert ran == {"softplus": 3, "slope": 2}
    torch.func.grad_and_value(lambda x: f(x).sum())(x.detach())
    assert ran == {"softplus": 4, "slope": 3}


def test_a_kernel_runs_once_in_a_compiled_program():
    f, ran = kernel()
    x = leaf(0.5, -1.0)
    torch.compiler.reset()
    program = torch.compile(
        lambda x: torch.sin(f(2.0 * x)).sum(), fullgraph=True, backend="aot_eager"
    )
    program(x).backward()
    ran.update(softplus=0, slope=0)
    x.grad = None
    program(x).backward()
    assert ran == {"softplus": 1, "slope": 1}
    z = 2.0 * x.detach().numpy()
    same(x.grad, 2.0 * slopes(z)[0] * np.cos(np.logaddexp(0.0, z)))


def test_a_kernel_to_second_order_and_under_vmap():
    f, _ = kernel()
    x = torch.tensor([0.5, -1.0], dtype=F64)
    first, second = slopes(x.numpy())
    same(vmap(grad(f))(x), first)
    same(vmap(grad(grad(f)))(x), second)
    same(hessian(lambda x: f(x).sum())(x), np.diag(second))
    same(jvp(f, (x,), (torch.ones_like(x),))[1], first)
    z = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(f(z).sum(), z, create_graph=True)
    same(torch.autograd.grad(g.sum(), z)[0], second)


def test_what_a_compiler_is_not_told_is_tried():
    f, _ = kernel(result=None)
    x = torch.tensor([0.5, -1.0], dtype=F64)
    torch.compiler.reset()
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    same(compiled(x), np.logaddexp(0.0, x.numpy()))
    assert supports(f.function, x) == Support(True, True, True, True, np.inf)


def test_callback_is_of_a_function_with_a_body():
    with pytest.raises(RuleError, match="callback"):
        callback(np.sin)


# --------------------------------------------------------------------------- functions of functions


def test_a_solution_depends_on_what_was_captured():
    a, one = leaf(8.0, 27.0), torch.ones(2, dtype=F64)
    f = export(v.root)
    solution = lambda a: f(lambda x: x * x * x - a, one)
    same(torch.autograd.grad(solution(a).sum(), a)[0], [1 / 12, 1 / 27])
    point = a.detach()
    same(grad(lambda a: solution(a).sum())(point), [1 / 12, 1 / 27])
    same(jvp(solution, (point,), (one,))[1], [1 / 12, 1 / 27])
    second = np.diag(-2 / 9 * point.numpy() ** (-5 / 3))
    same(hessian(lambda a: solution(a).sum())(point), second)
    same(vmap(grad(lambda a: f(lambda x: x * x * x - a, one[0])))(point), [1 / 12, 1 / 27])


@pytest.mark.parametrize("name", ["root", "minimize"])
def test_a_pullback_that_outlives_its_transformation(name):
    """It is called when the level at which values were recorded is over, within another one."""
    f, one = export(getattr(v, name)), torch.ones(2, dtype=F64)
    functions = {"root": lambda x, a: x * x - a, "minimize": lambda x, a: v.sum(x**3 / 3.0 - a * x)}

    def pulled(a):
        return vjp(lambda a: f(functions[name], one, a), a)[1](one)[0].sum()

    a = torch.tensor([4.0, 9.0], dtype=F64)
    same(pulled(a), 1 / 4 + 1 / 6)
    same(grad(pulled)(a), -0.25 * a.numpy() ** -1.5)


HIDDEN: dict[str, Any] = {}


class Hiding:
    """Keeps a tensor where nobody looks."""

    def __call__(self, x, b):
        return x * x - HIDDEN["a"] * b


def test_what_is_hidden_is_an_error_and_not_lost():
    HIDDEN["a"] = leaf(4.0)
    one = torch.ones((), dtype=F64)
    with pytest.raises(NotDifferentiableError, match="pass the tensor as a parameter"):
        export(v.root)(Hiding(), one, one)
    with pytest.raises(NotDifferentiableError, match="pass the tensor as a parameter"):
        export(v.root)(Hiding(), one, leaf(1.0))
    with pytest.raises(NotDifferentiableError, match="pass the tensor as a parameter"):
        export(v.root)(lambda x, b: x * x - HIDDEN["a"] * b, one, leaf(1.0))


def test_an_ode_in_its_start_parameters_and_times():
    f = export(v.odeint)

    def at(y0, t, k):
        return f(lambda y, t, k: -k * y, y0, t, k)[-1]

    y0, t, k = leaf(2.0), leaf(0.0, 0.7), leaf(1.5)
    bars = torch.autograd.grad(at(y0, t, k), (y0, t, k), create_graph=True)
    decay = np.exp(-1.5 * 0.7)
    same(bars[0].detach(), decay, rtol=1e-6, atol=1e-6)
    same(bars[1].detach(), [3.0 * decay, -3.0 * decay], rtol=1e-6, atol=1e-6)
    same(bars[2].detach(), -1.4 * decay, rtol=1e-6, atol=1e-6)
    same(torch.autograd.grad(bars[2], k)[0], 0.98 * decay, rtol=1e-5, atol=1e-5)


def test_a_whole_number_in_one_branch_keeps_the_gradient_of_a_compiled_program():
    torch.compiler.reset()
    exported = export(taxes())
    net = lambda x: x - exported(x)
    x = torch.tensor(7.0, dtype=torch.float64, requires_grad=True)
    y = torch.compile(net, fullgraph=True, backend="aot_eager")(x)
    same(y.detach(), 5.2)
    same(torch.autograd.grad(y, x)[0], 0.7)


def test_a_compiled_program_refuses_a_dtype_that_is_not_the_promised_one():
    branching = primitive(lambda x: np.emath.sqrt(x))
    callback(branching)
    torch.compiler.reset()
    compiled = torch.compile(export(branching), fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match=r"gave complex128.*of float64"):
        compiled(torch.tensor([4.0, -4.0], dtype=torch.float64))


def test_what_solves_in_a_compiled_program():
    f = export(functools.partial(v.root, lambda x, a: x * x * x - a))
    a, one = leaf(8.0, 27.0), torch.ones(2, dtype=F64)
    torch.compiler.reset()
    torch.compile(lambda a: f(one, 1.0 * a).sum(), fullgraph=True, backend="aot_eager")(
        a
    ).backward()
    same(a.grad, [1 / 12, 1 / 27])
    g = export(v.root)
    with pytest.raises(Exception, match="export one that has it already"):
        torch.compile(lambda a: g(lambda x: x - a, one), fullgraph=True)(a)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
def test_a_function_captures_inputs_of_what_is_compiled_around_it():
    root, a, w, one = export(v.root), leaf(8.0, 27.0), leaf(2.0), torch.ones(2, dtype=F64)

    def solved(a, w):
        return root(lambda x: x * x * x - w * a, one).sum()

    want = torch.autograd.grad(solved(a, w), (a, w))
    torch.compiler.reset()
    found = torch.autograd.grad(torch.compile(solved, backend="aot_eager")(a, w), (a, w))
    for bar, expected in zip(found, want, strict=True):
        same(bar, expected)
    torch.compiler.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="given a function or an object"):
        torch.compile(solved, backend="aot_eager", fullgraph=True)(a, w)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")
@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace the builtin:UserWarning")
@pytest.mark.filterwarnings("ignore:Pickle, copy, and deepcopy support:DeprecationWarning")
def test_a_rule_that_captures_an_input_of_what_is_compiled_is_refused():
    def declared(x, w):
        scaled = primitive(lambda z: z * w)
        scalar_rule(scaled, lambda _y, _z: w)
        return export(scaled)(x).sum()

    x, w = leaf(1.0, 2.0), leaf(3.0)
    torch.compiler.reset()
    compiled = torch.compile(declared, backend="aot_eager")
    with pytest.raises(TracerError, match=r"depends on w .* pass it as an operand"):
        compiled(x, w)
    torch.compiler.reset()
    same(torch.autograd.grad(compiled(x, w.detach()), x)[0], [3.0, 3.0])
    torch.compiler.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"write f = primitive\(f\) before it"):
        torch.compile(declared, backend="aot_eager", fullgraph=True)(x, w)


# ------------------------------------------------------------------------------ compiled programs


def operations(f, xs):
    """How often each operation that computes stands in the graphs of a program and its gradient."""
    found = collections.Counter()

    def count(graph, _):
        names = [getattr(n.target, "__name__", "").partition(".")[0] for n in graph.graph.nodes]
        found.update(name for name in names if name in COMPUTES)
        return make_boxed_func(graph.forward)

    torch.compiler.reset()
    backend = aot_autograd(fw_compiler=count, bw_compiler=count)
    program = torch.compile(lambda *xs: torch.tanh(f(*xs)).sum(), fullgraph=True, backend=backend)
    program(*xs).backward()
    return found


COMPUTES = {
    "sin", "cos", "mm", "mul", "add", "linalg_cholesky_ex", "linalg_solve_triangular", "tanh",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*Function'> should not be instantiated:DeprecationWarning")
@pytest.mark.parametrize("case", ["scalar_rule", "matmul", "cholesky"])
def test_a_compiled_program_computes_what_one_by_hand_does(case):
    """As many products and calls of LAPACK: what the rule costs is gone."""
    sys.path.insert(0, str(ROOT))
    try:
        bench = importlib.import_module("benchmarks.bench_torch")
    finally:
        sys.path.remove(str(ROOT))
    ours, by_hand = [operations(f, bench.inputs(case)) for f in bench.CASES[case]]
    assert ours == by_hand
    assert sum(ours.values()) >= 3


def ours_called(step):
    """Count the functions of this project that a step calls."""
    found = []

    def note(frame, event, _):
        if event == "call" and "chainrules" in frame.f_globals.get("__name__", ""):
            found.append(frame.f_code.co_qualname)

    for _ in range(3):
        step()
    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(None)
    return found


@primitive
def wave(x):
    return torch.sin(x)


scalar_rule(wave, lambda _y, x: torch.cos(x))


@primitive
def blend(x, y):
    return x * y + x


@rule(blend)
def blend_rule(x, y):
    return blend(x, y), (
        LinearMap(lambda t, y: t * (y + 1.0), lambda z, y: z * (y + 1.0), y),
        LinearMap(lambda t, x: t * x, lambda z, x: z * x, x),
    )


@pytest.mark.parametrize("exported, most", [(wave, 6), (blend, 17)])
def test_an_eager_call_has_a_short_way(exported, most):
    """What costs is what is called between PyTorch and the rule: no more than this."""
    n = len(exported.operands)
    f, xs = export(exported), [leaf(1.0, 2.0) for _ in range(n)]
    bar = torch.ones(2, dtype=F64)
    found = ours_called(lambda: torch.autograd.grad(f(*xs), xs, bar))
    assert len(found) <= most, found


HALVES = {
    "an operand": lambda x, y, z: LinearMap(None, lambda b, y: b * y, y),
    "a constant beside it": lambda x, y, z: LinearMap(None, lambda b, c, y: b * y * c, 1.0, y),
    "a constant after it": lambda x, y, z: LinearMap(None, lambda b, y, c: b * y * c, y, 1.0),
    "the result": lambda x, y, z: LinearMap(None, lambda b, z, x: b * z / x, z, x),
    "something computed": lambda x, y, z: LinearMap(None, lambda b, w: b * w, y * 1.0),
    "a closure": lambda x, y, z: LinearMap(None, lambda b: b * y),
    "a default": lambda x, y, z: LinearMap(None, lambda b, y=y: b * y),
    "something wider": lambda x, y, z: LinearMap(None, lambda b, y: (b * y)[None] + 0j, y),
    "a thunk": lambda x, y, z: LinearMap(None, lambda b, y: Thunk(lambda: b * y), y),
}
"""Maps of x in x y, by what they save and give."""


PAIRS = [(one, other) for one in HALVES for other in (*HALVES, "nothing")]


@pytest.mark.parametrize("one, other", PAIRS[::8])
def test_some_maps(one, other):
    check_maps(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("one, other", PAIRS)
def test_maps_of_all_kinds(one, other):
    check_maps(one, other)


def check_maps(one, other):
    """Of the two operands, each may leave the short way, in both engines and to second order."""
    f = primitive(lambda x, y: x * y)

    @rule(f)
    def f_rule(x, y):
        z = f(x, y)
        second = ZeroTangent() if other == "nothing" else HALVES[other](y, x, z)
        return z, (HALVES[one](x, y, z), second)

    g = export(f)
    x, y = leaf(2.0, 3.0), leaf(5.0, 7.0)
    zeros = torch.zeros(2, dtype=F64)
    for _ in range(2):
        for bars in (
            torch.autograd.grad(g(x, y).sum(), (x, y)),
            torch.func.grad(lambda x, y: g(x, y).sum(), (0, 1))(x.detach(), y.detach()),
        ):
            same(bars[0], y)
            same(bars[1], zeros if other == "nothing" else x)
        same(torch.autograd.grad(g(x, y.detach()).sum(), x)[0], y)
    if other != "nothing":  # or z, which the pull may use, does not depend on y either
        (first,) = torch.autograd.grad(g(x, y).sum(), x, create_graph=True)
        same(torch.autograd.grad(first.sum(), y)[0], torch.ones_like(y))


def test_numbers_that_vary_from_call_to_call():
    """From the second one on the compiler has a symbol for them, and no rule took it."""
    f = export(v.multiply)
    torch.compiler.reset()
    program = torch.compile(lambda x, c: f(x, c).sum(), fullgraph=True, backend="aot_eager")
    x = leaf(1.0, 2.0)
    for c in (2.0, 3.0, -1.5, 4, 5):
        same(torch.autograd.grad(program(x, c), x)[0], [c, c])


def test_a_program_compiled_for_all_shapes():
    f = export(v.multiply)
    torch.compiler.reset()
    program = torch.compile(
        lambda x, y: f(x, y).sum(), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    for n in (2, 3, 5):
        x, y = torch.ones(n, dtype=F64, requires_grad=True), torch.arange(1.0 * n, dtype=F64)
        program(x, y).backward()
        same(x.grad, y)


# ------------------------------------------------------- forward mode, and what is around a call


@pytest.mark.parametrize("operation", [v.sin, v.multiply])
@pytest.mark.parametrize("outer", [lambda f: lambda x: jvp(f, (x,), (x,))[1], hessian])
def test_forward_mode_is_compiled(operation, outer):
    g = export(operation)
    f = g if operation is v.sin else lambda x: g(x, 2 * x)
    x = torch.tensor(0.5, dtype=F64)
    torch._dynamo.reset()
    found = torch.compile(outer(f), backend="aot_eager")(x)
    same(found, outer(f)(x))
    assert torch.func.jvp(torch.sin, (x,), (x,))[1] > 0.0  # no level of dual numbers was left open


def test_a_refusal_is_ours_in_what_is_compiled():
    w = torch.tensor(3.0, requires_grad=True)

    @primitive
    def scaled(x):
        return w * x

    scalar_rule(scaled, lambda y, x: w)
    f, x = export(scaled), torch.tensor(2.0, requires_grad=True)
    torch._dynamo.reset()
    with pytest.raises(TracerError, match="scaled depends on w"):
        torch.compile(lambda x: 2 * f(x), backend="aot_eager")(x)
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match="scaled depends on w"):
        torch.compile(lambda x: 2 * f(x), backend="aot_eager", fullgraph=True)(x)


class Attributes:
    """An object with one attribute."""

    def __init__(self, w):
        self.w = w


class Slots:
    """An object without a dict."""

    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w


OBJECTS = {
    "attributes": Attributes(2.0),
    "slots": Slots(2.0),
    "function": lambda: 2.0,
    "namespace": types.SimpleNamespace(w=2.0),
    "within a list": [Attributes(2.0)],
}


def weighted(h, x):
    while isinstance(h, list):
        h = h[0]
    return (h() if callable(h) else h.w) * x * x


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # of its compiler
@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("option", [False, True])
def test_objects_in_what_is_compiled(name, option):
    held, times = OBJECTS[name], lambda t, slope: t * slope
    slope = lambda h, x: 2.0 * weighted(h, x) / x
    if option:

        @primitive
        def f(x, *, h):
            return weighted(h, x)

        @rule(f)
        def _(x, *, h):
            return f(x, h=h), (LinearMap(times, times, slope(h, x)),)

        program = lambda ours: lambda x: ours(1.0 * x, h=held) * 1.0
    else:

        @primitive
        def f(h, x):
            return weighted(h, x)

        @rule(f, types=(object, Array))
        def _(h, x):
            return f(h, x), (NoTangent(), LinearMap(times, times, slope(h, x)))

        program = lambda ours: lambda x: ours(held, 1.0 * x) * 1.0

    ours, x = export(f), leaf(3.0)
    torch._dynamo.reset()
    compiled = torch.compile(program(ours), backend="eager")
    same(torch.autograd.grad(compiled(x).sum(), x)[0], leaf(12.0))
    torch._dynamo.reset()
    whole = torch.compile(program(ours), backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="given a function or an object"):
        whole(x)


def _product():
    @primitive
    def product(x, y):
        return x @ y

    @rule(product)
    def product_rule(x, y):
        return product(x, y), (
            LinearMap(lambda t, y: t @ y, lambda b, y: b @ y.mT, y),
            LinearMap(lambda t, x: x @ t, lambda b, x: x.mT @ b, x),
        )

    return product


@pytest.mark.parametrize("code", [False, True])
def test_a_rule_computes_in_its_own_dtypes_where_pytorch_casts(code):
    product = _product()
    f = export((lambda x, y: product(x, y)) if code else product)
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = f(a, a)
    found = torch.autograd.grad(y.sum(), a)
    same(found[0], torch.autograd.grad((a @ a).sum(), a)[0])


@pytest.mark.parametrize("operation", [v.matmul, v.add, v.multiply])
def test_nothing_in_exported_code_is_cast_and_operations_promote(operation):
    own = {v.matmul: torch.matmul, v.add: torch.add, v.multiply: torch.mul}[operation]
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert export(lambda x, y: own(x, y))(a, a).dtype is torch.float32
        for f in (export(operation), export(lambda x, y: operation(x, y))):
            same(f(a, a.bfloat16()), own(a.double(), a.double()).float())
    with pytest.raises(RuntimeError, match="same dtype"), torch.autocast("cpu", torch.bfloat16):
        export(lambda x, y: x @ y)(a, a.bfloat16())


def test_a_module_that_a_rule_takes_hides_no_parameter():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.tensor(3.0))

        @primitive
        def body(self, x):
            return self.w * x * x

    times = lambda t, c: t * c

    @rule(Layer.body, types=(Layer, torch.Tensor))
    def body_rule(layer, x):
        return Layer.body(layer, x), (NoTangent(), LinearMap(times, times, 2 * layer.w * x))

    layer, x, f = Layer(), torch.tensor(2.0, requires_grad=True), export(Layer.body)
    with pytest.raises(NoRuleError, match=r"no rrule for Layer.body"):
        f(layer, x)
    layer.w.requires_grad_(False)
    assert torch.autograd.grad(f(layer, x), x)[0] == 12.0


def test_a_pullback_of_functions_is_pushed_forward_by_its_transpose():
    @HigherOrder
    def each(f, x):
        return f(x)

    @rrule.register(each, requires=ReverseMode)
    def each_rrule(config, f: object, x):
        return config.rrule_via_ad(lambda f, t: f(t), f, x)

    g = export(lambda q: each(lambda t: v.sin(t) * q, q))
    x = torch.tensor([0.3, -0.5, 1.0], dtype=F64)
    same(jvp(g, (x,), (torch.ones_like(x),))[1], torch.sin(x) + x * torch.cos(x))
    same(hessian(lambda q: g(q).sum())(x).diagonal(), 2 * torch.cos(x) - x * torch.sin(x))


def test_special_functions_of_scipy_draw_nothing():
    special = pytest.importorskip("scipy.special")

    @primitive
    def lambert(x):
        return special.lambertw(x).real

    scalar_rule(lambert, lambda y, x: v.exp(-y) / (1.0 + y))
    x = torch.tensor(0.5, dtype=F64)
    compiled = torch.compile(grad(export(lambert)), backend="aot_eager")
    same(
        compiled(x),
        torch.tensor(1.0 / (np.exp(special.lambertw(0.5).real) * (1 + special.lambertw(0.5).real))),
    )


def capturing(where):
    """Make w sin x, or sin x, whose code, body or rule captured a tensor as a constant."""
    w = torch.tensor([1.5, -2.0], dtype=F64)
    f = primitive((lambda x: w * v.sin(x)) if where == "body" else lambda x: v.sin(x))
    if where == "closure":
        rrule.register(f)(lambda x: (v.sin(x), lambda b: (b * (w / w) * v.cos(x),)))
    else:
        factor = {"body": lambda: w, "rule": lambda: w / w}.get(where, lambda: 1.0)
        scalar_rule(f, lambda _y, x: factor() * v.cos(x))
    return (lambda x: w * f(x)) if where == "code" else f, w if where in ("body", "code") else 1.0


@pytest.mark.parametrize("where", ["code", "body", "rule", "closure"])
def test_a_tensor_that_is_captured_in_what_is_compiled(where):
    """It is no input of the program: the call stays outside, or is refused where it may not."""
    f, factor = capturing(where)
    f = export(f)
    x = leaf(0.3, -0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = torch.compile(lambda x: 2.0 * f(x), backend="aot_eager")(x)
        (bar,) = torch.autograd.grad(y.sum(), x)
        torch.testing.assert_close(y, 2.0 * factor * torch.sin(x))
        torch.testing.assert_close(bar, (2.0 * factor * torch.cos(x)).detach())
        whole = torch.compile(lambda x: 2.0 * f(x), backend="aot_eager", fullgraph=True)
        with pytest.raises(Exception, match=r"captured a tensor.*make it an operand"):
            whole(x)
