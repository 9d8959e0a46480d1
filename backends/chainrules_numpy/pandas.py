"""pandas tables beside traced values, and as arguments: they are replaced by their values.

A Series or DataFrame, an Index, or an extension array of pandas (``Int64``) counts as its values;
the result is traced, and labels are dropped. Gradients are arrays of the table's shape. A table of
object values, for example with columns of different kinds, is refused.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from chainrules_py import NotDifferentiableError
from chainrules_py.extend import advise, register_table

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
