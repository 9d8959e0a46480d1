"""Operations in other words, for libraries that lack them: the numbers are those of NumPy's own."""

import warnings

import numpy as np
import pytest

from chainrules_py import Primitive, ops
from chainrules_py.primitives.plugins import see, see_all
from chainrules_py.testing import backend, to_numpy
from chainrules_py.testing.cases.calls_from_samples import instances
from chainrules_py.values.structure import fields_of, is_structure_type

see_all("chainrules_py")  # who computes operations by words waits to be asked
OPERATIONS = [
    operation
    for operation in vars(ops).values()
    if isinstance(operation, Primitive) and operation._fallback is not None
]
SAMPLES = [i for operation in OPERATIONS for i in instances(operation) if i.sample.has_arrays]


def same(y, expected, gauge):
    if gauge is not None:
        y, expected = gauge(y), gauge(expected)
    if is_structure_type(type(expected)):
        pairs = zip(fields_of(y), fields_of(expected), strict=True)
        for (_, a), (_, b) in pairs:
            same(a, b, None)
        return
    a, b = to_numpy(y), np.asarray(expected)
    assert a.shape == b.shape
    assert a.dtype.kind == b.dtype.kind
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("library", ["numpy", "array_api_strict:device1"])
@pytest.mark.parametrize("instance", SAMPLES, ids=lambda i: i.name)
def test_fallback_gives_the_numbers_of_numpy(instance, library):
    on = backend(library)
    refused = (ops.fmax, ops.fmin)  # its maximum is of real numbers
    if on.library != "numpy" and (
        on.library in instance.sample.without
        or instance.operation is ops.getitem
        or (instance.operation in refused and "complex" in instance.name)
    ):
        pytest.skip("the library's own function refuses this call")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        operands, options = instance.build(backend("numpy"))
        expected = instance.operation(*operands, **options)
        operands, options = instance.build(on)
        see(None, tuple(map(type, operands)))  # as a call does first
        y = instance.operation._fallback(*operands, **options)
        if instance.operation is ops.roots and expected.dtype.kind == "f":
            y = ops.real(y)  # NumPy's eigenvalues are complex since 2.5, and roots are not
    same(y, expected, instance.sample.gauge)
