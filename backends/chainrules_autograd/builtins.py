"""Python's types, which autograd wraps: here containers of traced values are plain containers."""

from __future__ import annotations

import builtins
from typing import Any

from chainrules_autograd.tracer import getval, isbox

dict, list, tuple = builtins.dict, builtins.list, builtins.tuple
DictBox, SequenceBox = builtins.dict, builtins.list
isinstance_, type_ = builtins.isinstance, builtins.type

__all__ = ["DictBox", "SequenceBox", "dict", "isinstance", "list", "tuple", "type"]


def isinstance(x: Any, cls: Any) -> bool:
    """Return whether a value, or the payload of a traced one, is of a class.

    Examples
    --------
    >>> isinstance(2.0, float)
    True
    """
    return builtins.isinstance(x, cls) or (isbox(x) and builtins.isinstance(getval(x), cls))


def type(x: Any, *rest: Any) -> Any:
    """Return the type of a value, or of the payload of a traced one.

    Examples
    --------
    >>> type(2.0)
    <class 'float'>
    """
    return builtins.type(x, *rest) if rest or not isbox(x) else builtins.type(getval(x))
