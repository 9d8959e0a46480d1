"""Random draws: constants of plain parameters, refused of traced ones, and what to write."""

from __future__ import annotations

import functools
import linecache
import operator
import random
import re
import subprocess
import sys

import numpy as np
import pytest

import chainrules_numpy.random_draw_advice
from chainrules_py import TracerError, ignore_derivatives
from chainrules_tape import grad, jvp, vjp

SEED = 7


def both(name):
    """The draw as a method of a Generator, and as a function of ``np.random``."""
    found = []
    if hasattr(np.random.Generator, name):
        found.append(lambda: getattr(np.random.default_rng(SEED), name))
    if hasattr(np.random.RandomState, name) and name not in ("permuted", "integers"):
        found.append(lambda: getattr(np.random.RandomState(SEED), name))
    return found


# ---------------------------------------------------------------------- constants


def test_draws_from_plain_parameters_are_constants():
    def loss(x, rng):
        noise = rng.normal(1.0, 2.0, 3)
        return np.sum(x * noise + rng.standard_normal(3) * rng.uniform(0, 1))

    x = np.ones(3)
    expected = np.random.default_rng(SEED).normal(1.0, 2.0, 3)
    found = grad(lambda x: loss(x, np.random.default_rng(SEED)))(x)
    np.testing.assert_array_equal(found, expected)


def test_a_parameter_held_fixed_is_plain():
    rng = np.random.default_rng(SEED)
    f = lambda x: x * rng.normal(ignore_derivatives(x), 1.0)
    expected = np.random.default_rng(SEED).normal(2.0, 1.0)
    assert grad(f)(2.0) == expected


# ---------------------------------------------------------------------- refusals


def of_a_method(x):
    rng = np.random.default_rng(SEED)
    return np.sum(rng.normal(x, 1.0))


def by_name(x):
    rng = np.random.default_rng(SEED)
    return np.sum(rng.normal(loc=x, size=(2,)))


def of_the_module(x):
    return np.sum(np.random.normal(x, 1.0))  # noqa: NPY002


def of_a_call(x):
    return np.sum(np.random.default_rng(SEED).normal(x, 1.0))


def of_an_attribute(x):
    class Model:
        rng = np.random.default_rng(SEED)

        def __init__(self):
            self.own = np.random.default_rng(SEED)

    return np.sum(Model().own.normal(x, 1.0) + Model.rng.normal(x))


def over_several_lines(x):
    rng = np.random.default_rng(SEED)
    return 1.0 + np.sum(
        rng.normal(
            x,
            1.0,
        )
    )


def inside_a_sum(x):
    rng = np.random.default_rng(SEED)
    return np.sum(x + 2 * rng.normal(0.0, x) + 1)


@pytest.mark.parametrize(
    "f",
    [
        of_a_method,
        by_name,
        of_the_module,
        of_a_call,
        of_an_attribute,
        over_several_lines,
        inside_a_sum,
        lambda x: np.sum(np.random.default_rng(SEED).normal(x)),
    ],
)
@pytest.mark.parametrize("x", [0.5, np.array(0.5), np.ones(2)], ids=["number", "0-d", "array"])
def test_a_normal_draw_of_traced_parameters_says_how_it_is_moved(f, x):
    with pytest.raises(TracerError, match=r"standard_normal|own\.normal\(ignore_derivatives"):
        vjp(f, x)


PARAMETERS = {
    "multivariate_normal": lambda f, x: f(x, np.eye(2)),
    "choice": lambda f, x: f(2, p=x),
    "triangular": lambda f, x: f(0.0, x, 2.0),
    "hypergeometric": lambda f, x: f(x, 3, 2),
    "multinomial": lambda f, x: f(3, x),
    "binomial": lambda f, x: f(3, x),
    "negative_binomial": lambda f, x: f(3, x),
    "noncentral_chisquare": lambda f, x: f(x, 1.0),
    "noncentral_f": lambda f, x: f(x, 1.0, 1.0),
    "beta": lambda f, x: f(x, 1.0),
    "f": lambda f, x: f(x, 1.0),
    "gamma": lambda f, x: f(x, 1.0),
    "vonmises": lambda f, x: f(x, 1.0),
    "wald": lambda f, x: f(x, 1.0),
    "integers": lambda f, x: f(0, x),
    "randint": lambda f, x: f(0, x),
    "shuffle": None,
}
OF_OBJECTS = {"multivariate_normal", "permutation", "permuted"}
"""Those that move the elements of an array of objects, or add to them."""
NAMES = [*chainrules_numpy.random_draw_advice.MOVED, *chainrules_numpy.random_draw_advice.OTHERS]


@pytest.mark.parametrize(
    "name", [n for n in NAMES if PARAMETERS.get(n, 0) is not None and n not in OF_OBJECTS]
)
def test_no_draw_takes_a_traced_parameter(name):
    call = PARAMETERS.get(name, lambda f, x: f(x))
    assert both(name)
    for find in both(name):
        draw = find()

        def f(x, draw=draw, call=call):
            return np.sum(call(draw, x) * 1.0)

        with pytest.raises(TracerError):
            vjp(f, np.array([0.25, 0.75]))


def test_shuffling_rows_in_place_is_refused():
    """NumPy would duplicate rows of what is no array of its own."""

    def f(x):
        y = x * 1.0
        np.random.default_rng(SEED).shuffle(y)
        return y

    with pytest.raises(TracerError, match="permutation"), pytest.warns(UserWarning, match="shuffl"):
        vjp(f, np.arange(8.0).reshape(4, 2))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["permutation", "permuted", "shuffle"])
def test_what_moves_elements_along_an_axis_is_written_with_it(name, axis):
    """The line draws the numbers that NumPy draws."""
    keywords = {} if axis is None else {"axis": str(axis)}
    written = chainrules_numpy.random_draw_advice.moved(name, "rng", ["x"], keywords)
    x = np.arange(12.0).reshape(3, 4)
    found = {"x": x, "rng": np.random.default_rng(SEED), "np": np}
    exec(written if name == "shuffle" else f"x = {written}", found)
    known = x.copy()
    y = getattr(np.random.default_rng(SEED), name)(known, **{} if axis is None else {"axis": axis})
    np.testing.assert_array_equal(found["x"], known if y is None else y)


@pytest.mark.parametrize("shape", [(5,), (3, 2)])
@pytest.mark.parametrize("axis", ["", "axis=0, "])
def test_the_line_for_an_array_that_is_permuted_in_place_writes_to_it(axis, shape):
    def permuted(x, line):
        y = x * 1.0
        exec(line, {"y": y, "rng": np.random.default_rng(SEED), "np": np})
        return y

    x, call = np.arange(1.0, 1 + np.prod(shape)).reshape(shape), f"rng.permuted(y, {axis}out=y)"
    keywords = {"out": "y"} | ({"axis": "0"} if axis else {})
    written = chainrules_numpy.random_draw_advice.moved("permuted", "rng", ["y"], keywords)
    y, pullback = vjp(lambda x: permuted(x, written), x)
    np.testing.assert_array_equal(y, permuted(x, call))
    # A permutation is the inverse of its transpose.
    np.testing.assert_array_equal(pullback(y)[0], x)
    with pytest.raises(TracerError, match=r"write b\[...\] = rng.permuted"):  # without a source
        vjp(lambda x: permuted(x, call), x)


def test_an_array_that_is_shuffled_without_a_source():
    def shuffled(x, line):
        y = x * 1.0
        exec(line, {"y": y, "rng": np.random.default_rng(SEED)})
        return y

    x = np.arange(6.0).reshape(3, 2)
    refused = pytest.raises(TracerError, match=r"write y = np.take\(y, rng.permutation")
    with refused, pytest.warns(UserWarning, match="shuffl"):
        vjp(lambda x: shuffled(x, "rng.shuffle(y, 1)"), x)
    written = chainrules_numpy.random_draw_advice.moved("shuffle", "rng", ["y.T"], {})
    np.testing.assert_array_equal(shuffled(x, written), shuffled(x, "rng.shuffle(y.T)"))


def test_the_shuffle_of_the_standard_library_is_written_with_an_index():
    """Rows, which are views, would be duplicated, as they are in NumPy."""

    def f(x):
        y = x * 1.0
        random.Random(1).shuffle(y)
        return y

    write = re.escape("random.shuffle(order), and y = y[order]")
    with pytest.raises(TracerError, match=write):
        vjp(f, np.arange(8.0).reshape(4, 2))


def test_rows_of_a_view_are_shuffled_as_it_is_written():
    def shuffled(x, line):
        y, rng = x * 1.0, np.random.default_rng(4)
        exec(line, {"y": y, "rng": rng, "np": np})
        return y

    written = chainrules_numpy.random_draw_advice.moved("shuffle", "rng", ["y.reshape(2, 2)"], {})
    want = shuffled(np.arange(4.0), "rng.shuffle(y.reshape(2, 2))")
    y, pullback = vjp(lambda x: shuffled(x, written), np.arange(4.0))
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(pullback(np.arange(4.0))[0], np.argsort(want))


def test_an_exchange_that_a_program_writes_is_its_own():
    def f(x):
        y = x * 1.0
        y[0], y[1] = y[1].copy(), y[0].copy()
        y[2] = y[3]
        return y

    y, pullback = vjp(f, np.arange(8.0).reshape(4, 2))
    np.testing.assert_array_equal(y[:, 0], [2, 0, 6, 6])
    np.testing.assert_array_equal(pullback(np.ones((4, 2)))[0][:, 0], [1, 1, 0, 2])


@pytest.mark.parametrize("name", sorted(OF_OBJECTS - {"permutation"}))
def test_what_moves_elements_is_right(name):
    call = PARAMETERS.get(name, lambda f, x: f(x))
    x, weights = np.array([0.25, 0.75]), np.array([2.0, 3.0])
    f = lambda x: np.sum(call(getattr(np.random.default_rng(3), name), x) * weights)
    truth = [(f(x + row) - f(x - row)) / 2e-6 for row in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(grad(f)(x), truth, rtol=1e-6)


USE_INDEX = r"use x\[np\.random\.default_rng\(3\)\.permutation\(len\(x\)\)\]"


def test_a_permutation_is_taken_as_an_index():
    """NumPy exchanges the elements in what np.asarray gives of them, which is read-only."""
    with pytest.raises(TracerError, match=USE_INDEX):
        grad(lambda x: np.random.default_rng(3).permutation(x)[0])(np.array([0.25, 0.75]))


@pytest.mark.parametrize("f", [float, lambda x: np.array(x, float)], ids=["float", "array"])
def test_other_refusals_give_other_advice(f):
    with pytest.raises(TracerError) as caught:
        grad(lambda x: f(x) * 1.0)(0.5)
    assert "standard_normal" not in str(caught.value)


# ------------------------------------------------------------------ the same draws, moved

MOVED = {
    "normal": (lambda rng, a, b: a + b * rng.standard_normal(5), (0.3, 1.2)),
    "uniform": (lambda rng, a, b: a + (b - a) * rng.random(5), (0.3, 1.2)),
    "exponential": (lambda rng, a: a * rng.standard_exponential(5), (1.2,)),
    "laplace": (lambda rng, a, b: a + b * rng.laplace(size=5), (0.3, 1.2)),
    "logistic": (lambda rng, a, b: a + b * rng.logistic(size=5), (0.3, 1.2)),
    "gumbel": (lambda rng, a, b: a + b * rng.gumbel(size=5), (0.3, 1.2)),
    "rayleigh": (lambda rng, a: a * rng.rayleigh(size=5), (1.2,)),
    "lognormal": (lambda rng, a, b: np.exp(a + b * rng.standard_normal(5)), (0.3, 1.2)),
    "weibull": (lambda rng, a: rng.standard_exponential(5) ** (1 / a), (1.2,)),
    "pareto": (lambda rng, a: np.expm1(rng.standard_exponential(5) / a), (1.2,)),
    "gamma": (lambda rng, k, a: a * rng.standard_gamma(1.5, 5), (1.5, 1.2)),
}


@pytest.mark.parametrize("name", MOVED)
def test_what_the_refusals_say_draws_the_same_numbers(name):
    f, parameters = MOVED[name]
    found = f(np.random.default_rng(SEED), *parameters)
    expected = getattr(np.random.default_rng(SEED), name)(*parameters, size=5)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    k, h = len(parameters) - 1, 1e-6
    at = lambda b: np.sum(f(np.random.default_rng(SEED), *parameters[:k], b) ** 2)
    slope = (at(parameters[k] + h) - at(parameters[k] - h)) / (2 * h)
    np.testing.assert_allclose(grad(at)(parameters[k]), slope, rtol=1e-6)
    np.testing.assert_allclose(jvp(at, (parameters[k],), (1.0,))[1], slope, rtol=1e-6)


def test_the_power_distribution():
    """Of its own algorithm: the distribution is what agrees."""
    rng = np.random.default_rng(SEED)
    found = np.exp(-rng.standard_exponential(200_000) / 2.5)
    expected = rng.power(2.5, 200_000)
    levels = np.linspace(0.1, 0.9, 9)
    np.testing.assert_allclose(np.quantile(found, levels), np.quantile(expected, levels), atol=5e-3)


def test_a_multivariate_normal_draw():
    mean, cov = np.array([1.0, 2.0]), np.array([[2.0, 0.5], [0.5, 1.0]])
    z = np.random.default_rng(SEED).standard_normal((100_000, 2))
    draw = lambda mean, cov: mean + z @ np.linalg.cholesky(cov).T
    np.testing.assert_allclose(np.cov(draw(mean, cov).T), cov, atol=0.03)
    found = grad(lambda c: np.mean(np.sum((draw(mean, c) - mean) ** 2, axis=1)))(cov)
    # The mean square is the trace, up to the error of the sample.
    np.testing.assert_allclose(np.diagonal(found), [1, 1], atol=0.02)


# ---------------------------------------------------------------------- no positions, no harm


def test_code_without_positions_is_refused_all_the_same():
    code = compile("lambda rng, x: rng.normal(x)", "nowhere", "eval")
    f = eval(code)
    f.__code__ = f.__code__.replace(co_linetable=b"")
    with pytest.raises(TracerError):
        grad(lambda x: f(np.random.default_rng(SEED), x))(0.5)


def test_a_function_in_c_may_write_numbers():
    def f(x):
        y = np.zeros_like(x)
        for i in range(3):
            operator.setitem(y, i, x[i] ** 2)
        return np.sum(y)

    np.testing.assert_array_equal(grad(f)(np.arange(3.0)), [0.0, 2.0, 4.0])


def test_a_gradient_adds_no_filter_of_warnings():
    program = (
        "import warnings, numpy as np; before = [*warnings.filters]\n"
        "from chainrules_tape import grad; grad(np.sum)(np.ones(3))\n"
        "assert warnings.filters == before, warnings.filters[:3]"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


SUMS = {
    "normal": lambda p, rng: rng.normal(p[0] + p[1], p[2] + 1.0),
    "uniform": lambda p, rng: rng.uniform(p[0] - p[1], p[2] + p[1]),
    "exponential": lambda p, rng: rng.exponential(p[0] + 1.0, 3),
    "lognormal": lambda p, rng: rng.lognormal(p[0] if len(p) else p[1], p[0] + p[2]),
    "laplace": lambda p, rng: rng.laplace(p[0] - p[1], p[2] + p[0]),
    "permutation": lambda p, rng: rng.permutation(p + p),
}


@pytest.mark.parametrize("name", SUMS)
def test_an_expression_as_a_parameter_keeps_its_parentheses(name):
    """The line to write was another one: ``p[0] + p[1] + p[2] + 1.0 * rng.standard_normal()``."""
    p = np.array([0.1, 0.2, 0.3])
    with pytest.raises(TracerError) as caught:
        grad(lambda p: np.sum(SUMS[name](p, np.random.default_rng(SEED))))(p)
    write = str(caught.value).rpartition("use ")[2]
    found = eval(write, {"np": np, "p": p, "rng": np.random.default_rng(SEED)})
    np.testing.assert_allclose(found, SUMS[name](p, np.random.default_rng(SEED)))


def test_one_draw_of_several_numbers():
    with pytest.raises(TracerError) as caught:
        grad(lambda p: np.sum(np.random.default_rng(SEED).multivariate_normal(p, np.diag(p))))(
            np.ones(3)
        )
    assert "standard_normal(len(p)) @ np.linalg.cholesky(np.diag(p)).T" in str(caught.value)


OF_ARRAYS = {
    "normal": lambda m, rng: rng.normal(m, np.exp(m)),
    "normal, a scale": lambda m, rng: rng.normal(m, 2.0),
    "normal, broadcast": lambda m, rng: rng.normal(m[:, None], np.ones(3)),
    "normal, a number": lambda m, rng: rng.normal(m[0], 1.0),
    "uniform": lambda m, rng: rng.uniform(m, high=m + 1),
    "exponential": lambda m, rng: rng.exponential(m),
    "laplace": lambda m, rng: rng.laplace(0.0, m),
    "lognormal": lambda m, rng: rng.lognormal(m, 0.5),
    "gumbel": lambda m, rng: rng.gumbel(loc=m),
    "gamma": lambda m, rng: rng.gamma(2.0, m),
}


@pytest.mark.parametrize("name", OF_ARRAYS)
def test_each_element_gets_a_number_of_its_own(name):
    m = np.array([0.1, 0.2, 0.3])
    with pytest.raises(TracerError) as caught:
        grad(lambda m: np.sum(OF_ARRAYS[name](m, np.random.default_rng(SEED))))(m)
    write = str(caught.value).rpartition("use ")[2].partition(", after")[0]
    found = eval(write, {"np": np, "m": m, "rng": np.random.default_rng(SEED)})
    np.testing.assert_allclose(found, OF_ARRAYS[name](m, np.random.default_rng(SEED)))


class Model:
    """Holds what draws."""

    def __init__(self):
        self.rng = np.random.RandomState(SEED)
        self.draw = self.rng.laplace


RECEIVERS = [
    "rngs[0].normal(x, np.exp(x))",
    "rngs[0].normal([x[0], 1.0], 2.0)",
    "rngs[0].uniform(x, x + 1.0)",
    "rngs[0].normal(x, 2.0, None)",
    "rngs[0].normal(x, 2.0, size)",
    "rngs[0].gamma(2.0, np.exp(x))",
    "rngs[0].permutation(x)",
    "made().exponential(x + 1.0)",
    "made().normal(made.center(x), 1.0)",
    "getattr(model, 'rng').logistic(x)",
    "model.draw(x, 2.0)",
    "permutation(model.held)",
]


@pytest.mark.parametrize("program", RECEIVERS)
def test_a_generator_that_no_name_leads_to(program):
    """The line to write has the derivative of the draw of the same numbers."""

    def at(text, x):
        made = lambda: np.random.default_rng(SEED)
        made.center = np.cos
        rngs, model = [made()], Model()
        model.held = x * x
        held = {"permutation": made().permutation, "size": None}
        linecache.cache["draw.py"] = len(text), None, [text], "draw.py"
        space = {"np": np, "rngs": rngs, "model": model, "made": made, "x": x, **held}
        weights = np.array([2.0, 3.0])
        return np.sum(eval(compile(text, "draw.py", "eval"), {}, space) * weights)

    x = np.array([0.25, 0.75])
    with pytest.raises(TracerError) as caught:
        grad(functools.partial(at, program))(x)
    write = str(caught.value).rpartition("use ")[2]
    truth = [(at(program, x + e) - at(program, x - e)) / 2e-6 for e in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(grad(functools.partial(at, write))(x), truth, rtol=1e-6)


RNG = np.random.default_rng(SEED)


def test_an_operator_beside_a_draw():
    p = np.array([0.1, 0.2])
    programs = {
        "2.0 * (p[0] + p[1] * ": lambda p: 2.0 * RNG.normal(p[0], p[1]),
        "(p[0] + (p[1] - p[0]) * ": lambda p: RNG.uniform(p[0], p[1]) ** 2,
        "use (p[0] + p[1] * RNG.standard_normal())": lambda p: np.exp(RNG.normal(p[0], p[1])),
    }
    for write, f in programs.items():
        with pytest.raises(TracerError, match=re.escape(write.removeprefix("2.0 * "))):
            grad(f)(p)


def test_a_draw_whose_arguments_are_unpacked():
    rng, given, named = np.random.default_rng(0), (1.0,), {"scale": 1.0}
    for f in (lambda s: rng.normal(s, *given), lambda s: rng.normal(s, **named)):
        with pytest.raises(TracerError, match=r"use loc \+ scale \* rng\.standard_normal\(size\)"):
            grad(f)(2.0)


def test_a_power_draws_the_same_numbers():
    first, second = np.random.default_rng(3), np.random.default_rng(3)
    moved = (-np.expm1(-second.standard_exponential(5))) ** (1 / 2.5)
    np.testing.assert_allclose(first.power(2.5, 5), moved, rtol=1e-12)
    with pytest.raises(TracerError, match=r"use \(\(-np\.expm1\(-first\.standard_exponential\(5\)"):
        grad(lambda a: np.sum(first.power(a, 5)))(2.5)
