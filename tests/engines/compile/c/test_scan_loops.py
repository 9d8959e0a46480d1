"""Scans in C: one turn is recorded, and is a function that another calls turn by turn."""

import itertools

import numpy as np
import pytest

from chainrules_compile import RecordingError, compile
from chainrules_compile.compiled import close
from chainrules_py.composites.higher_order import scan
from chainrules_tape import grad, value_and_grad
from tests.engines.compile.c.near import near
from tests.engines.compile.random_programs import compared
from tests.engines.compile.test_scan import CELLS, FORMS, RNG, XS, B, U, W, recurrent

pytestmark = pytest.mark.usefixtures("native")
ARGS = (W, U, B, XS)
QUICK = {(recurrent, "gradient")}
CASES = [
    pytest.param(f, form, marks=[] if (f, form) in QUICK else [pytest.mark.slow])
    for f, form in itertools.product(CELLS, FORMS)
]


def compiled(f, **options):
    return compile(f, target="c", **options)


@pytest.mark.parametrize("f, form", CASES)
def test_scans_in_c_have_the_bits_of_the_loop(f, form):
    g = FORMS[form](f)
    made = compiled(g)
    for k in (1.0, 1.1):
        assert compared(g, made, (k * W, U, B, k * XS), near)


@pytest.mark.slow
@pytest.mark.parametrize("f, form", [case.values for case in CASES])
def test_looser_scans_are_close(f, form):
    g = FORMS[form](f)
    made = compiled(g)
    for k in (1.0, 1.1):
        assert close(made(k * W, U, B, k * XS), g(k * W, U, B, k * XS))


def test_no_turn_is_called_from_python():
    counts = []
    for n in (20, 300):
        made = compiled(value_and_grad(recurrent, (0, 1, 2, 3)))
        made(W, U, B, RNG.standard_normal((n, 2)))
        counts.append(len(made.programs[0].program))
        assert "for " not in made.source
        assert made.source.count("block_of_rows(") == 4
    assert counts[0] == counts[1] < 40


def convolved(w, u, b, xs):
    turn = lambda h, x: (np.sin(np.convolve(h, w[0])[:3]), np.sum(np.exp(h) * w, axis=1))
    h, ys = scan(turn, b, xs)
    return np.sum(h) + np.sum(ys * ys)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["value", "gradient"])
def test_a_turn_with_a_call_that_is_not_written_in_c(form):
    g = FORMS[form](convolved)
    made = compiled(g)
    for k in (1.0, 1.1):
        assert near(made(k * W, U, B, XS), g(k * W, U, B, XS))
    assert "for " in made.source


def test_turns_ask_whether_quotients_are_finite():
    """One turn divides by zero where its product is zero: the program that was recorded misses."""

    def f(x, ys):
        h, _ = scan(lambda h, y: (np.sin(h) + np.sqrt(y) * 0.0 + y, None), x, ys)
        return np.sum(h)

    g, x, ys = value_and_grad(f, (0, 1)), np.ones(3), RNG.uniform(1.0, 2.0, (20, 3))
    made = compiled(g)
    zero = ys.copy()
    zero[7, 1] = 0.0
    with np.errstate(all="ignore"):
        for given in (ys, zero, ys, zero[::-1].copy()):
            assert near(made(x, given), g(x, given))


def test_numbers_that_are_carried_and_kept():
    def f(a, xs):
        c, ys = scan(lambda c, x: (np.sin(c) * a + x, (c, x * 2.0)), np.float64(0.5), xs)
        return c + np.sum(ys[0] * ys[1])

    g, xs = value_and_grad(f, (0, 1)), RNG.standard_normal(40)
    made = compiled(g)
    for a in (0.5, 0.75, np.float64(0.25)):
        assert near(made(a, xs), g(a, xs))


@pytest.mark.slow
def test_several_threads():
    def f(w, xs):
        return np.sum(scan(lambda h, x: (np.sin(w * h) + x, None), np.zeros(30_000), xs)[0])

    w, xs = np.full(30_000, 0.5), RNG.standard_normal((16, 1))
    assert near(compiled(grad(f), threads=2)(w, xs), grad(f)(w, xs))


def test_a_scan_is_not_saved_as_c(tmp_path):
    made = compiled(value_and_grad(recurrent, (0, 3)))
    made(*ARGS)
    with pytest.raises(
        RecordingError, match="is not written in C, so the program cannot be saved as C"
    ):
        made.save(tmp_path / "walk")


LYING = {
    "rows spread": lambda a: np.ascontiguousarray(a.T).T,
    "rows apart": lambda a: np.concatenate([a, a], axis=1)[:, : a.shape[1]],
    "rows backwards": lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
    "turned around": lambda a: a[::-1].copy()[::-1],
    "one row": lambda a: np.broadcast_to(a[0], a.shape),
}


@pytest.mark.parametrize("form", ["value", "gradient", "jvp"])
@pytest.mark.parametrize("lying", LYING)
def test_rows_are_read_where_they_lie(lying, form):
    """They were copied to C order, and products rounded otherwise."""
    g = FORMS[form](recurrent)
    made = compiled(g)
    for k in (1.0, 1.1, 0.9):
        xs = (k * W, U, B, LYING[lying](k * XS))
        assert near(made(*xs), g(*xs))
    assert made.programs, made.explain()
    assert "for " not in made.source


def summed(end, ys):
    return np.sum(end * end) + (0.0 if ys is None else np.sum(ys * ys))


TURNED = {
    "carried and kept": lambda w: lambda c, x: (np.sin(c * w) + x[0] * c, c * x[1]),
    "copied": lambda w: lambda c, x: (np.tanh(w @ c).T.copy().T + x[0], c),
    "of the product": lambda w: lambda c, x: ((c @ w).T * x[0], None),
    "as rows": lambda w: lambda c, x: ((w.T @ c.T).T * x[0], np.sum(c, axis=0)),
}


@pytest.mark.parametrize("form", [lambda f: f, value_and_grad], ids=["value", "gradient"])
@pytest.mark.parametrize("turned", TURNED)
def test_matrices_in_fortran_order_are_carried_in_c(turned, form):
    """Such loops were Python's, with C for what stood in a turn."""

    def f(w, first, xs):
        return summed(*scan(TURNED[turned](w), first, xs))

    g, rng = form(f), np.random.default_rng(0)
    made = compiled(g)
    for _ in range(2):
        w, first = [np.asfortranarray(rng.normal(size=(3, 3)) / 3) for _ in range(2)]
        assert compared(g, made, (w, first, rng.normal(size=(20, 2))), near)
    assert len(made.programs) == 1
    assert "for " not in made.source
