"""Where NumPy computes a word otherwise than by the function of the same name, and the cheap spellings."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py import Scalar, register_array_type, register_scalar_type
from chainrules_py import vocabulary as v
from chainrules_py.arrays import register_number_home
from chainrules_py.calling import register_owner
from chainrules_py.tangents import register_mutable

register_array_type(np.ndarray, np)
register_scalar_type(np.generic, np, array=np.ndarray)
register_number_home("numpy", np)
register_mutable(np.ndarray, lambda x: x.flags.writeable and 0 not in x.strides)


def own(x: Any, theirs: tuple[Any, ...]) -> Any:
    """Copy what is read-only, broadcast, or shares memory with an array of the caller's."""
    if x.base is None and x.flags.writeable:
        for y in theirs:
            if y is x or getattr(y, "base", None) is x:
                return x.copy()
        return x
    return x.copy()


register_owner(np.ndarray, own)

NumPy = np.ndarray | np.generic


@v.conj.implement
def conj_numpy(x: np.ndarray | np.generic) -> Any:
    """np.conj copies real arrays."""
    return x.conj() if x.dtype.kind == "c" else x


@v.real.implement
def real_numpy(x: np.ndarray | np.generic) -> Any:
    """The view of the real part."""
    return x.real if x.dtype.kind == "c" else x


@v.sum.implement
def sum_numpy(x: np.ndarray | np.generic, *, axis: Any = None, keepdims: bool = False) -> Any:
    """np.sum without its Python half."""
    return np.add.reduce(x, axis=axis, keepdims=keepdims)


@v.strong_multiply.implement
def strong_multiply_numpy(c: np.ndarray | Scalar, p: np.ndarray | Scalar) -> Any:
    """Multiply, and repair only where the product is not finite."""
    with np.errstate(invalid="ignore"):
        product = np.multiply(c, p)
    if not np.all(np.isfinite(product)):
        product = np.where(np.equal(c, 0), np.zeros_like(product), product)
    return product


@v.full_like.implement
def full_like_numpy(x: np.ndarray | np.generic, *, shape: tuple[int, ...], fill: Any, dtype: Any = None) -> Any:
    """np.zeros is eight times as cheap as np.full."""
    dtype = x.dtype if dtype is None else dtype
    return np.zeros(shape, dtype) if type(fill) is int and fill == 0 else np.full(shape, fill, dtype)


@v.astype.implement
def astype_numpy(x: np.ndarray | np.generic, *, dtype: Any) -> Any:
    """As the method, which takes scalars as well."""
    return x.astype(dtype, copy=False) if isinstance(x, np.ndarray) else np.asarray(x).astype(dtype)[()]


@v.to_device.implement
def to_device_numpy(x: np.ndarray | np.generic, *, device: Any) -> Any:
    """There is one device."""
    return x


@v.getitem.implement
def getitem_numpy(x: np.ndarray, *arrays: np.ndarray, index: Any) -> Any:
    """As subscripting."""
    return x[index.join(arrays)]


@v.scatter_add.implement
def scatter_add_numpy(x: np.ndarray, y: np.ndarray, *arrays: np.ndarray, index: Any) -> Any:
    """np.add.at, for x[index] += y drops all but one of repeated elements."""
    x = x.copy()
    np.add.at(x, index.join(arrays), y)
    return x
