"""A call of SciPy's, as plain SciPy where ours is installed, against differences of its values."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np

import chainrules_scipy
from chainrules_tape import grad, jvp
from tests.libraries.scipy.samples.common import SAMPLES, Sample

MODULES = (
    *("special", "linalg", "fft", "signal", "ndimage", "interpolate", "integrate", "optimize"),
    *("spatial", "sparse", "stats", "seldom", "asked"),
)


def samples() -> dict[str, list[Sample]]:
    """Return all samples, by the names of the functions."""
    for module in MODULES:
        importlib.import_module(f"tests.libraries.scipy.samples.{module}")
    return SAMPLES


def leaves(y: Any) -> list[Any]:
    return [z for part in y for z in leaves(part)] if isinstance(y, (tuple, list)) else [y]


def judged(sample: Sample) -> str:
    """Return "right", or what happened: both modes, in all operands, along one direction each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's, of what it searches and integrates
        return _judged(sample)


def total_of(sample: Sample, xs: Any, rng: np.random.Generator) -> Any:
    """Return a weighted sum of all that the call gives, as a function of its operands."""
    weights = [rng.normal(size=(2, *np.shape(y))) for y in leaves(sample.run(*xs))]

    def total(*zs: Any) -> Any:
        parts = zip(leaves(sample.run(*zs)), weights, strict=True)
        return sum(
            np.sum(w[0] * np.real(y)) + (np.sum(w[1] * np.imag(y)) if np.iscomplexobj(y) else 0.0)
            for y, w in parts
        )

    return total


def _judged(sample: Sample) -> str:
    xs, rng = sample.operands, np.random.default_rng(0)
    total = total_of(sample, xs, rng)
    ways = [rng.normal(size=np.shape(x)) for x in xs]
    truths = [
        [_difference(total, xs, k, way, h) for h in (sample.step, sample.step / 4)]
        for k, way in enumerate(ways)
    ]
    try:
        with chainrules_scipy.install():
            slopes = grad(total, tuple(range(len(xs))))(*xs)
            pushed = [
                jvp(
                    lambda z, k=k: total(*[z if i == k else x for i, x in enumerate(xs)]),
                    (x,),
                    (w,),
                )[1]
                for k, (x, w) in enumerate(zip(xs, ways, strict=True))
            ]
    except Exception as error:
        return f"refused: {type(error).__name__}"
    for slope, push, way, (truth, finer) in zip(slopes, pushed, ways, truths, strict=True):
        found = np.sum(slope * way)
        if np.isnan(found) and not np.isnan(truth):
            return "not known: NaN"
        if not abs(found - truth) <= 1e-4 * (abs(truth) + 1e-2) + 3 * abs(truth - finer):
            return f"wrong: {found} for {truth}"
        if not abs(push - found) <= 1e-7 * (abs(found) + 1e-2):
            return f"wrong: {push} forward, {found} in reverse"
    return "right"


def _difference(total: Any, xs: Any, k: int, way: Any, h: float) -> Any:
    sides = [total(*[x + s * h * way if i == k else x for i, x in enumerate(xs)]) for s in (1, -1)]
    return (sides[0] - sides[1]) / (2 * h)
