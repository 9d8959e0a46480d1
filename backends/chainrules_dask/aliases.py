"""Aliases of Dask's functions and methods, derived from NumPy's where names and parameters agree.

Programs call NumPy's functions: ``np.sum(x)`` dispatches on its arguments, and ``da.sum(x)`` does
not. The aliases of Dask's functions serve `rrule` and `frule`.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from typing import Any, NoReturn

import dask.array as da
import numpy as np
from dask.tokenize import normalize_token

from chainrules_kit import derive, rows_of
from chainrules_py import Array, TracerError, linear_rule, primitive
from chainrules_py import ops as v
from chainrules_py.extend import (
    Line,
    Site,
    Tracer,
    advise,
    advisers,
    alias,
    aliases,
    array_of,
    caller,
    describe,
    remedy,
    see,
    see_all,
    static_types,
    type_info,
    untraced,
)

_METHODS = (
    *("all", "any", "argmax", "argmin", "astype", "clip", "conj", "copy", "cumprod", "cumsum"),
    *("dot", "flatten", "max", "mean", "min", "prod", "ravel", "repeat", "reshape", "round"),
    *("squeeze", "std", "sum", "swapaxes", "trace", "transpose", "var", "T", "real", "imag"),
)
left_out: list[str] = []
"""NumPy functions with an alias whose parameters differ in Dask."""


def _enter(path: str, native: Any, row: Any) -> None:
    parameters = None
    if not callable(native) or type(native) is type(da.sin):  # which have no signature
        parameters = dict.fromkeys(row.positional)
    if derive(native, row, parameters=parameters) is None:
        left_out.append(path)


def _of_floats(ufunc: Any) -> None:
    """Convert Dask's arrays for a ufunc that has no loops of integers, as its operation has."""
    row: Any = aliases[ufunc]
    general = Site(row.operation, ufunc).general

    @functools.wraps(row.operation, updated=())
    def composite(*operands: Any) -> Any:
        like = next(x for x in operands if not isinstance(x, list | tuple))
        xs = [array_of(x, like) for x in operands]
        ours = [issubclass(type_info(type(x)).dispatch_type, da.Array) for x in xs]
        if not any(ours):
            return general(*xs)
        for i, x in enumerate(xs):
            if ours[i]:
                dtype = ufunc(*[np.ones(0, x.dtype)] * ufunc.nin).dtype
                xs[i] = x if x.dtype == dtype else v.astype(x, dtype=dtype)
        return row.operation(*xs)

    alias(
        ufunc,
        to=composite,
        parameters=row.defaults,
        positional=row.positional,
        refuse=tuple(row.refuse),
        lower=row.lower,
    )


def _enter_all() -> None:
    see(None, (np.ndarray,))
    see_all("numpy")  # loads the aliases of NumPy, which are lazy
    for ufunc in (np.float_power, np.fabs):
        _of_floats(ufunc)
    for path, row in rows_of("numpy").items():
        first, _, name = path.rpartition(".")
        if first == "ndarray" and name in _METHODS:
            _enter(path, vars(da.Array)[name], row)
        elif not first and getattr(da, name, None) not in (None, getattr(np, name, None)):
            _enter(path, getattr(da, name), row)


_enter_all()

# Dask's functions reject NumPy's defaults, with which the operations are called.
_OTHERWISE: dict[Any, Any] = {
    np.nanargmax: lambda a, axis, out, *, keepdims: da.nanargmax(a, axis, keepdims is True),
    np.nanargmin: lambda a, axis, out, *, keepdims: da.nanargmin(a, axis, keepdims is True),
    np.isin: lambda x, among, alone, invert, *, kind: da.isin(x, among, alone, invert),  # noqa: PLW0108 (without kind)
}
for _f, _function in _OTHERWISE.items():
    _operation: Any = aliases[_f].operation
    _types = (da.Array, *(object,) * (len(_operation.operands) - 1))
    _operation.implement(_function, types=_types)


# ------------------------------------------------------------------------------------- chunks


@dataclasses.dataclass(frozen=True, slots=True)
class Chunks:
    """Chunks to cut an array into: any arguments that Dask takes for them, as an option."""

    chunks: Any
    keywords: dict[str, Any]


static_types.add(Chunks)


@primitive
def rechunk(x: Array, /, *, how: Chunks) -> Any:
    """Return the same array, cut into other chunks."""
    return da.Array.rechunk(x, how.chunks, **how.keywords)  # type: ignore[arg-type]


linear_rule(rechunk, lambda y_bar, x, *, how: y_bar, batched=True)


def _rechunk(self: Any, chunks: Any = "auto", **keywords: Any) -> Any:
    return rechunk(self, how=Chunks(chunks, keywords))


alias(da.Array.rechunk, to=_rechunk, parameters={})
for _name in ("chunks", "chunksize", "numblocks", "npartitions"):
    _of: Any = operator.attrgetter(_name)
    alias(
        vars(da.Array)[_name],
        to=lambda self, of=_of: of(untraced(self)),
        parameters={"self": None},
    )


# ------------------------------------------------------ calls that cannot be intercepted


def _instead(frame: Any) -> str | None:
    """Suggest a replacement for the outermost Dask function under a frame, or None."""
    name = None
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("dask.array") and not frame.f_code.co_name.startswith(("_", "<")):
            name = frame.f_code.co_name
        elif name is not None and not module.startswith(("dask", "toolz", "tlz", "functools")):
            break
        frame = frame.f_back
    if name is None or frame is None:
        return None
    same = remedy(Line(frame), last=True) or ""
    if same.startswith("use "):  # NumPy's function of the same name
        return same
    by_numpy = f"write np.{name}" if hasattr(np, name) else "write it with NumPy's functions, or"
    by_blocks = "" if hasattr(np, name) else " block by block with map_reduce_grad"
    return (
        f"da.{name} takes arrays of Dask's alone; {by_numpy}{by_blocks}: NumPy asks arguments what "
        f"they are, so that what is traced can be differentiated"
    )


def _refuse(x: Tracer) -> NoReturn:
    """Raise: Dask would take a traced value for a constant, and silently lose its derivative."""
    instead = _instead(caller()) or "use ignore_derivatives(x), which is a constant"
    what = describe(x.__payload__)
    raise TracerError(f"{what}, which is being differentiated, is not a part of a graph; {instead}")


# Dask tokenizes values that become part of a graph, to name them.
normalize_token.register(Tracer, _refuse)


def _advice(error: BaseException) -> str | None:
    """Return advice for an error that a Dask function raised for a traced value, or None."""
    line = Line.of(error)
    if line is None or isinstance(error, TracerError) or not any(line.traced()):
        return None
    return _instead([line.frame, *line.inner][-1])


advisers.append(_advice)
advise(da.Array.compute, "leave .compute() out, and call it on what grad gives")
advise(da.Array.persist, "leave .persist() out, and call it on what grad gives")
