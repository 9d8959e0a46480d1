"""Words that the array-API standard has no function for, in words that it has.

They serve libraries that say nothing else, so that registering a namespace is enough to bring one.
None is as fast as what a library can do itself: one that minds implements the word. What NumPy has
beside the words is written in them in `chainrules_kit.fallbacks.composites`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from chainrules_py import Primitive

__all__ = ["in_words"]


def in_words(table: Mapping[Primitive[..., Any], Callable[..., Any]]) -> None:
    """Say for each of several words how other words compute it."""
    for word, computed in table.items():
        word.fallback(computed)
