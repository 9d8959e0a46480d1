"""MLX as an array-API namespace, where its functions differ from the standard.

Linear algebra runs on the CPU: MLX has most decompositions there only, and requires that the stream
is named.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable
from typing import Any

import mlx.core as mx

from chainrules_py import NoRuleError

_mx: Any = mx
bool = _mx.bool_
complex128 = _mx.complex64
"""MLX has one complex dtype."""


def _leaked() -> Any:
    """Return an array of a finished trace: MLX treats it as traced while any trace runs."""
    found: list[Any] = []

    def leave(x: Any) -> Any:
        found.append(x)
        raise LookupError

    with contextlib.suppress(LookupError):
        _mx.vmap(leave)(_mx.zeros((1,)))
    return found[0]


_LEAKED = _leaked()


def tracing() -> Any:
    """Return whether an MLX transformation runs here."""
    try:
        _mx.eval(_LEAKED)
    except ValueError:  # raised while a transformation runs
        return True
    except RuntimeError:  # raised otherwise: the array has no graph
        return False
    raise AssertionError


def kept(f: Callable[..., Any], *operands: Any, **options: Any) -> Any:
    """Call f, which may read values, such that MLX keeps the graphs of these.

    When a transformation ends, its arrays are no longer traced for the transformations around it:
    MLX drops their graphs when they are evaluated, so that an outer derivative is zero. This
    happens in the callbacks of ``mx.jvp``, and after ``mx.grad`` and ``mx.jvp`` that captured an
    array. Only in a callback of ``mx.vjp`` MLX keeps all graphs; therefore f is called in one.
    """
    if not tracing():
        return f(*operands, **options)
    found: list[Any] = []

    def pull(_x: Any, bar: Any, _y: Any) -> Any:
        found.append(f(*operands, **options))
        return bar

    call = _mx.custom_function(_mx.square)
    call.vjp(pull)
    zero = _mx.zeros(())
    _mx.vjp(call, [zero], [zero])
    return found[0]


def asarray(x: Any, *, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    """Make an array; 64-bit NumPy arrays keep their dtype, which MLX would narrow."""
    if dtype is None and not isinstance(x, mx.array) and hasattr(x, "dtype"):
        dtype = getattr(_mx, str(x.dtype), None) if str(x.dtype) != "bool" else _mx.bool_
    if copy or not isinstance(x, mx.array):
        return _mx.array(x, dtype)
    return x if dtype is None else x.astype(dtype)


def _anywhere(make: Callable[..., Any]) -> Callable[..., Any]:
    """Make a creation function accept ``device``, which MLX does not need."""

    def made(*operands: Any, device: Any = None, **options: Any) -> Any:
        return make(*operands, **options)

    return made


full, zeros, ones, arange = map(_anywhere, (_mx.full, _mx.zeros, _mx.ones, _mx.arange))


def is_complex(*xs: Any) -> Any:
    """Return whether some operands are complex."""
    return any(
        [type(x) is complex or (isinstance(x, mx.array) and x.dtype == mx.complex64) for x in xs]
    )


def refuse_complex(name: str, *operands: Any) -> None:
    """Raise if operands are complex and MLX's function takes real numbers only.

    Raises
    ------
    NoRuleError
        With what to do instead.
    """
    if is_complex(*operands):
        raise NoRuleError(
            f"nothing computes {name} of complex numbers: MLX's is of real ones alone; call it on "
            f"arrays of NumPy, or write it of real and imaginary parts"
        )


_REAL = ("cholesky", "det", "inv", "lu_factor", "pinv", "qr", "slogdet", "solve", "svd")


def _on_cpu(name: str) -> Callable[..., Any]:
    function = getattr(_mx.linalg, name)

    @functools.wraps(function)
    def computed(*operands: Any, **options: Any) -> Any:
        if name in _REAL:
            refuse_complex(name, *operands)
        operands = tuple([_single(x) if isinstance(x, mx.array) else x for x in operands])
        return function(*operands, **options, stream=mx.cpu)

    return computed


def _single(x: Any) -> Any:
    """Convert x to a precision that LAPACK has."""
    kept = (mx.float32, mx.float64, mx.complex64)
    return x if x.dtype in kept else x.astype(mx.float32)


linalg = types.SimpleNamespace(
    **{
        name: _on_cpu(name)
        for name in (
            *("cholesky", "cross", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "lu"),
            *("lu_factor", "norm", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd"),
        )
    }
)
"""Decompositions and linear systems, on the CPU."""


def __getattr__(name: str) -> Any:
    return getattr(_mx, name)
