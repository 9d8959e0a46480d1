"""A tape as text."""

from __future__ import annotations

import numpy as np

from chainrules_py import primitive, scalar_rule
from chainrules_tape import Tape

A, B = np.array([0.25, 0.5]), np.array([2.0, 3.0])


def test_a_line_for_each_record():
    with Tape() as tape:
        a, b = tape.variable(A, "a"), tape.variable(B, "b")
        v0 = a + b
        v1 = v0 * b
        loss = np.sum(-v1)
    assert str(tape).splitlines() == [
        "a = input",
        "b = input",
        "v0 = a + b",
        "v1 = v0 * b",
        "v2 = -v1",
        "v3 = sum(v2)",
    ]
    assert [x.tape_name for x in (a, v0, v1, loss)] == ["a", "v0", "v1", "v3"]
    assert repr(tape) == f"<ClosedTape of level {tape.level}: 6 records>"


def test_operands_stand_where_the_call_has_them():
    with Tape() as tape:
        a = tape.variable(A, "a")
        B - a, a - B, B / a, np.arctan2(B, a), 2.0**a
    assert [line.partition(" = ")[2] for line in str(tape).splitlines()[1:]] == [
        "… - a",
        "a - …",
        "… / a",
        "atan2(…, a)",
        "… ** a",
    ]


def test_rules_with_like_partials_keep_their_names():
    @primitive
    def first(x):
        return -x

    @primitive
    def second(x):
        return 1.0 - x

    for f in (first, second):
        scalar_rule(f, lambda y, x: -1)
        with Tape() as tape:
            first(tape.variable(A, "a")), f(tape.variable(A, "b"))
    assert "first(a)" in str(tape)


def test_constants_and_options_where_the_calls_are_kept():
    with Tape(differentiable=True) as tape:
        a = tape.variable(A, "a")
        np.sum(2.0 * a - B, axis=0, keepdims=True)
        a[0] ** 2
    lines = str(tape).splitlines()
    assert lines[1].startswith("v0 = 2.0 * a")
    assert "v0 - float64[2]" in lines[2]
    assert "sum(v1, axis=0, keepdims=True)  # float64[1]" in lines[3]
    assert lines[-1].startswith("v4 = v3 ** 2")


def test_constants_are_left_open_where_they_are_not():
    with Tape() as tape:
        a = tape.variable(A, "a")
        a * 2.0
    assert str(tape).splitlines()[1] == "v0 = a * …"


def test_structures():
    with Tape() as tape:
        x = tape.variable(np.eye(2) + 1, "x")
        _, log = np.linalg.slogdet(x)
    assert "slogdet(x)" in str(tape)
    assert log.tape_name in str(tape)


def test_an_empty_tape():
    assert str(Tape()).startswith("<Tape of level")
