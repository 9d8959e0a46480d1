"""Closure conversion: values that a function captured become operands.

A function that is passed to an operation may use values that are not its arguments: in the cells of
its closure, in its defaults, in the arguments of a partial, or in the object of a bound method. If
one of them is being differentiated, its derivative must not be lost. `closed` finds such values
and returns a `Closure`: the same function as a structure, whose fields are the values. Every engine
opens structures, so at each level of differentiation the captured values are ordinary operands.

Values elsewhere are not found: in the globals of a module, in an object that another object holds,
in a container of more than `LONGEST` entries. `refuse_traced` detects these: a function without
traced arguments that returns a traced value uses one that was not found.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable, Collection, Iterable
from typing import Any, ClassVar, final

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.primitive import Primitive
from chainrules_py.values.caches import forgets
from chainrules_py.values.dispatch_types import Tracer
from chainrules_py.values.find_tracers import find_host, find_tracers, is_traced
from chainrules_py.values.object_contents import attributes, content, directly, holds_numbers
from chainrules_py.values.pytree import flatten
from chainrules_py.values.random_generators import is_generator
from chainrules_py.values.structure import (
    fields_of,
    is_structure_type,
    rebuild,
    register_structure,
    structure_of,
)
from chainrules_py.values.type_info import hosts, type_info

LONGEST = 256
"""Lists, tuples and dicts with more entries are not searched; pass their values as operands."""
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
_CONTAINERS = ("builtins", "collections")
_LEAVES = (
    type(None), bool, int, float, complex, str, bytes, type, types.ModuleType,
    types.BuiltinFunctionType,
)  # fmt: skip


class Operator:
    """Base class of functions made from functions, whose fields are all that they capture.

    A subclass names its fields in ``FIELDS`` and is a structure of them. It is no dataclass, as
    importing that module is expensive.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *values: Any) -> None:
        self.__dict__.update(zip(self.FIELDS, values, strict=True))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(describe(x) for _, x in fields_of(self))})"


register_structure(
    Operator,
    lambda x: [(name, getattr(x, name)) for name in x.FIELDS],
    lambda x, values: type(x)(*values),
    hollow=True,
)


joining: list[Any] = [None, None]
"""What arrays of objects there are, and what joins one; `chainrules_py.tracing` states it."""


@final
class Hole:
    """Placeholder in a template for the captured value of this index; no computation takes it."""

    __slots__ = ("_index",)

    def __init__(self, index: int) -> None:
        self._index = index

    def __int__(self) -> int:
        return self._index


@final
class _Unfilled(tuple[Any, ...]):
    """A structure and its new values, in a template, if it cannot be rebuilt around holes."""

    __slots__ = ()


@final
class Closure:
    """A function as a structure of the values that it captured.

    Attributes
    ----------
    captured : tuple
        The captured values.
    template : object
        The function, with a `Hole` in place of each value.
    """

    __slots__ = ("__weakref__", "_filled", "_holders", "captured", "template")

    def __init__(self, template: Any, holders: frozenset[int], captured: tuple[Any, ...]) -> None:
        self.template, self.captured = template, captured
        self._holders = holders  # the ids of objects in the template that hold a hole
        self._filled: Any = None

    def __call__(self, *operands: Any) -> Any:
        """Call the function with the captured values."""
        return self.filled()(*operands)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.filled(), name)

    def filled(self) -> Any:
        """Rebuild the original callable with the captured values."""
        if self._filled is None:
            values = self.captured
            fill = _Copy(lambda x: values[int(x)] if type(x) is Hole else x, self._holders)
            self._filled = fill(self.template)
        return self._filled

    def around(self, captured: Iterable[Any]) -> Closure:
        """Return the same function with other captured values."""
        return Closure(self.template, self._holders, tuple(captured))

    def __repr__(self) -> str:
        return f"<{_name(self.template)} around {describe(self.captured)}>"


register_structure(
    Closure, lambda c: list(enumerate(c.captured)), lambda c, values: c.around(values), hollow=True
)


def closed(f: Any, is_captured: Callable[[Any], bool] | None = None) -> Any:
    """Pair a function with the traced values that it captured.

    Parameters
    ----------
    f : callable
        A function, a method, a `functools.partial`, or an object that is called.
    is_captured : callable, optional
        Returns whether a value is to be found; by default, whether it is a tracer. For engines
        whose traced values are no `Tracer`.

    Returns
    -------
    callable
        f itself if it captured none, or is a structure with all of them in its fields; else a
        `Closure`.

    Notes
    -----
    The search covers the cells of closures, defaults, the object of a bound method, the arguments
    of partials, lists, dicts and registered structures among these, and the attributes of an
    object, one level deep. Only objects that hold such a value are copied: a list that f appends to
    stays the same list.

    Examples
    --------
    >>> from chainrules_tape import Tape
    >>> def times(a):
    ...     return lambda x: a * x
    >>> with Tape() as tape:
    ...     f = closed(times(tape.variable(2.0)))
    >>> f
    <<lambda> around (Variable[float],)>
    >>> f.around((5.0,))(3.0)
    15.0
    """
    if isinstance(f, (Closure, Operator)):
        return f
    if is_captured is None and joining[0]:
        # Arrays of objects are captured as the traced arrays that they are joined to.
        is_array: Any = lambda x: type_info(type(x)).is_array and joining[1](x) is not x
        found = _closed(f, *_search(f, lambda x: is_traced(x) or is_array(x)))
        return found.around(map(joining[1], found.captured)) if type(found) is Closure else found
    skipped = _plain if is_captured is None else frozenset[type]()
    return _closed(f, *_search(f, is_captured or is_traced, skipped))


def closed_and_generators(f: Any) -> tuple[Any, list[Any]]:
    """Pair a function with what it captured, as `closed` does, and list its random generators.

    The generators in the globals of its module are included.
    """
    found, holders = _search(f, lambda x: is_traced(x) or is_generator(type(x)), _plain)
    scope = getattr(getattr(f, "__func__", f), "__globals__", {})
    generators = [x for x in (*found, *scope.values()) if is_generator(type(x))]
    return _closed(f, [x for x in found if is_traced(x)], holders), generators


def _closed(f: Any, found: list[Any], holders: frozenset[int]) -> Any:
    """Return a function as a `Closure`, or itself if all that it captured is in its fields."""
    holes = {id(x): Hole(n) for n, x in enumerate(found)}
    if not holes or (is_structure_type(type(f)) and holes.keys() <= {*map(id, flatten(f)[0])}):
        return f
    return _templated(f, _Copy(lambda x: holes.get(id(x), x), holders), tuple(found))


def _templated(f: Any, making: _Copy, captured: tuple[Any, ...]) -> Closure:
    """Return a copy of a function as a `Closure`: what is copied is what holds a hole."""
    template = making(f)
    return Closure(template, frozenset(map(id, making.made.values())), captured)


def settled(f: Any) -> Any:
    """Return a function that keeps the present contents of its cells and defaults.

    A backward function calls it long after the original call. By then a loop has continued, and
    Python would use the latest value of each name. The functions in its cells are settled as well.

    Examples
    --------
    >>> def multiplied():
    ...     factor = 2.0
    ...     f = settled(lambda x: factor * x)
    ...     factor = 3.0
    ...     return f(1.0)
    >>> multiplied()
    2.0
    """
    if isinstance(f, Closure):
        return _templated(f.template, _Copy(lambda x: x, f._holders, settles=True), f.captured)
    if isinstance(f, _FUNCTIONS):
        return _Copy(lambda x: x, frozenset(), settles=True)(f)
    if is_structure_type(type(f)):
        return rebuild(f, [settled(x) if callable(x) else x for _, x in fields_of(f)])
    return f


def refuse_traced(y: Any, f: Any, operation: str, given: Any = ()) -> Any:
    """Return the result of a function; raise if it is traced at a level that ``given`` is not.

    Raises
    ------
    NotDifferentiableError
        If so: the function uses a differentiated value that `closed` did not find.
    """
    if find_tracers(y) and not _levels(y) <= _levels(given):
        raise NotDifferentiableError(
            f"{_name(f)}, given to {operation}, gave {describe(y)}, which depends on a value that "
            f"is being differentiated and that it was not given: it uses such a value from a place "
            f"where it is not found; pass the value as a parameter, behind the other operands of "
            f"{operation}"
        )
    return y


def _levels(x: Any) -> set[Any]:
    """Return the levels of the tracers in a value, and of the tracers in their payloads."""
    found: set[Any] = set()
    for tracer in find_tracers(x):
        found |= {tracer.level} | _levels(tracer.__payload__)
    return found


class HigherOrder(Primitive[..., Any]):
    """An operation that takes functions; values that they captured are found before the call.

    Attributes
    ----------
    is_program : bool
        Whether its rules state that its body is differentiated.
    """

    is_program = False

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """Compute the result, or let the highest tracer in operands and captured values trace it.

        If `is_program`, the body runs directly, unless another engine traces the call: that engine
        sees the whole operation.
        """
        if not any(map(callable, operands)):
            raise TypeError(
                f"{self.__name__}() takes a function, as lambda y: A @ y is of a matrix A, and got "
                f"{', '.join(map(describe, operands)) or 'none'}"
            )
        if self.is_program and (not hosts or find_tracers(operands)):
            return self.__wrapped__(*operands, **options)
        found = [closed(x) if callable(x) else joining[1](x) if joining[0] else x for x in operands]
        if self.is_program and (find_tracers(found) or find_host((found,)) is None):
            return self.__wrapped__(*operands, **options)
        for n, f in enumerate(found):  # the numbers of an object are constants, not operands
            if callable(f) and type(f) not in _FUNCTIONS and type(f) is not Closure:
                found[n] = f.__call__ if not is_structure_type(type(f)) and holds_numbers(f) else f
        return super().__call__(*found, **options)


# ------------------------------------------------------------------------------- search and copy


def _search(
    f: Any, is_captured: Callable[[Any], bool], skipped: set[type] | frozenset[type] = frozenset()
) -> tuple[list[Any], frozenset[int]]:
    """List the values that a function captured, nearest first, and the ids of all that hold one.

    Containers whose entries are all of ``skipped`` classes are passed over.
    """
    found: list[Any] = []
    held_by: dict[int, list[Any]] = {}
    seen: dict[int, Any] = {id(f): f}  # keeps each value alive, so that its id stays unique
    waiting = [f]
    for x in waiting:  # which grows meanwhile
        opener = _opener[type(x)]
        parts = opener(x)
        if skipped and skipped.issuperset(map(type, parts)):
            continue  # most containers; without a loop of Python
        for part in parts:
            held_by.setdefault(id(part), []).append(x)
            way = _opener[type(part)]
            # Of objects in an object only the outer one is searched, unless it is captured too.
            if id(part) in seen or opener is way is _attributes:
                continue
            seen[id(part)] = part
            if is_captured(part):
                found.append(part)
            elif way is not _nothing:
                waiting.append(part)
    holders: set[int] = set()
    reached = [*found]
    for x in reached:  # which grows meanwhile
        for y in held_by.get(id(x), ()):
            if id(y) not in holders:
                holders.add(id(y))
                reached.append(y)
    return found, frozenset(holders)


def _of_function(f: Any) -> list[Any]:
    if isinstance(f, types.MethodType):
        return [f.__func__, f.__self__]
    # Copies of what singledispatch returns would share its cache.
    of_python = isinstance(f, types.FunctionType) and f.__globals__.get("__name__") == "functools"
    return [] if of_python else directly(f)


def _nothing(_: Any) -> tuple[Any, ...]:
    """Return no parts, for plain values: numbers, text, arrays."""
    return ()


def _attributes(x: Any) -> list[Any]:
    return [*attributes(x).values()]


def _fields(x: Any) -> Collection[Any]:
    plain = type(x).__module__ in _CONTAINERS
    return () if plain and len(x) > LONGEST else [y for _, y in fields_of(x)]


def _of_primitive(x: Primitive[..., Any]) -> list[Any]:
    """List the body, unless the primitive is opaque or has rules."""
    return [] if x.opaque or any([s.recipe is not None for s in x.stated[0]]) else [x.__wrapped__]


class _Opener(dict[type, "Callable[[Any], Collection[Any]]"]):
    """How to list the parts of values of a class."""

    def __missing__(self, cls: type) -> Callable[[Any], Collection[Any]]:
        structure: Any = structure_of(cls)  # loads the package that supports its library
        info = type_info(cls)
        traced = issubclass(cls, Tracer) or info.host is not None
        opener: Callable[[Any], Collection[Any]] = _attributes
        if traced or info.is_array or info.is_number or issubclass(cls, _LEAVES):
            opener = _nothing
            _plain.update(() if traced else (cls,))
        elif issubclass(cls, _FUNCTIONS):
            opener = _of_function
        elif issubclass(cls, Primitive):
            opener = _of_primitive
        elif hasattr(cls, "__copied_as__"):  # a function with a cache: a copy has none
            opener = lambda x: [x.__copied_as__(x)]
        elif structure is not None:
            # A user-defined class that derives from list or dict is no container, such as a tape.
            own = structure.kind in ("positions", "keys") and cls.__module__ not in _CONTAINERS
            opener = _nothing if own else _fields
        elif is_generator(cls):
            opener = _nothing
        self[cls] = opener
        return opener


_opener = _Opener()
_plain: set[type] = set()
"""Classes of numbers, text and arrays that are not traced."""
forgets(lambda: (_opener, _plain))


class _Copy:
    """A copy of a function in which some values are replaced; the rest is shared.

    Parameters
    ----------
    leaf : callable
        From a value to its replacement, usually itself.
    holders : set of int
        The ids of objects that hold values to be replaced.
    settles : bool
        Whether functions without such values are copied too, so that their cells stay unchanged.

    Attributes
    ----------
    made : dict
        From the id of each copied object to its copy.
    """

    def __init__(
        self, leaf: Callable[[Any], Any], holders: frozenset[int], *, settles: bool = False
    ) -> None:
        self._leaf, self._holders, self._settles = leaf, holders, settles
        self._cells: dict[int, types.CellType] = {}
        self.made: dict[int, Any] = {}

    def __call__(self, x: Any) -> Any:
        """Return a copy of a value, or the value itself if no copy is needed."""
        if not (id(x) in self._holders or (self._settles and isinstance(x, _FUNCTIONS))):
            return self._leaf(x)
        if id(x) not in self.made:
            self.made[id(x)] = self._copy(x)
        return self.made[id(x)]

    def _copy(self, x: Any) -> Any:
        cls = type(x)
        if cls is types.FunctionType:
            return self._copy_function(x)
        if cls is types.MethodType:
            return types.MethodType(self(x.__func__), self(x.__self__))
        if issubclass(cls, functools.partial):
            keywords = {name: self(y) for name, y in x.keywords.items()}
            return cls(self(x.func), *map(self, x.args), **keywords)
        if isinstance(x, Primitive) or hasattr(cls, "__copied_as__"):
            return self(*_opener[cls](x))
        structure: Any = structure_of(cls)
        if structure is not None:
            values = [self(y) for _, y in fields_of(x)]
            if cls is _Unfilled and not self._settles:
                return rebuild(values[0], values[1:])
            return rebuild(x, values) if structure.hollow else _Unfilled((x, *values))
        new = self.made[id(x)] = copy.copy(x)  # before it is filled, as it may contain itself
        if new is x:
            raise NotDifferentiableError(
                f"a function holds {describe(x)}, in which there is a value that is being "
                f"differentiated, and that makes no copies of itself: pass the value as an operand"
            )
        for name, y in attributes(x).items():
            object.__setattr__(new, name, self(y))
        return new

    def _copy_function(self, f: types.FunctionType) -> types.FunctionType:
        cells = tuple([self._cell(cell) for cell in f.__closure__ or ()])
        new = types.FunctionType(f.__code__, f.__globals__, f.__name__, None, cells)
        self.made[id(f)] = new  # before it is filled, as it may contain itself
        new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, f.__doc__
        new.__dict__.update(f.__dict__)
        for cell, fresh in zip(f.__closure__ or (), cells, strict=True):
            if fresh is not cell and content(fresh, fresh) is fresh:
                fresh.cell_contents = self(cell.cell_contents)
        new.__defaults__ = f.__defaults__ and tuple(map(self, f.__defaults__))
        new.__kwdefaults__ = f.__kwdefaults__ and {n: self(y) for n, y in f.__kwdefaults__.items()}
        return new

    def _cell(self, cell: types.CellType) -> types.CellType:
        """Return an empty cell if the content is replaced or kept, else the cell itself."""
        held = content(cell, self)
        exchanged = id(held) in self._holders or self._leaf(held) is not held
        # A cell that is not assigned yet is filled by the assignment.
        if held is self or not (self._settles or exchanged):
            return cell
        return self._cells.setdefault(id(cell), types.CellType())


def _name(f: Any) -> str:
    return getattr(f, "__name__", None) or type(f).__name__
