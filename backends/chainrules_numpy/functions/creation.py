"""The rows of what makes arrays like others."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_numpy.functions.common import row
from chainrules_py import vocabulary as v
from chainrules_py.composites import manipulation as m

__all__: list[str] = []

_f: Any
_word: Any

for _f, _word, _fill in ((np.zeros_like, v.zeros_like, 0), (np.ones_like, v.ones_like, 1)):
    row(_f, _word, refuse=("order", "subok", "device"), shape=low.of_shape(_fill))
row(
    np.empty_like,
    v.zeros_like,
    "prototype",
    refuse=("order", "subok", "device"),
    shape=low.of_shape(0),
)
row(
    np.full_like,
    m.full_of,
    refuse=("order", "subok", "device"),
    fill_value=low.as_array("fill_value"),
)
