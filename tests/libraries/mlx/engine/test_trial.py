"""Exported code is tried: errors of its own come through, what asks for values is an error of ours.

Else it has its derivative, in every nesting, whatever it calls.
"""

from __future__ import annotations

import random
import zlib

import numpy as np
import pytest

from chainrules_py import ChainRulesError, NotDifferentiableError, export, primitive, scalar_rule
from chainrules_py import vocabulary as v
from chainrules_tape import grad
from tests.libraries.mlx.engine import test_nestings as nestings

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")

X = mx.array([0.3, 1.2])
ERRORS = (ValueError, TypeError, IndexError, KeyError, RuntimeError, AttributeError, OSError)
DOORS = {
    "grad": lambda f: mx.grad(lambda x: mx.sum(f(x)))(X),
    "vjp": lambda f: mx.vjp(f, [X], [X]),
    "jvp": lambda f: mx.jvp(f, [X], [X]),
    "vmap": lambda f: mx.vmap(f)(mx.stack([X, X])),
    "compile": lambda f: mx.compile(f)(X),
    "compile of grad": lambda f: mx.compile(mx.grad(lambda x: mx.sum(f(x))))(X),
    "vmap of grad": lambda f: mx.vmap(mx.grad(lambda x: mx.sum(f(x))))(mx.stack([X, X])),
    "grad of grad": lambda f: mx.grad(lambda x: mx.grad(lambda x: mx.sum(f(x)))(x).sum())(X),
}


@pytest.mark.parametrize("door", DOORS)
def test_errors_of_the_code_come_through(door):
    """Each was said to be code that asks for values, with a remedy that did not fit."""
    for error in ERRORS:

        def code(x, error=error):
            if x.shape[0] != 3:
                raise error("need three rows")
            return x * x

        with pytest.raises(error, match="need three rows"):
            DOORS[door](export(code, to="mlx"))
        with pytest.raises(error, match="need three rows"):
            DOORS[door](export(lambda x, code=code: export(code, to="mlx")(2.0 * x), to="mlx"))
    with pytest.raises(ValueError, match="Cannot index"):
        DOORS[door](export(lambda x: x[np.array([0, 1])], to="mlx"))


def test_code_may_look_before_it_raises():
    def code(x):
        if float(x[0]) < 1.0:
            raise ValueError("below one")
        return x * x

    with pytest.raises(ValueError, match="below one"):
        mx.grad(lambda x: mx.sum(export(code, to="mlx")(x)))(X)
    with pytest.raises(NotDifferentiableError, match="asks for values"):
        mx.grad(lambda x: mx.sum(export(code, to="mlx")(x)))(X + 1.0)


ASKING = {
    "float": lambda t: t * float(t),
    "item": lambda t: t * t.item(),
    "NumPy": lambda t: mx.array(np.sin(np.asarray(t))) * 1.0,
    "a branch": lambda t: t * t if t > 0 else t,
    "after a solver": lambda t: t * float(v.root(lambda z: z * z - t, 1.0)),
    "inside": lambda t: export(lambda t: t * float(t), to="mlx")(t * t),
}


@pytest.mark.parametrize("name", ASKING)
def test_what_asks_says_so_and_keeps_the_cause(name):
    f = export(ASKING[name], to="mlx")
    at = mx.array(0.7)
    for run in (
        lambda: mx.grad(f)(at),
        lambda: mx.jvp(f, [at], [at]),
        lambda: mx.vmap(f)(X),
        lambda: mx.compile(f)(at),
        lambda: mx.grad(lambda t: mx.jvp(f, [t], [t])[1][0])(at),
    ):
        with pytest.raises(NotDifferentiableError) as error:
            mx.eval(run())
        assert error.value.__cause__ is not None


def test_what_is_not_differentiated_may_be_asked():
    w, x = mx.array(2.0), mx.array(0.5)
    code = export(lambda x: v.sin(x) * float(w) * w, to="mlx")
    assert abs(float(mx.grad(code)(x)) - 4.0 * np.cos(0.5)) < 1e-5
    with pytest.raises(NotDifferentiableError, match="asks for values"):
        mx.grad(lambda w: export(lambda x: v.sin(x) * float(w), to="mlx")(x))(w)


def test_rules_are_tried_with_the_results_that_their_calls_had():
    """Numbers that are 0.5 throughout are no times: the second derivative was refused."""
    times = np.array([0.0, 0.5, 1.0])

    @primitive
    def grown(x):
        return v.exp(x)

    decay = lambda x: v.odeint(lambda y, _t: y, v.exp(x), times, rtol=1e-6, atol=1e-6)[0]
    scalar_rule(grown, lambda _y, x: decay(x))
    slope = mx.grad(export(grown, to="mlx"))
    for at in (0.3, 0.4):
        have = [slope(mx.array(at)), mx.grad(slope)(mx.array(at))]
        np.testing.assert_allclose([float(y) for y in have], np.exp([at, at]), rtol=1e-3)


def in_code(f):
    return lambda t: export(lambda t: f(t) * 1.0, to="mlx")(t)


CODE = {name: in_code(f) for name, f in nestings.WORDS.items()}
SOLVING = {
    "times that are captured": lambda t, ts: v.odeint(lambda y, _s: -t * y, t, ts)[-1],
    "times, in two calls": lambda t, ts: (
        v.odeint(lambda y, _s: -t * y, t, ts)[-1] * v.odeint(lambda y, _s: y * t, 1.0, ts[1:])[-1]
    ),
    "parameters": lambda t, ts: v.odeint(lambda y, s, p: -p * y + s, v.stack(t, t * t), ts, t)[-1],
}


@pytest.mark.parametrize("name", SOLVING)
def test_integrators_in_code_are_differentiated(name):
    """Each was refused."""
    numbers = np.array([0.0, 0.5, 0.8])
    want = grad(lambda t: v.sum(SOLVING[name](t, numbers)))(np.array(0.7))
    for ts in (numbers, mx.array(numbers)):
        f = export(lambda t, ts=ts: v.sum(SOLVING[name](t, ts)), to="mlx")
        t = mx.array(0.7)
        for have in (mx.grad(f)(t), mx.jvp(f, [t], [mx.array(1.0)])[1][0]):
            np.testing.assert_allclose(float(have), want, rtol=1e-3)


def judged(chain, name):
    """Whether code has the number that what it calls has by itself; an error may take its place."""
    try:
        have = nestings.chained(
            chain,
            nestings.scalar(name, CODE),
            mx.grad,
            lambda f, t: mx.jvp(f, [t], [mx.ones_like(t)])[1][0],
            lambda f, t: mx.vmap(f)(mx.stack([t, 1.1 * t])).sum(),
        )(mx.array(nestings.AT))
        mx.eval(have)
    except (ChainRulesError, ValueError, RuntimeError) as error:
        if isinstance(error, ChainRulesError) or "implemented" in str(error):
            return False
        raise
    want = nestings.on_the_tape(chain, name)
    assert abs(float(have) - want) <= 1e-2 * max(1.0, abs(want)), (chain, name, have, want)
    return True


@pytest.mark.parametrize("name", CODE)
def test_exported_code_has_the_derivative_of_what_it_calls(name):
    two = [c for c in nestings.chains() if len(c) == 2]
    for chain in ("G", "J"):
        assert judged(chain, name) or name in nestings.REFUSED
    judged(random.Random(zlib.crc32(name.encode())).choice(two), name)


@pytest.mark.slow
@pytest.mark.parametrize("name", CODE)
def test_exported_code_has_it_in_all_chains(name):
    """As many as by itself, of two transformations."""
    short = [c for c in nestings.chains() if len(c) < 3]
    for chain in short:
        assert judged(chain, name) or not nestings.judged(chain, name), chain


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKING)
def test_what_asks_is_refused_in_all_chains(name):
    push = lambda f, t: mx.jvp(f, [t], [mx.ones_like(t)])[1][0]
    mapped = lambda f, t: mx.vmap(f)(mx.stack([t, 1.1 * t])).sum()
    for chain in nestings.chains():
        if set(chain) <= set("st"):  # nothing is differentiated
            continue
        f = nestings.chained(chain, export(ASKING[name], to="mlx"), mx.grad, push, mapped)
        with pytest.raises(NotDifferentiableError):
            mx.eval(f(mx.array(nestings.AT)))
