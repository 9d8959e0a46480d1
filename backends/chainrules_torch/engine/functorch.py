"""The levels of `torch.func`, where PyTorch gives a function of ours no right one to work at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch.autograd.forward_ad import _set_fwd_grad_enabled

from chainrules_torch.engine.config import is_tensor

_C: Any = torch._C
_functorch: Any = _C._functorch
_transforms_active: Callable[[], bool] = _C._are_functorch_transforms_active


def below(push: Callable[..., Any], tensors: Sequence[Any], dots: Sequence[Any]) -> Any:
    """Push forward below the level of these dual numbers, where those of outer levels are kept.

    PyTorch turns forward mode off, at all levels, while it asks a function for its derivative, so
    that a derivative of this one would be zero, without a word.
    """
    if not _transforms_active():
        return push(tensors, dots)  # dual numbers alone do not nest
    interpreter = retrieve_current_functorch_interpreter()
    level = interpreter.level()

    def lowered(xs: Sequence[Any]) -> list[Any]:
        return [_functorch._unwrap_for_grad(x, level) if is_tensor(x) else x for x in xs]

    def raised(x: Any) -> Any:
        return _functorch._wrap_for_grad(x, level) if is_tensor(x) else x

    low, low_dots = lowered(tensors), lowered(dots)
    with torch.enable_grad(), _set_fwd_grad_enabled(True), interpreter.lower():
        found = push(low, low_dots)
    return tuple(map(raised, found)) if type(found) is tuple else raised(found)
