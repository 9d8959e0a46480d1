"""Samples of operations that interpolate."""

from __future__ import annotations

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

_knots, _values = Draw((5,), apart=0.3, make=np.sort), Draw((5,))

enter_table(
    {
        v.interp: (
            Sample(Draw((4,), -3.0, 3.0), _knots, _values),
            Sample(Draw((2, 3), -3.0, 3.0), _knots, Draw((5,), kind="complex")),
            Sample(Draw((), -1.0, 1.0), _knots, _values),
            Sample(0.3, [-1.0, 0.0, 1.0], [1.0, 3.0, 2.0]),
            Sample([0.0, 0.5, 1.0], [0.0, 0.5, 1.0], [1.0, 3.0, 2.0], smooth=False),
            Sample(Draw((3,)), Draw((1,)), Draw((1,))),
            Sample(Draw((0,)), _knots, _values),
        ),
        v.searchsorted: (
            Sample(_knots, Draw((2, 3))),
            Sample(_knots, Draw((2, 3)), side="right"),
        ),
    }
)
