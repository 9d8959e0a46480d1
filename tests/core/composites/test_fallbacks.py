"""Words in other words, for libraries that lack them: the numbers are those of NumPy's own."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_py import Primitive, vocabulary
from chainrules_py.primitives.plugins import see_all
from chainrules_py.testing import backend, to_numpy
from chainrules_py.testing.data.build import instances
from chainrules_py.values.structure import fields_of, is_structure_type

see_all("chainrules_py")  # who computes words by words waits to be asked
WORDS = [
    word
    for word in vars(vocabulary).values()
    if isinstance(word, Primitive) and word._fallback is not None
]
SAMPLES = [i for word in WORDS for i in instances(word) if i.sample.has_arrays]


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
    refused = (vocabulary.fmax, vocabulary.fmin)  # its maximum is of real numbers
    if on.library != "numpy" and (
        on.library in instance.sample.without
        or instance.word is vocabulary.getitem
        or (instance.word in refused and "complex" in instance.name)
    ):
        pytest.skip("the library's own function refuses this call")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        operands, options = instance.build(backend("numpy"))
        expected = instance.word(*operands, **options)
        operands, options = instance.build(on)
        y = instance.word._fallback(*operands, **options)
        if instance.word is vocabulary.roots and expected.dtype.kind == "f":
            y = vocabulary.real(y)  # NumPy's eigenvalues are complex since 2.5, and roots are not
    same(y, expected, instance.sample.gauge)
