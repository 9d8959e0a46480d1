"""Rotations of ``scipy.spatial.transform``, by SciPy's own text for arrays of any library."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import transform as native

from chainrules_py import ignore_derivatives
from chainrules_scipy._private import private, text
from chainrules_scipy.following import (
    follow_class,
    followed,
    followed_module,
    instead_of,
    with_shortcuts,
)
from chainrules_scipy.rows import readable


def _followed(cls: type, name: str, *methods: str) -> Any:
    """Follow the text of a class for arrays of any library; without it, the class is SciPy's."""
    module = text(name)
    if module is None:
        return cls
    return follow_class(
        cls, *methods, select_backend=lambda *_, **__: followed_module(module.__name__)
    )


def _from_matrix(matrix: Any, assume_valid: bool = False) -> Any:
    """Make quaternions of matrices; what is no rotation is taken to the nearest one.

    SciPy leaves alone what is one to twelve digits. Beside it the nearest one is another, so that
    directions that leave the rotations have no derivative: two steps of G. Schulz's iteration,
    "Iterative Berechnung der reziproken Matrix" (1933), for the polar factor, which leave a
    rotation where it is, are right to the third order.
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


def _reduce(quat: Any, left: Any = None, right: Any = None) -> Any:
    """Choose of two groups as SciPy does of plain numbers: its text for arrays chooses otherwise.

    There what is no group is four ones, and not the rotation that changes nothing.
    """
    groups = [None if g is None else native.Rotation.from_quat(g) for g in (left, right)]
    plain = native.Rotation.from_quat(readable(quat))
    _, *chosen = plain.reduce(*groups, return_indices=True)
    reduced, compose = quat, followed(private("compose_quat"))
    if left is not None:
        reduced = compose(left[chosen[0]], reduced)
    if right is not None:
        reduced = compose(reduced, right[chosen[1]])
    return reduced, *chosen


with_shortcuts(native.Rotation, "__pow__")
instead_of(private("from_matrix"), _from_matrix)
instead_of(private("reduce"), _reduce)
Rotation = _followed(
    native.Rotation,
    "_rotation_xp",
    *("from_quat", "from_matrix", "from_rotvec", "from_euler", "from_mrp", "from_davenport"),
    *("apply", "__mul__", "__pow__", "align_vectors", "concatenate", "mean"),
)
Slerp = follow_class(native.Slerp, "__call__")
RotationSpline = follow_class(native.RotationSpline, "__call__")
RigidTransform = _followed(
    native.RigidTransform,
    "_rigid_transform_xp",
    *("from_matrix", "from_translation", "from_rotation", "from_components", "from_exp_coords"),
    *("apply", "__mul__", "__pow__"),
)
