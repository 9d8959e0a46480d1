"""Shares of a cotangent among elements, however many these are."""

from chainrules_py.ops import astype, count_nonzero, divide
from chainrules_py.tangents.promotion import real_numbers


def shared(t, n):
    """Divide by a count, though half precision holds none from 2¹⁶ on: it holds their inverses."""
    return t / n if n < 2**16 else t * (1 / n)


def equal_shares(hits, axis, dtype):
    """Share 1 among what is true along an axis; of NaN nothing is equal to it: 0 / 0."""
    count = count_nonzero(hits, axis=axis, keepdims=True)
    return astype(divide(real_numbers(hits), real_numbers(count)), dtype=dtype)
