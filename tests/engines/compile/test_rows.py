"""Sums of short rows and of rows that come back: the bits of NumPy's own, over many forms."""

from typing import Any

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.passes import FOR_NUMPY, PASSES
from chainrules_compile.passes.row_additions import with_added_rows
from chainrules_compile.passes.short_sums import with_short_sums
from chainrules_numpy.broadcast_sums import dots, sums
from chainrules_py.extend import flatten
from chainrules_tape import value_and_grad

RNG = np.random.default_rng(0)


def alike(f, *args):
    """Compile a function and its derivatives, compare all bits, and return the sources."""
    sources = []
    for g in (f,) if np.ndim(f(*args)) else (f, value_and_grad(f)):
        compiled = compile(g)
        for xs in (args, tuple([x[::-1].copy() for x in args])):
            wanted, found = flatten(g(*xs))[0], flatten(compiled(*xs))[0]
            for a, b in zip(wanted, found, strict=True):
                assert np.shape(a) == np.shape(b)
                bound = np.max(np.abs(a), initial=0.0, where=np.isfinite(a))
                rtol = 1e-5 if np.asarray(a).dtype == np.float32 else 1e-12
                np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol * bound)
        sources.append(compiled.source if compiled.programs else "")  # where it is not finite
    return sources


def numbers(*shape, dtype: Any = float):
    """Return numbers of many sizes, many of them zeros of both signs."""
    x = RNG.normal(size=shape) * 10.0 ** RNG.integers(-8, 8, shape)
    x[RNG.random(shape) < 0.3] = -0.0
    x[RNG.random(shape) < 0.1] = 0.0
    return x.astype(dtype)


@pytest.mark.parametrize("n", range(1, 18))
def test_short_rows_are_summed_by_columns(n):
    keepdims, dtype = n % 2 > 0, np.float64 if n in (2, 3, 7) else np.float32
    x = numbers(20, 40, n, dtype=dtype)
    x[:3] = -0.0
    for f in (
        lambda x: np.sum(x, -1, keepdims=keepdims),
        lambda x: np.sum(x * x, 2, keepdims=keepdims),
        lambda x: np.sum(np.tanh(x) / (1.0 + np.sum(x * x, (-1,), keepdims=True))),
    ):
        sources = alike(f, x)
        assert (" = add(" in sources[0]) == (1 < n < 8)


@pytest.mark.parametrize("x", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("n", [3, 9])
def test_short_rows_of_what_is_not_finite(x, n):
    xs = numbers(400, n)
    xs[::7, 1] = x
    xs[::5, 2] = -x
    with np.errstate(invalid="ignore"):
        alike(lambda x: np.sum(x, 1), xs)


def test_few_rows_and_other_layouts_are_left_to_numpy():
    assert "add(" not in alike(lambda x: np.sum(x, 1), numbers(9, 3))[0]
    assert "add(" not in alike(lambda x: np.sum(x, 0), numbers(3, 900))[0]
    x = numbers(3, 900)
    assert compile(lambda x: np.sum(x.T, 1))(x).tobytes() == np.sum(x.T, 1).tobytes()


def test_runs_that_numpy_sums_as_fast_and_other_axes_are_left_to_it():
    for shape, axis in [((100, 2), 0), ((400, 300), 0), ((4, 50, 3), (0, 2)), ((4, 50, 19), 2)]:
        x = numbers(*shape)
        assert "runs" not in alike(lambda x, axis=axis: np.sum(x, axis), x)[0]
        assert "runs" not in alike(lambda x, axis=axis: np.sum(x.T, axis), x.T.copy())[0]
    assert "runs" not in alike(lambda x: np.sum(x, 0), np.ones((400, 3), complex))[0]


def test_sums_of_runs_say_what_numpy_says():
    x = np.full((200, 3), 1e308)
    f = compile(lambda x: np.sum(x, 0))
    f(np.ones((200, 3)))
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        f(x)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid"):
        f(np.where(np.arange(600).reshape(200, 3) % 2 > 0, np.inf, -np.inf))


def test_cotangents_are_summed_along_the_last_axes_of_many():
    for result, shape in [
        ((4, 5, 3), (4, 5, 1)),
        ((4, 5, 0), (4, 5, 1)),
        ((4, 0, 3), (4, 0, 1)),
        ((4, 5, 3), (4, 1, 1)),
        ((2, 3, 4, 5), (2, 3, 1, 1)),
    ]:
        t = numbers(*result)
        for each in (t, np.asfortranarray(t), t.astype(np.float32)):
            axes = tuple([i for i, n in enumerate(shape) if n == 1])
            found, wanted = sums(result, shape)(each), np.sum(each, axes, keepdims=True)
            assert found.shape == shape
            assert found.dtype == each.dtype
            small = np.finfo(each.dtype).eps * np.abs(each).sum(axes, keepdims=True)
            assert np.all(np.abs(found - wanted) <= 4 * small)


PRODUCTS = [
    ((25, 1000, 10), (25, 1, 10)),
    ((25, 700, 10), (700, 1)),
    ((25, 700, 10), (10,)),
    ((2000, 10), (1, 10)),
    ((300, 64), (300, 1)),
    ((4, 8, 60, 16), (1, 8, 1, 16)),
    ((5, 5000), (5, 1)),
    ((90, 3), (90, 1)),
    ((200, 300), ()),
    ((128, 128), (1, 1)),
    ((50_001,), (1,)),
    ((5000,), ()),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("result, shape", PRODUCTS)
def test_sums_of_products_that_are_not_kept(result, shape, dtype):
    kept = (*(1,) * (len(result) - len(shape)), *shape)
    axes = tuple([i for i, (n, k) in enumerate(zip(result, kept, strict=True)) if n != k])
    a, b = RNG.normal(size=(2, *result)).astype(dtype)
    whole = a.astype(np.longdouble) * b
    bound = 50 * np.finfo(dtype).eps * np.abs(whole).sum(axes).reshape(shape)
    for x in (a, np.asfortranarray(a)):
        found = dots(result, shape, result)(x, b)
        assert found.shape == shape
        assert found.dtype == dtype
        assert np.all(np.abs(found - whole.sum(axes).reshape(shape)) <= bound)


def test_passes_of_rows_are_for_numpy_alone():
    assert PASSES["short sums"] is with_short_sums
    assert PASSES["rows"] is with_added_rows
    assert {"short sums", "rows"} <= {*FOR_NUMPY}


def once(x, i, j):
    return np.sum(np.sin(x[i]))


def twice(x, i, j):
    return np.sum((x[i] - x[j]) ** 2)


def spread(x, i, j):
    return np.sum(np.sum(x[i], 0) ** 2) + np.sum(np.sum(x[j], 0) ** 3)


def many(x, i, j):
    total = 0.0
    for k in range(6):
        total = total + np.sum(np.sum(x[i[k:]], 0) ** 2) * np.sum(x[j[: k + 2]])
    return total


def used_again(x, i, j):
    y = x * 2.0
    return np.sum(y[i] ** 2) + np.sum(np.sin(y[j]) * np.cos(y[i]))


def bags(x, i, j):
    return np.sum(np.sum(x[i.reshape(-1, 5)], 1) ** 2) + np.sum(x[j.reshape(5, -1)])


def beside(x, i, j):
    return np.sum((x[i] - x[j]) ** 2) + np.sum(x**2) + np.sum(x[::2] ** 3)


def beside_constants(x, i, j):
    return np.sum(x[i] ** 2) + 3.0 * np.sum(x[::2]) + np.sum(np.sin(x[j]))


def columns(x, i, j):
    return np.sum(np.sin(x[:, i % 3]) ** 2)


WAYS = [once, twice, spread, many, used_again, bags, columns, beside, beside_constants]


@pytest.mark.parametrize("f", WAYS)
@pytest.mark.parametrize("shape", [(30,), (30, 3), (30, 70), (30, 3, 2)])
def test_rows_that_come_back(f, shape):
    compared(f, shape, np.int64)


@pytest.mark.parametrize("f", [once, twice, columns])
@pytest.mark.parametrize("dtype", [np.int32, np.uint16])
def test_places_of_other_classes(f, dtype):
    compared(f, (30, 3), dtype)


def compared(f, shape, dtype):
    if f is columns and len(shape) < 2:
        shape = (3, 7)
    x, (i, j) = numbers(*shape), RNG.integers(0, shape[0], (2, 300))
    if f is columns:
        i = i % 3
    alike(f, x, i.astype(dtype), j.astype(dtype))
    if dtype is not np.uint16:
        alike(f, x, (i - shape[0] * (i % 2)).astype(dtype), (-j - 1).astype(dtype))


def test_rows_and_their_places_are_joined():
    x, i = numbers(30, 3), RNG.integers(0, 30, (2, 300))
    for f in (twice, spread, beside):
        assert alike(f, x, *i)[1].count("concatenate(") == 2
    for f in (once, bags, columns):
        assert "concatenate(" not in alike(f, x, *i)[1]
    assert "concatenate(" not in alike(twice, x, *i[:, :20])[1]
    assert "concatenate(" not in alike(twice, numbers(30, 40), *i)[1]


def test_places_outside_raise_what_numpy_raises():
    x, i = numbers(30, 3), RNG.integers(0, 30, 300)
    f = compile(value_and_grad(once))
    f(x, i, i)
    for wrong in (30, -31):
        j = i.copy()
        j[7] = wrong
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0"):
            f(x, j, j)


def lookups(x, i, j):
    total = 0.0
    for k in i.reshape(-1, 30):
        total = total + np.sum(np.sum(x[k], 0) ** 2)
    return total + np.sum(x[j] ** 2)


@pytest.mark.parametrize("shape", [(50,), (50, 3), (50, 8), (50, 12), (50, 32)])
def test_many_rows_are_added_at_once(shape):
    i, j = RNG.integers(0, 50, (2, 7200))
    source = alike(lookups, numbers(*shape), i, j - 50 * (j % 2))[1]
    alike(lookups, numbers(*shape), i[:3000], j)
    assert source.count("concatenate(") == 2


def pairs(x, y):
    d = x[:, None] - y
    return np.sum(d * d, 2)


def weighted(x, y):
    d = x[:, None] - y
    return np.sum(d * np.exp(-np.sum(d * d, 2))[:, :, None])


def layers(x, y):
    z = x[:, None, :, None] * y[0] + y[1] / (2.0 + x[:, :, None, None] ** 2)
    return np.sum(np.sin(z) * x[:, None, None, :1])


def windows(x, y):
    total = y[0]
    for i in range(3):
        total = total + x[i : i + 20, None, :2, None] * y[i, None]
    return np.sum(total**2)


@pytest.mark.parametrize("f", [pairs, weighted, layers, windows])
@pytest.mark.parametrize("k", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_spread_in_short_runs(f, k, dtype):
    x, y = numbers(30, k + (f is windows), dtype=dtype), numbers(25, k, dtype=dtype)
    x[abs(x) > 9], y[abs(y) > 9] = 1.0, 2.0
    alike(f, x, y)


def test_what_is_long_or_small_is_left_to_numpy():
    for n, k in ((5, 3), (100, 40)):
        assert "repeat" not in alike(pairs, numbers(n, k), numbers(n, k))[0]


def rectified(x, y):
    return np.sum(np.where(x > 0, x, 0.0) * y)


def rectified_otherwise(x, y):
    return np.sum(np.where(np.sin(x) > y, 0, x * y) ** 2)


def shared(x, y):
    h = np.sum(np.where(x > y, x, 0.0), (1, 2)) / 100.0
    return np.sum(h**3)


def means(x, y):
    return np.sum((x - np.mean(x, 1, keepdims=True)) ** 2 * y) + np.sum(np.sum(x * y, 0) ** 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [100, 2048, 6000, 140_000])
def test_elements_of_two_arrays_are_chosen_with_their_bits(n, dtype):
    x, y = numbers(n, dtype=dtype), numbers(n, dtype=dtype)
    x[5:900:7], x[6:900:7], y[3:900:5], y[4:900:5] = np.nan, -np.inf, -np.nan, np.inf
    f = lambda x, y: np.where(x > y, x, y * y)
    with np.errstate(invalid="ignore", over="ignore"):
        alike(f, x, y)
        alike(f, x[::-1], y)
        alike(lambda x, y: np.where(x > y, x, 0.5), x, y)
        alike(lambda x, y: np.where((x > y)[:1], x, y), x, y)
        alike(lambda x, y: np.where(x > y, x, y.astype(np.float16)), x, y)
        alike(lambda x, y: np.sum(np.where(x > 0, np.sin(x), np.tanh(y))), x, y)
        if n == 6000:
            a, b = x.reshape(60, 100).T, y.reshape(100, 60)
            alike(lambda x, y: np.where(x.T > 0, x.T, y.T), a, b.copy())


@pytest.mark.parametrize("f", [rectified, rectified_otherwise, shared, means])
@pytest.mark.parametrize("shape", [(16, 16, 17, 1), (20, 4, 10, 6), (3, 4, 2, 5), (2, 3, 4, 300)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zeros_of_masks_and_what_sums_spread(f, shape, dtype):
    x, y = numbers(*shape, dtype=dtype), numbers(*shape[1:], dtype=dtype)
    x[abs(x) > 9], y[abs(y) > 9] = 1.0, 2.0
    if f is not means:
        x[0, 0, 0, 0], x[-1, 0, 0, 0] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        alike(f, x, np.broadcast_to(y, shape).copy())
