"""Samples of reductions along axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_table


def _with(number: float, *places: int) -> Callable[[Any], Any]:
    """Return a function that sets some elements to a number; products are tested at zeros."""

    def make(x: Any) -> Any:
        x = np.array(x)
        x.flat[list(places)] = number
        return x

    return make


def _axes(x: Draw, *, several: bool = True, complex: bool = True, **options: Any) -> list[Sample]:
    """Return samples without an axis, with each sign of it, keepdims, and several axes."""
    chosen: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1}, {"axis": 1, "keepdims": True}]
    if several:
        chosen += [{"axis": (0, -1)}, {"axis": (-1, 1), "keepdims": True}, {"keepdims": True}]
    return [Sample(x, complex=complex, **{**options, **c}) for c in chosen]


_BOX = Draw((2, 3, 2))
_SPREAD = Draw((2, 3, 2), apart=0.05)

enter_table(
    {
        (v.sum, v.mean): (
            *_axes(_BOX),
            Sample(Draw(()), complex=True),
            Sample(Draw((1,)), axis=0),
            Sample(Draw((2, 1, 3)), axis=1, keepdims=True),
            Sample(Draw((2, 3)), axis=()),
        ),
        v.sum: (Sample(Draw((0, 3)), axis=0),),
        v.prod: (
            *_axes(_BOX),
            Sample(Draw(()), complex=True),
            Sample(Draw((1,)), axis=0),
            Sample(Draw((5,)), complex=True),
            Sample(Draw((7, 2)), axis=0),
            Sample(Draw((2, 3)), axis=()),
            Sample(Draw((5,), make=_with(0, 2)), complex=True),
            Sample(Draw((5,), make=_with(0, 1, 3)), complex=True),
            Sample(Draw((2, 3), make=_with(0, 0, 1, 2)), axis=1),
            Sample(Draw((0, 3)), axis=0),
        ),
        (v.max, v.min, v.nanmax, v.nanmin): (
            *_axes(_SPREAD, complex=False),
            Sample(Draw(())),
            Sample(Draw((1,)), axis=0),
            Sample(Draw((4,), kind="int", low=0, high=2), smooth=False),
            Sample(Draw((2, 3), make=_with(0, 0, 1, 2)), axis=1, smooth=False),
        ),
        (v.nanmax, v.nanmin): (
            Sample(Draw((3, 4), apart=0.05, make=_with(np.nan, 0, 5, 6)), axis=1),
            Sample(Draw((4,), apart=0.05, make=_with(np.nan, 0, 2)), keepdims=True),
        ),
        v.var: (
            *_axes(_BOX, complex=False),
            Sample(_BOX, axis=0, correction=1),
            Sample(Draw((3,)), correction=0.5),
            Sample(Draw((2, 3), kind="complex"), axis=1),
        ),
        v.std: (
            *_axes(_BOX, complex=False),
            Sample(_BOX, axis=1, correction=1),
            Sample(Draw((3,)), correction=0.5),
            Sample(Draw((2, 3), kind="complex"), axis=1),
        ),
        (v.any, v.all, v.count_nonzero): (
            *_axes(_BOX, complex=False),
            Sample(Draw((3, 2), kind="bool"), axis=0),
        ),
        (v.argmax, v.argmin): (
            *_axes(_SPREAD, several=False, complex=False),
            Sample(Draw((3,))),
        ),
        (v.cumulative_sum, v.cumulative_prod): (
            Sample(Draw((4,)), complex=True),
            Sample(Draw((2, 3))),
            Sample(Draw((2, 5)), axis=1, complex=True),
            Sample(Draw((3, 2)), axis=-2),
            Sample(Draw((3, 2)), axis=0, include_initial=True, complex=True),
            Sample(Draw((1,)), axis=0),
            Sample(Draw((0, 2)), axis=0),
        ),
        v.cumulative_prod: (
            Sample(Draw((6,), make=_with(0, 2)), complex=True),
            Sample(Draw((6,), make=_with(0, 1, 3)), axis=0, include_initial=True),
        ),
    }
)
