"""Samples of operations that join arrays."""

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

enter_table(
    {
        v.concat: (
            Sample(Draw((2, 3)), Draw((1, 3)), complex=True),
            Sample(Draw((2, 3)), Draw((2, 1)), Draw((2, 2)), axis=-1, complex=True),
            Sample(Draw((2, 3)), axis=1),
            Sample(Draw((2, 3)), Draw((2,)), axis=None),
            Sample(Draw((2, 0)), Draw((2, 2)), axis=1),
        ),
        v.stack: (
            Sample(Draw((2, 3)), Draw((2, 3)), complex=True),
            Sample(Draw((2, 3)), Draw((2, 3)), axis=1),
            Sample(Draw((2,)), Draw((2,)), Draw((2,)), axis=-1),
            Sample(Draw(()), Draw(())),
        ),
    }
)
