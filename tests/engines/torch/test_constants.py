"""PyTorch's transformations of rules of two operands, one constant, by every constructor.

The truth is the same function in PyTorch's own operations.
"""

import itertools

import pytest

from chainrules_kit.custom_derivatives import augmented_rule, custom_jvp, custom_vjp
from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    bilinear_rule,
    export,
    frule,
    linear_rule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")


def curved(x, y):
    return x * x * y * y * y


def curved_in_x(x, y):
    return 2 * x * y * y * y


def curved_in_y(x, y):
    return 3 * x * x * y * y


def by_scalar_rule():
    f = primitive(lambda x, y: curved(x, y))
    scalar_rule(f, lambda _, x, y: curved_in_x(x, y), lambda _, x, y: curved_in_y(x, y))
    return f, curved


def by_rule():
    f = primitive(lambda x, y: curved(x, y))

    def times(t, p):
        return t * p

    @rule(f)
    def _(x, y):
        maps = [LinearMap(times, times, p(x, y)) for p in (curved_in_x, curved_in_y)]
        return f(x, y), tuple(maps)

    return f, curved


def by_frule():
    f = primitive(lambda x, y: curved(x, y))
    frule.register(f)(
        lambda ts, x, y: (f(x, y), ts[0] * curved_in_x(x, y) + curved_in_y(x, y) * ts[1])
    )
    return f, curved


def by_rrule():
    f = primitive(lambda x, y: curved(x, y))
    rrule.register(f)(
        lambda x, y: (f(x, y), lambda g: (g * curved_in_x(x, y), g * curved_in_y(x, y)))
    )
    return f, curved


def by_custom_vjp():
    f = custom_vjp(lambda x, y: curved(x, y))
    f.defvjp(
        lambda x, y: (f(x, y), (x, y)),
        lambda kept, g: (g * curved_in_x(*kept), g * curved_in_y(*kept)),
    )
    return f, curved


def by_custom_jvp():
    f = custom_jvp(lambda x, y: curved(x, y))
    f.defjvp(
        lambda xs, ts: (f(*xs), ts[0] * curved_in_x(*xs) + curved_in_y(*xs) * ts[1]),
    )
    return f, curved


def by_defjvps():
    f = custom_jvp(lambda x, y: curved(x, y))
    f.defjvps(lambda t, _, x, y: t * curved_in_x(x, y), lambda t, _, x, y: t * curved_in_y(x, y))
    return f, curved


def by_augmented_rule():
    f = primitive(lambda x, y: curved(x, y))
    augmented_rule(
        f,
        lambda x, y: (curved(x, y), (x, y)),
        lambda x, y, g: (g * curved_in_x(x, y), g * curved_in_y(x, y)),
    )
    return f, curved


def by_bilinear_rule():
    f = primitive(lambda x, y: x * y)
    bilinear_rule(f, lambda g, x, y: g * y, lambda g, x, y: x * g)
    return f, lambda x, y: x * y


def by_linear_rule():
    f = primitive(lambda x, y: 2 * x - y)
    linear_rule(f, lambda g, x, y: 2 * g, lambda g, x, y: -g)
    return f, lambda x, y: 2 * x - y


CONSTRUCTORS = {
    name.removeprefix("by_"): made for name, made in sorted(globals().items()) if name[:3] == "by_"
}
T = torch.tensor([0.7, -1.3], dtype=torch.float64)
U = torch.tensor([1.1, 0.4], dtype=torch.float64)
B = torch.stack([T, T * 2, T - 1])
C = torch.stack([U, U + 1, U * 3])


def total(f):
    return lambda *xs: f(*xs).sum()


def pulled(y, pullback):
    return pullback(3 * torch.ones_like(y))[0]


INNER = {
    "grad": lambda f: grad(total(f)),
    "jacfwd": jacfwd,
    "jacrev": jacrev,
    "hessian": lambda f: hessian(total(f)),
    "jacrev(jacrev)": lambda f: jacrev(jacrev(f)),
    "jacrev(jacfwd)": lambda f: jacrev(jacfwd(f)),
    "jacfwd(jacfwd)": lambda f: jacfwd(jacfwd(f)),
    "grad(grad)": lambda f: grad(lambda x: (grad(total(f))(x) ** 2).sum()),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x * 3,))[1],
    "vjp": lambda f: lambda x: pulled(*vjp(f, x)),
}
AROUND = {
    "vmap, captured": lambda of, f: vmap(lambda x: of(lambda x: f(x, U))(x))(B),
    "vmap, None": lambda of, f: vmap(lambda x, y: of(lambda x: f(x, y))(x), (0, None))(B, U),
    "vmap, alike": lambda of, f: vmap(lambda x, y: of(lambda x: f(x, y))(x))(B, C),
    "vmap over the constant": lambda of, f: vmap(lambda y: of(lambda x: f(x, y))(T))(C),
    "vmap, a number": lambda of, f: vmap(lambda x: of(lambda x: f(x, 1.5))(x))(B),
    "vmap, detached": lambda of, f: vmap(lambda x: of(lambda z: f(z, x.detach()))(x))(B),
    "vmap(vmap)": lambda of, f: vmap(vmap(lambda x, y: of(lambda x: f(x, y))(x), (0, None)))(
        torch.stack([B, B + 1]), torch.stack([U, T])
    ),
    "vmap inside": lambda of, f: of(lambda b: vmap(lambda x: f(x, U))(b))(B),
    "vmap inside, None": lambda of, f: of(lambda b: vmap(f, (0, None))(b, U))(B),
    "vmap inside, alike": lambda of, f: of(lambda b: vmap(f)(b, C))(B),
    "vmap over the constant inside": lambda of, f: of(lambda x: vmap(lambda y: f(x, y))(C))(T),
    "grad of vmap": lambda of, f: grad(lambda y: vmap(lambda x: of(lambda x: f(x, y))(x))(B).sum())(
        U
    ),
    "vmap of a grad in the other": lambda of, f: vmap(
        lambda x, y: grad(lambda y: of(lambda x: f(x, y))(x).sum())(y)
    )(B, C),
    "no vmap": lambda of, f: of(lambda x: f(x, U))(T),
}
SWAPPED = {"x": lambda f: f, "y": lambda f: lambda x, y: f(y, x)}
CASES = list(itertools.product(sorted(CONSTRUCTORS), INNER, AROUND, SWAPPED))


def check(constructor, inner, around, which):
    f, plain = CONSTRUCTORS[constructor]()
    swap = SWAPPED[which]
    expected = AROUND[around](INNER[inner], swap(plain))
    found = AROUND[around](INNER[inner], swap(export(f, to="torch")))
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("case", CASES[::79], ids="; ".join)
def test_it_is_differentiated_as_in_torch(case):
    check(*case)


@pytest.mark.nightly
@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_every_case_is_differentiated_as_in_torch(constructor):
    for case in CASES:
        if case[0] == constructor:
            check(*case)


def shifted_frule():
    f = primitive(lambda x, y: curved(x, y))
    frule.register(f)(lambda ts, x, y: (f(x, y), ts[0] * curved_in_x(x, y) + y))
    return f


def shifted_jvp():
    f = custom_jvp(lambda x, y: curved(x, y))
    f.defjvp(lambda xs, ts: (f(*xs), ts[0] * curved_in_x(*xs) + xs[1]))
    return f


def shifted_rrule():
    f = primitive(lambda x, y: curved(x, y))
    rrule.register(f)(lambda x, y: (f(x, y), lambda g: (g * curved_in_x(x, y) + y, 0 * g)))
    return f


def shifted_vjp():
    f = custom_vjp(lambda x, y: curved(x, y))
    f.defvjp(
        lambda x, y: (f(x, y), (x, y)), lambda kept, g: (g * curved_in_x(*kept) + kept[1], 0 * g)
    )
    return f


@pytest.mark.parametrize("around", ["vmap, captured", "vmap, alike", "vmap(vmap)", "no vmap"])
@pytest.mark.parametrize("made", [shifted_frule, shifted_jvp, shifted_rrule, shifted_vjp])
def test_what_is_not_linear_is_refused_in_a_batch_as_well(made, around):
    inner = "grad" if made in (shifted_frule, shifted_jvp) else "jvp"
    with pytest.raises(NotDifferentiableError, match="it is not linear"):
        AROUND[around](INNER[inner], export(made(), to="torch"))


def test_a_constant_that_is_zero_for_some_of_a_batch_is_refused():
    f = custom_jvp(lambda x, y: curved(x, y))
    f.defjvp(lambda xs, ts: (f(*xs), ts[0] * curved_in_x(*xs) + xs[1]))
    outer = torch.tensor([[0.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    with pytest.raises(NotDifferentiableError, match="it is not linear"):
        vmap(lambda x, y: grad(total(lambda x: export(f, to="torch")(x, y)))(x))(B[:2], outer)


def test_forward_mode_along_an_operand_that_a_pull_gives_nothing_for():
    f = custom_vjp(lambda x, y: x * x)
    f.defvjp(lambda x, y: (x * x, x), lambda x, g: (2 * x * g, None))
    f = export(f, to="torch")
    for found in (
        jacfwd(lambda y: f(T, y).sum())(U),
        jvp(lambda y: f(T, y), (U,), (U,))[1],
        vmap(jacfwd(lambda y: f(T, y).sum()))(torch.stack([U, T]))[0],
    ):
        assert torch.equal(found, torch.zeros(2, dtype=found.dtype))
    torch.testing.assert_close(jvp(lambda x: f(x, U), (T,), (U,))[1], 2 * T * U)
