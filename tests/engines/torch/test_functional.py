"""PyTorch's older interfaces: `autograd.functional`, `gradcheck` in batches, checkpoints."""

import itertools

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp
from chainrules_py import (
    DegeneracyWarning,
    LinearMap,
    export,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

X = torch.tensor([0.3, -1.2, 2.0], dtype=torch.float64)


def cube():
    return primitive(lambda x: x**3)


def by_frule(f):
    frule.register(f)(lambda dots, x: (f(x), 3 * x**2 * dots[0]))
    return f


def by_rrule(f):
    rrule.register(f)(lambda x: (f(x), lambda g: (3 * x**2 * g,)))
    return f


def by_rule(f):
    rule(f)(lambda x: (f(x), (LinearMap(lambda t: 3 * x**2 * t, lambda g: 3 * x**2 * g),)))
    return f


def by_scalar_rule(f):
    scalar_rule(f, lambda y, x: 3 * x**2)
    return f


def by_custom_jvp(f):
    f = custom_jvp(lambda x: x**3)
    f.defjvp(lambda primals, dots: (f(*primals), 3 * primals[0] ** 2 * dots[0]))
    return f


def by_custom_vjp(f):
    f = custom_vjp(lambda x: x**3)
    f.defvjp(lambda x: (f(x), x), lambda x, g: (3 * x**2 * g,))
    return f


FORMS = [by_frule, by_rrule, by_rule, by_scalar_rule, by_custom_jvp, by_custom_vjp]


def jacobian(f, **how):
    return torch.autograd.functional.jacobian(f, X, vectorize=True, **how).diagonal()


def hessian(f, **how):
    total = torch.autograd.functional.hessian(lambda x: f(x).sum(), X, vectorize=True, **how)
    return total.diagonal() * X / 2


def checked(f, **how):
    assert torch.autograd.gradcheck(f, (X.clone().requires_grad_(),), **how)
    return 3 * X**2


def checkpointed(f, *, backend, reentrant):
    def run(x):
        return torch.utils.checkpoint.checkpoint(f, x, use_reentrant=reentrant)

    torch._dynamo.reset()
    x = X.clone().requires_grad_()
    run = torch.compile(run, backend=backend) if backend else run
    return torch.autograd.grad(run(x).sum(), x)[0] if not reentrant else backwards(run, x)


def backwards(run, x):
    run(x).sum().backward()
    return x.grad


WAYS = {
    "jacobian": jacobian,
    "jacobian forwards": lambda f: jacobian(f, strategy="forward-mode"),
    "hessian": hessian,
    "hessian, outer forwards": lambda f: hessian(f, outer_jacobian_strategy="forward-mode"),
    "gradcheck": lambda f: checked(f, check_batched_grad=True),
    "gradcheck forwards": lambda f: checked(
        f, check_forward_ad=True, check_batched_forward_grad=True
    ),
    "checkpoint": lambda f: checkpointed(f, backend=None, reentrant=False),
    "checkpoint, reentrant": lambda f: checkpointed(f, backend=None, reentrant=True),
    "checkpoint, compiled": lambda f: checkpointed(f, backend="aot_eager", reentrant=False),
}


PAIRS = [*itertools.product(WAYS, FORMS)]


@pytest.mark.parametrize(
    "way, form",
    [
        pytest.param(*pair, marks=[] if i % 7 == 0 else pytest.mark.slow)
        for i, pair in enumerate(PAIRS)
    ],
)
def test_every_form_runs_in_the_older_interfaces(form, way):
    found = WAYS[way](export(form(cube()), to="torch"))
    torch.testing.assert_close(found, 3 * X**2)


# ------------------------------------------------------------------ dual numbers around solvers

SOLVED = {
    "root": lambda a: lambda x: x**3 - a,
    "fixed_point": lambda a: lambda x: (2 * x + a / x**2) / 3,
    "minimize": lambda a: lambda x: x**4 / 4 - a * x,
}


def test_the_third_derivative_of_tanh_at_zero():
    x = torch.zeros((), dtype=torch.float64, requires_grad=True)
    y = export(v.tanh, to="torch")(x)
    for _ in range(3):
        (y,) = torch.autograd.grad(y, x, create_graph=True)
    assert y.item() == -2.0


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("name", SOLVED)
def test_the_gradient_of_a_tangent_of_a_cube_root(name, inside):
    forward_ad = torch.autograd.forward_ad
    a = torch.tensor(8.0, dtype=torch.float64, requires_grad=True)
    with forward_ad.dual_level():
        f = SOLVED[name](forward_ad.make_dual(a, torch.ones_like(a)))
        y = export(getattr(v, name), to="torch")(f, torch.ones_like(X[0]))
        t = forward_ad.unpack_dual(y).tangent
        bars = torch.autograd.grad(t, a) if inside else None
    (bar,) = bars or torch.autograd.grad(t, a)
    np.testing.assert_allclose([t.item(), bar.item()], [1 / 12, -1 / 144], rtol=1e-7)


def test_a_stack_of_matrices_and_mapped_vectors_of_equal_length():
    """PyTorch paired the examples of vmap with the matrices of the stack."""
    a = torch.linspace(0.1, 0.9, 18).reshape(2, 3, 3).sin() + 4 * torch.eye(3)
    b = torch.linspace(-1.0, 1.0, 6).reshape(2, 3)
    solve = export(v.solve, to="torch")
    slope = torch.func.grad(lambda b: torch.sin(solve(a, b)).sum())
    found = torch.vmap(slope)(b)
    torch.testing.assert_close(found, torch.stack([slope(each) for each in b]))
    inverse = torch.linalg.inv(a)
    due = [torch.einsum("kji,kj->i", inverse, torch.cos(inverse @ each)) for each in b]
    torch.testing.assert_close(found, torch.stack(due))


@pytest.mark.parametrize("way", ["reverse", "forward", "examples"])
def test_a_root_of_zero_is_reported_in_nested_levels(way, recwarn):
    """The truth is 2, and the levels of `torch.func` hide the values that decide it."""
    norm, func = export(np.linalg.norm, to="torch"), torch.func
    f = lambda x: norm(x) ** 2
    bends = {
        "reverse": func.grad(lambda x: func.grad(f)(x).sum()),
        "forward": func.grad(lambda x: func.jvp(f, (x,), (torch.ones_like(x),))[1]),
        "examples": lambda x: func.vmap(func.hessian(f))(torch.stack([X, x])),
    }
    bends[way](X)
    assert not [w for w in recwarn if w.category is DegeneracyWarning]
    with pytest.warns(DegeneracyWarning, match="root or length is 0"):
        bends[way](0 * X)
