"""Abilities of PyTorch with a function that is exported to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from chainrules_py import NoRuleError
from chainrules_py.extend import Support, find_rule, primal_of, resolved, unbind
from chainrules_torch.engine.callback import is_compiled
from chainrules_torch.engine.config import config
from chainrules_torch.engine.export import is_program, plan_for
from chainrules_torch.engine.solve import is_known


def supports(f: Callable[..., Any], /, *operands: Any, **options: Any) -> Support:
    """Tell what PyTorch can do with an exported function, for operands like these.

    Parameters
    ----------
    f : callable
        As `chainrules_torch.export` takes it.
    *operands
        Those of a call; their types count. Without any, tensors.
    **options
        Those of a call.

    Returns
    -------
    Support
        ``jit`` is `torch.compile`.

    Examples
    --------
    >>> import torch
    >>> from chainrules_py import vocabulary as v
    >>> supports(v.sin)
    Support(grad=True, jvp=True, vmap=True, jit=True, order=inf)
    >>> supports(v.bincount, torch.ones(3, dtype=torch.int64), torch.ones(3)).vmap
    False
    """
    if operands or options:
        call = resolved(f, operands, options)
        word, classes = call.word, tuple(map(type, call.operands))
        options = call.options
    else:
        word = primal_of(unbind(f, ())[0])
        classes = () if word is None else (torch.Tensor,) * max(1, len(word.operands))
    if word is None or is_program(word, classes):  # each of what it calls has its own
        return Support(grad=True, jvp=True, vmap=True, jit=True, order=math.inf)
    rule = find_rule(word, classes, config)
    nothing = Support(grad=False, jvp=False, vmap=False, jit=False, order=0)
    if rule is None:
        return nothing
    try:
        plan = plan_for(word, classes, options)
    except NoRuleError:
        return nothing
    statement = rule.reverse or rule.forward
    constant = statement is not None and statement.recipe.is_constant
    fixed = not word.shape_from_data
    seen = is_known(word) if plan.solves else is_compiled(word, plan.compute)
    return Support(
        grad=rule.reverse is not None,
        jvp=rule.forward is not None,
        vmap=fixed,
        jit=fixed and seen,
        order=0 if constant else math.inf,
    )
