"""What to write for functions that take plain numbers alone."""

from __future__ import annotations

import cmath
import enum
import itertools
import linecache
import math
import re
import statistics
from math import sin

import numpy as np
import pytest

from chainrules_py import ChainRulesError, TracerError
from chainrules_tape import grad, jvp, linearize, vjp

X = np.arange(1.0, 4.0)
CURVE = np.poly1d([1.0, 2.0])


@pytest.mark.parametrize(
    "f, line",
    [
        (lambda x: math.sin(x), "np.sin(x)"),
        (lambda x: sin(x), "np.sin(x)"),
        (lambda x: math.log1p(x * 2) + 1, "np.log1p(x * 2)"),
        (lambda x: math.pow(x, 2), "np.float_power(x, 2)"),
        (lambda x: math.atan2(1.0, x), "np.arctan2(1.0, x)"),
        (lambda x: math.gamma(x), "scipy.special.gamma(x)"),
        (lambda x: math.fsum([x, x]), "np.sum(np.stack([x, x]))"),
        (lambda x: math.fsum(k * x for k in X), "np.sum(np.stack([*(k * x for k in X)]))"),
        (lambda x: math.fsum(map(abs, [x, x])), "np.sum(np.stack([*map(abs, [x, x])]))"),
        (lambda x: math.log(x, 3), "(np.log(x) / np.log(3))"),
        (lambda x: math.log(x + 1), "np.log(x + 1)"),
        (lambda x: math.remainder(x + 1, 3.0), "((x + 1) - 3.0 * np.rint((x + 1) / 3.0))"),
        (lambda x: complex(x + 1, x - 1).real, "((x + 1) + 1j * (x - 1))"),
        (lambda x: (lambda z: abs(complex(*z)))([x, x]), "(z[0] + 1j * z[1])"),
        (lambda x: abs(cmath.exp(x)), "np.exp(x)"),
        (lambda s: np.interp(-0.3, [0.0, 1.0], [1.0, 2.0], left=s), "np.where"),
        (lambda s: np.max(X, initial=s), "np.maximum(np.max(X), s)"),
        (lambda s: np.prod(X, initial=np.sum(s)), "(np.prod(X) * np.sum(s))"),
        (lambda s: np.sum(CURVE, initial=s), "y + s for the result y without initial="),
    ],
)
@pytest.mark.parametrize("point", [2.0, np.float64(2.0), np.asarray(2.0)])
def test_the_refusal_names_the_function_to_write(f, line, point):
    with pytest.raises(TracerError, match=f"(?s)cannot convert .*use {re.escape(line)}"):
        grad(f)(point)


@pytest.mark.parametrize(
    "f, line",
    [
        (lambda x: np.require(x, float), "use x"),
        (lambda x: np.asanyarray(x), "use x"),
        (lambda x: np.asarray_chkfinite(x), "np.isfinite(x).all()"),
        (lambda x: np.ascontiguousarray(x), "use x"),
        (lambda x: np.asfortranarray(x), "use x"),
    ],
)
def test_what_makes_arrays_of_arrays_says_what_to_write(f, line):
    x = np.linspace(1.0, 2.0, 101)  # too many for an array of objects
    for door in (lambda: grad(lambda x: np.sum(f(x)))(x), lambda: jvp(f, (x,), (x,))):
        with pytest.raises(TracerError, match=re.escape(line)):
            door()


@pytest.mark.parametrize(
    "program",
    [
        "np.ascontiguousarray(x.T)",
        "np.ascontiguousarray(x)",
        "np.asfortranarray(x)",
        "np.array(x.T, order='C')",
        "np.asarray(x, order='F')",
        "np.ascontiguousarray(x.T, np.float32)",
    ],
)
def test_what_is_written_instead_lies_in_memory_alike(program):
    """So that a later ``ravel()``, or x itself, sees the same writes."""

    def total(code, x):
        x = x + 0.0
        y = eval(code, {"np": np, "x": x})
        y.ravel()[1] = 0.0
        y.T.ravel()[2] = 0.0
        return 2.0 * np.sum(y) + np.sum(x)

    linecache.cache["layout.py"] = len(program), None, [program], "layout.py"
    x, code = np.ones((3, 40)), compile(program, "layout.py", "eval")
    with pytest.raises(TracerError) as caught:
        grad(lambda x: total(code, x))(x)
    write = str(caught.value).rpartition("use ")[2]
    assert eval(write).dtype == eval(program).dtype
    truth = [total(code, x + h.reshape(3, 40)) - total(code, x) for h in np.eye(120)]
    assert total(write, x) == total(code, x)
    assert grad(lambda x: total(write, x))(x).ravel().tolist() == truth


T = np.polynomial.Chebyshev([1.0, 2.0, 3.0], domain=[0.0, 4.0])


@pytest.mark.parametrize(
    "f, line",
    [
        (
            lambda c: np.polynomial.chebyshev.chebval(0.3, c),
            (
                "np.tensordot(c, np.polynomial.chebyshev.chebval(0.3, "
                "np.eye(len(c), dtype=c.dtype)), (0, 0))[()]"
            ),
        ),
        (
            lambda c: np.polynomial.hermite_e.hermeval(X, c),
            (
                "np.tensordot(c, np.polynomial.hermite_e.hermeval(X, "
                "np.eye(len(c), dtype=c.dtype)), (0, 0))[()]"
            ),
        ),
        (
            lambda c: np.polynomial.Polynomial(X)(c),
            (
                "np.polynomial.polynomial.polyval(np.polynomial.Polynomial(X).mapparms()[0] + "
                "np.polynomial.Polynomial(X).mapparms()[1] * c, np.polynomial.Polynomial(X).coef)"
            ),
        ),
        (
            lambda c: T(c),
            "np.polynomial.chebyshev.chebval(T.mapparms()[0] + T.mapparms()[1] * c, T.coef)",
        ),
        (lambda c: np.full(3, c[0]) * 2.5, "np.full_like(c[0], c[0], shape=3)"),
    ],
)
def test_what_is_written_for_32_bits_is_the_same_program(f, line):
    x, steps = np.linspace(0.5, 1.5, 3, dtype=np.float32), 1e-6 * np.eye(3)
    with pytest.raises(TracerError, match=re.escape(f"use {line}")):
        grad(lambda c: np.sum(f(c)))(x)
    factor = 2.5 if "full" in line else 1
    written = lambda c: factor * eval(line, globals(), {"c": c})
    np.testing.assert_allclose(written(x), f(x), rtol=1e-6)
    assert written(x).dtype == f(x).dtype
    wide = x.astype(float)
    slope = [np.sum(f(wide + step) - f(wide - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(grad(lambda c: np.sum(written(c)))(x), slope, rtol=1e-5)


NARROW, LONG = np.linspace(0.5, 1.5, 4, dtype=np.float32), np.linspace(0.1, 0.9, 101)
COMPLEX, OTHER = NARROW + 1j * np.array([0.2, -0.4, 0.1, 0.7]), np.array([2.0, 5.0, 1.0, 4.0])
SMALL = NARROW.astype(float)
VECTORS = [
    *itertools.product(
        [
            "np.polynomial.polynomial.polyder(x)",
            "np.polynomial.polynomial.polyfromroots(x)",
            "np.polynomial.polynomial.polymul(x, 2.0 * x)",
            "np.polynomial.polynomial.polyvander(x, 3)",
        ],
        [COMPLEX],
    ),
    ("np.polynomial.polynomial.polyvander(x, 1 + 2)", NARROW),
    ("np.polynomial.polynomial.polyvander(x, 3)", LONG),
    ("np.linalg.inv(np.polynomial.polynomial.polyvander(x, 3))", SMALL),
    *itertools.product(
        [
            f"np.polynomial.{of}vander(x, 3)"
            for of in (
                *("chebyshev.cheb", "hermite.herm", "hermite_e.herme", "laguerre.lag"),
                "legendre.leg",
            )
        ],
        [NARROW, COMPLEX, LONG],
    ),
    ("np.maximum.reduce([x, x**2])", LONG),
    ("np.logaddexp.reduce([x, x**2], axis=0)", SMALL),
    ("np.linalg.inv(np.polynomial.legendre.legvander(x, 3))", SMALL),
    ("statistics.correlation(x, OTHER)", SMALL),
    ("statistics.covariance(x, OTHER)", SMALL),
    ("statistics.linear_regression(x, OTHER)", SMALL),
    ("sorted(x, key=float, reverse=True)", SMALL),
    ("max(x, key=float)", SMALL),
]


@pytest.mark.parametrize("program, x", VECTORS, ids=str)
def test_what_is_written_for_a_function_of_vectors_is_the_same_program(program, x):
    def at(text, x):
        space = {"np": np, "statistics": statistics, "OTHER": OTHER, "x": x}
        return eval(compile(text, "vectors.py", "eval"), space)

    def total(text, x):
        y = np.stack(list(y)) if isinstance(y := at(text, x), list | tuple) else y
        return np.sum(np.abs(y * np.cos(np.arange(1.0, 1.0 + np.size(y)).reshape(np.shape(y)))))

    linecache.cache["vectors.py"] = len(program), None, [program], "vectors.py"
    with pytest.raises(TracerError) as caught:
        grad(lambda x: total(program, x))(x)
    said = re.search(r"use (.*?)(, which is slope and intercept| there|)$", str(caught.value))[1]
    write = f"np.linalg.inv({said})" if program.startswith("np.linalg") else said
    assert "ignore_derivatives" not in write
    np.testing.assert_allclose(at(write, x), at(program, x), rtol=1e-5)
    assert np.asarray(at(write, x)).dtype == np.asarray(at(program, x)).dtype
    wide = x.astype(np.result_type(x, float))
    d = np.cos(np.arange(len(x))).astype(x.dtype)
    slope = jvp(lambda x: total(write, x), (x,), (d,))[1]
    steps = [total(program, wide + h * d) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(slope, (steps[0] - steps[1]) / 2e-6, rtol=1e-5)


@pytest.mark.parametrize("f", [lambda z: float(z), lambda z: int(z), lambda z: [*X][z]])
def test_a_complex_number_is_no_index(f):
    with pytest.raises(TracerError, match="a traced complex to a plain number: its derivative"):
        grad(f)(1.0 + 2.0j)


def test_a_range_of_starred_numbers_is_told_by_names():
    bounds = (1.0, 3.0)
    with pytest.raises(TracerError, match=r"start \+ 1 \* np\.arange\(np\.ceil\(ignore_"):
        grad(lambda x: np.sum(np.arange(*(x * b for b in bounds))))(2.0)


def test_what_is_written_instead_is_taken():
    for f in (lambda x: x, lambda x: np.copy(x, order="F"), lambda x: np.copy(x)):
        assert grad(lambda x, f=f: np.sum(f(x) ** 2))(X).tolist() == (2.0 * X).tolist()


def test_a_priority_that_arrays_alone_have():
    def asks(x):
        assert not hasattr(x, "__array_priority__")
        return np.sum(x) * x.__array_priority__

    with pytest.raises(AttributeError, match="has no attribute '__array_priority__'"):
        grad(asks)(X)


def _flat(x):
    b = np.zeros(3)
    b.flat[0] = x[0]
    return np.sum(b)


def _drawn(x):
    b = x * 0.0
    np.random.default_rng(0).random(out=b)
    return np.sum(b * x)


def test_plain_memory_is_named():
    flat = "write b.ravel()[0] = x[0], and add np.zeros_like(x, shape=()) to b where it is made"
    for f, line in ((_flat, flat), (_drawn, "b[...] = rng.random(b.shape)")):
        with pytest.raises(TracerError, match=re.escape(line)):
            grad(f)(X)


@pytest.mark.parametrize("x", [2.0, np.float32(2.0), X], ids=str)
def test_a_class_of_the_engine_makes_no_numbers(x):
    for run in (lambda f: grad(f)(x), lambda f: jvp(f, (x,), (x,))):
        with pytest.raises(TracerError, match=r"write x\.dtype\.type"):
            run(lambda x: np.sum(type(x)(2.0) * x))


NAMES = sorted({name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)} | {
    "real", "imag", "angle", "abs", "round", "clip", "nan_to_num", "real_if_close", "sinc", "i0",
    "sum", "mean", "std", "max", "ravel", "squeeze", "copy", "asarray", "atleast_1d", "where",
    "linalg.norm", "conj", "unwrap", "trapezoid", "diff", "cumsum", "sort", "stack",
})  # fmt: skip


@pytest.mark.parametrize("x", [0.7, 0.7 + 0.2j, np.float32(0.7), np.float64(0.7)], ids=repr)
def test_results_of_a_number_are_of_the_plain_class(x):
    """So that what stands beside them is as wide as in the plain program."""
    found = {}
    for name in NAMES:
        f = getattr(np, name) if "." not in name else np.linalg.norm

        def seen(x, f=f, name=name):
            y = f(x)
            found[name].append(getattr(type(y), "__dispatch_type__", type(y)))
            return y

        found[name] = []
        try:
            with np.errstate(all="ignore"):
                seen(x)
                for run in (vjp, linearize):
                    run(seen, x)
        except (TypeError, ValueError, IndexError, ChainRulesError):
            found[name] = found[name][:1]
    assert not {name: kinds for name, kinds in found.items() if len(set(kinds)) > 1}
    assert len([kinds for kinds in found.values() if len(kinds) > 1]) > 40


class _Level(enum.IntEnum):
    TWO = 2


@pytest.mark.parametrize("seed", [1, 1.0, True, _Level.TWO], ids=repr)
@pytest.mark.parametrize("x", [1.5, 1.0 + 1j], ids=repr)
def test_seeds_of_a_number_become_numbers_of_its_class(x, seed):
    f = lambda z: z * 2
    found = vjp(f, x)[1](seed)[0], jvp(f, (x,), (seed,))[1], linearize(f, x)[1](seed)
    assert {type(t) for t in (*found, vjp(lambda z: z, x)[1](seed)[0])} == {type(x)}
