"""Products along any axes, and operations of several steps, leave nothing to NumPy."""

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.c import native_programs
from chainrules_py import ops as v
from chainrules_py.extend import flatten
from chainrules_tape import value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.c.test_c import check, compiled, some

pytestmark = pytest.mark.usefixtures("native")
PLACES = np.array([2, 0, -1, 2])
STEPS = {
    "mean": lambda x: (np.mean(x), np.mean(x, axis=0), np.mean(x, axis=(0, 1))),
    "mean kept": lambda x: (np.mean(x, axis=1, keepdims=True), np.mean(x.T, axis=-1)),
    "var": lambda x: (np.var(x), np.var(x, axis=0), np.var(x, axis=1, ddof=1)),
    "var kept": lambda x: (np.var(x[::2, ::-1], axis=0, keepdims=True), np.var(x.T)),
    "std": lambda x: (np.std(x), np.std(x, axis=-1)),
    "outer": lambda x: (np.outer(x[0], x[:, 1]), np.outer(x[0], x[1])),
    "outer of all": lambda x: (np.outer(x[:2, ::2], x.T[:2]), np.outer(np.sum(x), x[0])),
    "triangles": lambda x: (np.tril(x), np.tril(x.T, -1), np.triu(x[::-1], 1), np.triu(x, -9)),
    "stacked triangles": lambda x: (np.tril(x[None] * x[:, None]), np.triu(x[:, None, ::-1], k=2)),
    "trace": lambda x: (v.trace(x), v.trace(x, offset=1), v.trace(x.T, offset=-1)),
    "diff": lambda x: (np.diff(x), np.diff(x, axis=0), np.diff(x[:, 0])),
    "tile": lambda x: (np.tile(x, (2, 1)), np.tile(x, 3), np.tile(x, (2, 1, 2)), np.tile(x.T, 2)),
    "take": lambda x: (np.take(x, PLACES, axis=0), np.take(x, PLACES[:2, None], axis=1)),
    "take by position": lambda x: np.take(x, PLACES[:2], 1) * x[:, :2],
    "clip": lambda x: (np.clip(x, -0.5, 1), np.clip(x[0], x[1], x[2] + 1.0)),
    "one": lambda x: (np.sum(x[0, 0] * 2.0), np.max(np.sum(x)), np.sum(-0.0 * x[-1, -1])),
    "real": lambda x: (v.real(x) * 2.0, v.real(x)[1:]),
    "concat": lambda x: (v.concat(x, x * 2.0, axis=1), v.stack(x, -x, axis=-1)),
    "broadcast": lambda x: (
        v.broadcast_to(x[:1], shape=x.shape) + 1.0,
        np.broadcast_to(x, (2, *x.shape)) * x,
    ),
    "abs": lambda x: (abs(x[0, 0]) * abs(x), x + 1.0),
}


def operand(dtype, shape=(4, 5)):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
def test_all_operations_at_once(dtype):
    check(lambda x: tuple([y for f in STEPS.values() for y in f(x)]), operand(dtype), whole=False)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4, 5), (1, 3), (40, 70)])
@pytest.mark.parametrize("name", STEPS)
def test_each_operation_and_its_derivative(name, shape):
    def total(x):
        return sum([np.sum(np.sin(y) * y) for y in STEPS[name](x)])

    if name in ("take", "clip", "diff", "outer") and shape[0] < 3:
        pytest.skip("there are not so many rows")
    check(value_and_grad(total), operand(np.float64, shape), whole=False)


ZEROS = np.array([0.0, 0.0, -0.0, -0.0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, -0.0), (ZEROS, 1.0), (-1.0, -ZEROS)])
def test_a_zero_at_a_bound_has_the_sign_that_it_has_in_numpy(bounds, dtype):
    x, few = ZEROS[[0, 2, 0, 2]].astype(dtype), [np.asarray(z, dtype) for z in bounds]
    g = compiled(lambda x, *bounds: np.clip(x, *bounds))
    for _ in range(2):
        assert g(x, *few).tobytes() == np.clip(x, *few).tobytes()


SHAPES = {
    "a row backwards": lambda x: x[::-1],
    "parts of rows": lambda x: x[:, :3],
    "parts of rows, backwards": lambda x: x[::-1, 1:],
    "more than a buffer": lambda x: np.broadcast_to(x, (700, *x.shape))[:, :, 1:] * 1.0,
}


def test_sums_of_what_does_not_lie_flat():
    def f(x):
        parts = [g(x) for g in SHAPES.values()]
        return tuple([np.sum(y, axis=axis) for y in parts for axis in (None, 0, (0, 1))])

    with np.errstate(all="ignore"):
        check(f, operand(np.float32, (6, 7)), whole=False)


def test_a_mean_of_many_and_its_shares():
    check(value_and_grad(lambda x: np.mean(x * x)), operand(np.float64, (70_000,)))


ONES = {
    "first": lambda x: x[None],
    "last": lambda x: x[..., None],
    "between": lambda x: x[:, None],
    "several": lambda x: x.reshape(1, 3, 1, 4, 1),
    "of a part": lambda x: x[1:2, 1:],
    "none": lambda x: x,
}


@pytest.mark.parametrize("name", ONES)
def test_axes_of_one_element_are_no_gaps(name):
    """Sums of what was broadcast are products with ones, wherever the array is in C order."""
    rng = np.random.default_rng(5)
    spread, n = ONES[name], ONES[name](np.zeros((3, 4))).ndim

    def total(x, b, c):
        return np.sum(np.hypot(spread(x), b) * np.sin(spread(x) * c))

    g = compiled(value_and_grad(total, (0, 1, 2)))
    for _ in range(40):  # other orders of a sum give the same often
        xs = rng.standard_normal((3, 4)), rng.standard_normal(()), rng.standard_normal((1,) * n)
        assert near(g(*xs), value_and_grad(total, (0, 1, 2))(*xs))


ROWS = {
    "vectors": lambda w, u: w.T @ np.tanh(w @ u),
    "matrices": lambda w, u: w.T @ np.tanh(w @ np.outer(u, u)[:, :2])[:, 1],
    "vectors the other way": lambda w, u: np.tanh(u @ w.T) @ w,
}


@pytest.mark.parametrize("name", some(ROWS, 1))
def test_products_that_are_joined_leave_nothing_to_numpy(name):
    """What looser passes make of many turns is C as well: one function, and no line between."""

    def total(w, u):
        for _ in range(12):
            u = np.sin(ROWS[name](w, u))
        return np.sum(u)

    rng = np.random.default_rng(8)
    w, u, both = rng.random((5, 3)), rng.random(3), value_and_grad(total, (0, 1))
    g = compile(both, target="c")
    g(w, u)
    for k in (1.0, -0.3):
        for found, wanted in zip(flatten(g(k * w, u))[0], flatten(both(k * w, u))[0], strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    assert "joined_rows" not in g.source
    assert (
        sum([type(c.function) is native_programs.driver().Native for c in g.programs[0].program])
        == 1
    )


def concatenated(x, y):
    a, b = x * y, np.sin(x) @ y.T
    c = np.concatenate([a, b @ x, x, a + 1.0])
    return np.sum(c * c), c, np.sum(a, 0), np.concatenate([a, b], axis=1)


def rows_of_turns(x, y):
    rows = [x[0]]
    for i in range(6):
        rows.append(np.tanh(rows[-1] * y[i % 3] + x[1]))
    s = np.stack(rows)
    return s, np.sum(s @ s.T), rows[3] * 2.0


def numbers_in_a_row(x, y):
    given = [*[np.sum(x[i] * y[i]) for i in range(3)], x[0, 0] * 2.0]
    s, z = np.stack(given), np.stack(given[::-1])
    return s, z, s * z, np.stack([s, z], axis=1), np.stack([s * 1.5, z - 1.0])


def joined_twice(x, y):
    a = (x * y).T * 1.0
    s, b = np.stack([a, a, a * 2.0]), a + 1.0
    whole = np.concatenate([b, s[0], np.cumsum(b, 0), b[::-1]])
    return s, whole, np.sum(whole) + b, np.stack([x > 0.5, y > 0.2])


@pytest.mark.parametrize(
    "f",
    [
        joined_twice,
        rows_of_turns,
        *[pytest.param(f, marks=pytest.mark.slow) for f in (concatenated, numbers_in_a_row)],
    ],
)
def test_what_is_joined(f):
    check(f, operand(np.float64, (3, 3)), operand(np.float64, (4, 3))[1:], whole=False)
