"""Exported functions in the namespace of PyTorch, and out of it again."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any, final

import numpy as np
import torch

from chainrules_py.alias import aliases
from chainrules_py.errors import NoRuleError
from chainrules_py.loading import see
from chainrules_torch.exporting import Exported, export

__all__ = ["Installed", "install"]

DEFAULT = (
    "append", "average", "cbrt", "convolve", "correlate", "delete", "ediff1d", "nancumprod",
    "nancumsum", "nanmax", "nanmin", "nanpercentile", "nanprod", "nanstd", "nanvar", "pad",
    "partition", "percentile", "piecewise", "ptp", "resize", "unwrap",
)  # fmt: skip
"""What NumPy has and PyTorch lacks under this name."""

_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("inside", default=False)


@final
class Installed:
    """What `install` put in place. As a context manager it is removed at the end of the block.

    Attributes
    ----------
    names : tuple of str
        The names in ``torch``.
    """

    def __init__(self, before: dict[str, Any]) -> None:
        self._before = before

    @property
    def names(self) -> tuple[str, ...]:
        """The names, as long as ours stand there."""
        return tuple(self._before)

    def remove(self) -> None:
        """Put everything back as it was."""
        for name, function in reversed(self._before.items()):
            space, last = _place(name)
            if function is None:
                delattr(space, last)
            else:
                setattr(space, last, function)
        self._before = {}

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<installed in torch: {', '.join(self.names) or 'nothing'}>"


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
        If NumPy has no function of a name, or we no rule for it. Nothing is put anywhere then.

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
    chosen: dict[str, Any] = {}
    for name in names or (() if functions else DEFAULT):
        native = _find(name)
        see(native, ())
        if native is None or native not in aliases:
            msg = f"install({name!r}): there is no rule for a function numpy.{name}"
            raise NoRuleError(msg)
        chosen[name] = native
    chosen.update(functions)
    before = {}
    for name, function in chosen.items():
        space, last = _place(name)
        theirs = before[name] = getattr(space, last, None)
        ours = export(function)
        setattr(space, last, ours if theirs is None else _replacing(theirs, ours))
    return Installed(before)


def _replacing(theirs: Callable[..., Any], ours: Exported) -> Callable[..., Any]:
    """Ours, which computes by theirs."""

    @functools.wraps(ours)
    def call(*operands: Any, **options: Any) -> Any:
        if _inside.get():
            return theirs(*operands, **options)
        token = _inside.set(True)
        try:
            return ours(*operands, **options)
        finally:
            _inside.reset(token)

    return call


def _place(name: str) -> tuple[Any, str]:
    space: Any = torch
    *path, last = name.split(".")
    for part in path:
        space = getattr(space, part)
    return space, last


def _find(name: str) -> Any:
    space: Any = np
    for part in name.split("."):
        space = getattr(space, part, None)
    return space
