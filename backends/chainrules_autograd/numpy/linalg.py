"""``numpy.linalg``, whose functions accept traced values."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_autograd.numpy.arrays import listed

norm = listed(np.linalg.norm)


def __getattr__(name: str) -> Any:
    return getattr(np.linalg, name)
