"""Rules that give the same maps at each call are run once in eager programs; others each time."""

from __future__ import annotations

import importlib
from types import FunctionType

import pytest

from chainrules_py import LinearMap, export, primitive, rule
from chainrules_py.extend import find_rule

torch = pytest.importorskip("torch")
written_out = importlib.import_module("chainrules_torch.engine.written_out").written_out


def blend(x, y):
    """x y + x, which each rule calls by this name: its own primitive."""
    return x * y + x


def plain(x, y):
    return blend(x, y), (
        LinearMap(lambda t, y: t * (y + 1.0), lambda b, y: b * (y + 1.0), y),
        LinearMap(lambda t, x: t * x, lambda b, x: b * x, x),
    )


def named(x, y):
    z = blend(x, y)
    of_x = LinearMap(lambda t, z, x: t * z / x, lambda b, z, x: b * z / x, z, x)
    return z, (of_x, LinearMap(lambda t, x: t * x, lambda b, x: b * x, x))


def saving_nothing(x, y):
    return blend(x, y), (LinearMap(None, lambda b: 2.0 * b), LinearMap(None, lambda b: b))


def giving_numbers(x, y):
    return blend(x, y), (LinearMap(None, lambda b, y: 2.0, y), LinearMap(None, lambda b: b))


def deciding(x, y):
    factor = 3.0 if x is y else 1.0
    return blend(x, y), (
        LinearMap(None, lambda b, c: b * c, factor),
        LinearMap(None, lambda b, x: b * x, x),
    )


def choosing(x, y):
    return blend(x, y), (
        LinearMap(None, (lambda b, y: b * (y + 1.0), lambda b, y: 7.0 * b)[x is y], y),
        LinearMap(None, lambda b, x: b * x, x),
    )


def computing(x, y):
    up = y + 1.0
    return blend(x, y), (
        LinearMap(None, lambda b, up: b * up, up),
        LinearMap(None, lambda b, x: b * x, x),
    )


def closing(x, y):
    return blend(x, y), (
        LinearMap(None, lambda b: b * (y + 1.0)),
        LinearMap(None, lambda b, x=x: b * x),
    )


def trying(x, y):
    try:
        factor = 7.0 + 0.0 * x
    except:  # noqa: E722
        factor = y
    return blend(x, y), (
        LinearMap(None, lambda b, c: b * c, factor),
        LinearMap(None, lambda b, x: b * x, x),
    )


def asking(x, y):
    return blend(x, y), (
        LinearMap(None, lambda b, n: b * n, len(str(type(x)))),
        LinearMap(None, lambda b, x: b * x, x),
    )


def twice(x, y):
    blend(y, x)
    return blend(x, y), (
        LinearMap(None, lambda b, y: b * (y + 1.0), y),
        LinearMap(None, lambda b, x: b * x, x),
    )


ONCE = [plain, named, saving_nothing, giving_numbers]
EACH_TIME = [deciding, choosing, computing, closing, trying, asking, twice]


def stated(written):
    """Make a primitive with a copy of a rule; return both, and the names that the copy looks up."""
    f, names = primitive(FunctionType(blend.__code__, globals(), "blend")), dict(globals())
    names["blend"] = f
    copy = FunctionType(written.__code__, names, written.__name__)
    rule(f)(copy)
    return f, copy, names


def gradients(g, x, y):
    z = g(x, y)
    return z, *torch.autograd.grad(z, (x, y), torch.ones_like(z))


def as_written(copy, x, y):
    z, maps = copy(x.detach(), y.detach())
    bars = [m.pull(torch.ones_like(z), *m.saved) for m in maps]
    return z, *[torch.as_tensor(bar, dtype=z.dtype) for bar in bars]


def operands():
    return [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (1.5, 0.5)]


@pytest.mark.parametrize("written", [*ONCE, *EACH_TIME], ids=lambda f: f.__name__)
def test_as_it_is_written(written):
    f, copy, _ = stated(written)
    g, (x, y) = export(f, to="torch"), operands()
    for some in ((x, y), (x, y), (y, x)):
        torch.testing.assert_close(gradients(g, *some), as_written(copy, *some))
    (bar,) = torch.autograd.grad(g(x, x), x)
    one = x.detach()
    z, maps = copy(one, one)
    torch.testing.assert_close(bar, sum(m.pull(torch.ones_like(z), *m.saved) for m in maps))


@pytest.mark.parametrize("written", [*ONCE, *EACH_TIME], ids=lambda f: f.__name__)
def test_which_are_run_once(written):
    f, _, _ = stated(written)
    found = find_rule(f, (torch.Tensor, torch.Tensor))
    statement = found.reverse if found else None
    assert (written_out(statement, 2) is not None) == (written in ONCE)


@pytest.mark.parametrize("written", [plain, named], ids=lambda f: f.__name__)
def test_derivatives_of_derivatives(written):
    f, _, _ = stated(written)
    g, (x, y) = export(f, to="torch"), operands()
    (bar,) = torch.autograd.grad(g(x, y), x, create_graph=True)
    mixed = torch.autograd.grad(bar, (x, y), allow_unused=True)
    assert mixed[1].item() == pytest.approx(1.0)
    assert mixed[0] is None or abs(mixed[0].item()) < 1e-12


def test_what_its_names_mean_is_looked_up():
    f, copy, names = stated(plain)
    g, (x, y) = export(f, to="torch"), operands()
    before = gradients(g, x, y)
    names["blend"] = lambda x, y: 3.0 * f(x, y)
    torch.testing.assert_close(gradients(g, x, y)[0], 3.0 * before[0])
    names["blend"] = f
    torch.testing.assert_close(gradients(g, x, y), before)
    names["LinearMap"] = lambda push, pull, *saved: LinearMap(push, lambda b, *_: 5.0 * b, *saved)
    assert [bar.item() for bar in gradients(g, x, y)[1:]] == [5.0, 5.0]
    names["LinearMap"] = LinearMap
    copy.__code__ = saving_nothing.__code__
    assert [bar.item() for bar in gradients(g, x, y)[1:]] == [2.0, 1.0]
