"""Functions shared by the rules of singular values and eigenvalues where some are (nearly) equal.

Derived in docs/design/decompositions.md: a quotient whose denominator vanishes is left out, and
reported unless its numerator vanishes as well.
"""

from chainrules_py.ops import (
    abs,
    expand_dims,
    eye_like,
    greater,
    less,
    logical_and,
    logical_or,
    maximum,
    not_equal,
    real,
    resolution,
    sum,
    tied_weights,
    where,
    zeros_like,
)


def pairs(s):
    """sⱼ - sᵢ for each pair."""
    return expand_dims(s, axis=-2) - expand_dims(s, axis=-1)


def inverse(d, small):
    """1 / d, and 0 where d is small; the inner `where` keeps infinities out of its derivatives."""
    return where(small, 0.0, 1.0 / where(small, 1.0, d))


def off_diagonal(tied, s):
    """Which pairs are of two different ones."""
    return logical_and(tied, less(eye_like(real(s), rows=s.shape[-1]), 0.5))


def threshold(s, *tangents):
    """Compute the limit of vanished numerators: √ε of the mean column of the tangents."""
    size = 0.0
    for t in tangents:
        size = size + sum(abs(t), axis=(-2, -1), keepdims=True)
    return size * (resolution(s) ** 0.5 / max(1, s.shape[-1]))


def least(t):
    """Compute the limit of vanished elements: √ε of their sum."""
    return resolution(t) ** 0.5 * sum(abs(t), axis=-1, keepdims=True)


def beyond(mask, numerator, limit):
    """Where a numerator, whose denominator vanishes, does not."""
    return logical_and(mask, greater(abs(numerator), limit))


def singled_out(tied, *bars):
    """Which pairs of tied columns have cotangents of one column alone.

    The loss of ``U[0, 0]`` at U = I does not move to first order when the two columns turn, and
    yet depends on which were returned.
    """
    size = 0.0
    for t in bars:
        size = size + sum(abs(t), axis=-2)
    used = greater(size, 0.0)
    return logical_and(tied, not_equal(expand_dims(used, axis=-2), expand_dims(used, axis=-1)))


def evenly(t, s, tied):
    """Each element moved towards those that are tied with it, so that exact ties end at their mean.

    A second derivative that splits them is reported: the first does not tell it.

    The weights 1 / max(how many are tied with i, with j) are symmetric and keep sums and constants,
    also where "nearly equal" is not transitive, so push and pull are the same.
    """
    # As numbers of the dtype of s: what is counted are ones.
    ones = where(tied, 1.0 + zeros_like(real(pairs(s))), 0.0)
    count = sum(ones, axis=-1)
    weight = ones / maximum(expand_dims(count, axis=-1), expand_dims(count, axis=-2))
    even = t + sum(weight * (expand_dims(t, axis=-2) - expand_dims(t, axis=-1)), axis=-1)
    return tied_weights(even, t, s, tied)


def unsettled(tied, close, s_bar, normal, limit, alone=None):
    """Where equal values leave what stands beside the diagonal open; ``alone``: further places.

    A loss ψ(U f(S) Vᴴ) has s̄ᵢ = f' Re Kᵢᵢ and a ``normal`` part of its cotangents, 2 f (K + Kᴴ)
    between equal ones, where its derivative is f' (K + Kᴴ)/2: that is known if K is diagonal with
    equal elements. Values may also be too ``close`` for their quotient.
    """
    flow = abs(s_bar)
    small = (resolution(s_bar) ** 0.5 / max(1, s_bar.shape[-1])) * sum(flow, axis=-1, keepdims=True)
    flows, small = greater(flow, small), expand_dims(small, axis=-1)
    turned = beyond(off_diagonal(close, s_bar), normal, limit)
    if alone is not None:
        turned = logical_or(turned, logical_and(alone, expand_dims(flows, axis=-1)))
    return logical_or(beyond(tied, pairs(s_bar), small), turned)
