"""Rules of functions of structures, in which values of an outer differentiation stand."""

import dataclasses

import numpy as np
import pytest

from chainrules_py import ChainRulesError, LinearMap, frule, primitive, rrule, rule
from chainrules_py.ops import fixed_point, linear_solve, minimize, odeint, root
from chainrules_py.tangents.zeros import is_zero
from chainrules_tape import grad, jacobian, jvp, linearize, value_and_grad, vjp


@dataclasses.dataclass
class Weight:
    w: object


HELD = {
    "dict": (dict, lambda w: {"w": w}, lambda p: p["w"]),
    "list": (list, lambda w: [w], lambda p: p[0]),
    "tuple": (tuple, lambda w: (w, 2.0), lambda p: p[0]),
    "dataclass": (Weight, Weight, lambda p: p.w if hasattr(p, "w") else p),
}
CONSTRUCTORS = ("frule", "rrule", "rule", "both")


def stated(constructor, held):
    """Say of w u that its slopes are 5 u and 7 w, which its body does not."""
    cls, make, read = HELD[held]

    @primitive
    def k(p, u):
        return read(p) * u

    def times(t, scale):
        return 0.0 if is_zero(t) else scale * t

    def push(dots, p: cls, u: float):
        inner = dots[0] if is_zero(dots[0]) else read(dots[0])
        return k(p, u), times(inner, 5 * u) + times(dots[1], 7 * read(p))

    def augmented(p: cls, u: float):
        return k(p, u), lambda bar: (make(5 * bar * u), 7 * bar * read(p))

    def whole(p: cls, u: float):
        first = LinearMap(lambda t: 5 * read(t) * u, lambda bar: make(5 * bar * u))
        return k(p, u), (first, LinearMap(lambda t: 7 * read(p) * t, lambda bar: 7 * read(p) * bar))

    if constructor in ("frule", "both"):
        frule.register(k)(push)
    if constructor in ("rrule", "both"):
        rrule.register(k)(augmented)
    if constructor == "rule":
        rule(k)(whole)
    return lambda w, u: k(make(w), u)


VALUES = {
    "linearize": lambda f, u: linearize(f, u)[0],
    "jvp": lambda f, u: jvp(f, (u,), (1.0,))[0],
    "grad": lambda f, u: value_and_grad(f)(u)[0],
    "vjp": lambda f, u: vjp(f, u)[0],
}
OUTER = {
    "grad": lambda f, y: grad(f)(y),
    "jvp": lambda f, y: jvp(f, (y,), (1.0,))[1],
    "linearize": lambda f, y: linearize(f, y)[1](1.0),
}


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", VALUES)
@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("constructor", CONSTRUCTORS)
def test_a_rule_counts_for_what_an_outer_level_holds_in_a_structure(
    constructor, held, inner, outer
):
    """It is never passed over for the body, of which w has the slope u."""
    f = stated(constructor, held)
    try:
        found = OUTER[outer](lambda y: VALUES[inner](lambda u: f(y, u), 2.0), 3.0)
    except ChainRulesError:
        return
    assert found == 10.0


SOLVED = {
    "root": lambda u, c: root(lambda e: e * e * e + e - u * c, np.ones(2)),
    "fixed_point": lambda u, c: fixed_point(lambda e: 0.3 * np.sin(e) + u * c, np.ones(2)),
    "minimize": lambda u, c: minimize(lambda e: np.sum((e - u * c) ** 2 + 0.1 * e**4), np.ones(2)),
    "linear_solve": lambda u, c: linear_solve(lambda e: e * u * u + e, c * np.ones(2)),
    "odeint": lambda u, c: odeint(lambda e, t: u * c - e, np.ones(2), np.array([0.0, 0.5]))[-1],
}
FORWARD = {
    "linearize": lambda f, u: linearize(f, u)[1](np.ones(2)),
    "jacobian": lambda f, u: np.sum(jacobian(f, mode="forward")(u), axis=1),
    "jvp": lambda f, u: jvp(f, (u,), (np.ones(2),))[1],
}


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inner", FORWARD)
@pytest.mark.parametrize("operation", SOLVED)
def test_what_a_function_captured_is_differentiated_in_every_nesting(operation, inner, outer):
    u, h = np.array([0.7, 1.2]), 1e-4

    def f(c):
        return np.sum(FORWARD[inner](lambda u: SOLVED[operation](u, c), u))

    found = OUTER[outer](f, 0.9)
    assert np.isclose(found, (f(0.9 + h) - f(0.9 - h)) / (2 * h), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("y_dots", [(None, 1.0), (1.0, None)])
def test_a_push_that_gives_none_is_named(y_dots):
    f = primitive(lambda x, y: x + y)
    maps = tuple([LinearMap(lambda t, y_dot=y_dot: y_dot, lambda c: c) for y_dot in y_dots])
    rule(f, types=(float, float))(lambda x, y: (x + y, maps))
    with pytest.raises(ChainRulesError, match=r"<rule .* at .*test_bind.py:\d+> gave None"):
        jvp(f, (1.0, 2.0), (1.0, 1.0))
