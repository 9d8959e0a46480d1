"""Series, DataFrames and indices of pandas: beside traced values, and as arguments."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from chainrules_py import NotDifferentiableError
from chainrules_tape import grad, value_and_grad

pd = pytest.importorskip("pandas")
PAGE = Path(__file__).resolve().parents[3] / "docs" / "sparse.md"

X = np.array([0.5, 1.5, 2.5])
S = pd.Series([1.0, 2.0, 3.0], index=list("abc"), name="s")
DF = pd.DataFrame({"u": [1.0, 2.0, 3.0], "v": [4.0, 5.0, 6.0]})
OPERATORS = {
    "s * x": lambda x, s: s * x,
    "x * s": lambda x, s: x * s,
    "s - x": lambda x, s: s - x,
    "s / x": lambda x, s: s / x,
    "s ** x": lambda x, s: s**x,
    "comparison": lambda x, s: x * (s > x),
    "method": lambda x, s: s * x if type(s) is np.ndarray else s.mul(x),
    "ufunc": lambda x, s: np.multiply(s, x),
    "function": lambda x, s: np.where(s > 1.5, x, 0.0),
    "mask": lambda x, s: x[s > 1.5],
    "product": lambda x, s: x @ s,
}
METHOD = OPERATORS["method"]


@pytest.mark.parametrize("program", OPERATORS.values(), ids=OPERATORS)
@pytest.mark.parametrize("data", [S, S.astype("Float64"), S.astype("float32"), S.astype(int)])
def test_a_series_beside_what_is_traced(program, data):
    plain = data.to_numpy(float)
    expected = grad(lambda x: np.sum(program(x, plain)))(X)
    np.testing.assert_allclose(grad(lambda x: np.sum(program(x, data)))(X), expected, rtol=1e-6)


@pytest.mark.parametrize("program", OPERATORS.values(), ids=OPERATORS)
@pytest.mark.parametrize("dtype", ["Float64", "Int64", "float64", "Sparse[float]"])
def test_an_array_of_pandas_beside_what_is_traced(program, dtype):
    """As `pd.array` and `Series.array` give them: no Series, and no array of NumPy's."""
    if dtype == "float64" and program is OPERATORS["ufunc"]:
        pytest.skip("NumPy asks pandas first, which raises")
    expected = grad(lambda x: np.sum(program(x, S.to_numpy())))(X)
    data = S.astype(dtype).array
    np.testing.assert_allclose(
        grad(lambda x: np.sum(program(x, np.asarray(data) if program is METHOD else data)))(X),
        expected,
    )


def test_truths_and_texts_of_pandas():
    assert grad(lambda x: np.sum(x[pd.array([True, False, True])]))(X).tolist() == [1.0, 0.0, 1.0]
    for data in (pd.array(["a", "b", "c"]), pd.Categorical(["a", "b", "a"])):
        with pytest.raises(NotDifferentiableError, match="not an array of numbers"):
            grad(lambda x, d=data: np.sum(x * d))(X)


@pytest.mark.parametrize("data", [DF, DF.iloc[::-1], DF.astype("float32")])
def test_a_frame_beside_what_is_traced(data):
    w = np.array([0.3, -0.2])
    for program in (
        lambda w, d: np.dot(d, w) ** 2,
        lambda w, d: d * w,
        lambda w, d: w * d,
        lambda w, d: d - w,
    ):
        expected = grad(lambda w, f=program: np.sum(f(w, data.to_numpy())))(w)
        np.testing.assert_allclose(grad(lambda w, f=program: np.sum(f(w, data)))(w), expected)
    column = grad(lambda x: np.sum(data["u"] * x))(2.0)
    np.testing.assert_allclose(column, data["u"].sum())


def test_columns_and_rows_of_data():
    assert grad(lambda x: np.sum(DF.loc[:, "u"] * x))(X).tolist() == [1.0, 2.0, 3.0]
    assert grad(lambda x: np.sum(pd.Index([1.0, 2.0, 3.0]) * x))(X).tolist() == [1.0, 2.0, 3.0]
    assert grad(lambda x: S.apply(lambda s: s * x).sum())(2.0) == 6.0


def test_as_an_argument_its_values_are_differentiated():
    gradient = grad(lambda s: np.sum(np.sin(s)))(S)
    assert type(gradient) is np.ndarray
    np.testing.assert_allclose(gradient, np.cos(S.to_numpy()))
    value, gradient = value_and_grad(lambda d: np.sum(d**2))(DF)
    assert value == 91.0
    np.testing.assert_allclose(gradient, 2.0 * DF.to_numpy())
    assert grad(lambda s: (s**2.0).sum())(S.astype(int)).tolist() == [2.0, 4.0, 6.0]


def test_missing_numbers_are_nan():
    s = pd.Series([1.0, None, 3.0], dtype="Float64")
    assert np.isnan(grad(lambda x: np.sum(s * x))(2.0))


@pytest.mark.parametrize(
    "program", [lambda x: S @ x, lambda x: DF.T @ x, lambda x: pd.Series(x) * 2.0]
)
def test_pandas_makes_arrays_of_objects_of_what_is_traced(program):
    f = lambda x: np.sum(program(x))
    h = 1e-6
    truth = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(grad(f)(X), truth, rtol=1e-6)


def test_what_cannot_be_is_refused_with_what_to_write():
    table = pd.DataFrame({"a": [1.0], "b": ["t"]})
    with pytest.raises(NotDifferentiableError, match=r"write table\.select_dtypes\("):
        grad(lambda x: np.sum(table * x[:1]))(X)


def test_a_number_is_no_table():
    with pytest.raises(AttributeError, match=r"has no attribute 'astype'$"):
        grad(lambda x: x.astype(float))(2.0)


def test_the_programs_of_the_page():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    space = {}
    for block in blocks:
        *lines, last = block.rstrip().splitlines()
        exec("\n".join(lines), space)
        call, _, shown = last.partition("  # ")
        np.testing.assert_allclose(eval(call, space), eval(shown, vars(np) | space), atol=1e-9)


COV = pd.DataFrame(2.0 * np.eye(3))
PRODUCTS = {
    "np.stack(list(COV @ w)) for COV @ w": lambda w: np.sum(w * (COV @ w)),
    "np.stack(list(COV.dot(w))) for COV.dot(w)": lambda w: np.sum(w * COV.dot(w)),
    "np.stack(list(v)) for v": lambda w: np.sum(beside(w)),
}


def beside(w):
    v = COV @ w
    return w * v


@pytest.mark.parametrize("write", PRODUCTS)
def test_a_series_of_traced_numbers_is_named(write):
    with pytest.raises(NotDifferentiableError, match=re.escape(f"write {write}")):
        grad(PRODUCTS[write])(np.ones(3))
