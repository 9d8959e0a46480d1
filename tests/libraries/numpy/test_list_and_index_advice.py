"""What to write where NumPy would not trace: its value is that of the program, and traced."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from chainrules_py import ChainRulesError
from chainrules_tape import grad, value_and_grad

X = np.arange(12.0).reshape(3, 4) / 7.0
W = np.array([0.2, 0.9, -0.4, 0.5])

METHODS = {
    "dot": lambda w: np.mean(X.dot(w)),
    "dot of an expression": lambda w: np.mean((2.0 * X).dot(w)),
    "dot of many": lambda w: np.sum(X.dot(np.stack([w] * 60, axis=1))),
    "sum": lambda w: np.mean(X.sum(axis=0, initial=w[0])),
    "max": lambda w: np.mean(X.max(axis=0, initial=w[1])),
}


@pytest.mark.parametrize("name", METHODS)
def test_the_function_of_a_method_of_a_plain_array(name):
    with pytest.raises(ChainRulesError, match=rf"use np\.{name.partition(' ')[0]}\("):
        grad(METHODS[name])(W)


def written(f, *given):
    """The line that a refusal says to write, run after what the program did before."""
    with pytest.raises(ChainRulesError) as caught:
        grad(lambda a: np.sum(f(a.copy())))(*given)
    return str(caught.value).rpartition("use ")[2]


def clipped(b):
    row = b[0]
    np.clip(row, 0.2, 0.8, out=row)
    return b


def summed(b):
    row = b[1]
    np.cumsum(row, out=row)
    return b


def doubled(b):
    np.add(b, b, out=b, where=b > 1.0)
    return b


@pytest.mark.parametrize("f, row", [(clipped, 0), (summed, 1), (doubled, slice(None))])
def test_what_is_written_into_an_array_stays_in_it(f, row):
    write = written(f, X)
    assert "[...] = np." in write

    def instead(b):
        b = b.copy()
        exec(write, {"np": np, "row": b[row], "b": b})
        return np.sum(b * b)

    value, slope = value_and_grad(instead)(X)
    assert value == np.sum(f(X.copy()) ** 2)
    assert np.any(slope)


def test_what_an_option_changes_is_not_left_out():
    square = X[:, :3]
    assert ".astype('f4')" in written(lambda a: np.trace(a, dtype="f4"), square)
    for f in (
        lambda a: np.matmul(a, square, axes=[(1, 0), (0, 1), (0, 1)]),
        lambda a: np.vecdot(a, square, keepdims=True),
    ):
        assert "apply it to operands or result" in written(f, square)


def test_parts_are_reduced_by_their_own_function():
    with pytest.raises(ChainRulesError, match=r"np\.maximum\.reduce\(x\[i:j\]\)"):
        grad(lambda x: np.sum(np.maximum.reduceat(x, [0, 2])))(W)


FOLLOWED = {
    "item of one": (lambda x: x.item(0) ** 2, "x[0]"),
    "item of a matrix": (lambda x: np.outer(x, x).item(1, 1) * 2.0, "[1, 1]"),
    "tolist": (lambda x: sum([*x.tolist(), 1.0]), "list(x)"),
    "a root of a negative number": (lambda x: cmath.sqrt(-x[0]).imag, "np.sqrt((-x[0]) + 0j)"),
    "a length of three": (
        lambda x: math.hypot(x[0], x[1], x[2]),
        "np.linalg.norm(np.stack([x[0], x[1], x[2]]))",
    ),
    "a length of all": (lambda x: math.hypot(*x), "np.linalg.norm(np.stack([*x]))"),
    "what a text is given": (
        lambda x: len("{:.3f} {:.3f}".format(*x[:2])) * x[0],
        "*ignore_derivatives(x[:2])",
    ),
    "a tensor's method": (lambda x: x.norm(), "np.linalg.norm(x) for x.norm()"),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_is_written_instead_keeps_the_value(name):
    f, write = FOLLOWED[name]
    with pytest.raises(ChainRulesError) as caught:
        grad(f)(W + 1.0)
    assert write in str(caught.value)


def test_the_third_argument_of_a_ufunc_is_its_output():
    with pytest.raises(TypeError, match="ArrayType"):
        grad(lambda x: np.hypot(x[0], x[1], x[2]))(W)
    with pytest.raises(TypeError, match="ArrayType"):
        grad(lambda x, y, z: np.multiply(x, y, z), (0, 1, 2))(2.0, 3.0, 4.0)
