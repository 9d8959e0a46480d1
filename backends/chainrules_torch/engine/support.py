"""Abilities of PyTorch with a function that is exported to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from chainrules_kit import Support, stated, supported
from chainrules_py.extend import HigherOrder, primal_of, unbind
from chainrules_torch.engine.config import config
from chainrules_torch.engine.export import export, is_program
from chainrules_torch.engine.solve import is_known
from chainrules_torch.engine.transform import transformations


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Tell what PyTorch can do with an exported function, for operands like these.

    Parameters
    ----------
    f : callable
        As `chainrules_torch.export` takes it.
    *operands, **options
        Those of a call, on which each transformation is run; also compiled, which takes seconds.
        Without operands the answer is read off what is stated for tensors.

    Returns
    -------
    Support
        ``jit`` is `torch.compile`, of the value, and of its gradient where there is one.

    Examples
    --------
    >>> import torch
    >>> from chainrules_py import vocabulary as v
    >>> supports(v.sin)
    Support(grad=True, jvp=True, vmap=True, jit=True, order=inf)
    >>> supports(v.bincount, torch.ones(3, dtype=torch.int64), torch.ones(3)).jit
    False
    """
    if not operands:
        return _stated(f, options)
    return supported(
        export(f),
        operands,
        options,
        transformations,
        is_constant=not stated(f, operands, options, config).order,
        compiled=("compile", "backward of compile"),
    )


def _stated(f: Callable[..., Any], options: dict[str, Any]) -> Support:
    word = primal_of(unbind(f, ())[0])
    operands = () if word is None else (torch.zeros(()),) * max(1, len(word.operands))
    if word is None or is_program(word, tuple(map(type, operands))):
        return Support(grad=True, jvp=True, vmap=True, jit=True, order=math.inf)  # what it calls
    fixed = not word.shape_from_data
    seen = not isinstance(word, HigherOrder) or is_known(word)
    return stated(word, operands, options, config)._replace(vmap=fixed, jit=fixed and seen)
