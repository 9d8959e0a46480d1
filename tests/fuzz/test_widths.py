"""Whole numbers, booleans and narrow ones in every call that was entered, against float64.

A sample; `tests/fuzz/test_generators.py` has them all. With another ``CHAINRULES_SEED``, another.
"""

from __future__ import annotations

import itertools
import math
import os
import warnings

import numpy as np
import pytest

from chainrules_py import (
    LinearMap,
    NoTangent,
    NotDifferentiableError,
    TracerError,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_py import ops as v
from chainrules_py.tangents.space import project
from chainrules_tape import grad, jvp, linearize, vjp
from tests.fuzz.classes import CLASSES, wrong
from tests.fuzz.widths import beside_single, check, entered, of_calls

SEED = int(os.environ.get("CHAINRULES_SEED", "0"))
EACH, GROUPS = 6, 4


def judge(numbers, seed):
    """Judge a draw of each of these calls."""
    rng = np.random.default_rng([SEED, seed])
    return np.mean(list(map(check, of_calls(numbers, rng))))


@pytest.mark.parametrize("group", range(GROUPS))
def test_one_call_in_six(group):
    numbers = range(EACH * group, len(entered()), EACH * GROUPS)
    assert judge(numbers, group) > 0.4, "NumPy computes too few of them"


def said(numbers):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [text for number in numbers if (text := beside_single(number))]


def test_derivatives_have_the_digits_of_the_value_beside_single_precision():
    names = [call.name for call, _ in entered()]
    narrow = [names.index(name) for name in ("polyval", "v.polyval", "v.interp", "v.lstsq")]
    assert not said([*narrow, *range(0, len(names), 150)])


@pytest.mark.nightly
@pytest.mark.parametrize("group", range(20))
def test_so_they_have_in_every_call(group):
    assert not said(range(group, len(entered()), 20))


def test_arrays_of_derived_classes_are_numpys():
    draws = zip(range(0, len(entered()), 20), itertools.cycle(CLASSES))
    assert not [*filter(None, itertools.starmap(wrong, draws))]


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    "f",
    [
        lambda x, m: x / m,
        lambda x, m: 1 / m,
        lambda x, m: np.log(m * x),
        lambda x, m: np.arctan2(x, m),
        lambda x, m: np.log1p(m) * np.cbrt(m),
    ],
)
def test_quotients_by_arrays_of_derived_classes(f, kind):
    x = np.linspace(0.5, 2.0, 4)
    m = (x * x).view(CLASSES[kind])
    for found, want in zip(vjp(f, x, m)[1](x), vjp(f, x, x * x)[1](x), strict=True):
        assert np.allclose(found, want, rtol=1e-14)
    for at in (m, x * x):
        assert np.allclose(jvp(f, (x, at), (x, x))[1], jvp(f, (x, x * x), (x, x))[1], rtol=1e-14)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", CLASSES)
def test_arrays_of_derived_classes_are_numpys_everywhere(kind):
    assert not [*filter(None, [wrong(n, kind) for n in range(len(entered()))])]


NUMBERS = {
    name: call
    for name in ("add", "subtract", "multiply", "divide", "true_divide", "power", "float_power",
                 "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "logaddexp",
                 "logaddexp2", "copysign", "nextafter", "fmod", "remainder", "heaviside")
    for call in [getattr(np, name)]
}  # fmt: skip
PLACES = {
    "first": lambda f, x, d: f(x, d),
    "second": lambda f, x, d: f(d, x),
    "in a where": lambda f, x, d: np.where(d > 0, f(x, d), x),
    "into an array": lambda f, x, d: f(d, 0 * d + x),
    "written": lambda f, x, d: written(f(d, x), x),
    "around": lambda f, x, d: np.pad(f(x, d), 1, constant_values=x),
    "in between": lambda f, x, d: np.linspace(x, f(x, d), 3),
    "clipped": lambda f, x, d: np.clip(f(d, x), x, None),
}


def written(y, x):
    """Write into every other element."""
    y = +y
    y[::2] = x
    return y


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("place", PLACES)
def test_numbers_of_python_beside_narrow_arrays(place, dtype):
    """What a float gets is a float: no sum of it is as narrow as the array, in either mode."""
    data = np.linspace(1.5, 2.5, 40).astype(dtype)
    for name, function in NUMBERS.items():
        f = lambda x, function=function: PLACES[place](function, x, data)
        try:
            with np.errstate(all="ignore"):
                y, y_dot = jvp(f, (2.0,), (1.0,))
        except (TypeError, NotDifferentiableError, TracerError):  # no order; a constant array
            continue
        if y.dtype != dtype:
            continue
        wide = np.complex128 if dtype == "complex64" else np.float64
        y_dot = y_dot.astype(wide)
        y_bar = (np.sign(y_dot.real) * (2.0**11 if dtype == "float16" else 1.0)).astype(dtype)
        want = np.sum(y_bar.astype(wide) * y_dot).real
        with np.errstate(all="ignore"):
            (found,) = vjp(f, 2.0)[1](y_bar)
        assert isinstance(found, float), name
        rtol = 2e-2 if dtype == "float16" else 2e-6
        assert np.isclose(found, want, rtol=rtol, atol=1e-5), name


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_sums_are_as_wide_as_the_primal(dtype, shape):
    found = project(np.full((1, 30000), 4.1, dtype), onto=np.zeros(shape))
    assert (found.dtype, found.shape) == (np.float64, shape)
    assert np.allclose(found, 30000 * np.asarray(4.1, dtype).item(), rtol=1e-14)


def test_a_number_in_a_structure():
    data = np.ones(70000, np.float16)
    assert grad(lambda p: np.sum(p["w"] * data, dtype=float))({"w": 2.0})["w"] == 70000


DATA = [100, 3, 7, 60, 60, 9, 9]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint16"])
@pytest.mark.parametrize(
    "product",
    [np.prod, np.multiply.reduce, lambda x: x.prod(), lambda x: np.cumprod(x)[-1],
     lambda x: x.cumprod()[-1], lambda x: np.multiply.accumulate(x, dtype=np.int64)[-1],
     lambda x: np.prod(x.astype(np.int64))],
)  # fmt: skip
def test_products_of_data(product, dtype):
    data = np.array(DATA, dtype)
    f = lambda x: np.log(product(x))
    assert np.allclose(grad(f)(data), 1 / np.array(DATA), rtol=1e-12)
    assert np.allclose(jvp(f, (data,), (np.ones(7),))[1], np.sum(1 / np.array(DATA)), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool"])
def test_polynomials_with_coefficients_that_are_whole(dtype):
    p = np.array([100, 100, 50, 7], dtype)
    want = grad(lambda x: np.polyval(p.astype(float), x))(3.0)
    assert grad(lambda x: np.polyval(p, x))(3.0) == want
    assert grad(np.poly1d(p))(3.0) == want
    assert jvp(np.poly1d(p), (3.0,), (1.0,))[1] == want


def test_partials_of_unsigned_numbers():
    """y = x - n z has the slope -n in z, and -3 is 253 of them."""
    x, z = np.array([7], np.uint8), np.array([2], np.uint8)
    y, pull = rrule(np.remainder, x, z)
    assert y.dtype == np.uint8
    assert [list(bar) for bar in pull(np.ones(1))] == [[1], [-3]]
    assert list(frule((np.zeros(1), np.ones(1)), np.remainder, x, z)[1]) == [-3]


def test_indices_stay_whole():
    """What a rule gives no map for is no real number, and what it only compares needs none."""

    @primitive
    def scaled(x, i):
        return x[i] * x[0]

    def push(t, x, i):
        return t[i] * x[0] + x[i] * t[0]

    def pull(t, x, i):
        bar = np.zeros(3)
        bar[i] += t * x[0]
        bar[0] += t * x[i]
        return bar

    @rule(scaled)
    def scaled_rule(x, i):
        return scaled(x, i), (LinearMap(push, pull, x, i), NoTangent())

    x, i = np.array([20, 3, 12], np.uint8), np.array(2)
    y, pull_back = rrule(scaled, x, i)
    assert y.dtype == np.uint8
    assert list(pull_back(100.0)[0]) == [1200, 0, 2000]
    big = np.array([2**60, 2**60 + 1])
    assert list(grad(lambda x: np.max(x) * 1.0)(big)) == [0, 1]


PARTIALS = {
    "where": lambda _y, x, w: np.where(np.real(x) > 0, 1.0, 0.0),
    "operation where": lambda _y, x, w: v.where(v.real(x) > 0, 1.0, 0.0),
    "float64": lambda _y, x, w: np.float64(2.0),
    "float": lambda _y, x, w: 2.0,
    "pi": lambda _y, x, w: math.pi,
    "0-d": lambda _y, x, w: np.asarray(2.0),
    "int": lambda _y, x, w: 2,
    "array": lambda _y, x, w: np.ones(x.shape),
    "wide": lambda _y, x, w: w * np.float64(3.0),
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
@pytest.mark.parametrize("name", PARTIALS)
@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("shape", [(3,), (1,), ()])
def test_derivatives_are_as_wide_as_operands(name, dtype, singular, shape):
    """Whatever a partial is made of, through every door, in both modes."""

    @primitive
    def f(x, w):
        return x * w

    kind = "holomorphic" if dtype == "complex64" else None
    scalar_rule(f, PARTIALS[name], PARTIALS[name], singular=singular, complex=kind)
    x, w = np.array([1, 2, -3], dtype), np.full(shape, 2, dtype)
    ones = np.ones(3, dtype)
    bars = [
        rrule(f, x, w)[1](ones),
        vjp(f, x, w)[1](ones),
        vjp(lambda x, w: f(x, w) * x, x, w)[1](ones),
    ]
    dots = [
        frule((ones, np.ones_like(w)), f, x, w)[1],
        jvp(f, (x, w), (ones, np.ones_like(w)))[1],
        linearize(f, x, w)[1](ones, np.ones_like(w)),
    ]
    assert {str(t.dtype) for bar in bars for t in bar} == {dtype}
    assert {str(t.dtype) for t in dots} == {dtype}
    for a, b in bars:
        assert (a.shape, b.shape) == (x.shape, w.shape)
