"""Calls of NumPy's reductions, cumulative functions and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_BOX = Draw((2, 3, 2))
_SPREAD = Draw((2, 3, 2), apart=0.05)
_MASK = Draw((2, 3, 2), kind="bool")
_ROW = np.array([True, False, True])[:, None]
_EMPTY = Draw((0, 3))


def with_nan(*places: int) -> Callable[[Any], Any]:
    """Make a function that sets some elements to NaN."""

    def make(x: Any) -> Any:
        x = np.array(x)
        x.flat[list(places)] = np.nan
        return x

    return make


def with_zeros(*places: int) -> Callable[[Any], Any]:
    """Make a function that sets some elements to zero."""

    def make(x: Any) -> Any:
        x = np.array(x)
        x.flat[list(places)] = 0
        return x

    return make


def backwards(x: Any) -> Any:
    """Not in the order of the memory."""
    return np.asfortranarray(x)[..., ::-1]


def both(name: str) -> tuple[str, str]:
    """Return the names of a function and of the method of the same name."""
    return name, f"ndarray.{name}"


# -------------------------------------------------------------------------------- sums, products

for _name in (*both("sum"), *both("mean"), *both("prod")):
    enter_calls(
        _name,
        Sample(_BOX, complex=True),
        Sample(_BOX, axis=-1, complex=True),
        Sample(_BOX, axis=0),
        Sample(_BOX, axis=(0, -1), keepdims=True),
        Sample(_BOX, axis=(), complex=True),
        Sample(_BOX, keepdims=True),
        Sample(_BOX, axis=np.int64(1)),
        Sample(Draw((2, 3), make=backwards), axis=0),
        Sample(Draw(())),
        Sample(Draw((1,)), axis=0),
        Sample(_BOX, axis=1, where=_ROW, complex=True),
        Sample(_BOX, where=_ROW, keepdims=True),
        Sample(_BOX, axis=0, dtype="float64"),
        Sample(_BOX, axis=0, dtype="complex128"),
        Sample(_BOX, axis=0, dtype="float32", smooth=False),
    )
for _name in (*both("sum"), *both("prod")):
    enter_calls(
        _name,
        Sample(_BOX, axis=1, where=_MASK, initial=Draw(())),
        Sample(_BOX, axis=0, dtype="int64", smooth=False),
        Sample(_BOX, initial=Draw(None), complex=True),
        Sample(_BOX, axis=(1, 2), initial=2, keepdims=True),
        Sample(_EMPTY, axis=0),
        Sample(_EMPTY, axis=1, initial=Draw(None)),
        Sample(Draw((2, 3), make=with_zeros(1, 4)), axis=1),
        Sample(Draw((2, 3), kind="int", low=-3, high=4), axis=1, smooth=False),
    )
enter_calls("prod", Sample(Draw((2, 3), make=with_zeros(0, 1, 2)), axis=1, complex=True))
enter_calls("mean", Sample(_EMPTY, axis=1, keepdims=True), Sample(_EMPTY, axis=0, smooth=False))
for _name in ("nansum", "nanprod"):
    enter_calls(
        _name,
        Sample(_BOX, complex=True),
        Sample(Draw((2, 3, 2), make=with_nan(0, 7)), axis=-1),
        Sample(Draw((2, 3, 2), make=with_nan(0, 7)), axis=(0, 2), keepdims=True),
        Sample(Draw((2, 3), make=with_nan(0, 1, 2)), axis=1, complex=True),
        Sample(Draw((2, 3), make=with_nan(1)), axis=0, where=np.array([True, False, True])),
        Sample(Draw((2, 3), make=with_nan(1)), axis=0, initial=Draw(None)),
        Sample(Draw((2, 3), make=with_nan(1)), dtype="float64"),
        Sample(Draw((2, 3), kind="int", low=-3, high=4), smooth=False),
        Sample(Draw(())),
        Sample(_EMPTY, axis=0),
    )

# -------------------------------------------------------------------------------------- extremes

for _name in (*both("max"), *both("min"), "amax", "amin", "nanmax", "nanmin", "ptp"):
    enter_calls(
        _name,
        Sample(_SPREAD),
        Sample(_SPREAD, axis=-1),
        Sample(_SPREAD, axis=(0, 2), keepdims=True),
        Sample(_SPREAD, keepdims=True),
        Sample(Draw((4, 2), apart=0.05, make=backwards), axis=-2),
        Sample(Draw(())),
        Sample(Draw((1, 3), apart=0.05), axis=0),
        Sample(Draw((2, 3), kind="int", low=-3, high=4), axis=1, smooth=False),
    )
for _name in (*both("max"), "amax", "nanmax"):
    enter_calls(
        _name,
        Sample(Draw((2, 3), apart=0.05), axis=1, initial=Draw(None, -0.1, 0.1)),
        Sample(_SPREAD, axis=1, initial=Draw((), -3.0, -2.5), where=_MASK),
        Sample(_SPREAD, initial=-9.0, where=_ROW, keepdims=True),
        Sample(_EMPTY, axis=0, initial=Draw(None)),
        Sample(Draw((2, 3), kind="int", low=-3, high=4), initial=0, where=_ROW[:2], smooth=False),
    )
for _name in (*both("min"), "amin", "nanmin"):
    enter_calls(
        _name,
        Sample(Draw((2, 3), apart=0.05), axis=1, initial=Draw(None, -0.1, 0.1)),
        Sample(_SPREAD, axis=1, initial=Draw((), 2.5, 3.0), where=_MASK),
        Sample(_SPREAD, initial=9.0, where=_ROW, keepdims=True),
        Sample(_EMPTY, axis=0, initial=Draw(None)),
        Sample(Draw((2, 3), kind="int", low=-3, high=4), initial=0, where=_ROW[:2], smooth=False),
    )
for _name in ("nanmax", "nanmin"):
    enter_calls(
        _name,
        Sample(Draw((3, 4), apart=0.05, make=with_nan(0, 5, 6)), axis=1),
        Sample(Draw((3, 4), apart=0.05, make=with_nan(0, 5, 6)), keepdims=True),
        Sample(Draw((2, 2), make=with_nan(0, 1)), axis=1, smooth=False),
    )

# ------------------------------------------------------------------------------- no derivative

for _name in (*both("any"), *both("all")):
    enter_calls(
        _name,
        Sample(_BOX),
        Sample(_BOX, axis=(0, -1), keepdims=True, complex=True),
        Sample(_BOX, axis=1, where=_MASK),
        Sample(Draw((3,), kind="bool")),
    )
for _name in (*both("argmax"), *both("argmin")):
    enter_calls(_name, Sample(_SPREAD), Sample(_SPREAD, axis=-1, keepdims=True))
for _name in ("nanargmax", "nanargmin"):
    enter_calls(
        _name,
        Sample(_SPREAD),
        Sample(Draw((3, 4), make=with_nan(0, 5)), axis=-1, keepdims=True),
    )
enter_calls("count_nonzero", Sample(_BOX, complex=True), Sample(_BOX, axis=(0, 1), keepdims=True))
_GRID = np.array([-1.5, -0.5, 0.0, 1.0])
for _name in both("searchsorted"):
    enter_calls(
        _name,
        Sample(Draw((4,), make=np.sort), Draw((2, 3))),
        Sample(Draw((4,), make=np.sort), Draw(None), side="right"),
        Sample(Draw((4,)), _GRID, sorter=np.array([2, 0, 1, 3]), smooth=False),
    )
enter_calls(
    "digitize",
    Sample(Draw((2, 3)), _GRID),
    Sample(Draw((3,)), Draw((4,), make=np.sort), right=True),
    Sample(Draw(()), _GRID[::-1]),
)

# --------------------------------------------------------------------------------- accumulation

for _name in (*both("cumsum"), *both("cumprod"), "cumulative_sum", "cumulative_prod"):
    enter_calls(
        _name,
        Sample(Draw((4,)), complex=True),
        Sample(_BOX, axis=1, complex=True),
        Sample(_BOX, axis=-1),
        Sample(Draw((2, 3), make=backwards), axis=-2),
        Sample(Draw((5,), make=with_zeros(1, 3)), axis=0, complex=True),
        Sample(_BOX, axis=0, dtype="float64"),
        Sample(_BOX, axis=0, dtype="float32", smooth=False),
        Sample(_EMPTY, axis=0),
        Sample(_EMPTY, axis=1),
        Sample(Draw((1,)), axis=0),
        Sample(Draw((3,), kind="int", low=-3, high=4), smooth=False),
    )
for _name in (*both("cumsum"), *both("cumprod"), "nancumsum", "nancumprod"):
    enter_calls(_name, Sample(_BOX), Sample(Draw(())))
for _name in ("cumulative_sum", "cumulative_prod"):
    enter_calls(
        _name,
        Sample(_BOX, axis=1, include_initial=True, complex=True),
        Sample(Draw((3,)), include_initial=True, dtype="complex128"),
        Sample(_EMPTY, axis=0, include_initial=True),
    )
for _name in ("nancumsum", "nancumprod"):
    enter_calls(
        _name,
        Sample(Draw((2, 3), make=with_nan(1, 5)), axis=1, complex=True),
        Sample(Draw((2, 3), make=with_nan(0)), axis=-2),
        Sample(Draw((4,), make=with_nan(0, 1, 2, 3)), axis=0, dtype="float64"),
        Sample(_EMPTY, axis=0),
    )

# ----------------------------------------------------------------------- differences, integrals

enter_calls(
    "diff",
    Sample(Draw((4,)), complex=True),
    Sample(_BOX, n=2, axis=1, complex=True),
    Sample(_BOX, 1, 0),
    Sample(_BOX, n=0),
    Sample(_BOX, n=3, axis=-2),
    Sample(_BOX, axis=1, prepend=Draw((2, 2, 2)), append=Draw((2, 1, 2)), complex=True),
    Sample(_BOX, prepend=Draw(None), append=Draw(()), n=2),
    Sample(Draw((3,)), prepend=[1.0, 2.0], append=0),
    Sample(Draw((3,), kind="int", low=-3, high=4), prepend=Draw((1,))),
    Sample(Draw((1,))),
    Sample(Draw((3,), kind="bool"), smooth=False),
)
enter_calls(
    "ediff1d",
    Sample(_BOX, complex=True),
    Sample(Draw((4,)), to_end=Draw((2, 2)), complex=True),
    Sample(Draw((4,)), to_begin=Draw(None), to_end=Draw(())),
    Sample(Draw((4,)), to_begin=[1, 2], to_end=0.5),
    Sample(Draw((1,))),
    Sample(Draw(())),
    Sample(Draw((0,)), to_begin=Draw((1,))),
)
_GROWING = Draw((4,), 0.5, 1.5, make=np.cumsum)
enter_calls(
    "gradient",
    Sample(Draw((4,)), complex=True),
    Sample(Draw((3, 4)), edge_order=2, complex=True),
    Sample(Draw((3, 4)), Draw(None, 0.5, 2.0)),
    Sample(Draw((3, 4)), Draw((), 0.5, 2.0), edge_order=2),
    Sample(Draw((3, 4)), 0.5, _GROWING),
    Sample(Draw((3, 4)), Draw(None, 0.5, 2.0), _GROWING, edge_order=2),
    Sample(Draw((4, 3)), _GROWING, axis=0, edge_order=2, complex=False),
    Sample(Draw((3, 4)), [0.0, 1.0, 3.0], [0, 1, 2, 3], axis=(0, -1)),
    Sample(Draw((3, 4)), 2, axis=(1, 0)),
    Sample(Draw((2, 3, 2)), axis=(-1,)),
    Sample(Draw((3, 4), kind="int", low=-3, high=4), Draw(None, 0.5, 2.0)),
    Sample(Draw((4,), kind="int", low=-3, high=4), _GROWING),
    Sample(Draw((2,))),
)
enter_calls(
    "trapezoid",
    Sample(Draw((4,)), complex=True),
    Sample(Draw((2, 4)), dx=Draw(None), complex=True),
    Sample(Draw((4, 2)), Draw((4,)), axis=0, complex=True),
    Sample(Draw((2, 4)), Draw((2, 4))),
    Sample(Draw((4, 2)), x=Draw((4, 2)), axis=-2),
    Sample(Draw((4,)), [0, 1, 3, 4]),
    Sample([1.0, 2.0, 4.0], Draw((3,))),
    Sample(Draw((2, 3)), dx=0.5, axis=0),
    Sample(Draw((1,))),
)
