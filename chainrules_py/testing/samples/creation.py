"""Samples of operations that make an array like another."""

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

_LOW, _HIGH = Draw((3,), 0.5, 1.0), Draw((2, 1), 2.0, 3.0)

enter_table(
    {
        v.full_like: (
            Sample(Draw((2,)), shape=(2, 3), fill=1.5, complex=True),
            Sample(Draw(()), shape=(), fill=0),
            Sample(Draw((2,)), shape=(0,), fill=1, dtype="float32"),
        ),
        (v.zeros_like, v.ones_like): (
            Sample(Draw((2, 3)), complex=True),
            Sample(Draw(())),
            Sample(Draw((2,)), dtype="int64"),
        ),
        v.arange_like: (
            Sample(Draw((2,)), stop=4),
            Sample(Draw(()), stop=4, start=1, step=2),
        ),
        v.eye_like: (
            Sample(Draw((2,)), rows=3, complex=True),
            Sample(Draw((2,)), rows=2, columns=3, diagonal=1),
        ),
        (v.linspace, v.geomspace): (
            Sample(Draw((), 0.5, 1.0), Draw((), 2.0, 3.0), num=4, complex=True),
            Sample(_LOW, _HIGH, num=3, axis=-1, complex=True),
            Sample(_LOW, _HIGH, num=3, endpoint=False, axis=1),
            Sample(_LOW, 2.5, num=1),
            Sample(_LOW, _HIGH, num=0),
            Sample(Draw(None, 0.5, 1.0), Draw(None, 2.0, 3.0), num=4),
        ),
        v.geomspace: (Sample(_LOW, _HIGH, num=3, dtype="int64"),),
    }
)
