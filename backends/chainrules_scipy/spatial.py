"""Hulls, trees and distances of ``scipy.spatial``, with derivatives in the points."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import scipy.spatial as native

from chainrules_py import ops as v
from chainrules_py.extend import advise, varies
from chainrules_scipy.composites_and_operand_conversions import (
    array_of,
    attribute,
    of_precision,
    readable,
    reject,
    stands_for,
)
from chainrules_scipy.installation import place_constructor, place_method
from chainrules_scipy.result_checks import Beside, plainly
from chainrules_scipy.source_copies import follow, follow_all, with_shortcuts

with_shortcuts(native.minkowski_distance_p)
FOLLOWED: dict[str, Any] = follow_all(
    native, "distance_matrix", "minkowski_distance", "minkowski_distance_p", "procrustes"
)
_slerp = follow(native.geometric_slerp)


@stands_for(native.geometric_slerp)
def geometric_slerp(start: Any, end: Any, t: Any, tol: float = 1e-7) -> Any:
    """Interpolate between two points of a sphere: as ``scipy.spatial.geometric_slerp``."""
    if varies((start, end)) and np.array_equal(readable(start), readable(end)):
        reject("geometric_slerp from a point to itself is SciPy's shortcut, and has no derivative")
    return _slerp(start, end, t, tol)


advise(
    native.Delaunay,
    "use ignore_derivatives({x}), as the indices of a triangulation are piecewise constant",
)


@functools.partial(place_constructor, native.ConvexHull)
class ConvexHull(Beside):
    """A convex hull of SciPy, whose sizes have derivatives in the points.

    Examples
    --------
    >>> print(ConvexHull(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).volume.round(9))
    0.5
    """

    def __init__(self, points: Any, *args: Any, **options: Any) -> None:
        self.points = of_precision(array_of(points), np.dtype(float))
        self.theirs = native.ConvexHull(readable(self.points), *args, **options)
        self.max_bound, self.min_bound = (f(self.points, axis=0) for f in (v.max, v.min))

    @property
    def facets(self) -> Any:
        """The corners of each facet."""
        return v.take(self.points, self.theirs.simplices, axis=0)

    @property
    def volume(self) -> Any:
        """The volume, as a sum over the cones from a point inside."""
        return v.sum(
            v.abs(v.det(self.facets - readable(self.points).mean(axis=0)))
        ) / math.factorial(self.points.shape[1])

    @property
    def area(self) -> Any:
        """The area of the facets, or the length of the edges."""
        corners = self.facets
        edges = corners[:, 1:] - corners[:, :1]
        return v.sum(v.sqrt(v.det(v.matmul(edges, v.matrix_transpose(edges))))) / math.factorial(
            edges.shape[1]
        )


@functools.partial(place_constructor, native.KDTree)
class KDTree(Beside):
    """A tree of SciPy, whose distances have derivatives in the points.

    Examples
    --------
    >>> print(KDTree(np.array([[0.0, 0.0], [1.0, 0.0]])).query([0.0, 2.0])[0])
    2.0
    """

    def __init__(self, data: Any, *args: Any, **options: Any) -> None:
        self.data = of_precision(array_of(data), np.dtype(float))
        self.theirs = native.KDTree(readable(self.data), *args, **options)
        self.maxes, self.mins = (f(self.data, axis=0) for f in (v.max, v.min))

    def __getattr__(self, name: str) -> Any:
        return (
            functools.partial(_of_trees, self.theirs, name)
            if callable(getattr(native.KDTree, name, None))
            else super().__getattr__(name)
        )

    def query(self, x: Any, k: Any = 1, eps: Any = 0, p: float = 2.0, **options: Any) -> Any:
        """Find the nearest points, and the distances to them."""
        # Of SciPy's tree, too, whose points are constant.
        x, tree = array_of(x), getattr(self, "theirs", self)
        far, where = tree.query(readable(x), k, eps, p, **options)
        found = where < tree.n
        gap = v.take(self.data, np.where(found, where, 0), axis=0)
        gap = gap - (x if where.ndim == x.ndim - 1 else v.expand_dims(x, axis=-2))
        distance = v.vector_norm(gap, axis=-1, ord=p)
        return distance if found.all() else v.where(found, distance, far), where


place_method(native.KDTree, KDTree.query)


def _of_trees(tree: Any, name: str, *args: Any, **options: Any) -> Any:
    """Return counts or indices, which are constant; raise for distances."""
    if name == "sparse_distance_matrix":
        reject(
            "sparse_distance_matrix of a tree that is being differentiated has no derivative; take "
            "the pairs of query_ball_tree, and np.linalg.norm of the differences of their points"
        )
    args, options = plainly(args), {k: plainly(x) for k, x in options.items()}
    return getattr(native.KDTree, name)(tree, *args, **options)


__getattr__ = functools.partial(attribute, __name__, FOLLOWED)
