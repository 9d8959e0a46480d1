"""Maps over examples give what a loop gives: writes, questions about types, errors, draws."""

from __future__ import annotations

import builtins
import collections
import copy
import functools
import numbers
import operator

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError, ProjectionError, Rows, TracerError
from chainrules_tape import grad, jvp
from chainrules_tape.tools import taylor, vmap

X = np.array([0.5, -1.0, 2.0, 3.0])
M = np.random.default_rng(0).standard_normal((4, 3))
S = np.stack([np.eye(2), np.zeros((2, 2))])


def alias(x):
    y = x * 1.0
    z = y
    y += 1.0
    return z


def element(x):
    b = x.copy()
    b[0] = x[1] * 2.0
    return b


def buffer(x):
    b = np.zeros(3, like=x)
    b[1] = x[0]
    return b


def view(x):
    y = x.copy()
    v = y[1:]
    v *= 2.0
    return y


def part(x):
    y = x.copy()
    y[1:] *= 2.0
    return y


def kept(x):
    h, a = [], x * 1.0
    for _ in range(3):
        a += 1.0
        h.append(a)
    return sum(h)


def matched(x):
    match x:
        case float():
            return 2.0 * x
        case np.ndarray():
            return 3.0 * x
    return x


@functools.singledispatch
def dispatched(x):
    return x


@dispatched.register
def _(x: float):
    return 2.0 * x


@dispatched.register
def _(x: np.ndarray):
    return 3.0 * x


def handled(a):
    try:
        return np.linalg.inv(a)[0]
    except np.linalg.LinAlgError:
        return a[0] * 0.0 + 7.0


CASES = [
    (alias, M), (element, M), (buffer, M), (view, M), (part, M), (kept, M), (matched, X),
    (matched, M), (dispatched, X), (dispatched, M), (handled, S),
    (lambda x: x * 2 if np.isscalar(x) else x, X),
    (lambda x: x * 2 if isinstance(x, float) else x, X),
    (lambda x: x * 2 if isinstance(x, numbers.Real) else x, X),
    (lambda x: x * 2 if isinstance(x, np.floating) else x, X),
    (lambda x: x * 2 if np.isscalar(x[0]) else x, M),
    (lambda x: np.sum(x[x > 0]), M),
    (lambda x: len(x[x > 0]) * x, M),
    (lambda x: x[np.nonzero(x > -9)[0]], M),
    (lambda x: round(x, 1) * x, X),
    (lambda x: np.linalg.lstsq(np.outer(x, x) + np.eye(3), x, rcond=None)[0], M),
    (lambda x: np.sort(x)[0] if x[0] > 0 else np.sum(x), M),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(CASES)))
def test_a_map_is_what_its_loop_is(k):
    f, xs = CASES[k]
    np.testing.assert_allclose(vmap(f)(xs), np.stack([f(x) for x in xs]), rtol=1e-13)
    slope = grad(lambda xs: np.sum(vmap(f)(xs)))(xs)
    each = [grad(lambda x: np.sum(f(x)))(x) for x in xs]
    np.testing.assert_allclose(slope, np.stack(each), rtol=1e-9, atol=1e-13)


def test_each_example_draws_for_itself():
    a, b = np.random.default_rng(0), np.random.default_rng(0)
    times = lambda rng: lambda x: x * rng.standard_normal()
    expected = np.stack([times(b)(x) for x in M])
    np.testing.assert_array_equal(vmap(times(a))(M), expected)
    assert a.random() == b.random()


class Noise:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def times(self, x):
        return x * self.rng.standard_normal()


@pytest.mark.parametrize(
    "f, make",
    [
        (lambda rng, x: x * rng.standard_normal(), np.random.default_rng),
        (lambda d, x: x * d["rng"].standard_normal(), lambda n: {"rng": np.random.default_rng(n)}),
        (lambda noise, x: noise.times(x), Noise),
    ],
    ids=["an operand", "in a dict", "in an object"],
)
def test_each_example_draws_from_a_generator_among_the_operands(f, make):
    b = make(0)
    expected = np.stack([f(b, x) for x in M])
    np.testing.assert_array_equal(vmap(f, (None, 0))(make(0), M), expected)


@pytest.mark.parametrize("way", ["vmap", "taylor"])
def test_what_lives_on_is_an_error_or_what_it_stood_for(way):
    keep = {}

    def step(z):
        keep["z"] = z * z
        return z**3

    def loss(x):
        y = vmap(step)(x) if way == "vmap" else taylor(step, x, np.ones(4), 2)[1]
        return np.sum(y) + np.sum(keep["z"])

    if way == "vmap":
        with pytest.raises(TracerError, match="was over"):
            grad(loss)(X)
        with pytest.raises(TracerError, match="was over"):
            jvp(loss, (X,), (X,))
    else:
        np.testing.assert_allclose(grad(loss)(X), 8 * X)
        taylor(step, X, np.ones(4), 2)
        for use in (
            grad(loss_of := lambda x: np.sum(x * keep["z"])),
            lambda x: taylor(loss_of, x, x, 1),
        ):
            with pytest.raises(TracerError, match="was over"):
                use(X)


def test_of_no_example_nothing_is_decided():
    assert vmap(lambda a: a * 2.0)(np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises((NotDifferentiableError, TracerError)):
        vmap(lambda a: a if a.sum() > 0 else 2.0 * a)(np.zeros((0, 3)))


FACTORS = [(3, 1), (3, 2), (1, 2), (2,), (), (1, 1)]


@pytest.mark.parametrize("shape", FACTORS)
def test_rows_times_an_array_are_those_of_the_table(shape):
    rng = np.random.default_rng(1)
    table, places = rng.standard_normal((3, 2)), np.array([2, 0, 2, 2])
    loss = lambda t: np.sum(np.sin(t[places]) * np.arange(8.0).reshape(4, 2))
    g, d, m = grad(loss, sparse=True)(table), grad(loss)(table), rng.random(shape)
    for found, expected in ((g * m, d * m), (m * g, m * d), (g / m, d / m)):
        np.testing.assert_allclose(table * 0.0 + found, expected, rtol=1e-14)


def test_rows_belong_to_their_table():
    table = np.ones((3, 2))
    g = grad(lambda t: np.sum(np.sin(t[np.array([2, 0])])), sparse=True)(table)
    for wrong in (
        lambda: g * np.ones((3, 3)),
        lambda: g * np.ones((2, 3, 2)),
        lambda: np.zeros((2, 3)) - g,
        lambda: np.zeros(5) - g,
        lambda: g.add_into(np.zeros((3, 4))),
        lambda: g.add_into(np.zeros((3, 2), int)),
    ):
        with pytest.raises(ProjectionError):
            wrong()


OPERATORS = (
    "add sub mul truediv floordiv mod pow matmul lt le gt ge and_ or_ xor neg pos abs invert"
    " iadd isub imul itruediv"
)
UFUNCS = [f for f in vars(np).values() if isinstance(f, np.ufunc) and f.nin < 3 and f.nout == 1]
FUNCTIONS = (
    "sum mean prod max min any all linalg.norm cumsum std var sort argmax ravel transpose copy"
    " shape ndim size asarray array zeros_like ones_like nonzero count_nonzero vdot array_equal"
    " allclose isclose outer tensordot"
)


def _uses():
    """Yield uses of rows by everything that takes arrays, each with the number of operands."""
    for n in OPERATORS.split():
        yield n, getattr(operator, n), 1 if n in ("neg", "pos", "abs", "invert") else 2
    for f in UFUNCS:
        yield f.__name__, f, f.nin
    for n in FUNCTIONS.split():
        two = n in ("vdot", "array_equal", "allclose", "isclose", "outer", "tensordot")
        yield n, operator.attrgetter(n)(np), 1 + two
    for n in ("len", "list", "float", "bool"):
        yield n, getattr(builtins, n), 1
    yield "sum of", lambda a, b: sum([a, b]), 2


@pytest.mark.parametrize("name, f, n", list(_uses()))
def test_rows_do_what_arrays_do_or_say_what_to_write(name, f, n):
    table, places = np.arange(6.0).reshape(3, 2), np.array([2, 0, 2])
    loss = lambda t: np.sum(np.sin(t[places]) * np.arange(1.0, 7.0).reshape(3, 2))
    g, d = grad(loss, sparse=True)(table), grad(loss)(table)
    pairs = [((g,), (d,))]
    if n == 2:
        others = (lambda: 2, lambda: 2.5, lambda: table + 1.0)
        pairs = [((g, o()), (d, o())) for o in others]
        pairs += [((o(), g), (o(), d)) for o in others] + [((g, g), (d, d))]
    for given, dense in pairs:
        try:
            found = f(*given)
        except (ProjectionError, TypeError) as error:
            said = str(error)
            assert any(x in said for x in ("g.dense()", "tangent of", "never a divisor"))
            continue
        found = found.dense() if isinstance(found, Rows) else found
        np.testing.assert_allclose(found, f(copy.copy(dense[0]), *dense[1:]))
    with pytest.raises(AttributeError, match="dense"):
        g.mean()


def test_axes_of_structures():
    xs = np.arange(12.0).reshape(3, 4)
    f = lambda p, y: np.sum(p["w"] * p["x"]) * y[0] + y[1]
    given = {"w": np.ones(4), "x": xs}, (xs[:, 0], 2.0)
    found = vmap(f, ({"w": None, "x": 0}, (0, None)))(*given)
    expected = [f({"w": given[0]["w"], "x": x}, (x[0], 2.0)) for x in xs]
    np.testing.assert_allclose(found, expected)
    branched = lambda p, y: f(p, y) if y[0] > 1 else -f(p, y)
    expected = [branched({"w": given[0]["w"], "x": x}, (x[0], 2.0)) for x in xs]
    np.testing.assert_allclose(vmap(branched, ({"w": None, "x": 0}, (0, None)))(*given), expected)
    for axes in ({"w": None}, (0, None), {"w": None, "x": 0, "y": 1}):
        with pytest.raises(NotDifferentiableError, match="not like it"):
            vmap(f, (axes, (0, None)))(*given)
    by_name = collections.defaultdict(float, x=xs, w=np.ones(4))  # which keeps its default
    ys = vmap(lambda p: p["w"] * p["x"] + p["none"], ({"w": None, "x": 0},))(by_name)
    np.testing.assert_array_equal(ys, xs)


def test_what_is_written_to_an_array_that_is_the_same_for_all_is_kept():
    def f(c, t):
        c += 1.0
        return c[0] * t if t > 0 else c[0]

    ys = vmap(f, (None, 0))(c := np.zeros(1), np.array([1.0, -1.0, 2.0]))
    np.testing.assert_array_equal(ys, [1.0, 2.0, 6.0])
    assert c == 3.0


def test_results_are_nobody_elses():
    x, constant = np.arange(6.0).reshape(3, 2), np.ones((40, 50))
    ys = vmap(lambda x: (x, x, x[::-1], constant))(x)
    for y in ys:
        y += 1.0
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(ys[1], x + 1.0)
    np.testing.assert_array_equal(ys[2], x[:, ::-1] + 1.0)
    np.testing.assert_array_equal(ys[3], np.full((3, 40, 50), 2.0))
    np.testing.assert_array_equal(constant, np.ones((40, 50)))


def test_examples_may_give_the_keys_of_a_dict_in_any_order():
    def branches(x):
        return {"p": x, "q": -x} if x < 2.0 else {"q": -x, "p": x}

    found = vmap(branches)(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(found["p"], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(found["q"], [-1.0, -2.0, -3.0])
    with pytest.raises(NotDifferentiableError, match="whose parts are not the same"):
        vmap(lambda x: {"p": x} if x < 2.0 else {"q": x})(np.array([1.0, 3.0]))
