"""The check of tangent types: the laws that the algebra of a type's tangents must obey."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from chainrules_py.tangents.arithmetic import accumulate, add_tangents, canonicalize, move, scale
from chainrules_py.tangents.space import project, space, zero_tangent
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent, is_zero
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.cases.value_comparison import fingerprint, resolution, value_vector
from chainrules_py.testing.report.report import Finding, Report, RuleCheckError
from chainrules_py.values.structure import fields_of, is_structure_type

Law: TypeAlias = list[tuple[str, Any, Any]]
"""Comparisons: a name, and two vectors or other objects that must be equal."""


class _Space:
    """A point of a type, with three tangents at it, and their coordinates."""

    def __init__(self, primal: Any, seed: int) -> None:
        self.primal, self.of = primal, Coordinates(primal)
        self.vectors = np.random.default_rng(seed).standard_normal((3, self.of.size))
        self.tangents = [self.of.tangent(vector) for vector in self.vectors]


def _coordinates(s: _Space) -> Law:
    """Tangents and their coordinates convert to each other without loss."""
    is_structural = isinstance(s.tangents[0], Tangent)
    return [
        *[("a tangent", s.of.vector(t), u) for t, u in zip(s.tangents, s.vectors, strict=True)],
        ("a Tangent of a structure", is_structural, is_structure_type(type(s.primal))),
    ]


def _add(s: _Space) -> Law:
    """Addition and scaling are those of the coordinates; zeros change nothing."""
    (a, b, c), (u, v, w), of = s.tangents, s.vectors, s.of.vector
    dense = zero_tangent(s.primal)
    zeros = [ZeroTangent(), dense] if s.of.size else [ZeroTangent()]
    absent = Tangent.of(type(s.primal), {}, a._length) if isinstance(a, Tangent) else zeros[0]
    return [
        ("zero_tangent(primal)", of(dense), 0 * u),
        *[("a + 0", of(add_tangents(a, zero)), u) for zero in zeros],
        *[("0 + a", of(add_tangents(zero, a)), u) for zero in zeros],
        ("2 * ZeroTangent()", is_zero(scale(ZeroTangent(), 2.0)), True),
        ("a tangent without entries + a", of(add_tangents(absent, a)), u),
        ("a + b", of(add_tangents(a, b)), u + v),
        ("b + a", of(add_tangents(b, a)), u + v),
        ("(a + b) + c", of(add_tangents(add_tangents(a, b), c)), u + v + w),
        ("a + (b + c)", of(add_tangents(a, add_tangents(b, c))), u + v + w),
        ("thunk(a) + b", of(unthunk(add_tangents(Thunk(lambda: a), b))), u + v),
        *[(f"{x} * a", of(scale(a, x)), x * u) for x in (2.0, -0.5, 0.0)],
        ("3 * (a + b)", of(scale(add_tangents(a, b), 3.0)), 3.0 * (u + v)),
        ("2 * thunk(a)", of(unthunk(scale(Thunk(lambda: a), 2.0))), 2.0 * u),
    ]


def _move(s: _Space) -> Law:
    """Check that a value moved along a tangent keeps its class, and is further by the tangent."""
    (a, b, _), (u, v, _), start = s.tangents, s.vectors, value_vector(s.primal)
    moved = [move(s.primal, t) for t in (ZeroTangent(), a, add_tangents(a, b))]
    cls = type(s.primal)  # NumPy's arithmetic makes scalars of 0-d arrays
    steps = 0 * u, u, u + v
    return [
        *[("its class", type(y) is cls or isinstance(y, np.generic), True) for y in moved],
        *[("move", value_vector(y), start + t) for y, t in zip(moved, steps, strict=True)],
    ]


def _accumulate(s: _Space) -> Law:
    """Accumulation is addition, and writes only to buffers that it owns."""
    (a, b, c), (u, v, w) = s.tangents, s.vectors
    before = [fingerprint(t) for t in s.tangents]
    total: Any = a
    owned: Any = False
    for t in (b, c, ZeroTangent(), c):
        total, owned = accumulate(total, t, owned)
    return [
        ("a + b + c + 0 + c", s.of.vector(total), u + v + 2 * w),
        ("whether tangents are as they were", [fingerprint(t) for t in s.tangents] == before, True),
    ]


def _project(s: _Space) -> Law:
    """Tangents as users write them convert to one form, which is its own projection."""
    (a, _, _), (u, _, _), of = s.tangents, s.vectors, s.of.vector
    plain: Any = a
    cls = type(s.primal)
    if isinstance(a, Tangent) and cls in (tuple, list, dict):
        parts = [a[key] for key, _ in fields_of(s.primal)]
        plain = dict(zip(s.primal, parts, strict=True)) if cls is dict else cls(parts)
    once = canonicalize(s.primal, a)
    found = [
        ("canonicalize(primal, a)", of(once), u),
        ("canonicalize, twice", of(canonicalize(s.primal, once)), u),
        ("a plain container of tangents", of(canonicalize(s.primal, plain)), u),
    ]
    if is_zero(space(s.primal)):
        return [*found, ("the tangent of what cannot be perturbed", type(a), NoTangent)]
    return [
        *found,
        ("project(a, primal)", of(project(a, s.primal)), u),
        ("the type of the projection", type(project(a, s.primal)), type(a)),
        ("project(thunk(a), primal)", of(unthunk(project(Thunk(lambda: a), s.primal))), u),
    ]


def _is_same(have: Any, want: Any, tolerance: float) -> bool:
    if not isinstance(want, np.ndarray):
        return bool(have == want)
    limit = tolerance * (1.0 + np.max(np.abs(want), initial=0.0))
    return np.allclose(have, want, rtol=0, atol=limit)


LAWS: dict[str, Callable[[_Space], Law]] = {
    "coordinates": _coordinates,
    "add": _add,
    "move": _move,
    "accumulate": _accumulate,
    "project": _project,
}
"""The laws by name, in the order in which they are checked."""


def check_tangent_type(primal: Any, *, seed: int = 0) -> Report:
    """Check the algebra of the tangents of a type, at a value of it.

    Parameters
    ----------
    primal : array, number, structure, or class
        A value of the type; a class is called without arguments to make one.
    seed : int
        Seed of the random tangents.

    Returns
    -------
    Report
        The outcome of each law.

    Raises
    ------
    RuleCheckError
        If a law is broken.

    Examples
    --------
    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Layer:
    ...     weight: float = 2.0
    ...     name: str = "first"
    >>> check_tangent_type(Layer)
    the tangents of Layer: passed coordinates, add, move, accumulate, project
    seed 0; rule: ...
    """
    primal = primal() if isinstance(primal, type) else primal
    cls, tolerance = type(primal), 1000 * max(1e-15, resolution(primal))
    report = Report(f"the tangents of {cls.__qualname__}", f"class {cls.__module__}", seed)
    judged, cause = _Space(primal, seed), None
    for name, law in LAWS.items():
        finding = Finding(name, "passed")
        try:
            for what, have, want in law(judged):
                if not _is_same(have, want, tolerance):
                    text = f"{what}: {have}, and it has to be {want}"
                    finding = Finding(name, "failed", text, f"breaks the law of {name}")
                    break
        except Exception as error:
            cause = cause or error
            kind = type(error).__name__
            finding = Finding(name, "failed", f"raised {kind}: {error}", f"raises {kind}")
        report.findings.append(finding)
    if report.failures:
        raise RuleCheckError(report) from cause
    return report
