"""Calls of NumPy's functions and methods that put elements in order, and of searches."""

from __future__ import annotations

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls

_SPREAD = Draw((3, 4), apart=0.05)
_LINE = Draw((6,), apart=0.05)
_TIES = Draw((6,), 0, 3, kind="int", make=lambda x: x * 1.0)

enter_calls(
    "sort",
    Sample(_SPREAD, complex=True),
    *(Sample(_SPREAD, axis=axis) for axis in (0, -2, 1, None)),
    *(Sample(_LINE, kind=kind) for kind in ("quicksort", "heapsort", "stable", "mergesort")),
    Sample(_LINE, stable=True),
    Sample(_LINE, stable=False),
    Sample(Draw((1,))),
    Sample(Draw((0, 2)), axis=0),
    Sample(_TIES, smooth=False),
)
for _name in ("argsort", "ndarray.argsort"):
    enter_calls(
        _name,
        Sample(_SPREAD, smooth=False, complex=True),
        *(Sample(_SPREAD, axis=axis, smooth=False) for axis in (0, -2, None)),
        Sample(_TIES, kind="stable", smooth=False),
        Sample(_TIES, stable=True, smooth=False),
        Sample(_LINE, kind="heapsort", smooth=False),
    )
if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
    enter_calls("sort", Sample(_SPREAD, descending=True), Sample(_LINE, descending=False))
    for _name in ("argsort", "ndarray.argsort"):
        enter_calls(_name, Sample(_SPREAD, descending=True, smooth=False))
enter_calls(
    "sort_complex", Sample(_SPREAD, complex=True), Sample(_LINE), Sample([3, 1, 2], smooth=False)
)
enter_calls(
    "partition",
    Sample(_LINE, (0, 1, 2, 3, 4), complex=True),  # others are in any order
    Sample(_LINE, -1),
    Sample(_LINE, (1, 4), kind="introselect"),
    Sample(_LINE, [4, 0, 2]),
    *(Sample(_SPREAD, 1, axis=axis) for axis in (0, -2, None)),
    Sample(_TIES, 2, smooth=False),
)
for _name in ("argpartition", "ndarray.argpartition"):
    enter_calls(
        _name,
        Sample(_LINE, 2, smooth=False),
        Sample(_SPREAD, (1, 2), axis=0, smooth=False),
        Sample(_SPREAD, 3, axis=None, smooth=False),
    )
enter_calls(
    "lexsort",
    Sample((_LINE, _TIES), smooth=False),
    Sample(_SPREAD, smooth=False),
    Sample(_SPREAD, axis=0, smooth=False),
)
enter_calls(
    "isin",
    Sample(_TIES, [0.0, 2.0], smooth=False),
    Sample(_TIES, _LINE, invert=True, smooth=False),
    Sample(_LINE, _LINE, assume_unique=True, smooth=False),
)
