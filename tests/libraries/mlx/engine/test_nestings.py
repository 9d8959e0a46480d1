"""Transformations of MLX's in each other, to third order, beside our tape's numbers.

MLX forgets what an array is made of that is evaluated after a transformation saw it, and what
differentiates further out finds zero. A chain is applied from the right: ``"JG"`` is ``mx.jvp`` of
``mx.grad``. In ``g`` and ``j`` what is differentiated captures the point of what is around it;
``s`` and ``t`` differentiate something else beforehand, which captures what is used afterwards.
"""

from __future__ import annotations

import itertools
import random
import zlib

import numpy as np
import pytest

from chainrules_py import ChainRulesError, primitive, scalar_rule
from chainrules_py import ops as v
from chainrules_tape import grad, jvp

mx = pytest.importorskip("mlx.core", reason="MLX is not installed")

import chainrules_mlx  # noqa: E402, F401

AT = 0.7


@primitive
def softened(x):
    return np.logaddexp(0.0, np.asarray(x))


scalar_rule(softened, lambda _y, x: v.expit(x))


@primitive
def looking(x):
    return v.sin(x)


scalar_rule(looking, lambda _y, x: v.where(bool(x > 0), v.cos(x), v.cos(x)))


def matrix(t):
    return v.stack(v.stack(2.0 + t, 0.3 * t), v.stack(0.3 * t, 1.0 - 0.5 * t * t))


def vector(t):
    return v.stack(t, v.sin(2.0 * t), 1.0 - t)


class Held:
    """What a function reaches by an attribute."""

    def __init__(self, t):
        self.t = t

    def __call__(self, z):
        return z * z * z + z - self.t


def times(t):
    """Return a function with a rule that captures an array: it is refused, or differentiated in."""

    @primitive
    def scaled(x):
        return x * t

    scalar_rule(scaled, lambda _y, _x: t)
    return scaled


OPERATIONS = {
    "captured": lambda t: times(t)(0.5),
    "captured beside": lambda t: times(t)(t * t),
    "root": lambda t: v.root(lambda z: z * z * z + z - t, np.array(1.0)),
    "root with parameters": lambda t: v.root(lambda z, p: z * z * z + p * z - p, np.array(1.0), t),
    "root of an object": lambda t: v.root(Held(t), np.array(1.0)),
    "fixed_point": lambda t: v.fixed_point(lambda z: 0.5 * v.cos(t * z), 0.5),
    "minimize": lambda t: v.minimize(lambda z: (z - t) ** 2 + 0.1 * z**4, 0.5),
    "linear_solve": lambda t: v.linear_solve(lambda z: (2.0 + t * t) * z, vector(t)),
    "odeint": lambda t: v.odeint(
        lambda y, s: -t * y * y, t + 1.0, np.array([0.0, 0.5]), rtol=1e-6, atol=1e-6
    )[-1],
    "scan": lambda t: v.scan(lambda c, x: (c * t + x, c), t, vector(t))[0],
    "map": lambda t: v.map(lambda x: x * x * t, vector(t)),
    "softened": softened,
    "looking": looking,
    "abs": lambda t: v.abs(vector(t)),
    "maximum": lambda t: v.maximum(vector(t), 0.1 + t),
    "max": lambda t: v.max(vector(t) ** 3),
    "sort": lambda t: v.sort(vector(t) ** 3)[1],
    "prod": lambda t: v.prod(vector(t)),
    "cumulative_prod": lambda t: v.cumulative_prod(vector(t)),
    "norm": lambda t: v.vector_norm(vector(t)),
    "hypot": lambda t: v.hypot(t, v.sin(t)),
    "pow": lambda t: v.pow(vector(t) + 2.0, t),
    "eigh": lambda t: v.eigh(matrix(t))[0] ** 2,
    "svd": lambda t: v.svdvals(matrix(t)) ** 2,
    "solve": lambda t: v.solve(matrix(t), v.stack(t, t * t)),
    "det": lambda t: v.det(matrix(t)),
}
TRUTH = {
    **OPERATIONS,
    "captured": lambda t: 0.5 * t,
    "captured beside": lambda t: t * t * t,
    "softened": lambda t: v.log1p(v.exp(t)),
}
STEPS = "GJVgjst"
REFUSED = ("captured beside", "looking")
"""Operations whose derivatives may be refused in every chain that asks for one of a derivative."""


def scalar(operation, operations=OPERATIONS):
    return lambda t: v.sum(operations[operation](t) ** 2)


def chained(chain, f, slope, push, mapped):
    """Apply a chain of transformations, those of MLX's or those of the tape."""
    for step in reversed(chain):
        f = {
            "G": lambda f: slope(f),
            "J": lambda f: lambda t: push(f, t),
            "V": lambda f: lambda t: mapped(f, t),
            "g": lambda f: lambda t: slope(lambda x: f(x * v.sin(t)))(t),
            "j": lambda f: lambda t: push(lambda x: f(x * v.sin(t)), t),
            "s": lambda f: _beforehand(f, slope),
            "t": lambda f: _beforehand(f, lambda g: lambda t: push(g, t)),
        }[step](f)
    return f


def _beforehand(f, slope):
    def around(t):
        y = t * v.sin(t)
        other = slope(lambda x: v.exp(x * y))(0.5 * t)
        return f(y) + f(0.3 * other) * other

    return around


def in_mlx(chain, operation):
    push = lambda f, t: mx.jvp(f, [t], [mx.ones_like(t)])[1][0]
    mapped = lambda f, t: mx.vmap(f)(mx.stack([t, 1.1 * t])).sum()
    found = chained(chain, scalar(operation), mx.grad, push, mapped)(mx.array(AT))
    mx.eval(found)
    return float(found)


def on_the_tape(chain, operation):
    push = lambda f, t: jvp(f, (t,), (np.array(1.0),))[1]
    return float(
        chained(chain, scalar(operation, TRUTH), grad, push, lambda f, t: f(t) + f(1.1 * t))(
            np.array(AT)
        )
    )


def chains():
    return ["".join(c) for n in (1, 2, 3) for c in itertools.product(STEPS, repeat=n)]


def judged(chain, operation):
    """Whether MLX gives a number: the tape's, or an error that says why not."""
    try:
        have = in_mlx(chain, operation)
    except (ChainRulesError, ValueError, RuntimeError) as error:
        if isinstance(error, ChainRulesError) or "implemented" in str(error):
            return False
        raise
    want = on_the_tape(chain, operation)
    assert abs(have - want) <= 1e-2 * max(1.0, abs(want)), (chain, operation, have, want)
    return True


@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_nesting_loses_a_derivative(operation):
    """A number is the tape's; what MLX has no transformation of is an error."""
    third = [c for c in chains() if len(c) == 3]
    for chain in ("GJ", "Jt"):
        assert judged(chain, operation) or operation in REFUSED
    judged(random.Random(zlib.crc32(operation.encode())).choice(third), operation)


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_nesting_of_all_loses_a_derivative(operation):
    assert sum([judged(chain, operation) for chain in chains()]) > 100 or operation in REFUSED
