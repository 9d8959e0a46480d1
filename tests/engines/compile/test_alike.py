"""Static values that are alike, and those that code can tell from one another."""

from __future__ import annotations

import types

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_compile.alike import alike
from chainrules_tape import grad, vjp

X = np.arange(1.0, 4.0)
ROWS = np.arange(6.0).reshape(2, 3)
LAID = {
    "rows": lambda a: a.copy(),
    "columns": np.asfortranarray,
    "with gaps": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "backwards": lambda a: a[::-1].copy()[::-1],
    "read only": lambda a: np.broadcast_to(a.copy(), a.shape),
    "a view": lambda a: np.concatenate([a, a])[: len(a)],
}
ASKED = {
    "ravel K": lambda x, a: x[0] * a.ravel("K"),
    "flatten A": lambda x, a: x[0] * a.flatten("A"),
    "reshape A": lambda x, a: x[0] * a.reshape(3, 2, order="A"),
    "iterated": lambda x, a: x[0] * np.array([float(y) for y in np.nditer(a)]),
    "copied": lambda x, a: x[0] * a.copy("K").ravel("K"),
    "product": lambda x, a: x[0] * a,
    "strides": lambda x, a: x * a.strides[0],
    "contiguous": lambda x, a: x * 2.0 if a.flags.c_contiguous else x * 3.0,
    "writeable": lambda x, a: x * 2.0 if a.flags.writeable else x * 3.0,
    "own": lambda x, a: x * 2.0 if a.base is None else x * 3.0,
}


class Holder:
    def __init__(self, a):
        self.a = a


HELD = {
    "itself": lambda a: a,
    "in a list": lambda a: [a],
    "in a dict": lambda a: {"a": a},
    "in an object": Holder,
}
TAKEN = {
    "itself": lambda q: q,
    "in a list": lambda q: q[0],
    "in a dict": lambda q: q["a"],
    "in an object": lambda q: q.a,
}


@pytest.mark.parametrize("how", HELD)
@pytest.mark.parametrize("name", ASKED)
def test_a_static_array_that_lies_otherwise_has_another_program(name, how):
    ask, taken = ASKED[name], TAKEN[how]
    f = lambda x, q: ask(x, taken(q))
    program = compile(f, static="q")
    for dtype in (float, np.int64):
        for _ in range(2):
            for lay in LAID.values():
                q = HELD[how](lay(ROWS.astype(dtype)))
                found, wanted = program(X, q), f(X, q)
                np.testing.assert_array_equal(found, wanted)
                assert found.strides == wanted.strides


@pytest.mark.parametrize("ask", [k for k in ASKED if k != "product"])
def test_arrays_of_whom_a_method_is(ask):
    class Model:
        def __init__(self, a):
            self.a = a

        def plain(self, x):
            return ASKED[ask](x, self.a)

        compiled = compile(plain)

    for lay in LAID.values():
        model = Model(lay(ROWS))
        np.testing.assert_array_equal(model.compiled(X), model.plain(X))


def numbers_with(cls):
    class Number(cls):
        pass

    def made(unit):
        number = Number(2)
        number.unit = unit
        return number

    return made


def arrays_with():
    class Array(np.ndarray):
        unit = 0.0

        def __array_finalize__(self, of):
            self.unit = getattr(of, "unit", 0.0)

    def made(unit):
        array = np.full(3, 2.0).view(Array)
        array.unit = unit
        return array

    return made


MADE = {
    cls.__name__: lambda cls=cls: numbers_with(cls)
    for cls in (float, complex, int, np.float64, np.float32, np.complex128, np.int64)
} | {"array": arrays_with}
PLACES = {
    "argument": lambda u, x: (lambda x, q: x * q.unit, (x, u)),
    "argument, in a list": lambda u, x: (lambda x, q: x * q[0].unit, (x, [u])),
    "static object": lambda u, x: (lambda x, q: x * q.a.unit, (x, Holder(u))),
    "namespace": lambda u, x: (lambda x, q: x * q.a.unit, (x, types.SimpleNamespace(a=u))),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", MADE)
def test_attributes_of_numbers_that_are_given(kind, place):
    made = MADE[kind]()
    f = PLACES[place](made(1.0), X)[0]
    if kind != "array":  # which no library tells how to compute with
        program = compile(f)
        for unit in (1.0, 5.0, 1.0):
            assert_alike(program, f, PLACES[place](made(unit), X)[1])
    for g in (f, grad(lambda x, q: np.sum(f(x, q)))):
        program = compile(g, static="q")
        for unit in (1.0, 5.0, 1.0, -0.5):
            assert_alike(program, g, PLACES[place](made(unit), X)[1])


def assert_alike(program, f, given):
    np.testing.assert_array_equal(program(*given), f(*given))


@pytest.mark.parametrize("kind", MADE)
def test_attributes_of_numbers_that_are_captured(kind):
    made = MADE[kind]()
    box, holder = [made(1.0)], Holder(made(1.0))
    f = grad(lambda x: np.sum(x * box[0].unit * holder.a.unit))
    program = compile(f)
    pulled = compile(lambda x: vjp(lambda x: x * box[0].unit, x))

    def check():
        np.testing.assert_array_equal(program(X), f(X))
        np.testing.assert_array_equal(pulled(X)[1](X)[0], X * box[0].unit)

    check()
    box[0] = made(5.0)
    check()
    box[0].unit = 9.0
    check()
    holder.a = made(3.0)
    check()
    holder.a.unit = 7.0
    check()


def test_what_tells_arrays_from_one_another():
    plain, columns = ROWS, np.asfortranarray(ROWS)
    assert alike(plain.copy(), plain.copy())
    assert alike(columns, columns.copy("F"))
    assert not alike(plain.copy(), columns)
    assert not alike(plain, plain.copy())
    assert not alike(np.array([object()]), np.array([object()]))


def test_an_argument_that_cannot_say_what_it_is():
    class Silent(Holder):
        def __repr__(self):
            raise RuntimeError

    program = compile(lambda x, o: x * o.a)
    for a in (2.0, 3.0):
        np.testing.assert_array_equal(program(X, Silent(a)), a * X)
    assert "a test_an_argument" in program.explain()
