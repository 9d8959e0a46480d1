"""Each operation has NumPy's bits in any layout: of several draws, as one may agree."""

import warnings

import numpy as np
import pytest

from chainrules_compile import RecordingWarning
from chainrules_py import ops as v
from chainrules_tape import grad, value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.c.test_c import compiled

pytestmark = pytest.mark.usefixtures("native")
N = 12
LAYOUTS = {
    "C": lambda x: x[:N, :N].copy(),
    "Fortran": lambda x: x[:N, :N].copy().T,
    "parts of rows": lambda x: x[3 : 3 + N, 2 : 2 + N],
    "parts of columns": lambda x: x[3 : 3 + N, 2 : 2 + N].T,
    "steps": lambda x: x[::2, :24:2],
    "steps, turned": lambda x: x[::2, :24:2].T,
    "backwards parts": lambda x: x[N - 1 :: -1, 2 + N : 2 : -1],
    "rows backwards": lambda x: x[:N, :N].copy()[::-1],
    "columns backwards": lambda x: x[:N, :N].copy()[:, ::-1],
    "backwards": lambda x: x[:N, :N].copy()[::-1, ::-1],
    "one row": lambda x: np.broadcast_to(x[0, :N], (N, N)),
    "one column": lambda x: np.broadcast_to(x[:N, :1], (N, N)),
    "gathered": lambda x: x[np.arange(N)][:, np.arange(N)[::-1]],
}
EYE = 9.0 * np.eye(N)
OPERATIONS = {
    "sums": lambda a: (np.sum(a), np.sum(a, axis=0), np.sum(a, axis=1), np.sum(a[:, 1:4])),
    "sums of vectors": lambda a: (np.sum(a[0]), np.sum(a[:, 0]), np.sum(a[2:5])),
    "products": lambda a: (np.prod(a), np.prod(a, axis=0), np.prod(a, axis=1), np.prod(a[:, 0])),
    "norms": lambda a: (np.linalg.norm(a), np.linalg.norm(a[0]), np.linalg.norm(a[:, 0])),
    "norms along axes": lambda a: (np.linalg.norm(a, axis=0), np.linalg.norm(a[:, :3], axis=1)),
    "vector norms": lambda a: (v.vector_norm(a), v.vector_norm(a, axis=0), v.vector_norm(a[:, 0])),
    "means": lambda a: (np.mean(a), np.mean(a, axis=0), np.mean(a, axis=1), np.mean(a[:, 1])),
    "variances": lambda a: (np.var(a), np.var(a, axis=0), np.var(a, axis=1), np.std(a[:, 0])),
    "matrices": lambda a: (a @ a, a @ a.T, a.T @ a, a[:, :3] @ a[:3], a[1:4].T @ a[1:4]),
    "matrices and vectors": lambda a: (a @ a[0], a @ a[:, 0], a[0] @ a, a[:, 0] @ a),
    "vectors": lambda a: (a[0] @ a[0], a[:, 0] @ a[:, 0], a[0] @ a[:, 1], a[:, 2] @ a[1]),
    "dot": lambda a: (a.dot(a), a.dot(a.T), a.dot(a[:, 0]), np.dot(a[:, 0], a)),
    "dot of vectors": lambda a: (np.dot(a[0], a[0]), np.dot(a[:, 0], a[:, 0]), np.vdot(a, a)),
    "inner": lambda a: (np.inner(a, a), np.inner(a[0], a[:, 0]), np.inner(a, a[:, 0])),
    "tensordot": lambda a: (
        *[np.tensordot(a, a, axes=n) for n in (1, 2, ([0], [0]), ([1], [1]))],
        np.tensordot(a[0], a, axes=1),
        np.tensordot(a[:, 0], a[:, 0], axes=1),
    ),
    "outer": lambda a: (np.outer(a[0], a[:, 0]), np.trace(a), np.trace(a[:, 1:])),
    "running": lambda a: (np.cumsum(a), np.cumsum(a, axis=0), np.cumsum(a[:, 0]), np.diff(a)),
    "extremes": lambda a: (np.max(a), np.max(a, axis=0), np.min(a, axis=1), np.ptp(a)),
    "einsum": lambda a: (np.einsum("ij,ij->", a, a), np.einsum("ij,jk->ik", a, a)),
    "einsum, one left out": lambda a: (
        *[np.einsum(f"ij->{out}", a) for out in ("i", "j", "ji", "")],
        *[np.einsum(f"ij,jk->{out}", a, a) for out in ("i", "k", "ki", "j", "kji")],
    ),
    "stacks": lambda a: (np.stack([a, a]) @ a, np.sum(np.stack([a, a.T], axis=-1), axis=(0, 2))),
    "solutions": lambda a: (np.linalg.solve(a + EYE, a[:, 0]), np.linalg.inv(a + EYE)),
    "factors": lambda a: (np.linalg.cholesky(a @ a.T + EYE), np.linalg.slogdet(a + EYE)[1]),
    "loops": lambda a: (np.exp(a), np.sin(a), np.tanh(a), np.log(np.abs(a)), np.cbrt(a)),
    "loops of vectors": lambda a: (np.exp(a[0]), np.exp(a[::-1, 0]), np.log1p(a[1, ::-2] ** 2)),
    "loops of two": lambda a: (np.abs(a) ** 1.5, np.arctan2(a, a.T), np.logaddexp(a[0], a[:, 0])),
    "loops of two types": lambda a: (
        np.arctan2(a, np.arange(N)),
        np.logaddexp(a.T.astype(np.float32), np.abs(a) + 0.1),
    ),
    "operators": lambda a: (a * a[::-1], a / (a.T + 1e-3), a**3, np.sqrt(np.abs(a))),
    "sorts": lambda a: (np.sort(a), np.sort(a, axis=0), np.argsort(a, axis=1), np.sort(a[:, 0])),
    "convolutions": lambda a: (np.convolve(a[0], a[:, 0]), np.correlate(a[:, 0], a[:3, 0])),
    "covariances": lambda a: (np.kron(a[:2, :3], a[:, :2]), np.cov(a), np.median(a, axis=0)),
}
LIES = tuple(LAYOUTS.values())
SAMPLE = (
    *("norms", "variances", "tensordot", "loops", "loops of vectors"),
    *("einsum, one left out", "loops of two types"),
)


def draws(dtype):
    return [np.random.default_rng(s).standard_normal((24, 26)).astype(dtype) for s in range(8)]


def check(f, dtype, layouts=LIES):
    """Compare what a function gives of an array that lies in any of these ways."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", RecordingWarning)
        program = compiled(whole := lambda x: tuple([f(lie(x)) for lie in layouts]))
        for x in draws(dtype):
            assert all(map(near, program(x), whole(x)))


def test_a_sample_of_operations_and_layouts():
    layouts = [LAYOUTS[name] for name in ("steps", "one row", "backwards")]
    check(lambda a: tuple([OPERATIONS[name](a) for name in SAMPLE]), np.float64, layouts)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_arrays_that_lie_in_any_way(name, dtype):
    check(OPERATIONS[name], dtype)


@pytest.mark.nightly
@pytest.mark.parametrize("name", OPERATIONS)
def test_derivatives_of_operations_of_arrays_that_lie_in_any_way(name):
    def total(a):
        ys = [y for y in OPERATIONS[name](a) if y.dtype.kind == "f"]
        return sum([np.sum(np.sin(y) * np.arange(1.0, y.size + 1).reshape(y.shape)) for y in ys])

    for lie in LIES:
        both = value_and_grad(lambda x, lie=lie: total(lie(x)))
        check(both, np.float64, [lambda x: x])


SPREAD = {
    "products": lambda p, a: p * a,
    "quotients": lambda p, a: a / p,
    "numbers over arrays": lambda p, a: p / a,
    "sums": lambda p, a: p + a,
    "differences": lambda p, a: a - p,
    "lengths": np.hypot,
    "angles": np.arctan2,
    "powers": lambda p, a: np.abs(a) ** p,
    "crosses": lambda p, a: np.cross(p[..., :3], a[..., :3]) if p.shape[-1:] == (N,) else p * p,
}
PARTNERS = {
    "0-d": lambda x: x[0, 0],
    "one": lambda x: x[0, :1],
    "one of one row": lambda x: x[:1, :1],
    "row": lambda x: x[1, :N],
    "column": lambda x: x[:N, 1:2],
    "one row": lambda x: x[:1, :N],
    "number": lambda x: x[2, 2] * 1.0,
    "array": lambda x: x[:N, :N],
}
PARTS = {
    "whole": lambda a: a,
    "row": lambda a: a[0],
    "column": lambda a: a[:, 0],
    "every second": lambda a: a[1, ::2],
    "part": lambda a: a[:, 1:8],
    "long": lambda a: np.concatenate([a, a, a])[:, 1],
}


def spread(name, part, layouts=LIES):
    """Return the gradients, in numbers and in arrays, of operators that spread one of the two."""

    def loss(p, a):
        y = SPREAD[name](p, a)
        return np.sum(np.sin(y) * np.arange(1.0, y.size + 1).reshape(y.shape))

    def both(x):
        found = []
        for lie in layouts:
            a = PARTS[part](lie(x))
            for partner in PARTNERS.values():
                p = partner(x)
                try:
                    np.broadcast_shapes(p.shape, a.shape)
                except ValueError:
                    continue
                found.append(grad(loss, (0, 1))(p, a))
        return tuple(found)

    return both


@pytest.mark.parametrize("name, part", [("products", "column")])
def test_what_is_spread_over_arrays_that_lie_in_any_way(name, part):
    layouts = [LAYOUTS[each] for each in ("C", "rows backwards", "one row")]
    check(spread(name, part, layouts), np.float64, [lambda x: x])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", SPREAD)
def test_all_that_is_spread_over_arrays_that_lie_in_any_way(name, part, dtype):
    check(spread(name, part), dtype, [lambda x: x])


@pytest.mark.parametrize("n", [2, 30])
def test_a_result_of_scipys_may_be_laid_out_in_another_way_at_a_later_call(n):
    """It was read by the strides of the first one: other numbers, and memory beyond the array."""
    a = np.random.default_rng(0).standard_normal((n, n)) / np.sqrt(n)
    slope = grad(lambda a: np.sum(v.expm(a) ** 2))
    c = compiled(slope)
    for scale in (0.01, 1.0, 4.0, 10.0):
        assert near(c(a * scale), slope(a * scale))
