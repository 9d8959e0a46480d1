"""Precision of tangents of what has none of its own, where a library has less than others."""

import warnings

import numpy as np
import pytest

from chainrules_py import zero_tangent
from chainrules_py.ops import scan
from chainrules_py.tangents.tangent_dtypes import default_dtype
from chainrules_tape import grad, jacobian, jvp


def test_of_numpy():
    assert default_dtype(np) == np.float64
    assert default_dtype(np, "complex") == np.complex128
    assert zero_tangent(np.arange(3)).dtype == np.float64


@pytest.mark.parametrize("wide", [False, True])
def test_jax_is_asked_for_what_it_has_now(wide):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(wide):
        xp = jax.numpy
        assert default_dtype(xp) == (np.float64 if wide else np.float32)
        assert default_dtype(xp, "complex") == (np.complex128 if wide else np.complex64)
        assert zero_tangent(xp.arange(3)).dtype == default_dtype(xp)


def steps(jax):
    """Functions of a number that meet whole numbers, or Python's, on the way to JAX."""
    counts, one = jax.numpy.arange(4), jax.numpy.ones((), np.float32)
    from chainrules_jax import export

    exported = export(scan)
    turn = lambda a: lambda c, x: ((c[0] + 1, a * c[1] + x), c[1])
    for operation in (scan, exported):
        for first in (0, jax.numpy.asarray(0)):
            yield lambda a, w=operation, c=first: w(turn(a), (c, one), counts)[0][1]
        yield lambda a, w=operation: w(lambda c, x: (a * c + x, x), one, counts)[0]
        yield lambda a, w=operation: w(lambda c, x: (a * c, c), one, None, length=3)[0]


def test_no_word_about_a_precision_that_nobody_asked_for():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with jax.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        a = jax.numpy.asarray(0.5, np.float32)
        t = jax.numpy.ones_like(a)
        for f in steps(jax):
            slopes = [grad(f)(a), jvp(f, (a,), (t,))[1], jax.grad(f)(a), jax.jvp(f, (a,), (t,))[1]]
            np.testing.assert_allclose(slopes, slopes[0], rtol=1e-6)
        counts = jax.numpy.arange(1, 4)
        slope = grad(lambda n: scan(lambda c, x: (c * x, c), t, n)[0])(counts)
        np.testing.assert_array_equal(slope, [6.0, 3.0, 2.0])
        np.testing.assert_array_equal(grad(lambda n: (n * a)[0])(counts), [0.5, 0.0, 0.0])
        square = lambda x: x * a * jax.numpy.arange(3)
        np.testing.assert_allclose(jacobian(square)(2.0), [0.0, 0.5, 1.0])
