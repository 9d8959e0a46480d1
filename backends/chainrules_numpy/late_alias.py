"""Registration of NumPy's aliases as data; a signature is read at the first use of its alias.

Reading five hundred signatures takes half as long as importing NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chainrules_py import extend

stated: dict[Callable[..., Any], extend.Alias] = {}
"""The rows of this package, by their functions."""


def alias(native: Callable[..., Any], **row: Any) -> None:
    """Register one row."""
    stated[native] = extend.alias(native, late=True, **row)
