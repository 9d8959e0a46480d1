"""Aliases of the methods `reduce`, `accumulate` and `outer` of NumPy's ufuncs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import elementwise as e
from chainrules_numpy.function_aliases.alias_constructors import axes
from chainrules_numpy.late_alias import alias
from chainrules_numpy.reduction_values_by_numpy import always, asks
from chainrules_numpy.ufuncs import ARITHMETIC, OTHERS
from chainrules_py import ops as v
from chainrules_py.extend import (
    UFUNC_KEYWORDS,
    Call,
    Line,
    Lowering,
    Site,
    aliases,
    caller,
    filled,
    lost,
    told,
)

_method: str

REDUCE = {
    "array": None,
    "axis": 0,
    "dtype": None,
    "out": None,
    "keepdims": False,
    "initial": None,
    "where": True,
}
ACCUMULATE = {"array": None, "axis": 0, "dtype": None, "out": None}


def reduces(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Make a reduction whose default axis is the first."""

    def reduce(x: Any, *, axis: Any = 0, keepdims: bool = False) -> Any:
        alone = not x.ndim and type(axis) is int and axis in (0, -1)
        return operation(x, axis=None if alone else axis, keepdims=keepdims)

    return reduce


def accumulates(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Make a cumulative operation whose default axis is the first."""

    def accumulate(x: Any, *, axis: Any = 0) -> Any:
        if not x.ndim:
            raise TypeError("cannot accumulate on a scalar")
        if axis is None and x.ndim > 1:
            raise ValueError("accumulate does not allow multiple axes")
        if type(axis) is tuple and len(axis) == 1:
            axis = axis[0]
        return operation(x, axis=0 if axis is None else low.axis_of(axis))

    return accumulate


def outer_of(ufunc: Any, operation: Any) -> Callable[..., Any]:
    """Make a function that applies a ufunc to each pair of elements of A and B."""
    site = Site(operation, ufunc)

    def outer(A: Any, B: Any) -> Any:
        A, B = low.array_of(A), low.array_of(B)
        call = site.general if low.is_numpys(A) and low.is_numpys(B) else operation
        return call(v.reshape(A, shape=(*A.shape, *(1,) * B.ndim)) if B.ndim else A, B)

    return outer


_BY_PYTHON = {
    "reduce": "use functools.reduce({f}, {first}{start}) after 'import functools'",
    "accumulate": "use np.stack(list(itertools.accumulate({first}, {f})), axis={axis}) "
    "after 'import itertools'",
    "reduceat": "use np.stack([{f}.reduce({first}[begin:max(begin + 1, end)]) for begin, end in "
    "zip({at}, [*{at}[1:], len({first})])], axis={axis})",
}


def refused(ufunc: np.ufunc, method: str) -> Callable[..., Any]:
    """Make a method raise, with what to write on the line that calls it."""
    name, start = f"np.{ufunc.__name__}", "" if ufunc.identity is None else f", {ufunc.identity}"

    def refuse(*operands: Any, axis: Any = 0, **options: Any) -> Any:
        line = Line(caller())
        f, args = line.owner(method), line.arguments
        write = f"write a loop over the elements of the axis, with {name} of two"
        plain = not options and type(axis) is int and not any([x[0] == "*" for x in args])
        if f is not None and plain:
            x, at = [*args, str(axis)][:2]
            at_axis = line.option("axis") or [*args[1 + (method == "reduceat") :], str(axis)][0]
            first = x if at_axis == "0" else f"np.moveaxis({x}, {at_axis}, 0)"
            parts = {"at": at, "first": first, "axis": at_axis, "start": start}
            write = filled(_BY_PYTHON[method], f=f, **parts)
        fact = f"{name}.{method} of a traced value has no derivative here"
        raise lost(operands, told(fact, line, write), line)

    return refuse


def from_first(lower: Lowering) -> Lowering:
    """Make a lowering for an axis that defaults to the first."""

    def lowered(call: Call, value: Any) -> None:
        call.options.setdefault("axis", 0)
        lower(call, value)

    return lowered


_array = low.as_array("x")
_ROUNDED = (e.logaddexp_reduce, e.logaddexp2_reduce)
"""Operations that add all elements at once, where NumPy adds them one by one."""
for _ufunc, _operation, _mask, _start in (
    (np.add, v.sum, low.masked(0), low.started(v.add)),
    (np.multiply, v.prod, low.masked(1), low.multiplied()),
    (np.maximum, v.max, low.masked_extreme(-1.0), low.started_extreme(v.maximum, -1.0)),
    (np.minimum, v.min, low.masked_extreme(1.0), low.started_extreme(v.minimum, 1.0)),
    (np.fmax, v.nanmax, low.masked_extreme(-1.0), low.started_extreme(v.fmax, -1.0)),
    (np.fmin, v.nanmin, low.masked_extreme(1.0), low.started_extreme(v.fmin, 1.0)),
    (np.logaddexp, e.logaddexp_reduce, low.masked(-math.inf), low.started(v.logaddexp)),
    (np.logaddexp2, e.logaddexp2_reduce, low.masked(-math.inf), low.started(v.logaddexp2)),
    (np.logical_and, v.all, low.masked(True), low.started(v.logical_and)),
    (np.logical_or, v.any, low.masked(False), low.started(v.logical_or)),
):
    alias(
        _ufunc.reduce,
        to=always(_ufunc.reduce, reduces(_operation))
        if _operation in _ROUNDED
        else reduces(_operation),
        parameters=REDUCE,
        refuse=("out",),
        lower={
            "array": _array,
            "axis": axes,
            **asks(
                _ufunc.reduce,
                dtype=low.converted,
                initial=from_first(_start),
                where=_mask,
            ),
        },
    )
for _ufunc, _operation in (
    (np.add, v.cumulative_sum),
    (np.multiply, v.cumulative_prod),
    (np.maximum, v.cumulative_max),
    (np.minimum, v.cumulative_min),
):
    alias(
        _ufunc.accumulate,
        to=accumulates(_operation),
        parameters=ACCUMULATE,
        refuse=("out",),
        lower={"array": _array, "axis": axes, **asks(_ufunc.accumulate, dtype=low.converted)},
    )
for _ufunc, _operation in (*ARITHMETIC, *OTHERS):
    if len(_operation.operands) == 2:
        alias(
            _ufunc.outer,
            to=outer_of(_ufunc, _operation),
            parameters={"A": None, "B": None} | UFUNC_KEYWORDS,
            positional=("A", "B"),
            refuse=tuple(UFUNC_KEYWORDS),
        )
        for _method in ("reduce", "accumulate", "reduceat"):
            if getattr(_ufunc, _method) not in aliases:
                alias(getattr(_ufunc, _method), to=refused(_ufunc, _method), parameters={})
