"""Dispatch by type: one small table per function, with a flat cache in front.

Signatures are ordered by the order of their classes, as plum orders them. plum itself decides which
annotations can be dispatched on; its import is slow, so it is deferred until it is needed.
"""

from __future__ import annotations

import abc
import functools
import operator
import types
import typing
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import BuiltinFunctionType
from typing import Any, Generic, TypeVar

from chainrules_py.errors import AmbiguousRuleError, RuleError
from chainrules_py.primitives.plugins import layer_of
from chainrules_py.primitives.signature import parameters_of
from chainrules_py.values import dispatch_types
from chainrules_py.values.caches import filling, forgets, on_registration
from chainrules_py.values.dispatch_types import Numeric
from chainrules_py.values.locks_and_modes import Lock
from chainrules_py.values.type_info import type_info

T = TypeVar("T")

lock = Lock()
"""Held while anything is registered or resolved; never while a backend is imported."""

_opened: set[weakref.ref[Any]] = set()
_EMPTY: Mapping[Any, Any] = types.MappingProxyType({})


class Cache:
    """A dict that is replaced, never cleared, when something is registered.

    ``table`` is for reading. To fill it, call ``open`` *before* reading what is to be cached, and
    store into the returned dict: a value computed from old rules is then stored in a dict that is
    no longer read. A cache that was never opened is read-only, and costs a registration nothing:
    with a thousand operations, to clear a thousand dicts a thousand times takes 0.1 s.
    """

    __slots__ = ("__weakref__", "table")

    def __init__(self) -> None:
        self.table: Mapping[Any, Any] = _EMPTY

    def open(self) -> dict[Any, Any]:
        """Return the dict that ``table`` is until the next registration."""
        filling()
        with lock:
            key = weakref.ref(self, _opened.discard)
            # In between, a signal handler may register something, or an interrupt skip one.
            while True:  # not while a condition: see `Lock`
                if self.table is not _EMPTY and key in _opened:
                    return self.table  # type: ignore[return-value]
                _opened.add(key)
                self.table = {}


@lock
def invalidate() -> None:
    """Discard the results of all look-ups."""
    for key in tuple(_opened):
        if (cache := key()) is not None:
            cache.table = _EMPTY
        _opened.discard(key)


on_registration(invalidate)


@forgets
def _tables() -> list[Mapping[Any, Any]]:
    caches = [cache for key in tuple(_opened) if (cache := key()) is not None]
    return [table for cache in caches if (table := cache.table) is not _EMPTY]


class MethodTable(Generic[T]):
    """Table of values by operand types, with a layer of precedence for each.

    The more specific signature wins. Between equal or ambiguous ones the higher layer decides, and
    never the order of loading.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.methods: dict[tuple[tuple[Any, ...], Any, int | str], T] = {}

    def add(self, signature: tuple[Any, ...], varargs: Any, layer: int | str, value: T) -> None:
        """Add a value; it replaces one of the same signature and layer.

        The layer of a module depends on the installed packages, and is only determined when it is
        needed: importing a backend adds a hundred values.
        """
        with lock:
            self.methods.pop((signature, varargs, layer), None)  # the last one added counts
            self.methods[signature, varargs, layer] = value

    def resolve(self, operands: tuple[type, ...]) -> T | None:
        """Return the value for these types, or None.

        Raises
        ------
        AmbiguousRuleError
            If two signatures of the same layer match, and neither is more specific.
        """
        target = tuple([type_info(cls).dispatch_type for cls in operands])
        found = self._solve(target)
        if found is None:
            zero_d = tuple([type_info(cls).zero_d_type for cls in target])
            found = self._solve(zero_d) if zero_d != target else None
        if found is None or not any([type_info(cls).is_foreign for cls in target]):
            return None if found is None else found[1]
        # A subclass with its own arithmetic is only matched by a signature that names it.
        signature, value = found
        several = [signature[-1]] * (len(target) - len(signature))  # if variadic, the last one
        for cls, annotation in zip(target, (*signature, *several), strict=True):
            if type_info(cls).is_foreign:
                base = type_info(cls).base
                assert base is not None
                if issubclass(base, annotation):
                    return None
        return value

    def _solve(self, target: tuple[type, ...]) -> tuple[tuple[Any, ...], T] | None:
        """Return the best match and its signature, or None; raise if several match equally well."""
        fitting = self._fitting(target)
        if not fitting:
            return None
        found = [
            (signature if varargs is None else (*signature, varargs), value)
            for signature, varargs, _, value in _narrowest(fitting)
        ]
        if len(found) == 1:
            return found[0]
        shown = ", ".join(cls.__qualname__ for cls in target)
        each = [f"{signature_text(s)} at {where_defined(value)}" for s, value in found[:2]]
        raise AmbiguousRuleError(
            f"{self.name}({shown}) is ambiguous between\n  {', '.join(each)}\n"
            f"  write one for ({shown})"
        )

    def _fitting(self, target: tuple[type, ...]) -> list[tuple[tuple[Any, ...], Any, int, T]]:
        """Return the matching entries; of equal signatures, only that of the highest layer."""
        best: dict[Any, tuple[tuple[Any, ...], Any, int, T]] = {}
        for (signature, varargs, layer), value in list(self.methods.items()):
            rest = len(target) - len(signature)
            if rest < 0 or (rest and varargs is None):
                continue
            if all(map(_accepts, (*signature, *[varargs] * rest), target)):
                rank = layer if isinstance(layer, int) else layer_of(layer)
                key = signature, varargs
                if key not in best or best[key][2] <= rank:
                    best[key] = signature, varargs, rank, value
        return list(best.values())


def _accepts(annotation: Any, cls: type) -> bool:
    """Return whether instances of a class match an annotation."""
    return annotation is Any or issubclass(cls, annotation)


def _narrowest(fitting: list[Any]) -> list[Any]:
    """Select entries by the order of classes, as plum does."""
    best = [a for a in fitting if not any([_within(b, a) and not _within(a, b) for b in fitting])]
    top = max([layer for _, _, layer, _ in best])
    return best if [entry[2] for entry in best].count(top) > 1 else [e for e in best if e[2] == top]


def _within(a: Any, b: Any) -> bool:
    """Return whether an entry is as specific as another; a variadic one is less than its equal."""
    n = max(len(a[0]), len(b[0]))
    of_a, of_b = [(*s, *[varargs] * (n - len(s))) for s, varargs, _, _ in (a, b)]
    if not all(map(_is_narrower, of_a, of_b)):
        return False
    if a[1] is not None and b[1] is not None:
        return _is_narrower(a[1], b[1])
    return a[1] is None or not all(map(_is_narrower, of_b, of_a))


def _is_narrower(x: Any, y: Any) -> bool:
    if x is Any or y is Any:
        return y is Any
    wider = typing.get_args(y) or (y,)
    return all([any([issubclass(p, q) for q in wider]) for p in typing.get_args(x) or (x,)])


def operand_types(
    function: Callable[..., Any],
    skip: int = 0,
    types: tuple[Any, ...] | None = None,
) -> tuple[tuple[Any, ...], Any]:
    """Return the types a function is dispatched on, and that of variadic operands or None.

    Parameters
    ----------
    function : callable
        Its positional parameters after the first ``skip`` are read; keyword-only ones are not
        dispatched on. A parameter without annotation means `Numeric`, or `Numeric` or None if its
        default is None; ``self`` means any object.
    skip : int
        The number of leading parameters that are not operands.
    types : tuple, optional
        Used instead of the annotations.

    Raises
    ------
    RuleError
        If an annotation cannot be resolved, or cannot be dispatched on.
    """
    # Some C functions have no signature, and that of a ufunc has more than operands.
    if types is not None and (type(function) is BuiltinFunctionType or hasattr(function, "nin")):
        return tuple(
            [checked_annotation(t, f"operand {i}", function) for i, t in enumerate(types)]
        ), None
    parameters = parameters_of(function)
    names = parameters.positional[skip:]
    if parameters.variadic is not None:
        names = (*names, parameters.variadic)
    if types is None:
        hints = _hints(function, names)
    elif isinstance(types, (tuple, list)) and len(types) == len(names):
        hints = dict(zip(names, types, strict=True))
    else:
        raise RuleError(
            f"types={types!r} is no tuple of {len(names)} types, one for each operand of "
            f"{where_defined(function)}"
        )
    of: Any = lambda name: hints[name] if name in hints else _unannotated(name, parameters.defaults)
    found = tuple([checked_annotation(of(name), name, function) for name in names])
    return (found, None) if parameters.variadic is None else (found[:-1], found[-1])


def _unannotated(name: str, defaults: dict[str, Any]) -> Any:
    """Return what a parameter without annotation accepts: any object for ``self``, else numbers."""
    if name == "self":
        return object
    return Numeric | None if name in defaults and defaults[name] is None else Numeric


def _hints(function: Callable[..., Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the annotations of parameters; one that is text is evaluated in the module."""
    annotations = getattr(function, "__annotations__", {})
    hints = {name: annotations[name] for name in names if name in annotations}
    scope = getattr(_unwrapped(function), "__globals__", {})
    # get_type_hints takes 30 us, and needs the names in the annotation of the result as well.
    try:
        return {n: eval(a, scope) if isinstance(a, str) else a for n, a in hints.items()}  # noqa: S307
    except Exception as error:
        raise RuleError(
            f"the annotations of {getattr(function, '__qualname__', function)} "
            f"({where_defined(function)}) cannot be resolved: {error}; "
            f"write @rule(f, types=(A, B)) to give the types as objects"
        ) from error


_SIMPLE = (Numeric, object, Any)
_FAITHFUL = {type.__instancecheck__, abc.ABCMeta.__instancecheck__}


def checked_annotation(annotation: Any, name: str, function: Any) -> Any:
    """Return an annotation that can be dispatched on; raise for others, with the reason."""
    annotation = dispatch_types.replacement(annotation)
    if annotation in (None, type(None)):
        return type(None)
    if annotation in _SIMPLE:
        return annotation
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        parts = [checked_annotation(a, name, function) for a in typing.get_args(annotation)]
        return functools.reduce(operator.or_, parts)
    # An object's type alone decides whether it is one, unlike list[int], Literal or NDArray[...].
    nominal = origin is None and not getattr(annotation, "_is_protocol", False)
    if not (isinstance(annotation, type) and nominal and _is_faithful(annotation)):
        raise RuleError(
            f"{annotation!r}, the annotation of {name} in "
            f"{getattr(function, '__qualname__', function)} ({where_defined(function)}), cannot be "
            f"dispatched on by type alone, and would slow every call of this function; annotate "
            f"with a class, a union of classes, Array, Scalar or Numeric"
        )
    return annotation


def _is_faithful(annotation: type) -> bool:
    if type(annotation).__instancecheck__ in _FAITHFUL:
        return True
    import plum

    return plum.is_faithful(annotation)


def where_defined(thing: Any) -> str:
    """Return ``file:line`` of a function, or of the function in a wrapper or statement."""
    if (where := getattr(thing, "where", None)) is not None:
        return str(where)
    thing = _unwrapped(thing)
    code = getattr(thing, "__code__", None)
    if code is None:
        return getattr(thing, "__module__", None) or "a place unknown"
    return f"{code.co_filename}:{code.co_firstlineno}"


def _unwrapped(thing: Any) -> Any:
    while hasattr(thing, "__wrapped__"):
        thing = thing.__wrapped__
    return thing


def signature_text(signature: Iterable[Any]) -> str:
    """Return a signature as it is shown in messages: ``(Array, float)``."""
    shown = [
        "Numeric" if t == Numeric else getattr(t, "__qualname__", None) or str(t) for t in signature
    ]
    return f"({', '.join(shown)})"


def library_function(name: str, operands: tuple[type, ...]) -> Any:
    """Return the function of a name in the namespace of the operands, or None."""
    known = [i for i in map(type_info, operands) if i.namespace is not None]
    homes = [i for i in known if i.is_array] or [i for i in known if i.is_number]
    space = homes[0].namespace if homes else None
    for of in ("", "linalg", "fft"):  # one after the other, as NumPy loads its fft on access
        found = getattr(getattr(space, of, None) if of else space, name, None)
        if callable(found):  # a library may have a module fft, with a function fft in it
            return found
    return None
