"""Aliases of products, determinants and norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites import products as p
from chainrules_numpy.function_aliases.alias_constructors import axes, axis, row
from chainrules_numpy.late_alias import alias
from chainrules_numpy.linalg import GUFUNC
from chainrules_py import ops as v
from chainrules_py.extend import Call


def _terms(call: Call, operands: tuple[Any, ...]) -> None:
    """Convert operands that are lists or numbers to arrays, but not subscripts and axes."""
    places = range(1, len(operands)) if type(operands[0]) is str else range(0, len(operands) - 1, 2)
    given = [low.array_of(x) if i in places else x for i, x in enumerate(operands)]
    call.operands["operands"] = tuple(given)


def _order(call: Call, order: str) -> None:
    """Lower ``order=`` of sums that make an array; one of a single operand may be a view."""
    given = call.operands["operands"]
    if order in "CF" and len(given) > (2 if type(given[0]) is str else 3):
        call.after.append(lambda y: low.in_memory_order(y, y, order))


def _path(call: Call, optimize: Any) -> None:
    """Lower ``optimize=``; NumPy checks a path, in place of which one is computed."""
    if not isinstance(optimize, (bool, str)):
        given = call.operands["operands"]  # of any library; a path depends on shapes alone
        like = [np.broadcast_to(0.0, x.shape) if hasattr(x, "shape") else x for x in given]
        np.einsum_path(*like, optimize=optimize)
    call.options["optimize"] = optimize


alias(
    np.einsum,
    to=p.einsum,
    parameters={
        "operands": None,
        "out": None,
        "optimize": False,
        "order": "K",
        "casting": "safe",
        "dtype": None,
    },
    positional=("operands",),
    gather="operands",
    lower={"operands": _terms, "order": _order, "optimize": _path},
    refuse=("out", "casting", "dtype"),
)
row(np.linalg.det, v.det)
row(np.linalg.norm, p.norm, "x", axis=axes)


def vector_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Compute the norm; without an axis, x is flattened first, as in NumPy."""
    order = 2 if ord is None else ord
    if axis is not None:
        return v.vector_norm(x, axis=axis, keepdims=keepdims, ord=order)
    y = v.vector_norm(v.reshape(x, shape=(-1,)), axis=0, ord=order)
    return v.reshape(y, shape=(1,) * x.ndim) if keepdims else y


row(np.linalg.vector_norm, vector_norm, "x", axis=axis)
row(np.linalg.matrix_norm, p.matrix_norm, "x")
row(np.linalg.matrix_power, p.matrix_power, None)
row(np.linalg.multi_dot, p.multi_dot, None, refuse=("out",), arrays=low.as_arrays)
row(np.linalg.cross, p.cross_of_three, None)
row(np.cross, p.cross, None, a=low.as_array("a"), b=low.as_array("b"))
row(np.kron, p.kron, None, a=low.as_array("a"), b=low.as_array("b"))
row(
    np.vdot,
    p.vdot,
    None,
    parameters={"a": None, "b": None},
    a=low.as_array("a"),
    b=low.as_array("b"),
)


for _f, _composite in ((np.matvec, p.matvec), (np.vecmat, p.vecmat)):
    alias(
        _f,
        to=_composite,
        parameters={"x1": None, "x2": None} | GUFUNC,
        positional=("x1", "x2"),
        refuse=tuple(GUFUNC),
    )
