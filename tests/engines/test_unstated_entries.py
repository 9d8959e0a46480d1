"""One entry of an operand that nobody has stated a derivative in: the others have theirs.

Each form of statement, over each kind of structure, in each engine and mode, to the second order.
"""

import dataclasses
from typing import NamedTuple

import pytest

from chainrules_py import (
    LinearMap,
    NotDifferentiableError,
    NotImplementedTangent,
    ZeroTangent,
    export,
    frule,
    is_zero,
    primitive,
    rrule,
    rule,
)
from chainrules_py.extend import flatten, flatten_tangent, unflatten_tangent
from chainrules_tape import grad, jvp

WHY = "the offset has no derivative, of which tables know none"
ANY = (object, object)
UNSTATED = NotImplementedTangent(WHY)


class Pair(NamedTuple):
    a: object
    b: object


@dataclasses.dataclass(frozen=True)
class Fields:
    a: object
    b: object


STRUCTURES = {
    "dict": lambda a, b: {"a": a, "b": b},
    "tuple": lambda a, b: (a, b),
    "list": lambda a, b: [a, b],
    "namedtuple": Pair,
    "dataclass": Fields,
    "nested": lambda a, b: {"in": (a, {"b": b}), "name": None},
}


def entries(p, t=None):
    """The entries of a structure, or of its tangent."""
    leaves, tree = flatten(p)
    found = leaves if t is None else flatten_tangent(tree, t)
    return found[0], found[1]


def value(p, x):
    a, b = entries(p)
    return a * a * x * x + b


def bars(p, a_bar, b_bar=UNSTATED):
    tree = flatten(p)[1]
    return unflatten_tangent(tree, [a_bar, b_bar, *[ZeroTangent()] * (tree.num_leaves - 2)])


def pulled(bar, p, x):
    a, _ = entries(p)
    return bars(p, 2 * a * x * x * bar), 2 * a * a * x * bar


def pushed(p_dot, p, x):
    (a, _), (a_dot, b_dot) = entries(p), entries(p, p_dot)
    return 2 * a * x * x * a_dot if is_zero(b_dot) else UNSTATED


def by_rule():
    f = primitive(lambda p, x: value(p, x))

    @rule(f, types=ANY)
    def stated(p, x):
        a, _ = entries(p)
        pull = lambda bar: pulled(bar, p, x)[0]
        square = lambda t: t * (2 * a * a * x)
        return value(p, x), (
            LinearMap(lambda t: pushed(t, p, x), pull),
            LinearMap(square, square),
        )

    return f


FORMS = (by_rule,)

# ---------------------------------------------------------------------------------- the engines


def tape():
    push = lambda f: lambda a: jvp(f, (a,), (1.0,))[1]
    yield from twice(grad, push)


def twice(pull, push):
    """First and second derivatives in all orders of the modes."""
    yield 1, pull
    yield 1, push
    for outer in (pull, push):
        for inner in (pull, push):
            yield 2, lambda f, outer=outer, inner=inner: outer(inner(f))


def torch():
    engine = pytest.importorskip("torch", reason="PyTorch is not installed")
    number = lambda d: lambda f: lambda a: d(f)(engine.tensor(a) if type(a) is float else a)
    push = lambda f: lambda a: engine.func.jvp(f, (a,), (engine.ones_like(a),))[1]

    def backward(f):
        def slope(a):
            a = a.clone().requires_grad_()
            return engine.autograd.grad(f(a), a)[0]

        return slope

    yield 1, number(backward)
    yield 2, number(engine.func.hessian)
    yield from [(n, number(d)) for n, d in twice(engine.func.grad, push)]


def jax():
    engine = pytest.importorskip("jax", reason="JAX is not installed")
    push = lambda f: lambda a: engine.jvp(f, (a,), (1.0,))[1]
    yield 1, lambda f: engine.jit(engine.grad(f))
    yield 1, lambda f: engine.jit(push(f))
    yield 2, lambda f: engine.jit(engine.grad(engine.grad(f)))
    yield 2, engine.hessian
    yield (
        2,
        lambda f: lambda a: engine.vmap(engine.grad(engine.grad(f)))(engine.numpy.ones(2) * a)[1],
    )
    yield from twice(engine.grad, push)


def autograd():
    engine = pytest.importorskip("autograd", reason="autograd is not installed")
    from autograd.differential_operators import make_jvp

    push = lambda f: lambda a: make_jvp(f)(a)(1.0)[1]
    yield from twice(engine.grad, push)


ENGINES = {tape: None, torch: "torch", jax: "jax", autograd: "autograd"}
SOME = ("dict", "dataclass", "nested")


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "kind", [k if k in SOME else pytest.param(k, marks=pytest.mark.slow) for k in STRUCTURES]
)
def test_the_other_entries_have_their_derivative(kind, engine, form):
    make, f = STRUCTURES[kind], form()
    f = f if ENGINES[engine] is None else export(f, to=ENGINES[engine])
    for order, derivative in engine():
        where = f"{engine.__name__}: {derivative}"
        assert float(f(make(3.0, 1.0), 2.0)) == 37.0
        want = 24.0 if order == 1 else 8.0
        assert float(derivative(lambda a: f(make(a, 1.0), 2.0))(3.0)) == want, where
        want = 36.0 if order == 1 else 18.0
        assert float(derivative(lambda x: f(make(3.0, 1.0), x))(2.0)) == want, where
        with pytest.raises(NotDifferentiableError, match=WHY):
            derivative(lambda b: f(make(3.0, b), 2.0))(1.0)


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("form", FORMS)
def test_by_the_functions_of_the_rules(form, kind):
    f, p = form(), STRUCTURES[kind](3.0, 1.0)
    y, y_dot = frule((bars(p, 1.0, ZeroTangent()), ZeroTangent()), f, p, 2.0)
    assert (y, y_dot) == (37.0, 24.0)
    with pytest.raises(NotDifferentiableError, match=WHY):
        frule((bars(p, 1.0, 1.0), ZeroTangent()), f, p, 2.0)
    with pytest.raises(NotDifferentiableError, match=WHY):
        rrule(f, p, 2.0)[1](1.0)
    assert rrule(f, p, 2.0)[1](1.0, wanted=(False, True))[1] == 36.0
