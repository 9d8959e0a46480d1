"""Maps that a rule gives: their pulls, and what they saved."""

from __future__ import annotations

from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch

from chainrules_py import LinearMap, space, unthunk
from chainrules_py.extend import Space, StructureSpace, Unbroadcast, fit
from chainrules_py.vocabulary.indexing import Index
from chainrules_torch.engine.outputs import written

Tensor = torch.Tensor
PLAIN: set[type] = {
    type(None), bool, int, float, complex, str, slice, Index, Space, StructureSpace, Unbroadcast,
    torch.dtype, torch.device, torch.Size, BuiltinFunctionType,
}  # fmt: skip
"""Classes of what holds no tensor."""
NUMBERS = (float, complex)
"""Classes of what a rule may have computed from a tensor."""


def holds_nothing(f: FunctionType) -> bool:
    """Tell whether a function keeps no value of the moment it was made, in cells or defaults."""
    return f.__closure__ is None and not f.__defaults__ and not f.__kwdefaults__


def plain_pulls(
    maps: Sequence[Any],
    xs: Sequence[Any],
    places: Sequence[int],
    known: Sequence[Any],
    tensors: list[Any],
) -> list[tuple[Any, ...]] | None:
    """Take the maps of some operands apart, for `pull_plain`; add what they saved to ``tensors``.

    None where a pull keeps something from the moment it was made, or saved anything but constants
    and tensors that are ``known``.
    """
    pulls = []
    for i in places:
        m, x = maps[i], xs[i]
        if type(m) is not LinearMap:
            return None
        half, saved = m.pull, m.saved
        if type(half) is not FunctionType or half.__closure__ is not None:
            return None
        if half.__defaults__ or half.__kwdefaults__:
            return None
        statics: Sequence[tuple[Any, ...]] = ()
        for y in saved:
            if isinstance(y, Tensor) or type(y) in NUMBERS:
                for z in known:
                    if y is z:
                        break
                else:
                    return None
            elif type(y) not in PLAIN:
                return None
            if not isinstance(y, Tensor):
                statics = [static(y) for y in saved]
        tensors += saved if not statics else [y for y in saved if isinstance(y, Tensor)]
        count = statics.count(()) if statics else len(saved)
        pulls.append((half, statics, count, x.dtype, x.shape))
    return pulls


def pull_plain(pulls: Sequence[tuple[Any, ...]], y_bar: Any, *tensors: Any) -> Any:
    """Pull back by each of some maps; what does not fit its operand is brought to it."""
    bars = []
    at = 0
    for half, statics, n, dtype, shape in pulls:
        if statics:
            bar = filled(half, statics, y_bar, *tensors[at : at + n])
        else:
            bar = half(y_bar, *tensors[at : at + n])
        at += n
        if not (isinstance(bar, Tensor) and bar.dtype is dtype and bar.shape == shape):
            bar = fitted(bar, y_bar, dtype, shape)
        bars.append(bar)
    return tuple(bars) if len(bars) > 1 else bars[0]


def fitted(bar: Any, y_bar: Any, dtype: Any, shape: Any) -> Any:
    """Bring a cotangent to its operand, of this dtype and shape."""
    onto = space(y_bar.new_empty((), dtype=dtype)).with_shape(tuple(shape))
    return written(fit(unthunk(bar), onto), onto)


def static(x: Any) -> tuple[Any, ...]:
    """Return a saved constant, or () for a tensor."""
    return () if isinstance(x, Tensor) else (x,)


def filled(half: Any, statics: Sequence[tuple[Any, ...]], y_bar: Any, *tensors: Any) -> Any:
    """Pull back with saved values of which some are no tensors."""
    rest = iter(tensors)
    return half(y_bar, *[x[0] if x else next(rest) for x in statics])
