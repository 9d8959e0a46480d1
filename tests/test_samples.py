"""Every sample of every word: its rule, on NumPy and on a second device, two levels deep.

A test for each word, sample and library, without a line of code for any of them: the samples
stand in ``chainrules_py/testing/samples``, what is checked in `chainrules_py.testing.check`.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from chainrules_py import Primitive, vocabulary
from chainrules_py.structure import fields_of, is_structure_type
from chainrules_py.testing.backends import backend, to_numpy
from chainrules_py.testing.build import instances
from chainrules_py.testing.check import check_rule
from chainrules_py.testing.nesting import Loss, default_engine

WORDS = sorted(
    (w for w in vars(vocabulary).values() if isinstance(w, Primitive)), key=lambda w: w.__name__
)
INSTANCES = [instance for word in WORDS for instance in instances(word)]
STRICT = [
    i for i in INSTANCES if i.sample.has_arrays and "array_api_strict" not in i.sample.without
]

each = pytest.mark.parametrize("instance", INSTANCES, ids=lambda i: i.name)
each_with_arrays = pytest.mark.parametrize("instance", STRICT, ids=lambda i: i.name)


def settings(instance):
    return {"gauge": instance.sample.gauge, "smooth": instance.sample.smooth}


@each
def test_numpy(instance):
    """All checks, the nestings of both modes among them."""
    operands, options = instance.build(backend("numpy"))
    report = check_rule(instance.word, *operands, **settings(instance), **options)
    if instance.sample.smooth:
        unsettled = [
            f.text for f in report.findings if f.verdict == "not judged" and "settle" in f.text
        ]
        assert not unsettled, "say smooth=False, or draw from where the function is smooth"


@each_with_arrays
def test_strict(instance):
    """Value, push against pull, dtype, shape and device; and NumPy's numbers, at two levels too."""
    strict, numpy = backend("array_api_strict:device1"), backend("numpy")
    operands, options = instance.build(strict)
    checks = ("value", "types", "adjoint", "zeros", "unmodified")
    check_rule(instance.word, *operands, **settings(instance), only=checks, **options)
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
    for instance in INSTANCES:
        if "array_api_strict" in instance.sample.without:
            operands, options = instance.build(backend("array_api_strict:device1"))
            with pytest.raises((TypeError, ValueError, IndexError)):
                instance.word(*operands, **options)


def derivatives(instance, operands, options):
    """Gradient and Hessian products of a loss in the four nestings, and the value of the word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = instance.word(*operands, **options)
        rng = np.random.default_rng(0)
        loss = Loss(lambda *xs: instance.word(*xs, **options), operands, instance.sample.gauge, rng)
        if not loss.exists:
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
