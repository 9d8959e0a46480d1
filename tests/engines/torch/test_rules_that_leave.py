"""Halves of rules that compute with NumPy, or ask for numbers: constructors x ways to ask x doors.

A first derivative is right at every door, and one that is asked of the half itself is refused.
"""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.autograd import forward_ad  # noqa: E402

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp  # noqa: E402
from chainrules_py import (  # noqa: E402
    LinearMap,
    NotDifferentiableError,
    frule,
    ignore_derivatives,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v  # noqa: E402
from chainrules_torch import export, supports  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad:UserWarning"),
    pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning"),
]
func, grad_of = torch.func, torch.autograd.grad


def _numbers(x):
    return np.asarray(x)


ASKS = {
    "ufunc": np.exp,
    "array": lambda x: float(np.exp(_numbers(x))),
    "item": lambda x: math.exp(x.item() if hasattr(x, "item") else x),
    "float": lambda x: math.exp(float(x)),
    "list": lambda x: math.exp(x.tolist() if hasattr(x, "tolist") else x),
    "branch": lambda x: v.exp(x) if x > 0.0 else 1.0 * v.exp(x),
}


def by_scalar_rule(exp):
    f = primitive(lambda x: v.exp(x))
    scalar_rule(f, lambda _y, x: exp(x))
    return f


def by_rule(exp):
    f = primitive(lambda x: exp(x))

    @rule(f)
    def f_rule(x):
        y = exp(x)
        return y, (LinearMap(lambda t, y: t * y, lambda b, y: b * y, y),)

    return f


def by_rrule(exp):
    f = primitive(lambda x: exp(x))
    rrule.register(f)(lambda x: (f(x), lambda bar: (bar * exp(x),)))
    return f


def by_frule(exp):
    f = primitive(lambda x: exp(x))
    frule.register(f)(lambda ts, x: (f(x), ts[0] * exp(x)))
    return f


def by_custom_vjp(exp):
    f = custom_vjp(lambda x: exp(x))
    f.defvjp(lambda x: ((y := exp(x)), y), lambda y, bar: (bar * y,))
    return f


def by_custom_jvp(exp):
    f = custom_jvp(lambda x: exp(x))
    f.defjvp(lambda xs, ts: (f(*xs), exp(xs[0]) * ts[0]))
    return f


def by_augmented_rule(exp):
    f = primitive(lambda x: exp(x))
    augmented_rule(f, lambda x: (exp(x), (x,)), lambda x, b: (b * exp(x),), recompute=True)
    return f


CONSTRUCTORS = (
    by_scalar_rule, by_rule, by_rrule, by_frule, by_custom_vjp, by_custom_jvp, by_augmented_rule,
)  # fmt: skip


def backward(f, x):
    x = x.clone().requires_grad_()
    return grad_of(f(x).sum(), x)[0]


def dual(f, x):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(f(forward_ad.make_dual(x, torch.ones_like(x)))).tangent


def compiled(f, x):
    torch._dynamo.reset()
    return backward(torch.compile(f, backend="aot_eager", fullgraph=True), x)


def compiled_grad(f, x):
    torch._dynamo.reset()
    return torch.compile(func.grad(lambda x: f(x).sum()), backend="aot_eager")(x)


def pushed(f, x):
    return func.jvp(f, (x,), (torch.ones_like(x),))[1]


def diagonal(jacobian):
    return jacobian.diagonal() if jacobian.ndim else jacobian


FIRST = {
    "backward": backward,
    "dual": dual,
    "grad": lambda f, x: func.grad(lambda x: f(x).sum())(x),
    "jvp": pushed,
    "jacrev": lambda f, x: diagonal(func.jacrev(f)(x)),
    "jacfwd": lambda f, x: diagonal(func.jacfwd(f)(x)),
    "vmap of grad": lambda f, x: func.vmap(func.grad(f))(x.reshape(-1)).reshape(x.shape),
    "vmap of jvp": lambda f, x: func.vmap(lambda x: pushed(f, x))(x.reshape(-1)).reshape(x.shape),
    "compile": compiled,
    "compile of grad": compiled_grad,
}


def double(f, x):
    x = x.clone().requires_grad_()
    (bar,) = grad_of((f(x) + x * x).sum(), x, create_graph=True)
    return grad_of(bar.sum(), x)[0] - 2.0


def grad_inside(f, x):
    """The same, by two ways of PyTorch's at once."""
    total = lambda x: grad_of((f(x) + x * x).sum(), x, create_graph=True)[0].sum()
    return func.grad(total)(x) - 2.0


def dual_of_grad(f, x):
    with forward_ad.dual_level():
        x = forward_ad.make_dual(x.clone().requires_grad_(), torch.ones_like(x))
        (bar,) = grad_of((f(x) + x * x).sum(), x, create_graph=True)
        return forward_ad.unpack_dual(bar).tangent - 2.0


SECOND = {
    "double": double,
    "grad inside of grad": grad_inside,
    "dual of grad": dual_of_grad,
    "grad of grad": lambda f, x: FIRST["grad"](lambda x: FIRST["grad"](f, x), x),
    "jvp of grad": lambda f, x: pushed(lambda x: FIRST["grad"](f, x), x),
    "grad of jvp": lambda f, x: FIRST["grad"](lambda x: pushed(f, x), x),
    "jvp of jvp": lambda f, x: pushed(lambda x: pushed(f, x), x),
}


def wrong(constructor, how, doors, within=lambda f: f):
    """List the doors where a derivative is neither right nor, if it is a second one, refused."""
    x = torch.tensor([0.4, 1.6] if how == "ufunc" else 0.4, dtype=torch.float64)
    f = export(within(constructor(ASKS[how])))
    return [(constructor.__name__, how, name, have) for name, have in wrong_at(f, x, doors)]


def wrong_at(f, x, doors):
    """List the doors where a derivative of what stands for exp is neither right nor refused."""
    found = []
    for name in doors:
        try:
            have = (FIRST.get(name) or SECOND[name])(f, x)
        except NotDifferentiableError as error:
            if name in SECOND:
                continue
            have = error
        except Exception as error:
            have = error
        if not isinstance(have, torch.Tensor) or not torch.allclose(have, torch.exp(x)):
            found.append((name, have))
    return found


QUICK = [name for name in FIRST if not name.startswith("compile")]


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_a_rule_that_computes_with_numpy_has_first_derivatives_everywhere(constructor):
    found = wrong(constructor, "ufunc", [*QUICK, *SECOND])
    assert not found, found


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_the_same_in_exported_code(constructor):
    found = wrong(constructor, "ufunc", [*QUICK, *SECOND], lambda f: lambda x: 1.0 * f(x))
    assert not found, found


@pytest.mark.parametrize("how", ASKS)
def test_however_a_rule_asks_for_numbers(how):
    doors = ["backward", "grad", "vmap of grad", "vmap of jvp"]
    found = wrong(by_rrule, how, [*doors, *SECOND]) + wrong(by_rule, how, SECOND)
    assert not found, found


DETACHED = {
    "numpy": lambda x: x.detach().numpy(),
    "data": lambda x: x.data.numpy(),
    "item": lambda x: x.detach().item(),
    "float": lambda x: float(x.detach()),
    "list": lambda x: x.detach().tolist(),
    "array": lambda x: np.asarray(x.detach()),
    "its own method": lambda x: x.detach().__array__(),
    "exchanged": lambda x: np.from_dlpack(x.detach()),
    "forced": lambda x: x.numpy(force=True),
    "copied": lambda x: x.detach().clone().cpu().numpy(),
    "cut from a copy": lambda x: x.clone().detach_().numpy(),
    "computed with": lambda x: (2.0 * x.detach()).numpy() / 2.0,
    "joined": lambda x: torch.stack([x.detach(), x.detach()]).numpy()[0],
    "written elsewhere": lambda x: torch.empty_like(x.data).copy_(x.detach()).numpy(),
}


@pytest.mark.parametrize("how", DETACHED)
def test_numbers_of_what_was_detached(how):
    """They were taken for constants: the second derivative was zero, in silence."""
    ask = DETACHED[how]
    exp = lambda x: torch.as_tensor(np.exp(ask(x))) if isinstance(x, torch.Tensor) else np.exp(x)
    x = torch.tensor(0.4, dtype=torch.float64)
    for constructor in (by_scalar_rule, by_rrule, by_custom_vjp):
        f = export(constructor(exp))
        found = [*wrong_at(f, x, ["backward", "double", "grad inside of grad"])]
        assert not found, (constructor.__name__, found)


@pytest.mark.parametrize("used", [0, 1])
def test_a_result_that_is_not_used(used):
    @primitive
    def two(x):
        return np.sin(np.asarray(x)), np.asarray(x) ** 2

    @rrule.register(two)
    def two_rrule(x):
        x = np.asarray(x)
        pull = lambda c: (np.cos(x) * np.asarray(c[0]) + 2 * x * np.asarray(c[1]),)
        return two(x), pull

    x = torch.tensor([0.3, 0.4], dtype=torch.float64, requires_grad=True)
    total, want = lambda x: export(two)(x)[used].sum(), (torch.cos(x), 2 * x)[used].detach()
    torch.testing.assert_close(grad_of(total(x), x)[0], want)
    torch.testing.assert_close(func.grad(total)(x.detach()), want)


def test_what_is_said_to_be_constant_is_one():
    """As a tensor it was detached to be one; its numbers are said to be by ignore_derivatives."""
    x = torch.tensor(0.4, dtype=torch.float64)
    for slope in (
        lambda _y, x: x.detach() if isinstance(x, torch.Tensor) else x,
        lambda _y, x: float(ignore_derivatives(x)),
    ):
        f = primitive(lambda x: v.exp(x))
        scalar_rule(f, slope)
        assert backward(export(f), x) == x
        assert double(export(f), x) == 0.0


def test_rules_that_leave_are_compiled():
    found = wrong(by_custom_vjp, "ufunc", ["compile"]) + wrong(by_frule, "ufunc", ["compile"])
    assert not found, found


@pytest.mark.slow
@pytest.mark.parametrize("how", ASKS)
@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_rules_that_leave_by_all_ways_at_all_doors(constructor, how):
    found = wrong(constructor, how, [*FIRST, *SECOND])
    assert not found, found


METHODS = {"sum": np.sum, "mean": np.mean, "max": np.max}
"""Functions of NumPy's that call a method of what they are given, as arrays have it."""


@pytest.mark.parametrize("door", ["grad", "jacrev", "backward"])
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("constructor", [by_scalar_rule, by_rrule, by_custom_vjp])
def test_a_rule_that_gives_numpy_a_tensor_is_right_in_compiled_programs_too(
    constructor, name, full, door
):
    f = export(constructor(lambda x: v.exp(x) + 0.0 * METHODS[name](x)))
    x, total = torch.tensor([0.4, 1.6]), lambda x: f(x).sum()
    run = {"grad": func.grad(total), "jacrev": func.jacrev(f), "backward": total}[door]
    torch._dynamo.reset()
    compiled = torch.compile(run, backend="aot_eager", fullgraph=full)
    found = compiled(x) if door != "backward" else grad_of(compiled(x.requires_grad_()), x)[0]
    torch.testing.assert_close(
        found.diagonal() if door == "jacrev" else found, torch.exp(x.detach())
    )


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_rules_with_numpy_take_numbers_that_it_has_not(constructor):
    f, x = export(constructor(np.exp)), torch.tensor([0.4, 1.6]).bfloat16()
    for door in (backward, FIRST["grad"], pushed):
        have = door(f, x)
        assert have.dtype is torch.bfloat16
        torch.testing.assert_close(have, torch.exp(x), rtol=2e-2, atol=0.0)
    assert backward(f, x.to("meta")).is_meta


def test_a_numpy_body_gives_the_dtype_that_operations_give():
    @primitive
    def by_numpy(x, y):
        return np.multiply(x, y)

    f, of = export(by_numpy), lambda dtype, *shape: torch.ones(shape, dtype=dtype)
    narrow, wide = torch.bfloat16, (torch.float16, torch.float32, torch.float64)
    for x, y in [(narrow, narrow), *[(narrow, y) for y in wide], *[(x, narrow) for x in wide]]:
        assert f(of(x, 2), of(y, 2)).dtype is torch.promote_types(x, y), (x, y)
    assert f(of(narrow, 2), of(torch.float32)).dtype is narrow
    assert f(of(torch.float32, 2), of(narrow)).dtype is torch.float32


def test_a_numpy_body_has_empty_batches():
    @primitive
    def total(x):
        return np.exp(np.asarray(x)).sum(-1)

    scalar = primitive(lambda x: np.exp(np.asarray(x)))
    scalar_rule(scalar, lambda y, x: y)
    assert torch.vmap(export(total))(torch.zeros(0, 3)).shape == (0,)
    assert torch.vmap(export(scalar), in_dims=1)(torch.zeros(3, 0)).shape == (0, 3)
    slope = func.grad(lambda x: export(by_rrule(np.exp))(x).sum())
    assert func.vmap(slope)(torch.zeros(0, 3)).shape == (0, 3)


def test_numbers_beside_tensors_without_elements():
    f = custom_jvp(lambda x, y: v.sin(x) * y)
    f.defjvp(lambda xs, ts: (f(*xs), ts[0] * v.cos(xs[0]) * xs[1] + v.sin(xs[0]) * ts[1]))
    x = torch.ones(3, device="meta", requires_grad=True)
    assert grad_of(export(f)(x, 2.0).sum(), x)[0].is_meta


def test_supports_says_what_is_so():
    x = torch.tensor([0.4, 1.6], dtype=torch.float64)
    found = supports(by_custom_jvp(np.exp), x)
    assert (found.grad, found.jvp, found.vmap, found.jit, found.order) == (True,) * 4 + (1,)
