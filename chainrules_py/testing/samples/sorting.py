"""Samples of operations that sort elements."""

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

_SPREAD = Draw((3, 4), apart=0.05)

enter_table(
    {
        (v.sort, v.argsort): (
            Sample(_SPREAD),
            Sample(_SPREAD, axis=0),
            Sample(_SPREAD, axis=-2, descending=True),
            Sample(Draw((1,))),
        ),
        v.partition: (
            Sample(_SPREAD, kth=1),
            Sample(_SPREAD, kth=(2, 0), axis=0),
            Sample(Draw((7,), apart=0.05), kth=-2),
            Sample(Draw((1,)), kth=0),
        ),
    }
)
