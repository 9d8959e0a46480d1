"""pandas tables beside traced values, and as arguments: they are replaced by their values.

A Series or DataFrame, an Index, or an extension array of pandas (``Int64``) counts as its values;
the result is traced, and labels are dropped. Gradients are arrays of the table's shape. A table of
object values, for example with columns of different kinds, is refused.
"""

from __future__ import annotations

import ast
from types import ModuleType
from typing import Any

import pandas as pd
from pandas.core.groupby import DataFrameGroupBy, SeriesGroupBy
from pandas.core.window import ExponentialMovingWindow, Rolling

from chainrules_py import NotDifferentiableError, TracerError
from chainrules_py.extend import (
    Line,
    advise,
    caller,
    find_tracers,
    refusers,
    register_table,
    told,
)

__all__ = ["numbers_of"]

chainrules_contract = 1


def _named(line: Line, table: Any) -> str:
    """Return a table as the program writes it, also where it is computed beside a traced array."""
    sides = [getattr(line.node, side, None) for side in ("left", "right")]
    tables = [node for node in sides if node is not None and line.resolved(node) is table]
    tables = tables or [node for node in sides if node and not find_tracers(line.resolved(node))]
    return ast.unparse(tables[0]) if len(tables) == 1 else line.argument


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
        if find_tracers(array.ravel().tolist()):
            line = Line(caller())
            fact = f"a {type(table).__name__} of traced numbers is an array of objects"
            name = _named(line, table)
            write = f"write {_stacked(name, array.ndim)} for {name}"
            raise NotDifferentiableError(told(fact, line, write))
        columns = table.dtypes if hasattr(table, "dtypes") else table.dtype
        if isinstance(table, pd.api.extensions.ExtensionArray):
            raise NotDifferentiableError(
                f"a {type(table).__name__} of {columns} is not an array of numbers"
            )
        kinds = ", ".join(sorted({*map(str, _listed(columns))}))
        raise NotDifferentiableError(
            f"a {type(table).__name__} of {kinds} has no array of numbers; write "
            f"{Line(caller()).named(table)}.select_dtypes('number').to_numpy()"
        )
    return array


def _listed(dtypes: Any) -> list[Any]:
    return list(dtypes) if isinstance(dtypes, pd.Series) else [dtypes]


for _cls in (pd.Series, pd.DataFrame, pd.Index, pd.api.extensions.ExtensionArray):
    register_table(_cls, numbers_of)
for _init in (pd.Series.__init__, pd.DataFrame.__init__):
    advise(_init, "a table holds plain numbers: leave {x} an array")


# ------------------------------------------------------------------- what to write for its methods


def _stacked(table: str, ndim: int) -> str:
    """Return an expression for the array of a Series or table of objects."""
    columns = f"np.stack([np.stack(list({table}[c])) for c in {table}], 1)"
    return columns if ndim == 2 else f"np.stack(list({table}))"


_REDUCTIONS = ("max", "mean", "median", "min", "prod", "std", "sum", "var")
_OTHERS = (
    *("add", "apply", "corr", "cov", "describe", "diff", "div", "dropna", "fillna", "head", "isna"),
    *("map", "mul", "notna", "pct_change", "sub", "tail", "to_numpy", "where"),
)
_GENERAL = (
    "write it with NumPy's functions of the arrays that the table is made of, or of their numbers, "
    "np.stack(list(column)): pandas makes objects of what is traced"
)


def _of_objects(line: Line) -> str:
    """Return advice for a method of a Series or table, which are arrays of objects."""
    called: Any = getattr(line.node, "func", None)
    table, name = getattr(called, "value", None), getattr(called, "attr", "")
    given, usual = list(getattr(line.node, "args", ())), "1"
    if isinstance(line.value_of(table), ModuleType) and given:  # np.mean(table)
        table, usual = given.pop(0), "0"
    if isinstance(table, ast.Call) and ast.unparse(table.func).endswith("Series") and table.args:
        x = ast.unparse(table.args[0])
    elif isinstance(table, (ast.Name, ast.Subscript)):
        x = _stacked(ast.unparse(table), getattr(line.resolved(table), "ndim", 1))
    else:
        return _GENERAL
    if name not in _REDUCTIONS or given or x[0] == "{":
        return _GENERAL
    axis = ", axis=0" * x.startswith("np.stack([")
    # Its degrees of freedom have another default than NumPy's.
    ddof = f", ddof={line.option('ddof') or usual}" * (name in ("std", "var"))
    return f"use np.{name}({x}{axis}{ddof})"


_WINDOWS = (SeriesGroupBy, DataFrameGroupBy, Rolling, ExponentialMovingWindow)
for _cls in (pd.Series, pd.DataFrame, *_WINDOWS):
    for _name in (*_REDUCTIONS, *_OTHERS):
        if hasattr(_cls, _name):
            advise(getattr(_cls, _name), _GENERAL if _cls in _WINDOWS else _of_objects)


for _method in (pd.Series.dot, pd.DataFrame.dot):
    advise(_method, "use np.dot of the arrays, table.select_dtypes('number').to_numpy()")


def _refuse(error: BaseException) -> None:
    """Raise our error if a method or column of pandas was looked up on a traced array."""
    line = Line.of(error)
    if line is None or isinstance(error, TracerError):
        return
    columns = (
        "pass a dict of arrays, {c: table[c].to_numpy() for c in table}, in place of the table"
    )
    if isinstance(error, IndexError):
        node: Any = line.node
        key = getattr(getattr(node, "slice", None), "value", None)
        if isinstance(key, str) and find_tracers(line.resolved(node.value)):
            owner = ast.unparse(node.value)
            fact = f"{owner} is an array where it is differentiated, and has no {key!r}"
            raise IndexError(told(fact, line, columns)) from error
        return
    x, name = getattr(error, "obj", None), str(getattr(error, "name", None))
    of_tracer = isinstance(error, AttributeError) and any(found is x for found in find_tracers(x))
    ndim = getattr(x, "ndim", 0) if of_tracer and name[:2] != "__" else 0
    if not ndim or not (hasattr(pd.DataFrame, name) or ndim == 2):
        return
    owner = line.owner(name) or "x"
    write = f"write it with NumPy's functions of the array {owner}"
    if name in ("to_numpy", "values"):
        write = f"use {owner} for {owner}.{name}{'()' * (name == 'to_numpy')}"
    elif ndim == 2:
        write = f"{write}, or {columns}"
    fact = f"a table of pandas is an array where it is differentiated, which has no {name}"
    raise TracerError(told(fact, line, write)) from error


refusers.append(_refuse)
