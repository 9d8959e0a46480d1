"""Values as MLX sees them: which are arrays, which it traces, and what is zero."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from typing import Any

import mlx.core as mx
import numpy as np

from chainrules_mlx import namespace as xp
from chainrules_py import NotDifferentiableError, is_zero
from chainrules_py.extend import (
    deliver,
    flatten,
    is_structure_type,
    map_leaves,
    name_of,
    where_defined,
)

_mx: Any = mx


def is_array(x: Any) -> bool:
    """Return whether a value is an array of MLX's."""
    return isinstance(x, mx.array)


def is_floating(x: Any) -> bool:
    """Return whether a value is an array that MLX takes derivatives in."""
    return isinstance(x, mx.array) and _mx.issubdtype(x.dtype, mx.inexact)


def varies(x: Any) -> bool:
    """Return whether a value is an array that MLX traces here.

    An array does not say so: one that is differentiated is made of a copy of MLX's, and one that
    `mx.vmap` and `mx.compile` trace is not evaluated at all.
    """
    if not is_floating(x) or not xp.tracing():
        return False
    try:
        xp.kept(_mx.eval, x)
    except ValueError:
        return True
    drawn = io.StringIO()
    _mx.export_to_dot(drawn, x)
    return 'label ="Copy"' in drawn.getvalue()


def as_values(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return operands with arrays of MLX's for those of NumPy's.

    Numbers of Python's become arrays where there are none: MLX differentiates nothing else.
    """
    operands = tuple(map(_converted, operands))
    if any(map(is_array, flatten(operands)[0])):
        return operands
    return tuple([_mx.array(x) if type(x) in (float, complex) else x for x in operands])


def _converted(x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "fciub":
        return xp.asarray(x)
    if is_structure_type(type(x)) and not callable(x):
        return map_leaves(_converted, x)
    return x


def dense(t: Any, like: Any) -> Any:
    """Return a tangent as the array that MLX takes, of the shape and dtype of another."""
    t = deliver(t)
    if is_zero(t):
        return _mx.zeros(like.shape, like.dtype)
    t = t if is_array(t) else _mx.array(t)
    if xp.is_complex(t) and not xp.is_complex(like):
        t = _mx.real(t)
    return _mx.broadcast_to(t.astype(like.dtype), like.shape)


def lacks_dtype(error: BaseException) -> bool:
    """Return whether an error is of numbers of MLX's that NumPy has not."""
    said = str(error)
    return "PEP 3118 buffer format" in said or "cannot be converted to NumPy" in said


def leaves_mlx(error: BaseException) -> bool:
    """Return whether an error is MLX's of code that asks for values of what it traces."""
    said = str(error)
    return isinstance(error, (ValueError, RuntimeError)) and any(
        [part in said for part in ("function transformations", "[convert]", "without a primitive")]
    )


@contextlib.contextmanager
def refusing(f: Any, refusal: Exception) -> Iterator[None]:
    """Say in our words that code of f asks for values where MLX has none, or NumPy not the dtype.

    Raises
    ------
    NotDifferentiableError
        Of the dtype; of values, ``refusal`` is raised.
    """
    try:
        yield
    except (TypeError, ValueError, RuntimeError) as error:
        if lacks_dtype(error):
            refusal = NotDifferentiableError(
                f"{name_of(f)} ({where_defined(f)}) computes with NumPy, which has no bfloat16: "
                f"write it in words, or give it x.astype(mlx.core.float32)"
            )
        elif not leaves_mlx(error):
            raise
        raise refusal from error
