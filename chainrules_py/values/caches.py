"""What is remembered of classes and functions, and when it is forgotten.

Much is found out once for each class and function, and kept in tables. It is forgotten when a class
is registered, as that may change it. And a class that a function makes would live as long as the
program. So all is forgotten when enough was found out of what is not there for good, and what lives
on is looked at again.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable
from pickle import PicklingError, UnpicklingError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import inspect

_tables: list[Callable[[], Iterable[Any]]] = []
_forgetting: list[Callable[[], None]] = []
named: list[type] = [types.FunctionType]
"""Classes of what is known by module and name."""
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
"""The flag of classes that are made while a program runs, as those of Python's code are."""
_MOST = 256
"""How many classes that come and go may be known, and an eighth of the entries of tables."""


class News:
    """How much was found out since all was forgotten."""

    classes = 0
    entries = 0


def forgets(tables: Callable[[], Iterable[Any]]) -> Any:
    """Say what gives tables that are forgotten: dicts, sets, and cached functions.

    Their keys are classes and functions, or tuples of these and other things. Entries go while
    anybody reads: whoever goes through a table takes a copy.
    """
    _tables.append(tables)
    return tables


def on_registration(forget: Callable[[], None]) -> None:
    """Have a function called whenever a class is registered: it forgets what it knew of classes."""
    _forgetting.append(forget)


def forget_all() -> None:
    """Forget what is known of all classes: one was registered."""
    for forget_those in _forgetting:
        forget_those()
    forget()


def forget() -> None:
    """Empty all tables: too much in them may be of classes and functions that are gone."""
    News.classes = News.entries = 0
    for table in [table for tables in _tables for table in tables()]:
        (table.cache_clear if hasattr(table, "cache_clear") else table.clear)()


def entering(cls: type) -> None:
    """Note that something is found out of a class."""
    News.classes += not is_lasting(cls)
    if News.classes >= _MOST:
        forget()


def filling() -> None:
    """Note that a table gets an entry."""
    News.entries += 1
    if News.entries >= 8 * _MOST:
        forget()


def is_lasting(x: Any) -> bool:
    """Tell whether an object is there for good: a class or function that a module has by its name.

    Examples
    --------
    >>> is_lasting(float), is_lasting(is_lasting), is_lasting(lambda: None)
    (True, True, False)
    """
    if isinstance(x, type):
        if not x.__flags__ & HEAP_TYPE:
            return True
        for base in x.__mro__:  # classes of tangents and of tracers go with what they are for
            made_for = base.__dict__.get("__made_for__") or base.__dict__.get("__dispatch_type__")
            if made_for is not None:
                return made_for is not x and is_lasting(made_for)
    elif not isinstance(x, tuple(named)):
        return True
    found: Any = sys.modules.get(x.__module__ or "")
    # A library may have what it made itself under another name.
    otherwise = "-packages" in (getattr(found, "__file__", None) or "")
    for name in x.__qualname__.split("."):
        found = getattr(found, "__dict__", {}).get(name)
    return found is x or (found is None and otherwise and "<locals>" not in x.__qualname__)


def by_name(x: Any) -> Any:
    """Return what pickles an object that its module has by its name."""
    name = str(x.__qualname__)
    return (_of_script, (name,)) if x.__module__ == "__main__" else name


def _of_script(name: str) -> Any:
    found: Any = sys.modules["__main__"]
    try:
        return functools.reduce(getattr, name.split("."), found)
    except AttributeError as error:
        msg = (
            f"{name} was defined in a script, and this process, which was sent it, does not run "
            f"that script; define it in a module that both import"
        )
        raise UnpicklingError(msg) from error


def made_again(
    x: Any, maker: Callable[..., Any], operands: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """Return what pickles an object by the name that it has itself, or as the call that made it."""
    found: Any = sys.modules.get(getattr(x, "__module__", None) or "")
    for part in getattr(x, "__qualname__", "").split("."):
        found = getattr(found, part, None)
    return by_name(x) if found is x else (functools.partial(maker, **keywords), operands)


def checked_name(x: Any, where: str, rules: Iterable[Any]) -> Any:
    """Return what pickles something by name; raise where no module has it, or its rules."""
    if not is_lasting(x):
        stated = "".join([f", with {rule!r}," for rule in rules])
        msg = (
            f"{x!r} ({where}){stated} cannot be pickled: no module has it under its name; define "
            f"it at the top level of a module that can be imported, under the name of its function"
        )
        raise PicklingError(msg)
    return by_name(x)


class _of_instances:  # noqa: N801
    """A property that the class does not have, as `inspect.signature` of the class wants it."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError(self._function.__name__)
        return self._function(instance)


class Made(functools.partial[Any]):
    """A function that is pickled as the call that made it, or by the name that it has itself."""

    recipe: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = None
    returned: Callable[[inspect.Signature], Any] | None = None
    """What annotates the result, where it is another than that of the function it stands for."""

    @_of_instances
    def __signature__(self) -> inspect.Signature:
        import inspect  # which the core does without

        # `inspect.getfullargspec` follows no `__wrapped__`, and takes what has `__get__` for C.
        try:
            found = inspect.signature(self.__wrapped__)  # type: ignore[attr-defined]
        except ValueError as error:  # of what is built in
            raise AttributeError(*error.args) from None
        of = self.returned
        return found if of is None else found.replace(return_annotation=of(found))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        if self.recipe is None:  # a copy, which knows other values
            msg = f"{self!r} is a copy within a differentiation, and cannot be pickled"
            raise PicklingError(msg)
        return made_again(self, *self.recipe)

    def __repr__(self) -> str:
        f = None if self.recipe is None else self.recipe[1][0]
        of = getattr(f, "__qualname__", type(f).__name__).rpartition("<locals>.")[2]
        return f"<{self.func.__name__}{'' if f is None else ' of ' + of}>"


def made(
    call: Callable[..., Any], f: Any, maker: Callable[..., Any], *operands: Any, **keywords: Any
) -> Any:
    """Return a function that stands for another, f, and that ``maker(f, *operands)`` made.

    Parameters
    ----------
    call : callable
        What it does.
    f : callable
        Whose name and signature it has.
    maker, operands, keywords
        What makes it again.
    """
    found = Made(call)
    found.recipe = maker, (f, *operands), keywords
    names = ("__module__", "__name__", "__qualname__", "__doc__")
    return functools.update_wrapper(found, f, names, ())
