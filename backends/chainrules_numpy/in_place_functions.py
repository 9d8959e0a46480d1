"""Aliases of functions and methods that write to an array argument, and of np.add.at.

Each is expressed as ``x[...] = ...``, which a tracer records. If NumPy determines which elements
are written, and with which of the values, it is called on indices instead of values.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.function_aliases.alias_constructors import row
from chainrules_numpy.late_alias import alias
from chainrules_numpy.methods import member
from chainrules_py import TracerError
from chainrules_py import ops as v
from chainrules_py.extend import Tracer, called_beside, describe, refuse_plain, untraced, writers


def check(native: Callable[..., Any], x: Any, *operands: Any, **options: Any) -> None:
    """Raise if x cannot be written to, and if NumPy would raise."""
    if not (isinstance(x, Tracer) or getattr(getattr(x, "dtype", None), "hasobject", False)):
        traced = [a for a in (*operands, *options.values()) if isinstance(a, Tracer)]
        refuse_plain(x, traced[0])
    given = [untraced(a) for a in (x, *operands)]
    if not isinstance(given[0], np.ndarray):
        return  # it records the write itself, and raises as NumPy does
    options = {n: untraced(o) for n, o in options.items()}
    seen = [a for a in (*given[1:], *options.values()) if sees_calls(a)]
    copy = np.array(given[0], like=seen[0]) if seen else np.array(given[0])
    if seen and isinstance(native, types.MethodDescriptorType):
        getattr(copy, native.__name__)(*given[1:], **options)  # its class has the method
        return
    native(copy, *given[1:], **options)


def sees_calls(x: Any) -> bool:
    """Return whether x is an array of a class that overrides NumPy's functions."""
    return not isinstance(x, np.ndarray) and hasattr(type(x), "__array_function__")


def truths(mask: Any) -> Any:
    """Return the boolean value of each element of a mask."""
    mask = untraced(mask)
    return mask.astype(bool) if sees_calls(mask) else np.asarray(mask, bool)


def write_cycled(a: Any, where: Any, values: Any, places: Any) -> None:
    """Write values in C order at these indices, repeated cyclically; no values change nothing."""
    values = low.array_of(values)
    if values.size:
        a[where] = v.take(v.reshape(values, shape=(-1,)), places % values.size)


def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Write all elements, or those where a condition holds."""
    check(np.copyto, dst, src, casting=casting, where=where)
    src = low.array_of(src)
    dst[...] = src if where is True else v.where(low.array_of(where), src, dst)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write to each masked element the value at the same index."""
    check(np.putmask, a, mask, values)
    mask = truths(mask)
    write_cycled(a, mask, values, np.flatnonzero(mask))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write the values to the masked elements, one after the other."""
    check(np.place, arr, mask, vals)
    mask = truths(mask)
    write_cycled(arr, mask, vals, np.arange(int(np.count_nonzero(mask))))


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Fill the diagonal by a mask."""
    check(np.fill_diagonal, a, val, wrap=wrap)
    mask = np.zeros(a.shape, bool)
    np.fill_diagonal(mask, True, wrap)
    write_cycled(a, mask, val, np.arange(int(np.count_nonzero(mask))))


def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """Write at flat indices in C order."""
    check(np.put, a, ind, v, mode=mode)
    if not np.size(v):
        return  # NumPy looks at no index then
    a = np.atleast_1d(a)  # a view: without axes, NumPy knows no indices of several elements
    places = np.take(np.arange(a.size), untraced(ind), mode=mode).reshape(-1)
    write_cycled(a, np.unravel_index(places, a.shape), v, np.arange(places.size))


def put_along_axis(arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    """Write where take_along_axis reads."""
    check(np.put_along_axis, arr, indices, values, axis)
    arr = np.atleast_1d(arr)
    places = np.arange(arr.size).reshape(arr.shape)
    places = np.take_along_axis(places, untraced(indices), axis)
    arr[np.unravel_index(places, arr.shape)] = values


def fill(self: Any, value: Any) -> None:
    """Write one value everywhere."""
    check(np.ndarray.fill, self, value)
    self[...] = value


def sort(
    self: Any,
    axis: int = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: Any = None,
    descending: Any = None,
) -> None:
    """Sort by np.sort, and write the result back; descending since NumPy 2.5."""
    since = {} if descending is None else {"descending": descending}
    self[...] = np.sort(self, axis, kind, order, stable=stable, **since)


def partition(
    self: Any, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None
) -> None:
    """Partition by np.partition, and write the result back."""
    self[...] = np.partition(self, kth, axis, kind, order)


for _f, _function in (
    (np.copyto, copyto),
    (np.putmask, putmask),
    (np.place, place),
    (np.put, put),
    (np.put_along_axis, put_along_axis),
    (np.fill_diagonal, fill_diagonal),
):
    row(_f, _function, None)
    writers.add(_f)
alias(np.ndarray.fill, to=fill)
alias(np.ndarray.put, to=put, rename={"self": "a", "indices": "ind", "values": "v"})
alias(np.ndarray.sort, to=sort)
alias(np.ndarray.partition, to=partition)


def _adding(ufunc: np.ufunc, sign: int) -> Callable[..., None]:
    def at(a: Any, indices: Any, b: Any) -> None:
        check(ufunc.at, a, indices, b)
        b = called_beside(getattr(a, "home", None), low.array_of, b)
        # An empty list holds no numbers, whose dtype np.asarray could find.
        places = lambda listed: np.asarray(listed, None if np.size(listed) else np.intp)
        pattern, arrays = v.Index.split(indices, places)
        arrays = tuple(map(untraced, arrays))
        a[...] = v.scatter_add(a, b if sign > 0 else -b, *arrays, index=pattern)

    return at


for _ufunc, _sign in ((np.add, 1), (np.subtract, -1)):
    writers.add(_ufunc.at)
    alias(
        _ufunc.at,
        to=_adding(_ufunc, _sign),
        parameters={"a": None, "indices": None, "b": None},
    )


_INSTEAD = {
    "resize": "write x = np.reshape(np.pad(np.ravel(x), (0, more)), shape) for more elements, "
    "x = np.reshape(np.ravel(x)[:n], shape) for fewer",
    "setfield": "write x[...] = values + 1j * x.imag",
    "byteswap": "it changes bytes, not numbers; read the data in its own byte order before",
    "itemset": "write x[i] = value",
}


def _refusal(name: str) -> Callable[..., Any]:
    def write(x: Any, *args: Any, **keywords: Any) -> Any:
        raise TracerError(
            f"{name}() writes to the memory of {describe(x)}, which is being differentiated; "
            f"{_INSTEAD[name]}"
        )

    return write


for _name in _INSTEAD:
    member(_name, _refusal(_name), {}, rename={})
