"""Drawn calls of NumPy's functions give, traced, what they give plain, or are refused."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_py.testing import check_grads
from chainrules_tape import grad, hessian, jvp, value_and_grad, vjp
from tests.libraries.numpy.drawn import differs, drawable, draws

FAMILIES = {
    "ufuncs": lambda name, row: isinstance(row.native, np.ufunc),
    "of ufuncs": lambda name, row: name.endswith((".reduce", ".accumulate", ".outer")),
    "methods": lambda name, row: name.startswith(("ndarray.", "generic.")),
    "modules": lambda name, row: "." in name,
    "reductions": lambda name, row: {"keepdims", "dtype"} & row.names.keys(),
    "others": lambda name, row: True,
}


def _names(family):
    """The functions of a family: each is in the first that says that it is one of it."""
    for name, row in drawable().items():
        if next(f for f, holds in FAMILIES.items() if holds(name, row)) == family:
            yield name


def _is_known(name, told):
    return any(of in (name, "*") and text in told for of, text in KNOWN)


KNOWN = (
    # Of a number of Python's: a scalar of NumPy's, where NumPy gives the number or an array.
    *[(name, "is ") for name in ("real", "imag", "trim_zeros", "nanquantile", "nanpercentile")],
    *[(name, "is ") for name in ("median", "nanmedian", "quantile", "percentile", "astype")],
    ("astype", "has no attribute 'astype'"),
    # A number of Python's in them has 64 bits.
    *[(name, "dtype") for name in ("union1d", "setxor1d", "concatenate", "stack")],
    ("polynomial.polynomial.polygrid2d", "dtype"),
    # NumPy adds complex numbers of single precision in double, or in an order of its own: that of
    # a dot product depends on where the numbers lie in memory.
    *[(name, "last bits") for name in ("poly", "vecmat", "nanmean", "nanvar", "nanstd")],
    *[(name, "last bits") for name in ("dot", "ndarray.dot")],
    ("histogram2d", ""),
    ("histogramdd", "dtype float64, not float128"),
    # NumPy does not ask for the mean what it is, and calls itself with it.
    *[(f"{nan}{name}", "raises") for nan in ("", "nan") for name in ("var", "std")],
    # What NumPy would not take.
    ("lib.scimath.power", "NoneType"),
    ("take_along_axis", "has no attribute 'dtype'"),
    ("pad", "unsupported keyword arguments"),
    ("sort", "`kind` and keyword parameters"),
    ("ediff1d", "must be compatible"),
    ("insert", "not 'complex'"),
    ("cov", "Weights sum to zero"),
    ("corrcoef", "Cannot cast"),
    *[("average", text) for text in ("division by zero", "is out of bounds")],
    ("full_like", "out of bounds"),
    ("unwrap", "an integer is required"),
    ("compress", ""),
    *[(name, "does not support keepdims") for name in ("matvec", "matmul", "vecmat", "vecdot")],
    ("diff", "'tuple' object"),
    ("polyder", "unsized object"),
    *[(name, "repeated axis") for name in ("nanquantile", "nanpercentile")],
    *[("polyfit", text) for text in ("1-d array for weights", "Cannot cast")],
    # Of complex numbers and of halves, with nothing or too much in them.
    ("logaddexp2.reduce", "not supported for the input types"),
    ("linalg.pinv", "not Hermitian"),
    ("polydiv", "last bits"),
    ("poly", "value"),
    *[("fft.hfft", text) for text in ("e-49", "e-3")],  # of what was in memory
    ("var", "dtype complex128, not complex64"),
    ("std", "dtype float64, not float32"),
    # Of nothing, and of lists of halves, which NumPy sees as objects.
    *[(f"polynomial.polynomial.{name}", "dtype object") for name in ("polyval", "polygrid3d")],
    *[(name, "dtype float64, not float") for name in ("append", "meshgrid")],
    ("interp", "index 0 is out of bounds"),  # NumPy 2.5 takes no sample points for no x
    ("ndarray.dot", "SystemError"),  # its sums of objects do not look for errors
    ("ndarray.searchsorted", "not supported between"),
    *[(name, "Unable to avoid copy") for name in ("asarray", "asanyarray")],
)
"""What is not as it is plain, by the function: said in docs/conventions.md."""


def _differing(family, count, seed):
    return [
        f"{call}: {told}"
        for name in _names(family)
        for call in draws(name, count, seed)
        if (told := differs(call)) is not None
        and not told.startswith("refused")
        and not _is_known(name, told)
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_drawn_call_is_traced_as_it_is_plain(family):
    assert _differing(family, 6, 0) == []


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_so_are_many_of_them(family):
    assert _differing(family, 100, 1) == []


# ------------------------------------------------------------- what NumPy computes, operations
# derive


X = np.array([[0.7, -1.2, 2.5], [1.1, 0.4, -0.9]])
MASK = np.array([[True, False, True], [True, True, False]])
REDUCED = {
    "sum, from": lambda x: np.sum(x, initial=0.3),
    "sum, from, along": lambda x: np.sum(x * x, axis=1, initial=2.0, keepdims=True),
    "sum, where": lambda x: np.sum(x**3, axis=0, where=MASK),
    "prod, from": lambda x: np.prod(x, axis=1, initial=0.5),
    "prod, of both": lambda x: np.prod(x, initial=x[0, 0]),
    "prod, where": lambda x: x.prod(axis=0, where=MASK, initial=2.0),
    "nansum, wide": lambda x: np.nansum(np.sin(x), dtype="D").real,
    "cumsum, wide": lambda x: np.cumsum(x * x, dtype="g"),
    "max, from": lambda x: np.max(x, axis=1, initial=0.9),
    "mean, where": lambda x: np.mean(x * x, axis=1, where=MASK),
    "var, where": lambda x: np.var(x, axis=1, where=MASK),
    "std, of another": lambda x: np.std(x, mean=np.mean(x * x, keepdims=True), ddof=1),
    "std, where": lambda x: x.std(where=MASK),
    "logaddexp": lambda x: np.logaddexp.reduce(x, axis=1),
    "add.reduce": lambda x: np.add.reduce(x * x, initial=1.0, where=MASK),
    "exp, wide": lambda x: np.exp(x, dtype="g"),
}


@pytest.mark.parametrize("name", REDUCED)
def test_the_derivative_of_what_numpy_is_asked_for_is_that_of_the_operations(name):
    f = REDUCED[name]
    check_grads(lambda x: np.sum(np.cos(f(x))).astype(float), X)


@pytest.mark.parametrize("x", [[1.0, 2.0, 4.0], ((1, 2), (4, 7)), 3.5], ids=str)
@pytest.mark.parametrize("f", [np.std, np.var])
def test_a_mean_alone_may_be_traced(f, x):
    for mean in (0.7, np.float64(0.7)):
        check_grads(lambda mean: f(x, mean=mean, dtype="d"), mean)
        check_grads(lambda mean: f(x, mean=mean), mean)


@pytest.mark.parametrize("name", ["prod, from", "std, where", "logaddexp"])
def test_so_is_the_second_one(name):
    loss = lambda x: np.sum(np.sin(REDUCED[name](x)))
    h, step = hessian(loss)(X), 1e-5 * np.cos(np.arange(6.0)).reshape(2, 3)
    near = (grad(loss)(X + step) - grad(loss)(X - step)) / 2
    np.testing.assert_allclose(np.tensordot(h, step), near, rtol=1e-6, atol=1e-14)


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: 1.5 * np.sum(x, dtype=np.uint8), np.array([200, 100], np.uint8)),
        (lambda x: 1.0 * np.cumsum(x, dtype=np.uint8)[1], np.array([200, 100], np.uint8)),
        (lambda x: 1.0 * np.prod(x, dtype=np.uint8), np.array([200, 100], np.uint8)),
        (lambda x: 1.0 * np.cumprod(x, dtype=np.int8)[1], np.array([200, 100], np.uint8)),
        (lambda x: x[0] * np.sum(x, dtype=np.int8), np.array([100.0, 100.7])),
        (lambda x: x[0] * np.sum(x, dtype=bool), np.array([4.0, 8.0])),
        (lambda x: x[0] * x.sum(dtype=np.int8), np.array([100.0, 100.7])),
    ],
)
def test_sums_in_a_narrow_dtype_wrap_as_numpys_do(f, x):
    plain = f(x)
    assert value_and_grad(f)(x)[0] == vjp(f, x)[0] == jvp(f, (x,), (x,))[0] == plain


def test_a_sum_that_wraps_moves_by_what_it_is_a_sum_of():
    x = np.array([200, 100], np.uint8)
    assert grad(lambda x: 1.5 * np.sum(x, dtype=np.uint8))(x).tolist() == [1.5, 1.5]
    x = np.array([100.0, 100.7])  # of whole parts, which do not move
    assert grad(lambda x: x[0] * np.sum(x, dtype=np.int8))(x).tolist() == [-56.0, 0.0]


def test_a_product_starts_with_the_initial_number():
    x = np.array([1e200, 1e200])
    value, slope = value_and_grad(lambda x: np.prod(x, initial=1e-300))(x)
    assert value == np.prod(x, initial=1e-300)
    np.testing.assert_allclose(slope, 1e-100)


def test_a_traced_number_of_pythons_gives_way_to_a_narrow_scalar():
    m = np.array([True, False])
    for f in (
        lambda x: np.where(m, np.float32(2), x),
        lambda x: np.clip(np.float32(1.5), 0.0, x),
        lambda x: np.clip(np.complex64(1.5), x, 3.0),
        lambda x: np.linspace(x, np.float32(1), 3),
    ):
        seen = []
        vjp(lambda x, f=f, seen=seen: seen.append(f(x).__payload__) or x, 0.1)
        assert seen[0].dtype == f(0.1).dtype
        assert np.array_equal(seen[0], f(0.1))
