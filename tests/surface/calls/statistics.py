"""Calls of NumPy's statistics: variances, quantiles, correlations, histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainrules_py.testing.samples.sample import Draw, Sample
from tests.surface.calls.call import enter_calls
from tests.surface.calls.reductions import backwards, both, with_nan

_BOX = Draw((2, 3, 2))
_SPREAD = Draw((3, 4), apart=0.1)
_HOLES = Draw((3, 4), apart=0.1, make=with_nan(0, 5, 6))
_ROW = np.array([True, False, True])[:, None]
_MEANS = Draw((2, 1, 2))


# -------------------------------------------------------------------------- means and variances

for _name in (*both("var"), *both("std")):
    enter_calls(
        _name,
        Sample(_BOX, complex=True),
        Sample(_BOX, axis=-1, complex=True),
        Sample(_BOX, axis=(0, -1), keepdims=True),
        Sample(_BOX, axis=1, ddof=1),
        Sample(_BOX, axis=1, ddof=0.5, keepdims=True),
        Sample(_BOX, axis=1, where=_ROW, complex=True),
        Sample(_BOX, axis=(1, 2), where=_ROW, ddof=1, keepdims=True),
        Sample(_BOX, axis=1, mean=_MEANS, complex=True),
        Sample(_BOX, axis=1, mean=_MEANS, where=_ROW, ddof=1),
        Sample(_BOX, mean=Draw(None)),
        Sample(_BOX, axis=0, dtype="float64"),
        Sample(_BOX, axis=0, dtype="float32", smooth=False),
        Sample(Draw((4, 2), make=backwards), axis=-2),
        Sample(Draw((1, 3)), smooth=False),
    )
for _name in ("var", "std"):
    enter_calls(
        _name,
        Sample(_BOX, axis=1, correction=0.5, keepdims=True),
        Sample(_BOX, axis=1, correction=1, mean=_MEANS, where=_ROW),
    )
for _name in ("nanmean", "nanvar", "nanstd"):
    enter_calls(
        _name,
        Sample(_BOX, complex=True),
        Sample(_HOLES, axis=-1, complex=True),
        Sample(_HOLES, axis=(0, 1), keepdims=True),
        Sample(_HOLES, axis=0),
        Sample(_HOLES, axis=0, where=np.array([[True], [True], [False]]), smooth=False),
        Sample(_HOLES, axis=1, where=np.array([True, True, False, True])),
        Sample(Draw((2, 3), make=with_nan(0, 1, 2)), axis=1, smooth=False),
        Sample(Draw((3, 4), make=with_nan(3)), dtype="float64"),
        Sample(Draw((0, 3)), axis=1),
    )
for _name in ("nanvar", "nanstd"):
    enter_calls(
        _name,
        Sample(_HOLES, axis=1, ddof=1),
        Sample(_HOLES, correction=0.5, keepdims=True),
        Sample(_HOLES, axis=1, mean=Draw((3, 1))),
        Sample(_HOLES, axis=1, ddof=3, smooth=False),
    )

_WEIGHTS = Draw((2, 3, 2), 0.5, 2.0)
enter_calls(
    "average",
    Sample(_BOX, complex=True),
    Sample(_BOX, axis=1, keepdims=True),
    Sample(_BOX, axis=-1, returned=True),
    Sample(_BOX, axis=(0, 2), weights=_WEIGHTS, complex=True),
    Sample(_BOX, weights=_WEIGHTS, returned=True, keepdims=True),
    Sample(_BOX, axis=1, weights=Draw((3,), 0.5, 2.0), returned=True),
    Sample(_BOX, axis=(2, 1), weights=Draw((2, 3), 0.5, 2.0), keepdims=True),
    Sample(_BOX, 1, [1, 2, 3]),
    Sample(Draw((3,), kind="int", low=-3, high=4), weights=Draw((3,), 0.5, 2.0)),
    Sample([1, 2, 3], weights=Draw((3,), 0.5, 2.0)),
    Sample(Draw(())),
)

# ------------------------------------------------------------------------------------- quantiles

for _name in ("median", "nanmedian"):
    enter_calls(
        _name,
        Sample(_SPREAD),
        Sample(_SPREAD, axis=-1),
        Sample(_SPREAD, axis=0, keepdims=True),
        Sample(Draw((2, 3, 3), apart=0.1), axis=(0, -1), keepdims=True),
        Sample(Draw((2, 3, 3), apart=0.1), axis=(1,)),
        Sample(Draw((2, 3, 3), apart=0.1), keepdims=True),
        Sample(Draw((5, 2), apart=0.1, make=backwards), axis=-2),
        Sample(Draw((1,))),
        Sample(Draw(())),
        Sample(Draw((2, 0)), axis=1, smooth=False),
        Sample(Draw((5,), kind="int", low=-5, high=5), smooth=False),
    )
enter_calls("median", Sample(Draw((4,), kind="complex")))
enter_calls(
    "nanmedian",
    Sample(_HOLES),
    Sample(_HOLES, axis=1),
    Sample(_HOLES, axis=0, keepdims=True),
    Sample(Draw((2, 3), make=with_nan(0, 1, 2)), axis=1, smooth=False),
)
_METHODS = (
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "linear",
    "median_unbiased",
    "normal_unbiased",
    "lower",
    "higher",
    "midpoint",
    "nearest",
)


def _quantile_calls(name: str, whole: float) -> None:
    """Enter calls of a function of x and q, where q is a part of ``whole``."""
    skips = name.startswith("nan")
    x = _HOLES if skips else _SPREAD
    some = [0.07 * whole, 0.51 * whole, 0.93 * whole]

    def q(shape: tuple[int, ...] | None) -> Draw:
        return Draw(shape, 0.05 * whole, 0.9 * whole)

    enter_calls(
        name,
        Sample(x, q(None)),
        Sample(x, q(()), axis=-1),
        Sample(x, q((3,)), axis=0, keepdims=True),
        Sample(x, q((2, 2)), axis=1),
        Sample(Draw((2, 3, 3), apart=0.1), q((2,)), axis=(0, -1), keepdims=True),
        Sample(Draw((2, 3, 3), apart=0.1), q(None), (2, 0)),
        Sample(x, some, axis=1),
        Sample(x, 0.0, axis=1),
        Sample(x, whole, axis=1),
        Sample(x, np.array([0, whole], int)),
        Sample(x, q((2,)), axis=1, weights=Draw((3, 4), 0.5, 2.0), method="inverted_cdf"),
        Sample(x, q(None), method="inverted_cdf", weights=Draw((3, 4), 0.5, 2.0), keepdims=True),
        Sample(Draw((1,)), q((2,))),
        Sample(Draw(()), q(None)),
        Sample(Draw((5,), kind="int", low=-5, high=5), q((2,))),
        Sample([3.0, 1.0, 2.0], q(None)),
    )
    for method in _METHODS:
        enter_calls(
            name,
            Sample(x, q(None), axis=1, method=method),
            Sample(x, some, axis=0, method=method),
            Sample(x, 0.5 * whole, method=method),
            Sample(x, [0.0, whole], axis=1, method=method),
        )


_quantile_calls("quantile", 1.0)
_quantile_calls("percentile", 100.0)
_quantile_calls("nanquantile", 1.0)
_quantile_calls("nanpercentile", 100.0)
for _name in ("quantile", "percentile"):  # those of NaN do not take them in 2.4, by an oversight
    enter_calls(
        _name,
        Sample(_SPREAD, 0.3, axis=0, weights=Draw((3,), 0.5, 2.0), method="inverted_cdf"),
        Sample(_SPREAD, 0.3, axis=(0, 1), weights=[[1] * 4] * 3, method="inverted_cdf"),
    )
for _name in ("nanquantile", "nanpercentile"):
    enter_calls(_name, Sample(Draw((2, 3), make=with_nan(0, 1, 2)), 0.5, axis=1, smooth=False))

# --------------------------------------------------------------------- correlations, convolution

for _name in ("convolve", "correlate"):
    for _mode in ("full", "same", "valid"):
        enter_calls(
            _name,
            Sample(Draw((5,)), Draw((3,)), mode=_mode, complex=True),
            Sample(Draw((2,)), Draw((5,)), mode=_mode, complex=True),
            Sample(Draw((4,)), Draw((4,)), _mode),
            Sample(Draw((1,)), Draw((3,)), mode=_mode),
            Sample([1.0, 2.0, 3.0, 4.0], Draw((2,)), mode=_mode),
            Sample(Draw((3,)), Draw((2,), kind="int", low=-3, high=4), mode=_mode),
        )
    enter_calls(_name, Sample(Draw((3,)), Draw((2,))))
enter_calls("convolve", Sample(Draw(()), Draw((3,))))
enter_calls(
    "cov",
    Sample(Draw((3, 5)), complex=True),
    Sample(Draw((3, 5)), Draw((2, 5)), complex=True),
    Sample(Draw((5,)), Draw((5,))),
    Sample(Draw((5,))),
    Sample(Draw((5, 2)), Draw((5, 3)), rowvar=False),
    Sample(Draw((3, 5)), bias=True),
    Sample(Draw((3, 5)), ddof=2),
    Sample(Draw((3, 4)), fweights=[1, 2, 1, 3]),
    Sample(Draw((3, 4)), aweights=Draw((4,), 0.5, 2.0), complex=True),
    Sample(Draw((3, 4)), aweights=Draw((4,), 0.5, 2.0), ddof=0),
    Sample(Draw((3, 4)), fweights=np.array([1, 2, 1, 3]), aweights=Draw((4,), 0.5, 2.0)),
    Sample(Draw((3, 4)), fweights=np.array([1, 2, 1, 3]), ddof=2),
    Sample(Draw((2, 4)), dtype="complex128"),
    Sample(Draw((2, 4), kind="int", low=-3, high=4), Draw((4,))),
    Sample(Draw((0, 4))),
)
enter_calls(
    "corrcoef",
    Sample(Draw((3, 5)), complex=True),
    Sample(Draw((3, 5)), Draw((2, 5)), complex=True),
    Sample(Draw((5,)), Draw((5,))),
    Sample(Draw((5,))),
    Sample(Draw((5, 2)), Draw((5, 3)), rowvar=False),
    Sample(Draw((2, 4)), dtype="float64"),
)

# ------------------------------------------------------------------------------------ histograms

_PLACES = np.array([0, 2, 2, 5, 0])
enter_calls(
    "bincount",
    Sample(_PLACES, Draw((5,))),
    Sample(_PLACES, weights=Draw((5,)), minlength=8),
    Sample([0, 1, 1, 3], Draw((4,)), 2),
    Sample(np.zeros(0, int), Draw((0,)), minlength=2),
    Sample(_PLACES, minlength=3),
)
_DATA = Draw((12,), apart=0.05)
_EDGES = Draw((4,), 0.5, 1.2, make=lambda x: np.cumsum(x) - 2.2)


def _histogram_calls(name: str) -> None:
    enter_calls(
        name,
        Sample(_DATA),
        Sample(_DATA, 4, weights=Draw((12,))),
        Sample(_DATA, bins=3, range=(Draw(None, -2, -1.5), Draw(None, 1.5, 2.0))),
        Sample(_DATA, bins=3, range=(-1.0, 1.0), weights=Draw((12,))),
        Sample(_DATA, _EDGES),
        Sample(_DATA, bins=_EDGES, weights=Draw((12,))),
        Sample(_DATA, bins=[-1, 0, 1.5]),
        Sample(Draw((3, 4), apart=0.05), 3, weights=Draw((3, 4))),
        Sample(Draw((1,)), 2),
        Sample(Draw((0,)), 2),
        Sample(Draw((12,), kind="int", low=-9, high=9), 3, weights=Draw((12,))),
        *[Sample(_DATA, bins=b) for b in ("auto", "fd", "sturges", "scott", "rice", "sqrt")],
    )


_histogram_calls("histogram")
_histogram_calls("histogram_bin_edges")
enter_calls(
    "histogram",
    Sample(_DATA, 4, density=True),
    Sample(_DATA, 4, density=True, weights=Draw((12,), 0.5, 2.0)),
    Sample(_DATA, bins=_EDGES, density=True, weights=Draw((12,), 0.5, 2.0)),
    Sample(_DATA, 4, weights=Draw((12,), kind="complex")),
    Sample(_DATA, 3, (-1.0, 1.0), True, Draw((12,), 0.5, 2.0)),
)
_POINTS: dict[str, Any] = {"weights": Draw((12,), 0.5, 2.0)}
enter_calls(
    "histogram2d",
    Sample(_DATA, _DATA),
    Sample(_DATA, _DATA, 3, **_POINTS),
    Sample(_DATA, _DATA, bins=[2, 3], density=True, **_POINTS),
    Sample(_DATA, _DATA, bins=_EDGES, density=True, **_POINTS),
    Sample(_DATA, _DATA, bins=[_EDGES, 3], **_POINTS),
    Sample(_DATA, _DATA, bins=2, range=[[-1, 1], [-2, 2.0]], density=True),
)
enter_calls(
    "histogramdd",
    Sample(Draw((6, 2), apart=0.05), bins=2),
    Sample([_DATA, _DATA, _DATA], bins=2, **_POINTS),
    Sample(Draw((12, 2), apart=0.05), bins=(2, 3), density=True, **_POINTS),
    Sample([_DATA, _DATA], bins=[_EDGES, 3], density=True, **_POINTS),
    Sample(_DATA, bins=3, **_POINTS),
    Sample(Draw((12, 2), apart=0.05), bins=2, range=[None, (-1, 1)], **_POINTS),
)
