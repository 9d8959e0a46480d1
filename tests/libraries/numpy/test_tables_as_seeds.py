"""Tables as tangents and cotangents: the arrays of their numbers, in every door."""

from __future__ import annotations

import numpy as np
import pytest

from chainrules_kit.custom_derivatives import custom_vjp
from chainrules_py import (
    Array,
    LinearMap,
    ProjectionError,
    Tangent,
    ZeroTangent,
    frule,
    primitive,
    rrule,
    rule,
    scalar_rule,
)
from chainrules_tape import (
    Tape,
    gauss_newton_vp,
    grad,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from chainrules_tape.tools import taylor
from tests.fuzz.calls import parts_of
from tests.fuzz.widths import entered
from tests.surface.point import Point

pd = pytest.importorskip("pandas")

X, T = np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0])
LABELLED = pd.Series(T, index=[2, 1, 0])
TABLES = {
    "series": LABELLED,
    "whole numbers": LABELLED.astype(int),
    "Int64": LABELLED.astype("Int64"),
    "Float64": LABELLED.astype("Float64"),
    "float32": LABELLED.astype("float32"),
    "index": pd.Index(T),
    "an array of pandas": pd.array(T),
}


def mixed(x):
    return x * x[::-1] + np.concatenate([x[:1], np.cumsum(x)[1:]])


def cubes(x):
    return np.sum(mixed(x) ** 3)


def by_a_tape(t):
    with Tape(persistent=True) as tape:
        x = tape.variable(X)
        y = mixed(x)
    return tape.grad(y, x, seed=t)


DOORS = {
    "vjp": lambda t: vjp(mixed, X)[1](t)[0],
    "vjp of a tuple": lambda t: vjp(lambda x: (mixed(x), x[0]), X)[1]((t, 1.0))[0],
    "vjp of several": lambda t: vjp(lambda x: (mixed(x), x[0]), X)[1](t, 1.0)[0],
    "vjp of a dict": lambda t: vjp(lambda x: {"a": [mixed(x)]}, X)[1]({"a": [t]})[0],
    "jvp": lambda t: jvp(mixed, (X,), (t,))[1],
    "jvp in a list": lambda t: jvp(lambda xs: mixed(xs[0]), ([X],), ([t],))[1],
    "jvp of a series": lambda t: jvp(mixed, (pd.Series(X),), (t,))[1],
    "linearize": lambda t: linearize(mixed, X)[1](t),
    "linearize a series": lambda t: linearize(mixed, pd.Series(X))[1](t),
    "hvp": lambda t: hvp(cubes, (X,), (t,))[0],
    "hvp at a series": lambda t: hvp(cubes, (pd.Series(X),), (t,))[0],
    "taylor": lambda t: taylor(mixed, X, t, 2)[2],
    "taylor at a series": lambda t: taylor(mixed, pd.Series(X), t, 2)[1],
    "gauss_newton_vp": lambda t: gauss_newton_vp(mixed, lambda y: np.sum(y**3), (X,), (t,))[0],
    "rrule": lambda t: rrule(np.multiply, X, X[::-1])[1](t)[0],
    "rrule of a list": lambda t: rrule(np.concatenate, [X[:1], X[1:]])[1](t)[0][1],
    "frule": lambda t: frule((t,), np.sin, X)[1],
    "tape": by_a_tape,
}


@pytest.mark.parametrize("door", DOORS.values(), ids=list(DOORS))
@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_a_table_is_the_array_of_its_numbers(table, door):
    found, expected = door(table), door(T)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)


def test_many_directions_in_a_table():
    rows, table = np.stack([T, 2.0 * T]), pd.DataFrame([T, 2.0 * T], columns=[2, 1, 0])
    _, pull = vjp(mixed, X)
    np.testing.assert_array_equal(pull(table, batched=True)[0], pull(rows, batched=True)[0])
    for x in (X, pd.Series(X)):
        found = jvp(mixed, (x,), (table,), batched=True)[1]
        np.testing.assert_array_equal(found, jvp(mixed, (X,), (rows,), batched=True)[1])


def test_a_residual_is_pulled_back():
    """What fits of data write; pieces of a Series would be found by their labels."""
    A, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), pd.Series([1.0, 2.0, 4.0], [7, 8, 9])
    models = {
        "product": lambda w: A @ w,
        "pieces": lambda w: np.concatenate([A[:1] @ w, A[1:] @ w]),
        "stack": lambda w: np.stack([w[0] + k * w[1] for k in range(3)]),
    }
    for model in models.values():
        fitted, pull = vjp(model, np.zeros(2))
        (found,) = pull(fitted - y)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, A.T @ (fitted - y.to_numpy()))


WRONG = {
    "longer": pd.Series([1.0, 2.0, 3.0, 4.0]),
    "a table of one column": pd.DataFrame({"a": T}),
    "complex": LABELLED.astype(complex),
    "texts": pd.Series(["a", "b", "c"]),
}


@pytest.mark.parametrize("table", WRONG.values(), ids=list(WRONG))
def test_wrong_tables_are_refused_in_our_words(table):
    operations = "give one of shape|imaginary part|no array of numbers"
    for door in DOORS.values():
        with pytest.raises(Exception, match=operations) as caught:
            door(table)
        assert type(caught.value).__module__ == "chainrules_py.errors"


def of_halves(d):
    scaled = primitive(lambda x: x * T)
    rule(scaled)(_with_halves(d))
    return scaled


def _with_halves(d):
    def scaled_rule(x: Array):
        return x * T, (LinearMap(lambda x_dot: x_dot * d, lambda y_bar: y_bar * d),)

    return scaled_rule


def of_a_partial(d):
    scaled = primitive(lambda x: x * T)
    scalar_rule(scaled, lambda _y, x: d)
    return scaled


def of_a_pullback(d):
    @custom_vjp
    def scaled(x):
        return x * T

    scaled.defvjp(lambda x: (x * T, None), lambda _, y_bar: (y_bar * d,))
    return scaled


@pytest.mark.parametrize("make", [of_halves, of_a_partial, of_a_pullback])
def test_a_rule_that_gives_a_table_is_told_so(make):
    """Its labels would be aligned with those of the next one."""
    right, wrong = make(T), make(LABELLED)
    doors = {
        "grad": lambda f: grad(lambda x: np.sum(f(x[::-1])))(X),
        "vjp": lambda f: vjp(lambda x: np.concatenate([f(x), x]), X)[1](np.arange(6.0))[0],
        "vjp alone": lambda f: vjp(f, X)[1](T)[0],
        "jacobian": lambda f: jacobian(f)(X),
        "rrule": lambda f: rrule(f, X)[1](T)[0],
    }
    for door in doors.values():
        assert type(door(right)) is np.ndarray
        with pytest.raises(ProjectionError, match=r"to_numpy\(\)"):
            door(wrong)


def test_a_tangent_of_tables_is_told_so():
    with pytest.raises(ProjectionError, match=r"to_numpy\(\)"):
        Tangent[dict]({"a": LABELLED})


def test_what_moves_nothing_beside_tables():
    f = lambda x, s: np.sum(x * s)
    assert jvp(f, (X, LABELLED), (X, ZeroTangent()))[1] == 1.0 + 20.0 + 300.0
    assert jvp(f, (X, LABELLED), (X, LABELLED))[1] == np.sum(X * T) + np.sum(X * T)
    assert value_and_grad(f, (0, 1))(X, LABELLED)[1][1].tolist() == X.tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_tables_as_cotangents_of_all_calls():
    """Every function that has a rule, with each of its results' cotangents in a table."""
    chance, seen = np.random.default_rng(0), 0
    for call, function in entered():
        point = Point(call, f=function)
        y, pull = vjp(lambda *xs, point=point: parts_of(point, [*xs]), *point.xs)
        seeds = [chance.standard_normal(np.shape(part)) for part in y]
        seeds = [t.astype(np.asarray(part).dtype) for t, part in zip(seeds, y, strict=True)]
        tables = [
            pd.Series(t, index=np.arange(t.size)[::-1]) if t.ndim == 1
            else pd.DataFrame(t) if t.ndim == 2 else t
            for t in seeds
        ]  # fmt: skip
        if all([a is b for a, b in zip(seeds, tables, strict=True)]):
            continue
        for found, expected in zip(pull(tables), pull(seeds), strict=True):
            seen += 1
            np.testing.assert_allclose(found, expected, 1e-9, 1e-12, err_msg=str(call))
            assert type(found) is type(expected), call
    assert seen > 500
