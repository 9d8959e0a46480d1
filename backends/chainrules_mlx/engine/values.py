"""Values for MLX: which are arrays, which it traces, and what is zero."""

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
    """Return whether a value is an MLX array."""
    return isinstance(x, mx.array)


def is_floating(x: Any) -> bool:
    """Return whether a value is an MLX array of a differentiable dtype."""
    return isinstance(x, mx.array) and _mx.issubdtype(x.dtype, mx.inexact)


def varies(x: Any) -> bool:
    """Return whether a value is an array that MLX traces here.

    An array does not show this. Its graph does: MLX differentiates a copy of an array, and it
    cannot evaluate an array that `mx.vmap` or `mx.compile` trace.
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
    """Convert NumPy arrays among operands to MLX arrays.

    Without arrays, Python numbers become arrays: MLX differentiates nothing else.
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
    """Return a tangent as an MLX array with the shape and dtype of ``like``."""
    t = deliver(t)
    if is_zero(t):
        return _mx.zeros(like.shape, like.dtype)
    t = t if is_array(t) else _mx.array(t)
    if xp.is_complex(t) and not xp.is_complex(like):
        t = _mx.real(t)
    return _mx.broadcast_to(t.astype(like.dtype), like.shape)


def lacks_dtype(error: BaseException) -> bool:
    """Return whether an error is about an MLX dtype that NumPy lacks."""
    said = str(error)
    return "PEP 3118 buffer format" in said or "cannot be converted to NumPy" in said


def leaves_mlx(error: BaseException) -> bool:
    """Return whether an error is MLX's for code that reads values of traced arrays."""
    said = str(error)
    return isinstance(error, (ValueError, RuntimeError)) and any(
        [part in said for part in ("function transformations", "[convert]", "without a primitive")]
    )


@contextlib.contextmanager
def refusing(f: Any, refusal: Exception) -> Iterator[None]:
    """Raise our error if f reads values that MLX does not have, or a dtype that NumPy lacks.

    Raises
    ------
    NotDifferentiableError
        For the dtype; for values, ``refusal`` is raised.
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
