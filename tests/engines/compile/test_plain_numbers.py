"""NumPy's numbers computed as Python's: bits and classes are NumPy's."""

import itertools

import numpy as np
import pytest

import chainrules_numpy  # noqa: F401 (whose arrays these are)
import chainrules_py.ops as v
from chainrules_compile import compile, scalar_functions
from chainrules_py.extend import flatten
from chainrules_tape import grad, hvp, value_and_grad
from tests.engines.compile.shadow import same

WAYS = {
    "sums": lambda a, b, x: a * b - b * a + (a + 2) * (-b) - 0.5,
    "quotients": lambda a, b, x: a / b + 1 / (a * b) + b / 3.0,
    "ufuncs of numbers": lambda a, b, x: np.multiply(a, b) + np.square(np.subtract(a, 1.0)),
    "roots": lambda a, b, x: np.sqrt(a) * np.sqrt(b) + a * b,
    "powers": lambda a, b, x: (a * b + 1.0) ** 2 + (a - b) * (a + b) * a,
    "sines": lambda a, b, x: np.sin(a * b) * np.cos(a + b) - np.tan(a * a) * (a - b),
    "many powers": lambda a, b, x: (a * b) ** 3 + (a * a) ** 0.5 - (a + b) ** -2 * (b * b) ** 1.5,
    "long powers": lambda a, b, x: (a * b) ** 11 + (a * a) ** 300 - (a + b) ** -0.5 * a**1e-5,
    "functions": lambda a, b, x: np.tanh(a * b) + np.expm1(a + b) - np.arctan(b * b) * np.cosh(a),
    "beside arrays": lambda a, b, x: x * (a * b + a) - (a * a * b) / (x + a),
    "back into arrays": lambda a, b, x: np.stack([a * b + a, b * b - a * 3.0, a]),
    "questions": lambda a, b, x: a * b + a if a * a + b > 1.0 else b * b - a,
    "logarithms": lambda a, b, x: np.log(a * b + a) * np.exp(a * a - b * b) + a,
    "classes": lambda a, b, x: (a * a + b, x[0] * a + a * b, -b * a, a),
}
NUMBERS = (0.5, -1.25, 0.0, -0.0, 1e200, 5e-324, np.inf, np.nan)


@pytest.mark.parametrize("kind", [np.float64, np.asarray, np.float32])
@pytest.mark.parametrize("way", WAYS)
def test_plain_numbers_have_the_bits_and_classes_of_numpys(way, kind):
    f, x = WAYS[way], np.linspace(0.5, 2.0, 3)
    for make in (lambda a, b: f(a, b, x), lambda y: f(y[0], y[1], x)):
        g = compile(make)
        with np.errstate(all="ignore"):
            for a, b in [*itertools.pairwise(NUMBERS), *itertools.pairwise(NUMBERS[::-2])]:
                given = (kind(a), kind(b)) if make.__code__.co_argcount > 1 else (np.array([a, b]),)
                assert same(g(*given), make(*given)), (a, b)


@pytest.mark.filterwarnings("ignore::chainrules_compile.RecordingWarning")
@pytest.mark.parametrize("way", WAYS)
def test_derivatives_of_plain_numbers(way):
    f, x = WAYS[way], np.linspace(0.5, 2.0, 3)
    total = lambda y: np.sum(flatten(f(y[0], y[1], x))[0][0])
    eager, g = value_and_grad(total), compile(value_and_grad(total))
    with np.errstate(all="ignore"):
        for a, b in itertools.pairwise(NUMBERS[:5]):
            try:
                wanted = eager(np.array([a, b]))
            except Exception:  # of a point without a derivative: compiled functions say so as well
                continue
            assert same(g(np.array([a, b])), wanted), (a, b)


def test_numbers_are_plain_where_that_pays():
    many = compile(lambda y: y[0] * y[1] + y[0] * y[0] - y[1] * y[1] * y[1] + y[0] * 3.0)
    one = compile(lambda x: 2.0 * np.dot(x, x))
    y = np.array([0.5, 2.0])
    many(y), one(y)
    assert "y.item(0)" in many.source
    assert many.source.count("float64_2(") == 1
    assert "float(" not in one.source


def test_numbers_stay_numpys_where_errors_are_raised():
    f = compile(lambda y: y[0] * y[0] * y[1] * y[1] + y[0])
    with np.errstate(over="raise"):
        f(np.ones(2))
        assert ".item" not in f.source


@pytest.mark.parametrize("ufunc", scalar_functions.PLAIN, ids=lambda f: f.__name__)
def test_functions_of_pythons_numbers_are_numpys_or_near(ufunc):
    f = scalar_functions.PLAIN[ufunc]
    draw = np.random.default_rng(3)
    low, high = max(f.low, -1e3), min(f.high, 1e3)
    x = np.concatenate([draw.uniform(low, high, 2000), draw.normal(size=2000)])
    ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324, f.low, f.high]
    ends += [np.nextafter(end, to) for end in (f.low, f.high) for to in (-np.inf, np.inf)]
    with np.errstate(all="ignore"):
        x = np.concatenate([x, ends])
        wanted = ufunc(x)
        found = np.array([f(t) for t in x.tolist()])
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("n", [2, 3, 7.0, -1, -2.0, 0.5, -0.5, 1.5, 1e-3, 1e-5, 400, 1e300, np.nan])
def test_powers_of_pythons_numbers_are_numpys(n):
    draw = np.random.default_rng(4)
    low, high = scalar_functions.power_range(float(n))
    x = [*draw.normal(size=500), *10.0 ** draw.uniform(-320, 308, 500), *NUMBERS]
    x += [np.nextafter(end, to) for end in (low, high) for to in (-np.inf, np.inf)]
    with np.errstate(all="ignore"):
        for t in [*x, *[-t for t in x]]:
            wanted = np.float64(t) ** n
            assert same(np.float64(scalar_functions.power(float(t), n)), wanted), t
            assert same(np.float64(scalar_functions.power_silently(float(t), n)), wanted), t


def test_functions_of_numbers_are_pythons():
    f = lambda y: np.exp(y[0] * y[1]) * np.sin(y[0] + y[1]) * y[1] - np.log(y[0] * y[0]) ** 2
    y = np.array([0.5, 0.75])
    g = compile(f)
    np.testing.assert_allclose(g(y), f(y), rtol=1e-13)
    for ufunc in (np.exp, np.sin, np.log):
        assert f"plain_{ufunc.__name__}(" in g.source


LIKELIHOODS = {
    "weights": lambda x, y: 0.5 * np.log(x) * np.sqrt(y) + x / y,
    "a product": lambda x, y: np.log(x * y + 0.3) * y,
    "a recursion": lambda x, y: np.log(0.1 + x / y + 0.3 * np.log(0.5 + x * y)) * -2.0,
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_what_numpy_computes_of_pythons_numbers_is_given_these(name):
    f = value_and_grad(LIKELIHOODS[name], (0, 1))
    g = compile(f)
    assert same(g(1.3, 0.7), f(1.3, 0.7))
    assert "lift" not in g.source
    assert "strong_multiply_numpy(number" not in g.source
    with np.errstate(all="ignore"):
        for x, y in itertools.product((0.5, -1.0, 0.0, np.inf, np.nan, 1e308, 1e-320), repeat=2):
            try:
                wanted = f(x, y)
            except Exception as error:
                with pytest.raises(type(error)):
                    g(x, y)
                continue
            assert same(g(x, y), wanted), (x, y)


def test_numbers_of_one_vector():
    def many(y, i):
        total = y[-1] * 0.5
        for k in range(len(y) - 1):
            total = total + np.sin(y[k]) * (k + y[i])
        return total * y[0]

    def few(y, i):
        total = [np.sin(y[k] * y[(k + i) % 4] + 1.0) * y[k] for k in range(4)]
        return sum(total) + np.sum(y)

    draw = np.random.default_rng(0)
    for f, sizes in ((many, (5, 9)), (few, (5, 13))):
        for n in sizes:
            for g in (lambda y, f=f: f(y, 2), value_and_grad(lambda y, f=f: f(y, 2))):
                compiled = compile(g)
                for y in (draw.normal(size=n), draw.normal(size=2 * n)[::-2]):
                    for _ in range(2):
                        assert same(compiled(y), g(y))


def test_a_product_with_one_is_the_other():
    f = lambda x: x * np.sin(x)
    compiled = compile(value_and_grad(f))
    with np.errstate(all="ignore"):
        for x in (0.3, -0.0, 1e300, np.inf, np.nan):
            assert same(compiled(x), value_and_grad(f)(x))
    assert "1.0 *" not in compiled.programs[-1].source


@pytest.mark.parametrize("made", [np.array, np.float64], ids=["no axes", "number"])
@pytest.mark.parametrize("n", [-2, -3.0, 3, 2.5])
def test_powers_of_arrays_without_axes_have_other_last_bits_than_those_of_numbers(made, n):
    """NumPy takes a loop of vectors for them: of 20 powers of Python's one was another."""
    f = value_and_grad(lambda x: v.pow(x, n) * 2.0 + 1.0)
    compiled = compile(f)
    for x in np.random.default_rng(0).uniform(0.5, 3.0, 100):
        assert same(compiled(made(x)), f(made(x)))
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("number", [float, np.float64, np.asarray])
@pytest.mark.parametrize("differentiate", [grad, lambda f: lambda x: hvp(f, (x,), (x,))[0]])
@pytest.mark.parametrize("target", ["numpy", "c"])
def test_a_gradient_that_is_not_finite_is_that_of_the_function(number, differentiate, target):
    """The branch that is left out overflows at the second call alone."""
    f = differentiate(lambda x: x * v.where(v.greater(x, 0.5), x, v.exp(x * x)))
    compiled = compile(f, target=target)
    with np.errstate(all="ignore"):
        for x in (0.75, 1e3):
            assert compiled(number(x)) == f(number(x))
