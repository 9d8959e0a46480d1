"""Scans in programs, whatever the form and the order in memory of what they are given."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.compiled import close
from chainrules_py.composites.higher_order import scan
from chainrules_py.extend import flatten
from chainrules_tape import grad, hessian, hvp, jacobian, jvp, linearize, value_and_grad, vjp
from tests.engines.compile.test_scan import loops

N, D = 20, 3

LAYOUTS: dict[str, Any] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "spread": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "spread rows": lambda a: np.repeat(a, 2, axis=0)[::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
}
STEPS: dict[str, Any] = {
    "w @ h": lambda w, h, x: np.tanh(w @ h) * 0.9,
    "h @ w": lambda w, h, x: np.tanh(h @ w) * 0.9,
    "w.T @ h": lambda w, h, x: np.tanh(w.T @ h),
    "(w @ h).T": lambda w, h, x: np.tanh(w @ h).T,
    "x @ h": lambda w, h, x: np.tanh(x @ h) + w * 0.1,
    "columns": lambda w, h, x: np.sin(h) * np.sum(w * h, axis=0) * 0.3,
    "all": lambda w, h, x: np.sin(h) * np.sum(w * h) * 0.3,
    "h @ x.T": lambda w, h, x: np.tanh(h @ x.T) + w.T * 0.1,
    "mean": lambda w, h, x: np.tanh(h * np.mean(x @ w, axis=1)),
    "solve": lambda w, h, x: np.tanh(np.linalg.solve(w + 3 * np.eye(D), h)),
    "einsum": lambda w, h, x: np.tanh(np.einsum("ij,kj->ik", w, h)),
    "column": lambda w, h, x: np.tanh(h + np.outer(x[0], w[:, 0]) @ h),
}
GIVEN: tuple[Any, ...] = (lambda h: None, lambda h: h, lambda h: h.T, lambda h: np.sum(h, axis=0))
FORMS: dict[str, Any] = {
    "value": lambda f: lambda w, h, xs, *ts: f(w, h, xs),
    "gradient": lambda f: lambda w, h, xs, *ts: value_and_grad(f, (0, 1, 2))(w, h, xs),
    "jvp": lambda f: lambda w, h, xs, *ts: jvp(f, (w, h, xs), ts),
    "jvp in w": lambda f: lambda w, h, xs, *ts: jvp(lambda w: f(w, h, xs), (w,), ts[:1]),
    "jvp in h": lambda f: lambda w, h, xs, *ts: jvp(lambda h: f(w, h, xs), (h,), ts[1:2]),
    "jvp in xs": lambda f: lambda w, h, xs, *ts: jvp(lambda xs: f(w, h, xs), (xs,), ts[2:]),
    "linearize": lambda f: lambda w, h, xs, *ts: linearize(f, w, h, xs)[1](*ts),
    "vjp": lambda f: lambda w, h, xs, *ts: vjp(lambda *a: f(*a) * a[1], w, h, xs)[1](ts[1]),
    "jacobian": lambda f: lambda w, h, xs, *ts: jacobian(lambda h: f(w, h, xs) * h[0])(h),
    "hvp": lambda f: lambda w, h, xs, *ts: hvp(lambda w: f(w, h, xs), (w,), ts[:1]),
}


def check_layouts(seed, **options):
    """Compare a scan of random turns, in a random mode, of arrays of random layouts."""
    rng = np.random.default_rng(seed)
    first, second = [STEPS[str(k)] for k in rng.choice([*STEPS], 2)]
    layouts = [LAYOUTS[str(k)] for k in rng.choice([*LAYOUTS], 6)]
    given = GIVEN[rng.integers(len(GIVEN))]

    def f(w, h, xs):
        def turn(h, x):
            new = second(w, first(w, h, x), x)
            return new, given(new)

        end, ys = scan(turn, h, xs)
        return np.sum(end**2) + (0.0 if ys is None else np.sum(ys * ys))

    g = FORMS[str(rng.choice([*FORMS]))](f)
    compiled = compile(g, **options)
    for _ in range(4):
        shapes = [(D, D), (D, D), (N, D, D)] * 2
        xs = [lay(rng.normal(size=n)) for lay, n in zip(layouts, shapes, strict=True)]
        assert close(compiled(*xs), g(*xs)), compiled.source
    assert compiled.programs, compiled.explain()
    return bool(loops(compiled))


def test_what_is_carried_and_given_lies_as_in_a_loop():
    """Products and sums round by the order in memory: rows and tangents were copied to C order."""
    assert sum([check_layouts(seed) for seed in range(24)]) > 16


@pytest.mark.slow
def test_many_layouts():
    for seed in range(100, 700):
        check_layouts(seed)


@pytest.mark.slow
def test_many_layouts_in_c():
    for seed in range(1000, 1120):
        check_layouts(seed, target="c")


CELLS: dict[str, Any] = {
    "a sum": lambda x: lambda h, t: (h * 0.5 + x, None),
    "a product": lambda x: lambda h, t: (np.sin(h) * x + t, None),
    "a result": lambda x: lambda h, t: (h * 0.5 + x * t, np.sum(h)),
    "results alone": lambda x: lambda h, t: (h * 0.5 + t, h * x),
    "the row": lambda x: lambda h, t: (t * x, None),
    "what it was": lambda x: lambda h, t: (h, h * x + t),
}
STARTS: dict[str, Any] = {
    "a float": 0.0,
    "an int": 0,
    "a flag": True,
    "NumPy's": np.float64(2.0),
    "no axes": np.zeros(()),
    "one": np.zeros(1),
    "a row": np.zeros((1, 2)),
    "half the precision": np.zeros(2, np.float32),
    "integers": np.zeros(2, int),
    "all": np.zeros(2),
}
MODES: dict[str, Any] = {
    "value": lambda f: f,
    "gradient": value_and_grad,
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: vjp(f, x)[1](1.0),
    "hessian": hessian,
    "twice": lambda f: grad(lambda x: np.sum(grad(f)(x) ** 2)),
}
QUICK = {
    ("a sum", "gradient"),
    ("a result", "gradient"),
    ("results alone", "vjp"),
    ("the row", "value"),
    ("what it was", "gradient"),
}
CHANGING = [
    pytest.param(cell, mode, marks=[] if (cell, mode) in QUICK else [pytest.mark.slow])
    for cell in CELLS
    for mode in MODES
]


def scan_from(start, cell, inside):
    """Make a function of a scan from a state, which is a part of what is carried, or all."""

    def f(x):
        turn = CELLS[cell](x)

        def beside(h, t):
            new, y = turn(h["a"], t)
            return {"a": new, "b": h["b"] * x}, y

        first = {"a": start, "b": x} if inside else start
        found = scan(beside if inside else turn, first, np.ones((N, 2)))
        return sum([np.sum(y * y) for y in flatten(found)[0] if y is not None])

    return f


@pytest.mark.parametrize("cell, mode", CHANGING)
def test_what_is_carried_may_get_another_form_at_first(cell, mode):
    """Arrays of all states were made of a number and arrays: NumPy refused, in its operations."""
    for start, inside in itertools.product(STARTS.values(), (False, True)):
        g, x = MODES[mode](scan_from(start, cell, inside)), np.array([0.3, 0.7])
        compiled = compile(g)
        for k in (1.0, 1.1):
            assert close(compiled(k * x), g(k * x))
        assert compiled.programs, compiled.explain()
