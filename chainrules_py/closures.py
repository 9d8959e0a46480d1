"""Functions with what they captured in their hands.

A function that is handed to a word may use values that it was not given: in the cells of its
closure, in its defaults, in the object that it is a method of, among the globals of its module. If
one of them is being differentiated, its derivative must not be lost. `closed` finds such values
and gives a `Closure`: the same function as a structure, whose fields are the values. Every engine
knows how to open a structure, so to each level of differentiation the captured values are operands
as any other.

What no search can find (in a database, behind C code) is noticed by `refuse_traced`: a function
that was given nothing traced, and gives a traced value, knows one that was hidden.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, final

from chainrules_py import arrays
from chainrules_py.captures import assigned_names, global_names
from chainrules_py.config import Config
from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitive import Primitive, find_tracers
from chainrules_py.structure import (
    fields_of,
    is_structure_type,
    rebuild,
    register_structure,
    structure_of,
)

__all__ = [
    "Closure",
    "HigherOrder",
    "Operator",
    "closed",
    "refuse_hidden",
    "refuse_traced",
    "settled",
]

_MOST = 10_000
"""How many values are looked at in one function; what lies beyond is left to `refuse_traced`."""

_LEAVES = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    bytearray,
    range,
    slice,
    type,
    types.ModuleType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.FrameType,
    types.GeneratorType,
    Primitive,
    Config,
)


_LASTING = (types.ModuleType, type, types.BuiltinFunctionType)
"""Globals that programs do not rebind."""


class Operator:
    """A base of functions made from functions: all that they know stands in their fields.

    A subclass names them in ``FIELDS``. It is a structure of them, as a dataclass is, whose module
    costs more to import than all operators are long.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *values: Any) -> None:
        self.__dict__.update(zip(self.FIELDS, values, strict=True))

    def __repr__(self) -> str:
        shown = ", ".join(describe(value) for _, value in fields_of(self))
        return f"{type(self).__name__}({shown})"


register_structure(
    Operator,
    lambda x: [(name, getattr(x, name)) for name in x.FIELDS],
    lambda x, values: type(x)(*values),
)


class HigherOrder(Primitive[..., Any]):
    """A word among whose operands are functions: what they captured is found before the call."""

    def __call__(self, *operands: Any, **options: Any) -> Any:
        """Compute it, or have the highest tracer among operands and captured values trace it."""
        found = [closed(x) if callable(x) else x for x in operands]
        return super().__call__(*found, **options)


@final
class Hole:
    """Stands in a template for the n-th captured value."""

    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n = n


@final
class Closure:
    """A function as a structure of the values that it captured.

    Attributes
    ----------
    captured : tuple
        The values.
    template : object
        The function, with a `Hole` for each.
    """

    __slots__ = ("_filled", "_made", "captured", "name", "template")

    def __init__(
        self, template: Any, made: frozenset[int], captured: tuple[Any, ...], name: str
    ) -> None:
        self.template = template
        self.captured = captured
        self.name = name
        self._made = made
        self._filled: Any = None

    def __call__(self, *operands: Any) -> Any:
        """Call the function, with the values as they are now in it."""
        return self.filled()(*operands)

    def filled(self) -> Any:
        """What it was made of, with the values as they are now in it."""
        if self._filled is None:
            values = self.captured
            filling = _Copy(
                lambda x: values[x.n] if type(x) is Hole else x, lambda x: id(x) in self._made
            )
            self._filled = filling(self.template)
        return self._filled

    def around(self, captured: Iterable[Any]) -> Closure:
        """The same function around other values."""
        return Closure(self.template, self._made, tuple(captured), self.name)

    def __repr__(self) -> str:
        return f"<{self.name} around {describe(self.captured)}>"


register_structure(
    Closure, lambda c: list(enumerate(c.captured)), lambda c, values: c.around(values)
)


def closed(f: Any, is_captured: Callable[[Any], bool] | None = None) -> Any:
    """A function together with the traced values that it captured.

    Parameters
    ----------
    f : callable
        A function, a method, a `functools.partial`, or an object that is called.
    is_captured : callable, optional
        Says of a value whether it is one to be found; by default, whether it is a tracer. An
        engine whose traced values are no `Tracer` says which they are.

    Returns
    -------
    callable
        f itself if it captured none, or is a structure that holds them all in its fields; else a
        `Closure`.

    Notes
    -----
    Looked at are the cells of closures, defaults, globals that the code names (but for code of
    libraries), what a method belongs to, partial arguments, and the fields and attributes of
    objects. Copies are made only of what holds such a value: a list that f appends
    to stays the same list.

    Examples
    --------
    >>> from chainrules_tape import Tape
    >>> with Tape() as tape:
    ...     a = tape.variable(2.0)
    ...     f = closed(lambda x: a * x)
    >>> f
    <<lambda> around (Variable[float],)>
    >>> f.around((5.0,))(3.0)
    15.0
    """
    if isinstance(f, (Closure, Operator)):
        return f
    test = _is_tracer if is_captured is None else is_captured
    search = _Search(test)
    search.look(f)
    if not search.found:
        return f
    if is_structure_type(type(f)) and {*map(id, find_tracers(f))} == {*map(id, search.found)}:
        return f
    holes = {id(x): Hole(n) for n, x in enumerate(search.found)}
    tainted = search.tainted()
    copying = _Copy(lambda x: holes.get(id(x), x), lambda x: id(x) in tainted)
    template = copying(f)
    made = frozenset(map(id, copying.made))
    return Closure(template, made, tuple(search.found), _name(f))


def settled(f: Any) -> Any:
    """A function that sees the names from outside as they are now.

    A backward function calls it long after the call that it belongs to. By then a loop has gone on,
    and Python would show it the last version of each name. The functions that it calls by such
    names are settled as well; names that a function assigns to itself stay shared.

    Examples
    --------
    >>> factor = 2.0
    >>> f = settled(lambda x: factor * x)
    >>> factor = 3.0
    >>> f(1.0)
    2.0
    """
    if isinstance(f, Closure):
        made = f._made
        copying = _Copy(_same, lambda x: id(x) in made or isinstance(x, _CODE), settle=True)
        template = copying(f.template)
        return Closure(template, frozenset(map(id, copying.made)), f.captured, f.name)
    if not isinstance(f, _CODE):
        return f
    return _Copy(_same, lambda x: isinstance(x, _CODE), settle=True)(f)


_CODE = (types.FunctionType, types.MethodType, functools.partial)


def _same(x: Any) -> Any:
    return x


def _is_tracer(x: Any) -> bool:
    """Whether a value is traced, by an engine of ours or by another one."""
    cls = type(x)
    return arrays.is_tracer_type(cls) or arrays.host_of(cls) is not None


def _name(f: Any) -> str:
    return getattr(f, "__name__", None) or type(f).__name__


def refuse_traced(y: Any, f: Any, word: str) -> Any:
    """A result of a function that was given nothing traced; an error if it is traced.

    Raises
    ------
    NotDifferentiableError
        If it is: the function uses a value that is being differentiated and was not found in it.
    """
    if find_tracers(y):
        raise NotDifferentiableError(_hidden(y, f, word))
    return y


def refuse_hidden(y: Any, word: Primitive[..., Any], f: Any, operands: tuple[Any, ...]) -> Any:
    """A result of a function; an error if it is traced at a level that no operand is of.

    Raises
    ------
    NotDifferentiableError
        If it is, as in `refuse_traced`.
    """
    levels = [x.level for x in find_tracers((f, *operands))]
    if any(x.level > max(levels, default=0) for x in find_tracers(y)):
        raise NotDifferentiableError(_hidden(y, f, word.__name__))
    return y


def _hidden(y: Any, f: Any, word: str) -> str:
    return (
        f"{_name(f)}, given to {word}, gave {describe(y)}, and nothing that it was given is being "
        f"differentiated: it uses such a value from a place where it cannot be found; pass the "
        f"value as a parameter, behind the other operands of {word}"
    )


# ----------------------------------------------------------------------------------- the search


class _Search:
    """A walk over all that a function knows, which notes who holds whom."""

    def __init__(self, is_captured: Callable[[Any], bool]) -> None:
        self.is_captured = is_captured
        self.found: list[Any] = []
        self.holders: dict[int, list[int]] = {}
        self._seen: dict[int, Any] = {}  # which also keeps ids from being given again

    def look(self, f: Any) -> None:
        """Visit a function and all that can be reached from it, each once."""
        waiting = [f]
        while waiting and len(self._seen) < _MOST:
            x = waiting.pop()
            if id(x) in self._seen:
                continue
            self._seen[id(x)] = x
            if self.is_captured(x):
                self.found.append(x)
                continue
            held = [y for y in _held(x) if not isinstance(y, _LEAVES)]
            held += [y for y in self._named(x) if not isinstance(y, _LEAVES)]
            for y in held:
                self.holders.setdefault(id(y), []).append(id(x))
            waiting.extend(reversed(held))  # so that values are found in the order of reading

    def _named(self, x: Any) -> Iterable[Any]:
        """The globals that a function names, if it is part of the program.

        Those of libraries know no values of it, and there are very many of them.
        """
        if type(x) is not types.FunctionType or _is_of_library(x):
            return ()
        return _globals_of(x).values()

    def tainted(self) -> set[int]:
        """The values from which a captured one can be reached."""
        reached: set[int] = set()
        waiting = [id(x) for x in self.found]
        while waiting:
            for holder in self.holders.get(waiting.pop(), ()):
                if holder not in reached:
                    reached.add(holder)
                    waiting.append(holder)
        return reached


def _held(x: Any) -> Iterator[Any]:
    """What a value knows directly."""
    kind = type(x)
    if kind is types.FunctionType:
        yield from (_content(cell) for cell in x.__closure__ or ())
        yield from x.__defaults__ or ()
        yield from (x.__kwdefaults__ or {}).values()
    elif kind is types.MethodType:
        yield x.__func__
        yield x.__self__
    elif isinstance(x, functools.partial):
        yield x.func
        yield from x.args
        yield from x.keywords.values()
    elif _is_container(kind):
        yield from (field for _, field in fields_of(x))
    elif not arrays.is_array_type(kind):
        yield from _attributes(x).values()


def _is_container(kind: type) -> bool:
    structure: Any = structure_of(kind)
    if structure is None:
        return False
    # A class that derives from list or dict is somebody's own, a tape perhaps.
    return structure.kind not in ("positions", "keys") or kind in (tuple, list, dict)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not yet assigned
        return None


def _globals_of(f: types.FunctionType) -> dict[str, Any]:
    """The globals that a function, and the functions defined in it, may look up."""
    scope = f.__globals__
    return {name: scope[name] for name in global_names(f.__code__) if name in scope}


def _is_of_library(f: types.FunctionType) -> bool:
    return _is_library(f.__globals__.get("__name__", "__main__"))


@functools.cache
def _is_library(name: str) -> bool:
    """Whether a module is installed, rather than part of somebody's program."""
    root = name.partition(".")[0]
    if root in sys.stdlib_module_names or root.startswith("chainrules_"):
        return root != "__main__"
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def _attributes(x: Any) -> dict[str, Any]:
    """The attributes of an object of somebody's own class."""
    found = dict(vars(x)) if hasattr(x, "__dict__") else {}
    for member in _slots(type(x)):  # type: ignore[arg-type]  # classes are hashable
        try:
            found[member.__name__] = member.__get__(x)
        except AttributeError:
            continue
    return found


@functools.cache
def _slots(cls: type) -> tuple[Any, ...]:
    return tuple(
        [
            member
            for base in cls.__mro__
            for member in base.__dict__.values()
            if isinstance(member, types.MemberDescriptorType)
        ]
    )


# ------------------------------------------------------------------------------------- the copy


class _Copy:
    """A copy in which some values are exchanged; what holds none of them is shared.

    Parameters
    ----------
    leaf : callable
        From a value to what stands in its place, most often itself.
    is_tainted : callable
        Whether a value holds one to be exchanged, or is to be copied for another reason.
    settle : bool
        Whether the functions that are copied see the names from outside as they are now.
    """

    def __init__(
        self,
        leaf: Callable[[Any], Any],
        is_tainted: Callable[[Any], bool],
        *,
        settle: bool = False,
    ) -> None:
        self.leaf = leaf
        self.is_tainted = is_tainted
        self.settle = settle
        self.made: list[Any] = []
        self._known: dict[int, Any] = {}

    def __call__(self, x: Any) -> Any:
        """The copy of a value; the value itself if there is no need of one."""
        if not self.is_tainted(x):
            return self.leaf(x)
        if id(x) not in self._known:
            self._make(x)
        return self._known[id(x)]

    def _keep(self, x: Any, new: Any) -> Any:
        self._known[id(x)] = new
        self.made.append(new)
        return new

    def _make(self, x: Any) -> None:
        kind = type(x)
        if kind is types.FunctionType:
            self._make_function(x)
        elif kind is types.MethodType:
            self._keep(x, types.MethodType(self(x.__func__), self(x.__self__)))
        elif isinstance(x, functools.partial):
            named = {name: self(y) for name, y in x.keywords.items()}
            self._keep(x, kind(self(x.func), *map(self, x.args), **named))
        elif _is_container(kind):
            self._keep(x, rebuild(x, [self(field) for _, field in fields_of(x)]))
        else:
            self._make_object(x)

    def _make_function(self, f: types.FunctionType) -> None:
        shared = assigned_names(f.__code__) if self.settle else frozenset()
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        fresh = {
            name: types.CellType()
            for name, cell in cells.items()
            if (self.settle and name not in shared) or self._changes(_content(cell))
        }
        scope, named = f.__globals__, _globals_of(f)
        if self.settle and ("global" in shared or _is_of_library(f)):
            named = {}
        elif self.settle:
            if any(not isinstance(x, _LASTING) for x in named.values()):
                scope = {n: x for n, x in scope.items() if n in ("__builtins__", "__name__")}
            else:
                named = {}
        else:
            named = {name: x for name, x in named.items() if self._changes(x)}
            scope = {**scope} if named else scope
        new = types.FunctionType(
            f.__code__, scope, f.__name__, None, tuple((cells | fresh).values())
        )
        self._keep(f, new)  # before it is filled, for it may hold itself
        new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, f.__doc__
        new.__dict__.update(f.__dict__)
        if scope is not f.__globals__:
            scope.update({name: self._named(x) for name, x in named.items()})
        for name, cell in fresh.items():
            with contextlib.suppress(ValueError):  # what is not assigned yet stays so
                cell.cell_contents = self(cells[name].cell_contents)
        new.__defaults__ = None if f.__defaults__ is None else tuple(map(self, f.__defaults__))
        if f.__kwdefaults__:
            new.__kwdefaults__ = {name: self(x) for name, x in f.__kwdefaults__.items()}

    def _named(self, x: Any) -> Any:
        """A global of a function; there is no need to settle those of libraries."""
        lasting = self.settle and type(x) is types.FunctionType and _is_of_library(x)
        return x if lasting else self(x)

    def _make_object(self, x: Any) -> None:
        new = self._keep(x, object.__new__(type(x)))
        own = getattr(new, "__dict__", {})
        for name, value in _attributes(x).items():
            if name in getattr(x, "__dict__", {}):
                own[name] = self(value)
            else:
                object.__setattr__(new, name, self(value))

    def _changes(self, x: Any) -> bool:
        return self.is_tainted(x) or self.leaf(x) is not x
