"""`stop_gradient` and `ignore_derivatives` of whatever holds a value: constant, or an error."""

from __future__ import annotations

import functools
import types
from collections import ChainMap, UserDict, deque

import numpy as np
import pytest

from chainrules_py import TracerError, ignore_derivatives
from chainrules_tape import grad, jvp, stop_gradient


class Plain:
    def __init__(self, w):
        self.w = w


class Labelled(Plain):
    """It has the members of an array."""

    dtype, shape = np.dtype(float), ()


# What holds a value, and how it is got out again.
HOLDING = {
    "object": (Plain, lambda o: o.w),
    "labelled": (Labelled, lambda o: o.w),
    "nested": (lambda x: Plain(Plain(x)), lambda o: o.w.w),
    "in a list": (lambda x: [Plain(x)], lambda o: o[0].w),
    "namespace": (lambda x: types.SimpleNamespace(w=x), lambda o: o.w),
    "deque": (lambda x: deque([x]), lambda o: o[0]),
    "proxy": (lambda x: types.MappingProxyType({"a": x}), lambda o: o["a"]),
    "UserDict": (lambda x: UserDict(a=x), lambda o: o["a"]),
    "ChainMap": (lambda x: ChainMap({"a": x}), lambda o: o["a"]),
    "values": (lambda x: {"a": x}.values(), lambda o: next(iter(o))),
    "items": (lambda x: {"a": x}.items(), lambda o: next(iter(o))[1]),
    "iterator": (lambda x: iter([x]), next),
    "generator": (lambda x: (y for y in [x]), next),
    "zip": (lambda x: zip([x]), lambda o: next(o)[0]),
    "map": (lambda x: map(np.positive, [x]), next),
    "objects": (lambda x: np.array([Plain(x)], object), lambda o: o[0].w),
    "function in a dict": (lambda x: {"f": lambda: x}, lambda o: o["f"]()),
    "function": (lambda x: lambda: x, lambda o: o()),
    "partial": (lambda x: functools.partial(np.multiply, x), lambda o: o(1.0)),
    "list": (lambda x: [x, "text", np.sin, len, Plain], lambda o: o[0]),
    "dict": (lambda x: {"a": (x, None)}, lambda o: o["a"][0]),
}


@pytest.mark.parametrize("stop", [stop_gradient, ignore_derivatives])
@pytest.mark.parametrize("held", HOLDING)
def test_what_is_held_is_constant_or_an_error(held, stop):
    make, read = HOLDING[held]
    loss = lambda x: read(stop(make(x))) * x
    for slope in (grad, lambda f: lambda x: jvp(f, (x,), (1.0,))[1]):
        try:
            assert slope(loss)(3.0) == 3.0
        except TracerError as error:
            if held in ("list", "dict") or "being differentiated" not in str(error):
                raise


def test_what_holds_nothing_passes():
    model = {"act": np.tanh, "layer": Plain(np.ones(2)), "names": deque(["a"])}
    stopped = grad(lambda x: x * stop_gradient(model)["layer"].w[0])(2.0)
    assert stopped == 1.0
    assert stop_gradient(model)["act"] is np.tanh


def test_an_array_of_traced_numbers_is_a_constant():
    def f(x):
        c = ignore_derivatives(np.array([x, 2.0 * x]))
        assert type(c) is np.ndarray
        assert c.dtype == float
        return x * x * np.sum(c)

    assert grad(f)(3.0) == 2.0 * 3.0 * 9.0
    assert jvp(f, (3.0,), (1.0,)) == (81.0, 54.0)
    assert grad(grad(f))(3.0) == 18.0
