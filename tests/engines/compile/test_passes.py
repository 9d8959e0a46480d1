"""Passes: each by programs written out."""

from __future__ import annotations

import functools
import itertools
import operator
import warnings

import numpy as np
import pytest

import chainrules_numpy  # noqa: F401 (whose arrays these are)
from chainrules_compile import compile
from chainrules_compile.calls import minus_at, plus_at, subtract_at
from chainrules_compile.passes import PASSES, blocks, passes_of
from chainrules_compile.passes.bounds import Bounds
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.elements import with_elements
from chainrules_compile.passes.filled import with_filled
from chainrules_compile.passes.lifetimes import Into, with_buffers
from chainrules_compile.passes.ownership import with_own_outputs
from chainrules_compile.passes.parts import with_parts
from chainrules_compile.passes.questions import with_one_question
from chainrules_compile.passes.signs import with_signs
from chainrules_compile.passes.simplify import simplified
from chainrules_compile.writers.shorter import is_matrix
from chainrules_py.extend import flatten
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_at, divide, full_like, matrix_transpose
from chainrules_py.vocabulary.views import Index, duplicate, read, read_whole, store
from chainrules_tape import value_and_grad
from tests.engines.compile.random_programs import check_compiled, run
from tests.engines.compile.shadow import same

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


@pytest.mark.parametrize(
    "function, operands, found, ordered",
    [
        (np.add, (X, A), np.subtract, (X, Y)),
        (np.add, (A, X), np.subtract, (X, Y)),
        (np.subtract, (X, A), np.add, (X, Y)),
        (np.subtract, (A, X), np.subtract, (A, X)),
        (np.multiply, (A, A), np.multiply, (Y, Y)),
        (np.multiply, (A, X), np.negative, None),
        (np.divide, (A, A), np.divide, (Y, Y)),
    ],
)
def test_what_is_negated_in_sums_and_products(function, operands, found, ordered):
    calls = [Call(np.negative, (Y,), {}, (A,)), Call(function, operands, {}, (B,))]
    p = without_dead_code(with_signs(program([X, Y], calls, [B])))
    assert functions(p)[-1] is found
    assert ordered is None or p.calls[-1].operands == ordered


def test_negation_moves_through_products_to_a_difference():
    calls = [
        Call(np.negative, (Y,), {}, (A,)),
        Call(np.multiply, (A, X), {}, (B,)),
        Call(np.add, (X, B), {}, (C,)),
    ]
    p = without_dead_code(with_signs(program([X, Y], calls, [C])))
    assert functions(p) == [np.multiply, np.subtract]
    assert p.calls[0].operands == (Y, X)


def test_negation_of_a_number_times_something():
    calls = [Call(np.multiply, (2.0, Y), {}, (A,)), Call(np.negative, (A,), {}, (B,))]
    p = without_dead_code(with_signs(program([Y], calls, [B])))
    assert functions(p) == [np.multiply]
    assert p.calls[0].operands == (-2.0, Y)


@pytest.mark.parametrize(
    "first, second, numbers",
    [
        (2.0, 100.0, [200.0]),
        (3.0, 100.0, [3.0, 100.0]),
        (0.5, 3.0, [0.5, 3.0]),
        (4.0, 0.1, [4.0, 0.1]),
    ],
)
def test_products_with_two_numbers_are_one_where_nothing_is_rounded(first, second, numbers):
    calls = [Call(np.multiply, (first, Y), {}, (A,)), Call(np.multiply, (second, A), {}, (B,))]
    p = without_dead_code(with_signs(program([Y], calls, [B])))
    assert [call.operands[0] for call in p] == numbers


def test_copies_of_what_dies_are_left_out():
    calls = [Call(np.sin, (X,), {}, (A,)), Call(duplicate, (A,), {}, (B,))]
    assert functions(with_buffers(program([X], calls, [B]))) == [np.sin]
    assert functions(with_buffers(program([X], calls, [A, B]))) == [np.sin, duplicate]
    assert functions(with_buffers(program([A], calls[1:], [B]))) == [duplicate]


@pytest.mark.parametrize("way", ["read", "written to between", "used twice", "laid otherwise"])
def test_what_is_read_once_before_anybody_writes_is_not_copied(way):
    layout = () if way == "laid otherwise" else X.layout
    part = Value("part", X.type, X.shape, X.dtype, A, layout)
    write = Call(store, (A, 0.0), {"index": read_whole}, (D,))
    calls = [
        Call(np.sin, (X,), {}, (A,)),
        Call(read, (A,), {"index": read_whole}, (part,)),
        Call(duplicate, (part,), {}, (B,)),
        *([write] if way == "written to between" else []),
        Call(np.cos, (B,), {}, (C,)),
        *([] if way == "written to between" else [write]),
    ]
    outputs = [C, D, *([B] if way == "used twice" else [])]
    found = functions(with_buffers(program([X], calls, outputs)))
    assert (duplicate in found) == (way != "read")


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


def test_divisions_by_what_cannot_be_zero_ask_nothing():
    exp, more, quotient, other = map(array, ("e", "m", "q", "o"))
    calls = [
        Call(np.exp, (X,), {}, (exp,)),
        Call(np.add, (1.0, exp), {}, (more,)),
        Call(divide, (Y, more), {}, (quotient,)),
        Call(divide, (Y, exp), {}, (other,)),
    ]
    p = simplified(program([X, Y], calls, [quotient, other]))
    assert functions(p) == [np.exp, np.add, np.divide, divide]


def test_bounds():
    one, square, half = np.array([2.0, 0.5]), array("s", (2,)), array("h", (2,))
    c = array("c", (2,))
    made = {square: Call(np.multiply, (X, X), {}, (square,))}
    made[half] = Call(np.add, (square, c), {}, (half,))
    bounds = Bounds({c: one}, made)
    assert [bounds.at_least(x) for x in (c, square, half, 3, X)] == [0.5, 0.0, 0.5, 3.0, -np.inf]
    assert bounds.at_least(np.nan) == -np.inf


def test_transposed_twice():
    m, t, u = array("m", (2, 2)), array("t", (2, 2)), array("u", (2, 2))
    calls = [Call(matrix_transpose, (m,), {}, (t,)), Call(matrix_transpose, (t,), {}, (u,))]
    assert simplified(program([m], calls, [u])).outputs == (m,)


def changing_a_part(ufunc):
    """The calls of ``x[i] = ufunc(x[i], 2.0)``, and what they read and store."""
    part, total = array("part", (2,), X), array("total", (2,))
    calls = [
        Call(read, (X,), PART, (part,)),
        Call(ufunc, (part, 2.0), {}, (total,)),
        Call(store, (X, total), PART, (A,)),
    ]
    return calls, part, total


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


def adding_to_zeros(*parts, fill=0, dtype=F8, y=2.0):
    """Return the program of additions to parts of an array of zeros."""
    zeros = array("z", (3,), None, dtype)
    calls, x = [Call(full_like, (X,), {"fill": fill}, (zeros,))], zeros
    for i, (word, part) in enumerate(parts):
        result = array(f"z{i}", (3,), None, dtype)
        calls.append(Call(word, (x, y), {"index": Index.split(part)[0]}, (result,)))
        x = result
    return program([X, y] if type(y) is Value else [X], calls, [x])


def test_zeros_that_are_added_to_in_all_parts_are_not_made():
    parts = (add_at, 0), (add_at, 0), (subtract_at, slice(1, 3)), (add_at, 1)
    p = without_dead_code(with_filled(adding_to_zeros(*parts)))
    assert functions(p) == [np.empty, plus_at, add_at, minus_at, add_at]
    given = np.full(3, np.nan)
    plus, minus = plus_at(given, -0.0, index=(PART["index"])), minus_at(given, 0.0, **PART)
    assert plus.tobytes() == minus.tobytes() == np.array([np.nan, 0.0, 0.0]).tobytes()


@pytest.mark.parametrize(
    "p",
    [
        adding_to_zeros((add_at, slice(0, 2)), (add_at, slice(1, 3))),
        adding_to_zeros((add_at, 0), (add_at, slice(2, 3))),
        adding_to_zeros((add_at, slice(None, None, 2)), (add_at, 1)),
        adding_to_zeros((add_at, slice(None)), fill=-0.0),
        adding_to_zeros((add_at, slice(None)), fill=1),
        adding_to_zeros((add_at, slice(None)), dtype=np.dtype(int)),
        adding_to_zeros((add_at, slice(None)), y=array("wide", (3,), None, np.dtype(complex))),
    ],
    ids=["overlap", "gap", "step", "negative", "one", "integers", "wide"],
)
def test_other_zeros_stay(p):
    assert functions(with_filled(p)) == functions(p)


def test_zeros_that_somebody_else_sees_stay():
    p = adding_to_zeros((add_at, 0), (add_at, slice(1, 3)))
    (seen,) = p.calls[1].results
    p = program([X], p.calls, [*p.outputs, seen])
    assert functions(with_filled(p)) == functions(p)


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


def number(name):
    return Value(name, np.float64, (), F8)


def element(i):
    return {"index": Index.split(i)[0]}


def test_elements_that_were_written_are_not_read_again():
    p, q, r, s = map(number, "pqrs")
    calls = [
        Call(full_like, (X,), {"fill": 0}, (A,)),
        Call(read, (A,), element(2), (p,)),
        Call(operator.add, (p, Y), {}, (q,)),
        Call(store, (A, q), element(-1), (B,)),
        Call(read, (B,), element(2), (r,)),
        Call(operator.add, (r, Y), {}, (s,)),
        Call(store, (B, s), element(2), (C,)),
    ]
    found = with_elements(program([X, Y], calls, [C]))
    assert functions(found) == [full_like, operator.add, operator.add, store]
    assert type(found.calls[1].operands[0]) is np.float64
    assert found.calls[2].operands == (q, Y)
    assert found.calls[3].operands == (A, s)
    seen = with_elements(program([X, Y], calls, [B, C]))
    assert functions(seen).count(store) == 2


def test_what_is_written_over_unread_is_not_written():
    p, q = map(number, "pq")
    steps = [array(f"step{i}") for i in range(4)]
    written = zip((2, 1, -1, 1), (p, p, q, q), (X, *steps[:-1]), steps, strict=True)
    calls = [Call(store, (x, y), element(i), (z,)) for i, y, x, z in written]
    found = with_elements(program([X, p, q], calls, [steps[-1]]))
    assert [call.operands for call in found] == [(X, q), (steps[2], q)]
    for seen in steps[1:3]:
        assert len(with_elements(program([X, p, q], calls, [seen, steps[-1]]))) in (3, 4)
    reading = Call(np.sin, (steps[1],), {}, (A,))
    assert len(with_elements(program([X, p, q], [*calls, reading], [A, steps[-1]]))) == 5


def test_elements_of_an_array_that_became_two_are_read():
    p, q, r = map(number, "pqr")
    first, second = array("first"), array("second")
    calls = [
        Call(full_like, (X,), {"fill": 0}, (A,)),
        Call(store, (A, p), element(0), (B,)),
        Call(store, (B, q), element(1), (first,)),
        Call(store, (B, q), element(2), (second,)),
        Call(read, (second,), element(0), (r,)),
    ]
    found = with_elements(program([X, p, q], calls, [first, second, r]))
    assert functions(found)[-1] is read
    single, written = (array(name, (3,), None, np.dtype("f4")) for name in ("single", "written"))
    calls = [
        Call(store, (single, p), element(0), (written,)),
        Call(read, (written,), element(0), (r,)),
    ]
    assert functions(with_elements(program([single, p], calls, [r]))) == [store, read]


def accumulated(x, steps, rng):
    """Compute with elements and parts of an array, and of one that is written to."""
    y, total = np.zeros(x.shape, like=x), 0.0
    for kind in steps:
        i, j = (tuple(map(int, rng.integers(-1, 2, x.ndim))) for _ in range(2))
        if kind == 0:
            y[i] = x[j] * x[i]
        elif kind == 1:
            y[i] += y[j] - x[i]
        elif kind == 2:
            total = total + x[i] * y[j] - 2.0 * x[i]
        elif kind == 3:
            y[i[0]] = x[j[0]] * -1.0
        else:
            y[i] -= -0.0 * x[j]
    return total + np.sum(y * y) + y[(0,) * x.ndim]


@pytest.mark.parametrize("seed", range(60))
def test_random_elements_have_the_bits_that_they_have_eagerly(seed):
    rng = np.random.default_rng(seed)
    x = rng.choice([-1.5, -0.0, 0.0, 2.0], (2,) * (1 + seed % 2)).astype("f4" if seed % 3 else "f8")
    steps = rng.integers(0, 5, rng.integers(1, 12))
    f = functools.partial(accumulated, steps=steps)
    g = value_and_grad(lambda x: f(x, rng=np.random.default_rng(seed)))
    for found, wanted in zip(compile(g)(x), g(x), strict=True):
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


def loose_source(f, *args):
    """The source of a program that need not have the bits; its result is compared."""
    compiled = compile(f, exact=False)
    for found, wanted in zip(flatten(compiled(*args))[0], flatten(f(*args))[0], strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    return compiled.source


@pytest.mark.parametrize("p", [*range(2, 17), *range(-16, -1), 3.0])
def test_whole_powers_are_products(p):
    x = np.array([1.5, -0.7, 2.0])
    assert "pow" not in loose_source(lambda x: x**p, x)
    assert "power" not in loose_source(lambda x: np.power(x, p), x)


def test_powers_of_numbers_are_products():
    assert "**" not in loose_source(value_and_grad(lambda x: x**3 + x**2.0), 1.7)
    assert "**" in loose_source(lambda x: x**-1.5 + x**0.5, 1.7)


def test_quotients_by_numbers_are_products_and_numbers_meet():
    x = np.arange(1.0, 4.0)
    assert loose_source(lambda x: 3.0 * (x / 7.0), x).count("multiply") == 1
    assert loose_source(lambda x: np.exp(x) + np.exp(x), x).count("add(") == 0


def test_sums_of_products_are_of_blas():
    x = np.arange(1.0, 4.0)
    assert "vdot(x, x)" in loose_source(lambda x: np.sum(x * x), x)
    assert "vdot" not in loose_source(lambda x: np.sum(x * x, axis=0, keepdims=True), x)
    assert "dot(" in loose_source(lambda a, x: a @ x, np.eye(3), x)


def test_what_is_solved_with_a_factor_is_a_triangle():
    a, x = np.eye(3) + 0.1, np.arange(3.0)
    assert "triangular" in loose_source(
        lambda a, x: np.linalg.solve(np.linalg.cholesky(a), x), a, x
    )


# ------------------------------------------------------------------------------------ blocks


def waves(x, y):
    for _ in range(4):
        x = np.sin(x) * y + x / (1.0 + y * y)
    return np.sum(x * 2.0)


@pytest.mark.parametrize("shape", [(131_072,), (131_073,), (400, 331), (1, 140_000)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_large_arrays_are_gone_through_in_pieces(shape, dtype):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, *shape)).astype(dtype)
    f = value_and_grad(waves, (0, 1))
    compiled = compile(f)
    for found, wanted in zip(flatten(compiled(x, y))[0], flatten(f(x, y))[0], strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    assert "for i in range(0, " in compiled.source
    assert len(compiled.programs[0].program) < 20


def test_small_arrays_and_few_calls_are_no_blocks():
    for f, n in ((waves, 1000), (lambda x, y: np.sum(np.sin(x) * y), 200_000)):
        compiled = compile(f)
        compiled(np.ones(n), np.ones(n))
        assert "for i in" not in compiled.source


def test_random_programs_in_small_blocks(monkeypatch):
    """Pieces of four elements, of any arrays that there are two calls of."""
    monkeypatch.setattr(blocks, "LEAST", 1)
    monkeypatch.setattr(blocks, "FEWEST", 2)
    monkeypatch.setattr(blocks, "PIECES", (4, 4))
    run(check_compiled, 2, 77)
    compiled = compile(value_and_grad(waves, (0, 1)))
    x = np.linspace(0.0, 1.0, 7)
    compiled(x, x)
    assert "for i in range(0, 7, 4)" in compiled.source


# ---------------------------------------------------------------------- one question for many


def slopes(x, y):
    """Several quotients, each of which is asked about."""
    for _ in range(3):
        x = x / np.sqrt(np.sum(x * x))
    return np.sum(x * y)


def test_one_question_stands_for_many_and_the_program_that_asks_each_stands_by():
    f = value_and_grad(slopes)
    compiled = compile(f)
    x, y = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    for given in (x, -x, np.zeros(2), x * 1e-200, np.array([np.inf, 1.0]), x):
        with np.errstate(all="ignore"):
            for found, wanted in zip(compiled(given, y), f(given, y), strict=True):
                np.testing.assert_array_equal(found, wanted)
    first = compiled.programs[-1]
    assert first.source.count("isfinite") == 1
    assert "asking_each(x, y)" in first.source
    assert first.standby.made()[1].count("isfinite") > 3


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


def test_infinite_partials_are_right_behind_one_question():
    """Products with zero are zero; the results are finite, and so the question has to be asked."""

    def f(x, y):
        a, b = np.sqrt(x), x / y
        return np.sum(a * 0.0) + np.sum(b / y) + np.sum(b * b / y)

    g = value_and_grad(f, (0, 1))
    compiled = compile(g)
    for x in (np.ones(3), np.zeros(3), np.array([0.0, 1.0, 4.0])):
        for y in (np.ones(3), np.array([0.0, 1.0, np.inf])):
            with np.errstate(all="ignore"):
                flat = lambda z: [z[0], *z[1]]
                for found, wanted in zip(flat(compiled(x, y)), flat(g(x, y)), strict=True):
                    np.testing.assert_array_equal(found, wanted)


def test_nothing_is_said_behind_one_question_that_the_function_does_not_say():
    f = value_and_grad(lambda x, y: np.sum(np.sqrt(np.sqrt(x / y) / y) / y * 0.0))
    compiled = compile(f)
    y = np.ones(3)
    for x in (np.ones(3), np.zeros(3), np.array([0.0, 1.0, 2.0])):
        with np.errstate(all="raise"):
            for found, wanted in zip(compiled(x, y), f(x, y), strict=True):
                np.testing.assert_array_equal(found, wanted)
    assert "errstate" in compiled.programs[-1].source


def test_what_drops_elements_asks_each():
    def f(x, y):
        return np.sum((x / np.sqrt(y))[1:] / y[1:]) + np.max(x / y)

    x, y = np.arange(1.0, 5.0), np.array([1.0, 2.0, 3.0, 4.0])
    compiled, g = compile(value_and_grad(f)), value_and_grad(f)
    for at in (y, np.array([0.0, 1.0, 2.0, 3.0]), y):
        with np.errstate(all="ignore"):
            for found, wanted in zip(compiled(x, at), g(x, at), strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_a_program_without_questions_is_the_same():
    p = program([X], [Call(np.sin, (X,), {}, (A,))], [A])
    assert with_one_question(p) is p


@pytest.mark.parametrize("shape", [(3, 3), (7, 5), (64, 64), (200, 33)])
@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_products_of_matrices_keep_what_is_not_finite(shape, odd):
    """Which is what one question relies on: BLAS leaves no products with zeros out."""
    rng, (n, m) = np.random.default_rng(0), shape
    for i, j in ((0, 0), (n - 1, m - 1), (n // 2, m // 3)):
        a = rng.normal(size=shape)
        a[i, j] = odd
        with np.errstate(invalid="ignore"):
            for b in (np.zeros((m, 4)), np.zeros((4, m)).T, np.zeros(m)):
                assert not np.isfinite(a @ b).all()
                assert not np.isfinite(a.dot(b)).all()
                assert not np.isfinite(b.T.dot(a.T)).all()
            assert not np.isfinite(np.ones(n).dot(a)).all()
            assert not np.isfinite(np.vdot(a, np.zeros(shape)))


def test_other_targets_ask_each():
    assert [*PASSES.keys() - passes_of("other", True).keys()] != []
    assert with_one_question not in passes_of("other", False).values()
    assert passes_of("numpy", True) == PASSES


def test_all_of_them_in_order():
    assert " ".join(PASSES) == (
        "wrappers simplify recall elements signs dead code shares zero patterns factors parts "
        "unread from zero filled dead parts turns plain numbers one question short sums rows thin "
        "remade blocks own outputs lifetimes"
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


EXTREMES = {
    "rows": lambda x: np.sum(np.max(x, axis=1) ** 2),
    "columns": lambda x: np.sum(np.min(x, axis=0) ** 3),
    "all": lambda x: np.max(x) * 2.0 + np.min(x),
    "kept": lambda x: np.sum((x - np.max(x, axis=-1, keepdims=True)) ** 2),
    "pools": lambda x: np.sum(np.max(x.reshape(3, 2, 3, 2), axis=(1, 3)) ** 2),
    "of the transpose": lambda x: np.sum(np.max(x.T * 1.0, axis=0) ** 2 + x[0]),
    "without NaN": lambda x: np.sum(np.nanmax(x, axis=1) ** 2),
}


@pytest.mark.parametrize("name", EXTREMES)
def test_shares_of_extremes_are_counted_along_axes_where_some_are_tied(name):
    f = value_and_grad(EXTREMES[name])
    compiled = compile(f)
    x = np.random.default_rng(0).permutation(np.arange(36.0)).reshape(6, 6)
    tied, lost, huge, less = np.round(x / 8), x.copy(), x.copy(), x.copy()
    lost[2, 3], lost[4] = np.nan, 50.0  # as many attain an extreme as there are of them
    huge[1, 1], huge[3] = np.inf, -np.inf
    less[0] = np.nan
    less[1, :2] = 60.0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in (x, tied, lost, huge, less, np.zeros((6, 6)), x[:, ::-1].copy()):
            assert same(compiled(given), f(given))
    assert ("even_shares" in compiled.programs[-1].source) == (name != "all")


def test_what_is_no_extreme_of_these_axes_is_counted_along_axes():
    def f(x, t):
        top = np.max(x, axis=1)
        shares = [np.equal(x, t), np.equal(x, top[None, :]), np.equal(x, np.max(x * 1.0))]
        counted = [h / np.count_nonzero(h, axis=0, keepdims=True) for h in shares]
        return sum([np.sum(c * x) for c in counted])

    x = np.random.default_rng(0).permutation(np.arange(9.0)).reshape(3, 3)
    compiled = compile(f)
    with np.errstate(all="ignore"):
        for t in (x[0], np.array([[8.0, 8.0, 8.0]]), x[:, :1].T):
            assert same(compiled(x, t), f(x, t))
    assert "even_shares" not in compiled.programs[0].source
