"""Zeros and other tangents in NumPy's functions and in place: their algebra, or operations."""

import operator

import numpy as np
import pytest

from chainrules_py import (
    NoTangent,
    NotImplementedTangent,
    Tangent,
    ZeroTangent,
    add_tangents,
    is_zero,
)
from chainrules_py import ops as v
from chainrules_py.errors import NoRuleError, NotDifferentiableError, ProjectionError
from chainrules_py.extend import Thunk
from chainrules_py.tangents.gathered_rows import Rows

ARRAYS = {
    "vector": np.array([1.0, 2.0]),
    "float32": np.array([1.0, 2.0], np.float32),
    "complex": np.array([1.0 + 1j, 2.0]),
    "0-d": np.array(2.0),
    "scalar": np.float64(2.0),
    "whole": np.arange(2),
    "fortran": np.asfortranarray(np.ones((2, 2))),
    "view": np.arange(4.0)[::2],
}
TANGENTS = {
    "ZeroTangent": ZeroTangent(),
    "NoTangent": NoTangent(),
    "Thunk": Thunk(lambda: 3.0),
    "Thunk of zero": Thunk(ZeroTangent),
    "NotImplementedTangent": NotImplementedTangent("nobody stated it"),
    "Tangent": Tangent[tuple](1.0, 2.0),
    "Rows": Rows(np.array([1]), np.ones(1), np.ones(2)),
}
OURS = (
    "is not an array", "not a tangent of", "have no sum", "is scaled by",
    "nobody stated", "never a divisor", "does not broadcast onto Space", "it holds whole numbers",
)  # fmt: skip
UFUNCS = [np.add, np.subtract, np.multiply, np.divide, np.matmul, np.sin, np.maximum, np.power]
FUNCTIONS = [
    np.sum, np.mean, np.asarray, np.linalg.norm, np.ravel, np.cumsum, np.negative,
    lambda t: np.add.at(np.ones(2), 0, t), lambda t: np.add(np.ones(2), t, out=np.ones(2)),
    lambda t: np.add(t, 1.0, where=True), lambda t: np.multiply.outer(t, np.ones(2)),
    lambda t: np.dot(np.ones(2), t),
]  # fmt: skip


def answer(f, *xs):
    """Return what a call gives; a text where it raises in our words."""
    try:
        return f(*xs)
    except (ProjectionError, TypeError, NotDifferentiableError) as error:
        text = str(error)
    if not any(part in text for part in OURS):
        pytest.fail(text)
    return "refused"


def same(a, b):
    """Tell whether two answers are one."""
    a, b = (t() if isinstance(t, Thunk) else t for t in (a, b))
    if isinstance(a, NotImplementedTangent):
        return isinstance(b, NotImplementedTangent) and a.reason == b.reason
    if isinstance(a, Rows):
        return np.array_equal(a.dense(), b.dense())
    if isinstance(a, Tangent):
        return [np.array_equal(v, w) for (_, v), (_, w) in zip(a.fields(), b.fields(), strict=True)]
    return type(a) is type(b) and (np.array_equal(a, b) if hasattr(a, "dtype") else a == b)


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("tangent", TANGENTS.values(), ids=TANGENTS)
def test_functions_of_numpy_are_the_operators_or_refused(tangent):
    pairs = [(np.add, operator.add), (np.subtract, operator.sub), (np.multiply, operator.mul)]
    for f, op in [*pairs, (np.divide, operator.truediv)]:
        for x in ARRAYS.values():
            for sides in ((x, tangent), (tangent, x)):
                assert same(answer(f, *sides), answer(op, *sides)), (f, sides)
    for f in (*UFUNCS[4:], *FUNCTIONS):
        xs = (np.ones((2, 2)), tangent)[-getattr(f, "nin", 1) :]
        assert isinstance(answer(f, *xs), str), f
    assert isinstance(answer(operator.matmul, np.ones((2, 2)), tangent), str)


@pytest.mark.parametrize("tangent", TANGENTS.values(), ids=TANGENTS)
@pytest.mark.parametrize("op", [operator.iadd, operator.isub])
def test_arrays_are_added_to_in_place(op, tangent):
    for name, x in ARRAYS.items():
        buffer = x.copy()
        if isinstance(tangent, Thunk) and name == "whole" and not answer_is_zero(tangent):
            with pytest.raises(np._core._exceptions.UFuncTypeError, match="same_kind"):
                op(buffer, tangent)  # as with the number itself
            continue
        found = answer(op, buffer, tangent)
        if isinstance(found, str):
            assert np.array_equal(buffer, x)
            assert not isinstance(tangent, (Thunk, ZeroTangent, NoTangent))
        elif name != "scalar":
            sign = 1.0 if op is operator.iadd else -1.0
            assert found is buffer
            assert np.array_equal(buffer, add_tangents(x, sign * tangent))


def answer_is_zero(thunk):
    return isinstance(thunk(), ZeroTangent)


def test_a_tangent_is_no_array_that_it_is_compared_with():
    for tangent in (ZeroTangent(), NoTangent(), Thunk(lambda: 1.0), Tangent[tuple](1.0)):
        for x in ARRAYS.values():
            assert (x == tangent) is False
            assert (x != tangent) is True
            assert (tangent == x) is False


def test_the_sums_of_an_engine_in_arrays_of_numpy():
    grads = [np.zeros(2), np.zeros(2)]
    for i, t in enumerate((ZeroTangent(), Thunk(lambda: np.ones(2)))):
        grads[i] += t
    assert [g.tolist() for g in grads] == [[0.0, 0.0], [1.0, 1.0]]
    table = np.zeros((2, 3))
    table[0] += ZeroTangent()
    table[1] += Thunk(lambda: np.ones(3))
    assert table.tolist() == [[0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize("zero", [ZeroTangent(), NoTangent()])
def test_operations_take_zeros_as_operators_do(zero):
    x = np.array([1.0, 2.0])
    assert v.add(x, zero) is x
    assert v.add(zero, x) is x
    assert np.array_equal(v.subtract(zero, x), -x)
    assert is_zero(v.multiply(x, zero))
    assert is_zero(v.strong_multiply(zero, x))
    assert is_zero(v.divide(zero, x))
    assert is_zero(v.negative(zero))


@pytest.mark.parametrize("operation", [v.where, v.stack, v.matmul, v.sin, v.sum, v.getitem])
def test_operations_that_need_a_shape_say_what_to_write_for_zeros(operation):
    n = {v.where: 3, v.stack: 2, v.matmul: 2}.get(operation, 1)
    options = {"index": 0} if operation is v.getitem else {}
    with pytest.raises(NoRuleError, match="ask is_zero first, or write operators"):
        operation(*[np.ones(2)] * (n - 1), ZeroTangent(), **options)
