"""Operations whose function in JAX has another name, other parameters, or is missing."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import jax.core
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax

from chainrules_jax.array_types import Concrete, JaxArray, is_traced
from chainrules_jax.engine.linear_primitive import silent
from chainrules_jax.engine.value_conversions import is_value
from chainrules_kit import derive, rows_of
from chainrules_py import Scalar
from chainrules_py import ops as v
from chainrules_py.extend import aliases, see_roots
from chainrules_py.ops.matrix_functions import LUFactors

_Numeric: Any = JaxArray | Scalar

# ------------------------------------------------------------------------------------ by a table


_SPELLED: dict[Any, Callable[..., Any]] = {
    v.full_like: lambda x, *, shape, fill, dtype=None: jnp.full(
        shape, fill, x.dtype if dtype is None else dtype
    ),
    v.arange_like: lambda x, *, stop, start=0, step=1: jnp.arange(start, stop, step),
    v.eye_like: lambda x, *, rows, columns=None, diagonal=0, dtype=None: jnp.eye(
        rows, columns, diagonal, x.dtype if dtype is None else dtype
    ),
    v.vander: lambda x, *, columns, increasing=False: jnp.vander(x, columns, increasing),
    # Adds no operation if JAX lacks the precision.
    v.astype: lambda x, *, dtype: lax.convert_element_type(x, jax.dtypes.canonicalize_dtype(dtype)),
    # Indices out of bounds cannot be detected in a tracer.
    v.choose: lambda a, *choices: jnp.choose(a, choices, mode="clip" if is_traced(a) else "raise"),
    v.nan_to_num: lambda x, nan, posinf, neginf: jnp.nan_to_num(
        x, nan=nan, posinf=posinf, neginf=neginf
    ),
    v.unwrap: lambda x, period, *, axis=-1, discont=None: jnp.unwrap(
        x, discont, axis, period=period
    ),
    v.concat: lambda *xs, axis=0: jnp.concatenate([*map(jnp.asarray, xs)], axis),
    v.stack: lambda *xs, axis=0: jnp.stack([*map(jnp.asarray, xs)], axis),
    v.permute_dims: lambda x, *, axes=None: jnp.transpose(x, axes),
    v.pad: lambda x, value, *, widths: jnp.pad(x, widths, constant_values=value) if x.ndim else x,
    v.tile: lambda x, *, repetitions: jnp.tile(x, repetitions),
    v.repeat: lambda x, repeats, *, axis=None: jnp.repeat(x, repeats, axis),
    # JAX chooses the device unless one is named; "cpu" is the device of NumPy arrays.
    v.to_device: lambda x, *, device: (
        x if device is None or device == "cpu" else jax.device_put(x, device)
    ),
    # A full sort: jnp.partition takes one index.
    v.partition: lambda x, *, kth, axis=-1: jnp.sort(x, axis),
    v.convolve: lambda x, y, *, mode="full": jnp.convolve(
        jnp.atleast_1d(x), jnp.atleast_1d(y), mode
    ),
    v.einsum: lambda *xs, subscripts, optimize=False: jnp.einsum(
        subscripts, *xs, optimize="optimal" if optimize is False else optimize
    ),
    # JAX's default is the first two axes.
    v.diagonal: lambda x, *, offset=0: jnp.diagonal(x, offset, -2, -1),
    v.trace: lambda x, *, offset=0: jnp.trace(x, offset, -2, -1),
    v.qr_raw: lambda x: tuple(jnp.linalg.qr(x, "raw")),
    # JAX symmetrizes its input by default, and reads the lower triangle for the upper factor too.
    v.cholesky: lambda x, *, upper=False: jnp.linalg.cholesky(
        jnp.conj(x).mT if upper else x, upper=upper, symmetrize_input=False
    ),
    v.eigh: lambda x, *, upper=False: jnp.linalg.eigh(
        x, "U" if upper else "L", symmetrize_input=False
    ),
    v.eigvalsh: lambda x, *, upper=False: jnp.linalg.eigvalsh(
        x, "U" if upper else "L", symmetrize_input=False
    ),
    # JAX has functions of order 0 and 1.
    v.bessel_i: lambda x, *, order: (
        (jsp.special.i0, jsp.special.i1)[abs(order)](x) if abs(order) < 2 else v.iv(abs(order), x)
    ),
    v.expm: jsp.linalg.expm,
    # JAX solves one system at a time.
    v.solve_sylvester: jnp.vectorize(
        jsp.linalg.solve_sylvester, signature="(m,m),(n,n),(m,n)->(m,n)"
    ),
    # JAX returns the three in this order.
    v.lu_factor: lambda x: LUFactors(*lax.linalg.lu(x)),
    # For a vector, NumPy's result is a matrix with the vector as each row.
    v.tril: lambda x, *, k=0: jnp.tril(_matrix(x), k),
    v.triu: lambda x, *, k=0: jnp.triu(_matrix(x), k),
}
"""Operations that JAX has under another name, or with other parameters."""


def _matrix(x: Any) -> Any:
    return jnp.broadcast_to(x, x.shape * 2) if x.ndim == 1 else x


for _operation, _spelled in _SPELLED.items():
    _others = [_Numeric] * len(_operation.operands)
    _types = (*_others, _Numeric) if _operation.variadic else (JaxArray, *_others[1:])
    _operation.implement(_spelled, types=_types)


# ------------------------------------------------------------------------------ by functions


v.clip_below.implement(jnp.maximum, types=(_Numeric, _Numeric))
v.clip_above.implement(jnp.minimum, types=(_Numeric, _Numeric))


@v.report.implement
def report_jax(condition: JaxArray, *, message: str) -> None:
    """Report at once if the condition has a value; a traced program cannot warn."""
    if not silent.get() and not is_traced(condition):
        v.report(bool(jnp.any(condition)), message=message)


@v.getitem.implement
def getitem_jax(x: JaxArray, *arrays: Any, index: Any) -> Any:
    """Read elements by subscripting the array."""
    return x[_joined(index, arrays)]


@v.scatter_add.implement
def scatter_add_jax(x: JaxArray, y: Any, *arrays: Any, index: Any) -> Any:
    """Add to a copy, by the array's property ``at``."""
    return x.astype(jnp.result_type(x, y)).at[_joined(index, arrays)].add(y)


@v.put_at.implement
def put_at_jax(x: JaxArray, y: Any, *arrays: Any, index: Any) -> Any:
    """Write to a copy by the property ``at``, without surplus leading axes of y."""
    where = _joined(index, arrays)
    y = jnp.asarray(y)
    extra = y.ndim - jax.eval_shape(lambda x: x[where], x).ndim
    return x.at[where].set(y.reshape(y.shape[max(0, extra) :]))


def _joined(index: Any, arrays: tuple[Any, ...]) -> Any:
    # JAX takes no lists, and NumPy arrays only of an exact dtype.
    return index.join(tuple([x if is_value(x) else jnp.asarray(x) for x in arrays]))


@v.solve_triangular.implement
def solve_triangular_jax(
    x1: JaxArray, x2: JaxArray, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """Solve triangular equations; batch axes of matrices and right sides broadcast."""
    solve = functools.partial(
        lax.linalg.triangular_solve,
        left_side=True,
        lower=not upper,
        unit_diagonal=unit_diagonal,
    )
    dtype = jnp.result_type(x1, x2)
    return jnp.vectorize(
        solve, signature="(n,n),(n)->(n)" if x2.ndim == 1 else "(n,n),(n,k)->(n,k)"
    )(x1.astype(dtype), x2.astype(dtype))


@v.lstsq.implement
def lstsq_jax(x1: JaxArray, x2: JaxArray, *, rcond: float | None = None) -> Any:
    """Solve least squares; residuals are empty if the rank is known to be deficient."""
    y, residuals, rank, s = jnp.linalg.lstsq(x1, x2, rcond)
    rows, columns = x1.shape
    empty = rows <= columns or (not is_traced(rank) and int(rank) < columns)
    return y, residuals[:0] if empty else residuals, rank, s


def _scanned(f: Any, initial: Any, xs: Any, *, length: int | None = None) -> Any:
    """Run the loop as `lax.scan`, or step by step if carried values change their type."""
    with contextlib.suppress(TypeError):
        if length in (None, len(xs)) and len(xs):
            # A new object: JAX refers to functions weakly.
            return lax.scan(functools.partial(f), initial, xs)
    return v.scan.__wrapped__(f, initial, xs, length=length)


v.scan.implement(_scanned, types=(object, object, JaxArray))

# ------------------------------------------------------------------------- methods, properties

see_roots({"numpy"})
_rows = rows_of("numpy")
for _name, _parameters in {
    **{name: {"self": None} for name in ("T", "imag", "mT", "real")},
    **dict.fromkeys(("all", "any", "argmax", "argmin", "astype", "clip", "conj", "conjugate")),
    **dict.fromkeys(("copy", "cumprod", "cumsum", "diagonal", "dot", "flatten", "max", "mean")),
    **dict.fromkeys(("min", "prod", "ravel", "repeat", "round", "sort", "squeeze", "std", "sum")),
    **dict.fromkeys(("swapaxes", "take", "trace", "var")),
    "reshape": {"self": None, "shape": (), "order": "C"},  # JAX gathers them as "args"
    "transpose": {"self": None, "axes": ()},
}.items():
    _row: Any = derive(vars(Concrete)[_name], _rows[f"ndarray.{_name}"], parameters=_parameters)
    aliases[vars(jax.core.Tracer)[_name]] = _row
