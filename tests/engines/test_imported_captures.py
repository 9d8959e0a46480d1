"""Imported functions that captured what an engine traces: its derivative, or our refusal.

Ways to capture x engines' functions x engines that run them x transformations. In its own engine a
function is differentiated in what it captured as well; in another one it is refused.
"""

import functools
import importlib
import itertools

import numpy as np
import pytest

import chainrules_tape
from chainrules_kit.custom_derivatives import custom_vjp
from chainrules_py import ChainRulesError, export, primitive, scalar_rule
from chainrules_py import ops as v

pytestmark = [
    pytest.mark.usefixtures("double"),
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
]

W, X = np.array([1.0, 2.0, 3.0]), np.array([0.5, -0.3, 1.2])


class Call:
    def __init__(self, f, w):
        self.f, self.w = f, w

    def __call__(self, x):
        return self.f(x * self.w)

    def method(self, x):
        return self.f(x * self.w)


def module(sin, w):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = w

        def forward(self, x):
            return sin(x * self.w)

    return Module()


CAPTURES = {
    "closure": lambda sin, w: lambda x: sin(x * w),
    "partial": lambda sin, w: functools.partial(lambda w, x: sin(x * w), w),
    "object": Call,
    "method": lambda sin, w: Call(sin, w).method,
    "dict": lambda sin, w: (lambda held: lambda x: sin(x * held["w"]))({"w": w}),
    "nested": lambda sin, w: (lambda inner: lambda x: inner(x))(Call(sin, w)),
    "module": module,
}


def imported(engine, how, w):
    sin = {
        "torch": lambda: importlib.import_module("torch").sin,
        "jax": lambda: importlib.import_module("jax").numpy.sin,
        "autograd": lambda: importlib.import_module("autograd").numpy.sin,
    }[engine]()
    adapter = importlib.import_module(f"chainrules_{engine}")
    return adapter.import_rule(CAPTURES[how](sin, w), operands=1)


# Each: of make(w) -> f, the number, and what it should be.

BOTH = X * np.cos(X * W), 2 * W * np.cos(W * W)


def torch_doors():
    torch = importlib.import_module("torch")
    tensor = lambda x: torch.tensor(x, dtype=torch.float64)
    w0, x0, ones = tensor(W), tensor(X), tensor(np.ones(3))
    dual = importlib.import_module("torch.autograd.forward_ad")
    const, at_w = lambda mk: lambda w: mk(w)(x0), lambda mk: lambda w: mk(w)(w * 1)

    def backward(f):
        w = w0.clone().requires_grad_()
        return torch.autograd.grad(f(w).sum(), w)[0]

    def beside(mk):
        w, x = w0.clone().requires_grad_(), x0.clone().requires_grad_()
        return torch.autograd.grad(mk(w)(x).sum(), w)[0]

    def twice(f):
        w = w0.clone().requires_grad_()
        (g,) = torch.autograd.grad(f(w).sum(), w, create_graph=True)
        return torch.autograd.grad(g.sum(), w)[0]

    def tangent(f):
        with dual.dual_level():
            return dual.unpack_dual(f(dual.make_dual(w0, ones))).tangent

    second = -X * X * np.sin(X * W), 2 * np.cos(W * W) - 4 * W * W * np.sin(W * W)
    yield "beside", beside, BOTH[0]
    for n, (name, of) in enumerate((("const", const), ("both", at_w))):
        summed = lambda mk, of=of: lambda w: of(mk)(w).sum()
        yield f"backward {name}", lambda mk, of=of: backward(of(mk)), BOTH[n]
        yield f"twice {name}", lambda mk, of=of: twice(of(mk)), second[n]
        yield f"grad {name}", lambda mk, of=summed: torch.func.grad(of(mk))(w0), BOTH[n]
        yield f"jacfwd {name}", lambda mk, of=summed: torch.func.jacfwd(of(mk))(w0), BOTH[n]
        run = lambda mk, of=of: torch.func.jvp(of(mk), (w0,), (ones,))[1]
        yield f"jvp {name}", run, BOTH[n]
        yield f"dual {name}", lambda mk, of=of: tangent(of(mk)), BOTH[n]
        want = np.sin(np.stack([W * (X, W)[n], X * X]))
        run = lambda mk, of=of: torch.vmap(of(mk))(torch.stack([w0, x0]))
        yield f"vmap {name}", run, want


def jax_doors():
    jax = importlib.import_module("jax")
    const, at_w = lambda mk: lambda w: mk(w)(X), lambda mk: lambda w: mk(w)(w)
    ws = np.stack([W, X])
    for n, (name, of) in enumerate((("const", const), ("both", at_w))):
        summed = lambda mk, of=of: lambda w: of(mk)(w).sum()
        yield f"grad {name}", lambda mk, of=summed: jax.grad(of(mk))(W), BOTH[n]
        yield f"jit grad {name}", lambda mk, of=summed: jax.jit(jax.grad(of(mk)))(W), BOTH[n]
        run = lambda mk, of=of: jax.jvp(of(mk), (W,), (np.ones(3),))[1]
        yield f"jvp {name}", run, BOTH[n]
        yield f"jit {name}", lambda mk, of=of: jax.jit(of(mk))(W), np.sin(W * (X, W)[n])
        want = np.sin(np.stack([W * (X, W)[n], X * X]))
        yield f"vmap {name}", lambda mk, of=of: jax.vmap(of(mk))(ws), want
    inner = lambda mk: lambda w: jax.grad(lambda x: mk(w)(x).sum())(X)
    yield "jit of grad", lambda mk: jax.jit(inner(mk))(W), W * np.cos(X * W)
    run = lambda mk: jax.grad(lambda w: inner(mk)(w).sum())(W)
    yield "grad of grad", run, np.cos(X * W) - X * W * np.sin(X * W)
    run = lambda mk: jax.lax.scan(lambda s, w: (s, mk(w)(s)), X, ws)[1]
    yield "scan", run, np.sin(np.stack([X * W, X * X]))


def autograd_doors():
    autograd = importlib.import_module("autograd")
    anp = importlib.import_module("autograd.numpy")
    for n, (name, of) in enumerate((("const", lambda w: X), ("both", lambda w: w))):
        run = lambda mk, of=of: autograd.grad(lambda w: anp.sum(mk(w)(of(w))))(W)
        yield f"grad {name}", run, BOTH[n]
        run = lambda mk, of=of: autograd.make_jvp(lambda w: mk(w)(of(w)))(W)(np.ones(3))[1]
        yield f"jvp {name}", run, BOTH[n]
    inner = lambda mk, w: anp.sum(autograd.grad(lambda x: anp.sum(mk(w)(x)))(X))
    run = lambda mk: autograd.grad(lambda w: inner(mk, w))(W)
    yield "grad of grad", run, np.cos(X * W) - X * W * np.sin(X * W)


def tape_doors():
    grad, jvp = chainrules_tape.grad, chainrules_tape.jvp
    for n, (name, of) in enumerate((("const", lambda w: X), ("both", lambda w: w))):
        run = lambda mk, of=of: grad(lambda w: np.sum(mk(w)(of(w))))(W)
        yield f"grad {name}", run, BOTH[n]
        run = lambda mk, of=of: jvp(lambda w: mk(w)(of(w)), (W,), (np.ones(3),))[1]
        yield f"jvp {name}", run, BOTH[n]


DOORS = {"torch": torch_doors, "jax": jax_doors, "autograd": autograd_doors, "tape": tape_doors}
OWN = ("torch", "jax", "autograd")


def number(y):
    return np.asarray(y.detach() if hasattr(y, "detach") else y)


def run_all(of, to, ways, hows):
    pytest.importorskip(of)
    if to != "tape":
        pytest.importorskip(to)
    wrong, refused = [], 0
    for (name, door, want), how, way in itertools.product(DOORS[to](), hows, ways):
        if how == "module" and of != "torch":
            continue

        def make(w, how=how, way=way):
            f = imported(of, how, w)
            return export(f, to=to) if way == "export" else f

        try:
            have = number(door(make))
        except ChainRulesError as error:
            refused += 1
            if of == to or "(captured by )" in str(error):
                wrong.append((name, how, way, repr(error)))
        except Exception as error:  # an engine's own, which says nothing of what to write instead
            wrong.append((name, how, way, repr(error)))
        else:
            if have.shape != want.shape or not np.allclose(have, want):
                wrong.append((name, how, way, have))
    assert not wrong, wrong
    return refused


FEW = ("closure", "object")


@pytest.mark.parametrize("engine", OWN)
def test_its_own_engine_differentiates_what_a_function_captured(engine):
    assert run_all(engine, engine, ("export", "direct"), FEW) == 0


@pytest.mark.slow
@pytest.mark.parametrize("engine", OWN)
def test_its_own_engine_differentiates_whatever_way_it_was_captured(engine):
    assert run_all(engine, engine, ("export", "direct"), CAPTURES) == 0


CROSSED = [(of, to) for of in OWN for to in DOORS if of != to]


@pytest.mark.slow
@pytest.mark.parametrize("of, to", CROSSED)
def test_another_engine_refuses_what_a_function_captured(of, to):
    assert run_all(of, to, ("direct",) if to == "tape" else ("export", "direct"), CAPTURES)


@pytest.mark.parametrize("of, to", [("torch", "tape"), ("jax", "autograd"), ("autograd", "jax")])
def test_another_engine_refuses_a_few(of, to):
    assert run_all(of, to, ("direct",), FEW)


def test_a_layer_gets_its_gradients():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    import_rule = importlib.import_module("chainrules_torch").import_rule
    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh())
    f, x = export(import_rule(layers), to="torch"), torch.randn(5, 3, requires_grad=True)
    parts = (x, *layers.parameters())
    have = torch.autograd.grad(f(x).square().sum(), parts)
    assert layers[1].num_batches_tracked == 1
    want = torch.autograd.grad(layers(x).square().sum(), parts)
    for a, b in zip(have, want, strict=True):
        torch.testing.assert_close(a, b)


# --------------------------------------------- functions that are given to operations, and call
# others


def by_rule(w):
    @primitive
    def scaled(z):
        return v.cos(z) * w

    scalar_rule(scaled, lambda _, z: -v.sin(z) * w)
    return scaled


def by_vjp(w):
    @custom_vjp
    def scaled(z):
        return v.cos(z) * w

    scaled.defvjp(lambda z: (scaled(z), z), lambda z, y_bar: (-y_bar * v.sin(z) * w,))
    return scaled


def by_import(w):
    torch = importlib.import_module("torch")
    import_rule = importlib.import_module("chainrules_torch").import_rule
    return import_rule(lambda z: torch.cos(z) * w, operands=1)


def solved():
    z, slope = 1.0, 0.0
    for _ in range(200):
        z, slope = 0.5 * np.cos(z), np.cos(z) - 0.5 * np.sin(z) * slope
    return slope


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("made", [by_rule, by_vjp, by_import])
def test_a_function_inside_an_operation_that_captured_is_no_silent_zero(made, wrapped):
    """PyTorch's transforms took what a rule inside captured for a constant."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    solve = export(v.fixed_point, to="torch")
    one = torch.tensor(1.0, dtype=torch.float64)

    def f(w):
        g = made(w)
        return solve((lambda z: g(z) * 1.0) if wrapped else g, one)

    w = torch.tensor(0.5, dtype=torch.float64)
    backward = lambda w: torch.autograd.grad(f(w.requires_grad_()), w)[0]
    for door in (torch.func.grad(f), torch.func.jacfwd(f), backward):
        if made is by_import and not wrapped:  # PyTorch's own function, which is opened
            assert abs(float(door(w)) - solved()) < 1e-9
        else:
            with pytest.raises(ChainRulesError, match=r"depends on w|that gradient would be lost"):
                door(w)
