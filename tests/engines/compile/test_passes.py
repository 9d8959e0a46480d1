"""Passes: each by programs written out."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest

import chainrules_numpy  # noqa: F401 (whose arrays these are)
from chainrules_compile import compile
from chainrules_compile.internal_functions import subtract_at
from chainrules_compile.passes import PASSES
from chainrules_compile.passes.buffer_reuse import Into, with_buffers
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.output_copies import with_own_outputs
from chainrules_compile.passes.simplify import simplified
from chainrules_compile.passes.slice_updates import with_parts
from chainrules_compile.writers.shortcuts import is_matrix
from chainrules_py.ops import add_at, matrix_transpose
from chainrules_py.ops.engine_operations import Index, duplicate, read, store
from chainrules_py.program import Call, Program, Value
from chainrules_tape import value_and_grad

F8 = np.dtype(float)


def array(name, shape=(3,), memory=None, dtype=F8):
    layout = tuple(np.empty(shape, dtype).strides)
    return Value(name, np.ndarray, shape, dtype, memory, layout)


def program(inputs, calls, outputs, constants=None):
    return Program("f", tuple(inputs), tuple(calls), tuple(outputs), constants or {})


def functions(p):
    return [call.function for call in p]


X, Y, A, B, C, D = map(array, "xyabcd")
PART = {"index": Index.split(slice(1, 3))[0]}


def test_dead_code_goes_and_guards_stay():
    guard = Call(print, (A,), {}, ())
    p = program([X], [Call(np.sin, (X,), {}, (A,)), guard, Call(np.cos, (X,), {}, (B,))], [X])
    assert functions(without_dead_code(p)) == [np.sin, print]


def test_what_was_computed_before_is_taken():
    calls = [
        Call(np.sin, (X,), {}, (A,)),
        Call(np.sin, (X,), {}, (B,)),
        Call(np.add, (A, B), {}, (C,)),
    ]
    p = simplified(program([X], calls, [C]))
    assert functions(p) == [np.sin, np.add]
    assert p.calls[1].operands == (A, A)


def test_numbers_that_differ_in_a_bit_are_others():
    calls = [
        Call(np.multiply, (X, 0.0), {}, (A,)),
        Call(np.multiply, (X, -0.0), {}, (B,)),
        Call(np.multiply, (X, 0), {}, (C,)),
    ]
    assert len(simplified(program([X], calls, [A, B, C]))) == 3


def test_products_with_one_are_left_out_and_sums_with_zero_are_not():
    ones = array("ones")
    calls = [
        Call(operator.mul, (X, 1.0), {}, (A,)),
        Call(np.multiply, (ones, A), {}, (B,)),
        Call(np.add, (B, 0.0), {}, (C,)),
    ]
    p = simplified(program([X], calls, [C], {ones: np.ones(3)}))
    assert functions(p) == [np.add]
    assert p.calls[0].operands == (X, 0.0)


def test_product_with_one_that_broadcasts_stays():
    wide = array("w", (2, 3))
    calls = [Call(np.multiply, (np.float64(1.0), X), {}, (wide,))]
    assert len(simplified(program([X], calls, [wide]))) == 1


def test_signs_of_zeros_are_kept():
    zeros = np.array([0.0, -0.0, 1.0, -1.0])
    x, y = [a.ravel() for a in np.meshgrid(zeros, zeros)]
    with np.errstate(all="ignore"):
        pairs = [
            (x + -y, x - y),
            (-y + x, x - y),
            (x - -y, x + y),
            (-x * y, -(x * y)),
            (-x / y, -(x / y)),
            (-(2.0 * x), -2.0 * x),
        ]
    for wanted, found in pairs:
        numbers = ~np.isnan(wanted)
        assert np.array_equal(wanted, found, equal_nan=True)
        assert np.array_equal(np.signbit(wanted)[numbers], np.signbit(found)[numbers])


def test_transposed_twice():
    m, t, u = array("m", (2, 2)), array("t", (2, 2)), array("u", (2, 2))
    calls = [Call(matrix_transpose, (m,), {}, (t,)), Call(matrix_transpose, (t,), {}, (u,))]
    assert simplified(program([m], calls, [u])).outputs == (m,)


def test_a_real_number_is_its_own_conjugate():
    """Rules of Python's numbers take it, and no line of C has a method of Python's numbers."""
    f = value_and_grad(lambda x, y: ((1.0 - x) ** 2 + x / y) * y, argnums=(0, 1))
    compiled = compile(f, target="numpy")
    assert compiled(1.2, 0.7) == f(1.2, 0.7)
    assert "conjugate" not in compiled.source
    f = value_and_grad(lambda x, k: np.sum(np.stack([x[1], k * (1 - x[0] * x[0]) * x[1]])), (0, 1))
    compiled = compile(f, target="numpy")
    compiled(np.array([1.0, 0.5]), 0.7)
    assert "conjugate" not in compiled.source
    of_complex = compile(value_and_grad(lambda z: (z * z * 2j).real), target="numpy")
    assert of_complex(1.2 + 0.3j) == value_and_grad(lambda z: (z * z * 2j).real)(1.2 + 0.3j)
    assert "conjugate" in of_complex.source


def changing_a_part(ufunc):
    """The calls of ``x[i] = ufunc(x[i], 2.0)``, and what they read and store."""
    part, total = array("part", (2,), X), array("total", (2,))
    calls = [
        Call(read, (X,), PART, (part,)),
        Call(ufunc, (part, 2.0), {}, (total,)),
        Call(store, (X, total), PART, (A,)),
    ]
    return calls, part, total


def test_slices_of_a_concatenation_are_what_was_concatenated():
    whole = array("w", (6,))
    read_at = lambda where, y: Call(read, (whole,), {"index": Index.split(where)[0]}, (y,))
    joined = Call(np.concatenate, ((X, Y), 0), {}, (whole,))
    first, last = read_at(slice(None, 3), A), read_at(slice(-3, None), B)
    middle, turned = read_at(slice(1, 4), C), read_at(slice(2, None, -1), D)
    p = simplified(program([X, Y], [joined, first, last, middle, turned], [A, B, C, D]))
    assert p.outputs == (X, Y, C, D)
    assert without_dead_code(simplified(program([X, Y], [joined, first], [A]))).calls == ()


JOINED = {
    "a list before": lambda x: np.concatenate([[1.0], x])[1:],
    "of a list": lambda x: np.concatenate([x, [2.0, 3.0]])[3:],
    "rows of an array": lambda x: np.concatenate(x * M)[3:6],
    "beside a matrix": lambda x: np.concatenate([M, x[None]])[4:],
    "an element": lambda x: np.concatenate([M, x[None]])[4],
    "columns": lambda x: np.concatenate([x[:, None], x[:, None]], axis=1)[0:3],
    "another dtype": lambda x: np.concatenate([x.astype(np.float32), x])[:3],
    "nothing": lambda x: np.concatenate([np.zeros(0), x])[0:0],
    "beside nothing": lambda x: np.concatenate([np.zeros(0), x])[:3],
    "turned": lambda x: np.concatenate([x[::-1], x])[:3],
    "flat": lambda x: np.concatenate([M, M * x], axis=None)[12:],
}
M = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("f", JOINED.values(), ids=JOINED)
def test_slices_of_any_concatenation(f):
    x = np.arange(3.0) + 1.0
    for g in (f, value_and_grad(lambda x: np.sum(f(x) ** 3))):
        compiled = compile(g)
        for z in (x, 2.0 * x):
            for found, wanted in zip([*compiled(z)], [*g(z)], strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-13)
                assert found.dtype == wanted.dtype
        assert compiled.programs


def test_slices_of_a_concatenation_own_their_memory():
    def state(x, v):
        y = np.concatenate([x, np.sin(v)])
        return y[:3], y[3:], np.concatenate([x, v], dtype=np.float32)[:3], y

    x, v = np.arange(3.0), np.ones(3)
    compiled = compile(state)
    for a, b in zip(compiled(x, v), state(x, v), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
        a[...] = 7.0
    np.testing.assert_array_equal(x, np.arange(3.0))
    np.testing.assert_array_equal(compiled(x, v)[0], x)


def test_addition_to_a_part():
    calls, _, total = changing_a_part(np.add)
    p = with_parts(program([X], calls, [A]))
    assert functions(p) == [add_at]
    assert p.calls[0].operands == (X, 2.0)
    other = {"index": Index.split(slice(0, 2))[0]}
    calls[2] = Call(store, (X, total), other, (A,))
    assert len(with_parts(program([X], calls, [A]))) == 3


def test_subtraction_from_a_part():
    calls, part, total = changing_a_part(np.subtract)
    p = with_parts(program([X], calls, [A]))
    assert functions(p) == [subtract_at]
    assert p.calls[0].operands == (X, 2.0)
    given = np.arange(3.0)
    assert np.array_equal(subtract_at(given, 2.0, **PART), [0.0, -1.0, 0.0])
    assert np.array_equal(given, np.arange(3.0))
    calls[1] = Call(np.subtract, (2.0, part), {}, (total,))
    assert len(with_parts(program([X], calls, [A]))) == 3


@pytest.mark.parametrize("seed", range(30))
def test_parts_of_arrays_have_the_bits_that_they_have_eagerly(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
    x = rng.choice([-1.5, -0.0, 0.0, 2.0], shape)
    parts = []
    for _ in range(rng.integers(1, 4)):
        axis = int(rng.integers(len(shape)))
        cuts = sorted({0, *map(int, rng.integers(0, shape[axis] + 1, 2)), shape[axis]})
        before = (slice(None),) * axis
        parts += [(*before, slice(*cut)) for cut in itertools.pairwise(cuts)]
        parts += [(*before, -1)] * int(rng.integers(2))

    def f(x):
        read = [x[part] for part in parts]
        return sum([np.sum(y * (-1.0) ** i * y * y) for i, y in enumerate(read)])

    compiled, eager = compile(value_and_grad(f)), value_and_grad(f)(x)
    for found, wanted in zip(compiled(x), eager, strict=True):
        assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()


def test_integers_beside_floats_are_floats():
    x, y, z = Value("x", float), Value("y", float), Value("z", float)
    calls = [Call(operator.mul, (2, x), {}, (y,)), Call(operator.pow, (y, 2**60), {}, (z,))]
    p = simplified(program([x], calls, [z]))
    assert [type(operand) for call in p for operand in call.operands] == [float, Value, Value, int]


def test_outputs_are_copies_of_what_others_have():
    view = array("view", (3,), A)
    p = program([X], [Call(np.sin, (X,), {}, (A,)), Call(abs, (A,), {}, (view,))], [X, A, view, A])
    p = with_own_outputs(p)
    assert functions(p)[2:] == [duplicate, duplicate, duplicate]
    assert p.outputs[1] is A


def test_results_are_written_into_what_dies():
    calls = [
        Call(np.sin, (X,), {}, (A,)),
        Call(np.multiply, (A, X), {}, (B,)),
        Call(np.add, (B, A), {}, (C,)),
    ]
    found = functions(with_buffers(program([X], calls, [C])))
    assert found[:2] == [np.sin, np.multiply]
    assert type(found[2]) is Into
    assert (found[2].function, found[2].place) == (np.add, 0)


def test_nothing_is_written_into_what_lives_or_lies_otherwise():
    view = array("view", (3,), A)
    calls = [
        Call(np.sin, (X,), {}, (A,)),
        Call(read, (A,), {"index": Index.split(...)[0]}, (view,)),
        Call(np.add, (A, 1.0), {}, (B,)),
        Call(np.add, (view, B), {}, (C,)),
    ]
    found = functions(with_buffers(program([X], calls, [C])))
    assert found[2] is np.add
    assert found[3].place == 1
    z = array("z", dtype=np.dtype(complex))
    w = array("w", dtype=np.dtype(complex))
    calls = [Call(np.exp, (X,), {}, (z,)), Call(np.multiply, (z, z), {}, (w,))]
    assert functions(with_buffers(program([X], calls, [w]))) == [np.exp, np.multiply]


def test_rolls_flips_and_cumulative_sums_are_written_out():
    def f(x):
        y = np.roll(x, 1, axis=1) + np.roll(x, -5, axis=0) + np.flip(x, 0)
        return np.sum(np.cumsum(y, axis=1) * y) + np.sum(np.roll(y[0], 2) * np.cumsum(y[1]))

    x, g = np.random.default_rng(0).normal(size=(3, 4)), value_and_grad(f)
    compiled = compile(g)
    for given in (x, x * 2.0, np.asfortranarray(x), x[::-1]):
        for found, wanted in zip(compiled(given), g(given), strict=True):
            np.testing.assert_array_equal(found, wanted)
    source = compiled.programs[-1].source
    assert "roll(" not in source
    assert "flip(" not in source
    assert "cumulative" not in source


# ------------------------------------------------------------------- where bits do not matter


# ------------------------------------------------------------------------------------ blocks


# ---------------------------------------------------------------------- one question for many


def test_parameters_keep_their_names_from_functions():
    """In the program and in the one that stands by, which is written later."""

    def f(x, vdot, /, *, multiply=2.0, exp=1.0, isfinite=1.0, divide=1.0):
        for _ in range(3):
            x = np.exp(x / np.sqrt(np.sum(x * x)) - exp) * multiply
        return np.sum(x * vdot) / isfinite / divide

    g, x, y = value_and_grad(f), np.array([1.0, 2.0]), np.array([3.0, -1.0])
    compiled = compile(g)
    for given in (x, np.array([np.inf, 1.0]), np.zeros(2), x):
        for keywords in ({}, {"multiply": 3.0, "divide": 0.5, "exp": 0.0, "isfinite": 2.0}):
            with np.errstate(all="ignore"):
                wanted, found = g(given, y, **keywords), compiled(given, y, **keywords)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b)


def test_all_of_them_in_order():
    assert " ".join(PASSES) == (
        "simplify recomputation dead code parts dead parts zeros turns plain numbers "
        "short sums rows own outputs lifetimes"
    )


def test_products_of_matrices_as_a_method_have_the_same_bits():
    rng = np.random.default_rng(0)
    for _ in range(200):
        m, k, n = rng.integers(2, 40, 3)
        dtype, order, of = rng.choice(["f4", "f8"]), *rng.choice(["C", "F"], 2)
        a = np.array(rng.normal(size=(m, k)), dtype, order=order)
        b = np.array(rng.normal(size=(k, n)), dtype, order=of)
        for c in (b, a.T):
            assert np.matmul(a, c).tobytes() == a.dot(c).tobytes()
    assert is_matrix(array("m", (2, 3)))
    assert not is_matrix(array("m", (1, 3)))
    assert not is_matrix(array("m", (3,)))
