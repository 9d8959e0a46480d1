"""Rules of reports."""

from chainrules_py.ops import expand_dims, eye_like, report, tied_weights
from chainrules_py.registry.constructors import non_differentiable, rule
from chainrules_py.rules.support.spectra import beyond, least, pairs
from chainrules_py.tangents.linear_map import LinearMap
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent
from chainrules_py.values.dispatch_types import Array

SPLIT = (
    "eigvals, eigvalsh, svdvals: equal values are split by what varies, or singular values of 0 "
    "move, and the first derivative, the same for each, or 0, does not tell the second. Write the "
    "loss without them (norm, slogdet ...)"
)

non_differentiable(report)


@rule(tied_weights, batched=True)
def tied_weights_rule(even: Array, t: Array, values: Array, tied: Array):
    """Return the weights, and report tied values that a tangent or a cotangent splits.

    Neither half can see whether the weights vary with the values. The push gets the tangent of the
    values; the pull gets the cotangent of the weights, if they vary at all, and the weights before
    they were made equal.
    """
    weights = LinearMap(lambda t_dot, *_: t_dot, lambda y_bar, *at: told(y_bar, *at) + y_bar, tied)
    apart = LinearMap(lambda x_dot, _, tied: told(x_dot, tied), lambda _, *at: told(*at), t, tied)
    return tied_weights(even, t, values, tied), (weights, ZeroTangent(), apart, NoTangent())


def told(t, tied):
    """Report elements that differ among tied values, and those of zeros, on the diagonal."""
    t = t * 1.0  # whole numbers have no resolution
    moved = pairs(t) + eye_like(t, rows=t.shape[-1]) * expand_dims(t, axis=-1)
    report(beyond(tied, moved, expand_dims(least(t), axis=-1)), message=SPLIT)
    return ZeroTangent()
