"""Transformations of PyTorch's inside of a function that another engine differentiates."""

from __future__ import annotations

import traceback

from chainrules_py import ChainRulesError, TracerError
from chainrules_py.extend import describe, find_tracers
from chainrules_torch import _private

_MODULES = (_private.FUNC, "torch.nn.utils")
"""What `torch.func` is made of."""


def refuse(error: BaseException) -> None:
    """Raise for an error of `torch.func` about what is no tensor, but stands for one.

    Raises
    ------
    TracerError
        In its place, with what to write instead.
    """
    if isinstance(error, ChainRulesError):
        return
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    modules = [str(frame.f_globals.get("__name__", "")) for frame in frames]
    if not modules or not modules[-1].startswith(_MODULES):
        return
    first = max([i + 1 for i, x in enumerate(modules) if not x.startswith("torch")], default=0)
    held = find_tracers(tuple([tuple(frame.f_locals.values()) for frame in frames[first:]]))
    if held:
        said = str(error).partition("\n")[0]
        msg = (
            f"torch.func transforms tensors alone, and {describe(held[0].__payload__)} is being "
            f"differentiated by another engine ({said}): take that engine's transformation there "
            f"as well, or make a function with a rule of it, as "
            f"g = chainrules_torch.import_rule(torch.func.grad(f)), and call g"
        )
        raise TracerError(msg) from error
