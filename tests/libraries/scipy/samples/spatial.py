"""Calls of ``scipy.spatial`` and its modules."""

from __future__ import annotations

import numpy as np

from tests.libraries.scipy.samples.common import definite, draw, sample

A, B = draw(4, 3), draw(5, 3)
U, V, POSITIVE = draw(5), draw(5, seed=1), abs(draw(5, seed=2)) + 0.1
ANGLES, VECTOR = draw(3), draw(3, seed=1)
QUAT = np.array([0.1, 0.3, -0.2, 0.9])
PLANE, SPACE = draw(8, 2), draw(9, 3)

sample("spatial.distance.cdist", A, B)
sample("spatial.distance.pdist", A)
for _metric in (
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "cosine",
    "correlation",
    "canberra",
    "braycurtis",
    "minkowski",
    "seuclidean",
    "mahalanobis",
    "jensenshannon",
):
    sample(
        "spatial.distance.cdist",
        abs(A) + 0.1,
        abs(draw(9, 3)) + 0.1,
        call=lambda f, a, b, m=_metric: f(a, b, m),
    )
for _name in (
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "cosine",
    "correlation",
    "canberra",
    "braycurtis",
    "minkowski",
):
    sample(f"spatial.distance.{_name}", U, V)
sample("spatial.distance.mahalanobis", U, V, definite(5))
sample("spatial.distance.seuclidean", U, V, POSITIVE)
sample("spatial.distance.jensenshannon", POSITIVE, abs(U))
sample("spatial.distance.squareform", U[[0, 1, 2, 3, 4, 0]])
sample("spatial.distance.directed_hausdorff", A, B, call=lambda f, a, b: f(a, b)[0])
sample("spatial.distance_matrix", A, B)
sample("spatial.minkowski_distance", A, A[::-1].copy())
sample("spatial.minkowski_distance_p", A, A[::-1].copy())
sample("spatial.procrustes", draw(5, 2), draw(5, 2, seed=1), call=lambda f, a, b: f(a, b)[2])
sample("spatial.procrustes", draw(5, 2), draw(5, 2, seed=1), call=lambda f, a, b: f(a, b)[1])
sample("spatial.geometric_slerp", np.array(0.3), call=lambda f, t: f([1.0, 0.0], [0.0, 1.0], t))
sample("spatial.ConvexHull", PLANE, call=lambda f, p: f(p).volume)
sample("spatial.ConvexHull", PLANE, call=lambda f, p: f(p).area)
sample("spatial.ConvexHull", SPACE, call=lambda f, p: f(p).volume)
sample("spatial.ConvexHull", SPACE, call=lambda f, p: f(p).area)
sample("spatial.KDTree", PLANE[:2] + 0.1, call=lambda f, q: f(PLANE).query(q)[0])
sample("spatial.Voronoi", PLANE, call=lambda f, p: f(p).vertices)
sample("spatial.Delaunay", PLANE, call=lambda f, p: p[f(p).simplices])
sample(
    "spatial.SphericalVoronoi",
    SPACE,
    call=lambda f, p: f(p / np.linalg.norm(p, axis=1)[:, None]).calculate_areas(),
)
for _name in ("from_rotvec", "from_mrp"):
    sample(
        "spatial.transform.Rotation",
        ANGLES,
        VECTOR,
        call=lambda f, r, x, n=_name: getattr(f, n)(r).apply(x),
    )
sample(
    "spatial.transform.Rotation",
    ANGLES,
    VECTOR,
    call=lambda f, r, x: f.from_euler("xyz", r).apply(x),
)
sample("spatial.transform.Rotation", QUAT, VECTOR, call=lambda f, q, x: f.from_quat(q).apply(x))
sample("spatial.transform.Rotation", ANGLES, call=lambda f, r: f.from_rotvec(r).as_matrix())
sample("spatial.transform.Rotation", ANGLES, call=lambda f, r: f.from_rotvec(r).as_quat())
sample("spatial.transform.Rotation", ANGLES, call=lambda f, r: f.from_rotvec(r).as_euler("zyx"))
sample(
    "spatial.transform.Rotation",
    ANGLES,
    VECTOR,
    call=lambda f, r, s: (f.from_rotvec(r) * f.from_rotvec(s)).inv().as_rotvec(),
)
sample("spatial.transform.Rotation", ANGLES, call=lambda f, r: f.from_rotvec(r).magnitude())
sample(
    "spatial.transform.Rotation", VECTOR, call=lambda f, x: f.from_rotvec([0.1, 0.2, 0.3]).apply(x)
)
sample(
    "spatial.transform.Rotation",
    A,
    B[:4],
    call=lambda f, a, b: f.align_vectors(a, b)[0].as_matrix(),
)
sample(
    "spatial.transform.Slerp",
    np.array(0.3),
    call=lambda f, t: f(
        [0, 1],
        __import__("scipy").spatial.transform.Rotation.from_rotvec([[0, 0, 1.0], [0, 1.0, 0]]),
    )(t).as_matrix(),
)
