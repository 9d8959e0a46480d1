"""JAX's own harness: exported operations, in both modes and to second order, beside differences.

`jax.test_util.check_grads` compares pushes with differences of values, and pullbacks with pushes;
to second order it does so with the derivatives of both.
"""

from __future__ import annotations

import warnings

import pytest

from chainrules_py.testing import backend
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.cases.unsupported_operations import unsupported
from chainrules_py.testing.sample_runs import operations_of, two_samples
from chainrules_py.values.pytree import flatten, unflatten

jax = pytest.importorskip("jax", reason="JAX is not installed")

from jax.test_util import check_grads  # noqa: E402

from chainrules_jax import export  # noqa: E402
from chainrules_py.registry.explain import rules_for  # noqa: E402

MODES = ("fwd", "rev")
SOME = slice(60, None, 200)
"""The calls that are made at every change: elementwise, a special function, a solution."""
DIFFERENT = {
    "ellipkm1": "at 0.001 its slope turns by 5e5, and differences of slopes tell three digits",
}
"""By operation, why differences of slopes say something else."""


def smooth_calls():
    for operation in filter(rules_for, operations_of()):
        found = [
            i
            for i in instances(operation)
            if i.sample.smooth
            and i.sample.has_arrays
            and i.sample.gauge is None
            and i.sample.raises is None
        ]
        yield from two_samples([i for i in found if not unsupported("jax", i)])


CALLS = list(smooth_calls())


def moves(x):
    return isinstance(x, jax.Array) and jax.numpy.issubdtype(x.dtype, jax.numpy.inexact)


def check(instance):
    operands, options = instance.build(backend("jax"))
    leaves, treedef = flatten(operands)
    at = [k for k, x in enumerate(leaves) if moves(x)]

    def outputs(*xs):
        full = list(leaves)
        for k, x in zip(at, xs, strict=True):
            full[k] = x
        return list(filter(moves, flatten(f(*unflatten(treedef, full), **options))[0]))

    f = export(instance.operation)
    xs = [leaves[k] for k in at]
    finite = all([bool(jax.numpy.isfinite(x).all()) for x in xs])  # or differences are none
    if xs and finite and outputs(*xs):
        order = 1 if instance.operation.__name__ in DIFFERENT else 2
        check_grads(outputs, xs, order, MODES, atol=1e-4, rtol=1e-4, eps=1e-5)


@pytest.mark.parametrize("instance", [pytest.param(i, id=i.name) for i in CALLS[SOME]])
def test_an_operation_of_each_kind(instance, double):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of points where it is degenerate
        check(instance)


@pytest.mark.nightly
@pytest.mark.parametrize("instance", [pytest.param(i, id=i.name) for i in CALLS])
def test_every_operation(instance, double):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(instance)
