"""Exported functions that give an operand, or a view of one, and writes to either."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from chainrules_py import (  # noqa: E402
    LinearMap,
    MutationError,
    frule,
    linear_rule,
    primitive,
    rule,
    scalar_rule,
)
from chainrules_py import vocabulary as v  # noqa: E402
from chainrules_torch import export  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

X = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(2, 3) / 3
BODIES = {
    "operand": lambda x: x,
    "slice": lambda x: x[::2, 1:],
    "transpose": lambda x: x.T,
    "reshape": lambda x: x.reshape(3, 2),
    "diagonal": lambda x: torch.diagonal(x),
    "row": lambda x: x[1],
    "expanded": lambda x: x[None],
}


def transposed(body):
    """Pull back through what takes elements, each at most once."""
    places = body(torch.arange(X.numel()).reshape(X.shape)).reshape(-1)

    def pull(g):
        zeros = torch.zeros(X.numel(), dtype=g.dtype)
        return zeros.index_add(0, places, g.reshape(-1)).reshape(X.shape)

    return pull


def by_linear_rule(f, body):
    linear_rule(f, lambda g, x: transposed(body)(g))


def by_rule(f, body):
    rule(f)(lambda x: (f(x), (LinearMap(lambda t: 1.0 * body(t), transposed(body)),)))


def by_frule(f, body):
    frule.register(f)(lambda dots, x: (f(x), body(dots[0]) * 1.0))


PENS = {"linear_rule": by_linear_rule, "rule": by_rule, "frule": by_frule}


def writes(F, which):
    """Return a program that writes to a result or to what it may be a view of."""

    def program(q):
        z = q * 1
        y = F(z)
        (y if which == "result" else z).mul_(3)
        return (z * z).sum() + (y * y * y).sum()

    return program


def same(found, expected):
    if torch.is_tensor(found):
        return torch.allclose(found, expected)
    return all(map(torch.allclose, found, expected))


def jvp(p):
    return torch.func.jvp(p, (X,), (torch.cos(X),))


def of_dual_numbers(p):
    with torch.autograd.forward_ad.dual_level():
        y = p(torch.autograd.forward_ad.make_dual(X, torch.cos(X)))
        return tuple(torch.autograd.forward_ad.unpack_dual(y))


def mapped(p):
    return torch.func.vmap(p)(torch.stack([X, 2 * X]))


def jvp_of_jvp(p):
    return torch.func.jvp(lambda x: torch.func.jvp(p, (x,), (X,))[1], (X,), (torch.cos(X),))


def mapped_jvp(p):
    return torch.func.vmap(lambda x: torch.func.jvp(p, (x,), (X,))[1])(torch.stack([X, 2 * X]))


WAYS = {
    "jvp": jvp,
    "dual numbers": of_dual_numbers,
    "jacfwd": lambda p: torch.func.jacfwd(p)(X),
    "vmap": mapped,
    "jvp of jvp": jvp_of_jvp,
    "vmap of jvp": mapped_jvp,
}


@pytest.mark.parametrize("pen", PENS)
@pytest.mark.parametrize("name", BODIES)
def test_writes_to_views_are_those_of_pytorch(name, pen):
    body = BODIES[name]
    f = primitive(lambda x: body(x))
    PENS[pen](f, body)
    F = export(f)
    wrong = []
    for way, run in WAYS.items():
        for which in ("result", "operand"):
            found, expected = run(writes(F, which)), run(writes(body, which))
            if not same(found, expected):
                wrong.append((way, which, found, expected))
    assert not wrong


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("which", ["result", "operand"])
def test_what_is_pulled_back_through_is_refused(name, which):
    f = primitive(lambda x: BODIES[name](x))
    by_rule(f, BODIES[name])
    program = writes(export(f), which)
    with pytest.raises((RuntimeError, MutationError), match="modified"):
        torch.func.grad(program)(X)
    with pytest.raises((RuntimeError, MutationError), match="modified"):
        program(X.clone().requires_grad_()).backward()


def of_partial(f):
    scalar_rule(f, lambda y, x: 3.0 * x**2)


def of_result(f):
    scalar_rule(f, lambda y, x: 3.0 * y / x)


def of_map(f):
    rule(f)(lambda x: (f(x), (LinearMap(lambda t: 3 * x**2 * t, lambda g: 3 * x**2 * g),)))


def of_push(f):
    frule.register(f)(lambda dots, x: (f(x), 3 * x**2 * dots[0]))


@pytest.mark.parametrize("stated", [of_partial, of_result, of_map, of_push])
def test_a_result_that_is_written_to_is_refused_in_our_words(stated):
    f = primitive(lambda x: x * x * x)
    stated(f)
    F = export(f)

    def backward(**options):
        q = X.clone().requires_grad_()
        return torch.autograd.grad(F(q * 1).mul_(2).sum(), q, **options)[0]

    ways = {
        "backward": backward,
        "create_graph": lambda: backward(create_graph=True),
        "grad": lambda: torch.func.grad(lambda x: F(x * 1).mul_(2).sum())(X),
    }
    for way in ways.values():
        with pytest.raises(MutationError, match=r"clone\(\)"):
            way()
    pushed = torch.func.jvp(lambda x: F(x * 1).mul_(2), (X,), (X,))[1]
    np.testing.assert_allclose(pushed, 6 * X**3)


def test_words_that_give_views():
    for word, body in ((v.matrix_transpose, lambda x: x.mT), (v.real, lambda x: x)):
        for way, run in WAYS.items():
            found, expected = run(writes(export(word), "result")), run(writes(body, "result"))
            assert same(found, expected), (word, way)


def test_a_derivative_that_is_another_is_kept():
    f = primitive(lambda x: x)
    rule(f)(lambda x: (f(x), (LinearMap(lambda t: -t, lambda g: -g),)))
    F = export(f)
    for _ in range(2):
        y, y_dot = torch.func.jvp(F, (X,), (X,))
        np.testing.assert_allclose(y_dot, -X)
        np.testing.assert_allclose(y, X)
        np.testing.assert_allclose(torch.func.jacfwd(lambda x: F(x).sum())(X), -np.ones((2, 3)))
