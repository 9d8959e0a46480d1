"""Calls of NumPy's functions that are given functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_BOX = Draw((2, 3, 2))


def _squares(v: Any) -> Any:
    """Compute the products of the elements of a vector with each other."""
    return np.outer(v, v)


def _power(v: Any, n: Any, *, scale: Any = 1.0) -> Any:
    """With arguments that are handed on."""
    return np.sum(v**n) * scale


def _left(v: Any) -> Any:
    return np.sin(v) * v


def _right(v: Any) -> Any:
    return v * v - np.mean(v)


def _scaled(v: Any, a: Any, *, k: Any) -> Any:
    return a * v * k


def _below(x: Any) -> Any:
    return np.arange(12.0).reshape(2, 3, 2) < x


enter_calls(
    "apply_along_axis",
    Sample(np.cumsum, 1, _BOX, complex=True),
    Sample(_squares, -1, _BOX, complex=True),
    Sample(_squares, 0, _BOX),
    Sample(_power, 2, _BOX, 3),
    Sample(_power, 1, _BOX, 2, scale=Draw(None)),
    Sample(np.sum, 0, Draw((4,))),
)
enter_calls(
    "apply_over_axes",
    Sample(np.sum, _BOX, (0, -1), complex=True),
    Sample(np.sum, _BOX, 1),
    Sample(np.cumsum, _BOX, [2, 0]),
)
enter_calls(
    "piecewise",
    Sample(_BOX, [_below(4), _below(9)], [_left, _right]),
    Sample(_BOX, [_below(4)], [_left, _right], complex=True),
    Sample(_BOX, [_below(4), _below(9)], [2.0, _left, _right]),
    Sample(_BOX, [_below(5)], [_scaled, 1.0], 2.0, k=Draw(None)),
    Sample(Draw((4,)), np.array([True, False, False, True]), [np.sin]),
    Sample(Draw(()), [True], [np.sin]),
)
