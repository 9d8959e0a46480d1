"""Containers of arrays, which every function of this package takes and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chainrules_autograd.tracer import getval


def tree_map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to the arrays and numbers in tuples, lists and dicts.

    Examples
    --------
    >>> tree_map(lambda x, y: x + y, {"a": (1, 2)}, {"a": (10, 20)})
    {'a': (11, 22)}
    """
    if isinstance(tree, dict):
        return {key: tree_map(f, x, *[o[key] for o in others]) for key, x in tree.items()}
    if isinstance(tree, (tuple, list)):
        parts = [tree_map(f, x, *[o[i] for o in others]) for i, x in enumerate(tree)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return f(tree, *others)


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of a container; those of a dict in sorted order of its keys."""
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield from leaves(tree[key])
    elif isinstance(tree, (tuple, list)):
        for x in tree:
            yield from leaves(x)
    else:
        yield tree


def is_complex(x: Any) -> bool:
    """Return whether an array, number or tracer is complex."""
    return np.result_type(getval(x)).kind == "c"


def conjugated(tree: Any) -> Any:
    """Conjugate: autograd's cotangents of complex numbers are the conjugates of ours."""
    return tree_map(lambda x: np.conj(x) if is_complex(x) else x, tree)
