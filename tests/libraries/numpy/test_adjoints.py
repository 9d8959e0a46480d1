"""What NumPy computes by short ways of its own: sums over broadcast axes, transposes, adjoints."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_numpy import adjoints
from chainrules_numpy import array_types as numpy_library
from chainrules_numpy.broadcast_sums import dots
from chainrules_py import Array, LinearMap, bilinear_rule, linear_rule, primitive, rrule, rule
from chainrules_py import ops as v
from chainrules_py.extend import find_rule
from chainrules_py.registry.bind.bind import bind
from chainrules_py.rules.decompositions import cholesky
from chainrules_py.rules.linalg import linear_systems
from chainrules_py.rules.linalg.products import dot_left, dot_right, matmul_left, matmul_right
from chainrules_py.rules.reductions import mean_transpose, sum_transpose
from chainrules_py.tangents.sum_to_shape import planned
from chainrules_py.values.type_info import finite_test
from chainrules_tape import Tape, grad, hessian, jacobian, jvp, value_and_grad, vjp
from tests.forks import Forks

# ------------------------------------------------------------------- sums over broadcast axes


def broadcast_from(result):
    """All shapes that broadcast to a shape."""
    found = set()
    for k in range(len(result) + 1):
        for ones in itertools.product((False, True), repeat=len(result) - k):
            found.add(tuple(1 if one else n for one, n in zip(ones, result[k:], strict=True)))
    return sorted(found - {result})


RESULTS = [(4,), (0,), (3, 5), (1, 5), (3, 1), (0, 4), (4, 0), (2, 3, 4), (1, 3, 4), (2, 1, 4)]
RESULTS += [(2, 3, 1), (2, 0, 3), (2, 3, 4, 5), (5000, 2), (2, 5000)]
DTYPES = [np.float64, np.float32, np.complex128, np.complex64, np.float16, np.longdouble, ">f8"]
LAYOUTS = {
    "in order": lambda t: t,
    "Fortran": np.asfortranarray,
    "backwards": lambda t: np.flip(t).copy()[tuple([slice(None, None, -1)] * t.ndim)],
    "strided": lambda t: np.repeat(t, 2, -1)[..., ::2],
    "broadcast": lambda t: np.broadcast_to(t[:1], t.shape) if t.size else t,
    "read only": lambda t: np.broadcast_to(t, t.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("result", RESULTS, ids=str)
def test_sums_of_every_dtype_and_layout(result, layout):
    rng = np.random.default_rng(0)
    for shape, dtype in itertools.product(broadcast_from(result), DTYPES):
        if dtype is np.float16 and max(result) > 100:  # NumPy's own sums have no digits left
            continue
        t = LAYOUTS[layout](rng.normal(size=result).astype(dtype))
        lead = len(result) - len(shape)
        stretched = [i + lead for i, n in enumerate(shape) if n == 1 != result[i + lead]]
        wide = np.clongdouble if t.dtype.kind == "c" else np.longdouble
        want = np.sum(t.astype(wide), axis=(*range(lead), *stretched), keepdims=True)
        got = planned(result, shape)[0](t)
        assert got.shape == shape
        assert got.dtype == t.dtype.newbyteorder("=")
        assert type(got) is (np.ndarray if shape else got.dtype.type)
        assert not np.shares_memory(got, t)
        # One by one, as NumPy sums down columns, each addition is rounded.
        rounded = max(100, *result) * np.finfo(t.dtype).eps
        tolerance = rounded * max(np.sum(np.abs(t)), 1)
        np.testing.assert_allclose(got, want.reshape(shape), rtol=0, atol=tolerance)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize(
    "result, shape", [((3, 5), (5,)), ((3, 5), (3, 1)), ((2, 3, 4), (2, 1, 4))]
)
def test_sums_keep_what_is_not_finite_where_it_is(result, shape, value):
    t = np.ones(result)
    t[(1,) * len(result)] = value
    lead = len(result) - len(shape)
    axes = (*range(lead), *[i + lead for i, n in enumerate(shape) if n == 1])
    want = np.sum(t, axis=axes, keepdims=True).reshape(shape)
    np.testing.assert_array_equal(planned(result, shape)[0](t), want)


def test_a_traced_sum_is_numpys_own():
    """Sums over broadcast axes may be rounded otherwise; a sum of the program's may not."""
    x = np.random.default_rng(0).normal(size=(500, 5))
    f = lambda x: np.sum(x, axis=-2, keepdims=True)
    np.testing.assert_array_equal(vjp(f, x)[0], f(x))
    np.testing.assert_array_equal(jvp(f, (x,), (x,))[1], f(x))


# -------------------------------------------------------------------- transposes and adjoints

SHAPES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((0, 3), (3, 2))]
SHAPES += [((2, 0), (0, 3)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4))]
SHAPES += [((5, 1, 2, 3), (4, 3, 2)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((1, 2, 3), (5, 3, 4))]


def by_operations(f, xs, y_bar):
    """Cotangents as operations compute them: those of complex numbers, which go no short way."""
    found = vjp(f, *[x + 0j for x in xs])[1](y_bar + 0j)
    return [np.real(bar) for bar in found]


@pytest.mark.parametrize("a, b", SHAPES, ids=str)
@pytest.mark.parametrize("f", [np.matmul, np.dot])
@pytest.mark.parametrize("layout", ["in order", "Fortran", "backwards"])
def test_products_of_every_number_of_axes(f, a, b, layout):
    if f is np.dot and max(len(a), len(b)) > 3:
        return
    rng = np.random.default_rng(0)
    xs = [LAYOUTS[layout](rng.normal(size=shape)) for shape in (a, b)]
    y = f(*xs)
    y_bar = rng.normal(size=np.shape(y)) if np.ndim(y) else np.float64(1.5)
    want = by_operations(f, xs, y_bar)
    both = vjp(f, *xs)[1](y_bar)
    alone = [
        vjp(lambda x, k=k: f(*(x, xs[1]) if k == 0 else (xs[0], x)), xs[k])[1](y_bar)[0]
        for k in range(2)
    ]
    for x, found in ((xs, both), (xs, alone)):
        for x_k, have, should in zip(x, found, want, strict=True):
            assert have.shape == x_k.shape
            np.testing.assert_allclose(have, should, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("a", [np.int64, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("b", [np.int64, np.float32, np.float64, np.complex128])
def test_products_of_mixed_dtypes(a, b):
    x, y = (np.arange(6).reshape(2, 3) + 1).astype(a), (np.arange(12).reshape(3, 4) - 5).astype(b)
    y_bar = np.ones((2, 4), np.result_type(x, y, np.float32))
    found = vjp(np.matmul, x, y)[1](y_bar)
    for bar, of in zip(found, (x, y), strict=True):
        assert bar.dtype == (np.float64 if of.dtype.kind == "i" else of.dtype)
    np.testing.assert_allclose(found[0], np.real_if_close(y_bar @ y.conj().T), rtol=1e-6)
    np.testing.assert_allclose(found[1], np.real_if_close(x.conj().T @ y_bar), rtol=1e-6)


AXES = [None, 0, 1, -1, -2, (0, 1), (0, -1), (1,), ()]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 3), (0, 3), (3, 0), (200, 200)], ids=str)
@pytest.mark.parametrize("f", [np.sum, np.mean])
def test_sums_and_means_give_every_element_its_share(f, shape, keepdims, axis):
    if f is np.mean and not np.prod(shape):
        return
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    y, pull = vjp(lambda x: f(x, axis=axis, keepdims=keepdims), x)
    y_bar = rng.normal(size=np.shape(y)) if np.ndim(y) else np.float64(2.5)
    (found,) = pull(y_bar)
    kept = f(x, axis=axis, keepdims=True)
    n = x.size // kept.size if f is np.mean else 1
    want = np.broadcast_to(np.reshape(y_bar / n, kept.shape), shape)
    np.testing.assert_allclose(found, want, rtol=1e-15)
    assert found.flags.writeable


def test_sums_of_one_element_and_of_none():
    for x in (np.array(2.0), np.float64(2.0), np.array([2.0]), np.zeros((0,))):
        for axis in (None, 0, -1):
            if axis is not None and not np.ndim(x) and isinstance(x, np.float64):
                continue
            (bar,) = vjp(lambda x, a=axis: np.sum(x, axis=a), x)[1](np.float64(3.0))
            np.testing.assert_array_equal(bar, np.full(np.shape(x), 3.0))


LOSSES = {
    "matmul": lambda x: np.sum(np.tanh(x @ x.T) @ x[:, 0]),
    "dot": lambda x: np.dot(x[0], np.dot(x, x[1])) ** 2,
    "sum": lambda x: np.sum(np.sum(x, axis=1) ** 3) * np.mean(x * x),
    "broadcast": lambda x: np.sum((x / x[:, :1] + x[0]) ** 2 * x[1]),
}


@pytest.mark.parametrize("name", LOSSES)
def test_second_order_in_every_nesting_and_on_one_tape(name):
    f, x = LOSSES[name], np.random.default_rng(0).uniform(1, 2, size=(3, 3))
    h = 1e-5
    steps = np.eye(9).reshape(9, 3, 3)
    want = np.stack([(grad(f)(x + h * e) - grad(f)(x - h * e)) / (2 * h) for e in steps])
    flat = hessian(f)(x).reshape(9, 3, 3)
    np.testing.assert_allclose(flat, want, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        jacobian(grad(f), mode="reverse")(x).reshape(9, 3, 3), flat, atol=1e-12
    )
    for e, row in zip(steps[:3], want, strict=False):
        along = jvp(grad(f), (x,), (e,))[1]
        np.testing.assert_allclose(along, row, rtol=1e-6, atol=1e-6)
        inner = lambda x, e=e: jvp(f, (x,), (e,))[1]
        np.testing.assert_allclose(grad(inner)(x), row, rtol=1e-6, atol=1e-6)
        with Tape(differentiable=True) as tape:
            leaf = tape.variable(x)
            (first,) = tape.grad(f(leaf), [leaf])
            (second,) = tape.grad(np.sum(first * e), [leaf])
        np.testing.assert_allclose(getattr(second, "value", second), row, rtol=1e-6, atol=1e-6)


# ----------------------------------------------------------------------- when they are there

ALONE = {
    "logsumexp": "lambda x: v.logsumexp(x[0])",
    "det": "lambda x: v.det(x)",
    "prod": "lambda x: np.prod(x)",
    "mean": "lambda x: np.mean(x)",
    "matmul": "lambda x: (x @ x)[0, 0]",
    "dot": "lambda x: x[0].dot(x[1])",
    "solve": "lambda x: np.linalg.solve(x, np.ones(3))[0]",
    "cholesky": "lambda x: np.linalg.cholesky(x @ x.T)[0, 0]",
}


@pytest.fixture(scope="module")
def forks():
    with Forks("numpy as np, chainrules_tape") as started:
        yield started


@pytest.mark.parametrize("name", ALONE)
def test_a_short_way_is_there_when_an_operation_is_the_first_of_a_process(forks, name):
    done = forks.run(f"""
import sys
import numpy as np
from chainrules_py import ops as v
from chainrules_tape import grad

seen = set()
gradient = grad({ALONE[name]})
sys.setprofile(lambda frame, event, _: seen.add(frame.f_code))
gradient(np.eye(3) + 0.1)
sys.setprofile(None)
from chainrules_numpy import adjoints, array_types, softmax_and_logsumexp, sum_adjoints

ways = {{**array_types.half, **array_types.adjoint}}
ways = {{a.__code__: b.__code__ for a, b in ways.items() if hasattr(a, "__code__")}}
print([a.co_name for a, b in ways.items() if a in seen and b not in seen])
""")
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stdout


# ----------------------------------------------------------------------- whose short ways


def test_short_ways_belong_to_the_rule_and_not_to_the_function():
    """A rule of a user's own is not passed over."""

    @primitive
    def product(a, b):
        return a @ b

    @primitive
    def total(x):
        return np.sum(x)

    bilinear_rule(
        product, lambda y_bar, a, b: 10 * y_bar @ b.T, lambda y_bar, a, b: 10 * a.T @ y_bar
    )
    linear_rule(total, lambda y_bar, x: v.broadcast_to(10 * y_bar, shape=x.shape))
    x = np.arange(4.0).reshape(2, 2)
    np.testing.assert_allclose(
        grad(lambda x: total(product(x, np.eye(2))))(x), np.full((2, 2), 100.0)
    )


def test_a_library_states_its_short_ways(monkeypatch):
    calls = []

    def left(y_bar, a, b):
        return y_bar * b

    def own(y_bar, a, b):
        calls.append(type(y_bar))
        return y_bar * b

    @primitive
    def scaled(a, b):
        return a * b

    bilinear_rule(scaled, left, lambda y_bar, a, b: y_bar * a)
    monkeypatch.setitem(numpy_library.adjoint, left, own)
    x = np.ones(3)
    vjp(lambda a: scaled(a, x), x)[1](x)
    vjp(scaled, x, x)[1](x)
    assert calls == [np.ndarray, np.ndarray]
    vjp(lambda a: scaled(a, 2.0), x)[1](x)  # one of them is no array of the class
    grad(lambda t: np.sum(vjp(lambda a: scaled(a, x), x)[1](t)[0]))(x)  # a traced cotangent
    assert calls == [np.ndarray, np.ndarray]


def test_only_numpy_is_asked_whether_all_is_finite():
    class Lazy:
        pass

    assert finite_test((np.ndarray, float)) is not None
    assert finite_test((np.ndarray, np.float64)) is not None
    assert finite_test((np.ndarray, Lazy)) is None
    assert finite_test((np.ndarray, np.complex128)) is None
    assert finite_test((float, int)) is None


@pytest.mark.parametrize(
    "operation, adjoints",
    [
        (v.matmul, (matmul_left, matmul_right)),
        (v.dot, (dot_left, dot_right)),
        (v.sum, (sum_transpose,)),
        (v.mean, (mean_transpose,)),
    ],
)
def test_the_rules_still_state_what_has_a_short_way(operation, adjoints):
    """The short ways are found by the functions of the rules: another one would lose them."""
    types = (np.ndarray,) * len(adjoints)
    recipe = find_rule(operation, types).reverse.recipe
    assert (getattr(recipe, "adjoints", None) or recipe.transposes) == adjoints
    assert bind(find_rule(operation, types), types, (True,) * len(types), "reverse") is not None


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.complex128])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (5,), (4, 1)])
def test_products_are_summed_without_being_made(shape, dtype):
    rng = np.random.default_rng(3)
    t, p = (rng.standard_normal((2, 4, 5)).astype(dtype) for _ in range(2))
    plan = planned((4, 5), shape)[0]
    eps = 20 * np.finfo(dtype).eps
    for i in (t[0], np.asfortranarray(t[0]), t[0][::-1]):
        found = plan.of_product(i, p[0])
        expected = plan(i * p[0])
        assert type(found) is type(expected)
        assert found.shape == shape
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=eps, atol=eps)
    many = plan.of_product(t, p)  # directions in front are left alone
    each = [plan.of_product(a, b) for a, b in zip(t, p, strict=True)]
    np.testing.assert_allclose(many, each, rtol=eps, atol=eps)
    np.testing.assert_allclose(
        plan.of_product(t[0], np.asarray(2, dtype)), plan(2 * t[0]), rtol=eps, atol=eps
    )


def broadcast(shapes):
    """Make pairs of shapes that are broadcast to one, where the first is spread along axes."""
    rng = np.random.default_rng(7)
    for _ in range(shapes):
        result = tuple(rng.choice([1, 1, 2, 3, 5, 9], rng.integers(1, 5)).tolist())
        pair = []
        for _ in range(2):
            shape = tuple([1 if rng.random() < 0.5 else n for n in result])
            while shape and shape[0] == 1 and rng.random() < 0.5:
                shape = shape[1:]
            pair.append(shape)
        if np.broadcast_shapes(*pair) == result != pair[0]:
            yield result, *pair


def test_what_is_multiplied_by_a_spread_factor_is_summed_by_a_product():
    rng, ways = np.random.default_rng(8), 0
    for result, shape, other in broadcast(2000):
        for dtype in (np.float64, np.float32, np.complex128):
            t, p = (np.asarray(rng.normal(size=s), dtype) for s in (result, other))
            plan, eps = planned(result, shape)[0], 50 * np.finfo(dtype).eps
            for x in (t, np.asfortranarray(t), t[::-1]):
                found, expected = plan.of_product(x, p), plan(x * p)
                assert type(found) is type(expected)
                assert (found.shape, found.dtype) == (shape, expected.dtype)
                np.testing.assert_allclose(found, expected, rtol=eps, atol=4 * eps)
        ways += other != result and dots(result, shape, other) is not None
    assert ways > 100
    assert dots((3, 5000), (3, 1), (5000,)) is None  # NumPy adds many in pairs
    assert dots((5000, 3), (3,), (5000, 1)) is not None


@pytest.mark.parametrize("x", [2.0, np.float64(2.0), np.array(2.0), np.array([2.0])])
def test_one_number_among_many(x):
    """Its cotangent is the sum of a product, of a matrix that is constant or differentiated."""
    rng = np.random.default_rng(4)
    a, w = rng.standard_normal((2, 6, 7))
    for f, slope in (
        (lambda x, a: np.sum(w * (x * a)), lambda x: np.sum(w * a)),
        (lambda x, a: np.sum(w * (a / x)), lambda x: -np.sum(w * a) / x**2),
        (lambda x, a: np.sum(w * (x - a)), lambda x: np.sum(w)),
    ):
        for g in (grad(f)(x, a), grad(f, argnums=(0, 1))(x, a)[0]):
            np.testing.assert_allclose(g, np.reshape(slope(x), np.shape(x)), rtol=1e-13)


def test_a_number_below_that_is_zero_stays_strong():
    """Nothing flows from quotients that no loss depends on, whatever they are."""
    a = np.array([[1.0, 0.0], [2.0, -3.0]])
    w = np.zeros((2, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        for zero in (np.array(0.0), np.array([0.0])):
            _, pullback = vjp(lambda x: a / x, zero)
            np.testing.assert_array_equal(pullback(w)[0], np.zeros(zero.shape))
            w_one = np.array([[1.0, 0.0], [0.0, 0.0]])
            np.testing.assert_array_equal(pullback(w_one)[0], np.full(zero.shape, -np.inf))


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("kind", ["real", "complex"])
def test_solutions_and_factors_pulled_back_by_numpys_own_ways(n, kind):
    """As by the operations of the rules, for one cotangent and for several together."""
    rng = np.random.default_rng(5)
    m = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if kind != "real" else 0)
    b = m[0].copy()
    a = m @ m.conj().T + n * np.eye(n)
    b_bar = rng.standard_normal((2, n)).astype(m.dtype)
    a_bar = rng.standard_normal((2, n, n)).astype(m.dtype)
    solution = np.linalg.solve(a, b)
    factor = np.linalg.cholesky(a)
    tall = np.where(np.tri(n) == 0, np.inf, a_bar[0])  # of zeros above the diagonal
    for bar in (b_bar[0], b_bar):
        found = adjoints.solve_pull_numpy(bar, a, solution, True)
        np.testing.assert_allclose(
            found, linear_systems.solve_pull(bar, a, solution, True), rtol=1e-10
        )
    for bar in (a_bar[0], a_bar, tall):
        found = adjoints.cholesky_pull_numpy(bar, factor, False)
        np.testing.assert_allclose(
            found, cholesky.cholesky_pull(bar, factor, False), rtol=1e-9, atol=1e-12
        )


def test_a_library_states_its_pull_of_a_rule(monkeypatch):
    calls = []

    def pull(y_bar, x):
        return 2 * y_bar * x

    def own(y_bar, x):
        calls.append(type(y_bar))
        return pull(y_bar, x)

    @primitive
    def squared(x):
        return x * x

    @rule(squared)
    def squared_rule(x: Array):
        return squared(x), (LinearMap(None, pull, x),)

    monkeypatch.setitem(numpy_library.half, pull, own)
    x = np.arange(3.0)
    np.testing.assert_array_equal(vjp(squared, x)[1](x)[0], 2 * x * x)
    assert calls == [np.ndarray]
    np.testing.assert_array_equal(vjp(squared, np.float64(3.0))[1](1.0)[0], 6.0)
    assert calls == [np.ndarray]


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 2), (3, 1, 3), (4, 4, 4)])
def test_a_factor_along_an_axis_that_stays_is_no_factor_of_the_sum(shape):
    """As long as the axis that is summed, it was taken for one along that axis."""
    rng, last = np.random.default_rng(3), shape[-1:]
    a, b, t = rng.standard_normal(shape), rng.standard_normal(last), rng.uniform(size=last)
    b_bar = grad(lambda b: np.sum(a * (a + b * t)))(b)
    np.testing.assert_allclose(b_bar, np.sum(a, axis=tuple(range(len(shape) - 1))) * t)
    lerp_bar = rrule(v.lerp, a, b, t)[1](a)[1]
    np.testing.assert_allclose(lerp_bar, b_bar)


def _layouts(shape):
    rng = np.random.default_rng(8)
    yield rng.standard_normal(shape)
    yield np.asfortranarray(rng.standard_normal(shape))
    yield rng.standard_normal((*shape[:-2], shape[-1], shape[-2])).swapaxes(-1, -2)
    yield rng.standard_normal((*shape[:-1], 2 * shape[-1]))[..., ::2]


@pytest.mark.parametrize(
    "shape, columns",
    [((4, 5, 6), 3), ((2, 3, 4, 5), 2), ((1, 5, 1), 4), ((3, 1, 1), 1), ((0, 2, 3), 2)],
)
def test_a_batch_beside_one_matrix_is_one_product_back(shape, columns):
    f = value_and_grad(lambda x, w: np.sum(np.sin(x @ w)), (0, 1))
    compiled = compile(f)
    for x in _layouts(shape):
        for w in _layouts((shape[-1], columns)):
            found = f(x, w)
            y_bar = np.cos(x @ w)
            rows = list(range(x.ndim - 1))
            want = y_bar @ w.T, np.tensordot(x, y_bar, (rows, rows))
            for bar, expected in zip(found[1], want, strict=True):
                np.testing.assert_allclose(bar, expected, rtol=1e-12, atol=1e-12)
            for bar, expected in zip(compiled(x, w)[1], found[1], strict=True):
                np.testing.assert_array_equal(bar, expected)
    assert "matmul_right" not in compiled.source
