"""Samples of reductions along axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py import vocabulary as v
from chainrules_py.testing.samples.sample import Draw, Sample, enter_samples

_word: Any


def _with_zeros(*places: int) -> Callable[[Any], Any]:
    """Return a change that makes elements zero, so that a product's rule must not divide."""

    def make(x: Any) -> Any:
        x = np.array(x)
        x.flat[list(places)] = 0
        return x

    return make


def _with_nan(*places: int) -> Callable[[Any], Any]:
    """Return a change that makes some elements NaN."""

    def make(x: Any) -> Any:
        x = np.array(x)
        x.flat[list(places)] = np.nan
        return x

    return make


def _axes(x: Draw, *, several: bool = True, complex: bool = True, **options: Any) -> list[Sample]:
    """No axis, each sign, keepdims, and several axes."""
    chosen: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1}, {"axis": 1, "keepdims": True}]
    if several:
        chosen += [{"axis": (0, -1)}, {"axis": (-1, 1), "keepdims": True}, {"keepdims": True}]
    return [Sample(x, complex=complex, **{**options, **c}) for c in chosen]


_BOX = Draw((2, 3, 2))
_SPREAD = Draw((2, 3, 2), apart=0.05)

for _word in (v.sum, v.mean):
    enter_samples(
        _word,
        *_axes(_BOX),
        Sample(Draw(()), complex=True),
        Sample(Draw((1,)), axis=0),
        Sample(Draw((2, 1, 3)), axis=1, keepdims=True),
        Sample(Draw((2, 3)), axis=()),
    )
enter_samples(v.sum, Sample(Draw((0, 3)), axis=0))
enter_samples(
    v.prod,
    *_axes(_BOX),
    Sample(Draw(()), complex=True),
    Sample(Draw((1,)), axis=0),
    Sample(Draw((5,)), complex=True),
    Sample(Draw((7, 2)), axis=0),
    Sample(Draw((2, 3)), axis=()),
    Sample(Draw((5,), make=_with_zeros(2)), complex=True),
    Sample(Draw((5,), make=_with_zeros(1, 3)), complex=True),
    Sample(Draw((2, 3), make=_with_zeros(0, 1, 2)), axis=1),
    Sample(Draw((0, 3)), axis=0),
)
for _word in (v.max, v.min, v.nanmax, v.nanmin):
    enter_samples(
        _word,
        *_axes(_SPREAD, complex=False),
        Sample(Draw(())),
        Sample(Draw((1,)), axis=0),
        Sample(Draw((4,), kind="int", low=0, high=2), smooth=False),
        Sample(Draw((2, 3), make=_with_zeros(0, 1, 2)), axis=1, smooth=False),
    )
for _word in (v.nanmax, v.nanmin):
    enter_samples(
        _word,
        Sample(Draw((3, 4), apart=0.05, make=_with_nan(0, 5, 6)), axis=1),
        Sample(Draw((4,), apart=0.05, make=_with_nan(0, 2)), keepdims=True),
    )
enter_samples(
    v.var,
    *_axes(_BOX, complex=False),
    Sample(_BOX, axis=0, correction=1),
    Sample(Draw((3,)), correction=0.5),
    Sample(Draw((2, 3), kind="complex"), axis=1),
)
enter_samples(
    v.std,
    *_axes(_BOX, complex=False),
    Sample(_BOX, axis=1, correction=1),
    Sample(Draw((3,)), correction=0.5),
    Sample(Draw((2, 3), kind="complex"), axis=1),
)
for _word in (v.any, v.all, v.count_nonzero):
    enter_samples(_word, *_axes(_BOX, complex=False), Sample(Draw((3, 2), kind="bool"), axis=0))
for _word in (v.argmax, v.argmin):
    enter_samples(_word, *_axes(_SPREAD, several=False, complex=False), Sample(Draw((3,))))
for _word in (v.cumulative_sum, v.cumulative_prod):
    enter_samples(
        _word,
        Sample(Draw((4,)), complex=True),
        Sample(Draw((2, 3))),
        Sample(Draw((2, 5)), axis=1, complex=True),
        Sample(Draw((3, 2)), axis=-2),
        Sample(Draw((3, 2)), axis=0, include_initial=True, complex=True),
        Sample(Draw((1,)), axis=0),
        Sample(Draw((0, 2)), axis=0),
    )
enter_samples(
    v.cumulative_prod,
    Sample(Draw((6,), make=_with_zeros(2)), complex=True),
    Sample(Draw((6,), make=_with_zeros(1, 3)), axis=0, include_initial=True),
)
