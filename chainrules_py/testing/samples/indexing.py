"""Samples of operations that read elements, and write them."""

from typing import Any

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

_LINE = Draw((5,))
_FLAT = Draw((3, 4))
_BOX = Draw((2, 3, 4))


def _at(x: Draw, where: Any, *, complex: bool = False) -> Sample:
    """Return the sample of getitem for ``x[where]``."""
    pattern, arrays = v.Index.split(where, list)
    return Sample(x, *arrays, index=pattern, complex=complex)


enter_table(
    {
        v.getitem: (
            _at(_LINE, 2, complex=True),
            _at(_LINE, -1),
            _at(_LINE, slice(1, 4), complex=True),
            _at(_LINE, slice(None, None, -1)),
            _at(_LINE, slice(4, 0, -2)),
            _at(_LINE, slice(0, 0)),
            _at(_FLAT, (1, 2)),
            _at(_FLAT, (slice(None), 1)),
            _at(_FLAT, (None, slice(None), slice(1, 3))),
            _at(_BOX, (Ellipsis, 0)),
            _at(_BOX, (0, Ellipsis, slice(None, None, 2)), complex=True),
            _at(Draw(()), ()),
            _at(Draw(()), None),
            _at(_LINE, [True, False, True, True, False], complex=True),
            _at(_FLAT, [[True, False, True, True], [False] * 4, [True] * 4]),
            _at(_LINE, [0, 3, 1], complex=True),
            _at(_LINE, [0, 3, 0, 0], complex=True),
            _at(_FLAT, [2, 0, -1, 2]),
            _at(_FLAT, [[2, 0], [-1, 2]]),
            _at(_FLAT, ([0, 1, 0], [2, 2, 2])),
            _at(_FLAT, (slice(None), [1, 1, 3])),
            _at(_FLAT, (slice(1, None), [True, False, True, False])),
            _at(_BOX, ([0, 1, 1], slice(None), [2, 0, 0])),
            _at(_BOX, (1, [0, 2, 0], None)),
            _at(_LINE, True),
        ),
        v.scatter_add: (
            Sample(_LINE, Draw((3,)), index=v.Index.split(slice(1, 4))[0], complex=True),
            Sample(_LINE, Draw((4,)), [0, 3, 0, 0], index=v.Index((v.Index.HOLE,)), complex=True),
            Sample(_FLAT, Draw((2, 4)), [2, 2], index=v.Index((v.Index.HOLE,))),
            Sample(_FLAT, Draw(()), index=v.Index((1, 2))),
        ),
        v.put_at: (
            Sample(_LINE, Draw((3,)), index=v.Index.split(slice(1, 4))[0], complex=True),
            Sample(_LINE, Draw(()), index=v.Index((2,))),
            Sample(
                _FLAT, Draw((2, 1)), index=v.Index.split((slice(1, None), slice(None, None, -2)))[0]
            ),
            Sample(_FLAT, Draw((1, 1, 4)), index=v.Index((Ellipsis,))),
            Sample(_FLAT, Draw((1, 4)), index=v.Index((0,))),
            Sample(_LINE, Draw((4,)), [0, 3, 0, 0], index=v.Index((v.Index.HOLE,)), complex=True),
            Sample(_FLAT, Draw(()), [0, 1, -3], [2, 2, 2], index=v.Index((v.Index.HOLE,) * 2)),
            Sample(_FLAT, Draw((4,)), [1, -1, 2], index=v.Index((v.Index.HOLE,))),
            Sample(
                _LINE, Draw((3,)), [True, False, True, True, False], index=v.Index((v.Index.HOLE,))
            ),
            Sample(_FLAT, 2.0, [[True, False, True, True]] * 3, index=v.Index((v.Index.HOLE,))),
        ),
        v.take: (
            Sample(_LINE, [0, 3, 0], axis=0, complex=True),
            Sample(_FLAT, [0, 3, 0], axis=-1, complex=True),
            Sample(_FLAT, [2, -1], axis=0),
            Sample(_FLAT, [[0, 1], [2, 2]], axis=1),
            Sample(_FLAT, [0, 11, 5]),
            Sample(_LINE, 3, axis=0),
        ),
        v.take_along_axis: (
            Sample(_FLAT, [[0, 1, 1, 2], [2, 0, 0, 0]], axis=0, complex=True),
            Sample(_FLAT, [[0, 3, 0], [1, 1, 1], [2, 0, 3]], axis=-1),
            Sample(_FLAT, [[0, 3]], axis=1),
        ),
        v.put_along_axis_add: (
            Sample(_FLAT, Draw((2, 4)), [[0, 1, 1, 2], [0, 0, 0, 0]], axis=0, complex=True),
            Sample(_FLAT, Draw((3, 3)), [[0, 3, 0], [1, 1, 1], [2, 0, 3]], axis=-1),
        ),
    }
)
