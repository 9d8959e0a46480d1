"""Halves of `frule.register` that ask more of the tangent of a constant operand than to add it.

The truth is the same function without a rule.
"""

import itertools

import numpy as np
import pytest

from chainrules_py import ZeroTangent, export, frule, is_zero, primitive
from chainrules_py import ops as v
from chainrules_tape import grad, jvp

A = np.array([[0.7, -1.3], [0.2, 1.9]])
B = np.array([[1.1, 0.4], [-0.6, 2.3]])

# What a half may do with a tangent: a function linear in t.
USES = {
    "sum": lambda t: v.sum(t, axis=0, keepdims=True) + 0 * t,
    "np.sum": lambda t: np.sum(t) + 0 * t,
    "method": lambda t: t.sum() + 0 * t,
    "property": lambda t: t.T,
    "index": lambda t: t[0] + 0 * t,
    "matmul": lambda t: v.matmul(A, t),
    "@": lambda t: t @ A,
    "@ behind": lambda t: A @ t,
    "np.matmul": lambda t: np.matmul(t, A),
    "multiply": lambda t: v.multiply(t, A),
    "reshape": lambda t: v.reshape(v.reshape(t, shape=(4,)), shape=(2, 2)),
    "transpose": v.matrix_transpose,
    "flip": lambda t: v.flip(t, axis=0),
    "where": lambda t: v.where(A > 0, t, 0.0),
    "concat": lambda t: v.concat(t, 2 * t, axis=0)[:2],
    "stack": lambda t: v.stack(t, t, axis=0)[1],
    "solve": lambda t: v.solve(A, t),
    "add": lambda t: v.add(t, t),
    "plain": lambda t: 3.0 * t,
}


def made(use):
    """x, y -> use(x) y + x use(y), which is linear in each."""

    def plain(x, y):
        return use(x) * y + x * use(y)

    f = primitive(plain)

    @frule.register(f)
    def _(tangents, x, y):
        a, b = tangents
        return f(x, y), use(a) * y + a * use(y) + use(x) * b + x * use(b)

    return f, plain


def swapped(f, which):
    return (lambda x: f(x, B)) if which == 0 else lambda x: f(B, x)


def loss(f):
    return lambda x: v.sum(f(x) * f(x))


def of_tape_forward(f, x):
    return jvp(f, (x,), (A,))[1]


def of_tape(f, x):
    return grad(loss(f))(x)


def of_tape_twice(f, x):
    return jvp(grad(loss(f)), (x,), (A,))[1]


WAYS = [of_tape_forward, of_tape, of_tape_twice]


@pytest.mark.parametrize("use", USES)
def test_zeros_are_written_out_where_a_half_asks_more_of_them(use):
    for way, which in itertools.product(WAYS, (0, 1)):
        f, plain = made(USES[use])
        expected = way(swapped(plain, which), A)
        np.testing.assert_allclose(way(swapped(f, which), A), expected, rtol=1e-12, atol=1e-14)
    f, plain = made(USES[use])
    found = frule((A, ZeroTangent()), f, A, B)[1]
    np.testing.assert_allclose(found, of_tape_forward(swapped(plain, 0), A), rtol=1e-12)


@pytest.mark.parametrize("use", ["sum", "method", "flip", "plain"])
@pytest.mark.parametrize("which", [0, 1])
def test_they_are_in_torch(use, which):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    f, plain = made(USES[use])
    b = torch.tensor(B)
    exported = export(f, to="torch")

    def total(x):
        return (exported(x, b) if which == 0 else exported(b, x)).sum()

    x = torch.tensor(np.stack([A, 2 * A]))
    found = torch.func.vmap(torch.func.grad(total))(x)
    expected = [grad(lambda x: v.sum(swapped(plain, which)(x)))(part) for part in (A, 2 * A)]
    np.testing.assert_allclose(found.numpy(), np.stack(expected), rtol=1e-12)


@pytest.mark.parametrize("use", ["sum", "multiply", "plain"])
@pytest.mark.parametrize("which", [0, 1])
def test_they_are_in_mlx(use, which):
    mx = pytest.importorskip("mlx.core", reason="MLX is not installed")
    f, plain = made(lambda t: USES[use](t) if use != "multiply" else t * 3.0)
    a, b, exported = mx.array(A), mx.array(B), export(f, to="mlx")
    run = lambda x: exported(x, b) if which == 0 else exported(b, x)
    expected = of_tape_forward(swapped(plain, which), A)
    np.testing.assert_allclose(mx.jvp(run, [a], [a])[1][0], expected, rtol=1e-6)
    found = frule((a, ZeroTangent()), f, a, b)[1]
    np.testing.assert_allclose(found, of_tape_forward(swapped(plain, 0), A), rtol=1e-6)


def test_a_half_that_adds_and_scales_is_given_none():
    f = primitive(lambda x, y: x * y)
    seen = []

    @frule.register(f)
    def _(tangents, x, y):
        seen.append(tuple(map(is_zero, tangents)))
        return f(x, y), tangents[0] * y + x * tangents[1]

    jvp(lambda x: f(x, B), (A,), (A,))
    assert seen == [(False, True)]


def test_what_fails_of_arrays_too_is_told():
    f = primitive(lambda x, y: x * y)

    @frule.register(f)
    def wrong(tangents, x, y):
        return f(x, y), tangents[0].no_such_name * y

    with pytest.raises(AttributeError, match="no_such_name"):
        jvp(lambda x: f(x, B), (A,), (A,))
