"""Numbers, products and ends of ranges: whatever the passes make of them, bits and classes stay."""

from __future__ import annotations

import functools
import itertools
import operator
import re
import runpy
import traceback

import numpy as np
import pytest

import chainrules_numpy  # noqa: F401 (whose arrays these are)
from chainrules_compile import compile
from chainrules_numpy import gathers
from chainrules_py.extend import flatten
from chainrules_tape import jvp, value_and_grad, vjp
from tests.engines.compile.shadow import same

NUMBERS = (2, 2.0, np.float64(2.0), np.float32(2.0), True)
STEPS = (operator.mul, operator.truediv, operator.add, operator.pow)
OF_NUMBERS = [*itertools.product((0,), STEPS, range(len(NUMBERS)), (0.1, np.float64(0.1)))]


@pytest.mark.parametrize("first", STEPS)
def test_numbers_keep_their_classes(first):
    """Of Python's and of NumPy's numbers, whatever meets."""
    for _, second, i, k in OF_NUMBERS[::11]:

        def f(x, k, i=i, second=second):
            s = second(first(k, NUMBERS[i]), NUMBERS[-i])
            return np.sum(x) * s * (k * 2), s

        g = value_and_grad(f, has_aux=True)
        compiled = compile(g)
        for factor in (1.0, 2.0):
            wanted = flatten(g(np.ones(2), k * factor))[0]
            found = flatten(compiled(np.ones(2), k * factor))[0]
            assert list(map(type, found)) == list(map(type, wanted))
            np.testing.assert_allclose(found[0], wanted[0])
        assert len(compiled.programs) == 1


def of_rows(table, places):
    return np.sum(np.tanh(table[places].sum(-2)) ** 2)


@pytest.mark.parametrize("piece", [gathers._PIECE, 8])
@pytest.mark.parametrize("width", [4, 8])  # counted, and added
def test_what_is_added_at_places_is_added_in_pieces(monkeypatch, piece, width):
    """In the same order, so with the same bits."""
    monkeypatch.setattr(gathers, "_PIECE", piece)
    rng = np.random.default_rng(0)
    for shape in ((400, 3), (20, 20, 3), (1, 1200)):
        places = rng.integers(-50, 50, shape)
        table, g = rng.standard_normal((50, width)), value_and_grad(of_rows)
        compiled, wanted = compile(g), np.zeros((50, width))
        assert same(compiled(table, places), g(table, places))
        y = np.tanh(table[places].sum(-2))
        rows = 2 * y * (1 - y * y)
        np.add.at(wanted, places, np.broadcast_to(rows[..., None, :], (*shape, width)))
        np.testing.assert_allclose(g(table, places)[1], wanted, rtol=1e-12, atol=1e-12)


def test_numbers_that_are_used_once_stand_where_they_are_used():
    compiled = compile(lambda x, y: (x * y + 2.0) / (x - y * y) ** 2)
    assert compiled(2.0, 3.0) == (2.0 * 3.0 + 2.0) / (2.0 - 3.0 * 3.0) ** 2
    assert "v1 = (x * y + 2.0) / (x - y * y) ** 2.0" in compiled.source
    deep = compile(lambda x: functools.reduce(lambda y, _: y * x, range(500), x))
    assert deep(1.5) == functools.reduce(lambda y, _: y * 1.5, range(500), 1.5)
    assert max(map(len, deep.source.splitlines())) < 100


_SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


@pytest.mark.parametrize("outer", _SIGNS)
@pytest.mark.parametrize("inner", _SIGNS)
def test_brackets_stand_where_the_order_would_be_another_without(inner, outer):
    f, g, x = _SIGNS[outer], _SIGNS[inner], (0.1, -0.7, 1e16, 0.3)
    for h in (
        lambda a, b, c, d: f(g(a, b), c) + d,
        lambda a, b, c, d: d - f(a, g(b, c)),
        lambda a, b, c, d: f(g(a, b), g(c, d)) * a,
        lambda a, b, c, d: f(-a, g(-0.5, b)) / -g(c, d),
        lambda a, b, c, d: f(a**2, g(b, c) ** 2) * d,
        lambda a, b, c, d: f((-a) ** 2, -(b**2)) * (2 ** g(a, d)) ** -0.5 - (g(b, c) ** 2) ** 3,
        lambda a, b, c, d: 2.0 ** (a**2) ** 2 - (2.0 ** -(a**2)) ** 2 if f(a, b) < -g(c, d) else d,
    ):
        compiled = compile(h)
        assert compiled(*x) == h(*x), compiled.source
        assert compiled(*x[::-1]) == h(*x[::-1]), compiled.source
        assert len(compiled.programs) <= 2


@pytest.mark.parametrize("n", [3, 300])
@pytest.mark.parametrize("turns", [1, 100])
def test_a_program_writes_over_what_it_needs_no_more(n, turns):
    def f(x, y):
        for _ in range(turns):
            z = np.maximum(np.tanh(x * y + x), y) * 0.5
            w = z - y
            x, y = w * w + y, np.sin(w - 0.25) * 0.5
        return np.sum(x), y

    loss = lambda x, y: f(x, y)[0]
    rng = np.random.default_rng(0)
    for g in (f, value_and_grad(loss), value_and_grad(loss, argnums=(0, 1))):
        compiled = compile(g)
        for _ in range(3):
            x, y = rng.normal(size=(2, n))
            assert same(compiled(x, y), g(x, y))
        assert len(compiled.programs) == 1
        assert re.search(r"\(.*(v\d+).*, (out=)?\1\)\n", compiled.source)


def test_lines_are_saved_and_shown_where_they_raise(tmp_path):
    f = lambda x: np.sum(np.exp(np.cosh(x * 2.0 + 1.0) * 0.5) - x)
    compiled, x = compile(f), np.linspace(0.0, 1.0, 4)
    compiled(x)
    line = next(line for line in compiled.source.splitlines() if "cosh(" in line).strip()
    with np.errstate(all="raise"), pytest.raises(FloatingPointError) as found:
        compiled.programs[0].run(x * 1e9)
    assert traceback.extract_tb(found.tb)[-1].line == line
    compiled.save(tmp_path / "saved.py")
    saved = runpy.run_path(str(tmp_path / "saved.py"))
    assert line in (tmp_path / "saved.py").read_text()
    assert same(saved[compiled.__name__](x), f(x))


@pytest.mark.parametrize("n", [1, 3, 8])
def test_complex_products_are_not_turned_round(n):
    rng = np.random.default_rng(0)
    f = compile(lambda x, y: (x * y, y * x, x.real * y.real + y.real * x.real))
    for _ in range(100):
        x, y = rng.normal(size=(2, n, 2)).view(complex)[..., 0]
        found = f(x, y)
        assert same(found, (x * y, y * x, x.real * y.real + y.real * x.real))
    assert f.source.count("multiply(") + f.source.count(" * ") <= 4


ENDS = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
ROUNDED = {
    "times one": lambda x: x * 1.0,
    "one times": lambda x: 1 * x,
    "by one": lambda x: x / 1.0,
    "times ones": lambda x: x * np.ones(49),
    "by ones": lambda x: x / np.ones(49),
    "negated twice": lambda x: np.negative(-x),
    "products of negatives": lambda x: (-x) * (-x[::-1]) + (-x) * x[::-1],
    "difference of a negative": lambda x: x - (-x * x[::-1]),
    "two numbers": lambda x: 2.0 * (3.0 * x),
    "minus one": lambda x: -1.0 * x + (-(2.0 * x)),
    "powers": lambda x: x**2 + x**1 + x**0,
    "conjugated twice": lambda x: np.conj(np.conj(x)),
    "by a number": lambda x: x / np.full(49, 2.0),
    "negative by": lambda x: (-x) / x[::-1],
    "made complex": lambda x: (x + 1j * x) * 1.0 + 1.0 * (1j * x),
}


def bits(x):
    """Zeros with their signs, and NaN of one kind."""
    parts = np.atleast_1d(x).view(float) if np.iscomplexobj(x) else np.atleast_1d(x)
    return np.where(np.isnan(parts), 0.5, parts), np.signbit(parts) & ~np.isnan(parts)


@pytest.mark.parametrize("pulled", [False, True])
@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("name", ROUNDED)
def test_ends_of_numbers_keep_their_bits(name, kind, pulled):
    x = np.zeros(49, kind)
    x.real = np.repeat(ENDS, 7)
    if kind is complex:
        x.imag = np.tile(ENDS, 7)
    f = ROUNDED[name]
    g = (lambda x: vjp(f, x)[1](f(x))[0]) if pulled else f
    with np.errstate(all="ignore"):
        found, wanted = compile(g)(x), g(x)
        assert found.dtype == wanted.dtype
        for a, b in zip(bits(found), bits(wanted), strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("cls", [float, np.float64, np.float32, np.array])
def test_ends_of_complex_numbers_keep_their_bits(cls):
    with np.errstate(all="ignore"):
        for f in (lambda x: (x + 1j * x) * 1.0, lambda x: 1.0 * (1j * x), lambda x: 1j * x / 1.0):
            compiled = compile(f)
            for x in map(cls, ENDS):
                for a, b in zip(bits(compiled(x)), bits(f(x)), strict=True):
                    assert np.array_equal(a, b)


PRODUCTS_WITH_TRANSPOSES = {
    "@": lambda a, b: a @ b.mT,
    "its own first": lambda a, b: a.mT @ b,
    "dot": lambda a, b: np.dot(a[0], b[0].T),
    "inner": lambda a, b: np.inner(a[0], b[0]),
    "tensordot": lambda a, b: np.tensordot(a[0], b[0], ((1,), (1,))),
    "multi_dot": lambda a, b: np.linalg.multi_dot([a[0], b[0].T, a[0]]),
    "optimal einsum": lambda a, b: np.einsum("ij,kj->ik", a[0], b[0], optimize=True),
    "cov": lambda a, b: np.cov(a[0]) + np.cov(b[0]),
}


@pytest.mark.parametrize("way", PRODUCTS_WITH_TRANSPOSES)
@pytest.mark.parametrize("shape, twice", [((2, 28, 8), np.copy), ((2, 2, 100), np.sin)])
def test_products_of_two_arrays_that_are_found_to_be_one(way, shape, twice):
    """Of one array BLAS computes half, with other last digits than those of two equal arrays."""
    x = np.random.default_rng(0).normal(size=shape)
    product = PRODUCTS_WITH_TRANSPOSES[way]

    def f(x):
        return np.sum(product(twice(x), twice(x)) ** 2)

    for g in (f, value_and_grad(f), lambda x: jvp(f, (x,), (x,))):
        compiled = compile(g)
        for y in (x, x[::-1] * 3.0):
            for found, wanted in zip(flatten(compiled(y))[0], flatten(g(y))[0], strict=True):
                size = np.max(np.abs(wanted))
                np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13 * size)
        assert compiled.programs


@pytest.mark.parametrize("n", [3, 30])
def test_products_with_one_of_a_view_are_not_one_array(n):
    """A view of the operand stands for each, to rounding: NumPy may compute one half of it."""
    x = np.random.default_rng(0).normal(size=(n, n))

    def f(x):
        return (x.T * 1.0) @ (x.T * 1.0).T

    for g in (f, lambda x: jvp(f, (x,), (np.sin(x),))):
        compiled = compile(g)
        for y in (x, x * 3.0):
            np.testing.assert_allclose(compiled(y), g(y), rtol=1e-12, atol=1e-12)
        assert compiled.programs


@pytest.mark.parametrize("factor", [2.0, -1.0, 1.0, 0.0, -0.0, np.inf, np.nan])
def test_products_with_one_number_in_all_elements_keep_zeros_and_infinities(factor):
    """Strong ones are plain where it is not zero; minus one negates, and less zero is nothing."""
    x = np.array([0.0, -0.0, 1.5, -np.inf, np.inf, np.nan])

    def f(x):
        y = np.sqrt(x) * factor + np.log(x - 0.0) + (x - -0.0) / factor
        return np.sum(y * -1.0 + (-1.0 * x) * 3.0)

    with np.errstate(all="ignore"):
        g = value_and_grad(f)
        compiled = compile(g)
        for given in (x, x[::-1].copy(), np.linspace(0.5, 2.0, 6)):
            for found, wanted in zip(
                flatten(compiled(given))[0], flatten(g(given))[0], strict=True
            ):
                assert same(found, wanted)
                zeros = np.equal(wanted, 0)
                assert np.array_equal(np.signbit(found)[zeros], np.signbit(wanted)[zeros])
    assert compiled.programs


def _of_view(x, c):
    x = np.sum(x, axis=0)
    x[...] *= c
    return x


def _over(x, c):
    x = np.sum(x, axis=0)
    x *= c
    return x


def _power(x, c):
    x = np.sum(x, axis=0)
    x **= 2
    return x + c


def _out(x, c):
    x = np.sum(x, axis=0)
    return np.multiply(c, x, out=x)


def _square(x, c):
    x = np.sum(x, axis=0)
    np.square(x, out=x)
    return x + c


@pytest.mark.parametrize("f", [_of_view, _over, _power, _out, _square])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("dtype", [complex, np.complex64])
@pytest.mark.filterwarnings(
    "ignore:.*where NumPy rounds otherwise:chainrules_compile.RecordingWarning"
)
def test_one_complex_number_is_multiplied_in_place_as_numpy_does(f, n, dtype):
    draw, compiled = np.random.default_rng(0).standard_normal, compile(f)
    for _ in range(30):
        x = (draw((1, n)) + 1j * draw((1, n))).astype(dtype)
        c = np.array(complex(draw(), draw()), dtype)
        found, wanted = compiled(x, c), f(x, c)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=8 * np.finfo(dtype).eps)
