"""Rows of one library's functions from those of another."""

from __future__ import annotations

import numpy as np
import pytest

import chainrules_numpy  # noqa: F401
from chainrules_kit import derive, rows_of
from chainrules_kit.derived_aliases import documented
from chainrules_py import UnsupportedKeywordError, ops
from chainrules_py.extend import parameters_of
from chainrules_tape import grad

ROWS = rows_of("numpy")
X = np.arange(1.0, 7.0).reshape(2, 3)


def call(row, *operands, **keywords):
    return row.call(operands, keywords)()


def test_rows_are_found_by_the_names_of_functions():
    assert ROWS["sum"].native is np.sum
    assert ROWS["linalg.inv"].native is np.linalg.inv
    assert ROWS["ndarray.sum"].native is np.ndarray.sum
    assert ROWS["add.reduce"].native == np.add.reduce
    assert not rows_of("no_such_library")


def test_parameters_of_one_name_mean_the_same():
    def sum(a, axis=None, dtype=None, out=None, keepdims=False):
        "Of another library: it has no where= and no initial=."

    row = derive(sum, ROWS["sum"])
    np.testing.assert_array_equal(call(row, X, axis=(0, 1)), X.sum())
    np.testing.assert_array_equal(call(row, X, 0, None, None, True), X.sum(0, keepdims=True))
    with pytest.raises(UnsupportedKeywordError, match="out"):
        call(row, X, out=X)
    with pytest.raises(UnsupportedKeywordError, match="where"):
        call(row, X, where=True)


def test_parameters_that_are_called_otherwise_go_by_their_place():
    def reshape(array, newshape, order="C"):
        "As CuPy calls them."

    def concatenate(tup, axis=0):
        "As CuPy calls them."

    np.testing.assert_array_equal(
        call(derive(reshape, ROWS["reshape"]), X, (3, 2)), X.reshape(3, 2)
    )
    np.testing.assert_array_equal(
        call(derive(concatenate, ROWS["concatenate"]), [X, X], axis=1), np.concatenate([X, X], 1)
    )


def test_parameters_of_its_own_are_refused_where_they_are_used():
    def sum(a, axis=None, blocks=8):
        "With one that NumPy has not."

    row = derive(sum, ROWS["sum"])
    assert call(row, X) == X.sum()
    with pytest.raises(UnsupportedKeywordError, match="blocks"):
        call(row, X, blocks=4)


def test_another_function_of_the_name_gets_no_row():
    def sum(how, a, exactly):
        "What has to be given is more than NumPy's row knows."

    assert derive(sum, ROWS["sum"]) is None


def test_compiled_methods_say_their_parameters_in_a_first_line():
    compiled = documented(
        type("C", (), {"__doc__": "C.f(self, dtype, order='K', int axis=-1, *, copy=True) -> C"})
    )
    assert compiled is not None
    found = parameters_of(compiled)
    assert found.positional == ("self", "dtype", "order", "axis")
    assert found.keyword_only == ("copy",)
    assert found.defaults == {"order": "K", "axis": -1, "copy": True}


def test_fallbacks_serve_libraries_that_have_nothing_of_the_name():
    from chainrules_py.extend import Library, register_array_type

    class Few:
        "Arrays of a library with four functions."

        def __init__(self, data):
            self.data = np.asarray(data)
            self.shape, self.dtype, self.ndim = self.data.shape, self.data.dtype, self.data.ndim

        def __mul__(self, other):
            return Few(self.data * getattr(other, "data", other))

    class Space:
        isdtype, float64 = staticmethod(np.isdtype), np.float64

        @staticmethod
        def multiply(x, y):
            return x * y

    assert not hasattr(Space, "deg2rad")
    register_array_type(Few, Library(Space))
    np.testing.assert_allclose(ops.deg2rad(Few([180.0])).data, [np.pi])
    np.testing.assert_allclose(grad(lambda x: np.deg2rad(x))(180.0), np.pi / 180)
