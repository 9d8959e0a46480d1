"""Passes: each by programs written out."""

from __future__ import annotations

import operator

import numpy as np

import chainrules_numpy  # noqa: F401 (whose arrays these are)
from chainrules_compile.calls import subtract_at
from chainrules_compile.passes import PASSES
from chainrules_compile.passes.dead_code import without_dead_code
from chainrules_compile.passes.lifetimes import Into, with_buffers
from chainrules_compile.passes.ownership import with_own_outputs
from chainrules_compile.passes.parts import with_parts
from chainrules_compile.passes.simplify import simplified
from chainrules_py.program import Call, Program, Value
from chainrules_py.vocabulary import add_at, matrix_transpose
from chainrules_py.vocabulary.views import Index, duplicate, read, store

F8 = np.dtype(float)


def array(name, shape=(3,), memory=None, dtype=F8):
    layout = tuple(np.empty(shape, dtype).strides)
    return Value(name, np.ndarray, shape, dtype, memory, layout)


def program(inputs, calls, outputs, constants=None):
    return Program("f", tuple(inputs), tuple(calls), tuple(outputs), constants or {})


def functions(p):
    return [call.function for call in p]


X, Y, A, B, C = map(array, "xyabc")
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


def test_sum_with_a_negative_is_a_difference():
    calls = [Call(np.negative, (Y,), {}, (A,)), Call(operator.add, (X, A), {}, (B,))]
    p = without_dead_code(simplified(program([X, Y], calls, [B])))
    assert functions(p) == [np.subtract]
    assert p.calls[0].operands == (X, Y)


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


def test_all_of_them_in_order():
    assert list(PASSES) == ["simplify", "dead code", "parts", "own outputs", "lifetimes"]
