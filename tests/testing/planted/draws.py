"""Operands of right rules, drawn anew from a generator of random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

SHAPE = (2, 3)


def given(*operands: Any) -> Any:
    """Take these operands, whatever the draw."""
    return lambda rng: operands


def normal(
    *shapes: tuple[int, ...], scale: float = 1.0, shift: float = 0.0, dtype: Any = np.float64
) -> Any:
    """Draw arrays of these shapes."""
    return lambda rng: tuple(
        [np.asarray(scale * rng.standard_normal(s) + shift, dtype) for s in shapes]
    )


def complex_normal(*shapes: tuple[int, ...], dtype: Any = np.complex128) -> Any:
    """Draw complex arrays of these shapes."""
    return lambda rng: tuple(
        [(rng.standard_normal(s) + 1j * rng.standard_normal(s)).astype(dtype) for s in shapes]
    )


def positive(*shapes: tuple[int, ...], scale: float = 1.0) -> Any:
    """Draw positive arrays of these shapes."""
    return lambda rng: tuple([scale * (0.5 + rng.random(s)) for s in shapes])
