"""The rows of what reads elements by their places."""

from __future__ import annotations

import numpy as np

from chainrules_numpy import lowerings as low
from chainrules_numpy.functions.common import axis, row
from chainrules_py import vocabulary as v

__all__: list[str] = []


row(np.take, v.take, refuse=("out", "mode"), indices=low.as_array("indices"), axis=axis)
row(np.take_along_axis, v.take_along_axis, "arr", axis=low.flattened)
