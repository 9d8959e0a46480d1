"""Tables with labels count as the arrays of their values; one that is made here stands for all."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from chainrules_py.values.array_conversion import as_array, is_table, register_table, tables
from chainrules_tape import grad, jacobian, jvp, value_and_grad, vjp


class Table:
    """Numbers with labels, and operators that leave others theirs, as pandas' do."""

    __array_ufunc__ = None

    def __init__(self, numbers):
        self.numbers = np.asarray(numbers)


class Part(Table):
    pass


@pytest.fixture(autouse=True)
def registered():
    register_table(Table, lambda table: table.numbers)
    yield
    del tables[Table]


X = np.array([0.5, 1.5, 2.5])
T = np.array([1.0, 2.0, 3.0])
PROGRAMS = {
    "on the left": lambda x, t: np.sum(t * x) if type(t) is np.ndarray else np.sum(x * t),
    "power": lambda x, t: np.sum(x**t),
    "comparison": lambda x, t: np.sum(x * (x > t)),
    "product": lambda x, t: x @ t,
    "function": lambda x, t: np.sum(np.where(x > 1.0, x, t)),
    "keyword": lambda x, t: np.sum(np.clip(x, a_min=t, a_max=None)),
    "dot": lambda x, t: np.dot(t, x),
    "average": lambda x, t: np.average(x, weights=t),
    "index": lambda x, t: np.sum(x[t] ** 2),
}


@pytest.mark.parametrize("cls", [Table, Part])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_beside_what_is_traced_it_is_its_array(program, cls):
    t = np.array([0, 2, 2]) if program is PROGRAMS["index"] else T
    expected = grad(program)(X, t)
    np.testing.assert_array_equal(grad(program)(X, cls(t)), expected)
    pushed = jvp(lambda x: program(x, cls(t)), (X,), (X,))[1]
    np.testing.assert_allclose(pushed, expected @ X, rtol=1e-14)


@pytest.mark.parametrize("mask", [np.array([True, False, True])], ids=["mask"])
def test_it_selects(mask):
    assert grad(lambda x: np.sum(x[Table(mask)]))(X).tolist() == [1.0, 0.0, 1.0]


def test_as_an_argument_it_is_differentiated():
    def loss(t):
        return np.sum(np.sin(t) ** 2)

    expected = np.sin(2.0 * T)
    np.testing.assert_allclose(grad(loss)(Table(T)), expected)
    np.testing.assert_allclose(value_and_grad(loss)(Part(T))[1], expected)
    np.testing.assert_allclose(grad(lambda p: loss(p["t"]))({"t": Table(T)})["t"], expected)
    np.testing.assert_allclose(vjp(np.sin, Table(T))[1](np.ones(3))[0], np.cos(T))
    np.testing.assert_allclose(jacobian(np.sin)(Table(T)), np.diag(np.cos(T)))
    np.testing.assert_allclose(grad(lambda x, t: np.sum(x * t), (0, 1))(X, Table(T))[1], X)
    np.testing.assert_allclose(grad(lambda t: grad(loss)(t)[0])(Table(T))[0], 2 * np.cos(2.0))


def test_what_is_no_table_stays_as_it_is():
    x = object()
    assert as_array(x) is x
    assert not is_table(list)
    assert is_table(Part)


def test_the_first_operand_of_another_library_is_no_table():
    """Asking whether it is one loads what speaks for its library, which then knows the class."""
    pytest.importorskip("dask.array")
    code = (
        "import dask.array as da, numpy as np; from chainrules_tape import grad;"
        "x = da.ones((4, 2), chunks=2); slope = grad(lambda w: np.sum(x @ w))(np.zeros(2));"
        "print(np.asarray(slope).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[4.0, 4.0]", done.stderr
