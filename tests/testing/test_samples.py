"""Every sample of every operation: its rule, on every array library.

A test for each operation, sample and library, without a line of code for any of them: the samples
stand in ``chainrules_py/testing/samples``, what is checked in `chainrules_py.testing.check`, how
deep in `chainrules_py.testing.sample_runs`.
"""

from __future__ import annotations

import dataclasses
import itertools
import warnings

import numpy as np
import pytest

from chainrules_py import rrule
from chainrules_py.primitives.plugins import default_engine
from chainrules_py.testing import backends, sample_tests, to_numpy
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.cases.unsupported_operations import UNSUPPORTED, unsupported
from chainrules_py.testing.checks.nesting import Loss
from chainrules_py.testing.sample_runs import operations_of, two_samples
from chainrules_py.values.structure import fields_of, is_structure_type
from tests.draw import DRAW, number
from tests.fake_gpu.backend import backend


def is_there(name):
    """Of an installed CuPy in any case: where there is no GPU the plugin skips it, and says so."""
    try:
        return name == backend(name).library == "cupy" or not backend(name).missing
    except LookupError:
        return False


def in_parts(library, number):
    """Each third operation on a library, other ones on each; of JAX, which compiles, few."""
    parts = 18 if library.library == "jax" else 3
    late = {
        operation.__name__ for n, operation in enumerate(operations_of()) if (n + number) % parts
    }
    return dataclasses.replace(library, slow=library.slow | late)


OTHERS = [name for name in ("cupy-host", "cupy", "torch", "jax") if is_there(name)]
FIRST, *REST = [*backends(), *map(backend, OTHERS)]
test_sample = sample_tests(backends=[FIRST, *map(in_parts, REST, range(len(REST)))])
MOST = 10
DRAWN = 6  # of an operation's samples, by `make test`: others with each draw


def few_of(tests):
    """The places of those of an operation's tests on the first library that are not slow."""
    if DRAW:
        by_draw = sorted(range(len(tests)), key=lambda i: number(tests[i].id))
        return {*by_draw[:DRAWN]}
    return {i * (len(tests) - 1) // (MOST - 1) for i in range(MOST)}


def spread(parameters):
    """The tests; on the first library all but so many of an operation's are slow."""
    operation = lambda p: (
        str(p.id).partition("(")[0] if str(p.id).endswith(f" on {FIRST}") else None
    )
    for name, found in itertools.groupby(parameters, operation):
        tests = list(found)
        few = few_of(tests) if name is not None and len(tests) > DRAWN else range(len(tests))
        for i, test in enumerate(tests):
            late = i not in few
            yield test._replace(marks=(*test.marks, pytest.mark.slow)) if late else test


names, parameters = test_sample.pytestmark.pop().args
test_sample = pytest.mark.parametrize(names, list(spread(parameters)))(test_sample)
test_sample = pytest.mark.parts(12)(test_sample)


def with_arrays():
    """The samples that array-api-strict takes; all but two of each operation are slow."""
    for operation in operations_of():
        found = [
            i
            for i in instances(operation)
            if i.sample.has_arrays and "array_api_strict" not in i.sample.without
        ]
        few = two_samples(found)
        for instance in found:
            marks = () if instance in few else pytest.mark.slow
            yield pytest.param(instance, id=instance.name, marks=marks)


@pytest.mark.parts(4)
@pytest.mark.parametrize("instance", list(with_arrays()))
def test_strict_gives_the_numbers_of_numpy(instance):
    """Value, device, first and second derivatives in every nesting of the modes."""
    strict, numpy = backend("array_api_strict:device1"), backend("numpy")
    operands, options = instance.build(strict)
    there, y = derivatives(instance, operands, options)
    assert_on_device(y, strict.xp.Device("device1"))
    here, expected = derivatives(instance, *instance.build(numpy))
    assert_same_numbers(y, expected, instance.sample.gauge)
    assert there.keys() == here.keys()
    for nesting, value in here.items():
        scale = max(1.0, float(np.max(np.abs(value), initial=0.0)))
        np.testing.assert_allclose(
            there[nesting], value, rtol=1e-9, atol=1e-9 * scale, err_msg=nesting
        )


def test_samples_that_leave_a_library_out_are_refused_by_it():
    """Nothing is left out because its rule fails there."""
    for operation in operations_of():
        for instance in instances(operation):
            if "array_api_strict" in instance.sample.without:
                operands, options = instance.build(backend("array_api_strict:device1"))
                with pytest.raises((TypeError, ValueError, IndexError)):
                    instance.operation(*operands, **options)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.gpu] * (n == "cupy")) for n in OTHERS]
)
def test_gaps_are_gaps(name):
    """What a library is said not to compute, or a rule not to pull back there, is an error."""
    on = backend(name)
    operations = {operation.__name__: operation for operation in operations_of()}
    for operation in UNSUPPORTED.get(on.library, {}):
        found = [
            i
            for i in instances(operations[operation])
            if i.sample.has_arrays and unsupported(on.library, i)
        ]
        for instance in two_samples(found):
            with pytest.raises(Exception):  # noqa: B017
                pull_back(instance, on)


def pull_back(instance, on):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        operands, options = instance.build(on)
        y, pullback = rrule(instance.operation, *operands, **options)
        of = Coordinates(y)
        pullback(of.tangent(np.ones(of.size)))


def derivatives(instance, operands, options):
    """Gradient and Hessian products of a loss in the four nestings, and the value."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = instance.operation(*operands, **options)
        rng = np.random.default_rng(0)
        loss = Loss(
            lambda *xs: instance.operation(*xs, **options), operands, instance.sample.gauge, rng
        )
        if not (loss.inputs.size and loss.output.size):
            return {}, y
        u, w = rng.standard_normal((2, loss.inputs.size))
        engine = default_engine()
        found = {"reverse": loss.gradient(engine, tuple(loss.at))}
        return found | loss.products(engine, u, w), y


def assert_on_device(y, device):
    if is_structure_type(type(y)):
        for _, field in fields_of(y):
            assert_on_device(field, device)
    elif y is not None and not isinstance(y, (bool, int, float, complex)):
        assert type(y).__module__.startswith("array_api_strict"), type(y)
        assert y.device == device


def assert_same_numbers(y, expected, gauge):
    if gauge is not None:
        y, expected = gauge(y), gauge(expected)
    if is_structure_type(type(y)):
        for (_, a), (_, b) in zip(fields_of(y), fields_of(expected), strict=True):
            assert_same_numbers(a, b, None)
        return
    if y is expected is None:
        return
    a, b = to_numpy(y), to_numpy(expected)
    assert a.dtype == b.dtype
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
