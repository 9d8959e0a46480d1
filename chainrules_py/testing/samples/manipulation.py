"""Samples of operations that rearrange elements."""

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table

_BOX = Draw((2, 3, 4))
_FLAT = Draw((2, 3))

enter_table(
    {
        v.reshape: (
            Sample(_BOX, shape=(4, 6), complex=True),
            Sample(_BOX, shape=(-1,)),
            Sample(_BOX, shape=(3, -1, 2)),
            Sample(Draw(()), shape=(1, 1)),
            Sample(Draw((1,)), shape=()),
            Sample(Draw((0, 3)), shape=(3, 0)),
        ),
        v.permute_dims: (
            Sample(_BOX, complex=True),
            Sample(_BOX, axes=(1, 2, 0)),
            Sample(_BOX, axes=(-1, 0, -2)),
            Sample(Draw(()), axes=()),
        ),
        v.matrix_transpose: (
            Sample(_FLAT, complex=True),
            Sample(_BOX),
        ),
        v.broadcast_to: (
            Sample(_FLAT, shape=(2, 3), complex=True),
            Sample(_FLAT, shape=(4, 2, 3)),
            Sample(Draw((2, 1)), shape=(2, 3), complex=True),
            Sample(Draw((1, 3, 1)), shape=(2, 2, 3, 2)),
            Sample(Draw(()), shape=(2, 2)),
        ),
        v.expand_dims: (
            Sample(_FLAT, axis=0, complex=True),
            Sample(_FLAT, axis=-1),
            Sample(_FLAT, axis=1),
            Sample(_FLAT, axis=(0, -1)),
            Sample(Draw(()), axis=0),
        ),
        v.squeeze: (
            Sample(Draw((1, 3, 1)), axis=0, complex=True),
            Sample(Draw((1, 3, 1)), axis=-1),
            Sample(Draw((1, 3, 1)), axis=(0, 2)),
            Sample(Draw((1, 3, 1))),
            Sample(Draw((1,))),
        ),
        v.flip: (
            Sample(_BOX, complex=True),
            Sample(_BOX, axis=0),
            Sample(_BOX, axis=-1),
            Sample(_BOX, axis=(0, -1)),
        ),
        v.roll: (
            Sample(_BOX, shift=1, complex=True),
            Sample(_BOX, shift=-2, axis=1),
            Sample(_BOX, shift=5, axis=-1),
            Sample(_BOX, shift=(1, -1), axis=(0, 2)),
        ),
        v.tile: (
            Sample(_FLAT, repetitions=(2,), complex=True),
            Sample(_FLAT, repetitions=(2, 3)),
            Sample(_FLAT, repetitions=(2, 1, 2)),
            Sample(Draw((3,)), repetitions=(2, 2)),
            Sample(Draw(()), repetitions=(3,)),
        ),
        v.repeat: (
            Sample(_FLAT, 2, complex=True),
            Sample(_FLAT, 2, axis=0),
            Sample(_FLAT, 3, axis=-1),
            Sample(_FLAT, [2, 0, 1], axis=1, complex=True),
            Sample(Draw((3,)), [1, 2, 0]),
        ),
        v.astype: (
            Sample(_FLAT, dtype="float64", complex=False),
            Sample(_FLAT, dtype="complex128", complex=True),
            Sample(Draw(()), dtype="complex128"),
            Sample(_FLAT, dtype="int64"),
            Sample(_FLAT, dtype="bool"),
        ),
        v.copy: (
            Sample(_FLAT, complex=True),
            Sample(Draw(())),
        ),
        v.to_device: (Sample(_FLAT, device="same", complex=True),),
        v.sliding_window_view: (
            Sample(Draw((5,)), window_shape=(3,), axis=(0,), complex=True),
            Sample(Draw((5,)), window_shape=(5,), axis=(0,)),
            Sample(Draw((4, 5)), window_shape=(2, 3), axis=(0, 1), complex=True),
            Sample(Draw((4, 5)), window_shape=(3, 2), axis=(-1, -1)),
            Sample(Draw((2, 4)), window_shape=(0,), axis=(1,)),
        ),
        v.pad: (
            Sample(_FLAT, Draw(()), widths=((1, 2), (0, 3)), complex=True),
            Sample(_FLAT, 0, widths=((0, 0), (1, 0))),
            Sample(_FLAT, 1.5, widths=((0, 0), (0, 0))),
            Sample(Draw(()), Draw(()), widths=()),
            Sample(Draw((0, 2)), Draw(None), widths=((1, 1), (0, 0))),
        ),
    }
)
