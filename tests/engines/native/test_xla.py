"""Programs for JAX: what the function gives but for rounding, and errors where it raises."""

import functools
import itertools
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_compile.compiled import close
from chainrules_native import xla
from chainrules_py import RuleError
from chainrules_py import vocabulary as v
from chainrules_tape import grad, hvp, value_and_grad
from tests.engines.compile.random_programs import SAID, arguments, check_loose, run
from tests.engines.compile.test_scan import (
    FORMS,
    XS,
    B,
    U,
    W,
    gated,
    inner,
    largest,
    numbers,
    recurrent,
    used_after,
    without_rows,
    written,
)

pytest.importorskip("jax")
RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal((2, 4, 5))
I = np.array([0, 3, 3])  # noqa: E741


def compiled(f, **options):
    return compile(f, target="jax", exact=False, background=False, **options)


def check(f, *args, forms=9):
    """Compare a function with its programs, at some kinds of arguments."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("error", RecordingWarning)
        g = compiled(f)
        for xs in itertools.islice(arguments(args), forms):
            wanted = f(*xs)
            for _ in range(2):
                assert close(g(*xs), wanted), g.source
    assert "xla" in g.source
    return g


def test_it_is_announced():
    settings = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    assert settings["project"]["entry-points"]["chainrules_py.writers"]["jax"] == (
        "chainrules_native.xla:write"
    )


FUNCTIONS = [
    lambda x, y: x * y + np.sin(x),
    lambda x, y: (x.T @ y, np.sum(x), x > 0.0, np.max(x, axis=1)),
    lambda x, y: value_and_grad(lambda x: np.sum(np.exp(x) * y / (1.0 + x**2)))(x),
    lambda x, y: hvp(lambda x: np.sum(np.tanh(x @ y.T) ** 3), (x,), (y,)),
    lambda x, y: (x[I] * y[1:2], np.concatenate([x, y])[::-2], np.roll(x, 1, axis=0)),
    lambda x, y: grad(lambda x: np.sum(x[I] ** 2) + np.sum(x[:, 1:3] * y[:, :2]))(x),
    lambda x, y: np.linalg.solve(x @ x.T + 9.0 * np.eye(4), y),
    lambda x, y: grad(lambda x: np.linalg.slogdet(x @ x.T + 9.0 * np.eye(4))[1])(x),
    lambda x, y: (np.sort(x, axis=1), np.cumsum(x, axis=0), np.where(x > y, x, 2.0)),
    lambda x, y: np.median(x, axis=0) + np.std(y),
    lambda x, y: (np.exp(1j * x) * y).real,
]


@pytest.mark.slow
@pytest.mark.parametrize("f", FUNCTIONS)
def test_results_are_those_of_the_function(f):
    check(f, X, Y)


def test_results_of_some_functions():
    check(lambda x, y: tuple([f(x, y) for f in FUNCTIONS[:6]]), X, Y, forms=2)


@pytest.mark.slow
def test_numbers_and_precisions():
    check(lambda x, y: x * y + x / y, 0.3, 0.7)
    check(lambda x, y: x * 2.0 + np.sin(y), np.float32(0.3), np.float64(0.7))
    check(lambda x: np.sum(x * 2.0) + x, X.astype(np.float32))
    check(lambda x: x * np.float64(2.0), X.astype(np.float32))
    y = compiled(lambda x: (x * 2.0, np.sum(x)))(X.astype(np.float32))
    assert [type(y[0]), y[0].dtype, type(y[1])] == [np.ndarray, np.float32, np.float32]
    y[0][...] = 0.0  # it is an array of its own


@pytest.fixture
def scans(monkeypatch):
    """Whatever is no scan, or none within."""
    unrolled, turns = [], []
    scanned = xla.Tracing._scanned
    monkeypatch.setattr(xla.Tracing, "_unrolled", lambda *given: unrolled.append(given))
    monkeypatch.setattr(
        xla.Tracing, "_scanned", lambda self, *given: turns.append(1) or scanned(self, *given)
    )
    yield
    assert turns
    assert not unrolled


def test_a_long_loop_is_a_scan(scans):
    def steps(x):
        for _ in range(300):
            x = np.sin(x) * 1.5
        return np.sum(x)

    check(steps, X[0], forms=1)


@pytest.mark.slow
def test_long_loops_are_scans(scans):
    def steps(x, w):
        for _ in range(300):
            x = np.tanh(w @ x) + 0.1 * x
        return np.sum(x)

    def rows(x, w):
        for k in range(200):
            x = np.sin(x) * w[k] + w[200 - k]
        return np.sum(x)

    check(value_and_grad(steps, (0, 1)), X[0, :4], X[:, :4] * 0.1, forms=2)
    check(value_and_grad(rows, (0, 1)), X[0], 1.0 + RNG.standard_normal(201) * 0.1, forms=1)


SCANS = (recurrent, gated, numbers, without_rows, inner, used_after, written, largest)
QUICK = {(recurrent, "gradient"), (numbers, "jvp")}


@pytest.mark.parametrize(
    "f, form",
    [
        pytest.param(f, form, marks=[] if (f, form) in QUICK else [pytest.mark.slow])
        for f, form in itertools.product(SCANS, FORMS)
    ],
)
def test_a_scan_of_one_turn_is_a_scan(scans, f, form):
    g = compiled(FORMS[form](f))
    for k in (1.0, 1.1):
        assert close(g(k * W, U, B, k * XS), FORMS[form](f)(k * W, U, B, k * XS))
    assert len(g.programs) == 1
    assert len(g.programs[0].recorded) < 700  # first and last turns may stand by themselves


@pytest.mark.slow
def test_as_many_calls_are_noted_for_any_number_of_turns():
    counts = []
    for n in (20, 300):
        g = compiled(value_and_grad(recurrent))
        g(W, U, B, RNG.standard_normal((n, 2)))
        counts.append(len(g.programs[0].recorded))
    assert counts[0] == counts[1]


@pytest.mark.slow
def test_loops_that_vary_otherwise_are_unrolled():
    def f(x):
        for k in range(90):
            x = np.roll(x, k) * 0.9 + np.sin(x)
        return np.sum(x)

    check(f, X[0], forms=2)


def test_another_branch_is_another_program():
    f = value_and_grad(lambda x: np.sum(x**2) if np.sum(x) > 0 else -np.sum(x))
    g = compiled(f)
    for x in (X, -X, X * 2.0):
        assert close(g(x), f(x))
    assert len(g.programs) == 2


def quotient(x, y):
    return x / y


def solution(x, y):
    return np.linalg.solve(x, y)


def picked(x, i):
    return x[i] * 2.0


EYE = np.eye(3)


@pytest.mark.parametrize(
    "f, good, bad",
    [
        (quotient, (1.0, 2.0), (1.0, 0.0)),
        (solution, (EYE * 2.0, EYE), (EYE * 0.0, EYE)),
        (lambda x, y: np.linalg.cholesky(x) + y, (EYE * 2.0, 1.0), (-EYE, 1.0)),
        (picked, (X, np.array([0, 3, -4])), (X, np.array([0, 4, -4]))),
    ],
)
def test_what_raises_raises(f, good, bad):
    g = compiled(f)
    assert close(g(*good), f(*good))
    with pytest.raises(Exception) as wanted:
        f(*bad)
    with pytest.raises(wanted.type):
        g(*bad)
    assert close(g(*good), f(*good))


def test_bits_cannot_be_asked_for():
    with pytest.raises(RuleError, match="exact=False"):
        compile(np.sin, target="jax")
    with pytest.raises(RuleError, match="on one thread"):
        compile(np.sin, target="jax", exact=False, threads=2)


def test_numbers_that_may_become_complex_are_numpys():
    g = compiled(lambda x: x**0.5)
    with pytest.warns(RecordingWarning, match="may become complex"):
        assert g(4.0) == 2.0
    assert close(g(-4.0), (-4.0) ** 0.5)


def test_without_jax_it_is_written_for_numpy(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "jax", None)
    g = compiled(lambda x: x * 2.0)
    with pytest.warns(RecordingWarning, match="for NumPy instead of JAX"):
        assert np.array_equal(g(X), X * 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("turn", range(2))
def test_random_programs(monkeypatch, turn):
    monkeypatch.setitem(
        check_loose.__globals__,
        "compile",
        functools.partial(compile, target="jax", background=False),
    )
    before = SAID["close"]
    run(check_loose, 10, turn)
    assert SAID["close"] > before


ASKED = {
    "kind": lambda a: np.sum(a) * np.iscomplexobj(np.linalg.eigvals(a)),
    "root": lambda a: np.sum(np.abs(v.sqrtm(a))) + np.iscomplexobj(v.sqrtm(a)),
    "length": lambda a: np.sum(a) * len(np.nonzero(a - 2.0)[0]),
}


@pytest.mark.parametrize("of", [lambda f: f, grad], ids=["value", "gradient"])
@pytest.mark.parametrize("name", ASKED)
def test_forms_that_hang_on_numbers_are_asked_anew(name, of):
    """XLA gives one form, and leaves out a call of which nothing but the form is used."""
    f, real = of(ASKED[name]), np.array([[2.0, 0.5], [0.5, 1.0]])
    turned, below = np.array([[0.0, -1.0], [1.0, 0.5]]), np.array([[-2.0, 0.3], [0.5, 1.0]])
    for xs in ((real, turned, below), (turned, real)):
        program = compiled(f)
        for x in (*xs, *xs):
            np.testing.assert_allclose(program(x), f(x), rtol=1e-9, atol=1e-12)
