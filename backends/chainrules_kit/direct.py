"""Plain functions with rules, for engines that run functions by another engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py.extend import primal_of


def as_seen(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the primitive of a plain function with rules (``direct=True``), or f itself.

    Who exports f names it; an engine that runs f would see the calls in its body alone.
    """
    word = primal_of(f)
    return word if word is not None and word.__wrapped__ is f else f
