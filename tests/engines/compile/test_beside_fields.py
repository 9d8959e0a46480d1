"""What an argument holds beside its fields: a program is for the values that it recorded."""

from __future__ import annotations

import copy
import dataclasses
import enum
import shutil

import numpy as np
import pytest
from scipy import sparse

from chainrules_compile import compile
from chainrules_py import Tangent, register_structure
from chainrules_tape import grad, jvp
from chainrules_tape.tools import derive_rule


class Shifted:
    """A registered structure with a constant beside its field."""

    def __init__(self, c, shift):
        self.c, self.shift = c, shift


register_structure(Shifted, lambda p: [("c", p.c)], lambda p, v: Shifted(*v, p.shift))


@dataclasses.dataclass
class Scaled:
    c: np.ndarray
    factor: dataclasses.InitVar[float]

    def __post_init__(self, factor):
        self.scale = factor


@dataclasses.dataclass
class Normed:
    c: np.ndarray

    def __post_init__(self):
        self.norm = np.sqrt(np.sum(self.c**2))


@dataclasses.dataclass
class Bound:
    c: np.ndarray

    def __post_init__(self):
        self.norm = np.sqrt(np.sum(self.c**2))
        self.f = self.times

    def times(self, x):
        return x * self.norm

    def over(self, x):
        return x / self.norm


@dataclasses.dataclass
class InPlace:
    c: np.ndarray

    def __post_init__(self):
        self.c *= 2.0
        self.norm = np.sqrt(np.sum(self.c**2))


class Doubled(Shifted):
    """A registered structure whose rebuild computes an attribute."""

    def __init__(self, c, shift=0.0):
        super().__init__(c, shift)
        self.double = 2.0 * c


register_structure(Doubled, lambda p: [("c", p.c)], lambda p, v: Doubled(*v, p.shift))


def changed(p, **attributes):
    vars(p).update(attributes)
    return p


def rebound(p):
    return changed(p, f=p.over)


X = np.array([1.0, 2.0, 3.0])
NORMED = Normed(X)
EYE, TURNED = np.eye(3), np.eye(3)[::-1].copy()
WIDE = sparse.csr_array((np.ones(3), np.arange(3), np.arange(4)), shape=(3, 5))
BESIDE_FIELDS = {
    **{
        form: (lambda a: a @ X, [getattr(sparse, form)(EYE), getattr(sparse, form)(TURNED)])
        for form in ("csr_array", "csc_array", "coo_array", "csr_matrix", "coo_matrix")
    },
    "a shape": (lambda a: a.toarray(), [sparse.csr_array(EYE), WIDE]),
    "in a dict": (
        lambda d: d["a"].T @ X,
        [{"a": sparse.csr_array(EYE)}, {"a": sparse.csr_array(TURNED)}],
    ),
    "a slope": (
        lambda a: grad(lambda x: np.sum((a @ x) ** 2 * X))(X),
        [sparse.csr_array(EYE), sparse.csr_array(TURNED)],
    ),
    "a structure": (lambda p: p.c * (2.0 - p.shift), [Shifted(X, 0.0), Shifted(X, 1.0)]),
    "a dataclass": (lambda p: p.c * p.scale, [Scaled(X, 2.0), Scaled(X, 5.0)]),
    "what it computed": (lambda p: p.c * p.norm, [Normed(X), changed(Normed(X), norm=10.0)]),
    "before a write": (lambda p: p.c * p.norm, [Normed(X), changed(Normed(X), c=X + 1.0)]),
    "what it computed, in a slope": (
        lambda p: grad(lambda p: np.sum(p.c * p.norm))(p).c,
        [changed(Normed(X), norm=10.0), Normed(X)],
    ),
    "a method": (lambda p: p.f(p.c), [Bound(X), rebound(Bound(X + 1.0))]),
    "one object twice": (
        lambda ps: ps[0].c * ps[0].norm + ps[1].c,
        [[NORMED, NORMED], [changed(Normed(X), norm=10.0), NORMED]],
    ),
    "its field": (
        lambda p: p.c * p.more,
        [changed(Normed(c), more=c) for c in (X, 2.0 * X)],
    ),
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("name", BESIDE_FIELDS)
def test_what_an_argument_holds_beside_its_fields_is_compared(name, target):
    """The pattern of the first sparse array was that of all."""
    if target == "c" and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    f, arguments = BESIDE_FIELDS[name]
    c = compile(f, target=target)
    for argument in (*arguments, *arguments):
        np.testing.assert_array_equal(c(argument), f(argument))
    made_anew = copy.deepcopy(arguments[0])
    np.testing.assert_array_equal(c(made_anew), f(arguments[0]))
    assert len(c.programs) == 2


def test_a_registered_structure_is_returned():
    c = compile(lambda x: (Shifted(2.0 * x, 7.0), np.sum(x)), strict=True)
    for x in (X, X + 1.0, X):
        shifted, total = c(x)
        assert (shifted.c.tolist(), shifted.shift, total) == ((x + x).tolist(), 7.0, sum(x))
        shifted.c[:] = 0.0  # the program keeps a structure of its own
    assert len(c.programs) == 1


@pytest.mark.parametrize("cls", [Normed, Bound])
def test_what_a_constructor_computes_anew_is_part_of_the_program(cls):
    c = compile(lambda p: p.c * p.norm, strict=True)
    for factor in (1.0, 2.0, 3.0):
        p = cls(X * factor)
        np.testing.assert_allclose(c(p), p.c * p.norm, rtol=1e-15)
    assert len(c.programs) == 1


def test_one_object_twice_is_another_program_than_two():
    c, p, q = compile(lambda p, q: 2.0 * p.c + q.c), Normed(X), Normed(X + 1.0)
    for ps in ((p, p), (p, q), (q, p), (q, q)):
        np.testing.assert_array_equal(c(*ps), 2.0 * ps[0].c + ps[1].c)
    assert len(c.programs) == 2


def test_what_a_rebuild_computes_otherwise_is_no_program():
    c, p = compile(lambda p: p.c * p.double), Doubled(X)
    np.testing.assert_array_equal(c(p), X * (X + X))
    p.double = X
    with pytest.warns(match="runs as it is"):
        np.testing.assert_array_equal(c(p), X * X)


@dataclasses.dataclass
class Pair:
    a: float
    b: float


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("first", [{}, {"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 1.0}], ids=str)
def test_a_tangent_without_some_of_its_entries(first, target):
    moved = compile(lambda p, t: p + t, target=target)
    for entries in (first, {"a": 1.0}, {"b": 1.0}, {"a": 1.0, "b": 1.0}, {}):
        expected = Pair(2.0 + entries.get("a", 0.0), 3.0 + entries.get("b", 0.0))
        assert moved(Pair(2.0, 3.0), Tangent[Pair](**entries)) == expected


def test_a_derived_rule_of_two_results():
    f = derive_rule(lambda x: (x * x, 3 * x), (np.ones(2),))
    x = np.array([1.0, 2.0])
    assert grad(lambda x: np.sum(f(x)[0]))(x).tolist() == [2.0, 4.0]
    assert grad(lambda x: np.sum(f(x)[1]))(x).tolist() == [3.0, 3.0]


OF_A_NUMBER = {
    "quotient": lambda x: np.exp(x) / (1 + np.exp(x)),
    "maximum": lambda x: np.maximum(x, 0.0),
    "norm": lambda x: np.linalg.norm(x * np.ones(2)),
    "sum": lambda x: np.sum(x * x),
    "list": lambda x: (lambda xs: xs[0] * np.sin(xs[1]))([x, 2.0 * x]),
}


@pytest.mark.parametrize("target", ["numpy", "c"])
@pytest.mark.parametrize("door", [lambda f: f, grad], ids=["value", "grad"])
@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_what_was_called_with_a_float_is_differentiated_in_it(name, door, target):
    """A traced float says that its class is float, and is no number for a program."""
    f = door(OF_A_NUMBER[name])
    compiled = compile(f, target=target)
    compiled(3.0)
    compiled(0.5)
    for x in (2.0, 0.7):
        found, expected = [jvp(g, (x,), (1.0,)) for g in (compiled, f)]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_allclose(grad(compiled)(x), grad(f)(x), rtol=1e-12)


class Unit(enum.Enum):
    CM = 0.01

    @property
    def twice(self):
        return 2.0 * self.value


def test_members_of_an_enumeration():
    f = compile(lambda x: np.sum(x * x) * Unit.CM.value + x[0] * Unit.CM.twice, strict=True)
    for x in (np.ones(2), np.array([3.0, 1.0])):
        assert f(x) == pytest.approx(0.01 * np.sum(x * x) + 0.02 * x[0])


@pytest.mark.parametrize("of", [lambda c: c, lambda c: c[1:]], ids=["an array", "a part"])
def test_a_constructor_that_writes_to_a_field_runs_once(of):
    p = InPlace(of(np.array([3.0, 4.0, 3.0])))
    c = p.c.copy()
    f = compile(lambda p: p.c * p.norm, strict=True)
    for _ in range(2):
        np.testing.assert_allclose(f(p), c * np.linalg.norm(c), rtol=1e-15)
    np.testing.assert_array_equal(p.c, c)
    assert p.c.flags.writeable
