"""Implementations of operations that Dask computes differently from the standard's functions."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import dask.array as da
import numpy as np

from chainrules_dask.array_types import check_known
from chainrules_dask.namespace import refusal
from chainrules_py import Primitive, Scalar
from chainrules_py import ops as v
from chainrules_py.extend import vander_standard
from chainrules_py.ops import degeneracy_reports

if TYPE_CHECKING:
    DaskArray: TypeAlias = Any
    Operand: TypeAlias = Any
else:
    DaskArray, Operand = da.Array, da.Array | np.ndarray | Scalar

core: Any = importlib.import_module("dask.array.core")

# ---------------------------------------------------------- operations that run on blocks


def of_blocks(name: str, *operands: Any, **options: Any) -> Any:
    """Run an operation, given by name, on NumPy or CuPy arrays; the tasks of a graph call this."""
    return getattr(v, name)(*operands, **options)


def _enter(operation: Primitive[..., Any], implementation: Callable[..., Any]) -> None:
    """Register an implementation for each mixture of operands that contains a Dask array."""
    functools.update_wrapper(implementation, operation, assigned=("__name__", "__doc__"))
    n = len(operation.operands)
    for first in range(n):
        types = (*[np.ndarray | Scalar] * first, DaskArray, *[Operand] * (n - first - 1))
        operation.implement(implementation, types=types)


def _elementwise(operation: Primitive[..., Any]) -> None:
    of = functools.partial(of_blocks, operation.__name__)

    def elementwise_dask(*operands: Any) -> Any:
        return core.elemwise(of, *operands)

    _enter(operation, elementwise_dask)


def _along_cores(operation: Primitive[..., Any], signature: str) -> None:
    """Implement an operation of vectors or matrices, one for each index of the other axes.

    ``signature`` is that of a generalised ufunc.
    """
    name, results = operation.__name__, signature.partition("->")[2].count("(")

    def cores_dask(*operands: Any, **options: Any) -> Any:
        operands = tuple([da.asarray(x) for x in operands])
        text = signature
        if "k)" in text and operands[-1].ndim == 1:  # one vector instead of columns
            text = text.replace(",k)", ")")
        cores = [side.count(",") + 1 for side in text.partition("->")[0].split("),(")]
        for x, n in zip(operands, cores, strict=True):
            if any([blocks > 1 for blocks in x.numblocks[x.ndim - n :]]):
                raise refusal(
                    name,
                    f"the last {n} axes of x have to lie in one chunk, as after "
                    f"x.rechunk({dict.fromkeys(range(-n, 0), -1)})",
                )
        letters = [  # loop axes are counted from the last one, and each core axis has its own
            [*range(n - x.ndim, 0), *range(2 * k, 2 * k + n)]
            for k, (x, n) in enumerate(zip(operands, cores, strict=True))
        ]
        operands = _unified(operands, letters)
        of = functools.partial(of_blocks, name, **options)
        made = of(*[np.ones((1,) * x.ndim, x.dtype) for x in operands])
        tuples = type(made) is not np.ndarray and results > 1
        dtypes = [part.dtype for part in made] if tuples else made.dtype
        take = functools.partial(_plain, of) if tuples else of
        y = da.apply_gufunc(take, text, *operands, output_dtypes=dtypes)
        return type(made)(*y) if tuples else y

    _enter(operation, cores_dask)


def _unified(arrays: tuple[Any, ...], letters: list[list[int]]) -> tuple[Any, ...]:
    """Return arrays with the same chunks along axes of the same letter."""
    pairs = [part for pair in zip(arrays, letters, strict=True) for part in pair]
    return tuple(core.unify_chunks(*pairs)[1])


def _plain(of: Callable[..., Any], *operands: Any) -> tuple[Any, ...]:
    """Return several results as a plain tuple."""
    return tuple(of(*operands))


_ELEMENTWISE: tuple[Any, ...] = (
    *(v.erf, v.erfc, v.erfcinv, v.erfcx, v.erfi, v.erfinv, v.dawsn, v.wofz, v.spence),
    *(v.gamma, v.gammaln, v.loggamma, v.rgamma, v.digamma, v.polygamma, v.gammasgn, v.zeta),
    *(v.beta, v.betaln, v.betainc, v.binom, v.gammainc, v.gammaincc, v.exp1, v.expi),
    *(v.expit, v.logit, v.log_expit, v.ndtr, v.ndtri, v.log_ndtr, v.exprel, v.exp10, v.cosm1),
    *(v.entr, v.rel_entr, v.kl_div, v.xlogy, v.xlog1py, v.huber, v.pseudo_huber),
    *(v.boxcox, v.boxcox1p, v.inv_boxcox, v.inv_boxcox1p),
    *(v.i0, v.i0e, v.i1, v.i1e, v.iv, v.ive, v.j0, v.j1, v.jv, v.k0, v.k0e, v.k1, v.k1e),
    *(v.kv, v.kve, v.y0, v.y1, v.yv, v.ellipe, v.ellipk, v.ellipkm1),
    *(v.hyp0f1, v.hyp1f1, v.hyp2f1, v.lambertw, v.owens_t),
    *(v.strong_multiply, v.tie_share, v.clip),
)
for _operation in _ELEMENTWISE:
    _elementwise(_operation)
_CORES: dict[Any, str] = {
    v.inv: "(n,n)->(n,n)",
    v.inv_again: "(n,n)->(n,n)",
    v.cholesky: "(n,n)->(n,n)",
    v.solve: "(n,n),(n,k)->(n,k)",
    v.solve_again: "(n,n),(n,k)->(n,k)",
    v.slogdet: "(n,n)->(),()",
    v.det: "(n,n)->()",
    v.adjugate: "(n,n)->(n,n)",
    v.eigh: "(n,n)->(n),(n,n)",
    v.eigvalsh: "(n,n)->(n)",
    v.expm: "(n,n)->(n,n)",
    v.pinv: "(m,n)->(n,m)",
}
for _operation, _signature in _CORES.items():
    _along_cores(_operation, _signature)


# ------------------------------------------------------------------------------ along an axis


def _whole_along(axis: int, *arrays: Any) -> tuple[Any, ...]:
    """Return arrays with the axis in one chunk."""
    return tuple([x if x.numblocks[axis] == 1 else x.rechunk({axis: -1}) for x in arrays])


def _along_axis(name: str, signature: str, axis: int, *operands: Any) -> Any:
    """Apply an operation along one axis of each operand, block by block along the others."""
    arrays = _whole_along(axis, *map(da.asarray, operands))
    letters = [
        [-1 - k if a == axis % x.ndim else a for a in range(x.ndim)] for k, x in enumerate(arrays)
    ]
    arrays = _unified(arrays, letters)
    of = functools.partial(of_blocks, name, axis=-1)
    dtype = of(*[np.zeros((1,) * x.ndim, x.dtype) for x in arrays]).dtype
    axes = [(axis,)] * (len(arrays) + 1)
    return da.apply_gufunc(of, signature, *arrays, axes=axes, output_dtypes=dtype)


@v.take_along_axis.implement
def take_along_axis_dask(x: DaskArray, indices: DaskArray | np.ndarray, *, axis: int = -1) -> Any:
    """Take elements along an axis, block by block, with the axis in one chunk."""
    return _along_axis("take_along_axis", "(n),(m)->(m)", axis, x, indices)


@v.put_along_axis_add.implement
def put_along_axis_add_dask(
    x: DaskArray, y: Any, indices: DaskArray | np.ndarray, *, axis: int = -1
) -> Any:
    """Add along an axis, block by block; NumPy's function would silently write nowhere."""
    y = da.asarray(y)
    y = y if y.ndim == x.ndim else da.broadcast_to(y, indices.shape)
    return _along_axis("put_along_axis_add", "(n),(m),(m)->(n)", axis, x, y, indices)


def _transform(operation: Primitive[..., Any]) -> None:
    def transform_dask(
        x: DaskArray, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Any:
        (x,) = _whole_along(axis, x)
        of = functools.partial(of_blocks, operation.__name__, n=n, axis=axis, norm=norm)
        alone = tuple([m if a == axis % x.ndim else 1 for a, m in enumerate(x.shape)])
        made = of(np.zeros(alone))
        chunks = list(x.chunks)
        chunks[axis] = (made.shape[axis],)
        dtype = of(np.zeros(made.shape, x.dtype)).dtype
        return da.map_blocks(of, x, dtype=dtype, chunks=tuple(chunks))

    operation.implement(transform_dask, types=(DaskArray,))


for _operation in (v.fft, v.ifft, v.rfft, v.irfft):
    _transform(_operation)


@v.searchsorted.implement
def searchsorted_dask(x1: DaskArray, x2: Any, *, side: Any = "left") -> Any:
    """Find the insertion indices of elements, or of a number, in a sorted array."""
    return da.searchsorted(x1, da.asarray(x2), side)


# ------------------------------------------------------------------------------------ creation


@v.full_like.implement
def full_like_dask(x: DaskArray, *, shape: Any, fill: Any, dtype: Any = None) -> Any:
    """Broadcast one number: it takes no memory, and adopts the chunks of other arrays."""
    check_known(shape)
    number = da.full((), fill, dtype=x.dtype if dtype is None else dtype)
    return da.broadcast_to(number, shape) if shape else number


@v.broadcast_to.implement
def broadcast_to_dask(x: DaskArray, *, shape: Any) -> Any:
    """Broadcast to a shape, which has to be known."""
    check_known(shape)
    return da.broadcast_to(x, shape)


@v.eye_like.implement
def eye_like_dask(
    x: DaskArray, *, rows: int, columns: int | None = None, diagonal: int = 0, dtype: Any = None
) -> Any:
    """Make an identity matrix; Dask's function has square chunks only."""
    down, right = da.arange(rows)[:, None], da.arange(rows if columns is None else columns)
    return da.equal(down + diagonal, right).astype(x.dtype if dtype is None else dtype)


# Chunks are on the device of their library; reading a condition would compute it.
_OTHERWISE: dict[Any, Callable[..., Any]] = {
    v.arange_like: lambda x, *, stop, start=0, step=1: da.arange(start, stop, step),
    v.astype: lambda x, *, dtype: x.astype(dtype),
    v.vander: lambda x, *, columns, increasing=False: vander_standard(
        x.astype(np.promote_types(x.dtype, int)), columns=columns, increasing=increasing
    ),
    v.bessel_i: lambda x, *, order: core.elemwise(
        functools.partial(of_blocks, "bessel_i", order=order), x
    ),
    v.copy: lambda x: x.copy(),
    v.to_device: lambda x, *, device: x,
    v.lift: lambda x, *, to: x,
    v.diagonal: lambda x, *, offset=0: da.diagonal(x, offset, -2, -1),
    v.trace: lambda x, *, offset=0: da.diagonal(x, offset, -2, -1).sum(-1),
    degeneracy_reports.report: lambda condition, *, message: None,
}
for _operation, _function in _OTHERWISE.items():
    _operation.implement(_function, types=(DaskArray,))
_enter(v.heaviside, lambda x, h: core.elemwise(np.heaviside, x, h))  # floats, also of integers


# ------------------------------------------------------------------------------- manipulation


@v.reshape.implement
def reshape_dask(x: DaskArray, *, shape: Any) -> Any:
    """Reshape, in two steps where Dask can only merge axes, or only split them."""
    check_known(x.shape)
    if not x.size and -1 not in shape:
        return da.zeros(shape, dtype=x.dtype)
    try:
        return x.reshape(shape)
    except NotImplementedError:
        return x.reshape(-1).rechunk().reshape(shape)


@v.repeat.implement
def repeat_dask(x: DaskArray, repeats: Any, *, axis: int | None = None) -> Any:
    """Repeat elements by `take`, at known indices."""
    if isinstance(repeats, da.Array):
        raise refusal(
            "np.repeat by a number, a list or a Dask array",
            "write np.repeat(x, np.asarray(repeats)), of Dask's repeats.compute()",
        )
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return v.take(x, np.repeat(np.arange(x.shape[axis]), repeats), axis=axis)


def _tensordot(x1: Any, x2: Any, *, axes: Any = 2) -> Any:
    # Dask's function gives wrong results for negative axes.
    if not hasattr(axes, "__index__"):
        axes = [[a % x.ndim for a in each] for x, each in zip((x1, x2), axes, strict=True)]
    return da.tensordot(x1, x2, axes)


_enter(v.tensordot, _tensordot)


@v.einsum.implement
def einsum_dask(*operands: Operand, subscripts: str, optimize: bool | str = False) -> Any:
    """Compute einsum; Dask's function takes the subscripts first."""
    return da.einsum(subscripts, *operands)
