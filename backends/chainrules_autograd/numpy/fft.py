"""``numpy.fft``, whose functions accept traced values."""

from __future__ import annotations

from typing import Any

import numpy as np


def __getattr__(name: str) -> Any:
    return getattr(np.fft, name)
