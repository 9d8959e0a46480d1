"""Zero patterns: Jacobians and Hessians with and without vectors for what is mostly zero."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.calls import placed, united
from chainrules_compile.passes import LOOSE, PASSES, zeros
from chainrules_compile.passes.bounds import Bounds
from chainrules_compile.passes.values import size
from chainrules_compile.passes.zeros import with_zero_patterns, with_zero_patterns_loosely
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import strong_multiply
from chainrules_tape import grad, hessian, jacobian
from tests.engines.compile.shadow import same
from tests.engines.compile.test_passes import array, functions, program

N = 12
RNG = np.random.default_rng(0)
W, M = RNG.normal(size=(N, N)), RNG.normal(size=(3, N))


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def pairs(x):
    places = x.reshape(-1, 3)
    apart = places[:, None] - places[None]
    return np.sum(1.0 / (np.sum(apart**2, -1) + np.eye(len(places))))


def layers(x):
    return np.sum(np.tanh(x.reshape(2, -1).T @ M[:2, :4]) @ W[:4, 0])


def blocks(x):
    a, b = x[: N // 2], x[N // 2 :]
    return np.concatenate([a * np.sin(a), np.exp(a) * b])


FUNCTIONS = {
    "hessian of Rosenbrock's": (hessian, rosenbrock),
    "hessian of pairs": (hessian, pairs),
    "hessian of layers": (hessian, layers),
    "hessian of quotients": (hessian, lambda x: np.sum(np.sin(x) / x)),
    "hessian of logarithms": (hessian, lambda x: np.sum(np.log(x * x) * np.sqrt(x))),
    "jacobian of products": (jacobian, lambda x: np.sin(x) * x),
    "jacobian of squares": (jacobian, lambda x: np.exp(x) * x * x - 2.0 * x),
    "jacobian of blocks": (jacobian, blocks),
    "jacobian of a gradient": (jacobian, grad(lambda x: np.sum(x**4 - np.exp(x[::-1] * x)))),
    "jacobian of differences": (jacobian, lambda x: np.diff(x * x) / (1.0 + x[1:] ** 2)),
    "jacobian of rows": (jacobian, lambda x: (x.reshape(3, -1) * W[:3, :4]).sum(1) @ M),
    "jacobian of a product": (jacobian, lambda x: M @ (x * x)),
    "jacobian of columns": (jacobian, lambda x: np.outer(x, x[::-1]).T[::-1]),
}
ODD = (0.0, -0.0, np.inf, -np.inf, np.nan, 1e200, 1e-300)


@pytest.fixture
def everywhere(monkeypatch):
    """Have vectors be used wherever they can be, as if they were worth it."""
    monkeypatch.setattr(zeros, "cost", lambda p: -len(p) if changes(p) else 0.0)
    monkeypatch.setattr(zeros, "_PAID", -1e9)


def changes(p: Program) -> bool:
    """Tell whether a program has vectors of its own."""
    return any([y.name.endswith("_of_zeros") for call in p for y in call.results])


def points():
    x = RNG.normal(size=N)
    yield x
    yield np.abs(x) + 0.5
    yield -x
    for odd in ODD:
        y = x.copy()
        y[RNG.integers(N)] = odd
        yield y
    yield np.zeros(N)
    yield x


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_with_vectors_as_without(name, exact):
    way, f = FUNCTIONS[name]
    g = way(f)
    compiled = compile(g, exact=exact)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for x in points():
            found, wanted = compiled(x), g(x)
            if exact:
                assert same(found, wanted)
            else:
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    steps = dict(compiled.programs[0].steps)
    assert "zero patterns" in steps


CAPTURED = {
    "zeros": np.zeros(4),
    "zeros of -0": np.full(4, -0.0),
    "zeros but for one": np.eye(4)[1],
    "a matrix of zeros": np.zeros((4, 4)),
    "a thin matrix of zeros": np.zeros((4, 2)),
    "ones": np.ones(4),
}
STEPS = {
    "product": lambda x, c: x @ c,
    "product twice": lambda x, c: x @ (x @ c + 0.5),
    "elements": lambda x, c: x * c if c.shape != (4, 2) else x[:, :2] * c,
    "quotients": lambda x, c: c / (1.0 + (x if c.shape != (4, 2) else x[0, 0]) ** 2),
    "differences": lambda x, c: np.sin(x) - x * c if c.shape != (4, 2) else c - x @ c,
    "a row": lambda x, c: x[0] * (x[0] @ c).sum() + x[1],
    "zero times": lambda x, c: np.sin(x) * (x * 0.0) + c.sum(),
}
ENDS = {"sine": np.sin, "square": lambda y: y * y, "tanh": lambda y: np.tanh(y) * y}


def of_gradient(f):
    return jacobian(grad(f))


def of_hessian(f):
    return grad(lambda x: np.sum(hessian(f)(x) ** 2))


def check_captured(way, captured, exact, ends=ENDS):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in STEPS.values():
            for end in map(ENDS.get, ends):
                g = way(lambda x, step=step, end=end: np.sum(end(step(x, captured))))
                compiled = compile(g, exact=exact)
                for x in RNG.normal(size=(3, 4, 4)):
                    found, wanted = compiled(x), g(x)
                    assert same(found, wanted) if exact else np.allclose(found, wanted, atol=1e-9)


def test_arrays_of_zeros_that_are_captured():
    check_captured(hessian, CAPTURED["zeros"], False, ["sine"])


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("captured", CAPTURED.values(), ids=CAPTURED)
@pytest.mark.parametrize("way", [hessian, of_gradient, of_hessian])
def test_all_arrays_of_zeros_that_are_captured(way, captured, exact):
    check_captured(way, captured, exact)


@pytest.mark.parametrize(
    "name, n",
    [
        ("hessian of Rosenbrock's", 99),
        ("hessian of quotients", 60),
        ("hessian of pairs", 30),
        ("jacobian of products", 99),
        ("jacobian of squares", 99),
    ],
)
def test_products_are_of_vectors(name, n):
    """And not of what has a row for each seed."""
    way, f = FUNCTIONS[name]
    compiled = compile(way(f), exact=False)
    compiled(RNG.normal(size=n))
    products = [
        size(call.results[0])
        for call in compiled.programs[0].program
        if call.function in (np.multiply, strong_multiply, np.square)
    ]
    assert products
    assert max(products) < n * n


def test_rosenbrock_keeps_its_bits_and_takes_vectors():
    compiled, x = compile(hessian(rosenbrock)), RNG.normal(size=100)
    assert same(compiled(x), hessian(rosenbrock)(x))
    assert "placed(" in compiled.source
    for bad in (np.inf, np.nan):
        y = x.copy()
        y[3] = bad
        with np.errstate(all="ignore"):
            assert same(compiled(y), hessian(rosenbrock)(y))
    assert len(compiled.programs) == 1


EYE, FULL, Z, U = [array(name, (8, 8)) for name in ("eye", "full", "z", "u")]
V = array("v", (8,))
SEED = {EYE: np.eye(8), FULL: np.arange(64.0).reshape(8, 8)}


def walked(calls, outputs, exact, constants=SEED):
    p = program([V], calls, outputs, constants)
    way = with_zero_patterns if exact else with_zero_patterns_loosely
    return p, way(p)


@pytest.mark.usefixtures("everywhere")
def test_signs_of_zeros_decide_whether_bits_are_kept():
    """0 times a number that may be negative may be -0; a square is not."""
    calls = [Call(np.multiply, (EYE, V), {}, (Z,))]
    p, q = walked(calls, [Z], True)
    assert q is p
    p, q = walked(calls, [Z], False)
    assert functions(q)[-1] is placed
    calls = [Call(np.multiply, (EYE, V), {}, (Z,)), Call(np.square, (Z,), {}, (U,))]
    _, q = walked(calls, [U], True)
    assert np.square in functions(q)


def test_what_is_never_read_is_not_asked():
    calls = [Call(np.multiply, (EYE, V), {}, (Z,)), Call(np.multiply, (Z, 2.0), {}, (U,))]
    p, q = walked(calls, [V], False)
    assert q is p or not len(q)


def test_two_patterns_are_united():
    np.testing.assert_array_equal(
        united(
            np.array([1.0, 2.0]),
            np.array([5.0]),
            np.array([0, 2]),
            np.array([2]),
            ufunc=np.subtract,
            n=4,
        ),
        [1.0, 0.0, -3.0, 0.0],
    )


def test_the_pass_stands_among_the_others():
    assert PASSES["zero patterns"] is with_zero_patterns
    assert LOOSE["zero patterns"] is with_zero_patterns_loosely


def test_a_saved_program_with_vectors_needs_numpy_alone(tmp_path):
    compiled, x = compile(hessian(rosenbrock), exact=False), RNG.normal(size=100)
    wanted = compiled(x)
    compiled.save(tmp_path / "saved.py")
    text = (tmp_path / "saved.py").read_text()
    assert "import chainrules" not in text
    assert "from chainrules" not in text
    scope = {}
    exec(text, scope)
    np.testing.assert_array_equal(scope["rosenbrock"](x), wanted)


WAYS = {
    "scaled": lambda x, _y: (np.multiply, (x, V)),
    "scaled too": lambda x, _y: (np.multiply, (V, x)),
    "strongly": lambda x, _y: (strong_multiply, (x, V)),
    "sum": lambda x, y: (np.add, (x, y)),
    "difference": lambda x, y: (np.subtract, (x, y)),
    "product": lambda x, y: (np.multiply, (x, y)),
    "negative": lambda x, _y: (np.negative, (x,)),
    "square": lambda x, _y: (np.square, (x,)),
    "row": lambda x, _y: (np.matmul, (x, FULL)),
    "column": lambda x, _y: (np.matmul, (FULL, x)),
}


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("seed", range(20))
def test_random_sums_and_products_of_seeds(seed):
    """Of all words that are known here, in programs of eight calls."""
    rng = np.random.default_rng(seed)
    known, calls = [EYE], []
    for i in range(8):
        x, y = [known[j] for j in rng.integers(len(known), size=2)]
        known.append(array(f"r{i}", (8, 8)))
        way = WAYS[rng.choice([*WAYS])]
        calls.append(Call(*way(x, y), {}, (known[-1],)))
    given = {V: rng.choice([-1.5, 2.0, 0.0, -0.0, 0.25], 8)}
    for exact in (True, False):
        p, q = walked(calls, known[-3:], exact)
        before, after = computed(p, given), computed(q, given)
        assert not exact or same(before, after)
        for a, b in zip(before, after, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10)


def computed(p, given):
    found = {**given, **p.constants}
    for call in p:
        c = call.replaced(found)
        y = c.function(*c.operands, **c.options)
        found.update(zip(call.results, (y,), strict=False))
    return [found.get(x, x) for x in p.outputs]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("n", [4, 7])
def test_bounds_are_found_along_chains_of_any_length(n, exact):
    """The sign of what each turn of a loop multiplied was asked by a recursion over all turns."""

    def f(x):
        s = x[0]
        for k in range(2000):
            s = s * x[1] + x[2] / (k + 1)
        return s * x

    compiled, x = compile(jacobian(f), exact=exact), np.random.default_rng(3).uniform(0.1, 0.9, n)
    compiled(x)
    assert compiled.programs
    np.testing.assert_allclose(compiled(x * 0.9), jacobian(f)(x * 0.9), rtol=1e-12)


def test_a_bound_of_a_hundred_thousand_calls():
    values = [Value(f"v{i}", np.ndarray, (3,), np.dtype(float)) for i in range(100_001)]
    made = {y: Call(np.add, (x, 1.0), {}, (y,)) for x, y in itertools.pairwise(values)}
    bounds = Bounds({values[0]: np.zeros(3)}, made)
    assert bounds.at_least(values[-1]) == 100_000.0
