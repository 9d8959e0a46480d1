"""Promotion of operands for partial derivatives: to a result's dtype, or to real numbers."""

import functools
from collections.abc import Callable
from typing import Any

from chainrules_py.ops.manipulation import astype
from chainrules_py.primitives.plugins import see
from chainrules_py.tangents.space import dtype_kind, kind_of, refuse_numbers, widened
from chainrules_py.values.caches import forgets
from chainrules_py.values.type_info import type_info

_RANKS = {"bool": 0, "int": 1, "real": 2, "complex": 3}


def promoted(x: Any, like: Any) -> Any:
    """Promote an operand to the result's dtype, as the function does, unless its kind is higher.

    Otherwise a partial would compute a float16 logarithm of int8, and no logarithm of a negative
    real number whose power is complex.
    """
    dtype, have = getattr(like, "dtype", None), getattr(x, "dtype", None)
    if have is dtype and dtype is not None:
        return x
    rank, wanted = _RANKS.get(kind_of(x), 4), _RANKS.get(kind_of(like), 0)
    if rank > wanted or wanted < 2:
        return x
    if have is None or dtype is None:
        return x + 0j if rank < wanted == 3 else x
    return x if have == dtype else astype(x, dtype=dtype)


def numbers_like(y: Any, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a result and its operands promoted for a partial, with integers made real.

    An integer partial could overflow where the integer result does not.
    """
    dtype = getattr(y, "dtype", None)
    if dtype is None:
        return (y, *[promoted(x, y) for x in xs])
    if whole_of(type(y))[dtype]:
        return tuple([real_numbers(x) for x in (y, *xs)])
    return (y, *[x if getattr(x, "dtype", None) is dtype else promoted(x, y) for x in xs])


def real_numbers(x: Any, like: Any = None) -> Any:
    """Convert integers to real numbers: of the dtype of ``like``, or of the library's default."""
    dtype = getattr(x, "dtype", None)
    if dtype is None or (kind := kind_of(x)) not in ("int", "bool", "other"):
        return 1.0 * x if dtype is None and type_info(type(x)).dispatch_type is int else x
    if kind == "other":
        refuse_numbers(x)
    return promoted(x, like) if like is not None and kind_of(like) == "real" else widened(x)


class ByDtype(dict[Any, Any]):
    """Table by dtypes of a class of arrays, filled by ``make(kind, dtype)`` on first use."""

    def __init__(self, like: type, make: Callable[[str, Any], Any]) -> None:
        super().__init__()
        self.like, self.make = like, make

    def __missing__(self, dtype: Any) -> Any:
        return self.setdefault(dtype, self.make(dtype_kind(dtype, self.like), dtype))


def _whole(cls: type) -> ByDtype:
    like = type_info(cls).dispatch_type
    see(None, (like,))
    return ByDtype(like, lambda kind, _: kind not in ("real", "complex"))


whole_of: Any = functools.cache(_whole)
"""Of a class of arrays, the dtypes that are neither real nor complex: integer, boolean, object."""
forgets(lambda: (whole_of,))
