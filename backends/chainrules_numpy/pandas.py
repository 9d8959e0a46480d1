"""pandas tables beside traced values, and as arguments: they are replaced by their values.

A Series or DataFrame, an Index, or an extension array of pandas (``Int64``) counts as its values;
the result is traced, and labels are dropped. Gradients are arrays of the table's shape. A table of
object values, for example with columns of different kinds, is refused.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.groupby import DataFrameGroupBy, SeriesGroupBy
from pandas.core.window import Rolling

from chainrules_numpy.write_hints import stacked_list
from chainrules_py import NotDifferentiableError, TracerError
from chainrules_py.extend import Line, advise, find_tracers, refusers, register_table, told

__all__ = ["numbers_of"]

chainrules_contract = 1


def numbers_of(table: Any) -> Any:
    """Return the values of a Series, DataFrame, Index or extension array as an array.

    Raises
    ------
    NotDifferentiableError
        If they have no common numeric dtype.

    Examples
    --------
    >>> import pandas as pd
    >>> numbers_of(pd.DataFrame({"u": [1.0, 2.0], "v": [3.0, 4.0]}))
    array([[1., 3.],
           [2., 4.]])
    """
    array = table.to_numpy()
    if array.dtype.kind == "O" and getattr(table, "ndim", 1) == 1 and len(table):
        # Nullable dtypes (Float64, Int64): missing values become NaN.
        extension = getattr(table.dtype, "kind", "O")
        array = table.to_numpy(float, na_value=float("nan")) if extension in "iuf" else array
    if array.dtype.kind not in "biufc":
        columns = table.dtypes if hasattr(table, "dtypes") else table.dtype
        if isinstance(table, pd.api.extensions.ExtensionArray):
            raise NotDifferentiableError(
                f"a {type(table).__name__} of {columns} is not an array of numbers"
            )
        kinds = ", ".join(sorted({*map(str, _listed(columns))}))
        raise NotDifferentiableError(
            f"a {type(table).__name__} of {kinds} has no "
            f"array of numbers; choose its numeric columns, table[columns].to_numpy()"
        )
    return array


def _listed(dtypes: Any) -> list[Any]:
    return list(dtypes) if isinstance(dtypes, pd.Series) else [dtypes]


for _cls in (pd.Series, pd.DataFrame, pd.Index, pd.api.extensions.ExtensionArray):
    register_table(_cls, numbers_of)
for _method in (pd.Series.dot, pd.DataFrame.dot):
    advise(_method, "pandas' @ and dot take plain arrays: write np.dot(table, x)")
for _init in (pd.Series.__init__, pd.DataFrame.__init__):
    advise(_init, "a table holds plain numbers: leave x an array")


# ------------------------------------------------------------------- what to write for its methods


def _rolled(name: str) -> Callable[[Line], str | None]:
    """Return advice for a statistic of windows, in arrays."""

    def given(line: Line) -> str | None:
        windows: Any = getattr(getattr(line.node, "func", None), "value", None)
        if not isinstance(windows, ast.Call) or not windows.args:
            return None
        view = f"sliding_window_view({line.argument}, {ast.unparse(windows.args[0])})"
        return f"use np.lib.stride_tricks.{view}.{name}(-1)"

    return given


def _grouped(name: str) -> Callable[[Line], str | None]:
    """Return advice for a statistic of groups, in arrays."""

    def given(line: Line) -> str | None:
        groups: Any = getattr(getattr(line.node, "func", None), "value", None)
        if not isinstance(groups, ast.Call) or len(groups.args) != 1:
            return None
        by = groups.args[0]
        if isinstance(by, ast.Constant):  # a column
            tables = [each for each in ast.walk(groups) if isinstance(each, ast.Dict)]
            pairs = [pair for each in tables for pair in zip(each.keys, each.values, strict=True)]
            by = next((y for key, y in pairs if key and ast.dump(key) == ast.dump(by)), by)
        g, x = ast.unparse(by), line.argument
        return f"use np.stack([{x}[np.equal({g}, k)].{name}() for k in np.unique({g})])"

    return given


for _name in ("mean", "sum", "min", "max"):
    advise(getattr(Rolling, _name), _rolled(_name))
    for _groups in (SeriesGroupBy, DataFrameGroupBy):
        advise(getattr(_groups, _name), _grouped(_name))

_REDUCTIONS = ("max", "mean", "median", "min", "prod", "std", "sum", "var")
_IN_ARRAYS = {
    **{name: f"np.{name}({{x}})" for name in _REDUCTIONS},
    "add": "{x} + {0}",
    "corr": "np.corrcoef({x}, {0})[0, 1]",
    "diff": "np.diff({x})",
    "div": "{x} / {0}",
    "dropna": "{x}[~np.isnan({x})]",
    "fillna": "np.where(np.isnan({x}), {0}, {x})",
    "head": "{x}[:{0}]",
    "iloc": "{x}",
    "isna": "np.isnan({x})",
    "mul": "{x} * {0}",
    "notna": "~np.isnan({x})",
    "pct_change": "np.diff({x}) / {x}[:-1]",
    "std": "np.std({x}, ddof=1)",
    "sub": "{x} - {0}",
    "tail": "{x}[-{0}:]",
    "to_numpy": "{x}",
    "values": "{x}",
    "var": "np.var({x}, ddof=1)",
    "where": "np.where({0}, {x}, np.nan)",
}
"""Methods of a Series, in NumPy's functions of its array x."""


def _in_arrays(name: str, owner: ast.expr, args: list[ast.expr]) -> str | None:
    """Return the NumPy call for a method of a Series or a table, or None."""
    x, *given = [ast.unparse(_array_of(each)) for each in (owner, *args)]
    if name == "corr" and not given:
        return f"np.corrcoef({x}, rowvar=False)"
    if (known := _IN_ARRAYS.get(name)) is not None:
        of_columns = ast.unparse(owner).partition("(")[0].endswith("DataFrame")
        write = known.format(*given, "y", x=x)
        return f"{write[:-1]}, axis=0)" if of_columns and name in _REDUCTIONS else write
    return f"np.{name}({', '.join([x, *given])})" if hasattr(np, name) else None


def _array_of(node: Any) -> ast.expr:
    """Return what a Series or a table of columns is made of, or the expression itself."""
    made = node.args if isinstance(node, ast.Call) else []
    if made and isinstance(made[0], ast.Dict):
        columns = ast.unparse(stacked_list(ast.List(made[0].values)))
        return ast.parse(f"{columns[:-1]}, 1)", mode="eval").body
    return made[0] if made and ast.unparse(node.func).endswith(("Series", "DataFrame")) else node


def _of_series(line: Line) -> str | None:
    """Return advice for a method of a Series or table that was made of traced values."""
    called: Any = getattr(line.node, "func", None)
    if not isinstance(called, ast.Attribute):
        return None
    write = _in_arrays(called.attr, called.value, line.node.args)  # type: ignore[union-attr]
    return f"use {write}" if write else None


for _method in [
    *[getattr(pd.DataFrame, name) for name in (*_REDUCTIONS, "corr")],
    *[getattr(pd.Series, name) for name in _IN_ARRAYS],
]:
    if callable(_method):
        advise(_method, _of_series)


def _refuse(error: BaseException) -> None:
    """Raise our error if a method of pandas was looked up on a traced array."""
    x, name = getattr(error, "obj", None), str(getattr(error, "name", None))
    plain = isinstance(error, AttributeError) and not isinstance(error, TracerError)
    of_tracer = plain and any(found is x for found in find_tracers(x))
    line = Line.of(error) if of_tracer else None
    if line is None or not (hasattr(pd.DataFrame, name) or getattr(x, "ndim", 0) == 2):
        return
    owner = line.owner(name) or "x"
    call = _call(linecache.getline(*line.place), f"{owner}.{name}")
    write = _in_arrays(name, ast.parse(owner, mode="eval").body, call.args if call else [])
    use = f"use {write} for {ast.unparse(call) if call else name}"
    if write is None:
        use = f"pass {{c: table[c].to_numpy() for c in table}}, a dict of arrays, for {owner}"
    fact = f"a table of pandas is an array where it is differentiated, which has no {name}"
    raise TracerError(told(fact, line, use)) from error


def _call(text: str, function: str) -> ast.Call | None:
    """Return the call of a function in a line, or None."""
    try:
        nodes = ast.walk(ast.parse(text.strip()))
    except SyntaxError:  # the statement is longer than the line
        return None
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    return next((call for call in calls if ast.unparse(call.func) == function), None)


refusers.append(_refuse)
