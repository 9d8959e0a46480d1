"""Equal shares of a cotangent among elements."""

from chainrules_py.ops import astype, count_nonzero, divide
from chainrules_py.tangents.primal_promotion import real_numbers


def shared(t, n):
    """Divide by a count; from 2¹⁶ on multiply by its inverse, which half precision can hold.

    For a count of 0 there is no element to give a share to.
    """
    return t / max(n, 1) if n < 2**16 else t * (1 / n)


def equal_shares(hits, axis, dtype):
    """Share 1 among the true elements along an axis; NaN if there are none."""
    count = count_nonzero(hits, axis=axis, keepdims=True)
    return astype(divide(real_numbers(hits), real_numbers(count)), dtype=dtype)
