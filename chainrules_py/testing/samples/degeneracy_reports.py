"""Samples of operations that report an undetermined derivative."""

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

enter_table(
    {
        v.tied_weights: (Sample(*[Draw((3,))] * 3, Draw((3, 3), kind="bool", make=np.zeros_like)),),
        v.report: (
            Sample(False, message="a choice"),
            Sample([False, False], message="a choice"),
        ),
    }
)
