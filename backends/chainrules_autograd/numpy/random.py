"""``numpy.random``, whose draws are constants."""

from __future__ import annotations

from typing import Any

import numpy as np


def __getattr__(name: str) -> Any:
    return getattr(np.random, name)
