"""Calls of SciPy's functions, and the arrays that they take."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

SAMPLES: dict[str, list[Sample]] = {}
_UFUNCS = ("besselpoly", "hyp1f1", "mathieu_", "obl_", "pbdv", "pbvv", "pro_")
TAME = (
    *[f"special.{name}" for name in _UFUNCS],
    *("integrate.dblquad", "integrate.nquad", "integrate.solve_ivp", "integrate.tplquad"),
    *("linalg.polar", "spatial.transform.Rotation"),  # np.linalg.svd of an infinity
    *("sparse.linalg.expm_multiply", "sparse.linalg.lsqr"),
    *("integrate.odeint", "special.riccati_jn", "special.riccati_yn"),  # leave what memory held
)
"""With how names begin of which NumPy's or SciPy's own code ends the process, takes all memory,
does not come back, or gives something else each time, at infinite and large numbers."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """A call of a function of SciPy's, by its name under ``scipy``."""

    name: str
    call: Callable[..., Any]
    operands: tuple[Any, ...]
    step: float = 1e-6

    def __str__(self) -> str:
        return self.name

    def run(self, *xs: Any) -> Any:
        """Call what stands under the name now."""
        module, _, name = self.name.rpartition(".")
        return self.call(getattr(importlib.import_module(f"scipy.{module}"), name), *xs)


def sample(name: str, *operands: Any, call: Any = None, step: float = 1e-6) -> None:
    """Enter a call; of the operands alone, unless ``call(function, *operands)`` is given."""
    made = Sample(name, call or (lambda f, *xs: f(*xs)), operands, step)
    SAMPLES.setdefault(name, []).append(made)


def draw(*shape: int, seed: int = 0) -> Any:
    """Draw numbers from a normal distribution."""
    return np.random.default_rng(sum(shape) + 10 * seed).normal(size=shape)


def definite(n: int, seed: int = 0) -> Any:
    """Draw a matrix that is symmetric and positive definite."""
    a = draw(n, n, seed=seed)
    return a @ a.T / n + np.eye(n)


def symmetric(a: Any) -> Any:
    """Return the mean of a matrix and its transpose."""
    return 0.5 * (a + a.T)
