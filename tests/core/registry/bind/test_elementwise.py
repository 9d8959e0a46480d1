"""Partials that decide: what they give is asked at every call, and not once."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from chainrules_compile import compile
from chainrules_py import ProjectionError, RuleError, frule, primitive, rrule, scalar_rule
from chainrules_py import ops as v
from chainrules_py.ops import divide
from chainrules_py.registry.bind.elementwise import form_of
from chainrules_tape import grad, jacobian, jvp, linearize, vjp

DECIDING = {
    "truth": lambda _y, _x, on: 2.0 if on else 1.0,
    "falsehood": lambda _y, _x, on: 1.0 if not on else 2.0,
    "and": lambda _y, _x, on: (on and 2.0) or 1.0,
    "or": lambda _y, _x, on: 1.0 + (on or 0.0),
    "equality": lambda _y, _x, on: 1.0 + (on == 1.0),
    "inequality": lambda _y, _x, on: 2.0 - (on != 1.0),
    "order": lambda _y, _x, on: 2.0 if on > 0.5 else 1.0,
    "identity": lambda _y, _x, on: 1.0 if on is None else 1.0 + on,
    "containment": lambda _y, _x, on: 2.0 if on in (1.0, 7.0) else 1.0,
    "a loop": lambda _y, _x, on: sum([1.0 for _ in range(1 + int(on))]),
    "a default": lambda _y, _x, on=None: 1.0 + on if on else 1.0,
    "a function": lambda _y, _x, on: max(1.0, 2.0 * on),
}
QUESTIONS = ("on", "on == 1.0", "not (not on)", "on in (1.0, 7.0)", "on > 0.5", "0.5 < on < 7.0")
ASKED = (
    "2.0 if Q else 1.0",
    "(Q and 2.0) or 1.0",
    "1.0 + bool(Q)",
    "(1.0, 2.0)[bool(Q)]",
    "{True: 2.0, False: 1.0}[bool(Q)]",
    "(lambda q: 2.0 if q else 1.0)(Q)",
    "(lambda: 2.0 if Q else 1.0)()",
    "[2.0 if q else 1.0 for q in (Q,)][0]",
    "{q: 2.0 if q else 1.0 for q in (Q,)}.popitem()[1]",
    "next(2.0 if q else 1.0 for q in (Q,))",
    "[*filter(None, (Q,)), 0.0][0] and 2.0 or 1.0",
    "(2.0 if q else 1.0) if (q := Q) else 1.0",
    "float(f'{2 if Q else 1}')",
    "[1.0, *[2.0 for _ in (0,) if Q]][-1]",
)


def gate_with(partial):
    @primitive
    def gate(x, on):
        return x * (1.0 + on)

    scalar_rule(gate, partial, None)
    return gate


@pytest.mark.parametrize("partial", DECIDING.values(), ids=list(DECIDING))
@pytest.mark.parametrize("first", [0.0, 1.0])
def test_partials_that_decide_are_asked_at_every_call(partial, first):
    gate = gate_with(partial)
    for on in (first, 1.0 - first, first):
        assert rrule(gate, 3.0, on)[1](1.0)[0] == 1.0 + on
        assert frule((1.0, 0.0), gate, 3.0, on)[1] == 1.0 + on
        x = np.full(2, 3.0)
        np.testing.assert_array_equal(rrule(gate, x, on)[1](np.ones(2))[0], np.full(2, 1.0 + on))


@pytest.mark.parametrize("how", ASKED)
def test_however_a_partial_asks_it_is_asked_at_every_call(how):
    for question in QUESTIONS:
        gate = gate_with(eval(f"lambda _y, _x, on: {how.replace('Q', question)}"))
        for on in (0.0, 1.0, 0.0):
            assert rrule(gate, 3.0, on)[1](1.0)[0] == 1.0 + on, question
            assert frule((1.0, 0.0), gate, 3.0, on)[1] == 1.0 + on, question


BODIES = {  # with the function whose slope it is
    "3.0": lambda x: 3.0 * x,
    "y": np.exp,
    "x": lambda x: x * x / 2.0,
    "divide(1, x)": np.log,
    "divide(-1, x) * y": lambda x: 1.0 / x,
    "cos(x)": np.sin,
}
FORMS = {
    "function": "f = lambda NAMES: BODY",
    "method": "class A:\n    def f(self, NAMES): return BODY\nf = A().f",
    "class method": "class A:\n    f = classmethod(lambda cls, NAMES: BODY)\nf = A.f",
    "static method": "class A:\n    f = staticmethod(lambda NAMES: BODY)\nf = A.f",
    "called": "class A:\n    def __call__(self, NAMES): return BODY\nf = A()",
    "partial": "f = functools.partial(lambda k, NAMES: BODY, 1.0)",
    "partial of a method": "class A:\n    def f(self, k, NAMES): return BODY\n"
    "f = functools.partial(A().f, 1)",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("body", BODIES)
def test_whatever_a_partial_is(form, body):
    unused = [name if name in body.replace("exp", "") else f"_{name}" for name in "yx"]
    for names in ("y, x", ", ".join(unused)):
        known = {"functools": functools, "divide": v.divide, "cos": v.cos}
        exec(FORMS[form].replace("NAMES", names).replace("BODY", body), known)
        f = primitive(functools.partial(lambda k, x: BODIES[body](x), 1))
        scalar_rule(f, known["f"])
        for x in (0.7, np.array([0.7, 1.1])):
            want = grad(lambda x: np.sum(BODIES[body](x)))(x)
            one = np.ones_like(x) if np.ndim(x) else 1.0
            found = [
                grad(lambda x, f=f: np.sum(f(x)))(x),
                rrule(f, x)[1](one)[0],
                frule((one,), f, x)[1],
                jvp(f, (x,), (one,))[1],
                linearize(f, x)[1](one),
            ]
            for slope in found:
                np.testing.assert_allclose(slope, want, rtol=1e-14)


@pytest.mark.parametrize(
    "slope, form",
    [
        (lambda _y, _x: 2.0, ("constant", 2.0)),
        (lambda _y, x: x, ("slot", 1)),
        (lambda y, _x: y, ("slot", 0)),
        (lambda _y, x: x + 1.0, ("computed", None)),
        (lambda _y, x: -x, ("computed", None)),
        (lambda _y, x: (x, x), ("computed", None)),
        (lambda _y, x: 1.0 if x else 2.0, ("computed", None)),
        (lambda _y, x: v.divide(-1, x), ("computed", None)),
        (lambda _y, x: divide(-1, x), ("computed", (-1, None, 1))),
        (lambda y, x: divide(-y, x), ("computed", (-1, 0, 1))),
        (lambda y, x: divide(1, x) if y else divide(2, x), ("computed", None)),
        (lambda *given: given[1], ("slot", 1)),
        (lambda _y, x, k=3.0: k, ("computed", None)),
    ],
)
def test_what_is_seen_of_a_partial_by_calling_it(slope, form):
    assert form_of(slope, 1) == form


@pytest.mark.parametrize(
    "slope",
    [
        lambda _y, x, k=6.0: k * x,
        lambda _y, x, *, k=6.0: k * x,
        lambda *given: 6.0 * given[1],
        lambda _y, *xs: 6.0 * xs[0],
    ],
)
def test_a_partial_may_have_defaults_or_take_all_operands_as_a_tuple(slope):
    @primitive
    def f(x):
        return 3.0 * x * x

    scalar_rule(f, slope)
    for x in (2.0, np.float64(2.0), np.array([1.0, 2.0])):
        np.testing.assert_allclose(vjp(f, x)[1](np.ones_like(x))[0], 6.0 * x)
        np.testing.assert_allclose(jvp(f, (x,), (np.ones_like(x),))[1], 6.0 * x)


@pytest.mark.parametrize(
    "part, derivative",
    [
        (np.ones(3, object), lambda f, x: vjp(f, x)[1](x)),
        (np.ones(3, "m8[s]"), lambda f, x: vjp(f, x)[1](x)),
        (np.ones((3, 1)), lambda f, x: jacobian(f, mode="forward")(x)),
        (np.ones((3, 1)), lambda f, x: jacobian(f, mode="reverse")(x)),
        (np.ones((3, 3)), lambda f, x: jacobian(f, mode="reverse")(x)),
        (np.ones((3, 3)), lambda f, x: jax_vjp(f, x)),
    ],
    ids=["objects", "times", "a column", "a column, reverse", "a matrix", "a matrix, in JAX"],
)
def test_a_partial_that_is_no_number_for_each_element_is_refused(part, derivative):
    square = primitive(lambda x: x * x)
    scalar_rule(square, lambda _y, _x: part)
    with pytest.raises(ProjectionError):
        derivative(square, np.arange(3.0))


def jax_vjp(f, x):
    jax = pytest.importorskip("jax")
    return jax.vjp(f, jax.numpy.asarray(x))[1](jax.numpy.asarray(x))


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_so_is_a_partial_with_a_setup_or_of_several_outputs(outputs, mode):
    f = primitive(lambda x: (x * x, 2 * x) if outputs > 1 else x * x)
    matrix = np.ones((3, 3))
    part = lambda u, _y, _x: (u, 2.0) if outputs > 1 else u
    scalar_rule(f, part, setup=lambda _y, _x: matrix, outputs=outputs)
    of_first = lambda x: f(x)[0] if outputs > 1 else f(x)
    with pytest.raises(ProjectionError):
        jacobian(of_first, mode=mode)(np.arange(3.0))


def test_a_partial_may_be_a_list_of_numbers():
    double = primitive(lambda x: x * 2)
    scalar_rule(double, lambda _y, x: [2.0] * len(x))
    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(jacobian(double, mode=mode)(np.ones(2)), 2.0 * np.eye(2))


# ------------------------------------------------------------------------- results of other shapes

ONE = lambda y, x: 1.0
OTHER_SHAPES = {
    "a sum": (np.sum, (ONE,), {}),
    "a mean along an axis": (lambda x: np.mean(x, axis=-1), (lambda y, x: 1 / x.shape[-1],), {}),
    "a partial of the result": (np.sum, (lambda y, x: y / y,), {}),
    "a strong zero": (np.sum, (ONE,), {"singular": True}),
    "a holomorphic function": (np.sum, (ONE,), {"complex": "holomorphic"}),
    "an element": (lambda x: x[:1], (ONE,), {}),
    "other axes": (lambda x: np.reshape(x, (-1,)), (ONE,), {}),
    "a stack": (lambda x: np.stack([x, x]), (ONE,), {}),
    "an outer product": (lambda x: x[..., None] * x, (lambda y, x: 2.0 * y / x,), {}),
    "two operands": (
        lambda x, y: np.sum((x - y) ** 2, axis=-1),
        (lambda z, x, y: 2.0, lambda z, x, y: -2.0),
        {},
    ),
    "a number beside an array": (lambda x, y: np.sum(x) * y, (lambda z, x, y: y, None), {}),
}
MATRIX = np.arange(1.0, 10.0).reshape(3, 3)
WAYS = {
    "grad": lambda f, xs: grad(lambda *xs: np.sum(f(*xs)), tuple(range(len(xs))))(*xs),
    "rrule": lambda f, xs: rrule(f, *xs),
    "vjp": lambda f, xs: vjp(f, *xs),
    "jvp": lambda f, xs: jvp(f, xs, xs),
    "frule": lambda f, xs: frule(xs, f, *xs),
    "linearize": lambda f, xs: linearize(f, *xs),
    "second order": lambda f, xs: grad(lambda x: np.sum(vjp(f, x, *xs[1:])[0]))(xs[0]),
    "compiled": lambda f, xs: compile(grad(lambda x: np.sum(f(x, *xs[1:]))))(xs[0]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OTHER_SHAPES)
def test_a_result_of_another_shape_than_its_operands_is_refused(name, way):
    body, partials, options = OTHER_SHAPES[name]
    f = primitive((lambda x: body(x)) if len(partials) == 1 else lambda x, y: body(x, y))
    scalar_rule(f, *partials, **options)
    xs = (MATRIX, 2.0 if "number" in name else MATRIX + 1.0)[: len(partials)]
    with pytest.raises(RuleError, match="act element by element"):
        WAYS[way](f, xs)


BROADCAST = {
    "a row and a column": ((3, 1), (3,)),
    "a matrix and a row": ((3, 3), (3,)),
    "a number and a matrix": ((), (3, 3)),
    "two matrices": ((3, 3), (3, 3)),
    "one axis more": ((1, 3), (3,)),
    "no elements": ((0, 1), (3,)),
}


@pytest.mark.parametrize("shapes", BROADCAST.values(), ids=list(BROADCAST))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_operands_that_are_broadcast_have_the_gradients_of_numpys_own_function(shapes, dtype):
    f = primitive(lambda x, y: np.multiply(x, y))
    scalar_rule(f, lambda z, x, y: y * 1.0, lambda z, x, y: x * 1.0)
    xs = [np.asarray(np.linspace(0.5, 2.0, int(np.prod(s))).reshape(s), dtype) for s in shapes]
    for wrt in (0, 1, (0, 1)):
        have, want = [
            grad(lambda x, y, g=g: np.sum(g(x, y) ** 2), wrt)(*xs) for g in (f, np.multiply)
        ]
        for a, b in zip(
            *[g if isinstance(wrt, tuple) else (g,) for g in (have, want)], strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    have, want = [jvp(g, tuple(xs), tuple(xs))[1] for g in (f, np.multiply)]
    np.testing.assert_allclose(have, want, rtol=1e-6)


def test_an_operand_without_a_partial_may_be_a_table():
    at, values = np.arange(5.0), np.arange(5.0) ** 2
    f = primitive(lambda x, at, values: np.interp(x, at, values))
    scalar_rule(f, lambda y, x, at, values: 2.0 * np.floor(x) + 1.0, None, None)
    x = np.array([0.5, 1.5, 3.25])
    near = (np.interp(x + 1e-6, at, values) - np.interp(x - 1e-6, at, values)) / 2e-6
    np.testing.assert_allclose(grad(lambda x: np.sum(f(x, at, values)))(x), near, rtol=1e-6)
    np.testing.assert_allclose(jvp(lambda x: f(x, at, values), (x,), (np.ones(3),))[1], near)
