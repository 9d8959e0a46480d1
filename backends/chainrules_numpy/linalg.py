"""NumPy's linear algebra: aliases, and implementations that differ from the standard."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from chainrules_numpy import keyword_lowerings as low
from chainrules_numpy.composites.manipulation import normal_axes
from chainrules_numpy.late_alias import alias
from chainrules_numpy.triangular_lapack import lower_mask, upper_mask
from chainrules_py import NotDifferentiableError
from chainrules_py import ops as v
from chainrules_py.extend import Call

# ---------------------------------------------------------------- implementations


@v.diagonal.implement
def diagonal_numpy(x: np.ndarray, *, offset: int = 0) -> Any:
    """Return diagonals of the last two axes; np.diagonal defaults to the first two."""
    return x.diagonal(offset, -2, -1)


@v.trace.implement
def trace_numpy(x: np.ndarray, *, offset: int = 0) -> Any:
    """Return traces of the last two axes; np.trace defaults to the first two."""
    return x.trace(offset, -2, -1)  # as np.trace does, in two thirds of its time


@v.from_diagonal.implement
def from_diagonal_numpy(x: np.ndarray, *, rows: int, columns: int, offset: int = 0) -> Any:
    """Return zeros with a diagonal, by one assignment to a strided view."""
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    if x.shape[-1] != length:
        matrix_text = f"diagonal {offset} of a {rows} x {columns} matrix"
        raise ValueError(f"{matrix_text} has {length} elements, not {x.shape[-1]}")
    matrix = np.zeros((*x.shape[:-1], rows * columns), x.dtype)
    if length:  # otherwise the start may be beyond the end
        first = offset if offset >= 0 else -offset * columns
        matrix[..., first : first + length * (columns + 1) : columns + 1] = x
    return matrix.reshape(*x.shape[:-1], rows, columns)


@v.tril.implement
def tril_numpy(x: np.ndarray, *, k: int = 0) -> Any:
    """Return the lower triangle by a cached mask; np.tril spends most of its time on the mask."""
    return _masked(x, k, lower_mask, np.tril)


@v.triu.implement
def triu_numpy(x: np.ndarray, *, k: int = 0) -> Any:
    """Return the upper triangle by a cached mask."""
    return _masked(x, k, upper_mask, np.triu)


def _masked(x: Any, k: int, mask: Any, native: Any) -> Any:
    """Return a small matrix under a cached mask; for others call NumPy's function."""
    if type(x) is not np.ndarray or not 0 < x.size <= _MASKED or x.ndim != 2:
        return native(x, k)
    y = np.zeros(x.shape, x.dtype)
    np.copyto(y, x, where=mask(*x.shape, k))
    return y


_MASKED = 40_000
"""The number of elements up to which a mask is cached."""


# ---------------------------------------------------------------- aliases

GUFUNC = {
    "out": None,
    "casting": "same_kind",
    "order": "K",
    "dtype": None,
    "subok": True,
    "signature": None,
    "axes": None,
    "axis": None,
    "keepdims": False,
}


def _gufunc(function: Any, operation: Any, **keywords: Any) -> None:
    lowered = keywords.get("lower", {})
    alias(
        function,
        to=operation,
        parameters={"x1": None, "x2": None} | GUFUNC,
        positional=("x1", "x2"),
        refuse=tuple(name for name in GUFUNC if name not in lowered),
        **keywords,
    )


def _axis_from_end(call: Call, axis: int) -> None:
    """Lower vecdot's axis: counted from the end, as the operands may differ in ndim."""
    axis = operator.index(axis)
    if axis < 0:
        call.options["axis"] = axis
        return
    ends = {axis - x.ndim for x in call.operands.values()}
    if len(ends) > 1:
        raise NotDifferentiableError(
            f"np.vecdot(axis={axis}) of operands with different numbers of axes has no derivative "
            f"here; count the axis from the end"
        )
    call.options["axis"] = ends.pop()


_gufunc(np.matmul, v.matmul)
_gufunc(np.vecdot, v.vecdot, lower={"axis": _axis_from_end})
alias(np.linalg.matmul, to=v.matmul)
alias(np.linalg.vecdot, to=v.vecdot, lower={"axis": _axis_from_end})


def _axes_as_tuples(call: Call, axes: Any) -> None:
    """Lower tensordot's axes, which may be lists, or one number for each operand."""
    if not isinstance(axes, int):
        axes = tuple((int(i),) if np.ndim(i) == 0 else tuple(map(int, i)) for i in axes)
    call.options["axes"] = axes


for _tensordot in (np.tensordot, np.linalg.tensordot):
    alias(
        _tensordot,
        to=v.tensordot,
        rename={"a": "x1", "b": "x2"},
        lower={"axes": _axes_as_tuples, "a": low.as_array("x1"), "b": low.as_array("x2")},
    )

alias(np.outer, to=v.outer, rename={"a": "x1", "b": "x2"}, refuse=("out",))
alias(np.linalg.outer, to=v.outer)
alias(np.inner, to=v.inner, parameters={"a": None, "b": None}, rename={"a": "x1", "b": "x2"})
alias(
    np.dot,
    to=v.dot,
    parameters={"a": None, "b": None, "out": None},
    rename={"a": "x1", "b": "x2"},
    refuse=("out",),
)


def _of_matrices(operation: Any, x: Any, offset: int, axis1: int, axis2: int) -> Any:
    """Apply an operation to diagonals of matrices on any two axes."""
    ndim = x.ndim
    axis1, axis2 = normal_axes((axis1, axis2), ndim)
    if (axis2, axis1) == (ndim - 2, ndim - 1):  # the diagonal above becomes the one below
        return operation(x, offset=-offset)
    if (axis1, axis2) != (ndim - 2, ndim - 1):
        rest = [i for i in range(ndim) if i not in (axis1, axis2)]
        x = v.permute_dims(x, axes=(*rest, axis1, axis2))
    return operation(x, offset=offset)


def diagonal_of_axes(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return diagonals; as in NumPy, of the first two axes by default."""
    return _of_matrices(v.diagonal, a, offset, axis1, axis2)


def trace_of_axes(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Return traces; as in NumPy, of the first two axes by default."""
    return _of_matrices(v.trace, a, offset, axis1, axis2)


_offset = {"offset": low.as_option("offset")}
alias(np.diagonal, to=diagonal_of_axes, lower=_offset)
alias(np.trace, to=trace_of_axes, refuse=("dtype", "out"), lower=_offset)
alias(np.linalg.diagonal, to=v.diagonal, lower=_offset)
alias(np.linalg.trace, to=v.trace, refuse=("dtype",), lower=_offset)
alias(np.linalg.slogdet, to=v.slogdet, rename={"a": "x"})
