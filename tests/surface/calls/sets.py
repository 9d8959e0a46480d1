"""Calls of NumPy's set operations: at elements that are all different, their values can move."""

from __future__ import annotations

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_LINE = Draw((5,), apart=0.05)
_FLAT = Draw((2, 3), apart=0.05)
_NONE = Draw((0,))
_TIES = Draw((6,), 0, 3, kind="int", make=lambda x: x * 1.0)


enter_calls(
    "unique",
    Sample(_LINE, complex=True),
    Sample(_FLAT),
    Sample(_FLAT, True, True, True, complex=True),
    Sample(_FLAT, return_index=True),
    Sample(_FLAT, return_inverse=True, return_counts=True),
    Sample(_FLAT, axis=0, complex=True),
    Sample(_FLAT, axis=-1, return_index=True, return_counts=True),
    Sample(_LINE, equal_nan=False),
    Sample(_LINE, sorted=False, gauge=np.sort, complex=True),
    Sample(_NONE),
    Sample(Draw(())),
    Sample(_TIES, True, True, True, smooth=False),
    Sample(Draw((4,), 0, 2, kind="int", make=lambda x: np.where(x, np.nan, 1.0)), smooth=False),
)
enter_calls(
    "unique_values", Sample(_LINE, gauge=np.sort, complex=True), Sample(_FLAT, gauge=np.sort)
)
for _name in ("unique_all", "unique_counts", "unique_inverse"):
    enter_calls(
        _name,
        Sample(_LINE, complex=True),
        Sample(_FLAT),
        Sample(_NONE),
        Sample(_TIES, smooth=False),
    )
enter_calls(
    "union1d",
    Sample(_LINE, _FLAT, complex=True),
    Sample(_LINE, [9.0, 1.0, 9.0]),
    Sample(_NONE, _LINE),
    Sample(_TIES, _TIES, smooth=False),
)
for _name in ("setdiff1d", "setxor1d"):
    enter_calls(
        _name,
        Sample(_LINE, _LINE, complex=True),
        Sample(_LINE, _FLAT),
        Sample(_LINE, _LINE, assume_unique=True),
        Sample(_TIES, [1.0, 5.0], smooth=False),
        Sample(_LINE, _NONE),
    )
enter_calls(
    "intersect1d",
    Sample(_LINE, _LINE, complex=True),
    Sample(_LINE, _LINE, True),
    Sample(_TIES, [1.0, 2.0, 5.0], smooth=False),
    Sample(_TIES, _TIES, return_indices=True, smooth=False),
)
