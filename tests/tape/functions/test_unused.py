"""Arguments that the result does not depend on, by the thousand."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import MutationError, NoTangent, NotDifferentiableError
from chainrules_tape import grad, vjp

MANY = [
    np.ones((2, 3), dtype=dtype)[:, :n]
    for dtype in (np.float64, np.float32, np.complex128, np.int64)
    for n in (3, 2, 0)
]


def product(ps):
    return np.sum(ps[0] * ps[1])


def test_zeros_have_the_kind_of_what_they_are_zeros_of():
    x = np.arange(3.0)
    ps = [x, x + 1.0, *MANY]
    g = grad(product)(ps)
    np.testing.assert_array_equal(g[0], ps[1])
    np.testing.assert_array_equal(g[1], ps[0])
    for p, bar in zip(ps[2:], g[2:], strict=True):
        expected = p.dtype if p.dtype.kind in "fc" else np.dtype(float)
        assert (bar.shape, bar.dtype) == (p.shape, expected)
        assert not bar.any()
        assert bar.flags.writeable
        assert not any(bar is other or np.shares_memory(bar, other) for other in ps)
    assert len({id(bar) for bar in g}) == len(g)


def test_none_makes_no_zeros(monkeypatch):
    ps = [np.ones(2) for _ in range(20)]
    gradient = grad(product, unused="none")
    made = []
    zeros = np.zeros
    monkeypatch.setattr(np, "zeros", lambda *xs, **kw: made.append(xs) or zeros(*xs, **kw))
    g = gradient(ps)
    assert g[2:] == [None] * 18
    assert made == []


def test_arrays_that_are_locked_together():
    """Read-only inside, writable behind it, whoever shares them; views made before are compared."""
    ps = [np.ones(2) for _ in range(20)]
    fixed = np.ones(2)
    fixed.flags.writeable = False
    ps[7] = fixed
    ps[9] = ps[10]

    def writes(xs):
        ps[3][0] = 5.0
        return product(xs)

    with pytest.raises(MutationError, match="writes to an array"):
        grad(writes)(ps)

    def inner(xs):
        assert not ps[3].flags.writeable
        grad(product)(ps)
        assert not ps[3].flags.writeable
        return product(xs)

    grad(inner)(ps)
    assert [p.flags.writeable for p in ps] == [p is not fixed for p in ps]
    view = ps[3][:1]

    def writes_to_a_view(xs):
        view[0] = 5.0
        return product(xs)

    with pytest.raises(MutationError, match=r"argument 0\[3\]"):
        grad(writes_to_a_view)(ps)
    assert all(p.flags.writeable for p in ps if p is not fixed)


def test_a_pullback_compares_each():
    ps = [np.ones(2) for _ in range(20)]
    _, pull = vjp(product, ps)
    ps[1][0] = 3.0
    with pytest.raises(MutationError):
        pull(1.0)


def test_none_leaves_out_what_cannot_vary_as_zeros_do():
    params = {"w": 2.0, "act": "tanh", "size": None, "flag": True, "parts": [1.0, "a"], "b": 3.0}
    loss = lambda p: p["w"] ** 2
    none, zero = (grad(loss, unused=unused)(params) for unused in ("none", "zero"))
    assert none == {"w": 4.0, "parts": [None, NoTangent()], "b": None}
    assert zero == {"w": 4.0, "parts": [0.0, NoTangent()], "b": 0.0}
    with pytest.raises(NotDifferentiableError, match=r"argument 0\['b'\]"):
        grad(lambda p: p["w"] * p["parts"][0], unused="raise")(params)
