"""JAX's arrays and tracers as array types, and the words that jax.numpy spells otherwise.

Both are one lazy type, `JaxArray`: rules stated for it, or for ``jax.Array``, are found for either.
"""

from __future__ import annotations

import contextvars
import functools
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import jax.core
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax

from chainrules_jax import _private
from chainrules_kit import gathered_windows
from chainrules_py import Scalar
from chainrules_py import vocabulary as v
from chainrules_py.extend import Library, lazy_array_type, register_array_type
from chainrules_py.vocabulary.linalg import resolution

_kind: Any = lazy_array_type("JaxArray", replaces=("jax.Array", _private.ARRAY))
if TYPE_CHECKING:
    JaxArray: TypeAlias = Any
    _Numeric: TypeAlias = Any
else:
    JaxArray = _kind
    _Numeric = JaxArray | Scalar
"""What rules for JAX are annotated with; ``jax.Array`` is read as this."""

# An array would tell its class, but to make one starts JAX on its devices.
_classes = [c for c in jax.Array.__subclasses__() if c.__name__ == "ArrayImpl"]
Concrete: type = min(_classes, key=lambda cls: not cls.__module__.startswith("jaxlib"))
"""The class of arrays that are there; tracers stand for those that are not."""

# JAX moves arrays between devices itself, and its tracers are on none.
register_array_type(jax.core.Tracer, Library(jnp, kind=_kind, devices=False, reads=(np.ndarray,)))
register_array_type(
    Concrete,
    Library(  # nobody can write to them
        jnp, kind=_kind, devices=False, reads=(np.ndarray,), own=lambda x, theirs: x
    ),
)


def is_traced(x: Any) -> bool:
    """Tell whether a value is a tracer of JAX's."""
    return isinstance(x, jax.core.Tracer)


# ------------------------------------------------------------------------------------ creation


@v.full_like.implement
def full_like_jax(x: JaxArray, *, shape: Any, fill: Any, dtype: Any = None) -> Any:
    """jnp.full_like takes the number first."""
    return jnp.full(shape, fill, x.dtype if dtype is None else dtype)


@v.arange_like.implement
def arange_like_jax(x: JaxArray, *, stop: int, start: int = 0, step: int = 1) -> Any:
    """Where JAX puts it."""
    return jnp.arange(start, stop, step)


@v.eye_like.implement
def eye_like_jax(
    x: JaxArray,
    *,
    rows: int,
    columns: int | None = None,
    diagonal: int = 0,
    dtype: Any = None,
) -> Any:
    """Where JAX puts it."""
    return jnp.eye(rows, columns, diagonal, x.dtype if dtype is None else dtype)


@v.vander.implement
def vander_jax(x: JaxArray, *, columns: int, increasing: bool = False) -> Any:
    """Build a Vandermonde matrix by ``jnp.vander``, which names the columns differently."""
    return jnp.vander(x, columns, increasing)


# --------------------------------------------------------------------------------- elementwise


@v.strong_multiply.implement
def strong_multiply_jax(c: _Numeric, p: _Numeric) -> Any:
    """With 0 winning; its derivative is that of its rule, not of this spelling."""
    product = jnp.multiply(c, p)
    return jnp.where(jnp.equal(c, 0), jnp.zeros((), product.dtype), product)


@v.conj.implement
def conj_jax(x: JaxArray) -> Any:
    """jnp.conj, of real arrays themselves."""
    return jnp.conj(x) if x.dtype.kind == "c" else x


@v.real.implement
def real_jax(x: JaxArray) -> Any:
    """Return the real part by jnp.real, and real arrays themselves."""
    return jnp.real(x) if x.dtype.kind == "c" else x


@v.astype.implement
def astype_jax(x: JaxArray, *, dtype: Any) -> Any:
    """Without a word where JAX has no such precision."""
    return lax.convert_element_type(x, jax.dtypes.canonicalize_dtype(dtype))


@v.clip_below.implement
def clip_below_jax(x: _Numeric, lo: _Numeric) -> Any:
    """jnp.clip with one bound."""
    if jnp.iscomplexobj(x) or jnp.iscomplexobj(lo):  # which jnp.clip refuses
        return jnp.maximum(x, lo)
    return jnp.clip(x, lo, None)


@v.clip_above.implement
def clip_above_jax(x: _Numeric, hi: _Numeric) -> Any:
    """jnp.clip with one bound."""
    if jnp.iscomplexobj(x) or jnp.iscomplexobj(hi):
        return jnp.minimum(x, hi)
    return jnp.clip(x, None, hi)


@v.round_decimals.implement
def round_decimals_jax(x: JaxArray, *, decimals: int) -> Any:
    """jnp.round."""
    return jnp.round(x, decimals)


@v.choose.implement
def choose_jax(a: _Numeric, *choices: _Numeric) -> Any:
    """jnp.choose takes a sequence; what is out of bounds cannot be seen in a tracer."""
    return jnp.choose(a, choices, mode="raise" if not is_traced(a) else "clip")


@v.nan_to_num.implement
def nan_to_num_jax(x: JaxArray, nan: _Numeric, posinf: _Numeric, neginf: _Numeric) -> Any:
    """jnp.nan_to_num takes them by name."""
    return jnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


@v.bessel_i.implement
def bessel_i_jax(x: JaxArray, *, order: int) -> Any:
    """Compute the Bessel function of order 0 or 1 by JAX's own, and higher orders by `iv`."""
    return (jsp.special.i0, jsp.special.i1)[order](x) if order < 2 else v.iv(order, x)


@v.unwrap.implement
def unwrap_jax(
    x: JaxArray, period: _Numeric, *, axis: int = -1, discont: float | None = None
) -> Any:
    """jnp.unwrap takes the period by name."""
    return jnp.unwrap(x, discont, axis, period=period)


@v.cumulative_max.implement
def cumulative_max_jax(x: JaxArray, *, axis: int) -> Any:
    """Compute the cumulative maximum by ``lax.cummax``."""
    return lax.cummax(x, axis % x.ndim)


@v.cumulative_min.implement
def cumulative_min_jax(x: JaxArray, *, axis: int) -> Any:
    """Compute the cumulative minimum by ``lax.cummin``."""
    return lax.cummin(x, axis % x.ndim)


silent: contextvars.ContextVar[bool] = contextvars.ContextVar("silent", default=False)
"""Whether nothing is reported."""


@v.report.implement
def report_jax(condition: JaxArray, *, message: str) -> None:
    """At once, where there is a value to look at; a traced program has no way to warn."""
    if not silent.get() and not is_traced(condition):
        v.report(bool(jnp.any(condition)), message=message)


# ------------------------------------------------------------------------- joining, manipulation


@v.concat.implement
def concat_jax(*arrays: _Numeric, axis: int | None = 0) -> Any:
    """jnp.concatenate takes a sequence."""
    return jnp.concatenate([jnp.asarray(x) for x in arrays], axis)


@v.stack.implement
def stack_jax(*arrays: _Numeric, axis: int = 0) -> Any:
    """jnp.stack takes a sequence."""
    return jnp.stack([jnp.asarray(x) for x in arrays], axis)


@v.permute_dims.implement
def permute_dims_jax(x: JaxArray, *, axes: Any = None) -> Any:
    """All axes backwards, by default."""
    return jnp.transpose(x, axes)


@v.pad.implement
def pad_jax(x: JaxArray, value: _Numeric, *, widths: Any) -> Any:
    """jnp.pad takes the value by name."""
    return jnp.pad(x, widths, constant_values=value) if x.ndim else x


@v.tile.implement
def tile_jax(x: JaxArray, *, repetitions: Any) -> Any:
    """Repeat the array by ``jnp.tile``, which names the repetitions differently."""
    return jnp.tile(x, repetitions)


@v.repeat.implement
def repeat_jax(x: JaxArray, repeats: _Numeric, *, axis: int | None = None) -> Any:
    """jnp.repeat, of a static number or of data."""
    return jnp.repeat(x, repeats, axis)


@v.to_device.implement
def to_device_jax(x: JaxArray, *, device: Any) -> Any:
    """Where JAX puts it, unless somebody names a device; ``"cpu"`` is NumPy's, of its numbers."""
    return x if device is None or device == "cpu" else jax.device_put(x, device)


@v.sliding_window_view.implement
def sliding_window_view_jax(x: JaxArray, *, window_shape: Any, axis: Any) -> Any:
    """Gather windows along each axis, as JAX has no views."""
    return gathered_windows(jnp, x, window_shape, axis)


@v.from_diagonal.implement
def from_diagonal_jax(x: JaxArray, *, rows: int, columns: int, offset: int = 0) -> Any:
    """Zeros, written to."""
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    if x.shape[-1] != length:
        what = f"diagonal {offset} of a {rows} x {columns} matrix"
        msg = f"{what} has {length} elements, not {x.shape[-1]}"
        raise ValueError(msg)
    i = jnp.arange(length)
    matrix = jnp.zeros((*x.shape[:-1], rows, columns), x.dtype)
    return matrix.at[..., i + max(0, -offset), i + max(0, offset)].set(x)


# ------------------------------------------------------------------------------------ indexing


@v.getitem.implement
def getitem_jax(x: JaxArray, *arrays: Any, index: Any) -> Any:
    """Read elements by subscripting the array."""
    return x[_joined(index, arrays)]


@v.scatter_add.implement
def scatter_add_jax(x: JaxArray, y: Any, *arrays: Any, index: Any) -> Any:
    """Add to a copy, by the array's property ``at``."""
    x = x.astype(jnp.result_type(x, y))
    return x.at[_joined(index, arrays)].add(y)


@v.put_at.implement
def put_at_jax(x: JaxArray, y: Any, *arrays: Any, index: Any) -> Any:
    """Write to a copy by the property ``at``, which takes no more axes than the places have."""
    where = _joined(index, arrays)
    y = jnp.asarray(y)
    extra = y.ndim - jax.eval_shape(lambda x: x[where], x).ndim
    return x.at[where].set(y.reshape(y.shape[max(0, extra) :]))


@v.put_along_axis_add.implement
def put_along_axis_add_jax(x: JaxArray, y: Any, indices: JaxArray, *, axis: int = -1) -> Any:
    """Add to a copy along an axis; the places on the other axes are counted through."""
    where = list(jnp.meshgrid(*map(jnp.arange, indices.shape), indexing="ij", sparse=True))
    for k, (have, read) in enumerate(zip(x.shape, indices.shape, strict=True)):
        if read == 1 and have != 1 and k != axis % x.ndim:
            where[k] = jnp.arange(have).reshape([-1 if i == k else 1 for i in range(x.ndim)])
    where[axis] = indices
    return x.astype(jnp.result_type(x, y)).at[tuple(where)].add(y)


def _joined(index: Any, arrays: tuple[Any, ...]) -> Any:
    # JAX takes no lists, and NumPy's arrays only of the right dtype.
    return index.join(tuple([x if isinstance(x, _kind) else jnp.asarray(x) for x in arrays]))


# -------------------------------------------------------------------- sorting, polynomials


@v.partition.implement
def partition_jax(x: JaxArray, *, kth: Any, axis: int = -1) -> Any:
    """All of them in order: jnp.partition takes one place."""
    return jnp.sort(x, axis)


@v.convolve.implement
def convolve_jax(x: JaxArray, y: JaxArray, *, mode: str = "full") -> Any:
    """Convolve arrays, with numbers as arrays of one element."""
    return jnp.convolve(jnp.atleast_1d(x), jnp.atleast_1d(y), mode)


# ---------------------------------------------------------------------------- linear algebra


@v.einsum.implement
def einsum_jax(*operands: _Numeric, subscripts: str, optimize: Any = False) -> Any:
    """jnp.einsum takes the subscripts first."""
    return jnp.einsum(subscripts, *operands, optimize="optimal" if optimize is False else optimize)


@v.diagonal.implement
def diagonal_jax(x: JaxArray, *, offset: int = 0) -> Any:
    """jnp.diagonal takes the first two axes by default."""
    return jnp.diagonal(x, offset, -2, -1)


@v.trace.implement
def trace_jax(x: JaxArray, *, offset: int = 0) -> Any:
    """jnp.trace takes the first two axes by default."""
    return jnp.trace(x, offset, -2, -1)


@v.qr_raw.implement
def qr_raw_jax(x: JaxArray) -> Any:
    """Compute the raw mode of jnp.linalg.qr, which names its two results Q and R."""
    return tuple(jnp.linalg.qr(x, "raw"))


@v.cholesky.implement
def cholesky_jax(x: JaxArray, *, upper: bool = False) -> Any:
    """Compute the Cholesky factor from the lower triangle alone, as the word does."""
    return jnp.linalg.cholesky(x, upper=upper, symmetrize_input=False)


@v.eigh.implement
def eigh_jax(x: JaxArray, *, upper: bool = False) -> Any:
    """JAX names the triangle, and mixes the two unless told not to."""
    return jnp.linalg.eigh(x, "U" if upper else "L", symmetrize_input=False)


@v.eigvalsh.implement
def eigvalsh_jax(x: JaxArray, *, upper: bool = False) -> Any:
    """Compute eigenvalues from the named triangle; JAX mixes the two unless told not to."""
    return jnp.linalg.eigvalsh(x, "U" if upper else "L", symmetrize_input=False)


@v.solve_triangular.implement
def solve_triangular_jax(
    x1: JaxArray, x2: JaxArray, *, upper: bool = False, unit_diagonal: bool = False
) -> Any:
    """SciPy's name and triangle; stacks of matrices against one are broadcast."""
    if x2.ndim == 1:
        x2, vector = x2[:, None], True
    else:
        vector = False
    lead = jnp.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    x1 = jnp.broadcast_to(x1, (*lead, *x1.shape[-2:]))
    x2 = jnp.broadcast_to(x2, (*lead, *x2.shape[-2:]))
    dtype = jnp.result_type(x1, x2)
    y = lax.linalg.triangular_solve(
        x1.astype(dtype),
        x2.astype(dtype),
        left_side=True,
        lower=not upper,
        unit_diagonal=unit_diagonal,
    )
    return y[..., 0] if vector else y


@v.cholesky_tangent.implement
def cholesky_tangent_jax(x_dot: JaxArray, factor: JaxArray) -> Any:
    """Murray, eq. (8), with one system from each side: none of the layouts has to be turned."""
    x_dot = _half(x_dot)
    lead = jnp.broadcast_shapes(factor.shape[:-2], x_dot.shape[:-2])
    dtype = jnp.result_type(factor, x_dot)
    L = jnp.broadcast_to(factor, (*lead, *factor.shape[-2:])).astype(dtype)
    middle = jnp.broadcast_to(x_dot + x_dot.mT.conj(), L.shape).astype(dtype)
    triangle = functools.partial(lax.linalg.triangular_solve, L, lower=True)
    middle = triangle(middle, left_side=False, transpose_a=True, conjugate_a=True)
    return jnp.tril(L) @ _half(triangle(middle, left_side=True))


def _half(x: Any) -> Any:
    """Return the lower triangle, with half of the diagonal, in one loop."""
    return jnp.tril(x) / (1 + jnp.eye(x.shape[-1], dtype=x.real.dtype))


@v.matrix_rank.implement
def matrix_rank_jax(x: JaxArray, *, rtol: float | None = None) -> Any:
    """Singular values counted: those at the bound do not count."""
    s = jnp.linalg.svdvals(x)
    least: Any = max(x.shape[-2:]) * resolution(x) if rtol is None else rtol
    return jnp.count_nonzero(s > least * s.max(-1, keepdims=True), -1)


@v.lstsq.implement
def lstsq_jax(x1: JaxArray, x2: JaxArray, *, rcond: float | None = None) -> Any:
    """Without residuals where the rank, as far as it is known, is not full."""
    y, residuals, rank, s = jnp.linalg.lstsq(x1, x2, rcond)
    rows, columns = x1.shape
    if rows <= columns or (not is_traced(rank) and int(rank) < columns):
        residuals = residuals[:0]
    return y, residuals, rank, s
