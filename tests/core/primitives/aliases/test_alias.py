"""Rows of a library's functions: every parameter has a place, or the row is refused."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from chainrules_py import RuleError, UnsupportedKeywordError, primitive
from chainrules_py.extend import alias
from chainrules_py.primitives.aliases.alias import Call, aliases


@primitive
def total(x, *, axis=None, keepdims=False):
    return np.sum(x, axis=axis, keepdims=keepdims)


@primitive
def scaled(x, factor):
    return x * factor


def native_total(a, axis=None, dtype=None, out=None, keepdims=False, factor=1.0):
    return np.sum(a, axis=axis) * factor


def lower_factor(call: Call, value: object) -> None:
    call.after.append(lambda y: scaled(y, value))


def lower_dtype(call: Call, value: object) -> None:
    call.operands["x"] = call.operands["x"].astype(value)


ROW = {
    "to": total,
    "rename": {"a": "x"},
    "lower": {"factor": lower_factor, "dtype": lower_dtype},
    "refuse": ("out",),
}


def fresh_row(**changes):
    def native(a, axis=None, dtype=None, out=None, keepdims=False, factor=1.0): ...

    return alias(native, **{**ROW, **changes})


X = np.arange(6.0).reshape(2, 3)


def test_calls_are_rewritten_into_operations():
    row = fresh_row()
    assert row.call((X,), {})() == 15.0
    assert row.call((X, 0), {})().tolist() == [3.0, 5.0, 7.0]
    assert row.call((), {"a": X, "axis": -1, "keepdims": True})().tolist() == [[3.0], [12.0]]
    assert row.call((X,), {"factor": 2.0})() == 30.0
    assert row.call((X,), {"factor": 1.0})() == 15.0
    call = row.call((X,), {"dtype": np.float32})
    assert call.operands["x"].dtype == np.float32
    assert call()


def test_refused_keywords_raise_unless_they_have_their_default():
    row = fresh_row()
    assert row.call((X,), {"out": None})() == 15.0
    for call in (((X,), {"out": np.empty(())}), ((X, None, None, np.empty(())), {})):
        with pytest.raises(UnsupportedKeywordError, match="out"):
            row.call(*call)
    with pytest.raises(UnsupportedKeywordError, match="nonsense"):
        row.call((X,), {"nonsense": 1})
    assert issubclass(UnsupportedKeywordError, TypeError)


def test_calls_that_do_not_fit_raise():
    row = fresh_row()
    with pytest.raises(TypeError, match="multiple values"):
        row.call((X, 0), {"axis": 1})
    with pytest.raises(TypeError, match="positional"):
        row.call((X, 0, None, None, False, 1.0, 7), {})


def test_a_row_with_an_operand_that_has_no_place_is_refused():
    before = dict(aliases)
    with pytest.raises(RuleError, match=r"\['a'\]"):
        fresh_row(rename={})
    assert aliases == before  # nothing half registered


def test_a_keyword_that_has_no_place_is_refused_where_it_is_used():
    """As one that a newer release of the library brings: it may not take all other rows with it."""
    row = fresh_row(lower={"dtype": lower_dtype}, refuse=())
    assert row.leftover == {"factor", "out"}
    assert row.call((X,), {"factor": 1.0})() == 15.0
    with pytest.raises(UnsupportedKeywordError, match="factor"):
        row.call((X,), {"factor": 2.0})
    assert fresh_row().leftover == frozenset()


def test_a_function_without_a_signature_needs_its_parameters():
    with pytest.raises(RuleError, match="parameters="):
        alias(max, to=total)


def test_calls_that_only_rename_are_known_beforehand():
    row = fresh_row()
    a = row.defaults["a"]
    operation = row.operation.operands[0]
    assert row.rows(1, ()) == [(operation, 0, a, None)]
    options = [("axis", 1, None, None), ("keepdims", "keepdims", False, None)]
    assert row.rows(2, ("keepdims",)) == [(operation, 0, a, None), *options]
    assert row.rows(0, ("a",)) == [(operation, "a", a, None)]
    for n, keywords in (
        (1, ("factor",)),
        (1, ("out",)),
        (2, ("axis",)),
        (9, ()),
        (1, ("nonsense",)),
    ):
        assert row.rows(n, keywords) is None


def test_a_row_can_lead_to_a_function_written_in_operations():
    def composite(x, *, axis=None):
        return scaled(total(x, axis=axis), 2.0)

    def native(a, axis=None): ...

    row = alias(native, to=composite, rename={"a": "x"})
    assert row.call((X, 0), {})().tolist() == [6.0, 10.0, 14.0]


@pytest.mark.parametrize("late", [False, True])
def test_a_composite_of_any_number_of_operands_receives_all_of_them(late):
    def native(*samples, axis=0): ...

    row = alias(native, to=lambda *xs, axis=0: (xs, axis), late=late)
    assert row.call((1.0, 2.0, 3.0), {"axis": 1})() == ((1.0, 2.0, 3.0), 1)
    assert row.call((), {})() == ((), 0)


def test_an_alias_of_a_partial_has_a_text():
    """Sphinx prints the table of aliases; a partial has no name."""

    def native(x):
        return x

    alias(native, to=functools.partial(scaled, factor=2.0), parameters={"x": None})
    assert repr(aliases[native]).startswith("<alias native of functools.partial(")
