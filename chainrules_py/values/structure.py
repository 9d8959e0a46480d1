"""Structures: values made of other values, how they are taken apart and how they are rebuilt.

Dataclass and attrs instances, namedtuples, tuples, lists and dicts are structures;
`register_structure` adds others. All else is a leaf: arrays and numbers, strings, functions,
classes, and objects of unknown classes.

A structure is rebuilt around new values *without* running ``__init__``, since the new values may be
tracers, or of another shape, and may fail its checks or conversions. A rebuilt object keeps the
attributes that are not fields, as constants. Cached properties are dropped, since they were
computed from the old values. If an attribute that is not a field is a number or an array,
``__post_init__`` runs again and recomputes it.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import types
import weakref
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar, final

from chainrules_py import debug_hooks
from chainrules_py.errors import RuleError, describe, register_description
from chainrules_py.values.caches import entering, forget_all, forgets
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.object_contents import attributes, is_real, slots

T = TypeVar("T")
_NONE: dict[str, Any] = {}


@final
class Structure(NamedTuple, Generic[T]):
    """Structure of a class: how its values are taken apart and rebuilt; see `structure_of`.

    Attributes
    ----------
    kind : str
        ``"fields"`` (dataclass, attrs), ``"namedtuple"``, ``"positions"`` (tuple, list), ``"keys"``
        (dict), or ``"registered"``.
    names : tuple of str or None
        The names of all fields, if the class determines them.
    items : callable
        ``items(x)`` is the list of the ``(key, value)`` pairs of x, in order.
    rebuild : callable
        ``rebuild(x, values)`` is a value of the class of x, around new values in that order.
    hollow : bool
        Whether it can be rebuilt around placeholders.
    seen : dict
        The keys that values had so far, if the class does not determine them.
    """

    kind: str
    names: tuple[str, ...] | None
    items: Callable[[T], list[tuple[Any, Any]]]
    rebuild: Callable[[T, Sequence[Any]], T]
    hollow: bool = True
    seen: dict[Any, None] = _NONE

    def __repr__(self) -> str:
        names = "" if self.names is None else f": {', '.join(self.names)}"
        return f"<structure of {self.kind}{names}>"


_registered: dict[type, Structure[Any] | None] = {}
_structures: dict[type, Structure[Any] | None] = {}


def register_structure(
    cls: type[T],
    to_fields: Callable[[T], Iterable[tuple[Hashable, Any]]],
    rebuild: Callable[[T, Sequence[Any]], T],
    *,
    hollow: bool = False,
) -> None:
    """Declare that instances of a class, and of its subclasses, are structures.

    Parameters
    ----------
    cls : type
        A class that is not a dataclass, attrs class or standard container, or one that is to be
        taken apart differently.
    to_fields : callable
        Maps an instance to its ``(key, value)`` pairs, always in the same order.
    rebuild : callable
        Maps an instance and as many new values, in that order, to a new instance of its own class:
        ``type(x)(...)``. `chainrules_py.testing.debug` takes the result apart again and compares
        its values with the new ones.
    hollow : bool, optional
        Whether ``rebuild`` ignores the values of the instance: a `TreeDef` then keeps none alive.

    Raises
    ------
    RuleError
        If ``cls`` is not a class.

    Examples
    --------
    >>> class Pair:
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> register_structure(Pair, lambda p: vars(p).items(), lambda p, values: type(p)(*values))
    >>> fields_of(Pair(1.0, 2.0))
    [('left', 1.0), ('right', 2.0)]
    """
    if not (isinstance(cls, type) and callable(to_fields) and callable(rebuild)):
        raise RuleError(
            f"register_structure({describe(cls)}, {describe(to_fields)}, {describe(rebuild)}) "
            f"takes a class and two functions: what lists its fields, and what rebuilds it"
        )
    seen: dict[Any, None] = {}

    def items(x: T) -> list[tuple[Any, Any]]:
        found = [*to_fields(x)]
        if found and not isinstance(found[0], (tuple, list)):
            raise RuleError(
                f"register_structure({cls.__qualname__}, to_fields, rebuild) takes (key, value) "
                f"pairs from to_fields, whose first item here is {describe(found[0])}; write "
                f"vars(x).items() in place of vars(x), or enumerate(values) in place of values"
            )
        if len(seen) < _MANY_KEYS:
            seen.update(dict.fromkeys([key for key, _ in found if type(key) is str]))
        return found

    def rebuilt(x: T, values: Sequence[Any]) -> T:
        new = rebuild(x, values)
        if debug_hooks.checks is not None:
            debug_hooks.checks.rebuilt(x, new, values)
        return new

    _register(cls, Structure("registered", None, items, rebuilt, hollow, seen))


_MANY_KEYS = 1000  # a class with more is a table, whose keys are not attributes


def register_leaf(cls: type) -> None:
    """Declare that instances of a class, and of its subclasses, are leaves.

    For classes that look like structures but are not, such as an array type that is a dataclass.

    Examples
    --------
    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Quantity:
    ...     magnitude: float
    >>> register_leaf(Quantity)
    >>> is_structure_type(Quantity)
    False
    """
    if not isinstance(cls, type):
        raise RuleError(f"register_leaf({describe(cls)}) takes a class")
    _register(cls, None)


def _register(cls: type, structure: Structure[Any] | None) -> None:
    global _structures
    _registered[cls] = structure
    _structures = {}  # replaced, not cleared: a lookup under way stores its answer in the old one
    forget_all()


def primal_class(cls: type) -> type:
    """Return the class whose tangents the values of a class have: usually that class itself.

    A class that represents traced values of a library's class names the latter in its attribute
    ``__stands_for__``.

    Examples
    --------
    >>> class Traced(list):
    ...     __stands_for__ = list
    >>> primal_class(Traced), primal_class(tuple)
    (<class 'list'>, <class 'tuple'>)
    """
    found = getattr(cls, "__stands_for__", cls)
    return found if isinstance(found, type) else cls  # a metaclass may return anything for any name


def as_result(x: Any) -> Any:
    """Convert what represents a library's values, here or inside structures, to those values.

    Classes with ``__stands_for__`` define the conversion in a method ``__as_result__``.
    """
    cls = type(x)
    if primal_class(cls) is not cls:
        return x.__as_result__()
    if not is_structure_type(cls):
        return x
    parts = [value for _, value in fields_of(x)]
    given = [as_result(value) for value in parts]
    same = all([new is old for new, old in zip(given, parts, strict=True)])
    return x if same else rebuild(x, given)


def structure_of(cls: type[T]) -> Structure[T] | None:
    """Return how values of a class are taken apart and rebuilt, or None if they are leaves.

    Examples
    --------
    >>> structure_of(tuple)
    <structure of positions>
    >>> structure_of(str) is None
    True
    """
    structures = _structures
    try:
        return structures[cls]
    except KeyError:
        found = structures[cls] = _classify(cls)
        return found


def is_structure_type(cls: type) -> bool:
    """Return whether instances of a class are structures.

    Examples
    --------
    >>> is_structure_type(dict), is_structure_type(str), is_structure_type(float)
    (True, False, False)
    """
    try:  # without another call: this is asked of every value
        return _structures[cls] is not None
    except KeyError:
        return structure_of(cls) is not None


def fields_of(x: object) -> list[tuple[Any, Any]]:
    """Return the ``(key, value)`` pairs of a structure.

    Parameters
    ----------
    x : structure
        An instance of a structure type.

    Returns
    -------
    list of (key, value)
        Keys are field names, positions, or the keys of a dict, in the order of definition,
        position, or insertion. A field that was never set is omitted.

    Examples
    --------
    >>> fields_of({"w": 1.0, "b": 2.0})
    [('w', 1.0), ('b', 2.0)]
    >>> fields_of([3.0])
    [(0, 3.0)]
    """
    return _structure(x).items(x)


def rebuild(x: T, values: Sequence[Any]) -> T:
    """Return a value of the same class around new values, one per pair of `fields_of`.

    Examples
    --------
    >>> rebuild({"w": 1.0, "b": 2.0}, [10.0, 20.0])
    {'w': 10.0, 'b': 20.0}
    """
    return _structure(x).rebuild(x, values)


def _structure(x: T) -> Structure[T]:
    found = structure_of(type(x))
    if found is None:
        raise TypeError(
            f"{type(x).__qualname__} is a leaf, not a structure; see register_structure"
        )
    return found


_when_seen: list[Callable[[type], None]] = []
"""Called with each class before it is classified, to load the backend that registers it."""


def _classify(cls: type) -> Structure[Any] | None:
    """Find the base that makes a class a structure, nearest first."""
    entering(cls)
    if cls.__module__ != "builtins":
        for see in _when_seen:
            see(cls)
    for base in cls.__mro__:
        if base in _registered:
            return _registered[base]
        if "__attrs_attrs__" in base.__dict__:
            return _by_fields(cls, tuple(a.name for a in cls.__attrs_attrs__))  # type: ignore[attr-defined]
        if "__dataclass_fields__" in base.__dict__:
            import dataclasses  # imports inspect, which a program with a dataclass has loaded

            names = tuple(f.name for f in dataclasses.fields(cls))
            code = getattr(getattr(cls, "__init__", None), "__code__", None)
            holds_more = not all(c is object or made_by_python(c) for c in cls.__mro__)
            if holds_more or (not names and code is not None and code.co_argcount > 1):
                return None  # items beside its fields, or arguments that none declares: a leaf
            return _by_fields(cls, names)
        if base is tuple:
            return _by_position_tuple(cls)
        if base is list:
            return Structure("positions", None, _enumerated, _rebuild_list)
        if base is dict:
            return Structure("keys", None, _dict_items, _rebuild_dict)
    return None


def made_by_python(cls: type) -> bool:
    """Return whether Python code made a class, as opposed to the static classes of C."""
    return bool(cls.__flags__ & 1 << 9)  # Py_TPFLAGS_HEAPTYPE


def _by_position_tuple(cls: type) -> Structure[Any]:
    names = getattr(cls, "_fields", None)
    if isinstance(names, tuple) and hasattr(cls, "_make"):
        items: Any = functools.partial(_named_items, names)
        return Structure("namedtuple", names, items, _rebuild_namedtuple)
    # time.struct_time, torch.return_types: tuple.__new__ refuses these
    if hasattr(cls, "n_sequence_fields"):
        return Structure("positions", None, _enumerated, lambda x, values: type(x)(values))
    return Structure("positions", None, _enumerated, _rebuild_tuple)


def _enumerated(x: Iterable[Any]) -> list[tuple[Any, Any]]:
    return list(enumerate(x))


def _dict_items(x: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return list(x.items())


def _named_items(names: tuple[str, ...], x: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    return list(zip(names, x, strict=True))


def _rebuild_namedtuple(x: Any, values: Sequence[Any]) -> Any:
    return _with_attributes_of(x, type(x)._make(values))


def _rebuild_tuple(x: tuple[Any, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    _same_number(x, len(x), values)
    return _with_attributes_of(x, tuple.__new__(type(x), values))


def _rebuild_list(x: list[Any], values: Sequence[Any]) -> list[Any]:
    _same_number(x, len(x), values)
    if (new := copy.copy(x)) is x:  # what cannot change makes no copies
        return type(x)(values)
    list.__setitem__(new, slice(None), values)
    return _relinked(x, new)


def _rebuild_dict(x: dict[Any, Any], values: Sequence[Any]) -> dict[Any, Any]:
    # A copy keeps the factory of a defaultdict, and the order of keys.
    if (new := copy.copy(x)) is x:  # what cannot change makes no copies
        return type(x)(zip(x, values, strict=True))
    for key, value in zip(x, values, strict=True):
        dict.__setitem__(new, key, value)
    return _relinked(x, new)


def _with_attributes_of(old: Any, new: T) -> T:
    attributes = getattr(old, "__dict__", None)
    if attributes:
        new.__dict__.update(attributes)
        stale = _cached_properties(type(old))  # type: ignore[arg-type]  # classes are hashable
        for name in stale & attributes.keys():
            del new.__dict__[name]
        return _relinked(old, new)
    return new


def _relinked(old: Any, new: T) -> T:
    """Make attributes that are the old object, its methods or weak references refer to the new."""
    attributes = getattr(old, "__dict__", None) or {}
    if attributes is old:
        new.__dict__ = new  # type: ignore[assignment]  # a dict whose keys are its attributes
        return new
    for name, x in attributes.items():
        if x is old or (type(x) is weakref.ref and x() is old):
            new.__dict__[name] = new if x is old else weakref.ref(new)
        elif isinstance(x, types.MethodType) and x.__self__ is old:
            new.__dict__[name] = types.MethodType(x.__func__, new)
    return new


@functools.cache
def _cached_properties(cls: type) -> frozenset[str]:
    """Name the cached properties, which a rebuild drops since they belong to the old values."""
    found = [item for base in cls.__mro__ for item in base.__dict__.items()]
    return frozenset(name for name, x in found if isinstance(x, functools.cached_property))


forgets(lambda: (_structures, _cached_properties))


def _by_fields(cls: type, names: tuple[str, ...]) -> Structure[Any]:
    # attrs keeps cached properties of a slotted class in slots. Beside its fields, attrs makes no
    # other slots.
    kept = [
        x
        for x in slots(cls)
        if x.__name__ in names or "__attrs_attrs__" not in vars(x.__objclass__)
    ]
    # A property over a field that nobody can set is computed from what else is copied.
    names = tuple([x for x in names if getattr(getattr(cls, x, None), "fset", x) is not None])
    after = _computes_anew(cls)

    def items(x: object) -> list[tuple[Any, Any]]:
        try:
            return [(name, getattr(x, name)) for name in names]
        except AttributeError:  # a field that was never set
            return [(name, getattr(x, name)) for name in names if hasattr(x, name)]

    def rebuild(x: object, values: Sequence[Any]) -> object:
        present = [name for name in names if hasattr(x, name)]
        _same_number(x, len(present), values)
        new = copied(x)
        for name, value in zip(present, values, strict=True):
            object.__setattr__(new, name, value)  # also on frozen classes
        if after is not None:
            _compute_anew(x, new, names, copied, after)
        return new

    def copied(x: object) -> object:
        new = _with_attributes_of(x, object.__new__(type(x)))
        for slot in kept:
            with contextlib.suppress(AttributeError):  # not set
                slot.__set__(new, slot.__get__(x))
        return new

    return Structure("fields", names, items, rebuild, hollow=after is None)


def _computes_anew(cls: type) -> Callable[[Any], None] | None:
    """Return the method that sets non-field attributes; None if it takes more than the object."""
    if "__attrs_attrs__" in vars(cls):
        return getattr(cls, "__attrs_post_init__", None)
    after: Callable[[Any], None] | None = getattr(cls, "__post_init__", None)
    if after is None or "__dataclass_fields__" not in vars(cls):
        return after
    import dataclasses  # a program with a dataclass has loaded it

    made = vars(cls).get("__init__")
    given = getattr(made, "__annotations__", {}).keys() - {"return"}  # includes ``InitVar``
    return None if given - {field.name for field in dataclasses.fields(cls)} else after


def _numbers(x: object, names: Iterable[str]) -> dict[str, Any]:
    """Return the attributes that are not fields but numbers, arrays, or hold these."""
    more = {name: y for name, y in attributes(x).items() if name not in names}
    is_number: Callable[[Any], bool] = lambda y: isinstance(y, Tracer) or is_real(y)
    return {name: y for name, y in more.items() if any(map(is_number, _parts(y)))}


def _parts(x: Any) -> list[Any]:
    """List what lists, tuples and dicts hold, also inside others."""
    inside = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else None
    return [x] if inside is None else [z for y in inside for z in _parts(y)]


def _compute_anew(
    old: Any, new: Any, names: Iterable[str], copied: Callable[[Any], Any], after: Any
) -> None:
    """Recompute the attributes that the constructor computes from the fields, so they are traced.

    These are the attributes that it reproduces for the old object. Any other was set later, such as
    a running mean, and stays.
    """
    kept = _numbers(old, names)
    if not kept:
        return
    same = [name for name, y in kept.items() if any([isinstance(z, Tracer) for z in _parts(y)])]
    if not same:
        try:
            after(again := copied(old))
            same = [
                name for name, y in kept.items() if equal_to_rounding(getattr(again, name, None), y)
            ]
        except Exception:  # it fails on complete objects: the attributes stay constant
            return
    if same:
        after(made := copied(new))
        for name in same:
            object.__setattr__(new, name, getattr(made, name))


def equal_to_rounding(x: Any, y: Any) -> bool:
    """Return whether values are equal, numbers to rounding, and NaN to NaN."""
    if type(x) is not type(y) or getattr(x, "shape", ()) != getattr(y, "shape", ()):
        return False
    if isinstance(y, dict):
        x, y = [*x.items()], [*y.items()]
    if isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(
            [equal_to_rounding(a, b) for a, b in zip(x, y, strict=True)]
        )
    same = x == y
    if not (same.all() if hasattr(same, "all") else same) and is_real(x):
        near = abs(x - y) <= (1e-12 if getattr(x, "itemsize", 8) > 4 else 1e-6) * abs(y)
        same = same | near | ((x != x) & (y != y))
    return bool(same.all() if hasattr(same, "all") else same)


def _same_number(x: object, expected: int, values: Sequence[Any]) -> None:
    if len(values) != expected:
        raise ValueError(
            f"a {type(x).__qualname__} of {expected} values cannot be rebuilt around {len(values)}"
        )


_MOST_ENTRIES: Final = 6


def picture_of(cls: type, entries: Sequence[tuple[Any, str]]) -> str:
    """Write a structure as its ``repr`` does, from the texts of its entries."""
    more = [] if len(entries) <= _MOST_ENTRIES else [f"... {len(entries) - _MOST_ENTRIES} more"]
    entries = entries[:_MOST_ENTRIES]
    if cls in (tuple, list):
        inside = ", ".join([text for _, text in entries] + more)
        return f"[{inside}]" if cls is list else f"({inside}{',' * (len(entries) == 1)})"
    if cls is dict:
        return "{" + ", ".join([f"{key!r}: {text}" for key, text in entries] + more) + "}"
    named = [text if isinstance(key, int) else f"{key}={text}" for key, text in entries]
    return f"{cls.__qualname__}({', '.join(named + more)})"


def _describe_structure(x: object, depth: int) -> str | None:
    structure = structure_of(type(x))
    return structure and picture_of(
        type(x), [(key, describe(value, depth - 1)) for key, value in structure.items(x)]
    )


register_description("structure", _describe_structure)
