"""Tangents of structures: one tangent per field, and zero for each field that is absent."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator, Mapping
from types import GenericAlias
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from chainrules_py.errors import ProjectionError, describe, register_description
from chainrules_py.tangents.checks import (
    check_is_tangent,
    check_keys,
    not_a_tangent_of,
    unknown_keys,
)
from chainrules_py.tangents.zeros import ZERO, AbstractTangent, AbstractZero
from chainrules_py.values.caches import forgets
from chainrules_py.values.structure import Structure, primal_class, structure_of

P = TypeVar("P")


class Tangent(AbstractTangent, Generic[P]):
    """The tangent of a structure: one tangent per field, and zero for each field that is absent.

    ``Tangent[P]`` is a separate class for each ``P``, its ``primal_type``. Its entries are passed
    and read as those of ``P`` are.

    Parameters
    ----------
    *entries : tangents
        For tuples and lists, from position 0 on; entries omitted at the end are zero. For dicts and
        registered structures one mapping.
    length : int, optional
        For tuples and lists: the number of entries of the primal.
    **fields : tangents
        For dataclasses, attrs classes and namedtuples: by name.

    Notes
    -----
    Tangents compare by identity, since equality of arrays has no single truth value. A field with
    the name of a method, such as ``fields``, is read as ``t["fields"]``.

    Examples
    --------
    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     b: float
    >>> t = Tangent[Layer](w=2.0)
    >>> t.w, t["w"], t.b
    (2.0, 2.0, ZeroTangent())
    >>> Layer(1.0, 1.0) - 0.25 * t
    Layer(w=0.5, b=1.0)
    >>> 2 * t + Tangent[Layer](b=1.0)
    Tangent[Layer](w=4.0, b=1.0)
    >>> Tangent[Layer](v=1.0)
    Traceback (most recent call last):
        ...
    chainrules_py.errors.ProjectionError: Layer has no field 'v'; its fields are: w, b
    """

    __slots__ = ("_entries", "_length")

    primal_type: ClassVar[type[Any]]
    _structure: ClassVar[Structure[Any]]
    __container__: ClassVar[Structure[Any]]

    _entries: dict[Any, Any]
    _length: int | None

    def __class_getitem__(cls, primal_type: Any) -> Any:
        """Return the class of tangents of a structure."""
        if isinstance(primal_type, GenericAlias):
            primal_type = primal_type.__origin__
        if cls is not Tangent or not isinstance(primal_type, type) or primal_type is Any:
            return super().__class_getitem__(primal_type)  # type: ignore[misc]
        return class_for(primal_type)

    def __init__(self, /, *entries: Any, **fields: Any) -> None:
        if type(self) is Tangent:
            raise TypeError(
                "of which structure? write Tangent[P](...) with the class of the primal for P"
            )
        kind, known = self._structure.kind, self._structure.names
        length = fields.pop("length", None) if kind == "positions" else None
        if kind == "positions":
            _check_call(type(self), not fields, "its entries by position")
            fields = dict[Any, Any](enumerate(entries))
        elif known is not None:
            _check_call(type(self), not entries, "its fields by name")
        else:
            _check_call(type(self), len(entries) <= 1, "one mapping, or its entries by name")
            fields = dict(*entries, **fields)
        self._entries, self._length = _checked(type(self), fields, length), length

    @staticmethod
    def of(
        primal_type: type, entries: Mapping[Any, Any], length: int | None = None
    ) -> Tangent[Any]:
        """Return a tangent with entries by key, for a primal of any kind of structure.

        Parameters
        ----------
        primal_type : type
            The class of the primal.
        entries : mapping
            From field names, positions or dict keys to tangents; omitted entries are zero.
        length : int, optional
            For tuples and lists: the number of entries of the primal.

        Examples
        --------
        >>> Tangent.of(list, {1: 2.0}, length=3)
        Tangent[list](ZeroTangent(), 2.0, length=3)
        """
        cls = class_for(primal_type)
        return cls._of(_checked(cls, dict(entries), length), length)

    @classmethod
    def _of(cls, entries: dict[Any, Any], length: int | None = None) -> Self:
        """Make a tangent of valid entries; it keeps this dict without a copy."""
        t = object.__new__(cls)
        t._entries, t._length = entries, length
        return t

    def __radd__(self, other: Any) -> Any:
        # 0 is the start value of the builtin sum.
        return self if type(other) is int and other == 0 else self.__add__(other)

    def fields(self) -> list[tuple[Any, Any]]:
        """Return the ``(key, tangent)`` pairs that are present, in the order of the primal.

        Examples
        --------
        >>> Tangent[dict]({"w": 1.0}).fields()
        [('w', 1.0)]
        """
        keys: Any = self._entries
        if self._structure.names is not None:
            keys = [name for name in self._structure.names if name in self._entries]
        elif self._structure.kind == "positions":
            keys = sorted(self._entries)
        return [(key, self._entries[key]) for key in keys]

    def map_with(self, f: Callable[[Any, Any], Any]) -> Self:
        """Return the tangent whose entries are ``f(key, entry)`` of the entries that are present.

        Examples
        --------
        >>> Tangent[tuple](2.0, 3.0).map_with(lambda key, entry: key * entry)
        Tangent[tuple](0.0, 3.0)
        """
        return self._of({key: f(key, entry) for key, entry in self.fields()}, self._length)

    def __getitem__(self, key: Any) -> Any:
        names = self._structure.names
        if self._structure.kind == "positions":
            key = self._position(operator.index(key))
        elif (
            self._structure.kind == "namedtuple" and names is not None and not isinstance(key, str)
        ):
            key = names[operator.index(key)]
        elif names is not None and key not in names:
            raise KeyError(unknown_keys(self.primal_type, [key], names))
        return self._entries.get(key, ZERO)

    def _position(self, index: int) -> int:
        length = self._length
        if length is None and index >= 0:
            return index
        if length is None or not -length <= index < length:
            what = (
                "whose length is not known: give it as length="
                if length is None
                else f"which has {length}"
            )
            raise IndexError(f"position {index} of {describe(self)}, {what}")
        return index % length

    def __getattr__(self, name: str) -> Any:
        """Return the entry of a field, or zero if it is absent."""
        # Protocols (copy, pickle, arrays) look up dunders, which are not fields.
        if not (name.startswith("__") and name.endswith("__")):
            names: Any = self._structure.names
            if self._structure.kind == "registered":
                names = self._structure.seen | self._entries  # also keys of earlier values
            if names and name in names:
                return self._entries.get(name, ZERO)
            if names:
                raise AttributeError(unknown_keys(self.primal_type, [name], list(names)))
        raise AttributeError(f"{type(self).__qualname__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self._structure.names or ())]

    def __iter__(self) -> Iterator[Any]:
        if self._structure.kind in ("namedtuple", "positions"):
            keys = self._structure.names or range(len(self))
            return iter([self._entries.get(key, ZERO) for key in keys])
        if self._structure.kind == "keys":
            return iter([key for key, _ in self.fields()])
        raise TypeError(
            f"{type(self).__qualname__!r} object is not iterable; see its method fields"
        )

    def __len__(self) -> int:
        names = self._structure.names
        if self._structure.kind == "namedtuple" and names is not None:
            return len(names)
        if self._structure.kind == "positions":
            return max(self._entries, default=-1) + 1 if self._length is None else self._length
        if self._structure.kind == "keys":
            return len(self._entries)
        raise TypeError(f"{type(self).__qualname__!r} object has no length")

    def __bool__(self) -> bool:
        return True  # not by length: an empty Tangent is a tangent too

    def __repr__(self) -> str:
        return self._picture(repr)

    def _picture(self, draw: Callable[[Any], str]) -> str:
        if self._structure.kind == "positions":
            stop = max(self._entries, default=-1) + 1
            parts = [draw(self._entries.get(i, ZERO)) for i in range(stop)]
            if self._length is not None and self._length != stop:
                parts.append(f"length={self._length}")
        elif self._structure.names is not None:
            parts = [f"{key}={draw(value)}" for key, value in self.fields()]
        else:
            pairs = ", ".join(f"{key!r}: {draw(value)}" for key, value in self.fields())
            parts = ["{" + pairs + "}"]
        return f"Tangent[{self.primal_type.__qualname__}]({', '.join(parts)})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Tangent.of, (self.primal_type, dict(self.fields()), self._length)


_classes: dict[type, type[Tangent[Any]]] = {}
_alive: weakref.WeakValueDictionary[int, type[Tangent[Any]]] = weakref.WeakValueDictionary()
forgets(lambda: (_classes,))


def class_for(primal_type: type) -> type[Tangent[Any]]:
    """Return the class of tangents of a structure, made when it is first needed."""
    known = _classes.get(primal_type)
    if known is not None:
        return known
    asked, primal_type = primal_type, primal_class(primal_type)
    structure: Structure[Any] | None = structure_of(primal_type)
    if structure is None:
        raise ProjectionError(
            f"{primal_type.__qualname__} is not a structure, so that Tangent[...] of it does not"
            " exist: the tangent of an array or number is an array or number, and other classes are"
            " declared by register_structure"
        )
    cls: Any = _alive.get(id(primal_type))  # dropped from the cache, but in use
    was = cls._structure if cls is not None and cls.primal_type is primal_type else None
    if was is not structure and (was is None or "registered" in (was.kind, structure.kind)):
        cls = type(
            f"Tangent[{primal_type.__qualname__}]",
            (Tangent,),
            {"__slots__": (), "__doc__": None, "__module__": __name__, "__made_for__": primal_type}
            | {"primal_type": primal_type, "_structure": structure}
            # A method of its own: see `chainrules_compile.recorded_type_members`.
            | {"__getattr__": Tangent.__getattr__},
        )
    found = _classes.setdefault(primal_type, cast("Any", cls))  # two threads get one class
    _alive[id(primal_type)] = _classes[asked] = found
    return found


def _check_call(cls: type[Tangent[Any]], correct: bool, takes: str) -> None:
    if not correct:
        raise TypeError(f"{cls.__name__} takes {takes}")


def _checked(
    cls: type[Tangent[Any]], entries: dict[Any, Any], length: int | None
) -> dict[Any, Any]:
    """Return the entries of a new tangent, if their keys are the primal's and they are tangents."""
    name = cls.primal_type.__qualname__
    if cls._structure.kind == "positions":
        if wrong := [key for key in entries if type(key) is not int or key < 0]:
            raise ProjectionError(f"positions in a {name} are 0, 1, ..., not {wrong[0]!r}")
        if length is not None and (least := max(entries, default=-1) + 1) > length:
            raise ProjectionError(f"{least} entries for a {name} of {length}")
    elif cls._structure.names is not None:
        check_keys(cls.primal_type, entries, cls._structure.names)
    for value in entries.values():
        check_is_tangent(value)
    return entries


def map_fields(f: Callable[[Any], Any], t: Tangent[P]) -> Tangent[P]:
    """Return the tangent whose entries are ``f`` of the entries that are present.

    Examples
    --------
    >>> map_fields(lambda entry: entry / 2, Tangent[dict]({"w": 3.0}))
    Tangent[dict]({'w': 1.5})
    """
    return t.map_with(lambda _, entry: f(entry))


def check_fits(primal: Any, items: list[tuple[Any, Any]], t: Tangent[Any]) -> None:
    """Raise for a `Tangent` of another class or length, or with keys that the primal lacks."""
    if t.primal_type is not primal_class(type(primal)) or t._length not in (None, len(items)):
        raise ProjectionError(not_a_tangent_of(primal, t))
    if t._structure.names is None:
        check_keys(type(primal), t._entries, dict(items))


def common_length(a: Any, b: Any) -> int | None:
    """Return the length of the common primal of two `Tangent`, or None if neither knows it."""
    fits = isinstance(a, Tangent) and isinstance(b, Tangent) and a.primal_type is b.primal_type
    length = None
    if fits:
        length = b._length if a._length is None else a._length
        fits = b._length in (None, length) and (
            length is None or (len(a) <= length and len(b) <= length)
        )
    if not fits:
        raise ProjectionError(
            f"{describe(a)} and {describe(b)} are not tangents of one primal, and have no sum"
        )
    return length


Tangent.__container__ = Structure(
    "tangent",
    None,
    Tangent.fields,
    lambda t, entries: t._of(
        dict(zip([key for key, _ in t.fields()], entries, strict=True)), t._length
    ),
)


def _describe_tangent(x: object, depth: int) -> str | None:
    if isinstance(x, Tangent):
        return x._picture(lambda value: describe(value, depth - 1))
    return repr(x) if isinstance(x, AbstractZero) else None


register_description("tangent", _describe_tangent)
