"""Every operation in PyTorch: eager programs and `torch.func` give what `rrule` gives, twice."""

from __future__ import annotations

import warnings

import pytest

from chainrules_py import rrule
from chainrules_py.registry.explain import rules_for
from chainrules_py.tangents.flatten_tangents import flatten_tangent, unflatten_tangent
from chainrules_py.testing import backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.cases.unsupported_operations import unsupported
from chainrules_py.testing.sample_runs import operations_of, two_samples
from chainrules_py.values.pytree import flatten, partition, unflatten

torch = pytest.importorskip("torch")
pytest.importorskip("chainrules_torch")

from torch.func import grad, vjp  # noqa: E402

from chainrules_torch import export  # noqa: E402

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning"),
]


def moves(x):
    return isinstance(x, torch.Tensor) and (x.is_floating_point() or x.is_complex())


def with_derivatives():
    for operation in filter(rules_for, operations_of()):
        found = [
            i
            for i in instances(operation)
            if i.sample.has_arrays
            and "torch" not in i.sample.without
            and not unsupported("torch", i)
        ]
        yield from two_samples(found)


def real(x):
    return torch.view_as_real(x) if x.is_complex() else x


def close(found, expected, tolerance):
    for a, b in zip(found, expected, strict=True):
        a = torch.zeros_like(b) if a is None else a.detach()
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("instance", [pytest.param(i, id=i.name) for i in with_derivatives()])
def test_an_operation(instance):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of points where it is degenerate
        check(instance)


def check(instance):
    operands, options = instance.build(backend("torch"))
    leaves, treedef = flatten(operands)
    at = [k for k, x in enumerate(leaves) if moves(x)]

    def call(f, *xs):
        full = list(leaves)
        for k, x in zip(at, xs, strict=True):
            full[k] = x
        return f(*unflatten(treedef, full), **options)

    def outputs(*xs):
        return tuple(filter(moves, flatten(call(export(instance.operation), *xs))[0]))

    points = [leaves[k] for k in at]
    n = len(outputs(*points))
    if not at or not n:
        return
    # As `rrule` has it.
    y, pullback = call(lambda *xs, **options: rrule(instance.operation, *xs, **options), *points)
    layout = partition(y, moves)[1]
    bars = [
        torch.cos(1.0 + torch.arange(part.numel(), dtype=torch.float64))
        .reshape(part.shape)
        .to(part.dtype)
        for part in outputs(*points)
    ]
    expected = [
        entry if isinstance(entry, torch.Tensor) else torch.zeros_like(x)
        for (x, entry) in zip(
            points, entries(operands, pullback(unflatten_tangent(layout, bars))), strict=True
        )
    ]
    # As eager programs, and functions of functions, have it.
    xs = [x.clone().requires_grad_() for x in points]
    ys = [(y, bar) for y, bar in zip(outputs(*xs), bars, strict=True) if y.requires_grad]
    if not ys:
        assert not any([bar.any() for bar in expected])
        return
    given, there = zip(*ys, strict=True)
    eager = torch.autograd.grad(given, xs, there, create_graph=True, allow_unused=True)
    close(eager, expected, 1e-9)
    close(vjp(outputs, *points)[1](tuple(bars)), expected, 1e-9)
    # Their derivatives.
    flows = [bar is not None and bar.requires_grad for bar in eager]

    def of(gradients):
        return sum([real(g).sin().sum() for g, w in zip(gradients, flows, strict=True) if w])

    if any(flows):
        second = torch.autograd.grad(of(eager), xs, allow_unused=True)
        again = lambda *xs: of(vjp(outputs, *xs)[1](tuple(bars)))
        close(second, grad(again, argnums=tuple(range(len(xs))))(*points), 1e-7)


def entries(operands, bars):
    for x, bar in zip(operands, bars, strict=True):
        layout = partition(x, moves)[1]
        yield from flatten_tangent(layout, bar) if layout.num_leaves else ()
