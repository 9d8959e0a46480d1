"""Calls of NumPy's functions that make arrays of values, and between two numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_POINT = Draw(())
_NUMBER = Draw(None)
_LINE = Draw((3,))
_FLAT = Draw((2, 3))
_LIKE = Draw((1,))

_KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"dtype": int},
    {"shape": (2, 2)},
    {"shape": 4, "dtype": complex},
)
for _name in ("zeros_like", "ones_like"):
    enter_calls(_name, *(Sample(_FLAT, smooth=False, **keywords) for keywords in _KINDS))
    enter_calls(_name, Sample(_FLAT, order="F", subok=False, device="cpu", smooth=False))
# What is in it nobody knows, unless there is nothing.
_nothing: dict[str, Any] = {"shape": (0, 2), "smooth": False}
enter_calls("empty_like", Sample(_FLAT, **_nothing))
enter_calls("empty_like", Sample(_FLAT, order="F", subok=False, device="cpu", **_nothing))
enter_calls("empty", Sample(0, like=_LIKE, smooth=False))
enter_calls(
    "full_like",
    Sample(_FLAT, _POINT, complex=True),
    Sample(_FLAT, _LINE, order="F"),
    Sample(_FLAT, _LINE, subok=False, device="cpu"),
    Sample(_FLAT, _POINT, shape=4, dtype=complex),
    Sample(_FLAT, _POINT, shape=(0, 2)),
    Sample(_FLAT, [1.0, 2.0, 3.0]),
    Sample(_FLAT, 2),
    Sample(_FLAT, _POINT, dtype=int, smooth=False),
)

# With ``like=`` NumPy lets calls of these be seen.
enter_calls(
    "full",
    Sample((2, 3), _POINT, like=_LIKE, complex=True),
    Sample((2, 3), _LINE, like=_LIKE),
    Sample(2, _NUMBER, like=_LIKE),
    Sample((2,), _POINT, dtype=complex, like=_LIKE),
    Sample((2,), 1.5, like=_LIKE),
)
for _name in ("array", "asarray", "asanyarray"):
    enter_calls(
        _name,
        Sample(_FLAT, like=_LIKE, complex=True),
        Sample([_POINT, 2.0, _POINT], like=_LIKE, complex=True),
        Sample([_LINE, [1.0, 2.0, _POINT]], like=_LIKE),
        Sample([[_NUMBER, 0], [1, _NUMBER]], like=_LIKE),
        Sample(_NUMBER, dtype=complex, like=_LIKE),
        Sample([1.0, 2.0], like=_LIKE),
        Sample(_FLAT, order="F", copy=True, like=_LIKE),
    )
enter_calls("array", Sample(_POINT, ndmin=2, like=_LIKE), Sample([_POINT], ndmin=3, like=_LIKE))
for _name in ("ascontiguousarray", "asfortranarray", "require"):
    enter_calls(
        _name,
        Sample(_FLAT, like=_LIKE, complex=True),
        Sample(_POINT, like=_LIKE),
        Sample(_LINE, dtype=complex, like=_LIKE),
    )
enter_calls("require", Sample(_FLAT, None, ["F", "O"], like=_LIKE))
for _name, _sample in (
    ("zeros", Sample((2, 3), like=_LIKE, smooth=False)),
    ("ones", Sample(3, dtype=int, like=_LIKE, smooth=False)),
    ("arange", Sample(1, 7, 2, like=_LIKE, smooth=False)),
    ("eye", Sample(2, M=3, k=1, like=_LIKE, smooth=False)),
    ("identity", Sample(2, like=_LIKE, smooth=False)),
    ("tri", Sample(3, k=-1, like=_LIKE, smooth=False)),
):
    enter_calls(_name, _sample)

# ------------------------------------------------------------------------------ between two numbers

_LOW, _HIGH = Draw((), 0.5, 1.0), Draw((), 2.0, 3.0)
_LOWS, _HIGHS = Draw((3,), 0.5, 1.0), Draw((2, 1), 2.0, 3.0)
_ENDS = (
    Sample(_LOW, _HIGH, complex=True),
    Sample(Draw(None, 0.5, 1.0), Draw(None, 2.0, 3.0), 5),
    Sample(_LOW, 3, num=4),
    Sample(1, _HIGH, num=4),
    Sample(_LOWS, _HIGHS, 4, complex=True),
    Sample(_LOWS, _HIGHS, num=3, axis=1, complex=True),
    Sample(_LOWS, _HIGH, num=4, endpoint=False, axis=-1, complex=True),
    Sample(_LOWS, [1.0, 2.0, 4.0], 3, axis=1),
    Sample(_LOW, _HIGH, num=1),
    Sample(_LOW, _HIGH, num=1, endpoint=False),
    Sample(_LOW, _HIGH, num=0),
    Sample(_LOW, _HIGH, num=4, dtype=complex),
    Sample(_LOW, Draw((), 4.6, 4.9), num=4, dtype=int, smooth=False),
)
enter_calls(
    "linspace",
    *_ENDS,
    Sample(_LOW, _HIGH, num=3, retstep=True, complex=True),
    Sample(_LOWS, _HIGHS, num=3, endpoint=False, retstep=True),
    Sample(_LOW, _HIGH, num=1, retstep=True, smooth=False),
    Sample(Draw((), -3.0, -2.5), _HIGH, num=6, dtype=np.int64, smooth=False),
)
enter_calls(
    "logspace",
    *_ENDS,
    Sample(_LOW, _HIGH, num=4, base=Draw((), 1.5, 3.0), complex=True),
    Sample(_LOW, _HIGH, num=4, base=2),
    Sample(_LOW, _HIGH, num=4, base=Draw((3,), 1.5, 3.0)),
    Sample(_LOWS, _HIGH, num=4, base=Draw((2, 1), 1.5, 3.0), axis=-1, complex=True),
    Sample(_LOW, _LOWS, num=4, base=[2.0, 3.0, 4.0], axis=1),
)
enter_calls(
    "geomspace",
    *_ENDS,
    Sample(Draw((), -1.0, -0.5), Draw((), -3.0, -2.0), num=4),
    Sample(_LOWS, _HIGHS, num=4, axis=-2, dtype=np.complex128),
)
