"""ADBench's bundle adjustment: where points lie, and how cameras stand, from their pictures.

Srajer, Kukelova, Fitzgibbon (2018), A benchmark of selected algorithmic differentiation tools.
There the Jacobian is asked for; here the gradient of the sum of squares, as a solver of first order
needs it. Observations are gathered by the camera and the point they are of.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.programs.program import Program

CAMERAS, POINTS, OBSERVATIONS = 12, 250, 800


def bundle(xp: Any) -> Callable[..., Any]:
    """Build the loss in cameras (pose, focus, principal point, distortion), points and weights."""

    def loss(
        cameras: Any, points: Any, weights: Any, of_camera: Any, of_point: Any, seen: Any
    ) -> Any:
        g = cameras[:, of_camera]
        turn = g[0:3]
        angle = xp.sqrt(xp.sum(turn * turn, axis=0))
        cosine, sine = xp.cos(angle), xp.sin(angle)
        axis = turn / angle
        d = points[:, of_point] - g[3:6]
        along = xp.sum(axis * d, axis=0) * (1.0 - cosine)
        across = xp.stack(
            [
                axis[1] * d[2] - axis[2] * d[1],
                axis[2] * d[0] - axis[0] * d[2],
                axis[0] * d[1] - axis[1] * d[0],
            ]
        )
        q = d * cosine + across * sine + axis * along
        p = q[0:2] / q[2]
        square = xp.sum(p * p, axis=0)
        distortion = 1.0 + g[9] * square + g[10] * square * square
        error = weights * (p * distortion * g[6] + g[7:9] - seen)
        weight_error = 1.0 - weights * weights
        return xp.sum(error * error) + xp.sum(weight_error * weight_error)

    return loss


def cross(a: Any, b: Any) -> Any:
    """Compute the vector product of columns."""
    return np.stack(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def scattered(rows: Any, places: Any, columns: int) -> Any:
    """Columns added up where they belong."""
    offsets = columns * np.arange(len(rows))[:, None] + places
    sums = np.bincount(offsets.ravel(), weights=rows.ravel(), minlength=columns * len(rows))
    return sums.reshape(len(rows), columns)


def by_hand(
    cameras: Any, points: Any, weights: Any, of_camera: Any, of_point: Any, seen: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Compute the loss of the bundle adjustment and its gradient, in NumPy."""
    g = cameras[:, of_camera]
    turn, f, k1, k2 = g[:3], g[6], g[9], g[10]
    angle = np.sqrt(np.sum(turn * turn, axis=0))
    cosine, sine = np.cos(angle), np.sin(angle)
    axis = turn / angle
    d = points[:, of_point] - g[3:6]
    dot, rest = np.sum(axis * d, axis=0), 1.0 - cosine
    along, across = dot * rest, cross(axis, d)
    q = d * cosine + across * sine + axis * along
    p = q[:2] / q[2]
    square = np.sum(p * p, axis=0)
    distortion = 1.0 + k1 * square + k2 * square * square
    e = p * distortion
    missed = e * f + g[7:9] - seen
    error, weight_error = weights * missed, 1.0 - weights * weights
    value = np.sum(error * error) + np.sum(weight_error * weight_error)

    g_bar = np.empty_like(g)
    error_bar = 2.0 * error
    weights_bar = np.sum(error_bar * missed, axis=0) - 4.0 * weights * weight_error
    g_bar[7:9] = seen_bar = error_bar * weights
    g_bar[6] = np.sum(seen_bar * e, axis=0)
    e_bar = seen_bar * f
    distortion_bar = np.sum(e_bar * p, axis=0)
    g_bar[9] = distortion_bar * square
    g_bar[10] = g_bar[9] * square
    p_bar = e_bar * distortion + 2.0 * distortion_bar * (k1 + 2.0 * k2 * square) * p
    q_bar = np.empty_like(q)
    q_bar[:2] = p_bar / q[2]
    q_bar[2] = -np.sum(q_bar[:2] * p, axis=0)
    along_bar = np.sum(q_bar * axis, axis=0)
    dot_bar, across_bar = along_bar * rest, q_bar * sine
    angle_bar = np.sum(q_bar * across, axis=0) * cosine
    angle_bar -= (np.sum(q_bar * d, axis=0) - along_bar * dot) * sine
    axis_bar = q_bar * along + dot_bar * d + cross(d, across_bar)
    d_bar = q_bar * cosine + dot_bar * axis + cross(across_bar, axis)
    angle_bar -= np.sum(axis_bar * axis, axis=0) / angle
    g_bar[:3] = axis_bar / angle + angle_bar * axis
    g_bar[3:6] = -d_bar
    return value, (
        scattered(g_bar, of_camera, cameras.shape[1]),
        scattered(d_bar, of_point, points.shape[1]),
        weights_bar,
    )


def inputs(
    number: int = CAMERAS, many: int = POINTS, observations: int = OBSERVATIONS
) -> tuple[Any, ...]:
    """Cameras, points, weights, and what was seen of which point by which camera."""
    rng = np.random.default_rng(0)
    cameras = np.concatenate(
        [
            0.3 * rng.normal(size=(3, number)),
            rng.normal(size=(2, number)),
            rng.normal(size=(1, number)) - 8.0,
            rng.uniform(0.8, 1.2, size=(1, number)),
            0.1 * rng.normal(size=(2, number)),
            0.05 * rng.normal(size=(2, number)),
        ]
    )
    return (
        cameras,
        rng.normal(size=(3, many)),
        rng.uniform(0.5, 1.5, size=observations),
        rng.integers(0, number, observations),
        rng.integers(0, many, observations),
        rng.normal(size=(2, observations)),
    )


BUNDLE = Program(
    f"ADBench BA, {CAMERAS} cameras, {OBSERVATIONS} observations",
    inputs,
    3,
    bundle,
    by_hand,
    budget=4,
    aim=3,
    elements=11 * OBSERVATIONS,
)
