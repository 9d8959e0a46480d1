"""Functions put into the namespace of another engine, and taken out again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

from chainrules_py import loading
from chainrules_py.alias import aliases
from chainrules_py.errors import NoRuleError

__all__ = ["Installed", "find", "native_of"]

_ABSENT = object()


@final
class Installed:
    """What ``install`` of an adapter put in place. As a context manager it is removed at the end.

    Parameters
    ----------
    space : module
        Where the functions were put, under their names behind it.

    Attributes
    ----------
    names : tuple of str
        The names in that namespace of what is ours now, or was added to.

    Examples
    --------
    >>> import types
    >>> space = types.SimpleNamespace(__name__="engine", sin="theirs")
    >>> with Installed(space) as installed:
    ...     installed.attribute("sin", "ours")
    ...     print(space.sin, installed)
    ours <installed in engine: sin>
    >>> space.sin
    'theirs'
    """

    def __init__(self, space: Any) -> None:
        self._space = space
        self._undo: list[tuple[str, Callable[[], None]]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The names, as long as they are installed."""
        return tuple(dict.fromkeys([name for name, _ in self._undo]))

    def attribute(self, name: str, value: Any) -> None:
        """Put a function under a name with dots, in place of what is there."""
        path, _, last = name.rpartition(".")
        where = find(self._space, path) if path else self._space
        before = vars(where).get(last, _ABSENT)

        def undo() -> None:
            if before is _ABSENT:
                delattr(where, last)
            else:
                setattr(where, last, before)

        self._undo.append((name, undo))
        setattr(where, last, value)

    def entry(self, name: str, table: dict[Any, Any], key: Any, value: Any) -> None:
        """Put an entry into a table of the engine's that belongs to a function."""
        before = table.get(key, _ABSENT)

        def undo() -> None:
            if before is _ABSENT:
                del table[key]
            else:
                table[key] = before

        self._undo.append((name, undo))
        table[key] = value

    def remove(self) -> None:
        """Put everything back as it was."""
        for _, undo in reversed(self._undo):
            undo()
        self._undo = []

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        names = self.names
        shown = ", ".join(names) if len(names) < 30 else f"{len(names)} functions"
        return f"<installed in {self._space.__name__}: {shown or 'nothing'}>"


def native_of(library: Any, name: str) -> Callable[..., Any]:
    """The function of a library that stands under a name, and has a row.

    Raises
    ------
    NoRuleError
        If the library has no such function, or there is no rule for it.
    """
    native = find(library, name)
    loading.see(native, ())
    if native is None or native not in aliases:
        msg = (
            f"install({name!r}): there is no rule for a function {library.__name__}.{name}; give "
            f"functions of your own by name, install({name.rpartition('.')[2]}=function)"
        )
        raise NoRuleError(msg)
    return native  # type: ignore[no-any-return]


def find(space: Any, name: str) -> Any:
    """What stands under a name with dots, or None."""
    for part in name.split("."):
        space = getattr(space, part, None)
    return space
