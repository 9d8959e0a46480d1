"""Samples of polynomials."""

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

_P = Draw((4,), 0.5, 2.0)

enter_table(
    {
        v.polyval: (
            Sample(_P, Draw((2, 3)), complex=True),
            Sample(_P, Draw(()), complex=True),
            Sample(_P, Draw(None)),
            Sample(Draw((1,)), Draw((3,))),
            Sample(_P, Draw((0,))),
        ),
        v.roots: (
            Sample(_P, complex=True),
            Sample(Draw((2,), 0.5, 2.0)),
            Sample(Draw((1,), 0.5, 2.0)),
        ),
        v.vander: (
            Sample(Draw((3,)), columns=4, complex=True),
            Sample(Draw((3,)), columns=3, increasing=True),
            Sample(Draw((3,)), columns=1),
            Sample(Draw((0,)), columns=2),
        ),
    }
)
