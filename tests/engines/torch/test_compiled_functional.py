"""`torch.func` in compiled programs: rules of one mode, rules that read values, named operands."""

from __future__ import annotations

import functools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap  # noqa: E402

from chainrules_kit.custom_derivatives import custom_jvp, custom_vjp  # noqa: E402
from chainrules_py import (  # noqa: E402
    LinearMap,
    NotDifferentiableError,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v  # noqa: E402
from chainrules_torch import export  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")
Unsupported = torch._dynamo.exc.Unsupported
X, W = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])


def compiled(f, full=True):
    torch._dynamo.reset()
    return torch.compile(f, fullgraph=full, backend="aot_eager")


# ------------------------------------------- rules of one mode, one operand of which is constant


@custom_jvp
def product(x, w):
    return v.sin(x) * w


@product.defjvp
def product_jvp(primals, tangents):
    (x, w), (dx, dw) = primals, tangents
    return product(x, w), v.cos(x) * dx * w + v.sin(x) * dw


@custom_jvp
def pair(x, w):
    return v.sin(x) * w, v.cos(x) * w


@pair.defjvp
def pair_jvp(primals, tangents):
    (x, w), (dx, dw) = primals, tangents
    s, c = v.sin(x), v.cos(x)
    return (s * w, c * w), (c * dx * w + s * dw, c * dw - s * dx * w)


@primitive
def pulled(x, w):
    return v.sin(x) * w


@rrule.register(pulled)
def pulled_rule(x, w):
    return pulled(x, w), lambda y_bar: (v.cos(x) * y_bar * w + 0.0 * x, v.sin(x) * y_bar)


DOORS = {
    "grad": lambda f: grad(lambda x, w: f(x, w).sum()),
    "vjp": lambda f: lambda x, w: vjp(lambda x: f(x, w), x)[1](torch.ones_like(x))[0],
    "jvp": lambda f: lambda x, w: jvp(lambda x: f(x, w), (x,), (torch.ones_like(x),))[1],
    "vmap of grad": lambda f: vmap(grad(f)),
    "vmap of grad, one shared": lambda f: lambda x, w: vmap(grad(f), (0, None))(x, w[0]),
    "vmap of jvp": lambda f: vmap(lambda x, w: jvp(lambda x: f(x, w), (x,), (x,))[1]),
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "grad of grad": lambda f: grad(lambda x, w: grad(lambda x: f(x, w).sum())(x).sum()),
    "hessian": lambda f: hessian(lambda x, w: f(x, w).sum()),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("f", [product, pair, pulled])
def test_one_mode_is_transposed_in_one_graph(f, door):
    g = export(f)
    of = (lambda x, w: g(x, w)[0]) if f is pair else g
    known = DOORS[door](lambda x, w: torch.sin(x) * w)(X, W)
    torch.testing.assert_close(DOORS[door](of)(X, W), known)
    torch.testing.assert_close(compiled(DOORS[door](of))(X, W), known)


def test_a_compiled_function_of_one_mode_is_differentiated():
    x = X.clone().requires_grad_()
    torch.testing.assert_close(
        torch.autograd.grad(compiled(export(product))(x, W).sum(), x)[0], torch.cos(X) * W
    )


# ------------------------------------------------------------ rules that are not linear, but affine


def affine(mode, of_constant):
    """Make sin x, whose derivative has a constant beside what is linear, or nothing else."""

    @primitive
    def f(x, w):
        return v.sin(x) * w

    def derivative(x, w, t):
        return 0.1 * x if of_constant else v.cos(x) * t * w + 0.1 * x

    if mode == "push":
        frule.register(f)(lambda ts, x, w: (f(x, w), derivative(x, w, ts[0])))
    else:
        rrule.register(f)(lambda x, w: (f(x, w), lambda b: (derivative(x, w, b), v.sin(x) * b)))
    return export(f)


TRANSPOSED = {
    "push": ("grad", "vjp", "vmap of grad", "jacrev", "grad of grad", "hessian"),
    "pull": ("jvp", "vmap of jvp", "jacfwd"),
}


@pytest.mark.parametrize(
    "mode, door", [(mode, door) for mode, doors in TRANSPOSED.items() for door in doors]
)
@pytest.mark.parametrize("of_constant", [False, True])
def test_an_affine_rule_is_refused_in_eager_programs(mode, door, of_constant):
    f = DOORS[door](affine(mode, of_constant))
    with pytest.raises(NotDifferentiableError, match="it is not linear"):
        f(X, W)


# -------------------------------------------------------------------------- rules that read values


def branching(where):
    """Make x ↦ w sin x, whose rule takes a decision by x."""

    @primitive
    def f(x, w):
        return v.sin(x) * w

    def sign(x, here):
        return 1.0 if where != here or bool((x > 0).all()) else -1.0

    def f_rrule(x, w):
        s = sign(x, "rule")
        return f(x, w), lambda b: (s * sign(x, "pull") * v.cos(x) * b * w, v.sin(x) * b)

    def f_frule(ts, x, w):
        return f(x, w), sign(x, "push") * v.cos(x) * ts[0] * w + v.sin(x) * ts[1]

    (frule if where == "push" else rrule).register(f)(f_frule if where == "push" else f_rrule)
    return export(f)


@pytest.mark.parametrize("where", ["rule", "pull", "push"])
def test_rules_that_read_values_have_a_first_derivative(where):
    f = branching(where)
    for door in ("grad", "vmap of grad"):
        for x in (X, -X):  # by what it is when the program runs
            torch.testing.assert_close(compiled(DOORS[door](f))(x, W), DOORS[door](f)(x, W))


@pytest.mark.parametrize("where", ["rule", "pull", "push"])
def test_the_second_is_left_out_of_the_graph(where):
    f = DOORS["grad of grad"](branching(where))
    with pytest.raises(Unsupported, match="computes with NumPy, or asks for numbers"):
        compiled(f)(X, W)
    torch.testing.assert_close(compiled(f, full=False)(X, W), -torch.sin(X) * W)


# ------------------------------------------------------------------------------- operands by name


def by_rrule():
    @primitive
    def f(x, w):
        return v.sum(w * x**2)

    @rrule.register(f)
    def f_rule(x, w):
        return f(x, w), lambda y_bar: (y_bar * 2 * w * x, y_bar * x**2)

    return f


def by_rule():
    @primitive
    def f(x, w):
        return v.sum(w * x**2)

    @rule(f)
    def f_rule(x, w):
        return f(x, w), tuple(
            LinearMap(lambda t, s: v.sum(s * t), lambda b, s: b * s, s) for s in (2 * w * x, x**2)
        )

    return f


def by_custom_vjp():
    @custom_vjp
    def f(x, w):
        return v.sum(w * x**2)

    f.defvjp(
        lambda x, w: (f(x, w), (x, w)),
        lambda saved, b: (b * 2 * saved[1] * saved[0], b * saved[0] ** 2),
    )
    return f


def by_custom_jvp():
    @custom_jvp
    def f(x, w):
        return v.sum(w * x**2)

    @f.defjvp
    def f_jvp(primals, tangents):
        (x, w), (dx, dw) = primals, tangents
        return f(x, w), v.sum(2 * w * x * dx) + v.sum(x**2 * dw)

    return f


CONSTRUCTORS = [by_rrule, by_rule, by_custom_vjp, by_custom_jvp]


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
@pytest.mark.parametrize("full", [False, True])
def test_an_operand_that_is_named_in_what_is_compiled(constructor, full):
    f = export(constructor())
    for call in (lambda x: f(x, w=W), lambda x: f(w=W, x=x)):
        torch.testing.assert_close(compiled(grad(call), full)(X), 2 * W * X)


@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_a_call_by_name_changes_nothing_for_later_ones(constructor):
    for once in (
        lambda f: export(f)(X, w=W),
        lambda f: export(functools.partial(f, w=W))(X),
        lambda f: f(X, w=W),
        lambda f: f.signature,
    ):
        f = constructor()
        once(f)
        g = export(f)
        torch.testing.assert_close(compiled(grad(lambda x, g=g: g(x, W)))(X), 2 * W * X)


@custom_vjp
def parts(d, w):
    return {"product": d["a"] * w, "pair": (d["a"], w)}


parts.defvjp(
    lambda d, w: (parts(d, w), (d["a"], w)),
    lambda saved, bar: (
        {"a": bar["product"] * saved[1] + bar["pair"][0]},
        v.sum(bar["product"] * saved[0]) + bar["pair"][1],
    ),
)


@pytest.mark.parametrize("transform", [lambda f: f, torch.func.grad, torch.func.hessian])
def test_a_dict_that_is_given_is_refused_in_our_words_or_left_out(transform):
    exported = export(parts)

    def loss(a, w):
        y = exported({"a": a}, w)
        return (y["product"] ** 2).sum() + (y["pair"][0] * y["pair"][1]).sum()

    def plain(a, w):
        return ((a * w) ** 2).sum() + (a * w).sum()

    a, w = torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor(3.0, dtype=torch.float64)
    torch._dynamo.reset()
    with pytest.raises(Unsupported, match=r"parts gives a dict .* give a tuple"):
        torch.compile(transform(loss), backend="aot_eager", fullgraph=True)(a, w)
    torch._dynamo.reset()
    found = torch.compile(transform(loss), backend="aot_eager")(a, w)
    torch.testing.assert_close(found, transform(plain)(a, w))


def test_export_in_what_is_compiled_says_what_to_write():
    f = primitive(lambda x: v.sin(x))
    scalar_rule(f, lambda _, x: v.cos(x))
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"write f = export\(f\) before it"):
        compiled(lambda x, w: export(f)(x), True)(X, W)
