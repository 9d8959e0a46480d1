"""Rotations of ``scipy.spatial.transform``, by SciPy's own text for arrays of any library."""

from __future__ import annotations

from typing import Any

from scipy.spatial import transform as native

from chainrules_scipy.following import follow_class, followed_module


def _portable(name: str) -> dict[str, Any]:
    """Return what has SciPy's text take its way for arrays of any library."""
    return {"select_backend": lambda *_, **__: followed_module(f"scipy.spatial.transform.{name}")}


Rotation = follow_class(
    native.Rotation,
    *("from_quat", "from_matrix", "from_rotvec", "from_euler", "from_mrp", "from_davenport"),
    *("apply", "__mul__", "__pow__", "align_vectors", "concatenate", "mean"),
    **_portable("_rotation_xp"),
)
Slerp = follow_class(native.Slerp, "__call__")
RotationSpline = follow_class(native.RotationSpline, "__call__")
RigidTransform = follow_class(
    native.RigidTransform,
    *("from_matrix", "from_translation", "from_rotation", "from_components", "from_exp_coords"),
    *("apply", "__mul__", "__pow__"),
    **_portable("_rigid_transform_xp"),
)
