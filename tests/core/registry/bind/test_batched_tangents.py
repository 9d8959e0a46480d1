"""Operations that take several directions at once: each gives what it gives one by one."""

from __future__ import annotations

import numpy as np
import pytest

import chainrules_scipy.linalg
from chainrules_py import ops as v
from chainrules_py import rules_for
from chainrules_tape import grad, jacobian, vjp

RNG = np.random.default_rng(3)
A, B, LONG = RNG.standard_normal(6), RNG.standard_normal(4), RNG.standard_normal(200)
Z = A + 1j * A[::-1]
KNOTS, VALUES = np.linspace(0.0, 1.0, 5), RNG.standard_normal(5)
PLACES = np.array([2, 0, 2, 5, 1, 0], dtype=np.int8)
MATRIX = RNG.standard_normal((3, 3)) + 3 * np.eye(3)
MATRICES = RNG.standard_normal((2, 3, 3)) + 3 * np.eye(3)

CASES = {
    **{
        f"convolve {mode}, {name}": (f, x)
        for mode in ("full", "same", "valid")
        for name, f, x in (
            ("longer", lambda a, m=mode: np.convolve(a, B, m), A),
            ("shorter", lambda b, m=mode: np.convolve(A, b, m), B),
            ("even shorter", lambda b, m=mode: np.convolve(A, b, m), B[:2]),
            ("both", lambda a, m=mode: np.convolve(a, a[:3], m), A),
            ("complex", lambda a, m=mode: np.convolve(a, B * 1j, m), Z),
            ("complex beside real", lambda b, m=mode: np.convolve(Z, b, m), B),
            ("one element", lambda a, m=mode: np.convolve(a, B, m), A[:1]),
            ("very long", lambda a, m=mode: np.convolve(a, B, m), LONG),
            ("beside a very long one", lambda b, m=mode: np.convolve(LONG, b, m), B),
            ("correlate", lambda a, m=mode: np.correlate(a, B, m), A),
            ("correlate shorter", lambda b, m=mode: np.correlate(b, A, m), B),
        )
    },
    "polymul": (lambda a: np.polymul(a, B), A),
    "interp": (lambda x: np.interp(x, KNOTS, VALUES), RNG.uniform(-0.2, 1.2, 7)),
    "interp of axes": (lambda x: np.interp(x, KNOTS, VALUES), RNG.uniform(0.1, 0.9, (2, 3))),
    "interp values": (lambda f: np.interp(KNOTS[:3] + 0.1, KNOTS, f), VALUES),
    "interp values of axes": (lambda f: np.interp([[0.3, 0.1]], KNOTS, f), VALUES),
    "interp values, one": (lambda f: np.interp(0.3, KNOTS, f), VALUES),
    "interp values, complex": (lambda f: np.interp([0.3, 0.1], KNOTS, f * (1 + 2j)), VALUES),
    "interp knots": (lambda xp: np.interp([0.3, 0.1, 0.9], xp, VALUES), KNOTS),
    "interp twice": (lambda x: np.interp(x, np.linspace(-5, 5, 6), x), A),
    "bincount": (lambda w: np.bincount(PLACES, w), A),
    "bincount, longer": (lambda w: np.bincount(PLACES, w, 9), A),
    "bincount, empty": (lambda w: np.bincount(PLACES[:0], w[:0], 2) + w[0], A),
    "polyval": (lambda p: np.polyval(p, A), B),
    "polyval of axes": (lambda p: np.polyval(p, MATRIX), B),
    "polyval, one": (lambda p: np.polyval(p, 0.5), B),
    "polyval, complex": (lambda p: np.polyval(p, Z), B),
    "polyval, argument": (lambda x: np.polyval(B, x), MATRIX),
    "roots": (lambda p: np.roots(p).real, B),
    "roots, complex": (lambda p: np.roots(p), Z),
    "lu": (lambda a: chainrules_scipy.linalg.lu_factor(a)[0], MATRIX),
    "lu of several": (lambda a: chainrules_scipy.linalg.lu_factor(a)[0], MATRICES),
    "gradient of expm": (grad(lambda a: np.sum(chainrules_scipy.linalg.expm(a) ** 2)), MATRIX / 9),
}


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", CASES)
def test_the_jacobian_is_that_of_directions_one_by_one(name, mode):
    f, x = CASES[name]
    y, pullback = vjp(f, x)
    holomorphic = np.iscomplexobj(x) and np.iscomplexobj(y)
    have = jacobian(f, mode=mode, holomorphic=holomorphic)(x)
    assert have.shape == (*y.shape, *x.shape)
    ones = np.eye(y.size).reshape(-1, *y.shape)
    if np.iscomplexobj(y):  # dRe and dIm, put together as Jacobians of complex results are
        if not holomorphic:
            rows = [pullback(e + 0j)[0] + 1j * pullback(1j * e)[0] for e in ones]
        else:
            rows = [np.conj(pullback(e + 0j)[0]) for e in ones]
    else:
        rows = [pullback(e)[0] for e in ones]
    np.testing.assert_allclose(have.reshape(y.size, *x.shape), rows, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "operation", [v.bincount, v.convolve, v.interp, v.polyval, v.roots, v.lu_factor, v.expm_frechet]
)
def test_their_rules_say_so(operation):
    assert all(rule.recipe.batched for rule in rules_for(operation))
