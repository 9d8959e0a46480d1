"""Taking structures apart, and putting them together again around other values."""

from __future__ import annotations

import abc
import dataclasses
import functools
import subprocess
import sys
import time
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import ClassVar, Generic, NamedTuple, TypeVar

import attrs
import numpy as np
import pytest

from chainrules_py import RuleError
from chainrules_py.values import pytree, structure
from chainrules_py.values.caches import forgets
from chainrules_py.values.pytree import flatten, unflatten
from chainrules_py.values.structure import (
    fields_of,
    is_structure_type,
    rebuild,
    register_leaf,
    register_structure,
    structure_of,
)

T = TypeVar("T")


@pytest.fixture(autouse=True)
def registrations(monkeypatch):
    """Registrations of a test end with it."""
    monkeypatch.setattr(structure, "_registered", dict(structure._registered))
    monkeypatch.setattr(structure, "_structures", {})
    monkeypatch.setattr(pytree, "_containers", {})
    monkeypatch.setattr(pytree, "_leaf_types", set())


@dataclasses.dataclass
class Plain:
    a: object
    b: object
    count: ClassVar[int] = 0


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: object
    b: object


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlots:
    a: object
    b: object


@dataclasses.dataclass
class Derived:
    """Its second field is no parameter, and its construction has effects."""

    a: object
    b: object = dataclasses.field(init=False)
    scale: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, scale):
        assert isinstance(self.a, float), "run again around new values"
        self.b = scale * self.a


@dataclasses.dataclass(kw_only=True)
class KeywordOnly(Generic[T]):
    a: T
    b: T


class Undecorated(Plain):
    pass


class Base(abc.ABC):
    __slots__ = ("__hidden", "tag")

    def __init__(self):
        self.tag = "kept"
        self.__hidden = "kept too"

    @property
    def hidden(self):
        return self.__hidden

    @abc.abstractmethod
    def call(self): ...


@dataclasses.dataclass(init=False)
class OnAbstractBase(Base):
    a: object
    b: object

    def __init__(self, a, b):
        super().__init__()
        self.a, self.b = a, b

    def call(self):
        return self.a


@attrs.define
class Attrs:
    a: object
    b: object


@attrs.frozen
class AttrsFrozen:
    a: object
    b: object


@attrs.define(slots=False)
class AttrsDict:
    a: object
    b: object


@attrs.define
class AttrsPrivate:
    _a: float = attrs.field(converter=float, validator=attrs.validators.instance_of(float))
    b: object = attrs.field(init=False, default=2.0)


Named = namedtuple("Named", "a b")  # noqa: PYI024


class Typed(NamedTuple):
    a: object
    b: object


class NamedWithNew(Named):
    def __new__(cls, a):
        return super().__new__(cls, a, 2.0)


class TupleSubclass(tuple):
    __slots__ = ()


class ListSubclass(list):
    pass


class DictSubclass(dict):
    def __init__(self, **items):
        super().__init__(items)


def on_abstract_base():
    return OnAbstractBase(1.0, 2.0)


AB = ["a", "b"]

STRUCTURES = {
    "dataclass": (Plain(1.0, 2.0), AB),
    "frozen dataclass": (Frozen(1.0, 2.0), AB),
    "frozen slotted dataclass": (FrozenSlots(1.0, 2.0), AB),
    "dataclass with __post_init__": (Derived(1.0), AB),
    "keyword-only generic dataclass": (KeywordOnly(a=1.0, b=2.0), AB),
    "subclass of a dataclass": (Undecorated(1.0, 2.0), AB),
    "dataclass on an abstract base": (on_abstract_base(), AB),
    "attrs": (Attrs(1.0, 2.0), AB),
    "frozen attrs": (AttrsFrozen(1.0, 2.0), AB),
    "attrs without slots": (AttrsDict(1.0, 2.0), AB),
    "attrs with converter": (AttrsPrivate(1.0), ["_a", "b"]),
    "namedtuple": (Named(1.0, 2.0), AB),
    "NamedTuple": (Typed(1.0, 2.0), AB),
    "namedtuple with __new__": (NamedWithNew(1.0), AB),
    "tuple": ((1.0, 2.0), [0, 1]),
    "tuple subclass": (TupleSubclass((1.0, 2.0)), [0, 1]),
    "list": ([1.0, 2.0], [0, 1]),
    "list subclass": (ListSubclass([1.0, 2.0]), [0, 1]),
    "dict": ({"z": 1.0, 0: 2.0}, ["z", 0]),
    "dict subclass": (DictSubclass(z=1.0, y=2.0), ["z", "y"]),
    "OrderedDict": (OrderedDict(z=1.0, y=2.0), ["z", "y"]),
    "defaultdict": (defaultdict(list, z=1.0, y=2.0), ["z", "y"]),
    "Counter": (Counter(z=1.0, y=2.0), ["z", "y"]),
}
structures = pytest.mark.parametrize("x, keys", STRUCTURES.values(), ids=STRUCTURES)


@structures
def test_fields_come_in_order(x, keys):
    assert is_structure_type(type(x))
    assert fields_of(x) == list(zip(keys, [1.0, 2.0], strict=True))


@structures
def test_a_structure_is_rebuilt_around_any_values(x, keys):
    before = fields_of(x)
    traced = object()  # what no constructor, converter or validator accepts
    new = rebuild(x, [traced, "two"])
    assert type(new) is type(x)
    assert new is not x
    assert fields_of(new) == list(zip(keys, [traced, "two"], strict=True))
    assert fields_of(x) == before


@structures
@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0]])
def test_the_number_of_values_is_checked(x, keys, values):
    with pytest.raises((ValueError, TypeError)):
        rebuild(x, values)


@pytest.mark.parametrize(
    "x",
    [
        1,
        1.0,
        True,
        None,
        "text",
        b"bytes",
        np.ones(3),
        np.float64(1),
        np.ones(2, dtype=[("a", "f8")]),
        Plain,
        Attrs,
        Named,
        tuple,
        len,
        lambda x: x,
        {1, 2},
        range(3),
        deque([1]),
        object(),
        {}.keys(),
        *[dataclasses.make_dataclass("Beside", ["x"], bases=(base,))(1.0) for base in (dict, list)],
    ],
    ids=lambda x: type(x).__name__,
)
def test_leaves(x):
    assert not is_structure_type(type(x))
    assert structure_of(type(x)) is None
    leaves, treedef = flatten(x)
    assert leaves[0] is x
    assert unflatten(treedef, leaves) is x
    with pytest.raises(TypeError, match=f"{type(x).__name__} is a leaf"):
        fields_of(x)
    with pytest.raises(TypeError, match="is a leaf"):
        rebuild(x, [])


class Empty(NamedTuple):
    pass


@pytest.mark.parametrize("x", [(), [], {}, Empty()], ids=repr)
def test_empty_structures_have_no_leaves(x):
    leaves, treedef = flatten(x)
    assert leaves == []
    assert unflatten(treedef, []) == x
    assert rebuild(x, []) == x


def test_attributes_that_are_no_fields_are_kept():
    x = Plain(1.0, 2.0)
    x.note = "kept"
    assert rebuild(x, [3.0, 4.0]).note == "kept"
    tagged = rebuild(on_abstract_base(), [3.0, 4.0])
    assert (tagged.tag, tagged.hidden) == ("kept", "kept too")
    items = ListSubclass([1.0])
    items.note = "kept"
    assert rebuild(items, [2.0]).note == "kept"
    assert rebuild(defaultdict(list, a=1.0), [2.0])["new"] == []


@dataclasses.dataclass
class CachedDataclass:
    a: float

    @functools.cached_property
    def double(self):
        return 2 * self.a


@attrs.define
class CachedAttrs:
    a: float

    @functools.cached_property
    def double(self):
        return 2 * self.a


class CachedTuple(tuple):  # noqa: SLOT001
    @functools.cached_property
    def double(self):
        return 2 * self[0]


@pytest.mark.parametrize("x", [CachedDataclass(1.0), CachedAttrs(1.0), CachedTuple((1.0,))])
def test_cached_properties_belong_to_the_old_values(x):
    assert x.double == 2.0
    assert rebuild(x, [5.0]).double == 10.0
    assert x.double == 2.0


@dataclasses.dataclass
class Shadowed:
    """A field that a property computes, as SciPy's ``PermutationMethod.rng``."""

    scale: float
    seed: int

    @property
    def seed(self):
        return self._seed

    def __init__(self, scale, seed):
        self.scale, self._seed = scale, seed


def test_a_property_over_a_field_is_computed_anew():
    x = Shadowed(2.0, 7)
    assert fields_of(x) == [("scale", 2.0)]
    new = rebuild(x, [3.0])
    assert (new.scale, new.seed) == (3.0, 7)


def test_a_field_that_was_never_set_is_left_out():
    @dataclasses.dataclass(slots=True)
    class Lazy:
        a: float
        b: float = dataclasses.field(init=False)

    x = Lazy(1.0)
    assert fields_of(x) == [("a", 1.0)]
    new = rebuild(x, [3.0])
    assert new.a == 3.0
    assert not hasattr(new, "b")


def test_sequences_of_the_c_library_are_rebuilt():
    now = time.gmtime(0)
    assert rebuild(now, list(now)) == now
    assert type(rebuild(now, list(now))) is type(now)


class Box:
    def __init__(self, value):
        self.value = value


class SmallBox(Box):
    pass


def register_box():
    register_structure(Box, lambda x: iter([("value", x.value)]), lambda x, new: type(x)(*new))


def test_other_classes_are_registered():
    assert not is_structure_type(Box)
    register_box()
    assert is_structure_type(Box)
    assert fields_of(Box(1.0)) == [("value", 1.0)]
    assert rebuild(Box(1.0), [2.0]).value == 2.0
    assert flatten((Box((1.0, 2.0)), 3.0))[0] == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("to_fields", [vars, lambda x: [x.value]])
def test_what_returns_no_pairs_is_refused_with_the_line_to_write(to_fields):
    register_structure(Box, to_fields, lambda x, new: type(x)(*new))
    with pytest.raises(RuleError, match=r"register_structure\(Box, .*write vars\(x\).items\(\)"):
        fields_of(Box(1.0))


def test_subclasses_follow_the_nearest_registered_class():
    register_box()
    assert is_structure_type(SmallBox)
    assert type(rebuild(SmallBox(1.0), [2.0])) is SmallBox
    register_leaf(SmallBox)
    assert not is_structure_type(SmallBox)
    assert is_structure_type(Box)


def test_registration_wins_over_what_a_class_looks_like():
    assert is_structure_type(Plain)
    register_leaf(Plain)
    assert not is_structure_type(Plain)
    assert not is_structure_type(Undecorated)
    register_structure(Plain, lambda x: [("a", x.a)], lambda x, new: Plain(*new, x.b))
    assert fields_of(Plain(1.0, 2.0)) == [("a", 1.0)]


def test_a_subclass_that_is_decorated_itself_has_all_its_fields():
    register_box()

    @dataclasses.dataclass
    class Labelled(Box):
        value: float
        label: str

    assert [key for key, _ in fields_of(Labelled(1.0, "x"))] == ["value", "label"]


def test_registrations_are_announced():
    known = {1}
    forgets(lambda: (known,))
    register_box()
    assert not known
    known.add(2)
    register_leaf(SmallBox)
    assert not known


def test_a_class_defined_again_is_a_class_of_its_own():
    def define(names):
        return dataclasses.make_dataclass("Again", names)

    assert [key for key, _ in fields_of(define(["a"])(1.0))] == ["a"]
    assert [key for key, _ in fields_of(define(["b"])(1.0))] == ["b"]


def test_structures_print_well():
    assert repr(structure_of(Plain)) == "<structure of fields: a, b>"
    assert repr(structure_of(list)) == "<structure of positions>"


def test_no_library_is_imported():
    """The core detects attrs classes and NumPy arrays without knowing either."""
    program = (
        "import sys; import chainrules_py.values.structure, chainrules_py.tangents.structural;"
        "print(sorted({'attr', 'attrs', 'numpy', 'torch', 'jax'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
