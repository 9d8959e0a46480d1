"""Calls and what they come down to; kernels for engines that see nothing inside."""

import math

import numpy as np
import pytest

from chainrules_kit import Kernel, Support, call_resolution, resolved, stated
from chainrules_kit.custom_derivatives import custom_vjp
from chainrules_py import NoRuleError, primitive
from chainrules_py import ops as v
from chainrules_py.extend import ContractError
from chainrules_py.testing.cases.differences import derivative
from tests.engines.battery import CONSTANT, ONE_MODE, points

X = np.array([0.3, -0.7, 1.2])


def test_calls_of_one_operation():
    call = resolved(np.sum, (X,), {"keepdims": True})
    assert (call.operation, call.options) == (v.sum, {"axis": None, "keepdims": True})
    assert call.operands[0] is X
    call = resolved(v.softmax, (X,), {})
    assert call.operation is v.softmax
    assert call.options.keys() == {"axis"}


def test_calls_of_methods_and_objects():
    class Line:
        def __init__(self, slope):
            self.slope = slope

        @primitive
        def __call__(self, x):
            return self.slope * x

    line = Line(2.0)
    call = resolved(line, (3.0,), {})
    assert call.operands == (line, 3.0)
    assert resolved(line.__call__, (3.0,), {}).operation is call.operation


def test_calls_of_several_operations():
    call = resolved(lambda x, by=1.0: v.sin(x) * by, (0.5,), {"by": 2.0})
    assert call.operation is None
    assert call.call() == 2 * math.sin(0.5)
    # A keyword may ask for more after the operation.
    call = resolved(np.copy, (X,), {"order": "C"})
    y = call.operation(*call.operands, **call.options)
    for step in call.after:
        y = step(y)
    assert call.after
    assert y is not X
    # Or be computed otherwise than by an operation.
    call = resolved(np.sum, (X,), {"initial": 1.0})
    assert call.operation is None
    assert call.call() == np.sum(X, initial=1.0)


def test_what_cannot_be_called():
    with pytest.raises(NoRuleError, match="cannot be called"):
        resolved(3.0, (), {})


def test_what_is_stated():
    everything = Support(grad=True, jvp=True, vmap=False, jit=False, order=math.inf)
    assert stated(v.sin, (X,), {}) == everything
    assert hash(everything) == hash(stated(np.sin, (X,), {}))
    assert stated(CONSTANT.f, (X,), {}).order == 0
    assert not stated(ONE_MODE["reverse"].f, (X,), {}).jvp
    assert not stated(ONE_MODE["forward"].f, (X,), {}).grad

    @primitive
    def looked_into(x):
        return x * x

    @custom_vjp
    def unstated(x):
        return x * x

    assert stated(looked_into, (X,), {}) == everything
    assert stated(unstated, (X,), {})._asdict() == {
        "grad": False, "jvp": False, "vmap": False, "jit": False, "order": 0
    }  # fmt: skip


# ----------------------------------------------------------------------------------- for engines


@pytest.mark.parametrize("point", points(complex=False), ids=lambda p: p.name)
def test_kernels(point):
    """Pull and push are adjoint to each other, and the push agrees with differences."""
    kernel = Kernel(lambda *xs: point.call(point.entry.f, *xs), len(point.xs))
    xs = point.xs
    rng = np.random.default_rng(0)
    draw = lambda x: rng.standard_normal(np.shape(x)) if np.ndim(x) else rng.standard_normal()
    dots, ys = [draw(x) for x in xs], kernel(*xs)
    if point.entry.gauge is None and not any(map(np.iscomplexobj, ys)):
        line = lambda t, i: kernel(*[x + t * d for x, d in zip(xs, dots, strict=True)])[i]
        for i, y_dot in enumerate(kernel.push()(*xs, *dots)):
            truth, error = derivative(lambda t, i=i: np.asarray(line(t, i)))
            assert np.all(np.abs(y_dot - truth) <= np.maximum(1e-7, 50 * error))
    bars = [draw(y) for y in ys]
    pulled = kernel.pull(len(ys))(*xs, *bars)
    pushed = kernel.push()(*xs, *dots)
    inner = lambda a, b: sum([np.sum(np.conj(s) * t) for s, t in zip(a, b, strict=True)]).real
    assert inner(pulled, dots) == pytest.approx(inner(bars, pushed), abs=1e-9)


def test_kernels_with_constants_and_of_higher_order():
    kernel = Kernel(lambda x, n, y: v.sin(x) * y**n, 3, moving=(0, 2))
    x, y = 0.3, 1.5
    first = kernel.pull(1)
    assert repr(first).startswith("<kernel pull_of_")
    assert first(x, 2, y, 1.0) == pytest.approx((math.cos(x) * y**2, 2 * math.sin(x) * y))
    second = first.pull(2)
    assert second(x, 2, y, 1.0, 1.0, 0.0) == pytest.approx(
        (-math.sin(x) * y**2, 2 * math.cos(x) * y, math.cos(x) * y**2)
    )
    third = second.push()
    assert third(x, 2, y, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0)[0] == pytest.approx(
        -math.cos(x) * y**2
    )


def test_without_an_engine(monkeypatch):
    monkeypatch.setattr(call_resolution, "default_engine", lambda: None)
    with pytest.raises(ContractError, match="no engine is installed"):
        Kernel(v.sin, 1).pull(1)(0.0, 1.0)
