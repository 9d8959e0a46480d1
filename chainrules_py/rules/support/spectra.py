"""Functions for rules of singular values and eigenvalues, some of which may be (nearly) equal.

Derived in docs/design/decompositions.md: a quotient whose denominator vanishes is left out, and
reported unless its numerator vanishes as well.
"""

from chainrules_py.ops import (
    abs,
    conj,
    equal,
    expand_dims,
    eye_like,
    greater,
    imag,
    less,
    logical_and,
    logical_or,
    maximum,
    not_equal,
    real,
    resolution,
    sqrt,
    sum,
    tied_weights,
    where,
    zeros_like,
)
from chainrules_py.tangents.space import kind_of


def magnitude(x):
    """Compute |Re x| + |Im x|, which is as small as |x| and has no root to differentiate at 0."""
    return abs(real(x)) + abs(imag(x)) if kind_of(x) == "complex" else abs(x)


def frobenius(x):
    """Compute the norm of a matrix, as an array of one element; squares do not overflow."""
    scale = sum(magnitude(x), axis=(-2, -1), keepdims=True)
    u = x / where(equal(scale, 0), 1, scale)
    return scale * sqrt(sum(real(conj(u) * u), axis=(-2, -1), keepdims=True))


def pairs(s):
    """Compute sⱼ - sᵢ for each pair."""
    return expand_dims(s, axis=-2) - expand_dims(s, axis=-1)


def inverse(d, small):
    """Compute 1 / d, and 0 where d is small; the inner `where` avoids infinite derivatives."""
    return where(small, 0.0, 1.0 / where(small, 1.0, d))


def off_diagonal(tied, s, null=None):
    """Return the tied pairs of two different values, and the values in a mask on the diagonal."""
    two = less(eye_like(real(s), rows=s.shape[-1]), 0.5)
    return logical_and(tied, two if null is None else logical_or(two, expand_dims(null, axis=-1)))


def threshold(s, *tangents):
    """Compute the size below which numerators vanish: √ε of the mean column of the tangents."""
    size = 0.0
    for t in tangents:
        size = size + sum(magnitude(t), axis=(-2, -1), keepdims=True)
    return size * (resolution(s) ** 0.5 / max(1, s.shape[-1]))


def least(t):
    """Compute the size below which elements vanish: √ε of their sum."""
    return resolution(t) ** 0.5 * sum(magnitude(t), axis=-1, keepdims=True)


def beyond(mask, numerator, limit):
    """Find where a numerator does not vanish although its denominator, in the mask, does."""
    return logical_and(mask, greater(magnitude(numerator), limit))


def singled_out(tied, *bars):
    """Find the pairs of tied columns of which only one has a cotangent.

    The loss ``U[0, 0]`` at U = I does not change to first order when the two columns turn, and yet
    depends on which were returned.
    """
    size = 0.0
    for t in bars:
        size = size + sum(magnitude(t), axis=-2)
    used = greater(size, 0.0)
    return logical_and(tied, not_equal(expand_dims(used, axis=-2), expand_dims(used, axis=-1)))


def evenly(t, s, tied, null=None):
    """Move each element towards those tied with it, so that exact ties end at their mean.

    A second derivative that splits them is reported, since the first does not determine it; so is
    one along which a value moves that is zero, in the mask ``null``.

    The weights 1 / max(number tied with i, number tied with j) are symmetric and keep sums and
    constants, even if "nearly equal" is not transitive, so push and pull are the same.
    """
    # Ones in the dtype of s, to be counted.
    ones = where(tied, 1.0 + zeros_like(real(pairs(s))), 0.0)
    count = sum(ones, axis=-1)
    weight = ones / maximum(expand_dims(count, axis=-1), expand_dims(count, axis=-2))
    even = t + sum(weight * (expand_dims(t, axis=-2) - expand_dims(t, axis=-1)), axis=-1)
    return tied_weights(even, t, s, off_diagonal(tied, s, null))


def unsettled(tied, close, s_bar, normal, limit, alone=None):
    """Find where equal values leave off-diagonal elements undetermined; ``alone`` adds positions.

    A loss ψ(U f(S) Vᴴ) has s̄ᵢ = f' Re Kᵢᵢ and a ``normal`` part of its cotangents, 2 f (K + Kᴴ)
    between equal values, where its derivative is f' (K + Kᴴ)/2: that is known if K is diagonal with
    equal elements. Values may also be too ``close`` for their quotient.
    """
    flow = magnitude(s_bar)
    small = (resolution(s_bar) ** 0.5 / max(1, s_bar.shape[-1])) * sum(flow, axis=-1, keepdims=True)
    flows, small = greater(flow, small), expand_dims(small, axis=-1)
    turned = beyond(off_diagonal(close, s_bar), normal, limit)
    if alone is not None:
        turned = logical_or(turned, logical_and(alone, expand_dims(flows, axis=-1)))
    return logical_or(beyond(tied, pairs(s_bar), small), turned)
