"""Blocks of a derivative that nobody has stated, where the rest is transposed."""

import pytest

from chainrules_py import (
    NotDifferentiableError,
    NotImplementedTangent,
    Tangent,
    UndefinedTangent,
    ZeroTangent,
    frule,
    is_zero,
    primitive,
    rrule,
)
from chainrules_tape import grad, jvp

A, B = NotImplementedTangent("nobody knows a"), UndefinedTangent("there is no b")
P = {"a": 2.0, "b": 3.0, "c": 5.0}


def both(p):
    return p["a"] * p["c"], p["b"] + p["c"]


@primitive
def pulled(p):
    return both(p)


@rrule.register(pulled)
def pulled_rrule(p: dict):
    def pullback(y_bar):
        s, r = y_bar[0], y_bar[1]
        a_bar = ZeroTangent() if is_zero(s) else A
        b_bar = ZeroTangent() if is_zero(r) else B
        return ({"a": a_bar, "b": b_bar, "c": s * p["a"] + r},)

    return both(p), pullback


@primitive
def pushed(p):
    return both(p)


@frule.register(pushed)
def pushed_frule(tangents, p: dict):
    (p_dot,) = tangents
    a_dot, b_dot, c_dot = p_dot["a"], p_dot["b"], p_dot["c"]
    s = c_dot * p["a"] if is_zero(a_dot) else A
    r = c_dot if is_zero(b_dot) else B
    return both(p), (s, r)


WAYS = {
    "pull": lambda f: grad(f),
    "push": lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
}


@pytest.mark.parametrize("f", [pulled, pushed])
@pytest.mark.parametrize("way", WAYS)
def test_each_block_is_stated_or_not_by_itself(f, way):
    def slope(key, part):
        return WAYS[way](lambda x: f({**P, key: x})[part])(P[key])

    assert (slope("c", 0), slope("c", 1)) == (2.0, 1.0)
    assert (slope("a", 1), slope("b", 0)) == (0.0, 0.0)
    with pytest.raises(NotDifferentiableError, match=A.reason):
        slope("a", 0)
    with pytest.raises(NotDifferentiableError, match=B.reason):
        slope("b", 1)


@pytest.mark.parametrize("f", [pulled, pushed])
def test_what_is_asked_together(f):
    square = lambda x: f({**P, "b": x, "c": x})[0]
    assert jvp(square, (5.0,), (1.0,))[1] == grad(square)(5.0) == 2.0
    with pytest.raises(NotDifferentiableError, match=B.reason):
        jvp(lambda x: f({**P, "b": x, "c": x}), (5.0,), (1.0,))
    tangent = Tangent[dict](c=1.0)
    assert jvp(f, (P,), (tangent,))[1] == (2.0, 1.0)


def test_a_pull_that_always_gives_it():
    f = primitive(lambda p, x: p[0] * x)
    pull = lambda p, x: lambda bar: ((A, bar), bar * p[0])
    rrule.register(f, types=(tuple, object))(lambda p, x: (p[0] * x, pull(p, x)))
    assert jvp(lambda x: f((2.0, 7.0), x), (3.0,), (1.0,))[1] == 2.0
    assert jvp(lambda q: f((2.0, q), 3.0), (7.0,), (1.0,))[1] == 1.0
    with pytest.raises(NotDifferentiableError, match=A.reason):
        jvp(lambda q: f((q, 7.0), 3.0), (2.0,), (1.0,))
