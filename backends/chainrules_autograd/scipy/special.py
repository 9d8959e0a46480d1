"""``scipy.special`` for traced values."""

from __future__ import annotations

from typing import Any

import scipy.special as _theirs

from chainrules_scipy import special as _ours


def __getattr__(name: str) -> Any:
    return getattr(_ours if hasattr(_ours, name) else _theirs, name)
