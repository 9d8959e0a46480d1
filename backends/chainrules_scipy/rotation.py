"""Rotations of ``scipy.spatial.transform``, by SciPy's own source for arrays of any library."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial import transform as native

import chainrules_scipy.interpolate  # noqa: F401  # pyright: ignore[reportUnusedImport]  # its PPoly
from chainrules_py import ignore_derivatives
from chainrules_py import ops as v
from chainrules_py.extend import Tracer
from chainrules_scipy._private import private
from chainrules_scipy.composites_and_operand_conversions import array_of, readable, reject
from chainrules_scipy.installation import place_method
from chainrules_scipy.source_copies import (
    follow_class,
    followed,
    followed_module,
    instead_of,
    with_shortcuts,
)


def _followed(cls: type, name: str, turns: str, *methods: str) -> Any:
    """Follow the source of a class for arrays of any library; return the class if there is none.

    SciPy has no slope in the exponent of a power at 0, 1 and -1, where it copies or inverts: here
    the vectors ``turns`` are multiplied by it.
    """
    module = private(name)
    if module is None:
        return cls

    def power(x: Any, n: Any) -> Any:
        if not isinstance(n, Tracer):
            return followed(module.pow)(x, n)
        theirs, n = followed_module(module.__name__), v.reshape(array_of(n), shape=())
        return getattr(theirs, f"from_{turns}")(n * getattr(theirs, f"as_{turns}")(x))

    says = (
        "plain rotations keep no derivatives of others that are written to them; in place of "
        "r[0] = s, write r = r.concatenate([s, r[1:]])"
    )
    place_method(cls, lambda *_: reject(says), "__setitem__")
    instead_of(module.pow, power)
    return follow_class(
        cls, *methods, select_backend=lambda *_, **__: followed_module(module.__name__)
    )


def _from_matrix(matrix: Any, assume_valid: bool = False) -> Any:
    """Convert matrices to quaternions; a matrix that is no rotation becomes the nearest one.

    SciPy leaves a matrix unchanged if it is a rotation to twelve digits. A matrix near it becomes
    the nearest rotation, so that the derivative is 0 in directions that leave the rotations. Two
    steps of G. Schulz's iteration, "Iterative Berechnung der reziproken Matrix" (1933), for the
    polar factor have this derivative: they leave a rotation unchanged, and are right to the third
    order.
    """
    if not assume_valid:
        eye = np.eye(3)
        square = ignore_derivatives(matrix @ np.swapaxes(matrix, -1, -2))
        near = np.all(np.abs(square - eye) < 1e-9, axis=(-2, -1), keepdims=True)
        rotation = matrix
        for _ in range(2):
            square = np.swapaxes(rotation, -1, -2) @ rotation
            rotation = rotation @ (1.5 * eye - 0.5 * square)
        matrix = np.where(near, rotation, matrix)
    return followed(private("from_matrix"))(matrix, assume_valid)


# An even function of the angle is a function of its square, near 0 by a series: the root has no
# second derivative there, and SciPy's source divides by it.


def _series(t: Any, divisors: list[int]) -> Any:
    """Compute Σ (-t)ᵏ / dₖ."""
    total = 0.0 * t
    for d in reversed(divisors):
        total = 1.0 / d - t * total
    return total


def _from_rotvec(rotvec: Any, degrees: bool = False) -> Any:
    """Convert rotation vectors to quaternions: v sin(|v| / 2) / |v|, and cos(|v| / 2)."""
    if rotvec.shape[-1] != 3:
        return followed(private("from_rotvec"))(rotvec, degrees)  # raises
    rotvec = np.deg2rad(rotvec) if degrees else rotvec
    square = np.sum(rotvec * rotvec, axis=-1, keepdims=True)
    near = readable(square) < 1.0
    t, half = np.where(near, square, 0.0) / 4.0, np.sqrt(np.where(near, 1.0, square)) / 2.0
    factorials = [math.factorial(k) for k in range(20)]
    scale = np.where(near, 0.5 * _series(t, factorials[1::2]), np.sin(half) / (2.0 * half))
    return np.concatenate(
        [rotvec * scale, np.where(near, _series(t, factorials[::2]), np.cos(half))], axis=-1
    )


def _as_rotvec(quat: Any, degrees: bool = False) -> Any:
    """Convert quaternions (v, w) to rotation vectors v a / sin(a / 2), a = 2 atan(|v| / w)."""
    quat = followed(private("_quat_canonical"))(quat)
    v, w = quat[..., :3], quat[..., 3:]
    square = np.sum(v * v, axis=-1, keepdims=True)
    near = readable(square) < 0.01 * readable(w) ** 2
    t = np.where(near, square, 0.0) / np.where(near, w * w, 1.0)
    half = np.arctan2(np.sqrt(np.where(near, 1.0, square)), w)
    few = 2.0 * np.sqrt(1.0 + t) * _series(t, list(range(1, 20, 2)))
    scale = np.where(near, few, 2.0 * half / np.sin(half))
    return v * (np.rad2deg(scale) if degrees else scale)


def _reduce(quat: Any, left: Any = None, right: Any = None) -> Any:
    """Choose from two groups as SciPy does for plain numbers; its source for arrays differs.

    There, a group that is missing is four ones, and not the identity.
    """
    groups = [None if g is None else native.Rotation.from_quat(g) for g in (left, right)]
    _, *chosen = native.Rotation.from_quat(readable(quat)).reduce(*groups, return_indices=True)
    compose = followed(private("compose_quat"))
    reduced = quat if left is None else compose(left[chosen[0]], quat)
    return reduced if right is None else compose(reduced, right[chosen[1]]), *chosen


with_shortcuts(native.Rotation.__pow__)
for _function in (_from_matrix, _from_rotvec, _as_rotvec, _reduce):
    instead_of(private(_function.__name__[1:]), _function)
Rotation = _followed(
    native.Rotation,
    *("_rotation_xp", "rotvec"),
    *("from_quat", "from_matrix", "from_rotvec", "from_euler", "from_mrp", "from_davenport"),
    *("apply", "__mul__", "__pow__", "align_vectors", "concatenate", "mean", "identity"),
)
Slerp = follow_class(native.Slerp, "__call__")
RotationSpline = follow_class(native.RotationSpline, "__call__")
RigidTransform = _followed(
    native.RigidTransform,
    *("_rigid_transform_xp", "exp_coords"),
    *("from_matrix", "from_translation", "from_rotation", "from_components", "from_exp_coords"),
    *("from_dual_quat", "concatenate", "identity", "apply", "__mul__", "__pow__"),
)
