"""The algebra of tangents: every law, every container, every kind of left operand."""

from __future__ import annotations

import copy
import dataclasses
import gc
import operator
import pickle
import threading
import weakref
from collections import OrderedDict, namedtuple
from typing import Any, Generic, TypeVar

import array_api_strict
import attrs
import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_py.errors import NotDifferentiableError, ProjectionError
from chainrules_py.primitives.plugins import see
from chainrules_py.tangents import arithmetic, structural
from chainrules_py.tangents.arithmetic import accumulate, add_tangents, canonicalize, move, scale
from chainrules_py.tangents.structural import Tangent, map_fields
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.tangents.user_tangent_checks import deliver
from chainrules_py.tangents.zeros import (
    AbstractTangent,
    AbstractZero,
    NoTangent,
    NotImplementedTangent,
    ZeroTangent,
    is_zero,
)
from chainrules_py.values import structure
from chainrules_py.values.library import Library
from chainrules_py.values.structure import register_leaf, register_structure
from chainrules_py.values.type_info import is_mutable_destination, register_array_type, type_info

ZERO = ZeroTangent()
NONE = NoTangent()
UNKNOWN = NotImplementedTangent("nobody knows")


@pytest.fixture(autouse=True)
def registrations(monkeypatch):
    """Registrations of a test end with it; NumPy's arrays may be added into."""
    monkeypatch.setattr(structure, "_registered", dict(structure._registered))
    monkeypatch.setattr(structure, "_structures", {})
    monkeypatch.setattr(structural, "_classes", dict(structural._classes))
    monkeypatch.setattr(arithmetic, "_plain_types", set())
    see(None, (np.ndarray,))
    stated = type_info(np.ndarray).library
    register_array_type(
        np.ndarray,
        Library(np, mutable=lambda x: x.flags.writeable and 0 not in x.strides and x.flags.owndata),
    )
    yield
    register_array_type(np.ndarray, stated)


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = 0.0
    name: str = "layer"


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenLayer:
    w: Any
    b: Any = 0.0


@attrs.define
class AttrsLayer:
    w: Any
    b: Any = 0.0


Factors = namedtuple("Factors", "w b")  # noqa: PYI024


class Box:
    def __init__(self, w, b):
        self.w, self.b = w, b


T = TypeVar("T")


@dataclasses.dataclass
class GenericLayer(Generic[T]):
    w: T
    b: T


def same(a, b):
    """Equality of values that goes into tangents, arrays and structures."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Tangent):
        left, right = dict(a.fields()), dict(b.fields())
        return (
            left.keys() == right.keys()
            and a._length == b._length
            and all(same(left[key], right[key]) for key in left)
        )
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and bool((a == b).all())
    if isinstance(a, AbstractTangent):
        return a is b
    if structure.is_structure_type(type(a)):
        pairs = zip(structure.fields_of(a), structure.fields_of(b), strict=True)
        return all(k == j and same(x, y) for (k, x), (j, y) in pairs)
    return a == b


def array(*values, dtype=np.float64):
    return np.array(values, dtype=dtype)


# ------------------------------------------------------------------------------------ singletons


@pytest.mark.parametrize("cls", [ZeroTangent, NoTangent])
@pytest.mark.parametrize(
    "again",
    [
        lambda t: type(t)(),
        copy.copy,
        copy.deepcopy,
        *(
            (lambda t, p=p: pickle.loads(pickle.dumps(t, p)))
            for p in range(pickle.HIGHEST_PROTOCOL + 1)
        ),
        lambda t: copy.deepcopy([t])[0],
    ],
)
def test_zeros_are_singletons(cls, again):
    t = cls()
    assert again(t) is t
    assert repr(t) == f"{cls.__name__}()"
    assert isinstance(t, AbstractZero)
    assert is_zero(t)
    assert hash(t) == hash(again(t))
    with pytest.raises(AttributeError):
        t.anything = 1


@pytest.mark.parametrize(
    "t", [0, 0.0, np.zeros(3), None, UNKNOWN, Thunk(lambda: ZERO), Tangent[tuple]()]
)
def test_no_other_tangent_is_a_zero(t):
    assert not is_zero(t)


# ---------------------------------------------------------------------------------------- laws


THUNK = Thunk(lambda: 2.0)
LAYER = Tangent[Layer](w=1.0)

SUMS = [
    (ZERO, ZERO, ZERO),
    (NONE, ZERO, NONE),
    (ZERO, NONE, NONE),
    (NONE, NONE, NONE),
    (ZERO, 2.0, 2.0),
    (NONE, 2.0, 2.0),
    (ZERO, 0, 0),
    (ZERO, array(1, 2), array(1, 2)),
    (ZERO, THUNK, THUNK),
    (NONE, THUNK, THUNK),
    (ZERO, LAYER, LAYER),
    (ZERO, UNKNOWN, UNKNOWN),
    (NONE, UNKNOWN, UNKNOWN),
    (2.0, UNKNOWN, UNKNOWN),
    (array(1, 2), UNKNOWN, UNKNOWN),
    (THUNK, UNKNOWN, UNKNOWN),
    (LAYER, UNKNOWN, UNKNOWN),
    (1.0, 2.0, 3.0),
    (1, 2j, 1 + 2j),
    (array(1, 2), array(3, 4), array(4, 6)),
    (array(1, 2), 1.0, array(2, 3)),
    (array(1, 2, dtype=np.float32), array(3, 4, dtype=np.float32), array(4, 6, dtype=np.float32)),
    (THUNK, 1.0, 3.0),
    (THUNK, array(1, 2), array(3, 4)),
    (THUNK, THUNK, 4.0),
    (Thunk(lambda: ZERO), 1.0, 1.0),
    (Thunk(lambda: LAYER), LAYER, Tangent[Layer](w=2.0)),
    (LAYER, LAYER, Tangent[Layer](w=2.0)),
    (LAYER, Tangent[Layer](b=2.0), Tangent[Layer](w=1.0, b=2.0)),
    (LAYER, Tangent[Layer](), LAYER),
    (LAYER, Tangent[Layer](w=ZERO, name=NONE), Tangent[Layer](w=1.0, name=NONE)),
    (LAYER, Tangent[Layer](w=UNKNOWN), Tangent[Layer](w=UNKNOWN)),
    (Tangent[tuple](1.0), Tangent[tuple](1.0, 2.0), Tangent[tuple](2.0, 2.0)),
    (Tangent[list](1.0), Tangent[list](1.0, length=3), Tangent[list](2.0, length=3)),
    (Tangent[Factors](w=1.0), Tangent[Factors](w=1.0, b=2.0), Tangent[Factors](w=2.0, b=2.0)),
    (
        Tangent[dict]({"a": 1.0, "b": array(1)}),
        Tangent[dict]({"b": array(2)}),
        Tangent[dict]({"a": 1.0, "b": array(3)}),
    ),
    (
        Tangent[tuple](Tangent[Layer](w=1.0), ZERO),
        Tangent[tuple](Tangent[Layer](w=1.0, b=1.0), 5.0),
        Tangent[tuple](Tangent[Layer](w=2.0, b=1.0), 5.0),
    ),
]


@pytest.mark.parametrize("a, b, expected", SUMS)
def test_sums(a, b, expected):
    assert same(add_tangents(a, b), expected)
    assert same(add_tangents(b, a), expected)
    if isinstance(a, AbstractTangent) or isinstance(b, AbstractTangent):
        assert same(a + b, expected)
        assert same(b + a, expected)
        assert same(accumulate(a, b, False)[0], expected)


@pytest.mark.parametrize(
    "t, c, expected",
    [
        (NONE, ZERO, ZERO),
        (ZERO, NONE, ZERO),
        (ZERO, ZERO, ZERO),
        (NONE, NONE, NONE),
        (ZERO, 2.0, ZERO),
        (NONE, 2.0, NONE),
        (ZERO, array(1, 2), ZERO),
        (ZERO, UNKNOWN, ZERO),
        (ZERO, THUNK, ZERO),
        (ZERO, LAYER, ZERO),
        (UNKNOWN, 2.0, UNKNOWN),
        (UNKNOWN, 0.0, UNKNOWN),
        (THUNK, 3.0, 6.0),
        (Thunk(lambda: LAYER), 3.0, Tangent[Layer](w=3.0)),
        (LAYER, 3.0, Tangent[Layer](w=3.0)),
        (LAYER, THUNK, Tangent[Layer](w=2.0)),
        (LAYER, UNKNOWN, UNKNOWN),
        (Tangent[Layer](w=array(1, 2), b=ZERO), 2, Tangent[Layer](w=array(2, 4), b=ZERO)),
        (Tangent[list](Tangent[tuple](1.0)), 2, Tangent[list](Tangent[tuple](2.0))),
        (Tangent[list](1.0, length=2), 2, Tangent[list](2.0, length=2)),
        (LAYER, np.float64(3), Tangent[Layer](w=np.float64(3))),
        (LAYER, np.array(3.0), Tangent[Layer](w=np.float64(3))),
    ],
)
def test_products(t, c, expected):
    assert same(scale(t, c), expected)
    assert same(scale(c, t), expected)
    assert same(t * c, expected)
    assert same(c * t, expected)


def test_plain_products():
    assert scale(2.0, 3) == 6.0
    assert same(scale(array(1, 2), 3), array(3, 6))


@pytest.mark.parametrize("f, factor", [(operator.neg, -1), (lambda t: t / 4, 0.25)])
@pytest.mark.parametrize(
    "t, expected",
    [
        (ZERO, ZERO),
        (NONE, NONE),
        (UNKNOWN, UNKNOWN),
        (THUNK, 2.0),
        (LAYER, LAYER),
        (Tangent[dict]({"a": Thunk(lambda: 8.0), "z": ZERO}), Tangent[dict]({"a": 8.0, "z": ZERO})),
    ],
)
def test_negatives_and_quotients(f, factor, t, expected):
    assert same(f(t), scale(expected, factor))


def test_quotients_round_once():
    t = Tangent[tuple](array(1, 7, 49)) / 49
    assert same(t[0], array(1, 7, 49) / 49)


@pytest.mark.parametrize(
    "left, right, expected",
    [
        (ZERO, 2.0, -2.0),
        (2.0, ZERO, 2.0),
        (NONE, ZERO, NONE),
        (THUNK, 1.0, 1.0),
        (1.0, THUNK, -1.0),
        (array(1, 2), THUNK, array(-1, 0)),
        (LAYER, Tangent[Layer](w=3.0, b=1.0), Tangent[Layer](w=-2.0, b=-1.0)),
        (LAYER, ZERO, LAYER),
        (ZERO, LAYER, Tangent[Layer](w=-1.0)),
        (1.0, UNKNOWN, UNKNOWN),
    ],
)
def test_differences(left, right, expected):
    assert same(left - right, expected)


def test_the_builtin_sum_adds_tangents():
    assert same(sum([LAYER, LAYER, ZERO]), Tangent[Layer](w=2.0))
    assert same(sum([array(1, 2), ZERO, THUNK]), array(3, 4))


@pytest.mark.parametrize(
    "a, b",
    [
        (LAYER, Tangent[FrozenLayer](w=1.0)),
        (Tangent[tuple](1.0), Tangent[list](1.0)),
        (Tangent[tuple](1.0, 2.0), Tangent[Factors](w=1.0)),
        (LAYER, array(1, 2)),
        (LAYER, 1.0),
        (Tangent[tuple](length=2), Tangent[tuple](length=3)),
        (Tangent[tuple](length=1), Tangent[tuple](1.0, 2.0)),
    ],
)
def test_tangents_of_different_primals_have_no_sum(a, b):
    for f in (add_tangents, operator.add, lambda a, b: accumulate(a, b, False)):
        for pair in ((a, b), (b, a)):
            with pytest.raises(ProjectionError, match="not tangents of one primal"):
                f(*pair)


@pytest.mark.parametrize("t", [None, "text", b"bytes", (1.0,), [1.0], {"a": 1.0}, Layer(1.0)])
@pytest.mark.parametrize("other", [ZERO, NONE, 1.0, array(1, 2), THUNK, LAYER, UNKNOWN])
def test_only_tangents_are_added(t, other):
    wanted = r"never a tangent|is a structure, and its tangent a Tangent\["
    for f in (add_tangents, scale, lambda a, b: accumulate(a, b, False)):
        for pair in ((t, other), (other, t)):
            with pytest.raises(ProjectionError, match=wanted):
                f(*pair)


def test_structures_are_never_concatenated():
    for f in (add_tangents, lambda a, b: accumulate(a, b, False)):
        for a, b in [((1.0,), (2.0,)), ([1.0], [2.0]), ("a", "b")]:
            with pytest.raises(ProjectionError):
                f(a, b)


def test_scaling_takes_numbers():
    for c in (array(1, 2), np.ones((1, 1)), LAYER):
        with pytest.raises(ProjectionError, match=r"Tangent\[Layer\]\(w=float\) is scaled"):
            scale(LAYER, c)
        if c is not LAYER:
            with pytest.raises(ProjectionError, match="is scaled by numbers"):
                LAYER / c


@pytest.mark.parametrize("x", [1, 2.0, array(1, 2), np.float64(1), LAYER])
@pytest.mark.parametrize("t", [ZERO, NONE, THUNK, UNKNOWN, Tangent[Layer](w=2.0)])
def test_tangents_are_no_divisors(x, t):
    with pytest.raises(TypeError, match="never a divisor"):
        x / t


# ------------------------------------------------------------------------------- left operands


LEFT = {
    "int": 2,
    "float": 2.0,
    "complex": 2j,
    "float64": np.float64(2),
    "float32": np.float32(2),
    "int64": np.int64(2),
    "array": array(1, 2),
    "0-d array": np.array(2.0),
    "array of ints": np.array([1, 2]),
}


@pytest.mark.parametrize("left", LEFT.values(), ids=LEFT)
def test_whatever_stands_on_the_left(left):
    assert (left + ZERO) is left
    assert (left - NONE) is left
    assert (left * ZERO) is ZERO
    assert (left + UNKNOWN) is UNKNOWN
    assert (left * UNKNOWN) is UNKNOWN
    assert same(left * THUNK, left * 2.0)
    assert same(left + THUNK, left + 2.0)
    assert same(left - THUNK, left - 2.0)
    assert (left == ZERO) is False
    if np.ndim(left) == 0:
        assert same(left * LAYER, Tangent[Layer](w=1.0 * left))
    with pytest.raises(ProjectionError):
        left + LAYER


def test_strict_arrays_raise_on_the_left():
    """They refuse what they do not know, reflected or not: hence functions, not operators."""
    left = array_api_strict.ones(3)
    for f in (operator.add, operator.sub, operator.mul):
        with pytest.raises(TypeError, match="Expected Array or Python scalar"):
            f(left, ZERO)
    assert add_tangents(left, ZERO) is left
    assert scale(left, ZERO) is ZERO
    assert (ZERO + left) is left
    total, owned = accumulate(left, left, False)
    total, owned = accumulate(total, ZERO, owned)
    assert bool(array_api_strict.all(total == 2.0))
    moved = move({"w": left}, Tangent[dict]({"w": left}))
    assert bool(array_api_strict.all(moved["w"] == 2.0))


@pytest.mark.parametrize("t", [ZERO, NONE, UNKNOWN, THUNK, LAYER, Tangent[tuple](1.0)])
@pytest.mark.parametrize("f", [np.asarray, np.array, lambda t: np.array([t, t]), np.sum, np.sin])
def test_no_tangent_becomes_an_array_of_objects(f, t):
    with pytest.raises(TypeError):
        f(t)


@pytest.mark.parametrize("t", [ZERO, NONE, UNKNOWN, THUNK, LAYER])
@pytest.mark.parametrize("other", [None, "text", b"bytes"])
@pytest.mark.parametrize("f", [operator.add, operator.sub, operator.mul, operator.truediv])
def test_operators_with_what_is_no_tangent(t, other, f):
    with pytest.raises((ProjectionError, TypeError)):
        f(t, other)
    with pytest.raises((ProjectionError, TypeError)):
        f(other, t)


# ---------------------------------------------------------------------------------------- thunks


def test_a_thunk_computes_once_and_lets_go():
    class Computation:
        calls = 0

        def __call__(self):
            Computation.calls += 1
            return array(1, 2)

    compute = Computation()
    gone = weakref.ref(compute)
    t = Thunk(compute)
    del compute
    assert repr(t) == "Thunk(...)"
    assert gone() is not None
    assert t() is t()
    assert Computation.calls == 1
    gc.collect()
    assert gone() is None
    assert repr(t) == "Thunk(array([1., 2.]))"


def test_zeros_and_unknowns_do_not_ask():
    def compute():
        raise AssertionError("asked")

    t = Thunk(compute)
    assert add_tangents(t, ZERO) is t
    assert add_tangents(NONE, t) is t
    assert accumulate(ZERO, t, False) == (t, False)
    assert accumulate(t, NONE, False) == (t, False)
    assert add_tangents(UNKNOWN, t) is UNKNOWN
    assert scale(t, ZERO) is ZERO
    assert add_tangents(LAYER, Tangent[Layer](b=t)).b is t


def test_nested_thunks_are_one():
    t = Thunk(lambda: Thunk(lambda: Thunk(lambda: 3.0)))
    assert t() == 3.0
    assert unthunk(Thunk(lambda: Thunk(lambda: 3.0))) == 3.0
    assert unthunk(ZERO) is ZERO


def test_an_exception_is_not_remembered():
    answers = iter([ValueError("not yet"), 2.0])

    def compute():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    t = Thunk(compute)
    with pytest.raises(ValueError, match="not yet"):
        t()
    assert t() == 2.0
    assert t() == 2.0


def test_a_thunk_of_none_is_refused():
    with pytest.raises(ProjectionError, match="None is never a tangent"):
        Thunk(lambda: None)()


def test_a_thunk_that_asks_for_itself_does_not_hang():
    t = Thunk(lambda: t())
    with pytest.raises(RecursionError):
        t()


def test_thunks_are_copied():
    for again in (copy.copy, copy.deepcopy):
        t = again(Thunk(lambda: 2.0))
        assert t() == 2.0
        assert repr(t) == "Thunk(2.0)"


# ------------------------------------------------------------------------ derivatives not stated


def test_an_unknown_derivative_is_an_error_for_who_reads_it():
    assert deliver(ZERO) is ZERO
    with pytest.raises(
        NotDifferentiableError,
        match=r"(?s)taken here: nobody knows\n.*write it in place of",
    ):
        deliver(UNKNOWN)
    with pytest.raises(NotDifferentiableError, match="nobody knows"):
        deliver(Thunk(lambda: UNKNOWN))
    with pytest.raises(NotDifferentiableError, match="nobody knows") as caught:
        deliver(Tangent[tuple](1.0, Tangent[Layer](w=UNKNOWN)))
    assert caught.value.__notes__ == [
        "in entry 'w' of a Tangent[Layer]",
        "in entry 1 of a Tangent[tuple]",
    ]
    with pytest.raises(NotDifferentiableError, match="nobody knows"):
        move(1.0, UNKNOWN)


def test_an_unknown_derivative_prints_and_pickles_with_its_reason():
    assert repr(UNKNOWN) == "NotImplementedTangent('nobody knows')"
    assert pickle.loads(pickle.dumps(UNKNOWN)).reason == "nobody knows"


def test_delivery_resolves_thunks_at_all_levels():
    t = Tangent[list](Thunk(lambda: 1.0), Tangent[dict]({"a": Thunk(lambda: 2.0)}), length=3)
    assert same(deliver(t), Tangent[list](1.0, Tangent[dict]({"a": 2.0}), length=3))
    assert repr(t[0]) == "Thunk(1.0)"
    ready = Tangent[Layer](w=Tangent[tuple](1.0))
    assert deliver(ready) is ready
    x = array(1, 2)
    assert deliver(x) is x


# ------------------------------------------------------------------------ tangents of structures


def test_tangent_of_a_class_is_a_class():
    assert Tangent[Layer] is Tangent[Layer]
    assert Tangent[Layer] is not Tangent[FrozenLayer]
    assert Tangent[Layer].primal_type is Layer
    assert issubclass(Tangent[Layer], Tangent)
    assert isinstance(LAYER, (Tangent, AbstractTangent))
    assert Tangent[tuple[float, float]] is Tangent[tuple]
    assert Tangent[T]  # an annotation, not a class
    assert Tangent[Any]


def test_threads_get_one_class():
    seen = []
    start = threading.Barrier(8)

    def get():
        start.wait()
        seen.append(Tangent[GenericLayer])

    threads = [threading.Thread(target=get) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == 1


@pytest.mark.parametrize("cls", [int, float, str, np.ndarray, Box, object])
def test_leaves_have_no_tangent_class(cls):
    with pytest.raises(ProjectionError, match=f"{cls.__qualname__} is not a structure"):
        Tangent[cls]


@pytest.mark.parametrize(
    "cls", [Layer, FrozenLayer, AttrsLayer, Factors, GenericLayer], ids=lambda c: c.__name__
)
def test_tangents_by_name(cls):
    t = Tangent[cls](b=2.0)
    assert (t.b, t["b"]) == (2.0, 2.0)
    assert t.w is ZERO
    assert t["w"] is ZERO
    assert t.fields() == [("b", 2.0)]
    assert Tangent[cls](b=2.0, w=1.0).fields() == [("w", 1.0), ("b", 2.0)]
    assert repr(Tangent[cls](b=2.0, w=1.0)) == f"Tangent[{cls.__name__}](w=1.0, b=2.0)"
    assert {"w", "b", "fields"} <= set(dir(t))
    assert t
    with pytest.raises(ProjectionError, match=r"has no field 'v'; its fields are: w, b"):
        Tangent[cls](v=1.0)
    with pytest.raises(ProjectionError, match=r"has no fields 'v', 'u'; its fields are: w, b"):
        Tangent[cls](w=1.0, v=1.0, u=2.0)
    with pytest.raises(AttributeError, match=r"has no field 'v'; its fields are: w, b"):
        t.v
    with pytest.raises(KeyError, match="has no field 'v'"):
        t["v"]
    with pytest.raises(TypeError, match="takes its fields by name"):
        Tangent[cls](1.0)
    with pytest.raises(AttributeError):
        t.w = 1.0
    with pytest.raises(ProjectionError, match="None is never a tangent"):
        Tangent[cls](w=None)


def test_tangents_of_namedtuples_are_unpacked():
    t = Tangent[Factors](b=2.0)
    w, b = t
    assert w is ZERO
    assert b == 2.0
    assert len(t) == 2
    assert (t[0], t[1], t[-1]) == (ZERO, 2.0, 2.0)
    with pytest.raises(IndexError):
        t[2]


def test_tangents_of_dataclasses_are_not_iterable():
    with pytest.raises(TypeError, match="not iterable; see its method fields"):
        iter(LAYER)
    with pytest.raises(TypeError, match="no length"):
        len(LAYER)


@pytest.mark.parametrize("cls", [tuple, list])
def test_tangents_by_position(cls):
    t = Tangent[cls](1.0, ZERO, 3.0)
    assert list(t) == [1.0, ZERO, 3.0]
    assert len(t) == 3
    assert (t[0], t[np.int64(2)]) == (1.0, 3.0)
    assert t[7] is ZERO
    assert t.fields() == [(0, 1.0), (1, ZERO), (2, 3.0)]
    assert repr(t) == f"Tangent[{cls.__name__}](1.0, ZeroTangent(), 3.0)"
    assert Tangent[cls]()
    with pytest.raises(IndexError, match="whose length is not known"):
        t[-1]
    with pytest.raises(TypeError):
        t["w"]
    with pytest.raises(AttributeError):
        t.w
    with pytest.raises(TypeError, match="takes its entries by position"):
        Tangent[cls](w=1.0)


def test_tangents_by_position_may_know_the_length():
    t = Tangent[tuple](1.0, length=3)
    assert list(t) == [1.0, ZERO, ZERO]
    assert len(t) == 3
    assert t[-1] is ZERO
    assert t[-3] == 1.0
    assert repr(t) == "Tangent[tuple](1.0, length=3)"
    assert repr(Tangent[tuple](1.0, length=1)) == "Tangent[tuple](1.0)"
    for i in (3, -4):
        with pytest.raises(IndexError, match="which has 3"):
            t[i]
    with pytest.raises(ProjectionError, match="2 entries for a tuple of 1"):
        Tangent[tuple](1.0, 2.0, length=1)


@pytest.mark.parametrize("cls", [dict, OrderedDict])
def test_tangents_by_key(cls):
    t = Tangent[cls]({"w": 1.0, 2: ZERO})
    assert (t["w"], t[2], t["absent"]) == (1.0, ZERO, ZERO)
    assert list(t) == ["w", 2]
    assert len(t) == 2
    assert t.fields() == [("w", 1.0), (2, ZERO)]
    assert repr(t) == f"Tangent[{cls.__name__}]({{'w': 1.0, 2: ZeroTangent()}})"
    assert same(Tangent[cls](w=1.0), Tangent[cls]({"w": 1.0}))
    with pytest.raises(AttributeError):
        t.w
    with pytest.raises(TypeError, match="takes one mapping"):
        Tangent[cls]({}, {})


def test_tangents_of_registered_structures():
    register_structure(Box, lambda x: vars(x).items(), lambda x, values: Box(*values))
    t = Tangent[Box](w=1.0)
    assert (t.w, t["w"], t["b"]) == (1.0, 1.0, ZERO)
    assert not hasattr(t, "shape")
    moved = move(Box(1.0, 2.0), t)
    assert t.b is ZERO  # a field that nothing flows in, as of a dataclass
    with pytest.raises(AttributeError, match="Box has no field 'v'; its fields are: w, b"):
        t.v
    assert not hasattr(t, "shape")
    assert (moved.w, moved.b) == (2.0, 2.0)
    assert Box(1.0, 2.0).__class__ is (Box(1.0, 2.0) - t).__class__
    with pytest.raises(ProjectionError, match="Box has no field 'v'; its fields are: w, b"):
        move(Box(1.0, 2.0), Tangent[Box](v=1.0))
    register_leaf(Box)
    with pytest.raises(ProjectionError, match="Box is not a structure"):
        Tangent[Box]


def test_tangents_given_by_key():
    assert same(Tangent.of(Layer, {"b": 1.0}), Tangent[Layer](b=1.0))
    assert same(Tangent.of(dict, {"b": 1.0}), Tangent[dict](b=1.0))
    t = Tangent.of(list, {2: 1.0}, length=4)
    assert list(t) == [ZERO, ZERO, 1.0, ZERO]
    assert repr(t) == "Tangent[list](ZeroTangent(), ZeroTangent(), 1.0, length=4)"
    for cls, entries, length in [
        (Layer, {"v": 1.0}, None),
        (list, {-1: 1.0}, None),
        (list, {"w": 1.0}, None),
        (list, {2: 1.0}, 2),
        (list, {0: None}, None),
    ]:
        with pytest.raises(ProjectionError):
            Tangent.of(cls, entries, length)


def test_fields_with_the_names_of_methods():
    cls = dataclasses.make_dataclass("Odd", ["fields", "primal_type", "of", "length", "self"])
    x = cls(1.0, 2.0, 3.0, 4.0, 5.0)
    t = Tangent[cls](fields=1.0, primal_type=2.0, of=3.0, length=4.0, self=5.0)
    assert [t[name] for name in ("fields", "primal_type", "of", "length", "self")] == [
        1.0,
        2.0,
        3.0,
        4.0,
        5.0,
    ]
    assert t.length == 4.0
    assert dataclasses.astuple(x + t) == (2.0, 4.0, 6.0, 8.0, 10.0)


def test_the_class_of_the_primal_is_needed():
    with pytest.raises(TypeError, match=r"write Tangent\[P\]"):
        Tangent(w=1.0)


@pytest.mark.parametrize(
    "t",
    [
        LAYER,
        Tangent[AttrsLayer](w=array(1, 2)),
        Tangent[Factors](b=1.0),
        Tangent[tuple](1.0, ZERO, length=3),
        Tangent[list](),
        Tangent[dict]({"a": Tangent[Layer](b=NONE)}),
    ],
    ids=repr,
)
def test_tangents_are_copied_and_pickled(t):
    for again in (copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))):
        assert same(again(t), t)
        assert again(t) is not t


def test_tangents_compare_by_identity():
    assert Tangent[Layer](w=array(1, 2)) != Tangent[Layer](w=array(1, 2))
    assert len({LAYER, LAYER}) == 1


def test_map_fields():
    t = map_fields(lambda x: x * 10, Tangent[list](1.0, ZERO, length=3))
    assert same(t, Tangent[list](10.0, ZERO, length=3))


# ------------------------------------------------------------------------------------------ move


MOVES = [
    (1.0, 2.0, 3.0),
    (1, 0.5, 1.5),
    (np.float64(1), 2.0, np.float64(3)),
    (array(1, 2), array(1, 1), array(2, 3)),
    (np.array(1.0), 2.0, np.float64(3)),
    (1.0, THUNK, 3.0),
    (Layer(array(1, 2)), Tangent[Layer](w=array(1, 1)), Layer(array(2, 3))),
    (FrozenLayer(1.0), Tangent[FrozenLayer](w=1.0), FrozenLayer(2.0)),
    (AttrsLayer(1.0), Tangent[AttrsLayer](w=1.0), AttrsLayer(2.0)),
    (Factors(1.0, 2.0), Tangent[Factors](w=1.0), Factors(2.0, 2.0)),
    ((1.0, 2.0), Tangent[tuple](1.0), (2.0, 2.0)),
    ([1.0, "s", None], Tangent[list](1.0, NONE, ZERO), [2.0, "s", None]),
    ({"b": 1.0, "a": 2.0}, Tangent[dict]({"a": 1.0}), {"b": 1.0, "a": 3.0}),
    ((1.0, [Layer(1.0)]), Tangent[tuple](ZERO, Tangent[list](LAYER)), (1.0, [Layer(2.0)])),
    ((1.0, 2.0), (1.0, ZERO), (2.0, 2.0)),
    (LAYER, LAYER, Tangent[Layer](w=2.0)),
]


@pytest.mark.parametrize("primal, t, expected", MOVES)
def test_move(primal, t, expected):
    before = pickle.dumps(primal)
    assert same(move(primal, t), expected)
    if isinstance(t, Tangent):
        assert same(primal + t, expected)
        assert same(t + primal, expected)
        assert same(primal - (-1) * t, expected)
    assert pickle.dumps(primal) == before


@pytest.mark.parametrize(
    "primal", [1.0, array(1, 2), Layer(1.0), (1.0,), [1.0], {"a": 1.0}, "text", None, True]
)
def test_a_zero_moves_nothing(primal):
    for zero in (ZERO, NONE, Thunk(lambda: ZERO)):
        assert move(primal, zero) is primal


def test_params_minus_lr_times_gradient():
    params = Layer(array(1, 2), array(3), name="first")
    params.history = ["kept"]
    new = params - 0.5 * Tangent[Layer](w=array(1, 1))
    assert same(new, Layer(array(0.5, 1.5), array(3), name="first"))
    assert new.history is params.history
    assert new.b is params.b
    params -= Tangent[Layer](b=array(1))
    assert same(params.b, array(2))
    for lr in (0.5, np.float64(0.5), np.array(0.5)):
        assert same(Layer(1.0) - lr * LAYER, Layer(1.0 - lr * 1.0))
    items = [1.0, 2.0]
    items += Tangent[list](1.0)
    assert items == [2.0, 2.0]


@pytest.mark.parametrize(
    "primal, t, message",
    [
        (1.0, None, "None is never a tangent"),
        (1.0, "text", "never a tangent"),
        (1.0, LAYER, r"Tangent\[Layer\]\(w=float\) is not a tangent of float;"),
        (array(1, 2), (1.0, 2.0), r"\(float, float\) is not a tangent of float64\[2\];"),
        (array(1, 2), array(1), r"float64\[1\] is not a tangent of float64\[2\]: the shapes"),
        (array(1), array(1, 2), "the shapes differ"),
        (array(1, 2), 1.0, "the shapes differ"),
        (1.0, array(1, 2), "the shapes differ"),
        (True, 1.0, "bool cannot be perturbed"),
        ("text", 1.0, "str cannot be perturbed"),
        (None, 1.0, "None cannot be perturbed"),
        (Layer(1.0), 1.0, r"float is not a tangent of Layer\(.*\); write Tangent\[Layer\]"),
        (Layer(1.0), Tangent[FrozenLayer](w=1.0), r"Tangent\[FrozenLayer\].* not a tangent of Lay"),
        (Layer(1.0), Tangent[Layer](name=1.0), "str cannot be perturbed"),
        ((1.0,), Tangent[list](1.0), r"Tangent\[list\]\(float\) is not a tangent of \(float,\)"),
        ((1.0,), Tangent[tuple](1.0, 2.0), r"tuple has no field 1; its fields are: 0"),
        ((1.0,), Tangent[tuple](1.0, length=2), "not a tangent of"),
        (Factors(1.0, 2.0), Tangent[tuple](1.0, 2.0), "not a tangent of"),
        ({"a": 1.0}, Tangent[dict]({"b": 1.0}), "dict has no field 'b'; its fields are: a"),
    ],
)
def test_a_move_that_does_not_fit(primal, t, message):
    with pytest.raises(ProjectionError, match=message):
        move(primal, t)


# ---------------------------------------------------------------------------------- canonicalize


def named_function(x):
    return x


@pytest.mark.parametrize(
    "primal, t, expected",
    [
        (1.0, 2.0, 2.0),
        (array(1, 2), array(3, 4), array(3, 4)),
        ((1.0, 2.0), ZERO, ZERO),
        ((1.0, 2.0), NONE, NONE),
        ((1.0, 2.0), UNKNOWN, UNKNOWN),
        ((1.0, 2.0), Thunk(lambda: (1.0, ZERO)), Tangent[tuple](1.0, ZERO, length=2)),
        ((1.0, 2.0), (3.0, 4.0), Tangent[tuple](3.0, 4.0, length=2)),
        ([1.0, 2.0], [3.0, ZERO], Tangent[list](3.0, ZERO, length=2)),
        ({"a": 1.0, "b": "s"}, {"a": 3.0}, Tangent[dict]({"a": 3.0})),
        ({"a": 1.0, "b": 2.0}, Tangent[dict]({"b": 3.0}), Tangent[dict]({"b": 3.0})),
        (OrderedDict(a=1.0), {"a": 2.0}, Tangent[OrderedDict]({"a": 2.0})),
        (Factors(1.0, 2.0), (3.0, 4.0), Tangent[Factors](w=3.0, b=4.0)),
        (Factors(1.0, 2.0), Factors(3.0, 4.0), Tangent[Factors](w=3.0, b=4.0)),
        (Layer(1.0), Layer(3.0, 4.0), Tangent[Layer](w=3.0, b=4.0, name=NONE)),
        (Layer(1.0), LAYER, LAYER),
        ((1.0, 2.0), Tangent[tuple](3.0), Tangent[tuple](3.0, length=2)),
        (
            ({"a": [1.0]}, 2.0),
            ({"a": [3.0]}, ZERO),
            Tangent[tuple](Tangent[dict]({"a": Tangent[list](3.0, length=1)}), ZERO, length=2),
        ),
        (
            Layer((1.0, 2.0)),
            Tangent[Layer](w=(3.0, 4.0)),
            Tangent[Layer](w=Tangent[tuple](3.0, 4.0, length=2)),
        ),
        (
            (1.0, None, "s", True, named_function),
            (2.0, None, "s", False, named_function),
            Tangent[tuple](2.0, NONE, NONE, NONE, NONE, length=5),
        ),
    ],
)
def test_canonicalize(primal, t, expected):
    assert same(canonicalize(primal, t), expected)
    assert same(canonicalize(primal, canonicalize(primal, t)), expected)


@pytest.mark.parametrize(
    "primal, t, message",
    [
        (1.0, None, "None is never a tangent: did you forget return.*write ZeroTangent"),
        ((1.0,), None, "None is never a tangent"),
        ((1.0,), (None,), "None is never a tangent"),
        (None, None, "None is never a tangent"),
        ("text", "text", "str is never a tangent"),
        (1.0, (1.0,), r"\(float,\) is not a tangent of float;"),
        (array(1, 2), LAYER, r"Tangent\[Layer\]\(w=float\) is not a tangent of float64\[2\]"),
        (
            (1.0,),
            array(1),
            r"float64\[1\] is not a tangent of \(float,\); give a tuple, with a tangent",
        ),
        ((1.0,), [1.0], r"\[float\] is not a tangent of \(float,\)"),
        ([1.0], (1.0,), r"\(float,\) is not a tangent of \[float\]"),
        ((1.0, 2.0), (1.0,), r"\(float,\) is not a tangent of \(float, float\)"),
        ((1.0,), (1.0, 2.0), "not a tangent of"),
        (Factors(1.0, 2.0), (1.0,), "not a tangent of"),
        ((1.0, 2.0), Factors(1.0, 2.0), "not a tangent of"),
        ({"a": 1.0}, {"b": 1.0}, "dict has no field 'b'; its fields are: a"),
        ({"a": 1.0, "b": 2.0}, {"b": 1.0}, "'a' is missing; write ZeroTangent()"),
        (Layer(1.0), FrozenLayer(1.0), r"FrozenLayer\(.*\) is not a tangent of Layer\("),
        (Layer(1.0), {"w": 1.0}, "not a tangent of Layer"),
        ((1.0, True), (1.0, 2.0), "bool cannot be perturbed"),
        ((1.0, "s"), (1.0, 2.0), "str cannot be perturbed"),
    ],
)
def test_canonicalize_refuses(primal, t, message):
    with pytest.raises(ProjectionError, match=message):
        canonicalize(primal, t)


# ------------------------------------------------------------------------------------- ownership


def total_of(*summands):
    total, owned = ZERO, False
    for t in summands:
        total, owned = accumulate(total, t, owned)
    return total


def frozen_copy(x):
    x = np.array(x)
    x.flags.writeable = False
    return x


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "make",
    [
        lambda i: array(i, 2 * i),
        lambda i: frozen_copy(array(i, 2 * i)),
        lambda i: np.broadcast_to(array(i), (4,)),
        lambda i: np.arange(8.0)[::2] * 1 + i,
        lambda i: (np.ones((2, 3)) * i).T,
        lambda i: np.float64(i),
        lambda i: np.array(float(i)),
        lambda i: float(i),
        lambda i: array(i, dtype=np.complex64),
    ],
)
def test_inputs_are_never_written_to(make, n):
    summands = [make(i) for i in range(n)]
    before = [np.array(t).tobytes() for t in summands]
    total = total_of(*summands)
    assert [np.array(t).tobytes() for t in summands] == before
    expected = summands[0]
    for t in summands[1:]:
        expected = expected + t
    assert same(total, expected)
    if n > 1 and isinstance(total, np.ndarray):
        assert not any(np.shares_memory(total, t) for t in summands)


def test_the_first_addition_allocates_and_later_ones_add_in_place():
    a, b, c = array(1, 1), array(2, 2), array(3, 3)
    total, owned = accumulate(ZERO, a, False)
    assert total is a
    assert owned is False
    total, owned = accumulate(total, b, owned)
    assert owned is True
    buffer = total
    total, owned = accumulate(total, c, owned)
    assert total is buffer
    total, owned = accumulate(total, Thunk(lambda: c), owned)
    assert total is buffer
    total, owned = accumulate(total, ZERO, owned)
    assert total is buffer
    assert owned is True
    assert same(total, array(9, 9))
    assert same(c, array(3, 3))


@pytest.mark.parametrize(
    "t",
    [
        array(1, 2, dtype=np.complex128),
        array(1, 2, dtype=np.float32),
        np.ones((2, 2)),
        np.ones((1, 2)),
        array(1),
        1.0,
        np.float64(1),
        array(1, 2).view(np.recarray),
    ],
)
def test_in_place_or_not_the_sum_is_the_same(t):
    total, owned = accumulate(array(1, 1), array(2, 2), False)
    new, _ = accumulate(total, t, owned)
    expected = array(3, 3) + t
    assert type(new) is type(expected)
    assert new.dtype == expected.dtype
    assert np.array_equal(np.asarray(new), np.asarray(expected))


def test_one_cotangent_for_two_operands_stays_whole():
    """A pullback may return its argument twice, or views of it."""
    y_bar = array(1, 2)
    left = accumulate(ZERO, y_bar, False)
    right = accumulate(ZERO, y_bar[:], False)
    left = accumulate(*left[:1], array(1, 1), left[1])
    left = accumulate(left[0], array(1, 1), left[1])
    right = accumulate(right[0], array(5, 5), right[1])
    assert same(left[0], array(3, 4))
    assert same(right[0], array(6, 7))
    assert same(y_bar, array(1, 2))


def test_fields_are_owned_one_by_one():
    a, b, c = array(1, 1), array(2, 2), array(3, 3)
    first, second, third = (
        Tangent[Layer](w=a),
        Tangent[Layer](w=b, b=a),
        Tangent[Layer](w=c, b=b),
    )
    total, owned = accumulate(ZERO, first, False)
    assert total is first
    total, owned = accumulate(total, second, owned)
    assert total is not first
    w = total.w
    assert total.b is a
    total, owned = accumulate(total, third, owned)
    assert total.w is w
    assert same(total, Tangent[Layer](w=array(6, 6), b=array(3, 3)))
    total, owned = accumulate(total, Tangent[Layer](b=a), owned)
    assert same(total.b, array(4, 4))
    assert same(first, Tangent[Layer](w=array(1, 1)))
    assert same(second, Tangent[Layer](w=array(2, 2), b=array(1, 1)))
    assert same(third, Tangent[Layer](w=array(3, 3), b=array(2, 2)))


def test_nested_fields_are_owned_too():
    def tangent(i):
        return Tangent[tuple](Tangent[dict]({"a": array(i, i)}), Tangent[list](array(i)))

    summands = [tangent(i) for i in range(4)]
    before = [pickle.dumps(t) for t in summands]
    assert same(total_of(*summands), tangent(6))
    assert [pickle.dumps(t) for t in summands] == before


def test_reading_a_list_item_by_item_costs_its_length():
    """Each read gives a tangent of one entry; the total must not be copied for each."""
    n = 2000
    total, owned = ZERO, False
    copies = set()
    for i in reversed(range(n)):
        total, owned = accumulate(total, Tangent.of(list, {i: float(i)}, length=n), owned)
        copies.add(id(total))
    assert list(total) == [float(i) for i in range(n)]
    assert [key for key, _ in total.fields()] == list(range(n))
    assert len(copies) <= 2


def test_accumulation_spreads_unknowns_and_drops_zeros():
    assert total_of(1.0, UNKNOWN, 2.0) is UNKNOWN
    assert total_of(UNKNOWN, ZERO) is UNKNOWN
    assert total_of(NONE, ZERO) is NONE
    assert total_of(ZERO, ZERO) is ZERO
    assert total_of(Tangent[tuple](1.0), Tangent[tuple](UNKNOWN), NONE)[0] is UNKNOWN


@pytest.mark.parametrize(
    "x, writable",
    [
        (array(1, 2), True),
        (frozen_copy(array(1, 2)), False),
        (np.broadcast_to(array(1), (3,)), False),
        (array(1, 2)[:1], False),
        (np.ma.masked_array([1.0]), False),
        (np.float64(1), False),
        (1.0, False),
        (ZERO, False),
        (LAYER, False),
        (array_api_strict.broadcast_to(array_api_strict.ones(1), (3,)), False),
    ],
)
def test_mutable_destinations(x, writable):
    assert is_mutable_destination(x) is writable


def test_an_own_sum_that_became_read_only_is_not_written_to():
    total, owned = accumulate(array(1, 1), array(1, 1), False)
    total.flags.writeable = False
    new, _ = accumulate(total, array(1, 1), owned)
    assert same(total, array(2, 2))
    assert same(new, array(3, 3))


def test_a_class_registered_later_is_no_longer_added_as_a_leaf():
    class Point:
        def __init__(self, x):
            self.x = x

        def __add__(self, other):
            return Point(self.x + other.x)

    assert add_tangents(Point(1.0), Point(2.0)).x == 3.0
    register_structure(Point, lambda p: [("x", p.x)], lambda p, values: Point(*values))
    with pytest.raises(ProjectionError, match="is a structure"):
        add_tangents(Point(1.0), Point(2.0))


@dataclasses.dataclass
class Net:
    layers: Any


@pytest.mark.parametrize(
    "layers",
    [
        [np.ones(2), np.ones(1)],
        (np.ones(2), [3.0, np.ones(1)]),
        {"a": np.ones(2), "b": (np.ones(1), "relu")},
        [Net(np.ones(2)), Net(np.ones(1))],
        {"a": Net([np.ones(2)])},
    ],
)
def test_gradients_of_containers_in_objects_add_scale_and_move(layers):
    def total(x):
        if isinstance(x, dict):
            return total([*x.values()])
        if isinstance(x, (list, tuple)):
            return sum(map(total, x))
        if isinstance(x, Net):
            return total(x.layers)
        return 0.0 if isinstance(x, str) else np.sum(x**2)

    net = Net(layers)
    g = ct.grad(total)(net)
    assert type(g.layers) is type(layers)
    for moved, factor in (
        (net - 0.25 * g, 0.5),
        (net + g / 2, 2.0),
        (net + (g + g), 5.0),
        (net + (g - g), 1.0),
        (net + -g / 4, 0.5),
    ):
        np.testing.assert_allclose(total(moved), factor**2 * total(net))
