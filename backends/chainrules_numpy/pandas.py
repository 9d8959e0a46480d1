"""pandas tables beside traced values, and as arguments: they are replaced by their values.

A Series or DataFrame, an Index, or an extension array of pandas (``Int64``) counts as its values;
the result is traced, and labels are dropped. Gradients are arrays of the table's shape. A table of
object values, for example with columns of different kinds, is refused.
"""

from __future__ import annotations

import ast
import copy
import linecache
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.groupby import DataFrameGroupBy, SeriesGroupBy
from pandas.core.window import ExponentialMovingWindow, Rolling

from chainrules_numpy.list_and_index_advice import stacked_list
from chainrules_py import NotDifferentiableError, TracerError
from chainrules_py.extend import (
    Line,
    advise,
    caller,
    filled,
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


def _in_place_of(given: Callable[[Line], str | None]) -> Callable[[Line], str | None]:
    """Return advice that also says which reading of a table, later on the line, to leave out."""

    def advice(line: Line) -> str | None:
        write, left = given(line), re.match(r"\.(iloc|loc|values|to_numpy\(\))", line.texts[1])
        write = write and re.sub(r"\{(\w+)\}", r"{ \1 }", write)  # it is no form to fill
        return write and f"use {write}{f', without {left[0]}' if left else ''}"

    return advice


def _freedom(line: Line) -> str:
    """Return ``ddof=`` of a standard deviation or variance, which pandas gives another default."""
    return f"ddof={line.option('ddof') or '1'}"


def _windows(name: str, x: str, window: str, ddof: str = "ddof=1") -> str:
    """Return a statistic of windows, in arrays."""
    view = f"np.lib.stride_tricks.sliding_window_view({x}, {window})"
    return f"{view}.{name}(-1{f', {ddof}' * (name in _DDOF)})"


def _rolled(name: str) -> Callable[[Line], str | None]:
    """Return advice for a statistic of windows."""

    def given(line: Line) -> str | None:
        windows: Any = getattr(getattr(line.node, "func", None), "value", None)
        if not isinstance(windows, ast.Call) or not windows.args or windows.keywords:
            return None
        x = ast.unparse(_joined(line, windows.func.value))  # type: ignore[attr-defined]
        return _windows(name, x, ast.unparse(windows.args[0]), _freedom(line))

    return given


def _decayed(line: Line) -> str | None:
    """Return advice for an exponentially weighted mean."""
    windows: Any = getattr(getattr(line.node, "func", None), "value", None)
    given = {each.arg: ast.unparse(each.value) for each in getattr(windows, "keywords", ())}
    if "alpha" not in given:
        return None
    x = ast.unparse(_joined(line, windows.func.value))
    apart = f"np.abs(np.subtract.outer(range(len({x})), range(len({x}))))"
    return f"((w := np.tril((1 - {given['alpha']}) ** {apart})) @ {x} / w.sum(1))"


def _grouped(name: str) -> Callable[[Line], str | None]:
    """Return advice for a statistic of groups, in arrays."""

    def given(line: Line) -> str | None:
        groups: Any = getattr(getattr(line.node, "func", None), "value", None)
        column = groups.slice if isinstance(groups, ast.Subscript) else None
        groups = groups if column is None else groups.value
        if not isinstance(groups, ast.Call) or len(groups.args) != 1:
            return None
        by, table = groups.args[0], groups.func.value  # type: ignore[attr-defined]
        g = ast.unparse(_column(line, table, by) if isinstance(by, ast.Constant) else by)
        x: Any = _joined(line, table) if column is None else _column(line, table, column)
        x = line.argument if column is None and isinstance(by, ast.Constant) else ast.unparse(x)
        part = f"{x}[np.equal({g}, k)].{name}({_freedom(line) * (name in _DDOF)})"
        return f"np.stack([{part} for k in np.unique({g})])"

    return given


def _column(line: Line, table: ast.expr, key: ast.expr) -> ast.expr:
    """Return the array of a column, which a dict on the line may give."""
    dicts = [each for each in ast.walk(table) if isinstance(each, ast.Dict)]
    pairs = [pair for each in dicts for pair in zip(each.keys, each.values, strict=True)]
    found = [y for name, y in pairs if name and ast.dump(name) == ast.dump(key)]
    return found[0] if found else _joined(line, ast.Subscript(table, key, ast.Load()))


_DDOF = ("std", "var")
"""Statistics for which NumPy's functions need ``ddof=`` to give what pandas' give."""

for _name in ("mean", "sum", "min", "max", *_DDOF):
    advise(getattr(Rolling, _name), _in_place_of(_rolled(_name)))
    for _groups in (SeriesGroupBy, DataFrameGroupBy):
        advise(getattr(_groups, _name), _in_place_of(_grouped(_name)))
advise(ExponentialMovingWindow.mean, _in_place_of(_decayed))

_REDUCTIONS = ("max", "mean", "median", "min", "prod", "std", "sum", "var")
_MATRICES = {"corr": "np.corrcoef", "cov": "np.cov"}
_IN_ARRAYS = {
    **{name: f"np.{name}({{x}})" for name in _REDUCTIONS},
    "add": "{x} + {0}",
    "apply": "np.stack([*map({0}, {x})])",
    "corr": "np.corrcoef({x}, {0})[0, 1]",
    "cov": "np.cov({x}, {0})[0, 1]",
    "describe": "dict(count=len({x}), mean=np.mean({x}), std=np.std({x}, ddof=1))",
    "diff": "np.diff({x})",
    "div": "{x} / {0}",
    "dropna": "{x}[~np.isnan({x})]",
    "fillna": "np.where(np.isnan({x}), {0}, {x})",
    "head": "{x}[:{0}]",
    "iloc": "{x}",
    "isna": "np.isnan({x})",
    "map": "np.stack([*map({0}, {x})])",
    "mul": "{x} * {0}",
    "notna": "~np.isnan({x})",
    "pct_change": "np.diff({x}) / {x}[:-1]",
    "std": "np.std({x}, {ddof})",
    "sub": "{x} - {0}",
    "tail": "{x}[-{0}:]",
    "to_numpy": "{x}",
    "values": "{x}",
    "var": "np.var({x}, {ddof})",
    "where": "np.where({0}, {x}, np.nan)",
}
"""Methods of a Series, in NumPy's functions of its array x."""


def _in_arrays(
    name: str, x: str, given: list[str], of_columns: bool, ddof: str = "ddof=1"
) -> str | None:
    """Return the NumPy call for a method of a Series or a table, or None."""
    if name in _MATRICES and not given:
        return f"{_MATRICES[name]}({x}, rowvar=False)"
    if (known := _IN_ARRAYS.get(name)) is not None:
        write = filled(known, *given, "y", x=x, ddof=ddof)
        return f"{write[:-1]}, axis=0)" if of_columns and name in _REDUCTIONS else write
    return f"np.{name}({', '.join([x, *given])})" if hasattr(np, name) else None


def _joined(line: Line, node: Any) -> ast.expr:
    """Return the array that a Series or a table of columns is made of, or that of its objects."""
    made = node.args if isinstance(node, ast.Call) else []
    if made and isinstance(made[0], ast.Dict):
        columns = ast.unparse(stacked_list(ast.List(made[0].values)))
        of_columns = ast.unparse(node.func).endswith("DataFrame")
        return ast.parse(f"{columns[:-1]}, 1)" if of_columns else columns, mode="eval").body
    if made and ast.unparse(node.func).endswith(("Series", "DataFrame")):
        return made[0]
    ndim = getattr(line.resolved(node), "ndim", 1)
    return ast.parse(_stacked(ast.unparse(node), ndim), mode="eval").body


def _of_series(line: Line) -> str | None:
    """Return advice for a method of a Series or table of traced values."""
    call: Any = copy.deepcopy(line.node)
    called = getattr(call, "func", None)
    if not isinstance(called, ast.Attribute):
        return None
    if isinstance(line.value_of(called.value), ModuleType):  # a function that calls the method
        call.args[:1] = [_joined(line, x) for x in call.args[:1]]
        return ast.unparse(call)
    owner, x = called.value, ast.unparse(_joined(line, called.value))
    given = [ast.unparse(_joined(line, y) if isinstance(y, ast.Call) else y) for y in call.args]
    of_columns = getattr(line.resolved(owner), "ndim", 0) == 2
    of_columns = of_columns or ast.unparse(owner).partition("(")[0].endswith("DataFrame")
    return _in_arrays(called.attr, x, given, of_columns, _freedom(line))


for _method in [
    *[getattr(pd.DataFrame, name) for name in (*_REDUCTIONS, *_MATRICES)],
    *[getattr(pd.Series, name) for name in _IN_ARRAYS],
]:
    if callable(_method):
        advise(_method, _in_place_of(_of_series))


def _dotted(line: Line) -> str:
    """Return advice for a product with a table that is not of numbers only."""
    node: Any = line.node
    pair = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        pair = [node.func.value, *node.args]
    numbers = {True: ".select_dtypes('number').to_numpy()", False: ""}
    shown = [ast.unparse(x) + numbers[isinstance(line.resolved(x), pd.DataFrame)] for x in pair]
    return f"use np.dot({', '.join(shown or ['table.to_numpy()', 'x'])})"


for _method in (pd.Series.dot, pd.DataFrame.dot):
    advise(_method, _dotted)


def _refuse(error: BaseException) -> None:
    """Raise our error if a method or column of pandas was looked up on a traced array."""
    if isinstance(error, IndexError):
        _refuse_column(error)
    x, name = getattr(error, "obj", None), str(getattr(error, "name", None))
    plain = isinstance(error, AttributeError) and not isinstance(error, TracerError)
    of_tracer = plain and name[:2] != "__" and any(found is x for found in find_tracers(x))
    line = Line.of(error) if of_tracer else None
    ndim = getattr(x, "ndim", 0)
    if line is None or not ndim or not (hasattr(pd.DataFrame, name) or ndim == 2):
        return
    owner = line.owner(name) or "x"
    calls = _calls(linecache.getline(*line.place))
    call = next((each for each in calls if ast.unparse(each.func) == f"{owner}.{name}"), None)
    given = [] if call is None else [ast.unparse(y) for y in call.args]
    after = [each for each in calls if call and getattr(each.func, "value", None) is call]
    shown, write = call, None
    if ndim == 1 and name == "rolling" and given and after:
        shown = after[0]
        write = _windows(shown.func.attr, owner, given[0])  # type: ignore[attr-defined]
    elif ndim == 1 or name not in ("apply", "map", "describe"):
        write = _in_arrays(name, owner, given, of_columns=False)
    if write is not None:
        use = f"use {write} for {ast.unparse(shown) if shown else name}"
    elif ndim == 1:
        use = f"write it with NumPy's functions of the array {owner}"
    else:
        use = _as_dict(error, owner)
    fact = f"a table of pandas is an array where it is differentiated, which has no {name}"
    raise TracerError(told(fact, line, use)) from error


def _refuse_column(error: IndexError) -> None:
    line = Line.of(error)
    node: Any = line and line.node
    if (
        line is not None
        and isinstance(node, ast.Subscript)
        and isinstance(getattr(node.slice, "value", None), str)
        and find_tracers(line.resolved(node.value))
    ):
        owner = ast.unparse(node.value)
        fact = (
            f"{owner} is an array where it is differentiated, and has no {ast.unparse(node.slice)}"
        )
        raise IndexError(told(fact, line, _as_dict(error, owner))) from error


def _as_dict(error: BaseException, owner: str) -> str:
    """Return the advice to pass a table as a dict of arrays, by its name outside if it has one."""
    outer = Line(error.__traceback__.tb_frame)  # type: ignore[union-attr]
    args = getattr(outer.node, "args", ())
    tables = [ast.unparse(x) for x in args if isinstance(outer.resolved(x), pd.DataFrame)]
    tables += ["table" for x in args if outer.value_of(x) is pd.DataFrame]
    made = [f"{{c: {table}[c].to_numpy() for c in {table}}}, " for table in tables[:1]]
    return f"pass {''.join(made)}a dict of arrays, for {owner}"


def _calls(text: str) -> list[ast.Call]:
    """Return the calls on a line."""
    try:
        nodes = ast.walk(ast.parse(text.strip()))
    except SyntaxError:  # the statement is longer than the line
        return []
    return [each for each in nodes if isinstance(each, ast.Call)]


refusers.append(_refuse)
