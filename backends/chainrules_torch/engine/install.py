"""Exported functions in the namespace of PyTorch, and out of it again."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from chainrules_compat.install import Installed, chosen, original
from chainrules_torch.engine.export import Exported, export

DEFAULT = (
    "append", "average", "cbrt", "convolve", "correlate", "delete", "ediff1d", "nancumprod",
    "nancumsum", "nanmax", "nanmin", "nanpercentile", "nanprod", "nanstd", "nanvar", "pad",
    "partition", "percentile", "piecewise", "ptp", "resize", "unwrap",
)  # fmt: skip
"""What NumPy has and PyTorch lacks under this name."""

_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("inside", default=False)


def install(*names: str, **functions: Callable[..., Any]) -> Installed:
    """Put exported functions into ``torch``, with our derivatives, or in place of what is there.

    Parameters
    ----------
    *names : str
        As they stand in NumPy and get in ``torch``: ``"linalg.cholesky"``. Called like NumPy's
        functions. By default what PyTorch lacks.
    **functions : callable
        Others, by the names they get.

    Returns
    -------
    Installed
        Its ``remove()`` puts everything back; so does the end of a ``with`` block.

    Raises
    ------
    NoRuleError
        If NumPy has no function of a name, or we no rule for it. Whatever raises, nothing is put
        anywhere then.

    Notes
    -----
    Methods of tensors stay PyTorch's, and so does what is computed in C++.

    Examples
    --------
    >>> import torch
    >>> x = torch.tensor([1.0, 4.0, 2.0], requires_grad=True)
    >>> with install("ptp"):
    ...     torch.autograd.grad(torch.ptp(x), x)
    (tensor([-1.,  1.,  0.]),)
    >>> hasattr(torch, "ptp")
    False
    """
    installed = Installed(torch)
    for name, function in chosen(np, names or (() if functions else DEFAULT), functions).items():
        theirs, ours = original(torch, name), export(function)
        installed.attribute(name, ours if theirs is None else _replacing(theirs, ours))
    return installed.put()


def _replacing(theirs: Callable[..., Any], ours: Exported) -> Callable[..., Any]:
    """Ours, which computes by theirs."""

    @functools.wraps(ours)
    def call(*operands: Any, **options: Any) -> Any:
        if _inside.get():
            return theirs(*operands, **options)
        before = _inside.get()
        try:
            _inside.set(True)
            return ours(*operands, **options)
        finally:
            _inside.set(before)

    return call
