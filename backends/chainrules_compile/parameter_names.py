"""Names of the parameters of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from chainrules_compile.scope import identifier

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def named_parameters(f: Callable[..., Any]) -> dict[str, Any]:
    """Return the names of parameters with their kinds; empty where the signature is unknown."""
    try:
        return {p.name: p.kind for p in inspect.signature(f).parameters.values()}
    except (TypeError, ValueError):
        return {}


def parameters_of(f: Callable[..., Any], n: int, keywords: tuple[str, ...]) -> list[str]:
    """Return names for n positional arguments and for the keywords, in the source of a program.

    They are the names in the signature, or the keywords, where these are valid identifiers.
    """
    known, names = named_parameters(f), list[str]()
    positional = [name for name, kind in known.items() if kind in _POSITIONAL]
    for i in range(n):
        name = positional[i] if i < len(positional) else f"arg{i}"
        while name in names or name in keywords:
            name = f"{name}_{i}"
        names.append(identifier(name))
    for key in keywords:
        name = identifier(key)
        while name in names or (name != key and name in keywords):
            name = f"{name}_"
        names.append(name)
    return names


def gathered(f: Callable[..., Any], named: dict[str, str]) -> tuple[str, ...]:
    """Return the keywords that a program takes as a dict; `named` maps each to its source name.

    These are the keywords whose order the function can see in ``**kwargs``, and those that are
    not valid parameter names.
    """
    kinds = named_parameters(f) if len(named) > 1 else {}
    sees = len(named) > 1 and (not kinds or inspect.Parameter.VAR_KEYWORD in kinds.values())
    seen = [key for key in named if sees and kinds.get(key) not in _BY_NAME]
    return tuple(
        [key for key, name in named.items() if (key in seen and len(seen) > 1) or key != name]
    )
