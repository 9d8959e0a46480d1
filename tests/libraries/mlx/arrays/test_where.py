"""Choices leave out what is not chosen: infinite tangents, in every nesting, beside the tape's."""

import numpy as np
import pytest

from chainrules_py import export
from chainrules_py import ops as v
from chainrules_tape import grad, jvp

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")

X = np.array([0.3, -0.5, 0.0], np.float32)
U = np.array([1.0, 0.5, -2.0], np.float32)
SQUARE = np.ones((3, 3), np.float32)

CHOICES = {
    "where": lambda x: v.where(x > 0, v.sqrt(x), v.multiply(0.0, x)),
    "where not": lambda x: v.where(x <= 0, 0.0, v.sqrt(x)),
    "where, broadcast": lambda x: v.where(v.expand_dims(x, axis=0) > 0, v.sqrt(x), SQUARE),
    "where, numbers": lambda x: v.where(np.array([1, 0, 0]), v.log(x), 2),
    "tril": lambda x: v.tril(v.outer(v.sqrt(v.abs(x)), SQUARE[0]), k=-3),
    "triu": lambda x: v.triu(v.outer(v.sqrt(v.abs(x)), SQUARE[0]), k=1),
}


def taped(f, mapped):
    total = lambda x: v.sum(f(x))
    push = lambda f: lambda x: jvp(f, (x,), (U,))[1]
    return {
        "jvp": push(f),
        "grad": grad(total),
        "jvp of jvp": push(push(f)),
        "jvp of grad": push(grad(total)),
        "grad of jvp": grad(lambda x: v.sum(push(f)(x))),
    }


def doors(f):
    total = lambda x: mx.sum(f(x))
    push = lambda f: lambda x: mx.jvp(f, [x], [mx.array(U)])[1][0]
    rows = lambda f: lambda x: mx.vmap(f)(mx.stack([x + 1.0, x]))[1]
    return {
        "jvp": [push(f), push(mx.compile(f)), mx.compile(push(f)), rows(push(f)), push(rows(f))],
        "grad": [mx.grad(total), mx.compile(mx.grad(total)), rows(mx.grad(total))],
        "jvp of jvp": [push(push(f)), rows(push(push(f)))],
        "jvp of grad": [push(mx.grad(total))],
        "grad of jvp": [mx.grad(lambda x: mx.sum(push(f)(x)))],
    }


@pytest.mark.filterwarnings("ignore")  # roots and logarithms of what is not chosen
@pytest.mark.parametrize("name", CHOICES)
def test_what_is_not_chosen_is_left_out(name):
    """MLX multiplies tangents by the mask, and had NaN."""
    f, x = CHOICES[name], mx.array(X)
    for which, slope in taped(f, X).items():
        want = slope(X)
        if which in ("jvp", "grad"):
            assert np.all(np.isfinite(want))
        for g in (f, export(f, to="mlx")):
            for run in doors(g)[which]:
                np.testing.assert_allclose(np.array(run(x)), want, rtol=1e-4, atol=1e-5)


def test_rows_share_masks_and_numbers():
    rows = np.stack([X, -X])
    pick = mx.vmap(lambda c, a, b: v.where(c, a, b), in_axes=(1, None, 0))
    c = np.array([[True, False], [False, False], [True, True]])
    have = pick(mx.array(c), mx.array(X), mx.array(rows))
    assert np.array_equal(np.array(have), np.where(c.T, X, rows))


@pytest.mark.parametrize("k", [-1, 0, 2])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 2)])
def test_triangles_are_those_of_numpy(shape, k):
    for dtype in (np.float32, np.int32):
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        assert np.array_equal(np.array(v.tril(mx.array(x), k=k)), np.tril(x, k))
        assert np.array_equal(np.array(v.triu(mx.array(x), k=k)), np.triu(x, k))
