"""Whole numbers that an imported function is given: real numbers, or an error where it needs them.

Truth: differences of the same formula in NumPy, at real numbers.
"""

import functools
import importlib
import itertools

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import grad, jvp, linearize

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.*is deprecated:DeprecationWarning")

FORMULAS = {
    "product": lambda np, a, n: a * n**2,
    "power": lambda np, a, n: a**n,
    "quotient": lambda np, a, n: a / (n + 1),
    "of the whole numbers alone": lambda np, a, n: np.exp(-0.5 * n) + 0 * a,
    "what wraps": lambda np, a, n: a * (n * 100) * n,
}
WHOLE = {
    "number": 3,
    "number of NumPy": np.int64(2),
    "array": np.array([3, 1, 2]),
    "narrow array": np.array([3, 1, 2], np.int8),
    "unsigned array": np.array([3, 1, 2], np.uint8),
    "column": np.array([[3], [1]], np.int32),
}
NEED_THEM = {
    "an index": lambda np, a, n: a[n],
    "an index, and a number": lambda np, a, n: a[n] * n,
    "a length": lambda np, a, n: a.reshape(n, 1) * 2.0,
}
A = np.array([0.3, 1.2, 2.0])
ENGINES = {
    "torch": lambda: importlib.import_module("torch"),
    "jax": lambda: importlib.import_module("jax.numpy"),
    "autograd": lambda: importlib.import_module("autograd.numpy"),
}


def imported(engine, formula):
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    library = ENGINES[engine]()

    def f(a, n):
        if engine == "torch" and not hasattr(n, "shape"):
            n = library.tensor(n)
        return formula(library, a, n)

    return importlib.import_module(f"chainrules_{engine}").import_rule(f)


def slope(f, x, along=None):
    along = 1.0 if along is None else along
    x, h = np.asarray(x, np.float64), 1e-5
    return (f(x + h * along) - f(x - h * along)) / (2 * h)


def slopes(f, x):
    x = np.asarray(x, np.float64)
    found = [slope(f, x, e.reshape(x.shape)) for e in np.eye(x.size)]
    return np.reshape(found, x.shape)


@pytest.mark.parametrize(
    "engine, count",
    [
        *[(engine, 2 if engine == "jax" else 6) for engine in ENGINES],
        *[pytest.param(engine, None, marks=pytest.mark.slow) for engine in ENGINES],
    ],
)
def test_derivatives_in_whole_numbers_are_those_of_the_real_ones(engine, count):
    near = lambda got, want: np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-7)
    cases = [*itertools.product(FORMULAS, WHOLE)]
    for name, kind in cases if count is None else cases[1::5][:count]:
        formula, n = FORMULAS[name], WHOLE[kind]
        f = imported(engine, formula)
        plain = lambda a, n, formula=formula: formula(np, a, n)
        total = lambda a, n, f=f: np.sum(np.sin(f(a, n) / 10))
        truth = lambda a, n, plain=plain: np.sum(np.sin(plain(a, n) / 10))
        if name != "what wraps":
            in_a, in_n = grad(total, (0, 1))(A, n)
            near(in_n, slopes(lambda n, truth=truth: truth(A, n), n))
            near(in_a, slopes(lambda a, truth=truth, n=n: truth(a, np.float64(n)), A))
            both = grad(lambda n, total=total: np.sum(grad(total)(A, n)))(n)
            at = lambda n, plain=plain: slope(lambda a: np.sum(np.sin(plain(a, n) / 10)), A)
            along = slopes(at, n)
            np.testing.assert_allclose(both, along, rtol=1e-3, atol=1e-4)
        t = np.cos(np.arange(np.size(n))).reshape(np.shape(n))
        dot = slope(lambda n, plain=plain: plain(A, n), n, t)
        near(jvp(f, (A, n), (np.zeros(3), t))[1], dot)
        near(frule((NoTangent(), t), f, A, n)[1], dot)
        moved = slope(lambda a, plain=plain, n=n: plain(a, n), A)  # what wraps is the value
        near(jvp(f, (A, n), (np.ones(3), t))[1], dot + moved)
        for zero in (0 * n, 0.0 * t, NoTangent()):
            near(jvp(f, (A, n), (np.ones(3), zero))[1], moved)
        y, pullback = rrule(f, A, n)
        bar = np.ones_like(y)
        near(pullback(bar)[1], slopes(lambda n, plain=plain: np.sum(plain(A, n)), n))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NEED_THEM)
def test_what_needs_whole_numbers_has_a_derivative_in_the_others_alone(engine, name):
    f = imported(engine, NEED_THEM[name])
    if engine == "torch" and name == "a length":
        pytest.skip("PyTorch takes its lengths as numbers")
    if engine == "jax" and name == "a length":
        pytest.skip("JAX takes its lengths as options")
    n = 3 if name == "a length" else 2
    bar = np.zeros(3)
    bar[n if n < 3 else slice(None)] = {"an index": 1.0, "a length": 2.0}.get(name, n)
    np.testing.assert_array_equal(grad(lambda a: np.sum(f(a, n)))(A), bar)
    y, pullback = rrule(f, A, n)
    np.testing.assert_array_equal(pullback(np.ones_like(y), wanted=(True, False))[0], bar)
    refused = pytest.raises(NotDifferentiableError, match="does not take the real number")
    with refused:
        grad(lambda n: np.sum(f(A, n)))(n)
    with refused:
        jvp(f, (A, n), (np.ones(3), 1.0))
    with refused:
        pullback(np.ones_like(y))


def rises(x, n):
    return np.log1p(np.exp(x)) / n


def in_x(_, x, n):
    part = np.zeros_like(x)
    part[...] = 1 / (1 + np.exp(-x))
    return part * np.reciprocal(n)


def in_n(_, x, n):
    return -np.log1p(np.exp(x)) * np.reciprocal(n) ** 2


def by_partials(f):
    scalar_rule(f, in_x, in_n)


def by_maps(f):
    @rule(f)
    def maps(x, n):
        parts = in_x(None, x, n), in_n(None, x, n)
        return f(x, n), tuple([LinearMap(*[lambda t, p=p: t * p] * 2) for p in parts])


def by_halves(f):
    @frule.register(f)
    def push(ts, x, n):
        return f(x, n), ts[0] * in_x(None, x, n) + ts[1] * in_n(None, x, n)

    @rrule.register(f)
    def pull(x, n):
        return f(x, n), lambda bar: (bar * in_x(None, x, n), bar * in_n(None, x, n))


@pytest.mark.parametrize("state", [by_partials, by_maps, by_halves])
@pytest.mark.parametrize("x, n", [(1, 4), (np.int64(1), 4), (1, np.int64(4)), (1, 4.0), (1.0, 4)])
def test_maps_see_whole_numbers_of_python_as_floats(state, x, n):
    f = primitive(lambda x, n: rises(x, n))
    state(f)
    due = slope(lambda x: rises(x, n), x), slope(lambda n: rises(x, n), n)
    near = functools.partial(np.testing.assert_allclose, rtol=1e-8)
    near(grad(f, (0, 1))(x, n), due)
    near(grad(lambda x: f(x, n))(x), due[0])
    near(grad(lambda n: f(x, n))(n), due[1])
    near(jvp(f, (x, n), (1.0, 1.0))[1], sum(due))
    near(jvp(lambda x: f(x, n), (x,), (1.0,))[1], due[0])
    near(linearize(f, x, n)[1](1.0, 1.0), sum(due))


def test_what_has_no_map_stays_whole():
    f = primitive(lambda x, n: sum([x**k for k in range(n)]))
    scalar_rule(f, lambda _, x, n: sum([k * x ** (k - 1) for k in range(n)]), None)
    assert grad(f)(2.0, 4) == jvp(lambda x: f(x, 4), (2.0,), (1.0,))[1] == 17.0
    g = primitive(lambda x, n: 1.0 * x**n)
    scalar_rule(g, lambda _, x, n: n * x ** (n - 1) + 0 * n.bit_length(), None)
    assert grad(g)(2, 3) == 12.0
    h = primitive(lambda x, n: 1.0 * x * len(range(n)))
    rrule.register(h)(lambda x, n: (h(x, n), lambda bar: (bar * len(range(n)), 0.0)))
    frule.register(h)(lambda ts, x, n: (h(x, n), ts[0] * len(range(n))))
    assert grad(h)(2.0, 3) == grad(h)(2, 3) == 3.0
    assert jvp(h, (2, 3), (1.0, 0.0))[1] == jvp(lambda x: h(x, 3), (2.0,), (1.0,))[1] == 3.0


def test_whole_numbers_in_structures():
    pytest.importorskip("jax", reason="JAX is not installed")
    import_rule = importlib.import_module("chainrules_jax").import_rule
    f = import_rule(lambda p: (p["a"] ** p["n"][0]).sum())
    bar = grad(f)({"a": A, "n": [3, None]})
    np.testing.assert_allclose(bar["a"], 3 * A**2)
    np.testing.assert_allclose(bar["n"][0], np.sum(A**3 * np.log(A)))
