"""Hypothesis strategies for operands and options of functions of arrays.

They shrink towards few axes, small sizes, whole slices, zeros and identity matrices, so that the
reported example of a failure is the smallest. Numbers are multiples of 1/1024: exact in every
precision, and either on a kink or not near it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

try:
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as hnp
except ImportError as error:
    raise ImportError(
        "chainrules_py.testing.strategies needs hypothesis; write: pip install hypothesis"
    ) from error

__all__ = [
    "arrays",
    "axes",
    "broadcastable_arrays",
    "broadcastable_shapes",
    "dtypes",
    "indices",
    "numbers",
    "shapes",
    "spd_matrices",
    "well_conditioned_matrices",
]

_Shape: TypeAlias = tuple[int, ...]
# Strategies are generic in their element type, which for NumPy arrays carries no information.
_Strategy: TypeAlias = st.SearchStrategy[Any]
_Draw: TypeAlias = Callable[[_Strategy], Any]

_GRID = 1024
_DTYPES = {
    "real": ("float64", "float32"),
    "complex": ("complex128", "complex64"),
    "integer": ("int64", "int32", "int16", "int8", "uint8"),
    "bool": ("bool",),
}


# ------------------------------------------------------------------------------ shapes and dtypes


def shapes(
    *, min_dims: int = 0, max_dims: int = 3, min_side: int = 0, max_side: int = 4
) -> st.SearchStrategy[_Shape]:
    """Return a strategy for shapes, including empty ones.

    Parameters
    ----------
    min_dims, max_dims : int
        The number of axes.
    min_side, max_side : int
        The lengths of the axes.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(shapes(min_side=1), lambda shape: len(shape) == 2)
    (1, 1)
    """
    return hnp.array_shapes(
        min_dims=min_dims, max_dims=max_dims, min_side=min_side, max_side=max_side
    )


def broadcastable_shapes(
    n: int = 2, *, max_dims: int = 3, min_side: int = 0, max_side: int = 4
) -> st.SearchStrategy[tuple[_Shape, ...]]:
    """Return a strategy for tuples of n shapes that broadcast against each other.

    Parameters
    ----------
    n : int
        The number of shapes.
    max_dims : int
        The largest number of axes.
    min_side, max_side : int
        The lengths of the axes.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(broadcastable_shapes(2, min_side=1), lambda pair: len(pair[0]) > len(pair[1]))
    ((1,), ())
    """
    return hnp.mutually_broadcastable_shapes(
        num_shapes=n, max_dims=max_dims, min_side=min_side, max_side=max_side
    ).map(lambda found: tuple(found.input_shapes))


def dtypes(*kinds: str) -> st.SearchStrategy[np.dtype[Any]]:
    """Return a strategy for NumPy dtypes of some kinds.

    Parameters
    ----------
    *kinds : str
        ``"real"``, ``"complex"``, ``"integer"``, ``"bool"``; by default all four.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(dtypes("real", "complex"), lambda dtype: dtype.itemsize == 8)
    dtype('float64')
    """
    if unknown := {*kinds} - {*_DTYPES}:
        raise ValueError(f"dtypes({unknown.pop()!r}): write one of {', '.join(map(repr, _DTYPES))}")
    return st.sampled_from([np.dtype(name) for kind in kinds or _DTYPES for name in _DTYPES[kind]])


# ---------------------------------------------------------------------------------------- arrays


def numbers(
    low: float = -2.0, high: float = 2.0, *, avoid: float | tuple[float, ...] = ()
) -> st.SearchStrategy[float]:
    """Return a strategy for multiples of 1/1024 in an interval.

    Parameters
    ----------
    low, high : float
        The interval, with both ends.
    avoid : float or tuple of float
        Excluded numbers: kinks, poles, ends of the interval.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(numbers(0.0, 1.0, avoid=(0.0,)), lambda x: x > 0.25)
    0.2509765625
    """
    grid = st.integers(math.ceil(low * _GRID), math.floor(high * _GRID)).map(lambda k: k / _GRID)
    return grid.filter(lambda x: x not in np.ravel(avoid)) if np.size(avoid) else grid


def arrays(
    shape: _Shape | st.SearchStrategy[_Shape] | None = None,
    *,
    dtype: Any = "float64",
    low: float = -2.0,
    high: float = 2.0,
    avoid: float | tuple[float, ...] = (),
) -> _Strategy:
    """Return a strategy for arrays with numbers in an interval.

    Parameters
    ----------
    shape : tuple of int or strategy, optional
        The shape; by default any of `shapes`.
    dtype : dtype or strategy
        Real, complex, integer or boolean.
    low, high : float
        The interval of reals, of integers, and of both parts of complex numbers.
    avoid : float or tuple of float
        Excluded numbers.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(arrays((2,), low=1.0), lambda x: x.sum() > 2.5)
    array([1.        , 1.50097656])
    """
    where = shapes() if shape is None else shape

    @st.composite
    def build(draw: _Draw) -> Any:
        kind = np.dtype(draw(dtype) if isinstance(dtype, st.SearchStrategy) else dtype)
        size = draw(where) if isinstance(where, st.SearchStrategy) else where
        return draw(hnp.arrays(kind, size, elements=_elements(kind, low, high, avoid)))

    return build()


def _elements(
    dtype: np.dtype[Any], low: float, high: float, avoid: float | tuple[float, ...]
) -> _Strategy:
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        least = max(math.ceil(low), int(np.iinfo(dtype).min))
        whole = st.integers(least, min(math.floor(high), int(np.iinfo(dtype).max)))
        return whole.filter(lambda x: x not in np.ravel(avoid))
    real = numbers(low, high, avoid=avoid)
    return st.builds(complex, real, real) if dtype.kind == "c" else real


def broadcastable_arrays(
    n: int = 2,
    *,
    max_dims: int = 3,
    min_side: int = 0,
    max_side: int = 4,
    dtype: Any = "float64",
    low: float = -2.0,
    high: float = 2.0,
    avoid: float | tuple[float, ...] = (),
) -> _Strategy:
    """Return a strategy for tuples of n arrays that broadcast against each other.

    Parameters
    ----------
    n : int
        The number of arrays.
    max_dims, min_side, max_side : int
        As in `broadcastable_shapes`.
    dtype, low, high, avoid
        As in `arrays`; a strategy of dtypes is drawn from for each array.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(broadcastable_arrays(2, min_side=1, low=1.0), lambda xs: xs[0].ndim < xs[1].ndim)
    (array(1.), array([1.]))
    """

    @st.composite
    def build(draw: _Draw) -> Any:
        found = draw(
            broadcastable_shapes(n, max_dims=max_dims, min_side=min_side, max_side=max_side)
        )
        each = [arrays(x, dtype=dtype, low=low, high=high, avoid=avoid) for x in found]
        return tuple([draw(x) for x in each])

    return build()


# ------------------------------------------------------------------------------ axes and indices


def axes(
    ndim: int, *, none: bool = True, tuples: bool = True, negative: bool = True
) -> st.SearchStrategy[int | tuple[int, ...] | None]:
    """Return a strategy for ``axis=`` of an array with ``ndim`` axes.

    Parameters
    ----------
    ndim : int
        The number of axes.
    none, tuples, negative : bool
        Whether to include None, tuples of axes, and axes counted from the end.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(axes(3), lambda axis: isinstance(axis, tuple) and len(axis) == 2)
    (0, 1)
    """
    kinds: list[_Strategy] = [st.none()] if none else []
    single = st.integers(0, ndim - 1)
    if negative:
        # Written as a choice, so that it shrinks to the axis counted from the front.
        single = st.builds(lambda k, back: k - ndim if back else k, single, st.booleans())
    if ndim:
        kinds.append(single)
    if tuples and ndim:
        kinds.append(
            st.lists(single, unique_by=lambda k: k % ndim, min_size=1, max_size=ndim).map(tuple)
        )
    elif tuples:
        kinds.append(st.just(()))
    return st.one_of(kinds)


def indices(shape: _Shape) -> _Strategy:
    """Return a strategy for the index in ``x[...]``, for an array of a shape.

    The index is one of the following or a tuple of them: integers of both signs, slices with steps
    of both signs, None, Ellipsis, masks, and arrays of integers with repetitions.

    Parameters
    ----------
    shape : tuple of int
        The shape of x.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(indices((3,)), lambda i: isinstance(i, slice) and (i.step or 1) < 0)
    slice(None, None, -1)
    """

    @st.composite
    def build(draw: _Draw) -> Any:
        kind = draw(st.sampled_from(("basic", "mask", "integers")))
        n = draw(st.integers(0, len(shape)))
        cut = [Ellipsis] if draw(st.booleans()) else []
        behind = draw(st.integers(0, n)) if cut else 0
        split = len(shape) - behind
        # Every integer array of an index has this shape, so that they broadcast.
        common = draw(st.sampled_from(((2,), (1,), (3,), (2, 2))))
        front = _entries(draw, shape[: n - behind], kind, common)
        # Two masks in one index would need the same number of true elements.
        back = _entries(draw, shape[split:], "basic" if kind == "mask" else kind, common)
        entries = [*front, *cut, *back]
        if draw(st.booleans()):
            entries.insert(draw(st.integers(0, len(entries))), None)
        return entries[0] if len(entries) == 1 and draw(st.booleans()) else tuple(entries)

    return build()


def _entries(draw: _Draw, sizes: _Shape, kind: str, common: _Shape) -> list[Any]:
    """Draw an index entry for each of some axes; one mask may cover several axes."""
    entries = [draw(_basic(size)) for size in sizes]
    if kind == "mask" and sizes:
        start = draw(st.integers(0, len(sizes) - 1))
        stop = draw(st.integers(start + 1, len(sizes)))
        entries[start:stop] = [draw(hnp.arrays(bool, sizes[start:stop]))]
    if kind == "integers":
        for k, size in enumerate(sizes):
            if size and draw(st.booleans()):
                within = st.integers(-size, size - 1)
                entries[k] = draw(hnp.arrays(np.int64, common, elements=within))
    return entries


def _basic(size: int) -> _Strategy:
    steps = st.sampled_from((None, -1, 2, -2))
    ends = st.one_of(st.none(), st.integers(-size, size))
    cuts = st.builds(slice, ends, ends, steps)
    return st.one_of(cuts, st.integers(-size, size - 1)) if size else cuts


# -------------------------------------------------------------------------------------- matrices


def _unit(shape: _Shape, dtype: Any) -> _Strategy:
    """Return a strategy for matrices whose norm is at most 1."""
    limit = 0.5 if np.dtype(dtype).kind == "c" else 1.0
    drawn = arrays(shape, dtype=dtype, low=-limit, high=limit)
    return drawn.map(lambda a: a / max(1, *shape[-2:]))


def well_conditioned_matrices(
    rows: int, columns: int | None = None, *, batch: _Shape = (), dtype: Any = "float64"
) -> _Strategy:
    """Return a strategy for matrices with singular values between 1 and 3.

    They shrink to twice the identity.

    Parameters
    ----------
    rows, columns : int
        The shape; square by default.
    batch : tuple of int
        The leading axes.
    dtype : dtype
        Real or complex.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(well_conditioned_matrices(2), lambda a: True)
    array([[2., 0.],
           [0., 2.]])
    """
    m, n = rows, rows if columns is None else columns
    return _unit((*batch, m, n), dtype).map(lambda a: (2 * np.eye(m, n) + a).astype(dtype))


def spd_matrices(n: int, *, batch: _Shape = (), dtype: Any = "float64") -> _Strategy:
    """Return a strategy for symmetric, or Hermitian, matrices with eigenvalues between 1 and 2.

    Parameters
    ----------
    n : int
        The number of rows.
    batch : tuple of int
        The leading axes.
    dtype : dtype
        Real or complex.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(spd_matrices(2), lambda a: True)
    array([[1., 0.],
           [0., 1.]])
    """
    drawn = _unit((*batch, n, n), dtype)
    return drawn.map(lambda a: (np.eye(n) + a @ np.conj(np.swapaxes(a, -1, -2))).astype(dtype))
