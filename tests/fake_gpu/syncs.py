"""Counter of transfers of CuPy's values to the host: each waits for all launched before."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

COUNTED = ("get", "item", "tolist", "nonzero", "__bool__", "__float__", "__int__", "__index__")
"""The members of ``cupy.ndarray`` that are counted."""


@contextlib.contextmanager
def count_syncs() -> Iterator[list[str]]:
    """Collect, inside a ``with`` block, the names of what brings values of CuPy's to the host.

    It works the same where CuPy has its GPU.
    """
    cls: Any = importlib.import_module("cupy").ndarray
    seen: list[str] = []
    before = {name: vars(cls).get(name) for name in COUNTED}

    def counted(name: str) -> Callable[..., Any]:
        native = getattr(cls, name)

        def method(self: Any, *args: Any, **keywords: Any) -> Any:
            seen.append(name)
            return native(self, *args, **keywords)

        return method

    for name in COUNTED:
        if hasattr(cls, name):
            setattr(cls, name, counted(name))
    try:
        yield seen
    finally:
        for name, method in before.items():
            if method is not None:
                setattr(cls, name, method)
            elif name in vars(cls):
                delattr(cls, name)
