"""Arrays of values and between two numbers; what NumPy lets nobody see raises, and says why."""

import numpy as np
import pytest

from chainrules_py import NoTangent, NotDifferentiableError, TracerError, frule, rrule
from chainrules_py import ops as v
from chainrules_tape import asarray, full, grad, jvp, vjp

rng = np.random.default_rng(5)
FLAT = rng.standard_normal((2, 3))
LINE = rng.standard_normal(3)

UNSEEN = {
    "array": np.array,
    "array of a list": lambda x: np.array([x[0], x[1]]),
    "array of numbers": lambda x: np.array([x[0, 0], 1.0]),
    "asarray": np.asarray,
    "asanyarray": np.asanyarray,
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "require": lambda x: np.require(x, float, "C"),
    "full": lambda x: np.full((2, 3), x[0]),
    "arange": lambda x: np.arange(x[0, 0]),
    "r_": lambda x: np.r_[x[0], 1.0],
    "r_ of numbers": lambda x: np.r_[x[0, 0], x[0, 1]],
    "r_ of a slice": lambda x: np.r_[0 : x[0, 0] : 4j],
    "c_": lambda x: np.c_[x, x],
    "fromiter": lambda x: np.fromiter(x[0], float),
    "a function of a list": lambda x: np.sum([x[0], x[1]]),
    "full_like of another": lambda x: np.full_like(LINE, x[0]),
    "as_strided": lambda x: np.lib.stride_tricks.as_strided(x, (2,), (8,)),
    "as_strided by other strides": lambda x: np.lib.stride_tricks.as_strided(
        np.ravel(x)[::2], (2,), (32,)
    ),
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_numpy_shows_nobody_is_right_or_raises(name):
    """An array of objects, or an error; never a gradient of zero."""
    f = lambda x: np.sum(UNSEEN[name](x) * 1.0)
    try:
        slope = grad(f)(FLAT)
    except (TracerError, NotDifferentiableError):
        return
    rows = 1e-6 * np.eye(FLAT.size).reshape(-1, *FLAT.shape)
    truth = np.reshape([(f(FLAT + row) - f(FLAT - row)) / 2e-6 for row in rows], FLAT.shape)
    np.testing.assert_allclose(slope, truth, rtol=1e-6, atol=1e-8)


def test_the_error_says_what_to_write():
    with pytest.raises(TracerError, match=r"use np\.stack\(\[x, x\]\)"):
        grad(lambda x: np.sum(np.array([x, x])).real)(2.0 + 1j)
    with pytest.raises(TracerError, match=r"use np\.full_like\(x, x, shape=3\)"):
        grad(lambda x: np.sum(np.full(3, x)).real)(2.0 + 1j)


SEEN = {
    "array": lambda x: np.array(x, like=x),
    "array of lists": lambda x: np.array([[x[0, 0], 2.0], [1, x[1, 1]]], like=x),
    "array ndmin": lambda x: np.array(x, ndmin=4, like=x),
    "asarray": lambda x: np.asarray([x, x * x], like=x),
    "asarray dtype": lambda x: np.asarray(x, dtype=complex, like=x),
    "asanyarray": lambda x: np.asanyarray(x, like=x),
    "ascontiguousarray": lambda x: np.ascontiguousarray(x[0, 0], like=x),
    "asfortranarray": lambda x: np.asfortranarray(x[0, 0], like=x),
    "require": lambda x: np.require(x, None, ["O", "F"], like=x),
    "full": lambda x: np.full((4, 2, 3), x, like=x),
    "tape's asarray": lambda x: asarray([x[0], [1.0, x[1, 2], x[0, 1] * x[1, 0]]]),
    "tape's asarray of a tracer": asarray,
    "tape's asarray dtype": lambda x: asarray(x, complex),
    "tape's full": lambda x: full((2, 2, 3), x[1]),
    "tape's full dtype": lambda x: full(2, x[0, 0], dtype=complex),
}


@pytest.mark.parametrize("name", SEEN)
def test_with_like_it_is_seen(agree, name):
    agree(SEEN[name], FLAT)


def test_of_plain_things_they_give_plain_arrays():
    assert type(asarray([1.0, 2.0])) is np.ndarray
    assert asarray([1, 2], dtype=np.float32).dtype == np.float32
    assert full((2,), 1.5).tolist() == full(2, 1.5, dtype=float).tolist() == [1.5, 1.5]


def test_numbers_of_python():
    assert grad(lambda x: np.sum(asarray([x, 2.0, x * x])))(3.0) == 7.0
    assert grad(lambda x: grad(lambda y: np.sum(asarray([x * y * y, y])))(x))(2.0) == 8.0
    assert jvp(lambda x: full((2,), x), (1.5,), (2.0,))[1].tolist() == [2.0, 2.0]


def test_parts_of_several_shapes():
    with pytest.raises(ValueError, match="same shape"):
        grad(lambda x: np.sum(asarray([x[0], x])))(FLAT)


DIRECT = {
    "array": (np.array, FLAT),
    "asarray": (np.asarray, FLAT),
    "asanyarray": (np.asanyarray, FLAT),
    "ascontiguousarray": (np.ascontiguousarray, FLAT),
    "asfortranarray": (np.asfortranarray, FLAT),
    "require": (np.require, FLAT),
    "array keywords": (lambda x, **k: np.array(x, **k), FLAT),
}


@pytest.mark.parametrize("f", [f for f, _ in list(DIRECT.values())[:-1]])
def test_direct_rules_take_plain_arrays(f):
    y, pullback = rrule(f, FLAT)
    np.testing.assert_array_equal(y, FLAT)
    np.testing.assert_array_equal(pullback(2 * FLAT)[0], 2 * FLAT)
    np.testing.assert_array_equal(frule((3 * FLAT,), f, FLAT)[1], 3 * FLAT)


def test_direct_rules_with_keywords():
    y, pullback = rrule(np.array, LINE, ndmin=2, dtype=complex)
    assert (y.shape, y.dtype) == ((1, 3), complex)
    np.testing.assert_array_equal(pullback(y * 1j)[0], np.zeros(3))
    y, pullback = rrule(np.full, (2, 3), 1.5)
    np.testing.assert_array_equal(y, np.full((2, 3), 1.5))
    assert pullback(np.ones((2, 3))) == (NoTangent(), 6.0)
    assert frule((NoTangent(), 2.0), np.full, 2, 1.5, dtype=complex)[1].tolist() == [2.0, 2.0]


def test_float32_is_kept():
    a, b = np.float32(0.5), np.array([1, 2], np.float32)
    for f in (np.linspace, np.geomspace, np.logspace):
        y, pullback = vjp(lambda a, b, f=f: f(a, b, 4), a, b)
        assert y.dtype == f(a, b, 4).dtype  # of geomspace, float64
        assert [bar.dtype for bar in pullback(y)] == [np.float32, np.float32]


def test_integers_in_between_are_constant():
    assert grad(lambda x: np.sum(np.linspace(x, 9.0, 4, dtype=int)) * 1.0)(0.5) == 0.0
    assert grad(lambda x: np.sum(np.geomspace(x, 9.0, 4, dtype=int)) * 1.0)(1.5) == 0.0


def test_the_last_number_is_the_stop():
    gradients = grad(lambda a, b: np.linspace(a, b, 7)[-1], argnums=(0, 1))(0.3, 2.0)
    assert gradients == (0.0, 1.0)
    assert grad(lambda x: np.linspace(x, 3.0, 5, retstep=True)[1])(1.0) == -0.25


def test_geomspace_as_jax_has_it():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)

    def f(np):
        return lambda a, b: np.sum(np.geomspace(a, b, 5, axis=-1) * np.arange(5.0))

    a, b = np.array([0.5, 2.0, 3.0]), np.array([[4.0], [0.1]])
    expected = jax.grad(f(jax.numpy), argnums=(0, 1))(a, b)
    for have, want in zip(grad(f(np), argnums=(0, 1))(a, b), expected, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-12)


def test_zeros_of_another_shape():
    x = np.arange(6.0).reshape(2, 3).T
    assert np.array_equal(v.zeros_like(x, shape=(2,)), np.zeros(2))
    assert v.zeros_like(x, shape=()).shape == ()
    f = lambda x: np.sum(x) + v.zeros_like(x, shape=())
    np.testing.assert_array_equal(grad(f)(x), np.ones((3, 2)))
