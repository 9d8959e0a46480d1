"""Structures that people register: a statement is compared with what it does."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py import ChainRulesError, RuleError, register_structure
from chainrules_py.testing import debug
from chainrules_py.values.structure import register_leaf
from chainrules_tape import grad, jvp, value_and_grad, vjp

X = np.array([0.5, 1.0, 2.0])


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right

    def cost(self):
        return self.left * self.right


def both_modes(x, f):
    """Both modes, of which each rebuilds a structure."""
    yield lambda: value_and_grad(f)(x)
    yield lambda: jvp(f, (x,), (vjp(f, x)[1](1.0)[0],))


def test_methods_of_a_subclass_are_those_that_are_differentiated():
    class Base(Pair): ...

    class Sum(Base):
        def cost(self):
            return self.left + self.right

    register_structure(Base, lambda p: vars(p).items(), lambda p, values: type(p)(*values))
    value, g = value_and_grad(lambda p: p.cost())(Sum(2.0, 3.0))
    assert (value, g.left, g.right) == (5.0, 1.0, 1.0)


def test_a_subclass_that_is_rebuilt_as_its_base_is_an_error():
    class Base(Pair): ...

    class Sum(Base):
        def cost(self):
            return self.left + self.right

    register_structure(Base, lambda p: vars(p).items(), lambda p, values: Base(*values))
    assert grad(lambda p: p.cost())(Base(2.0, 3.0)).left == 3.0
    for run in both_modes(Sum(2.0, 3.0), lambda p: p.cost()):
        with debug(), pytest.raises(RuleError, match=r"Sum: rebuild made a .*Base .*type\(x\)"):
            run()
    with debug(), pytest.raises(RuleError, match="subclass"):
        vjp(lambda a: Sum(a, a), 2.0)


def carried(p, values):
    new = type(p).__new__(type(p))
    new.__dict__.update(p.__dict__)
    new.left, new.right = values
    return new


FIELDS = lambda p: [("left", p.left), ("right", p.right)]
WRONG = {
    "old values": (FIELDS, lambda p, values: type(p)(p.left, p.right), "the old value"),
    "itself": (FIELDS, lambda p, values: p, "the old value"),
    "swapped": (FIELDS, lambda p, values: type(p)(values[1], values[0]), "another field's value"),
    "one left out": (FIELDS, lambda p, values: type(p)(values[0], p.right), "the old value"),
    "plain numbers": (FIELDS, lambda p, values: type(p)(values[0], 1.5), "float"),
    "one key twice": (
        lambda p: [("left", p.left), ("left", p.right)],
        lambda p, values: type(p)(*values),
        "a key of its own",
    ),
    "order by value": (
        lambda p: sorted(vars(p).items(), key=lambda pair: -np.sum(pair[1])),
        lambda p, values: type(p)(*values),
        "the same order",
    ),
    "nothing": (FIELDS, lambda p, values: None, "rebuild made None"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_statement_is_an_error(name):
    class Given(Pair): ...

    to_fields, rebuild, says = WRONG[name]
    register_structure(Given, to_fields, rebuild)
    for run in both_modes(Given(X, 3.0 * X), lambda p: np.sum(2.0 * p.left + 5.0 * p.right)):
        with debug(), pytest.raises(RuleError, match=says):
            run()


class Squared:
    def __init__(self, a, k):
        self.a, self.k = a, float(k)
        self.sq = a * a


def test_an_attribute_that_rebuild_computes_is_differentiated():
    class Anew(Squared): ...

    register_structure(Anew, lambda r: [("a", r.a)], lambda r, values: type(r)(*values, r.k))
    np.testing.assert_allclose(grad(lambda r: np.sum(r.sq) * r.k)(Anew(X, 2)).a, 4.0 * X)


def test_an_attribute_that_is_given_may_be_a_constant():
    class Scaled:
        def __init__(self, a, k):
            self.a, self.k = a, float(k)

    def copied(r, values):
        new = type(r).__new__(type(r))
        new.__dict__.update(r.__dict__, a=values[0])
        return new

    register_structure(Scaled, lambda r: [("a", r.a)], copied)
    np.testing.assert_allclose(grad(lambda r: np.sum(r.a) * r.k)(Scaled(X, 3)).a, 3.0)


def test_a_conversion_of_what_is_put_in_is_no_error():
    class Given(Pair): ...

    register_structure(Given, FIELDS, lambda p, v: type(p)(v[0] * 1.0, np.reshape(v[1], (3,))))
    g = grad(lambda p: np.sum(p.left * p.right))(Given(X, 3.0 * X))
    np.testing.assert_allclose(g.left, 3.0 * X)
    np.testing.assert_allclose(g.right, X)


def test_what_cannot_be_registered_is_refused():
    for given in ((3, FIELDS, FIELDS), (Pair, 3, FIELDS), (Pair, FIELDS, None)):
        with pytest.raises(RuleError, match="takes a class and two functions"):
            register_structure(*given)
    with pytest.raises(ChainRulesError, match="takes a class"):
        register_leaf(3)
