"""Functions with rules as JAX's own differentiable functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from chainrules_jax import host  # noqa: F401
from chainrules_jax.calls import run
from chainrules_jax.values import as_values
from chainrules_py.exporting import resolved
from chainrules_py.registry import name_of

__all__ = ["export"]


def export(f: Callable[..., Any], /) -> Callable[..., Any]:
    """A function with a rule as a function of JAX, with that rule for its derivative."""

    def exported(*operands: Any, **options: Any) -> Any:
        call = resolved(f, as_values(operands), options)
        if call.word is None:
            assert call.call is not None
            return call.call()
        y = run(call.word, call.operands, call.options)
        for step in call.after:
            y = step(y)
        return y

    with_name = functools.update_wrapper(exported, f, updated=())
    with_name.__name__ = name_of(f)
    return with_name
