"""Aliases of functions that apply a user-defined function to parts of an array."""

from __future__ import annotations

import numpy as np

from chainrules_numpy.composites import mapping as m
from chainrules_numpy.function_aliases.alias_constructors import row

row(np.apply_along_axis, m.apply_along_axis, None)
row(np.apply_over_axes, m.apply_over_axes, None)
row(np.piecewise, m.piecewise, None)
