"""`frule`, `rrule` and the pullback alone of each family, small and large, beside NumPy."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.families import FAMILIES, SIZES, family
from benchmarks.timing import ratio
from chainrules_py import NoRuleError, NotDifferentiableError


def library(name: str) -> tuple[Any, Callable[[], None]]:
    """Return a library and its wait; without it raise NotImplementedError, by which asv skips."""
    if name == "numpy":
        return np, lambda: None
    try:
        cupy = importlib.import_module("cupy")
        found = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # of CUDA, which has many
        raise NotImplementedError from error
    if not found:
        raise NotImplementedError
    return cupy, cupy.cuda.Device().synchronize


class Rules:
    """Through `frule` and `rrule`, checks of what people pass included."""

    params = (FAMILIES, SIZES, ("numpy", "cupy"))
    param_names = ("family", "size", "library")
    timeout = 300.0

    def setup(self, name: str, size: int, by: str) -> None:
        xp, self.wait = library(by)
        self.family = family(name, size, xp)
        try:
            self.family.frule()
            self.family.rrule()
        except (NoRuleError, NotDifferentiableError) as error:
            raise NotImplementedError from error
        self.pullback = self.family.pullback()

    def time_frule(self, name: str, size: int, by: str) -> None:
        self.family.frule()
        self.wait()

    def time_rrule(self, name: str, size: int, by: str) -> None:
        self.family.rrule()
        self.wait()

    def time_pullback(self, name: str, size: int, by: str) -> None:
        self.pullback()
        self.wait()

    def waited(self, f: Callable[[], Any]) -> Callable[[], None]:
        return lambda: (f(), self.wait())[1]

    def track_frule_to_numpy(self, name: str, size: int, by: str) -> float:
        base = self.family.push or self.family.value
        return ratio(self.waited(self.family.frule), self.waited(base))

    def track_rrule_to_numpy(self, name: str, size: int, by: str) -> float:
        base = self.family.pull or self.family.value
        return ratio(self.waited(self.family.rrule), self.waited(base))

    track_frule_to_numpy.unit = "times"  # type: ignore[attr-defined]
    track_rrule_to_numpy.unit = "times"  # type: ignore[attr-defined]
