"""What people hand in: tangents and cotangents of wrong forms, and what holds no numbers."""

from __future__ import annotations

import array
import collections
import ctypes
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import functools
import itertools
import pathlib
import re
import types

import numpy as np
import pytest

from chainrules_py import (
    NoRuleError,
    NoTangent,
    NotDifferentiableError,
    ProjectionError,
    ZeroTangent,
    frule,
    ops,
    primitive,
    rrule,
)
from chainrules_py.values.type_info import _ARITHMETIC
from chainrules_tape import (
    Tape,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from tests.fuzz.seeds import wrong_forms

PRIMALS = {
    "array": np.arange(1.0, 4.0),
    "matrix": np.arange(6.0).reshape(2, 3),
    "one element": np.ones(1),
    "no axes": np.ones(()),
    "number": 2.0,
    "float32": np.ones(3, np.float32),
    "empty": np.ones((0, 3)),
}


WRONG = [
    pytest.param(x, t, id=f"{name}, {wrong}")
    for name, x in PRIMALS.items()
    for wrong, t in wrong_forms(x)
]


def square(x):
    return np.sum(x * x)


@pytest.mark.parametrize("name", [name for name in _ARITHMETIC if hasattr(np.ndarray, name)])
def test_arrays_that_compute_otherwise_are_no_tangents_and_have_no_rules(name):
    """Neither in every door, nor as an operand; whatever they do otherwise."""
    x, plain = np.arange(1.0, 4.0), getattr(np.ndarray, name)
    kind = type("Otherwise", (np.ndarray,), {name: lambda *xs, **options: plain(*xs, **options)})
    t = np.ones(3).view(kind)
    doors = [
        lambda: vjp(lambda x: x * x, x)[1](t),
        lambda: rrule(np.sin, x)[1](t),
        lambda: frule((t,), np.sin, x),
        lambda: jvp(square, (x,), (t,)),
        lambda: linearize(square, x)[1](t),
        lambda: hvp(square, (x,), (t,)),
        lambda: grad(square)(t),
        lambda: grad(lambda x: np.sum(x * t))(x),
    ]
    for door in doors:
        with pytest.raises((ProjectionError, NoRuleError)):
            door()


@pytest.mark.parametrize("x, t", WRONG)
def test_wrong_tangents_are_refused_in_every_door(x, t):
    doors = {
        "jvp": lambda: jvp(square, (x,), (t,)),
        "jvp in a list": lambda: jvp(lambda xs: square(xs[0]), ([x],), ([t],)),
        "linearize": lambda: linearize(square, x)[1](t),
        "hvp": lambda: hvp(square, (x,), (t,)),
    }
    for door in doors.values():
        with pytest.raises((ProjectionError, NotDifferentiableError)):
            door()


@pytest.mark.parametrize("x, t", WRONG)
def test_wrong_cotangents_are_refused(x, t):
    y, pull = vjp(lambda x: x * x, x)
    assert np.shape(y) == np.shape(x)
    with pytest.raises((ProjectionError, NotDifferentiableError)):
        pull(t)
    _, pull = vjp(lambda x: {"a": [x * x], "b": x}, x)
    with pytest.raises((ProjectionError, NotDifferentiableError)):
        pull({"a": [t], "b": x})


@pytest.mark.parametrize("t", [p.values[1] for p in WRONG if p.id.startswith("array, ")])
def test_so_are_those_of_the_results_of_one_function(t):
    vectors = np.ones((3, 3))
    _, pull = rrule(np.linalg.eigh, np.diag([1.0, 2.0, 4.0]) + 0.1)
    assert pull((np.ones(3), vectors))[0].shape == (3, 3)
    with pytest.raises(ProjectionError):
        pull((t, vectors))


@pytest.mark.parametrize("x", PRIMALS.values(), ids=list(PRIMALS))
def test_right_tangents_are_taken(x):
    t = np.asarray(x) * 0 + 1 if np.shape(x) else 1.0
    for right in (t, ZeroTangent(), np.asarray(t, np.float32) if np.shape(x) else 1):
        _, y_dot = jvp(square, (x,), (right,))
        zero = isinstance(right, ZeroTangent)
        np.testing.assert_allclose(y_dot, 0.0 if zero else np.sum(2.0 * np.asarray(x)))


WIDTHS = (
    np.float16,
    np.float32,
    np.float64,
    np.longdouble,
    np.int8,
    np.uint64,
    np.bool_,
    int,
    bool,
)
OF_EACH = {
    "number": 1.2345678,
    "whole number": 3,
    "float64": np.float64(1.2345678),
    "float32": np.float32(1.2345678),
    "complex": 1.2345678 + 0.5j,
    "array": np.array([1.2345678, 0.7]),
    "float32 array": np.array([1.2345678, 0.7], np.float32),
    "whole numbers": np.array([200, 3], np.uint8),
    "complex array": np.array([1.2345678 + 0.5j]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("x", OF_EACH.values(), ids=list(OF_EACH))
def test_a_derivative_is_as_wide_as_its_primal_whatever_the_seed_is(x, width):
    cube = lambda x: x * x * x * 30.0
    like = np.ones(np.shape(x), getattr(x, "dtype", type(x)))
    like = like if np.shape(x) else type(x)(1)
    doors = {
        "jvp": lambda t: jvp(cube, (x,), (t,))[1],
        "jvp in a list": lambda t: jvp(lambda xs: cube(xs[0]), ([x],), ([t],))[1],
        "linearize": lambda t: linearize(cube, x)[1](t),
        "vjp": lambda t: vjp(cube, x)[1](t)[0],
        "hvp": lambda t: hvp(lambda x: np.sum(np.abs(cube(x))), (x,), (t,))[0],
        "frule": lambda t: frule((t,), ops.exp, x)[1],
        "rrule": lambda t: rrule(ops.exp, x)[1](t)[0],
    }
    ones = np.ones(np.shape(x))
    for t in [width(1), np.array(1, width)] if not np.shape(x) else [ones.astype(width)]:
        for name, door in doors.items():
            if name == "hvp" and np.iscomplexobj(x):
                continue
            wanted, found = door(like), door(t)
            assert np.asarray(found).dtype == np.asarray(wanted).dtype, name
            np.testing.assert_array_equal(found, wanted, name)


def test_seeds_that_no_float_holds():
    for t in (10**400, fractions.Fraction(1, 2), decimal.Decimal(1), "1.0", 1j, None):
        for x in (2.0, 3, np.float64(2.0)):
            for door in (
                lambda x, t: jvp(square, (x,), (t,)),
                lambda x, t: linearize(square, x)[1](t),
                lambda x, t: vjp(square, x)[1](t),
            ):
                with pytest.raises(ProjectionError):
                    door(x, t)


@pytest.mark.parametrize(
    "left_out",
    ["relu", None, True, np.array([True]), np.float64, np.array(["a"]), np.datetime64("2020")],
)
def test_a_gradient_is_a_direction(left_out):
    p = {"w": np.ones(2), "left out": left_out}
    f = lambda p: np.sum(p["w"] ** 3)
    np.testing.assert_array_equal(hvp(f, p, grad(f)(p))["w"], [18.0, 18.0])


def test_a_missing_key_is_no_zero():
    f = lambda d: d["a"] * d["b"]
    with pytest.raises(ProjectionError, match="'b' is missing"):
        jvp(f, ({"a": 1.0, "b": 2.0},), ({"a": 1.0},))
    assert jvp(f, ({"a": 1.0, "b": 2.0},), ({"a": 1.0, "b": ZeroTangent()},))[1] == 2.0


class Slotted:
    """What keeps its numbers in slots."""

    __slots__ = ("w", "name")

    def __init__(self, w):
        self.w, self.name = w, "w"


class Named:
    """What keeps them in attributes."""

    def __init__(self, w):
        self.w = w


class Called(Named):
    """A function with numbers of its own."""

    def __call__(self, x):
        return self.w * x


KEEPERS = {
    "slots": Slotted,
    "an attribute": Named,
    "of something called": Called,
    "a list in an attribute": lambda w: Named([w]),
    "values": lambda w: {"w": w}.values(),
    "items": lambda w: {"w": w}.items(),
    "a slice": lambda w: slice(0, w),
    "an iterator": lambda w: iter([1, w]),
    "of a dict": lambda w: iter({"w": w}.items()),
    "backwards": lambda w: reversed([w]),
    "counted": lambda w: enumerate([w]),
    "mapped": lambda w: map(abs, [w]),
    "zipped": lambda w: zip([1], [w], strict=True),
    "a generator": lambda w: (x for x in (w, w)),
    "a cycle": lambda w: itertools.cycle([w]),
    "a deque": lambda w: collections.deque([w]),
    "a namespace": lambda w: types.SimpleNamespace(w=w),
}
NUMBERS = {"a float": 1.5, "a complex number": 2j, "an array": np.ones(3), "float32": np.float32(2)}
KEPT_NUMBERS = {
    "polynomial": np.poly1d([1.0, 2.0]),
    "another": np.polynomial.Polynomial([1.0, 2.0]),
    "elements": np.ones(3).flat,
    "an iterator of NumPy's": np.nditer(np.ones(3)),
    "enumerated": np.ndenumerate(np.ones(3)),
    "broadcast": np.broadcast(np.ones(3), 1),
    "a vector of ctypes": [(ctypes.c_double * 2)(1.0, 2.0)],
    **{f"{what} in {how}": lambda keep=keep, x=x: keep(x)
       for how, keep in KEEPERS.items() for what, x in NUMBERS.items()},
}  # fmt: skip
UNKNOWN = {
    "objects": np.ones(3, object),
    "objects in a list": [np.ones(3, object), 1.0],
    "fraction": fractions.Fraction(1, 2),
    "decimal": decimal.Decimal(2),
    "set": {1.0, 2.0},
    "frozen set in a dict": {"w": frozenset([1.0]), "b": 1.0},
    "text": "text",
    "bytes": b"bytes",
    "a flag": True,
    "nothing": None,
    "an object": object(),
    "a function": square,
    "flags": np.ones(3, bool),
    "texts": np.asarray(["a", "b"]),
}


HELD = {
    "objects": np.ones(3, object),
    "decimal": decimal.Decimal(2),
    "set": {1.0, 2.0},
    "deque": collections.deque([1.0]),
    "arrays in a deque": collections.deque([np.ones(2)]),
    "list of a class of its own": collections.UserList([1.0]),
    "dict that cannot be written to": types.MappingProxyType({"a": 1.0}),
    "chain of dicts": collections.ChainMap({"a": 1.0}),
    "dict of a class of its own": collections.UserDict(a=1.0),
    "records": np.zeros(2, [("a", "i4"), ("b", "f8")]),
    "records of records": np.zeros(2, [("a", [("b", "c16")])]),
    "arrays in records": np.zeros((), [("a", "f4", (2, 2))])[()],
    "array.array": array.array("d", [1.0]),
    "memoryview": memoryview(np.ones(2, np.float32)),
    "ctypes": (ctypes.c_double * 2)(1.0, 2.0),
}
UNKNOWN |= HELD
NONE_HELD = {
    **{
        f"{what} in {how}": keep(x)
        for how, keep in KEEPERS.items()
        if not hasattr(keep(0.0), "__next__")
        for what, x in {"a text": "text", "a count": 3, "an index": np.arange(3)}.items()
    },
    "an object of functions": types.SimpleNamespace(f=lambda x, a=2.0: a * x, g=np.sin),
    "bytes in a slot": Slotted(b"bytes"),
    "a partial": functools.partial(pow, 2.0),
    "a dtype": np.dtype(float),
    "a path": pathlib.Path("a/b"),
    "a pattern": re.compile("a"),
    "a day": dt.date(2020, 1, 1),
    "random numbers": np.random.default_rng(0),
    "an enumeration": enum.Enum("Sizes", {"SMALL": 0.5}).SMALL,
    "deque of texts": collections.deque(["a"]),
    "whole numbers": array.array("i", [1]),
    "records of whole numbers": np.zeros(2, [("a", "i4")]),
    "dates": np.array(["2020-01-01"], "M8[D]"),
    "a module": np,
    "a type": np.ndarray,
}


@pytest.mark.parametrize("x", HELD.values(), ids=list(HELD))
def test_numbers_that_no_derivative_is_known_in_do_not_count_as_fixed(x):
    f = lambda w, *_: np.sum(w * w)
    for door in (
        lambda: vjp(f, np.ones(2), x),
        lambda: grad(f, (0, 1))(np.ones(2), x),
        lambda: grad(lambda d: f(d["w"]))({"w": np.ones(2), "x": [x]}),
        lambda: linearize(f, np.ones(2), x),
        lambda: jacobian(lambda d: f(d[0]))([np.ones(2), x]),
    ):
        with pytest.raises(NotDifferentiableError, match="holds numbers that no derivative"):
            door()
    assert np.all(grad(f)(np.ones(2), x) == 2.0)


@pytest.mark.parametrize("name", KEPT_NUMBERS)
def test_numbers_are_found_wherever_they_are_kept(name):
    x = KEPT_NUMBERS[name]
    x = x() if isinstance(x, types.FunctionType) else x
    f = lambda w, *_: np.sum(w * w)
    for door in (
        lambda: vjp(f, np.ones(2), x),
        lambda: linearize(f, np.ones(2), x),
        lambda: grad(lambda d: f(d["w"]))({"w": np.ones(2), "x": [x]}),
        lambda: jacobian(lambda d: f(d[0]))([np.ones(2), x]),
    ):
        with pytest.raises(NotDifferentiableError, match="holds numbers that no derivative"):
            door()


@pytest.mark.parametrize("x", NONE_HELD.values(), ids=list(NONE_HELD))
def test_what_holds_no_numbers_beside_is_left_alone(x):
    assert np.all(grad(lambda d: np.sum(d["w"] ** 2))({"w": np.ones(2), "x": x})["w"] == 2.0)


@pytest.mark.parametrize("x", UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_holds_no_known_numbers_has_no_gradient(x):
    for door in (grad, value_and_grad, jacobian, hessian):
        with pytest.raises(NotDifferentiableError):
            door(lambda x: 1.0)(x)


class Metres(float):
    """Python's numbers with something to them."""


class Phasor(complex):
    """Another."""


class Flag(enum.IntEnum):
    """Whole numbers that are names."""

    ON = 1


@pytest.mark.parametrize("x", [Metres(3.0), Phasor(3.0), [Metres(3.0), 1.0]], ids=str)
def test_of_numbers_of_a_class_of_their_own_it_is_said_what_to_give(x):
    kind = "complex" if isinstance(x, complex) else "float"
    for door in (grad, lambda f: vjp(f, x), lambda f: jvp(f, (x,), (x,)), lambda f: hessian(f)(x)):
        operations = rf"derived from {kind}.*give {kind}\(x\)|no complex matrix"
        with pytest.raises(NotDifferentiableError, match=operations):
            door(lambda x: 1.0)(x)


def test_members_of_an_enumeration_are_left_alone():
    f = lambda model: model["w"] ** 2 if model["flag"] is Flag.ON else 0.0
    assert grad(f)({"w": 3.0, "flag": Flag.ON})["w"] == 6.0
    with pytest.raises(NotDifferentiableError, match="no numbers"):
        grad(lambda x: 1.0)(Flag.ON)


class Rate(float, enum.Enum):
    """Real numbers that are names."""

    SLOW = 0.5


@dataclasses.dataclass
class Chosen:
    """Numbers beside members of enumerations."""

    w: float
    flag: Flag
    rate: Rate


MEMBERS = {"w": 3.0, "flag": Flag.ON, "rate": Rate.SLOW}


def _squared(model):
    return model["w"] ** 2 if (model["flag"], model["rate"]) == (Flag.ON, Rate.SLOW) else 0.0


def test_a_step_leaves_members_of_an_enumeration_what_they_are():
    found = [
        grad(_squared)(MEMBERS),
        value_and_grad(_squared)(MEMBERS)[1],
        vjp(_squared, MEMBERS)[1](1.0)[0],
    ]
    for settings in ({}, {"persistent": True}, {"differentiable": True}):
        with Tape(**settings) as tape:
            model = tape.variable(MEMBERS)
            found.append(tape.grad(_squared(model), model))
    for g in found:
        assert {key: float(t) for key, t in g.items()} == {"w": 6.0}
    stepped = Chosen(**MEMBERS) - 0.5 * grad(lambda m: _squared(vars(m)))(Chosen(**MEMBERS))
    assert stepped.w == 0.0
    assert stepped.flag is Flag.ON
    assert stepped.rate is Rate.SLOW


def test_members_of_an_enumeration_have_no_tangent_in_any_mode():
    g = grad(_squared)(MEMBERS)
    assert jvp(_squared, (MEMBERS,), (g,)) == (9.0, 36.0)
    assert linearize(_squared, MEMBERS)[1](g) == 36.0
    assert jacobian(_squared)(MEMBERS) == {"w": 6.0, "flag": NoTangent(), "rate": NoTangent()}
    assert hessian(_squared)(MEMBERS)["w"]["w"] == 2.0
    given = {"w": 1.0, "flag": 0.0}
    for door in (
        lambda: jvp(_squared, (MEMBERS,), (given,)),
        lambda: linearize(_squared, MEMBERS)[1](given),
    ):
        with pytest.raises(ProjectionError, match="cannot be perturbed"):
            door()
    assert jvp(_squared, (MEMBERS,), ({**MEMBERS, "w": 1.0},)) == (9.0, 6.0)  # as with texts


def test_a_result_that_is_a_member_of_an_enumeration_has_no_derivative():
    f = lambda x: (2.0 * x, Flag.ON)
    assert jvp(f, (1.0,), (1.0,))[1] == (2.0, NoTangent())
    for mode in ("forward", "reverse"):
        assert jacobian(f, mode=mode)(1.0) == (2.0, NoTangent())
    assert vjp(f, 1.0)[1]((1.0, NoTangent())) == (2.0,)
    with pytest.raises(NotDifferentiableError, match="return a number"):
        grad(lambda x: Rate.SLOW)(1.0)


def test_a_seed_of_another_library_names_both():
    torch = pytest.importorskip("torch")
    for x in (np.float64(0.7), np.array([0.7])):
        seed = torch.ones(np.shape(x), dtype=torch.float64)
        with pytest.raises(ProjectionError, match=r"of torch is not a tangent of .* of numpy"):
            vjp(lambda x: np.sin(x) * x, x)[1](seed)
        with pytest.raises(ProjectionError, match=r"of torch is not a tangent of .* of numpy"):
            jvp(np.sin, (x,), (seed,))


def test_flags_and_texts_beside_numbers_stay_what_they_are():
    f = lambda model: model["w"] ** 2 if model["on"] else 0.0
    model = {"w": 3.0, "on": True, "name": "m", "tags": {"a", "b"}, "loss": square}
    assert grad(f)(model)["w"] == 6.0
    assert grad(lambda x, n: x, argnums=(0, 1))(2.0, "n")[0] == 1.0
    assert grad(lambda empty: 1.0)({}) == {}


product = lambda x, y: x * y
WRONG_CALLS = {
    "two cotangents of one result": (lambda: vjp(product, 1.0, 2.0)[1](1.0, 2.0), "not a tangent"),
    "of an rrule": (lambda: rrule(ops.sin, 1.0)[1](1.0, 2.0), "not a tangent"),
    "an array of positions": (
        lambda: grad(product, argnums=np.array([0]))(1.0, 2.0),
        "positions are integers",
    ),
    "a tangent alone": (lambda: frule(1.0, ops.sin, 1.0), r"frule\(\(x_dot, ...\)"),
    "the function first": (lambda: frule(ops.sin, (1.0,), 1.0), r"frule\(\(x_dot, ...\)"),
    "a tangent for the tuple of them": (lambda: jvp(_of_x_dot(), (2.0,), (1.0,)), "a tuple"),
}


def _of_x_dot():
    squared = primitive(lambda x: x * x)
    frule.register(squared)(lambda x_dot, x: (x * x, 2.0 * x * x_dot))
    return squared


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_wrong_calls_say_what_to_write(name):
    call, message = WRONG_CALLS[name]
    with pytest.raises((ProjectionError, NotDifferentiableError, TypeError)) as error:
        call()
    said = "\n".join([str(error.value), *getattr(error.value, "__notes__", [])])
    assert re.search(message, said), said


def test_several_cotangents_are_those_of_several_results():
    _, pull = vjp(lambda x: (x * x, 3.0 * x), 2.0)
    assert pull(1.0, 10.0) == pull((1.0, 10.0)) == (34.0,)


class Labelled:
    """An array with names for its axes, as xarray's."""

    dims = ("x",)

    def __init__(self, values):
        self._values = values

    @property
    def values(self):
        return self._values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._values, dtype)


def test_arrays_with_labels_are_refused_with_the_line_to_write():
    x = Labelled(np.ones(2))
    calls = (
        lambda: grad(lambda x: np.sum(x.values))(x),
        lambda: jacobian(lambda x: x.values)([x]),
        lambda: vjp(lambda x: x.values, x),
        lambda: jvp(lambda x: x.values, (x,), (x,)),
    )
    for call in calls:
        with pytest.raises(
            NotDifferentiableError, match=r"(?s)Labelled, which has labels.*x\.values"
        ):
            call()
    assert grad(lambda c: np.sum(c * x.values))(3.0) == 2.0


def test_xarray():
    xarray = pytest.importorskip("xarray")
    x = xarray.DataArray(np.ones(2), dims="place")
    named = r"(?s), a DataArray, which has labels\n.*\n  give "
    for given in (x, {"x": x}):
        with pytest.raises(NotDifferentiableError, match=named):
            grad(lambda x: 0.0)(given)
    with pytest.raises(NotDifferentiableError, match=r"(?s)Dataset.*\{name: x\[name\]\.values"):
        grad(lambda x: 0.0)(xarray.Dataset({"x": x}))


def test_a_dataclass_that_declares_nothing_of_what_it_is_given_is_refused():
    @dataclasses.dataclass
    class Model:
        def __init__(self, w):
            self.w = w

    @dataclasses.dataclass
    class Declared:
        w: np.ndarray

    loss = lambda m: np.sum(m.w * m.w)
    with pytest.raises(NotDifferentiableError, match=r"write Model as a @dataclasses\.dataclass"):
        grad(loss)(Model(np.ones(2)))
    assert np.all(grad(loss)(Declared(np.ones(2))).w == 2.0)


def test_a_primitive_that_is_called_wrongly_says_so_itself():
    @primitive
    def scaled(x, *, k):
        return k * x

    with pytest.raises(TypeError, match=r"write scaled\(x, k=...\)"):
        grad(lambda x: scaled(x, 2.0))(3.0)
