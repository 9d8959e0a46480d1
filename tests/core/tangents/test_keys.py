"""Rules that read or give a key which a dict has not: an error, and no zero."""

from collections import OrderedDict

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    ProjectionError,
    Tangent,
    export,
    frule,
    is_zero,
    primitive,
    rrule,
    rule,
)
from chainrules_py import ops as v
from chainrules_tape import grad, jvp, linearize

X = np.array([0.5, 1.0])


def entry(t, key):
    return 0.0 if is_zero(t[key]) else t[key]


def waves(key):
    f = primitive(lambda x: {"sin": v.sin(x), "cos": v.cos(x)})
    return f, lambda g, x: entry(g, key) * v.cos(x) - entry(g, "cos") * v.sin(x)


def by_rrule(key):
    f, pull = waves(key)
    rrule.register(f)(lambda x: (f(x), lambda g: (pull(g, x),)))
    return f


def by_rule(key):
    f, pull = waves(key)
    push = lambda t, x: Tangent[dict](sin=t * v.cos(x), cos=-t * v.sin(x))
    rule(f)(lambda x: (f(x), (LinearMap(push, pull, x),)))
    return f


def in_the_tape(f):
    return grad(lambda x: np.sum(f(x)["sin"]))(X)


def by_itself(f):
    return rrule(f, X)[1](Tangent[dict](sin=np.ones(2)))[0]


def in_torch(f):
    torch = pytest.importorskip("torch")
    f = export(f, to="torch")
    return torch.func.grad(lambda x: f(x)["sin"].sum())(torch.tensor(X)).numpy()


def in_autograd(f):
    autograd = pytest.importorskip("autograd")
    f = export(f, to="autograd")
    return autograd.grad(lambda x: f(x)["sin"].sum())(X)


@pytest.mark.parametrize("form", [by_rrule, by_rule])
@pytest.mark.parametrize("way", [in_the_tape, by_itself, in_torch, in_autograd])
def test_a_pull_that_reads_another_key_is_an_error(way, form):
    np.testing.assert_allclose(way(form("sin")), np.cos(X))
    with pytest.raises(KeyError, match="'sine'"):
        way(form("sine"))


def test_a_dict_in_a_tuple_is_known():
    f = primitive(lambda x: (v.sin(x), {"cos": v.cos(x)}))
    rrule.register(f)(lambda x: (f(x), lambda g: (entry(g, 0) * v.cos(x) + g[1]["cosine"],)))
    with pytest.raises(KeyError, match="'cosine'"):
        grad(lambda x: np.sum(f(x)[0]) + np.sum(f(x)[1]["cos"]))(X)


def scaled(key):
    @primitive
    def f(p: dict):
        return p["w"] * p["b"]

    def f_frule(dots, p: dict):
        return f(p), entry(dots[0], key) * p["b"] + p["w"] * entry(dots[0], "b")

    frule.register(f)(f_frule)
    return f


@pytest.mark.parametrize(
    "way",
    [
        lambda f: frule((Tangent[dict](w=X),), f, {"w": X, "b": X + 1})[1],
        lambda f: jvp(lambda x: f({"w": x, "b": X + 1}), (X,), (X,))[1],
        lambda f: grad(lambda x: np.sum(f({"w": x, "b": X + 1})))(X) * X,
    ],
)
def test_a_push_that_reads_another_key_is_an_error(way):
    np.testing.assert_allclose(way(scaled("w")), X * (X + 1))
    with pytest.raises(KeyError, match="'ww'"):
        way(scaled("ww"))


def doubled(cls, push):
    @primitive
    def f(x):
        return cls(a=2.0 * x, b=5.0 * x)

    rule(f)(lambda x: (f(x), (LinearMap(push, lambda c: 2.0 * c["a"] + 5.0 * c["b"]),)))
    return f


@pytest.mark.parametrize("cls", [dict, OrderedDict])
def test_a_push_may_give_the_keys_in_any_order(cls):
    f = doubled(cls, lambda t: cls(b=5.0 * t, a=2.0 * t))
    assert jvp(lambda x: f(x)["b"], (1.0,), (1.0,)) == (5.0, 5.0)
    assert linearize(lambda x: f(x)["b"], 1.0)[1](1.0) == 5.0


def test_a_push_that_leaves_out_a_key_is_an_error():
    f = doubled(dict, lambda t: {"a": 2.0 * t})
    with pytest.raises(ProjectionError, match="has no 'b'; write ZeroTangent"):
        jvp(lambda x: f(x)["b"], (1.0,), (1.0,))


def test_a_rule_that_gives_another_key_is_an_error():
    @primitive
    def f(p: dict):
        return p["w"] * 2.0

    def f_rrule(p: dict):
        return f(p), lambda g: (Tangent[dict](weight=2.0 * g),)

    rrule.register(f)(f_rrule)
    with pytest.raises(ProjectionError, match="no field 'weight'; its fields are: w"):
        grad(lambda p: np.sum(f(p)))({"w": X})
