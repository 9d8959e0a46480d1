"""Three engines written from docs/build-an-engine.md alone, run at the samples of all operations.

The push of the dual numbers and the pull of the tape are each other's adjoint; the listing, run
again, gives what the operation gives.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from chainrules_py import NoRuleError, Primitive, is_zero, ops
from chainrules_py.extend import flatten_tangent, kind_of, partition, unflatten_tangent
from chainrules_py.testing import instances

FOLDER = Path(__file__).with_name("engines")
LINES = {"dual": 60, "tape": 80, "listing": 54}
ASKING = {"fixed_point", "linear_solve", "minimize", "odeint", "root"}
"""Operations whose rules ask the engine for derivatives of what they are given."""


def engine(name):
    spec = importlib.util.spec_from_file_location(f"small_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


dual, tape, listing = map(engine, LINES)


def moving(x):
    return partition(x, lambda leaf: kind_of(leaf) in ("real", "complex"))


def direction(x, rng):
    """A random tangent, and its leaves."""
    leaves, tree = moving(x)

    def one(leaf):
        u = rng.standard_normal(np.shape(leaf))
        u = u + 1j * rng.standard_normal(np.shape(leaf)) if kind_of(leaf) == "complex" else u
        return u if isinstance(leaf, np.ndarray) else type(leaf)(u)

    parts = list(map(one, leaves))
    return unflatten_tangent(tree, parts), parts


def inner(xs, ys):
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if not (is_zero(x) or is_zero(y))]
    return sum([float(np.sum(np.real(np.conj(x) * y))) for x, y in pairs])


def calls(operation):
    for instance in instances(operation):
        operands, options = instance.build()
        yield instance.name, (lambda *xs, options=options: operation(*xs, **options)), operands


OPERATIONS = pytest.mark.parametrize(
    "operation",
    [f for f in vars(ops).values() if isinstance(f, Primitive)],
    ids=lambda operation: operation.__name__,
)


@pytest.mark.parametrize("name", LINES)
def test_they_are_small(name):
    """Counted without blank lines and what explains."""
    lines = map(str.strip, (FOLDER / f"{name}.py").read_text().splitlines())
    assert len([x for x in lines if x and not x.startswith(('"""', "#"))]) <= LINES[name]


@OPERATIONS
@pytest.mark.filterwarnings("ignore")
def test_push_and_pull_are_adjoint(operation):
    rng = np.random.default_rng(0)
    for name, f, xs in calls(operation):
        u, us = direction(xs, rng)
        if operation.__name__ in ASKING:
            with pytest.raises(NoRuleError, match=", requires"):
                dual.jvp(f, xs, u)
            continue
        y, y_dot = dual.jvp(f, xs, u)
        w, ws = direction(y, rng)
        _, bars = tape.vjp(f, xs, lambda y, w=w: w)
        pushed = inner(flatten_tangent(moving(y)[1], y_dot), ws)
        pulled = inner(flatten_tangent(moving(xs)[1], bars), us)
        assert abs(pushed - pulled) <= 1e-6 * max(1.0, abs(pushed)), name


@OPERATIONS
@pytest.mark.filterwarnings("ignore")
def test_the_listing_run_again_gives_the_same(operation):
    for name, f, xs in calls(operation):
        again = listing.Listing(f, *xs)(*xs)
        for a, b in zip(moving(again)[0], moving(f(*xs))[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12, err_msg=name)
