"""Reading numbers as a result's, or as real ones, where derivatives are computed of them."""

from __future__ import annotations

import functools
from typing import Any

from chainrules_py.ops.manipulation import astype
from chainrules_py.primitives.plugins import see
from chainrules_py.tangents.space import dtype_kind, kind_of, refuse_numbers, widened
from chainrules_py.values.caches import forgets
from chainrules_py.values.type_info import type_info

_RANKS = {"bool": 0, "int": 1, "real": 2, "complex": 3}


def promoted(x: Any, like: Any) -> Any:
    """Promote an operand as the function itself does: to the result's dtype, if that holds it.

    A partial of its own would find a float16 logarithm of int8, and none of a negative real number
    whose power is complex.
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
    """Return a result and its operands as a partial takes them: promoted, and no whole numbers.

    What a partial computes is another number than the result, and may wrap where that does not.
    """
    dtype = getattr(y, "dtype", None)
    if dtype is None:
        return (y, *[promoted(x, y) for x in xs])
    if whole_of(type(y))[dtype]:
        return tuple([real_numbers(x) for x in (y, *xs)])
    return (y, *[x if getattr(x, "dtype", None) is dtype else promoted(x, y) for x in xs])


def real_numbers(x: Any, like: Any = None) -> Any:
    """Read whole numbers as real ones: as wide as a result, or as the library's own."""
    dtype = getattr(x, "dtype", None)
    if dtype is None or (kind := kind_of(x)) not in ("int", "bool", "other"):
        return x
    if kind == "other":
        refuse_numbers(x)
    if kind_of(like) == "real":
        return promoted(x, like)
    return widened(x)


def counts(x: Any, _: Any = None) -> Any:
    """Read small or unsigned whole numbers, as an order, with those of the library's own dtype."""
    wide = getattr(type_info(type(x)).namespace, "int64", None)
    small = kind_of(x) == "int" and not str(x.dtype).endswith(("int32", "int64"))
    return astype(x, dtype=wide) if wide is not None and (small or "uint" in str(x.dtype)) else x


class Whole(dict[Any, bool]):
    """Whether numbers of a dtype are no real ones: whole, truths, objects; for one array class."""

    def __init__(self, like: type) -> None:
        self.like = like
        see(None, (like,))

    def __missing__(self, dtype: Any) -> bool:
        found = self[dtype] = dtype_kind(dtype, self.like) not in ("real", "complex")
        return found


whole_of: Any = functools.cache(lambda cls: Whole(type_info(cls).dispatch_type))
"""The `Whole` of a class of arrays."""
forgets(lambda: (whole_of,))
