"""Functions and classes that come and go are gone when they are."""

from __future__ import annotations

import collections
import dataclasses
import gc
import weakref
from typing import Any

import attrs
import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_jvp
from chainrules_py import LinearMap, Tangent, export, frule, primitive, rrule, rule, scalar_rule
from chainrules_py.values.caches import forget, is_lasting
from chainrules_tape import grad, hessian, jvp, linearize

X = np.array([0.5, 0.25])


def a_primitive():
    @primitive
    def f(x):
        return x * x

    scalar_rule(f, lambda y, x: 2.0 * x)
    assert grad(lambda x: f(x))(3.0) == 6.0
    rrule(f, X)[1](X)
    frule((X,), f, X)
    jvp(f, (X,), (X,))
    return f


def a_written_rule():
    @primitive
    def f(x, *, times):
        return times * x

    @rule(f)
    def f_rule(x, *, times):
        return times * x, (LinearMap(lambda t: times * t, lambda t: times * t),)

    hessian(lambda x: f(x, times=2.0) * f(x, times=3.0))(2.0)
    return f


def a_dataclass():
    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any

    assert isinstance(grad(lambda p: p.a * p.b)(Pair(2.0, 3.0)), Tangent[Pair])
    return Pair


def an_attrs_class():
    @attrs.define
    class Pair:
        a: Any
        b: Any

    grad(lambda p: p.a * p.b)(Pair(2.0, 3.0))
    return Pair


def a_namedtuple():
    pair = collections.namedtuple("Pair", "a b")  # noqa: PYI024
    grad(lambda p: p.a * p.b)(pair(2.0, 3.0))
    return pair


def a_class_of_arrays():
    class Here(np.ndarray):
        pass

    x = X.view(Here)
    grad(lambda x: np.sum(np.sin(x[:1]) * x))(x)
    linearize(lambda x: x * x, x)[1](x)
    return Here


def a_rule_for_a_class():
    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any

    @primitive
    def product(p):
        return p.a * p.b

    def pair_rule(p: Any):
        push = lambda t: t.a * p.b + p.a * t.b
        return p.a * p.b, (LinearMap(push, lambda t: Tangent[Pair](a=t * p.b, b=t * p.a)),)

    rule(product, types=(object,))(pair_rule)
    rule(product, types=(Pair,))(pair_rule)
    assert grad(lambda p: product(p))(Pair(2.0, 3.0)).a == 3.0
    return Pair


MAKERS = (
    a_primitive,
    a_written_rule,
    a_dataclass,
    an_attrs_class,
    a_namedtuple,
    a_class_of_arrays,
    a_rule_for_a_class,
)


def left_over(makers, n):
    """Make so many of each, and name those that somebody still has; and count objects beside them.

    Collections take longest, and are made once for all.
    """
    for make in 3 * makers:
        make()
    forget()
    gc.collect()
    objects = len(gc.get_objects())
    made = [(make.__name__, weakref.ref(make())) for _ in range(n) for make in makers]
    forget()
    gc.collect()
    alive = {name for name, each in made if each() is not None}
    return alive, len(gc.get_objects()) - objects - 2 * len(made)


def test_what_comes_and_goes_is_gone():
    alive, objects = left_over(MAKERS, 60)
    assert not alive
    assert objects < 60


def steps_in_torch(f):
    torch = pytest.importorskip("torch")
    exported = export(f, to="torch")
    x = torch.ones(3, requires_grad=True)
    return lambda: exported(x).sum().backward()


def steps_in_jax(f):
    jax = pytest.importorskip("jax")
    exported, x = export(f, to="jax"), jax.numpy.ones(3)
    return lambda: jax.grad(lambda x: exported(x).sum())(x)


@custom_jvp
def square(x):
    return x * x


@square.defjvp
def square_jvp(primals, tangents):
    return primals[0] * primals[0], 2.0 * primals[0] * tangents[0]


SCALE, TABLE = [2.0], np.arange(3.0)


def own_maps(x):
    return x * x, (LinearMap(lambda t: 2.0 * x * t, lambda t: 2.0 * x * t),)


def number_looked_up(x):
    return SCALE[0] * x, (LinearMap(lambda t: SCALE[0] * t, lambda t: SCALE[0] * t),)


def array_saved(x):
    half = lambda t, saved: saved * t
    return TABLE * x, (LinearMap(half, half, TABLE + 0.0),)


# Each makes functions or arrays anew at every call, or looks them up.
STATED = {
    "a number is looked up": lambda f: scalar_rule(f, lambda y, x: SCALE[0]),
    "an array is looked up": lambda f: scalar_rule(f, lambda y, x: TABLE),
    "an array is made": lambda f: scalar_rule(f, lambda y, x: np.cos(TABLE)),
    "halves of their own": lambda f: rule(f)(own_maps),
    "halves look up a number": lambda f: rule(f)(number_looked_up),
    "an array is saved": lambda f: rule(f)(array_saved),
    "a pullback": lambda f: rrule.register(f)(lambda x: (x * x, lambda t: (2.0 * x * t,))),
    "a push": lambda f: frule.register(f)(lambda ts, x: (x * x, 2.0 * x * ts[0])),
}


IN_TORCH = ("custom_jvp", "an operation", "halves of their own")
IN_JAX = ("custom_jvp", "an operation", *STATED)


def kept_by(steps, stated, n):
    """Count the objects that so many gradients of each of some functions leave."""
    each = []
    for name in stated:
        f = {"custom_jvp": square, "an operation": np.tanh}.get(name)
        if f is None:
            f = primitive(lambda x: x * x)
            STATED[name](f)
        each.append(steps(f))
    for step in 3 * each:
        step()
    forget()
    gc.collect()
    before = len(gc.get_objects())
    for step in n * each:
        step()
    forget()
    gc.collect()
    return len(gc.get_objects()) - before


@pytest.mark.parametrize("steps, stated", [(steps_in_torch, IN_TORCH), (steps_in_jax, IN_JAX)])
def test_gradients_of_exported_functions_leave_nothing(steps, stated):
    # JAX itself keeps a reference or two of each.
    assert kept_by(steps, stated, 12) < 100 + 2 * 12 * len(stated)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "steps, stated",
    [*[(steps_in_torch, name) for name in IN_TORCH], *[(steps_in_jax, name) for name in IN_JAX]],
)
def test_10000_gradients_of_exported_functions_leave_nothing(steps, stated):
    assert kept_by(steps, [stated], 10_000) < 100 + 2 * 10_000


@pytest.mark.nightly
@pytest.mark.parametrize("make", MAKERS)
def test_100000_come_and_go(make):
    for _ in range(10):
        alive, objects = left_over((make,), 10_000)
        assert not alive
        assert objects < 1000


def test_what_is_forgotten_is_the_same_again():
    """Who lives on is looked at again: rules and tangents are as they were."""
    f, cls = a_primitive(), a_dataclass()
    tangent = Tangent[cls](a=1.0, b=2.0)
    gradient = grad(f)
    gradient(X[0])
    forget()
    assert type(tangent) is Tangent[cls]
    assert (tangent + Tangent[cls](a=1.0, b=2.0)).b == 4.0
    assert gradient(X[0]) == 1.0


@pytest.mark.parametrize("make", [a_dataclass, a_primitive])
def test_many_are_forgotten_without_being_asked_for_it(make):
    made = [weakref.ref(make()) for _ in range(600)]
    gc.collect()
    assert sum(each() is not None for each in made) < 300


def test_what_is_there_for_good():
    assert is_lasting(float)
    assert is_lasting(np.sin)
    assert is_lasting(np.ndarray)
    assert is_lasting(a_primitive)
    assert not is_lasting(a_dataclass())
    assert not is_lasting(a_namedtuple())
    assert not is_lasting(Tangent[a_dataclass()])
