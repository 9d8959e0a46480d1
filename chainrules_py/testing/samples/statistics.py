"""Samples of statistics."""

from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table


def _places(*numbers: Any) -> Draw:
    """Return given integers as an operand."""
    given = np.array(numbers)
    return Draw(given.shape, kind="int", low=0, high=9, make=lambda _: given)


def _with_nan(x: Any) -> Any:
    x = np.array(x)
    x.flat[1] = np.nan
    return x


_SPREAD = Draw((2, 5), apart=0.1)
_HOLED = Draw((2, 5), apart=0.1, make=_with_nan)
_LENGTHS = ((5,), (3,)), ((5,), (2,)), ((2,), (4,)), ((3,), (3,)), ((1,), (1,)), ((), (3,))

enter_table(
    {
        v.order_statistics: (
            Sample(_SPREAD, _places([1, 3])),
            Sample(Draw((5,), apart=0.1), _places(2)),
            Sample(_SPREAD, _places([0], [4])),
            Sample(_SPREAD, _places([0, 1, 2], [4, 4, 0]), skip_nan=True),
            Sample(Draw((2, 3, 4), apart=0.05), _places([[1]])),
            Sample(_HOLED, _places([0, 3]), skip_nan=True),
            Sample(Draw((2, 4), kind="int", low=0, high=2), _places([1, 2]), smooth=False),
            Sample(Draw((1,)), _places(0, 0)),
            Sample(_SPREAD, _places([3, 1, 4, 1, 0, 2, 2, 4, 3], [0, 0, 1, 1, 2, 2, 3, 3, 4])),
            Sample(_HOLED, _places([3, 1, 3, 1, 0, 2, 2, 0, 3], [0] * 9), skip_nan=True),
            Sample(_SPREAD, _places([3, 1, 4, 1, 0, 2, 2, 4, 3])),
            Sample(Draw((9,), kind="int", low=0, high=2), _places(*range(9)), smooth=False),
        ),
        v.weighted_quantile: (
            Sample(_SPREAD, Draw((3,), 0.1, 0.9), Draw((2, 5), 0.5, 2.0)),
            Sample(Draw((5,), apart=0.1), Draw((1,), 0.1, 0.9), Draw((5,), 0.5, 2.0)),
            Sample(_HOLED, Draw((2,), 0.1, 0.9), Draw((2, 5), 0.5, 2.0), skip_nan=True),
        ),
        v.lerp: (
            Sample(Draw((3,)), Draw((3,)), Draw((3,), 0.0, 1.0)),
            Sample(Draw((3,), kind="complex"), Draw((3,), kind="complex"), 0.3),
            Sample(Draw((2, 3)), Draw((3,)), Draw((2, 1), 0.0, 1.0)),
            Sample(Draw((2,)), Draw((2,)), Draw(None, 0.0, 0.4)),
            Sample(Draw(()), Draw(()), Draw((), 0.6, 1.0)),
            Sample(Draw(None), Draw(None), Draw(None, 0.0, 1.0)),
            Sample(Draw(None), Draw((2,)), 0.7),
        ),
        v.bincount: (
            Sample(_places(0, 2, 2, 5, 0), Draw((5,))),
            Sample(_places(0, 2, 2, 5, 0), Draw((5,)), minlength=9),
            Sample(_places(0, 0), Draw((2,), kind="complex")),
        ),
        v.diff: (
            Sample(Draw((4,)), complex=True),
            Sample(Draw((2, 4)), n=2),
            Sample(Draw((3, 2, 2)), axis=0),
            Sample(Draw((2, 4, 1)), axis=-2, n=3, complex=True),
            Sample(Draw((1, 3)), axis=0),
            Sample(Draw((3,)), n=0),
            Sample(Draw((2,)), n=4),
        ),
        v.convolve: [
            Sample(Draw(a), Draw(b), mode=mode, complex=b == (3,) and a == (5,))
            for mode in ("full", "same", "valid")
            for a, b in _LENGTHS
        ],
    }
)
