"""Arrays whose dtype is equal to NumPy's own and another object, as those that were pickled have.

Results have the same bits, on the tape and compiled, and programs are the same.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import chainrules_tape as ct
from chainrules_compile import compile
from chainrules_py.extend import flatten, unflatten
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.sample_runs import operations_of, two_samples
from tests.engines.compile.shadow import same
from tests.engines.compile.test_samples import FORMS, calls, outcome

OPERATIONS = operations_of()


def pickled(x):
    """Return an array that lies as it did, with a dtype as pickle makes one."""
    if type(x) is not np.ndarray:
        return x
    return x.view(x.dtype.newbyteorder("S").newbyteorder("S"))


def source_of(g, args):
    compiled = compile(g)
    try:
        compiled(*args)
        return compiled.source
    except Exception as error:
        return type(error)


def differing(found, forms, compiled=False):
    """Name the calls of samples that give other bits, or another program, of pickled arrays."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for instance in found:
            for form in forms:
                for name, g, args in calls(instance, form):
                    leaves, tree = flatten(args)
                    other = unflatten(tree, [pickled(x) for x in leaves])
                    wanted = outcome(g, args)
                    # a second time: SciPy's sums hang on where memory lies
                    if not any([same(outcome(g, other), outcome(g, args)) for _ in range(2)]):
                        yield f"{instance.name}, {form}, {name}: {outcome(g, other)} for {wanted}"
                    if compiled and source_of(g, other) != source_of(g, args):
                        yield f"{instance.name}, {form}, {name}: another program"


def softmax(w):
    p = np.exp(w) / np.sum(np.exp(w))
    return np.sum(p**2)


def lengths(w):
    return np.sum(w / np.linalg.norm(w) * np.cos(w[0]) + np.exp(w / w[1]))


DERIVATIVES = {
    "value_and_grad": ct.value_and_grad,
    "jvp": lambda f: lambda x: ct.jvp(f, (x,), (np.sin(x),)),
    "hvp": lambda f: lambda x: ct.hvp(f, (x,), (np.sin(x),)),
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", [softmax, lengths])
@pytest.mark.parametrize("derivative", DERIVATIVES.values(), ids=DERIVATIVES)
def test_programs_of_pickled_arrays(derivative, f, dtype):
    g, rng = derivative(f), np.random.default_rng(0)
    compiled = compile(g)
    for n in range(20):
        x = rng.standard_normal(10).astype(dtype)
        wanted, other = g(x), pickled(x)
        assert other.dtype is not x.dtype
        assert same(g(other), wanted)
        found = flatten(compiled(x if n % 2 else other))[0]
        for a, b in zip(found, flatten(wanted)[0], strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            bound = 1e-13 if np.dtype(dtype) == np.float64 else 2e-6
            np.testing.assert_allclose(a, b, rtol=10 * bound, atol=bound * np.max(np.abs(b)))
    assert len(compiled.programs) == 1


@pytest.mark.parametrize("operation", OPERATIONS[7::30], ids=lambda operation: operation.__name__)
def test_samples_of_pickled_arrays(operation):
    found = two_samples(list(instances(operation)))[:1]
    assert not list(differing(found, ("as it is", "spaced"), compiled=True))


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.__name__)
def test_all_samples_of_pickled_arrays(operation):
    assert not list(differing(two_samples(list(instances(operation))), FORMS))
