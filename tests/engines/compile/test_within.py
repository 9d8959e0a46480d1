"""Compiled functions where values are traced: within others, of objects, with what is captured.

A program fits plain arrays. Called with a value that is noted for another program, or while what
it captured is being differentiated, a compiled function is the function that it was made of,
whether or not it was called before, and says nothing of it.
"""

from __future__ import annotations

import gc
import itertools
import warnings
import weakref

import numpy as np
import pytest

from chainrules_compile import RecordingWarning, compile
from chainrules_py import ops as v
from chainrules_py.extend import flatten
from chainrules_tape import grad, hessian, jvp, value_and_grad
from tests.engines.compile.shadow import same

X, Y = np.array([0.3, 0.7, 1.1, 0.2]), np.array([0.2, 0.5, -1.0, 0.8])


@pytest.fixture(autouse=True)
def _silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RecordingWarning)
        yield


def buffered(p, x):
    made = np.zeros(4, like=p * x)
    for i in range(4):
        made[i] = p[i] * x[i] * (made[i - 1] if i else 1.0)
    return made


def turned(p, x):
    return v.scan(lambda h, t: (np.sin(h * p) + t, None), x, np.linspace(0, 1, 20))[0]


INNER = {
    "ufuncs": lambda p, x: np.sin(p) * x,
    "in place": lambda p, x: np.sum(np.sin(np.cos(p * x) + p) * x - p),
    "product": lambda p, x: np.outer(p, x) @ x,
    "buffer": buffered,
    "choice": lambda p, x: np.where(x > p, x * x, np.exp(p)),
    "places": lambda p, x: np.take_along_axis(x, np.argsort(p), 0) * p[::-1],
    "branch": lambda p, x: np.sum(p * x) if np.sum(x) > 0 else np.sum(p - x * x),
    "number": lambda p, x: x * 2.0 + p[0],
    "scan": turned,
}
HALVES = {
    "value": lambda f: f,
    "gradient": lambda f: grad(lambda p, x: np.sum(f(p, x)), 1),
}
USES = {
    "left": lambda c: lambda x: np.sum(c(x, Y)),
    "right": lambda c: lambda x: np.sum(c(Y, x)),
    "both": lambda c: lambda x: np.sum(c(np.sin(x), x * 2)),
    "with others": lambda c: lambda x: np.sum(c(Y, x)) + 0.1 * np.sum(x * x),
}
OUTER = {
    "compiled": compile,
    "compiled gradient": lambda f: compile(value_and_grad(f)),
    "gradient": grad,
    "hessian": lambda f: compile(hessian(f)),
}
PLAIN = {"compiled": lambda f: f, "hessian": hessian}
PLAIN |= {"compiled gradient": value_and_grad, "gradient": grad}
SLOW = {"hessian"}


def close(found, wanted):
    leaves = zip(flatten(found)[0], flatten(wanted)[0], strict=True)
    return all(np.allclose(x, y, rtol=1e-12, atol=1e-14) for x, y in leaves)


@pytest.mark.parametrize(
    "outer", [pytest.param(x, marks=pytest.mark.slow) if x in SLOW else x for x in OUTER]
)
@pytest.mark.filterwarnings("ignore::chainrules_py.errors.LostDerivativeWarning")
@pytest.mark.parametrize("inner", INNER)
def test_a_program_that_was_called_before_is_no_other_within(inner, outer):
    for half, use, warm in itertools.product(HALVES, USES, (False, True)):
        f = HALVES[half](INNER[inner])
        c = compile(f)
        if warm:
            c(Y, X)
        g, wanted = OUTER[outer](USES[use](c)), PLAIN[outer](USES[use](f))
        alike = close if inner == "scan" else same
        for x in (X, X * 1.5, X):
            assert alike(g(x), wanted(x)), (half, use, warm)


def test_a_program_is_recorded_anew_around_one_that_was_called():
    held = np.array([1.0, 2.0, 3.0, 4.0])
    c = compile(INNER["ufuncs"])
    g = compile(lambda x: np.sum(c(held, x)))
    for _ in range(3):
        assert g(X) == np.sum(np.sin(held) * X)
        held[1] += 1.0
    with pytest.warns(RecordingWarning, match="held is another each time"):
        assert g(X) == np.sum(np.sin(held) * X)


class Model:
    def __init__(self, w):
        self.w = w


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("outer", [lambda f: f, compile], ids=["plain", "compiled"])
@pytest.mark.parametrize(
    "f",
    [lambda m, x: np.sum(np.cos(m.w)), lambda m, x: np.sum(np.cos(m.w) * x)],
    ids=["object alone", "and an array"],
)
def test_an_object_may_hold_what_is_differentiated(f, outer, warm):
    c = compile(lambda m: f(m, X))
    d = compile(f)
    if warm:
        c(Model(Y))
        d(Model(Y), X)
    wanted = grad(lambda w: f(Model(w), X))(Y)
    assert same(outer(grad(lambda w: c(Model(w))))(Y), wanted)
    assert same(outer(grad(lambda w: d(Model(w), X)))(Y), wanted)
    assert same(outer(lambda w: d(Model(w), X))(Y), f(Model(Y), X))
    assert same(outer(lambda w: jvp(lambda w: c(Model(w)), (w,), (X,)))(Y)[0], f(Model(Y), X))
    assert same(c(Model(X)), f(Model(X), X))


def decay(a):
    return lambda y, t: -a * y


def held_by(model):
    return lambda t: model.w(t)


SOLVED = {
    "root": lambda a, c: v.root(c(lambda t: t * t - a), 1.0),
    "fixed point": lambda a, c: v.fixed_point(c(lambda t: 0.5 * (t + a / t)), 1.0),
    "minimum": lambda a, c: v.minimize(c(lambda t: np.sum((t * t - a) ** 2)), 1.0),
    "path": lambda a, c: v.odeint(c(decay(a)), np.array([1.0]), np.array([0.0, 0.5]))[-1, 0],
    "at once": lambda a, c: c(lambda t: np.sum(t * a))(np.ones(2)),
    "in a dict": lambda a, c: v.root({"f": c(lambda t: t * t - a)}["f"], 1.0),
    "held": lambda a, c: v.root(held_by(Model(c(lambda t: t * t - a))), 1.0),
    "gradient": lambda a, c: v.root(c(grad(lambda t: t * t * t / 3 - a * t)), 1.0),
}


@pytest.mark.parametrize("outer", [lambda f: f, compile], ids=["plain", "compiled"])
@pytest.mark.parametrize("name", SOLVED)
def test_what_it_captured_may_be_differentiated(name, outer):
    """`root` refused what a compiled function remembers, as of something that people wrote."""
    if (name, outer) == ("path", compile):
        pytest.skip("steps of a solver are not a program")
    f = SOLVED[name]
    wanted = grad(lambda a: f(a, lambda g: g))(2.0)
    assert outer(grad(lambda a: f(a, compile)))(2.0) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("settings", [{}, {"target": "c"}], ids=str)
@pytest.mark.parametrize("form", [lambda f: f, value_and_grad], ids=["value", "gradient"])
def test_arguments_are_not_kept(form, settings):
    c = compile(form(lambda x: np.sum(np.exp(np.sin(x)) * x)), **settings)
    for n in (3, 4, 4, 5):
        x = np.ones(n)
        held = weakref.ref(x)
        c(x)
        del x
        gc.collect()
        assert held() is None
