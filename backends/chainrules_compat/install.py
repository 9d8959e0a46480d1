"""Functions put into the namespace of another engine, and taken out again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from typing import Any, final

from chainrules_py import NoRuleError
from chainrules_py.extend import aliases, describe, see

ABSENT: Any = object()
"""What stands where nothing does."""


@final
class _Place:
    """An entry of a table: what the engine had there, and above it all that is installed there."""

    __slots__ = ("key", "layers", "table")

    def __init__(self, table: MutableMapping[Any, Any], key: Any) -> None:
        self.table = table
        self.key = key
        self.layers: list[tuple[Any]] = [(table.get(key, ABSENT),)]

    def put(self, layer: tuple[Any]) -> None:
        """Put something on top."""
        self.layers.append(layer)
        self._show()

    def take(self, layer: tuple[Any]) -> None:
        """Take something out, from wherever it is by now."""
        self.layers = [one for one in self.layers if one is not layer]
        self._show()

    def _show(self) -> None:
        (value,) = self.layers[-1]
        if value is not ABSENT:
            self.table[self.key] = value
        elif self.key in self.table:
            del self.table[self.key]


_places: dict[tuple[int, Any], _Place] = {}
"""Where anything is installed; a place keeps its table, so that no other gets its number."""


def found_below(table: MutableMapping[Any, Any], key: Any) -> Any:
    """Return a table's entry under a key, below what is installed there, or `ABSENT`."""
    place = _places.get((id(table), key))
    return table.get(key, ABSENT) if place is None else place.layers[0][0]


@final
class Installed:
    """Installation made by an adapter's ``install``; as a context manager, it ends with the block.

    First it is told all that is to be put somewhere; then `put` does so, with all of it or nothing.
    Where several are installed in one place, the last is on top, and they may be removed in any
    order.

    Parameters
    ----------
    space : module
        Where the functions are put, under their names behind it.

    Attributes
    ----------
    names : tuple of str
        The names in that namespace of what is ours now, or was added to.

    Examples
    --------
    >>> import types
    >>> space = types.SimpleNamespace(__name__="engine", sin="theirs")
    >>> one, two = Installed(space), Installed(space)
    >>> one.attribute("sin", "ours")
    >>> two.attribute("sin", "another")
    >>> with one.put(), two.put():
    ...     one.remove()
    ...     print(space.sin, two)
    another <installed in engine: sin>
    >>> space.sin
    'theirs'
    """

    def __init__(self, space: Any) -> None:
        self._space = space
        self._meant: list[tuple[str, MutableMapping[Any, Any], Any, Any]] = []
        self._done: list[tuple[str, _Place, tuple[Any]]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The names, as long as they are installed."""
        return tuple(dict.fromkeys([name for name, _, _ in self._done]))

    def attribute(self, name: str, value: Any) -> None:
        """Have a function put under a name with dots, in place of what is there.

        Raises
        ------
        NoRuleError
            If there is no namespace to put it into, or it is no function.
        """
        path, _, last = name.rpartition(".")
        where = find(self._space, path) if path else self._space
        if not isinstance(getattr(where, "__dict__", None), dict):  # a class has no such table
            msg = (
                f"install({name!r}): {self._space.__name__} has no namespace {path!r} to put a "
                f"function into; install it under a name of its own, install({last}=function)"
            )
            raise NoRuleError(msg)
        self.entry(name, vars(where), last, value)

    def entry(self, name: str, table: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """Have an entry put into a table of the engine's that belongs to a function."""
        self._meant.append((name, table, key, value))

    def put(self) -> Installed:
        """Put in place all that is to be; if that fails, nothing is."""
        meant, self._meant = self._meant, []
        try:
            for name, table, key, value in meant:
                place = _places.setdefault((id(table), key), _Place(table, key))
                layer = (value,)
                self._done.append((name, place, layer))
                place.put(layer)
        except BaseException:
            self.remove()
            raise
        return self

    def remove(self) -> None:
        """Take all of it out again; what else is installed in the same places stays."""
        while self._done:
            _, place, layer = self._done[-1]
            place.take(layer)
            if len(place.layers) == 1:
                _places.pop((id(place.table), place.key), None)
            del self._done[-1:]

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.remove()
        finally:
            self.remove()  # what an interrupt has left

    def __repr__(self) -> str:
        names = self.names
        shown = ", ".join(names) if len(names) < 30 else f"{len(names)} functions"
        return f"<installed in {self._space.__name__}: {shown or 'nothing'}>"


def original(space: Any, name: str) -> Any:
    """Return an engine's own object under a dotted name, below all that is installed, or None."""
    path, _, last = name.rpartition(".")
    where = find(space, path) if path else space
    if not hasattr(where, "__dict__"):
        return None
    found = found_below(vars(where), last)
    if found is not ABSENT:
        return found
    return None if last in vars(where) else getattr(where, last, None)


def chosen(
    library: Any, names: Iterable[str], functions: dict[str, Callable[..., Any]]
) -> dict[str, Callable[..., Any]]:
    """Choose what to install by name: functions of a library that have rows, and others.

    Raises
    ------
    NoRuleError
        If the library has no function of a name, or there is no rule for it; if one of the others
        is no function.
    """
    for name, function in functions.items():
        if not callable(function):
            msg = (
                f"install({name}={describe(function)}): it cannot be called, so that there is "
                f"nothing to install; give a function that has a rule"
            )
            raise NoRuleError(msg)
    return {name: native_of(library, name) for name in names} | functions


def native_of(library: Any, name: str) -> Callable[..., Any]:
    """Find the function of a library that stands under a name, and has a row.

    Raises
    ------
    NoRuleError
        If the library has no such function, or there is no rule for it.
    """
    native = find(library, name)
    see(native, ())
    if native is None or native not in aliases:
        msg = (
            f"install({name!r}): there is no rule for a function {library.__name__}.{name}; give "
            f"functions of your own by name, install({name.rpartition('.')[2]}=function)"
        )
        raise NoRuleError(msg)
    return native  # type: ignore[no-any-return]


def find(space: Any, name: str) -> Any:
    """Find the object that stands under a name with dots, or None."""
    for part in name.split("."):
        space = getattr(space, part, None)
    return space
