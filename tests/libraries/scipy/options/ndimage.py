"""Calls of ``scipy.ndimage``: modes, orders, origins, axes, and what is outside."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.ndimage

from tests.libraries.scipy.options.judge import Call

theirs: Any = scipy.ndimage

_rng = np.random.default_rng(2)
X = _rng.standard_normal((5, 6))
CUBE = _rng.standard_normal((3, 4, 5))
W = _rng.standard_normal(3)
W2 = _rng.standard_normal((2, 3))
MODES = (
    *("reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap", "grid-mirror"),
    *("grid-constant", "other"),
)
INSIDE = np.array([[0.3, 1.2, 3.9, 4.0, 0.0], [0.2, 3.7, 4.4, 5.0, 0.0]])
AROUND = np.array([[-1.3, -0.2, 4.3, 9.7, -17.1], [2.2, 5.4, -0.3, 2.1, 31.4]])


def places() -> Iterator[Call]:
    """Go through the interpolation of images."""
    for mode, order, prefilter, cval in itertools.product(
        MODES, range(-1, 7), (True, False), (0.0, 1.5)
    ):
        given = {"mode": mode, "order": order, "prefilter": prefilter, "cval": cval}
        for at in (INSIDE, AROUND):
            yield Call(
                f"map_coordinates {given} {at[0, 0]}",
                lambda x, c, g=given: theirs.map_coordinates(x, c, **g),
                (X, at),
            )
        if cval:
            continue
        ways: tuple[Any, ...] = (0.4, (1.3, -2.2), -7.0)
        for way in ways:
            yield Call(
                f"shift {given} {way}",
                lambda x, w, g=given: theirs.shift(x, w, **g),
                (X, np.array(way)),
            )
        for size, grid in itertools.product((1.6, (0.5, 1.3), 1.0, 0.2), (False, True)):
            yield Call(
                f"zoom {given} {size} {grid}",
                lambda x, z=size, m=grid, g=given: theirs.zoom(x, z, grid_mode=m, **g),
                (X,),
            )
        for angle, reshape in itertools.product((20.0, 90.0, -200.0), (False, True)):
            yield Call(
                f"rotate {given} {angle} {reshape}",
                lambda x, a, r=reshape, g=given: theirs.rotate(x, a, reshape=r, **g),
                (X, np.float64(angle)),
            )
        matrices: Any = (
            (np.array([[1.1, 0.2], [-0.3, 0.8]]), 0.3),
            (np.array([1.2, 0.7]), (0.3, -1.0)),
            (np.array([[1.1, 0.2, 0.4], [-0.3, 0.8, -2.0]]), 0.0),
            (np.array([[1.1, 0.2, 0.4], [-0.3, 0.8, -2.0], [0.0, 0.0, 1.0]]), 0.0),
            (np.ones((3, 1)), 0.0),
        )
        shapes: tuple[Any, ...] = (None, (3, 4))
        for k, ((m, o), shape) in enumerate(itertools.product(matrices, shapes)):
            yield Call(
                f"affine_transform {given} {k}",
                lambda x, m, o, s=shape, g=given: theirs.affine_transform(
                    x, m, o, output_shape=s, **g
                ),
                (X, m, np.array(o)),
            )
    for mode, order in itertools.product(MODES, range(-1, 7)):
        for axis in (0, -1, 2):
            yield Call(
                f"spline_filter1d {mode} {order} {axis}",
                lambda x, m=mode, o=order, a=axis: theirs.spline_filter1d(x, o, a, mode=m),
                (X,),
            )
        yield Call(
            f"spline_filter {mode} {order}",
            lambda x, m=mode, o=order: theirs.spline_filter(x, o, mode=m),
            (X,),
        )
        yield Call(
            f"cube {mode} {order}",
            lambda x, m=mode, o=order: theirs.rotate(x, 30.0, (0, 2), order=o, mode=m),
            (CUBE,),
        )
    for n in (1, 2):
        for mode, order in itertools.product(MODES, range(6)):
            yield Call(
                f"map_coordinates of {n} {mode} {order}",
                lambda x, c, m=mode, o=order: theirs.map_coordinates(x, c, order=o, mode=m),
                (X[0, :n], np.array([[-1.3, 0.0, 0.3, 1.0, 2.7]])),
            )


LINES = {
    "correlate1d": lambda x, w, **g: theirs.correlate1d(x, w, **g),
    "convolve1d": lambda x, w, **g: theirs.convolve1d(x, w, **g),
    "uniform_filter1d": lambda x, w, **g: theirs.uniform_filter1d(x, len(w), **g),
    "minimum_filter1d": lambda x, w, **g: theirs.minimum_filter1d(x, len(w), **g),
    "maximum_filter1d": lambda x, w, **g: theirs.maximum_filter1d(x, len(w), **g),
}
AREAS = {
    "correlate": lambda x, w, **g: theirs.correlate(x, w, **g),
    "convolve": lambda x, w, **g: theirs.convolve(x, w, **g),
    "uniform_filter": lambda x, w, **g: theirs.uniform_filter(x, w.shape, **g),
    "minimum_filter": lambda x, w, **g: theirs.minimum_filter(x, w.shape, **g),
    "maximum_filter": lambda x, w, **g: theirs.maximum_filter(x, w.shape, **g),
    "median_filter": lambda x, w, **g: theirs.median_filter(x, w.shape, **g),
    "rank_filter": lambda x, w, **g: theirs.rank_filter(x, 1, w.shape, **g),
    "percentile_filter": lambda x, w, **g: theirs.percentile_filter(x, 40, w.shape, **g),
    "footprint": lambda x, w, **g: theirs.maximum_filter(x, footprint=w > -0.5, **g),
    "grey_erosion": lambda x, w, **g: theirs.grey_erosion(x, w.shape, **g),
    "grey_dilation": lambda x, w, **g: theirs.grey_dilation(x, w.shape, **g),
    "structure": lambda x, w, **g: theirs.grey_dilation(x, structure=w, **g),
    "grey_opening": lambda x, w, **g: theirs.grey_opening(x, w.shape, **g),
    "grey_closing": lambda x, w, **g: theirs.grey_closing(x, w.shape, **g),
    "morphological_gradient": lambda x, w, **g: theirs.morphological_gradient(x, w.shape, **g),
    "morphological_laplace": lambda x, w, **g: theirs.morphological_laplace(x, w.shape, **g),
    "white_tophat": lambda x, w, **g: theirs.white_tophat(x, w.shape, **g),
    "black_tophat": lambda x, w, **g: theirs.black_tophat(x, w.shape, **g),
}


def filters() -> Iterator[Call]:
    """Go through filters."""
    pairs = [(m, n) for m, n in itertools.product(MODES, repeat=2) if "other" not in (m, n)]
    for (name, f), mode, axis, origin, n in itertools.product(
        LINES.items(), MODES, (0, -1, 2), (-2, -1, 0, 1), (1, 2, 3, 8)
    ):
        given = {"mode": mode, "axis": axis, "origin": origin, "cval": 0.7}
        yield Call(
            f"{name} {given} {n}",
            lambda x, w, f=f, g=given: f(x, w, **g),
            (X, np.random.default_rng(n).standard_normal(n)),
        )
    for (name, f), mode, origin, w in itertools.product(
        AREAS.items(), (*MODES, *pairs[::9]), (-1, 0, (0, -1), (1, 1)), (W2, W2.T, W2[:, :2], W)
    ):
        given = {"mode": mode, "origin": origin, "cval": 0.7}
        yield Call(f"{name} {given} {w.shape}", lambda x, w, f=f, g=given: f(x, w, **g), (X, w))
    for (name, f), axes, mode in itertools.product(
        AREAS.items(), ((0, 2), (2, 0), (-1, 1), 1, (0, 0)), ("reflect", "constant")
    ):
        yield Call(
            f"{name} axes {axes} {mode}",
            lambda x, w, f=f, a=axes, m=mode: f(x, w, axes=a, mode=m),
            (CUBE, W2),
        )
    for mode, order, radius, cut in itertools.product(
        (*MODES, ("reflect", "wrap")), (0, 1, 2, 3, (0, 1), -1), (None, 2, (1, 2)), (4.0, 2.0)
    ):
        given = {"mode": mode, "order": order, "radius": radius, "truncate": cut, "cval": 0.7}
        for sigma in (0.8, (0.7, 1.3), (0.0, 1.0)):
            yield Call(
                f"gaussian_filter {given} {sigma}",
                lambda x, s, g=given: theirs.gaussian_filter(x, s, **g),
                (X, np.array(sigma)),
                steps=(1e-6, 3e-7),
            )
        yield Call(
            f"gaussian_filter1d {given}",
            lambda x, s, g=given: theirs.gaussian_filter1d(x, s, 0, **g),
            (X, np.float64(0.8)),
            steps=(1e-6, 3e-7),
        )
    for mode, axes, width in itertools.product(
        (*MODES, ("reflect", "wrap")), (None, (0, 1), (1, 0), (0,), -1), (0.8, (0.7, 1.3))
    ):
        for name in ("gaussian_laplace", "gaussian_gradient_magnitude", "gaussian_filter"):
            for more in ({}, {"radius": 2}, {"truncate": 2.0}):
                yield Call(
                    f"{name} {mode} {axes} {width} {more}",
                    lambda x, s, f=name, m=mode, a=axes, g=more: getattr(theirs, f)(
                        x, s, mode=m, axes=a, cval=0.7, **g
                    ),
                    (X, np.array(width)),
                )
        yield Call(
            f"laplace {mode} {axes}",
            lambda x, m=mode, a=axes: theirs.laplace(x, mode=m, axes=a, cval=0.7),
            (X,),
        )
    for name, mode, axis in itertools.product(
        ("sobel", "prewitt"), (*MODES, ("reflect", "wrap")), (0, -1, 1, 2)
    ):
        yield Call(
            f"{name} {mode} {axis}",
            lambda x, f=name, m=mode, a=axis: getattr(theirs, f)(x, a, mode=m, cval=0.7),
            (X,),
        )


LABELS = np.array([[1, 1, 2, 0, 3, 3], [1, 2, 2, 0, 3, 1], [5, 5, 2, 2, 0, 0]] + [[0] * 6] * 2)


def measurements() -> Iterator[Call]:
    """Go through measurements of labelled regions."""
    for name, index in itertools.product(
        (
            *("sum", "sum_labels", "mean", "variance", "standard_deviation", "minimum", "maximum"),
            *("median", "center_of_mass", "extrema", "maximum_position", "histogram"),
        ),
        (None, 2, [1, 3], [1, 4], np.array([2, 1]), np.array([[1, 2], [3, 5]])),
    ):
        for labels in (None, LABELS, LABELS > 0):
            yield Call(
                f"{name} {index} {None if labels is None else labels.dtype}",
                lambda x, f=name, i=index, n=labels: getattr(theirs, f)(
                    x, *((-3.0, 3.0, 4) if f == "histogram" else ()), labels=n, index=i
                ),
                (X,),
            )
    for name in ("fourier_gaussian", "fourier_uniform", "fourier_ellipsoid", "fourier_shift"):
        for size, n, axis in itertools.product((1.3, (0.7, 2.0)), (-1, 6, 9), (-1, 0)):
            yield Call(
                f"{name} {size} {n} {axis}",
                lambda x, s, f=name, n=n, a=axis: getattr(theirs, f)(x, s, n, a),
                (X, np.array(size)),
            )


ALL = (places, filters, measurements)
