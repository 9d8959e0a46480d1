"""Text of values that are being differentiated: for showing, and for no number to be made of it.

A program that asks for the text of a value gets that of the number or array, so that it takes the
branch that it takes by itself. The text has no derivative; so a number must not be made of it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py.errors import TracerError


class Text(str):
    """Text of a value that is being differentiated, and parts of it, of which no number is made."""

    __slots__ = ()

    def __float__(self) -> Any:
        msg = (
            f"the text {str(self)!r} of a value that is being differentiated does not become a "
            f"number: its derivative would be lost; use the value, or x.value, which is a constant"
        )
        raise TracerError(msg)

    __int__: Any = __float__

    def __radd__(self, other: str) -> str:
        return Text(other + str.__str__(self))

    def __copy__(self) -> Text:
        return self

    def __deepcopy__(self, memory: Any) -> Text:
        return self

    def __reduce__(self) -> Any:
        return str, (str.__str__(self),)


def _remaining(native: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method of texts whose result is one of a traced value as well."""

    @functools.wraps(native)
    def method(self: Text, *args: Any, **options: Any) -> Any:
        y = native(self, *args, **options)
        return Text(y) if isinstance(y, str) else type(y)(map(Text, y))

    return method


for _name in (
    *("strip", "lstrip", "rstrip", "removeprefix", "removesuffix", "replace", "translate", "join"),
    *("lower", "upper", "zfill", "ljust", "rjust", "center", "format", "split", "rsplit"),
    *("partition", "rpartition", "splitlines", "capitalize", "casefold", "expandtabs", "swapcase"),
    *("title", "__add__", "__mul__", "__rmul__", "__mod__", "__getitem__", "__str__", "__format__"),
):
    setattr(Text, _name, _remaining(getattr(str, _name)))
