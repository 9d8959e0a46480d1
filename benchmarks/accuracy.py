"""Accuracy of functions in units in the last place, against mpmath, beside other libraries.

``python -m benchmarks.accuracy docs/accuracy.csv`` writes the table; it takes some minutes.
"""

from __future__ import annotations

import csv
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import mpmath
import numpy as np

from chainrules_compile import compile
from chainrules_compile.c.compilers import processor

POINTS = 100_000
"""Random points of a row."""

_BITS = 140


class Row(NamedTuple):
    """Function on a range.

    Attributes
    ----------
    operation : str
        Its name in NumPy.
    low, high : float
        Where its operands are.
    spaced : str
        ``"evenly"`` between these, or their ``"exponents"`` are.
    """

    operation: str
    low: float
    high: float
    spaced: str = "evenly"

    @property
    def where(self) -> str:
        """The range as the table shows it."""
        return f"{self.low:g} to {self.high:g}"

    def operands(self, dtype: Any, points: int = POINTS) -> tuple[np.ndarray, ...]:
        """Return points of the range, the same ones each time."""
        drawn = np.random.default_rng([*f"{self.operation} {self.where}".encode()])
        found = []
        for _ in range(getattr(np, self.operation).nin):
            if self.spaced == "evenly":
                x = drawn.uniform(self.low, self.high, points)
            else:
                x = np.exp(drawn.uniform(np.log(self.low), np.log(self.high), points))
            found.append(np.clip(x, self.low, self.high).astype(dtype))
        return tuple(found)


ROWS = (
    Row("sin", -4, 4),
    Row("sin", 4, 1e4),
    Row("sin", 1e5, 1e15, "exponents"),
    Row("cos", -4, 4),
    Row("cos", 4, 1e4),
    Row("cos", 1e5, 1e15, "exponents"),
    Row("tan", -4, 4),
    Row("tan", 4, 1e4),
    Row("arcsin", -1, 1),
    Row("arccos", -1, 1),
    Row("arctan", -100, 100),
    Row("sinh", -20, 20),
    Row("cosh", -20, 20),
    Row("tanh", -5, 5),
    Row("tanh", 1e-10, 1e-2, "exponents"),
    Row("arcsinh", -100, 100),
    Row("arccosh", 1, 1000),
    Row("arctanh", -1, 1),
    Row("exp", -80, 80),
    Row("exp", -1, 1),
    Row("exp2", -120, 120),
    Row("expm1", -1, 1),
    Row("expm1", 1, 80),
    Row("log", 0.5, 2),
    Row("log", 1e-30, 1e30, "exponents"),
    Row("log2", 0.5, 2),
    Row("log10", 0.5, 2),
    Row("log1p", -0.5, 1),
    Row("log1p", 1e-10, 1e10, "exponents"),
    Row("cbrt", -1000, 1000),
    Row("sqrt", 0, 1000),
    Row("power", 0.01, 15),
    Row("arctan2", -10, 10),
    Row("hypot", -1000, 1000),
)
OPERATIONS = tuple(dict.fromkeys([row.operation for row in ROWS]))
DTYPES = ("float64", "float32")
COLUMNS = ("NumPy", "C", "JAX", "PyTorch")
_IN_TORCH = {"power": "pow"}
_MP: dict[str, Callable[..., Any]] = {
    "arcsin": mpmath.asin,
    "arccos": mpmath.acos,
    "arctan": mpmath.atan,
    "arcsinh": mpmath.asinh,
    "arccosh": mpmath.acosh,
    "arctanh": mpmath.atanh,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2),
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "power": mpmath.power,
    "arctan2": mpmath.atan2,
}


def truth(operation: str, xs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return what a function is at points: in double precision, and the rest."""
    f = _MP.get(operation) or getattr(mpmath, operation)
    high, rest = np.empty(len(xs[0])), np.empty(len(xs[0]))
    with mpmath.workprec(_BITS):
        for i, each in enumerate(zip(*[x.tolist() for x in xs], strict=True)):
            y = f(*map(mpmath.mpf, each))
            high[i] = float(y)
            rest[i] = float(y - mpmath.mpf(high[i]))
    return high, rest


def units(found: np.ndarray, high: np.ndarray, rest: np.ndarray) -> float:
    """Return the largest error, in units in the last place of the dtype."""
    spacing = np.spacing(np.abs(high.astype(found.dtype))).astype(np.float64)
    with np.errstate(invalid="ignore"):
        error = np.abs((found.astype(np.float64) - high) - rest) / spacing
    return float(np.max(error))


Computed = dict[str, dict[Row, np.ndarray]]
"""Values by column and row."""


def computed(dtype: str, columns: tuple[str, ...] = COLUMNS) -> Computed:
    """Return what each library gives at all points of all rows."""
    given = [row.operands(dtype) for row in ROWS]

    def by(functions: dict[str, Callable[..., Any]]) -> Callable[..., list[Any]]:
        return lambda *xs: [functions[row.operation](*x) for row, x in zip(ROWS, xs, strict=True)]

    in_numpy = by({operation: getattr(np, operation) for operation in OPERATIONS})
    found: Computed = {}
    for column in columns:
        if column == "NumPy":
            values = in_numpy(*given)
        elif column == "C":
            values = compile(in_numpy, target="c")(*given)
        elif column == "JAX":
            values = _in_jax(by, given)
        else:
            values = _in_torch(by, given)
        found[column] = {
            row: np.asarray(y) for row, y in zip(ROWS, values, strict=True) if y is not None
        }
    return found


def _in_jax(by: Any, given: list[Any]) -> list[Any]:
    import jax

    with jax.enable_x64(True):
        run = jax.jit(by({operation: getattr(jax.numpy, operation) for operation in OPERATIONS}))
        return [np.asarray(y) for y in run(*given)]


def _in_torch(by: Any, given: list[Any]) -> list[Any]:
    import torch

    functions = {
        operation: getattr(torch, _IN_TORCH.get(operation, operation), _none)
        for operation in OPERATIONS
    }
    values: list[Any] = by(functions)(*[[torch.from_numpy(x) for x in xs] for xs in given])
    return values


def _none(*_: Any) -> None:
    """Give nothing, for a function that a library does not have."""


def cells(
    dtype: str, columns: tuple[str, ...] = COLUMNS, every: int = 1
) -> dict[Row, dict[str, float]]:
    """Return the largest error of each row and column, of each so-many-th point."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = computed(dtype, columns)
        table: dict[Row, dict[str, float]] = {}
        for row in ROWS:
            # Single precision is held against double precision, which is finer by 2 ** 29.
            xs = tuple([x[::every] for x in row.operands(dtype)])
            if dtype == "float64":
                high, rest = truth(row.operation, xs)
            else:
                high = getattr(np, row.operation)(*[x.astype(np.float64) for x in xs])
                rest = np.zeros_like(high)
            table[row] = {
                column: units(values[row][::every], high, rest)
                for column, values in found.items()
                if row in values
            }
    return table


def made_with() -> str:
    """Return what the errors depend on."""
    wide = "avx512f" in processor().split()
    names = (("NumPy", "numpy"), ("JAX", "jax"), ("PyTorch", "torch"))
    versions = [f"{name} {version(package)}" for name, package in names]
    return ", ".join([*versions, f"vectors of {64 if wide else 32} bytes"])


def write(path: Path) -> None:
    """Write the table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["function", "range", "dtype", *COLUMNS])
        for dtype in DTYPES:
            for row, errors in cells(dtype).items():
                shown = [f"{errors[c]:.2f}" if c in errors else "" for c in COLUMNS]
                out.writerow([row.operation, row.where, dtype, *shown])


if __name__ == "__main__":
    write(Path(sys.argv[1]))
    print(made_with())
