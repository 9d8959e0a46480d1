"""Names of CuPy's, for its stand-in on the host."""

from __future__ import annotations


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


METHODS = _names(
    """
    all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy
    cumprod cumsum diagonal dot flatten max mean min prod ptp ravel repeat reshape round
    searchsorted std sum swapaxes take trace var
    """
)
"""Methods that compute."""

OPERATORS = _names(
    """
    add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift radd rsub rmul
    rtruediv rfloordiv rmod rdivmod rpow rmatmul rand ror rxor rlshift rrshift lt le gt ge eq ne
    neg pos abs invert
    """
)
"""Operators."""

IN_PLACE = _names(
    """
    iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift
    """
)
"""Operators that write."""

AS_THEY_ARE = _names(
    """
    asnumpy can_cast common_type fuse get_array_module iinfo finfo is_available iscomplexobj
    isdtype isfortran isrealobj isscalar issubdtype load may_share_memory memoize
    min_scalar_type ndim promote_types result_type save savez shape show_config size
    broadcast_shapes ndindex printoptions set_printoptions get_printoptions apply_along_axis
    apply_over_axes fromfunction vectorize piecewise broadcast_arrays broadcast
    """
)
"""Functions that launch nothing, or are written in what does."""

ATOMIC = _names(
    """
    float16 float32 float64 complex64 complex128 int32 uint32 uint64
    """
)
"""Types of elements that there are atomic operations of."""
