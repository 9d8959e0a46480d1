"""A program raises where its function does, whether or not anybody needs the value."""

from __future__ import annotations

import numpy as np
import pytest

import chainrules_py.vocabulary as v
from chainrules_compile import compile
from chainrules_py.composites.functional import scan
from chainrules_py.extend import flatten
from chainrules_tape import grad
from tests.engines.compile.test_forms import CALLS, numbers_like
from tests.surface.point import Point

pytestmark = pytest.mark.filterwarnings("ignore")

SQUARE = np.array([[2.0, 0.5], [0.5, 1.0]])
LINE = np.array([0.5, 1.0, 2.0])
NAN = np.full((4, 4), np.nan)

RAISING = {
    "quantile": (lambda x: np.quantile(LINE, x), np.array([0.5]), np.array([1.5])),
    "weights": (
        lambda x: np.quantile(LINE, 0.5, weights=x, method="inverted_cdf"),
        LINE,
        -LINE,
    ),
    "nanpercentile": (lambda x: np.nanpercentile(LINE, x), np.array([50.0]), np.array([-1.0])),
    "average": (lambda x: np.average(LINE, weights=x), LINE, 0 * LINE),
    "geomspace": (lambda x: np.geomspace(x, 3.0, 4), LINE, 0 * LINE),
    "digitize": (lambda x: np.digitize(LINE, x), LINE, LINE[[1, 0, 2]]),
    "nanargmax": (lambda x: np.nanargmax(x), LINE, LINE * np.nan),
    "cov": (lambda x: np.cov(SQUARE, aweights=x), LINE[:2], -LINE[:2]),
    "inv": (np.linalg.inv, SQUARE, np.ones((2, 2))),
    "solve": (lambda x: np.linalg.solve(x, LINE[:2]), SQUARE, np.ones((2, 2))),
    "triangle": (
        lambda x: v.solve_triangular(x, LINE[:2]),
        SQUARE,
        np.zeros((2, 2)),
    ),
    "cholesky": (np.linalg.cholesky, SQUARE, -SQUARE),
    "eigvalsh": (np.linalg.eigvalsh, np.eye(4), NAN),
    "eigh": (lambda x: np.linalg.eigh(x)[1], np.eye(4), NAN),
    "norm": (lambda x: np.linalg.norm(x, ord=2), np.eye(4), NAN),
    "matrix power": (lambda x: np.linalg.matrix_power(x, -2), SQUARE, np.ones((2, 2))),
    "sylvester": (lambda x: v.solve_sylvester(x, SQUARE, SQUARE), SQUARE, NAN[:2, :2]),
    "read": (lambda i: np.arange(3.0, like=i)[i], np.array([0, 2]), np.array([0, 3])),
    "take": (lambda i: np.take(np.arange(3.0, like=i), i), np.array([0, 2]), np.array([0, 3])),
    "take along": (lambda i: np.take_along_axis(LINE, i, 0), np.array([0]), np.array([-4])),
    "choose": (lambda i: np.choose(i, [LINE, LINE]), np.array([0, 1, 0]), np.array([0, 2, 0])),
    "power of whole numbers": (lambda n: 2**n, np.array([2, 1]), np.array([2, -1])),
    "quotient of Python's": (lambda x: 1.0 / x, 2.0, 0.0),
    "power of Python's": (lambda x: x**-2.0, 2.0, 0.0),
}
"""Functions, what they take, and what they do not."""


def raised(f, *xs):
    """Return the class of the error that a call raises; None where it gives something."""
    try:
        f(*xs)
    except Exception as error:
        return type(error)
    return None


def unneeded(g):
    """Return a gradient that does not hang on what a function gives."""
    return grad(lambda w, x: np.sum(w) + np.sum(g(x)))


@pytest.mark.parametrize("name", RAISING)
@pytest.mark.parametrize("exact", [True, False])
def test_what_nobody_needs_raises_all_the_same(name, exact):
    g, good, bad = RAISING[name]
    f = unneeded(g)
    compiled = compile(f, exact=exact)
    np.testing.assert_array_equal(compiled(LINE, good), f(LINE, good))
    wanted = raised(f, LINE, bad)
    assert wanted is not None
    assert raised(compiled, LINE, bad) is wanted
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("name", ["inv", "solve", "average", "read"])
@pytest.mark.parametrize("within", [False, True], ids=["straight", "scan"])
def test_programs_in_c_raise_as_well(name, within):
    g, good, bad = RAISING[name]

    def f(w, x):
        if not within:
            return np.sum(w) + np.sum(g(x))
        turn = lambda c, _: (c * 1.5, np.sum(g(x)) + np.sum(c))
        ys = scan(turn, np.ones(2), np.ones((20, 2)))[1]
        return np.sum(w) + np.sum(ys)

    compiled = compile(grad(f), target="c", background=False)
    np.testing.assert_array_equal(compiled(LINE, good), np.ones(3))
    assert raised(compiled, LINE, bad) is raised(grad(f), LINE, bad) is not None


def test_turns_that_nobody_needs_raise():
    def f(w, xs):
        turn = lambda c, x: (c * x[0], np.sum(np.linalg.inv(np.eye(2) * np.sum(c))))
        ends, ys = scan(turn, np.ones(2), xs)
        return np.sum(w) + np.sum(ys) + np.sum(ends)

    xs = np.ones((40, 3))
    compiled = compile(grad(f))
    np.testing.assert_array_equal(compiled(LINE, xs), np.ones(3))
    assert "for " in compiled.source
    xs[7] = 0.0
    assert raised(compiled, LINE, xs) is np.linalg.LinAlgError
    assert len(compiled.programs) == 1


def test_what_is_asked_once_is_not_asked_again():
    """A cotangent is put where the value was read."""
    read = compile(grad(lambda w, i: np.sum(w[i])))
    read(LINE, np.array([0, 0, 1]))
    assert "w[i]" not in read.source
    assert raised(read, LINE, np.array([0, 0, 3])) is IndexError


def test_a_power_that_is_too_large_has_a_derivative():
    def f(x):
        return x**2

    def handled(x):
        try:
            return x**2
        except OverflowError:
            return 0.0 * x

    assert raised(f, 1e200) is OverflowError
    compiled = compile(grad(f))
    assert compiled(3.0) == 6.0
    assert compiled(1e200) == 2e200
    compiled = compile(grad(handled))
    assert (compiled(3.0), compiled(1e200)) == (6.0, 0.0)


def hostile(x):
    """Yield numbers that some functions do not take; none by which LAPACK would not come back."""
    yield from numbers_like(x)
    if x.size:
        yield np.full_like(x, np.nan)
        yield x + 1e3


def check(call):
    """Compare where a gradient that needs nothing of a call raises with where the call does."""
    point = Point(call)
    if not point.xs or raised(point.value, *point.xs):
        return

    def f(w, xs):
        found = [y for y in flatten(point.value(*xs))[0] if hasattr(y, "dtype")]
        return np.sum(w) + sum([np.sum(np.abs(y)) for y in found if y.dtype.kind in "fciu"])

    compiled = compile(grad(f))
    if raised(compiled, LINE, point.xs):
        return
    for i, x in enumerate(point.xs):
        for other in hostile(x) if isinstance(x, np.ndarray) else (-x, 0 * x, 1e3 * x):
            xs = [*point.xs[:i], other, *point.xs[i + 1 :]]
            wanted, found = raised(grad(f), LINE, xs), raised(compiled, LINE, xs)
            assert found is wanted, f"{call} at {xs}\n{compiled.source}"


@pytest.mark.parametrize("call", CALLS[::150], ids=str)
def test_calls_that_nobody_needs_raise(call):
    check(call)


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_all_calls_that_nobody_needs_raise(call):
    check(call)
