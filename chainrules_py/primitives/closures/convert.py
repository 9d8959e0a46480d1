"""Closure conversion: values that a function captured become operands.

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

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, final

from chainrules_py.errors import NotDifferentiableError, describe
from chainrules_py.primitives.closures.copy import Copy
from chainrules_py.primitives.closures.search import Search
from chainrules_py.values.arrays import Tracer
from chainrules_py.values.pytree import flatten
from chainrules_py.values.structure import fields_of, is_structure_type, rebuild, register_structure
from chainrules_py.values.tracers import find_tracers
from chainrules_py.values.type_info import type_info


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
    hollow=True,
)


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
    copies : list
        What was copied for these values, once the function is filled: objects, containers, and the
        cells and globals of functions.
    """

    __slots__ = ("_filled", "_made", "captured", "copies", "name", "template")

    def __init__(
        self, template: Any, made: frozenset[int], captured: tuple[Any, ...], name: str
    ) -> None:
        self.template = template
        self.captured = captured
        self.name = name
        self._made = made
        self._filled: Any = None
        self.copies: list[Any] = []

    def __call__(self, *operands: Any) -> Any:
        """Call the function, with the values as they are now in it."""
        return self.filled()(*operands)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.filled(), name)

    def filled(self) -> Any:
        """Rebuild the original callable, with the values as they are now in it."""
        if self._filled is None:
            values = self.captured
            filling = Copy(
                lambda x: values[x.n] if type(x) is Hole else x, lambda x: id(x) in self._made
            )
            self._filled = filling(self.template)
            self.copies = [x for x in filling.made if type(x) not in CODE] + filling.fresh
        return self._filled

    def around(self, captured: Iterable[Any]) -> Closure:
        """Make the same function around other values."""
        return Closure(self.template, self._made, tuple(captured), self.name)

    def __repr__(self) -> str:
        return f"<{self.name} around {describe(self.captured)}>"


register_structure(
    Closure,
    lambda c: list(enumerate(c.captured)),
    lambda c, values: c.around(values),
    hollow=True,
)


def closed(f: Any, is_captured: Callable[[Any], bool] | None = None) -> Any:
    """Pair a function with the traced values that it captured.

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
    found = _is_tracer if is_captured is None else is_captured
    search = Search(found)
    search.look(f)
    if not search.found:
        return f
    opens = is_structure_type(type(f))
    if opens and {*map(id, filter(found, flatten(f)[0]))} == {*map(id, search.found)}:
        return f
    holes = {id(x): Hole(n) for n, x in enumerate(search.found)}
    tainted = search.tainted()
    copying = Copy(lambda x: holes.get(id(x), x), lambda x: id(x) in tainted)
    template = copying(f)
    made = frozenset(map(id, copying.made))
    return Closure(template, made, tuple(search.found), _name(f))


def traced_in(f: Any) -> list[Any]:
    """List the traced values that a function captured, itself or by what it calls."""
    search = Search(_is_tracer)
    search.look(f)
    return search.found


def settled(f: Any) -> Any:
    """Make a function see the names from outside as they are now.

    A backward function calls it long after the call that it belongs to. By then a loop has gone on,
    and Python would show it the last version of each name. The functions that it calls by such
    names are settled as well; names that a function assigns to itself stay shared.

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
        made = f._made
        copying = Copy(_same, lambda x: id(x) in made or isinstance(x, CODE), settle=True)
        template = copying(f.template)
        return Closure(template, frozenset(map(id, copying.made)), f.captured, f.name)
    if isinstance(f, CODE):
        return Copy(_same, lambda x: isinstance(x, CODE), settle=True)(f)
    if is_structure_type(type(f)):
        return rebuild(f, [settled(x) if callable(x) else x for _, x in fields_of(f)])
    return f


CODE = (types.FunctionType, types.MethodType, functools.partial)


def _same(x: Any) -> Any:
    return x


def _is_tracer(x: Any) -> bool:
    """Tell whether a value is traced, by an engine of ours or by another one."""
    cls = type(x)
    return issubclass(cls, Tracer) or type_info(cls).host is not None


def _name(f: Any) -> str:
    return getattr(f, "__name__", None) or type(f).__name__


def refuse_traced(y: Any, f: Any, word: str) -> Any:
    """Return the result of a function that was given nothing traced; raise if it is traced.

    Raises
    ------
    NotDifferentiableError
        If it is: the function uses a value that is being differentiated and was not found in it.
    """
    if find_tracers(y):
        msg = (
            f"{_name(f)}, given to {word}, gave {describe(y)}, and nothing that it was given is "
            f"being differentiated: it uses such a value from a place where it cannot be found; "
            f"pass the value as a parameter, behind the other operands of {word}"
        )
        raise NotDifferentiableError(msg)
    return y
