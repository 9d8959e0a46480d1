"""Tangents: what may be added to a primal, and the algebra of it.

The tangent of an array is an array, the tangent of a number a number. Five classes stand for the
rest:

===================================  ==========================================================
``ZeroTangent()``                    changes nothing
``NoTangent()``                      belongs to what cannot be perturbed: indices, strings, flags
``Tangent[P](w=..., b=...)``         tangent of an instance of a structure ``P``, field by field
``Thunk(compute)``                   computed when it is asked for, once
``NotImplementedTangent(reason)``    nobody has stated it; raises when it reaches a person
===================================  ==========================================================

The algebra is *functions* that look at the tangents before they touch them: `add_tangents`,
`scale`, `move`, `accumulate`. The operators of the classes above call these functions and exist for
people. Machinery never writes ``a + b`` where either may be one of these classes: strict arrays and
``array += ...`` raise, and the ``__add__`` of a user's own class comes first.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Mapping
from types import GenericAlias
from typing import Any, ClassVar, Final, Generic, NoReturn, Self, TypeAlias, TypeVar, final

from chainrules_py.errors import (
    NotDifferentiableError,
    ProjectionError,
    describe,
    register_description,
)
from chainrules_py.values.structure import (
    Structure,
    fields_of,
    is_structure_type,
    rebuild,
    structure_of,
    when_registered,
)

__all__ = [
    "AbstractTangent",
    "AbstractZero",
    "NoTangent",
    "NotImplementedTangent",
    "Owned",
    "Tangent",
    "Thunk",
    "ZeroTangent",
    "accumulate",
    "add_tangents",
    "canonicalize",
    "deliver",
    "is_mutable_destination",
    "is_zero",
    "map_fields",
    "move",
    "refuse_tangent",
    "register_mutable",
    "scale",
    "unthunk",
]

P = TypeVar("P")

Owned: TypeAlias = bool | dict[Any, Any]
"""Which parts of a sum the engine made itself: all or nothing, or key by key."""


# ------------------------------------------------------------------------------------- classes


class AbstractTangent:
    """Base of the tangents that are neither arrays nor numbers.

    Its operators are the algebra of this module, spelled for people: ``t + t``, ``2 * t``,
    ``t / 3``, and ``params - lr * t``, which rebuilds ``params`` whatever structure it is.

    Notes
    -----
    Arrays and numbers on the left hand over to these operators, with one exception: an array of
    ``array_api_strict`` raises ``TypeError``, as the standard wants it to. Write the tangent first,
    or call the function.

    Examples
    --------
    >>> (1.0, 2.0) - 0.5 * Tangent[tuple](1.0, 4.0)
    (0.5, 0.0)
    """

    __slots__ = ()

    # NumPy and the libraries that follow it then leave the operation to the reflected methods here.
    __array_ufunc__: ClassVar[None] = None

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse, since NumPy would otherwise wrap the tangent in an array of objects."""
        msg = (
            f"{describe(self)} is not an array; call a function of chainrules_py.tangents.structural on it, or"
            " look at its class first (is_zero, unthunk, Tangent)"
        )
        raise TypeError(msg)

    def __add__(self, other: Any) -> Any:
        if is_structure_type(type(other)):
            return move(other, self)
        if _is_never_tangent(other):
            return NotImplemented
        return add_tangents(self, other)

    def __radd__(self, other: Any) -> Any:
        return self.__add__(other)

    def __sub__(self, other: Any) -> Any:
        if is_structure_type(type(other)) or _is_never_tangent(other):
            return NotImplemented
        return add_tangents(self, _negate(other))

    def __rsub__(self, other: Any) -> Any:
        if is_structure_type(type(other)):
            return move(other, _negate(self))
        if _is_never_tangent(other):
            return NotImplemented
        return add_tangents(other, _negate(self))

    def __neg__(self) -> Any:
        return _negate(self)

    def __mul__(self, other: Any) -> Any:
        if is_structure_type(type(other)) or _is_never_tangent(other):
            return NotImplemented
        return scale(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if is_structure_type(type(other)) or _is_never_tangent(other):
            return NotImplemented
        return _divide(self, other)

    def __rtruediv__(self, other: Any) -> NoReturn:
        msg = (
            f"cannot divide {describe(other)} by {describe(self)}: a tangent is linear, so it is"
            " never a divisor; unthunk it if you mean the number behind a thunk"
        )
        raise TypeError(msg)


class AbstractZero(AbstractTangent):
    """Base of the two tangents that add nothing: `ZeroTangent` and `NoTangent`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __reduce__(self) -> tuple[type[Self], tuple[()]]:
        return type(self), ()


@final
class ZeroTangent(AbstractZero):
    """The tangent that changes nothing: nothing flows here.

    There is one instance, so that ``t is ZeroTangent()`` holds after copying and pickling too.

    Examples
    --------
    >>> ZeroTangent() + 2.0, 3 * ZeroTangent(), ZeroTangent() is ZeroTangent()
    (2.0, ZeroTangent(), True)
    """

    __slots__ = ()

    def __new__(cls) -> ZeroTangent:
        """Return the one instance."""
        return _ZERO


@final
class NoTangent(AbstractZero):
    """The tangent of what cannot be perturbed: an index, a mask, a string, a flag.

    There is one instance. It adds nothing, as `ZeroTangent` does, and tells that nothing could be.

    Examples
    --------
    >>> NoTangent() + ZeroTangent(), NoTangent() * ZeroTangent()
    (NoTangent(), ZeroTangent())
    """

    __slots__ = ()

    def __new__(cls) -> NoTangent:
        """Return the one instance."""
        return _NONE


_ZERO: Final[ZeroTangent] = object.__new__(ZeroTangent)
_NONE: Final[NoTangent] = object.__new__(NoTangent)


@final
class Thunk(AbstractTangent):
    """A tangent that is not computed until somebody asks, and then computed once.

    Parameters
    ----------
    compute : callable
        Called without arguments, by one thread only; let go once it has answered. An exception is
        not remembered: the next call tries again.

    Examples
    --------
    >>> t = Thunk(lambda: print("computing") or 2.0)
    >>> t + ZeroTangent() is t  # a zero does not ask
    True
    >>> t(), t()
    computing
    (2.0, 2.0)
    """

    __slots__ = ("_compute", "_lock", "_value")

    def __init__(self, compute: Callable[[], Any]) -> None:
        self._compute: Callable[[], Any] | None = compute
        self._lock = threading.RLock()  # a thunk that asks for itself recurses instead of hanging

    def __call__(self) -> Any:
        """Return the tangent, computing it now if nobody has; it is never another thunk."""
        if self._compute is not None:
            with self._lock:
                if self._compute is not None:
                    value = unthunk(self._compute())
                    _check_is_tangent(value)
                    self._value = value
                    self._compute = None  # last: whoever sees None may read the value
        return self._value

    def __repr__(self) -> str:
        return "Thunk(...)" if self._compute is not None else f"Thunk({self._value!r})"

    def __reduce__(self) -> tuple[Callable[[Any], Thunk], tuple[Any]]:
        return _computed_thunk, (self(),)


def _computed_thunk(value: Any) -> Thunk:
    thunk = Thunk(lambda: value)
    thunk()
    return thunk


@final
class NotImplementedTangent(AbstractTangent):
    """A tangent that nobody has stated: it spreads, and raises where a person would read it.

    So a rule may state what it knows, and the rest is an error only for those who need it.

    Parameters
    ----------
    reason : str
        A sentence for the error: which derivative, and what to do instead.

    Examples
    --------
    >>> t = NotImplementedTangent("besselj has no derivative in its order")
    >>> 1.0 + 2 * t
    NotImplementedTangent('besselj has no derivative in its order')
    >>> deliver(t)
    Traceback (most recent call last):
        ...
    chainrules_py.errors.NotDifferentiableError: besselj has no derivative in its order
    """

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason: Final = reason

    def __repr__(self) -> str:
        return f"NotImplementedTangent({self.reason!r})"

    def __reduce__(self) -> tuple[type[NotImplementedTangent], tuple[str]]:
        return NotImplementedTangent, (self.reason,)


class Tangent(AbstractTangent, Generic[P]):
    """The tangent of a structure: one tangent per field, and zero for each field that is absent.

    ``Tangent[P]`` is a class of its own for each ``P``, with ``P`` as its ``primal_type``. Its
    entries are given as those of ``P`` are, and read in the same way.

    Parameters
    ----------
    *entries : tangents
        For tuples and lists, from position 0 on; what is left out at the end is zero. For dicts and
        registered structures one mapping.
    length : int, optional
        For tuples and lists: how many entries the primal has.
    **fields : tangents
        For dataclasses, attrs classes and namedtuples: by name.

    Notes
    -----
    Tangents compare by identity: equality of arrays has no one truth value. A field that is
    called as a method of tangents is, ``fields`` say, is read as ``t["fields"]``.

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

    _entries: dict[Any, Any]
    _length: int | None

    def __class_getitem__(cls, primal_type: Any) -> Any:
        """Return the class of tangents of a structure."""
        if isinstance(primal_type, GenericAlias):
            primal_type = primal_type.__origin__
        if cls is not Tangent or not isinstance(primal_type, type) or primal_type is Any:
            return super().__class_getitem__(primal_type)  # type: ignore[misc]
        return _class_for(primal_type)

    def __init__(self, /, *entries: Any, **fields: Any) -> None:
        if type(self) is Tangent:
            msg = "of which structure? write Tangent[P](...) with the class of the primal for P"
            raise TypeError(msg)
        kind, known = self._structure.kind, self._structure.names
        length = fields.pop("length", None) if kind == "positions" else None
        if kind == "positions":
            _check_call(type(self), not fields, "its entries by position")
            self._entries = dict(enumerate(entries))
            _check_length(type(self), len(entries), length)
        elif known is not None:
            _check_call(type(self), not entries, "its fields by name")
            _check_keys(self.primal_type, fields, known)
            self._entries = fields
        else:
            _check_call(type(self), len(entries) <= 1, "one mapping, or its entries by name")
            self._entries = dict(*entries, **fields)
        self._length = length
        for value in self._entries.values():
            _check_is_tangent(value)

    @staticmethod
    def of(
        primal_type: type, entries: Mapping[Any, Any], length: int | None = None
    ) -> Tangent[Any]:
        """Return a tangent given by key, whatever kind of structure its primal is.

        Parameters
        ----------
        primal_type : type
            The class of the primal.
        entries : mapping
            From field names, positions or dict keys to tangents; what is left out is zero.
        length : int, optional
            For tuples and lists: how many entries the primal has.

        Examples
        --------
        >>> Tangent.of(list, {1: 2.0}, length=3)
        Tangent[list](ZeroTangent(), 2.0, length=3)
        """
        cls = _class_for(primal_type)
        if cls._structure.kind == "positions":
            if wrong := [key for key in entries if type(key) is not int or key < 0]:
                msg = f"positions in a {primal_type.__qualname__} are 0, 1, ..., not {wrong[0]!r}"
                raise ProjectionError(msg)
            _check_length(cls, max(entries, default=-1) + 1, length)
        elif cls._structure.names is not None:
            _check_keys(primal_type, entries, cls._structure.names)
        for value in entries.values():
            _check_is_tangent(value)
        return cls._of(dict(entries), length)

    @classmethod
    def _of(cls, entries: dict[Any, Any], length: int | None = None) -> Self:
        """Make a tangent of entries that are known to be right, and of this very dict."""
        t = object.__new__(cls)
        t._entries, t._length = entries, length
        return t

    def __radd__(self, other: Any) -> Any:
        if type(other) is int and other == 0:  # what the builtin sum starts with
            return self
        return self.__add__(other)

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
            raise KeyError(_unknown_keys(self.primal_type, [key], names))
        return self._entries.get(key, _ZERO)

    def _position(self, index: int) -> int:
        length = self._length
        if length is None:
            if index < 0:
                msg = (
                    f"position {index} of {describe(self)}: its length is not known; count from the"
                    f" front, or write Tangent[{self.primal_type.__qualname__}](..., length=...)"
                )
                raise IndexError(msg)
            return index
        if not -length <= index < length:
            msg = f"position {index} of {describe(self)}, which has {length}"
            raise IndexError(msg)
        return index % length

    def __getattr__(self, name: str) -> Any:
        """Return the entry of a field, zero where it is absent."""
        # Protocols (copy, pickle, arrays) look for dunders, which are no fields.
        if not (name.startswith("__") and name.endswith("__")):
            names = self._structure.names
            if names is not None and name in names:
                return self._entries.get(name, _ZERO)
            if self._structure.kind == "registered" and name in self._entries:
                return self._entries[name]
            if names is not None:
                raise AttributeError(_unknown_keys(self.primal_type, [name], names))
        msg = f"{type(self).__qualname__!r} object has no attribute {name!r}"
        raise AttributeError(msg)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(self._structure.names or ())]

    def __iter__(self) -> Iterator[Any]:
        names = self._structure.names
        if self._structure.kind == "namedtuple" and names is not None:
            return iter([self._entries.get(name, _ZERO) for name in names])
        if self._structure.kind == "positions":
            return iter([self._entries.get(i, _ZERO) for i in range(len(self))])
        if self._structure.kind == "keys":
            return iter([key for key, _ in self.fields()])
        msg = f"{type(self).__qualname__!r} object is not iterable; see its method fields"
        raise TypeError(msg)

    def __len__(self) -> int:
        names = self._structure.names
        if self._structure.kind == "namedtuple" and names is not None:
            return len(names)
        if self._structure.kind == "positions":
            return max(self._entries, default=-1) + 1 if self._length is None else self._length
        if self._structure.kind == "keys":
            return len(self._entries)
        msg = f"{type(self).__qualname__!r} object has no length"
        raise TypeError(msg)

    def __bool__(self) -> bool:
        return True  # and not the length: an empty Tangent is a tangent all the same

    def __repr__(self) -> str:
        return self._picture(repr)

    def _picture(self, draw: Callable[[Any], str]) -> str:
        if self._structure.kind == "positions":
            stop = max(self._entries, default=-1) + 1
            parts = [draw(self._entries.get(i, _ZERO)) for i in range(stop)]
            if self._length is not None and self._length != stop:
                parts.append(f"length={self._length}")
        elif self._structure.names is not None:
            parts = [f"{key}={draw(value)}" for key, value in self.fields()]
        else:
            pairs = ", ".join(f"{key!r}: {draw(value)}" for key, value in self.fields())
            parts = ["{" + pairs + "}"]
        return f"Tangent[{self.primal_type.__qualname__}]({', '.join(parts)})"

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _restored_tangent, (self.primal_type, dict(self.fields()), self._length)


_classes: dict[type, type[Tangent[Any]]] = {}
_classes_lock = threading.Lock()


def _class_for(primal_type: type) -> type[Tangent[Any]]:
    return _classes.get(primal_type) or _make_class(primal_type)


def _make_class(primal_type: type) -> type[Tangent[Any]]:
    structure: Structure[Any] | None = structure_of(primal_type)
    if structure is None:
        msg = (
            f"{primal_type.__qualname__} is not a structure, so that Tangent[...] of it does not"
            " exist: the tangent of an array or number is an array or number, and other classes are"
            " declared by register_structure"
        )
        raise ProjectionError(msg)
    cls = type(
        f"Tangent[{primal_type.__qualname__}]",
        (Tangent,),
        {"__slots__": (), "__doc__": None, "__module__": __name__}
        | {"primal_type": primal_type, "_structure": structure},
    )
    with _classes_lock:  # two threads get one class
        return _classes.setdefault(primal_type, cls)


def _restored_tangent(primal_type: type, entries: dict[Any, Any], length: int | None) -> Any:
    return _class_for(primal_type)._of(entries, length)


def _check_call(cls: type[Tangent[Any]], correct: bool, takes: str) -> None:
    if not correct:
        msg = f"{cls.__name__} takes {takes}"
        raise TypeError(msg)


def _check_length(cls: type[Tangent[Any]], entries: int, length: int | None) -> None:
    if length is not None and entries > length:
        msg = f"{entries} entries for a {cls.primal_type.__qualname__} of {length}"
        raise ProjectionError(msg)


def _check_keys(primal_type: type, given: Any, known: Any) -> None:
    if unknown := [key for key in given if key not in known]:
        raise ProjectionError(_unknown_keys(primal_type, unknown, known))


def _unknown_keys(primal_type: type, unknown: list[Any], known: Any) -> str:
    what = f"field{'s' if len(unknown) > 1 else ''} {', '.join(map(repr, unknown))}"
    return f"{primal_type.__qualname__} has no {what}; its fields are: {', '.join(map(str, known))}"


# --------------------------------------------------------------------------------- looking at one


def is_zero(t: object) -> bool:
    """Say whether a tangent is one of the two zeros; arrays of zeros are not.

    Examples
    --------
    >>> is_zero(ZeroTangent()), is_zero(NoTangent()), is_zero(0.0)
    (True, True, False)
    """
    return isinstance(t, AbstractZero)


def unthunk(t: Any) -> Any:
    """Return what is behind a thunk, and any other tangent unchanged.

    Thunks in the fields of a `Tangent` stay; `deliver` resolves them too.

    Examples
    --------
    >>> unthunk(Thunk(lambda: 2.0)), unthunk(3.0)
    (2.0, 3.0)
    """
    while isinstance(t, Thunk):
        t = t()
    return t


def deliver(t: Any) -> Any:
    """Return a tangent as people get it: no thunks at any level, and nothing that is not stated.

    Raises
    ------
    NotDifferentiableError
        Where a `NotImplementedTangent` is found, with its reason.

    Examples
    --------
    >>> deliver(Tangent[tuple](Thunk(lambda: 2.0), 3.0))
    Tangent[tuple](2.0, 3.0)
    """
    t = unthunk(t)
    if isinstance(t, NotImplementedTangent):
        raise NotDifferentiableError(t.reason)
    if not isinstance(t, Tangent):
        return t
    entries = {}
    for key, value in t._entries.items():
        try:
            entries[key] = deliver(value)
        except NotDifferentiableError as error:
            error.add_note(f"in entry {key!r} of a {type(t).__name__}")
            raise
    unchanged = all(entries[key] is value for key, value in t._entries.items())
    return t if unchanged else t._of(entries, t._length)


def map_fields(f: Callable[[Any], Any], t: Tangent[P]) -> Tangent[P]:
    """Return the tangent whose entries are ``f`` of the entries that are present.

    Examples
    --------
    >>> map_fields(lambda entry: entry / 2, Tangent[dict]({"w": 3.0}))
    Tangent[dict]({'w': 1.5})
    """
    return t.map_with(lambda _, entry: f(entry))


# ------------------------------------------------------------------------------------ the algebra


def add_tangents(a: Any, b: Any) -> Any:
    """Return the sum of two tangents of one primal, writing to neither.

    Parameters
    ----------
    a, b : tangents
        Arrays, numbers, or instances of the classes of this module.

    Returns
    -------
    tangent
        The other one, uncopied and unforced, where one is zero; ``NoTangent()`` only if nothing
        but zeros meet; field by field for a `Tangent`; the first `NotImplementedTangent` if any.

    Raises
    ------
    ProjectionError
        If the two cannot belong to one primal, or if one is no tangent at all.

    Examples
    --------
    >>> add_tangents(Tangent[tuple](1.0), Tangent[tuple](2.0, 3.0))
    Tangent[tuple](3.0, 3.0)
    >>> add_tangents(NoTangent(), ZeroTangent())
    NoTangent()
    """
    if type(a) in _plain_types and type(b) in _plain_types:
        return a + b
    if isinstance(a, AbstractTangent) or isinstance(b, AbstractTangent):
        return _add_special(a, b)
    _check_plain(a)
    _check_plain(b)
    return a + b


def _add_special(a: Any, b: Any) -> Any:
    _check_plain(a)
    _check_plain(b)
    if isinstance(a, NotImplementedTangent):
        return a
    if isinstance(b, NotImplementedTangent):
        return b
    if isinstance(a, AbstractZero):
        return a if isinstance(a, NoTangent) and isinstance(b, AbstractZero) else b
    if isinstance(b, AbstractZero):
        return a
    if isinstance(a, Thunk) or isinstance(b, Thunk):
        return add_tangents(unthunk(a), unthunk(b))
    length = _common_length(a, b)
    entries = dict(a._entries)
    for key, value in b._entries.items():
        entries[key] = add_tangents(entries[key], value) if key in entries else value
    return a._of(entries, length)


def scale(t: Any, c: Any) -> Any:
    """Return a tangent times a number, writing to nothing.

    Parameters
    ----------
    t : tangent
    c : number or 0-d array
        A zero times anything is a zero; two zeros give ``ZeroTangent()`` unless both are
        ``NoTangent()``.

    Examples
    --------
    >>> scale(Tangent[list](1.0, ZeroTangent()), 3)
    Tangent[list](3.0, ZeroTangent())
    """
    if isinstance(t, AbstractTangent) or isinstance(c, AbstractTangent):
        return _scale_special(t, c)
    _check_plain(t)
    _check_plain(c)
    return t * c


def _scale_special(t: Any, c: Any) -> Any:
    _check_plain(t)
    _check_plain(c)
    if isinstance(t, AbstractZero):
        return c if isinstance(c, AbstractZero) and isinstance(t, NoTangent) else t
    if isinstance(c, AbstractZero):
        return c
    if isinstance(t, NotImplementedTangent):
        return t
    if isinstance(c, NotImplementedTangent):
        return c
    if isinstance(t, Thunk) or isinstance(c, Thunk):
        return scale(unthunk(t), unthunk(c))
    if isinstance(c, Tangent):
        t, c = c, t
    _check_factor(t, c)
    return map_fields(lambda entry: scale(entry, c), t)


def _divide(t: Any, c: Any) -> Any:
    """Return ``t / c``: not ``t * (1 / c)``, which rounds twice."""
    t = unthunk(t)
    if isinstance(c, AbstractTangent):
        msg = f"cannot divide {describe(t)} by {describe(c)}: a tangent is never a divisor"
        raise TypeError(msg)
    if isinstance(t, (AbstractZero, NotImplementedTangent)):
        return t
    if isinstance(t, Tangent):
        _check_factor(t, c)
        return map_fields(lambda entry: _divide(entry, c), t)
    return t / c


def _negate(t: Any) -> Any:
    t = unthunk(t)
    if isinstance(t, (AbstractZero, NotImplementedTangent)):
        return t
    return map_fields(_negate, t) if isinstance(t, Tangent) else -t


def move(primal: Any, t: Any) -> Any:
    """Return the primal moved along a tangent: ``primal + t``, in the structure of the primal.

    Parameters
    ----------
    primal : array, number, or structure
    t : tangent
        For a structure also a plain container of the same shape, see `canonicalize`.

    Returns
    -------
    same type as primal
        The primal itself along a zero; a structure is rebuilt, and shares with the primal the
        fields that do not move.

    Raises
    ------
    ProjectionError
        If the tangent does not fit: structure, field names, length, or shape.
    NotDifferentiableError
        Along a `NotImplementedTangent`.

    Examples
    --------
    >>> move({"w": 1.0, "b": 2.0}, Tangent[dict]({"w": 0.5}))
    {'w': 1.5, 'b': 2.0}
    """
    t = unthunk(t)
    if isinstance(t, AbstractZero):
        return primal
    if isinstance(t, NotImplementedTangent):
        raise NotDifferentiableError(t.reason)
    if isinstance(primal, AbstractTangent):
        return add_tangents(primal, t)
    if is_structure_type(type(primal)):
        if not isinstance(t, Tangent):
            t = canonicalize(primal, t)
        items = fields_of(primal)
        _check_fits(primal, items, t)
        return rebuild(primal, [move(value, t._entries.get(key, _ZERO)) for key, value in items])
    _check_leaf(primal, t)
    _check_shape(primal, t)
    return primal + t


def canonicalize(primal: Any, t: Any) -> Any:
    """Return a tangent in the form that machinery expects: `Tangent[P]` for each structure.

    Only structure is looked at; shape, dtype and device are the business of projection.

    Parameters
    ----------
    primal : array, number, or structure
    t : tangent
        Or, for a structure, a plain container of the same shape: an instance of the same class, or
        the plain tuple, list or dict that the class derives from. There, whatever cannot be
        perturbed (None, strings, flags, functions) may stand for itself and becomes
        ``NoTangent()``.

    Raises
    ------
    ProjectionError
        If the structures differ, naming both; or if a tangent is None.

    Examples
    --------
    >>> canonicalize({"w": (1.0, 2.0), "b": 3.0}, {"w": (10.0, 20.0)})
    Tangent[dict]({'w': Tangent[tuple](10.0, 20.0)})
    >>> canonicalize((1.0, 2.0), [1.0, 2.0])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    chainrules_py.errors.ProjectionError: [float, float] is not a tangent of (float, float); ...
    """
    t = unthunk(t)
    if isinstance(t, (AbstractZero, NotImplementedTangent)):
        return t
    structure = structure_of(type(primal))
    if structure is None:
        _check_leaf(primal, t)
        return t
    items = structure.items(primal)
    if isinstance(t, Tangent):
        _check_fits(primal, items, t)
        given, canonical = t._entries, canonicalize
    else:
        given, canonical = _plain_entries(primal, items, t), _canonicalize_mirrored
    entries = {key: canonical(value, given[key]) for key, value in items if key in given}
    length = len(items) if structure.kind == "positions" else None
    return _class_for(type(primal))._of(entries, length)


def _canonicalize_mirrored(primal: Any, t: Any) -> Any:
    """Canonicalise an entry of a plain container, which must hold something everywhere."""
    if _is_constant(primal) and type(t) is type(primal):
        return _NONE
    if t is primal and not _is_number_or_array(primal) and not is_structure_type(type(primal)):
        return _NONE
    return canonicalize(primal, t)


def _plain_entries(primal: Any, items: list[tuple[Any, Any]], t: Any) -> dict[Any, Any]:
    """Return the entries of a plain container that mirrors a primal, by the keys of the primal."""
    _check_is_tangent(t)
    same = type(t) is type(primal)
    if not same and not (type(t) in (tuple, list, dict) and isinstance(primal, type(t))):
        raise ProjectionError(_not_a_tangent_of(primal, t))
    given = fields_of(t)
    if isinstance(t, (tuple, list)):
        if len(given) != len(items):
            raise ProjectionError(_not_a_tangent_of(primal, t))
        return {key: value for (key, _), (_, value) in zip(items, given, strict=True)}
    entries = dict(given)
    _check_keys(type(primal), entries, dict(items))
    return entries


# ---------------------------------------------------------------------------------- accumulation


_mutable: dict[type, Callable[[Any], bool]] = {}


def register_mutable(cls: type[P], test: Callable[[P], bool]) -> None:
    """Declare which arrays of a library in-place addition may write into.

    Parameters
    ----------
    cls : type
        The array class; its subclasses are not covered.
    test : callable
        Says of an array whether it is a plain buffer: writable, and no two of its elements share
        memory, as they do in a broadcast view.

    Examples
    --------
    >>> import array
    >>> register_mutable(array.array, lambda x: x.typecode == "d")
    >>> is_mutable_destination(array.array("d", [1.0]))
    True
    """
    _mutable[cls] = test


def is_mutable_destination(x: Any) -> bool:
    """Say whether in-place addition may write into an array, *if* it is the engine's own.

    Examples
    --------
    >>> is_mutable_destination(2.0), is_mutable_destination((1.0, 2.0))
    (False, False)
    """
    test = _mutable.get(type(x))
    return test is not None and test(x)


def accumulate(total: Any, t: Any, owned: Owned) -> tuple[Any, Owned]:
    """Add a cotangent to a running total, in place where the total is the engine's own sum.

    The first addition allocates, later ones add into what it allocated. What a rule returned is
    never written to, so that rules return cotangents, views and broadcasts freely.

    Parameters
    ----------
    total : tangent
        The sum so far; ``ZeroTangent()`` in the beginning.
    t : tangent
        What to add; never written to, though the total may be this very object from then on.
    owned : bool or dict
        What the last call returned for this total; False in the beginning. For a `Tangent` it says
        key by key which entries are sums. Pass it on, and do not look into it.

    Returns
    -------
    total : tangent
        The new total; the old one is not to be used any more.
    owned : bool or dict
        To be passed to the next call.

    Examples
    --------
    >>> total, owned = ZeroTangent(), False
    >>> for t in (1.0, ZeroTangent(), Thunk(lambda: 2.0)):
    ...     total, owned = accumulate(total, t, owned)
    >>> total
    3.0
    """
    if type(total) not in _plain_types or type(t) not in _plain_types:
        if total is _ZERO and type(t) in _plain_types:
            return t, False
        if isinstance(total, AbstractTangent) or isinstance(t, AbstractTangent):
            return _accumulate_special(total, t, owned)
        _check_plain(total)
        _check_plain(t)
    if owned is True and type(t) is type(total):
        test = _mutable.get(type(total))
        # Shape and dtype: otherwise the sum would broadcast or promote, and in place it would not.
        if test is not None and total.shape == t.shape and total.dtype == t.dtype and test(total):
            total += t  # an array that adds in place returns itself
            return total, True
    return total + t, True


def _accumulate_special(total: Any, t: Any, owned: Owned) -> tuple[Any, Owned]:
    _check_plain(total)
    _check_plain(t)
    if isinstance(t, AbstractZero) and not isinstance(total, AbstractZero):
        return total, owned
    if isinstance(total, AbstractZero) or NotImplementedTangent in (type(total), type(t)):
        return _add_special(total, t), False
    if isinstance(total, Thunk) or isinstance(t, Thunk):
        return accumulate(unthunk(total), unthunk(t), owned)
    return _accumulate_fields(total, t, owned)


def _accumulate_fields(total: Any, t: Any, owned: Owned) -> tuple[Any, Owned]:
    """Add the entries of a `Tangent`, in time proportional to those of ``t`` once owned.

    Reading the n items of a list one by one gives n tangents of one entry each, and must cost n.
    """
    length = _common_length(total, t)
    if isinstance(owned, dict):
        total._length = length
    else:
        total, owned = total._of(dict(total._entries), length), {}
    entries = total._entries
    for key, value in t._entries.items():
        if key in entries:
            entries[key], owned[key] = accumulate(entries[key], value, owned.get(key, False))
        else:
            entries[key] = value
    return total, owned


# ----------------------------------------------------------------------------------------- checks


def _is_never_tangent(x: object) -> bool:
    return x is None or isinstance(x, (str, bytes))


def _is_constant(primal: object) -> bool:
    return primal is None or isinstance(primal, (bool, str, bytes))


def _is_number_or_array(x: object) -> bool:
    return isinstance(x, (int, float, complex)) or (hasattr(x, "shape") and hasattr(x, "dtype"))


def _shape(x: object) -> tuple[int, ...] | None:
    """Return the shape of an array or number, or None where it is not known in full."""
    if isinstance(x, (int, float, complex)):
        return ()
    try:
        shape = tuple(operator.index(n) for n in x.shape)  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        return None
    return shape


def _not_a_tangent_of(primal: object, t: object) -> str:
    if is_structure_type(type(primal)):
        name = type(primal).__qualname__
        remedy = f"write Tangent[{name}](...), or a {name} of tangents of the same shape"
    else:
        remedy = "the tangent of an array or number is an array or number"
    return f"{describe(t)} is not a tangent of {describe(primal)}; {remedy}"


def _check_is_tangent(t: object) -> None:
    if t is None:
        msg = "None is never a tangent; where nothing flows, write ZeroTangent()"
        raise ProjectionError(msg)
    if isinstance(t, (str, bytes)):
        msg = f"{describe(t)} is never a tangent; what cannot be perturbed has NoTangent()"
        raise ProjectionError(msg)
    if (check := _check_class) is not None:
        check(t)


def refuse_tangent(t: object) -> NoReturn:
    """Say that what a rule gave for a tangent is no number, array or tangent."""
    _check_is_tangent(t)
    msg = (
        f"{describe(t)} is never the tangent of an array or number; a rule has to give a number, "
        f"an array or a tangent"
    )
    raise ProjectionError(msg)


_check_class: Callable[[object], None] | None = None


def check_tangents_by(check: Callable[[object], None]) -> None:
    """Have a function raise for tangents whose class does not compute as arrays do."""
    global _check_class
    _check_class = check


def _check_plain(t: Any) -> None:
    """Refuse what ``+`` would concatenate or move, and what is no tangent."""
    if type(t) in _plain_types or isinstance(t, AbstractTangent):
        return
    if is_structure_type(type(t)):
        msg = (
            f"{describe(t)} is a structure, and its tangent a"
            f" Tangent[{type(t).__qualname__}]; see canonicalize, or move for adding to a primal"
        )
        raise ProjectionError(msg)
    _check_is_tangent(t)
    _plain_types.add(type(t))


_plain_types: set[type] = set()
"""Classes of arrays and numbers that have passed `_check_plain` once."""


def _forget(cls: type) -> None:
    for known in [known for known in _plain_types if issubclass(known, cls)]:
        _plain_types.discard(known)
    for known in [known for known in _classes if issubclass(known, cls)]:
        _classes.pop(known, None)


when_registered("tangents", _forget)


def _check_leaf(primal: object, t: object) -> None:
    _check_is_tangent(t)
    if isinstance(t, Tangent) or is_structure_type(type(t)):
        raise ProjectionError(_not_a_tangent_of(primal, t))
    if _is_constant(primal):
        what = describe(primal)
        msg = f"{what} cannot be perturbed: its tangent is NoTangent(), not {describe(t)}"
        raise ProjectionError(msg)


def _check_shape(primal: Any, t: Any) -> None:
    try:
        if primal.shape == t.shape:
            return
    except AttributeError:
        pass  # a number
    here, there = _shape(primal), _shape(t)
    if here != there and here is not None and there is not None:
        msg = f"{describe(t)} is not a tangent of {describe(primal)}: the shapes differ"
        raise ProjectionError(msg)


def _check_factor(t: Tangent[Any], c: object) -> None:
    _check_plain(c)
    if isinstance(c, Tangent) or _shape(c) not in (None, ()):
        msg = f"{describe(t)} is scaled by numbers, not by {describe(c)}"
        raise ProjectionError(msg)


def _check_fits(primal: Any, items: list[tuple[Any, Any]], t: Tangent[Any]) -> None:
    """Refuse a `Tangent` of another class or length, or with keys that the primal lacks."""
    if t.primal_type is not type(primal):
        raise ProjectionError(_not_a_tangent_of(primal, t))
    if t._length is not None and t._length != len(items):
        raise ProjectionError(_not_a_tangent_of(primal, t))
    if t._structure.names is None:
        _check_keys(type(primal), t._entries, dict(items))


def _common_length(a: Any, b: Any) -> int | None:
    """Return the length of the primal that two `Tangent` can both belong to, if either knows."""
    fits = isinstance(a, Tangent) and isinstance(b, Tangent) and a.primal_type is b.primal_type
    length = None
    if fits:
        length = b._length if a._length is None else a._length
        fits = b._length in (None, length) and (
            length is None or (len(a) <= length and len(b) <= length)
        )
    if not fits:
        msg = f"{describe(a)} and {describe(b)} are not tangents of one primal, and have no sum"
        raise ProjectionError(msg)
    return length


def _describe_tangent(x: object, depth: int) -> str | None:
    if isinstance(x, Tangent):
        return x._picture(lambda value: describe(value, depth - 1))
    return repr(x) if isinstance(x, AbstractZero) else None


register_description("tangent", _describe_tangent)
