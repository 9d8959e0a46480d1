"""The judge of tangent spaces: the laws that the algebra of a type's tangents has to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chainrules_py.errors import describe
from chainrules_py.tangents.arithmetic import accumulate, add_tangents, canonicalize, move, scale
from chainrules_py.tangents.space import project, space, zero_tangent
from chainrules_py.tangents.structural import Tangent
from chainrules_py.tangents.thunks import Thunk, unthunk
from chainrules_py.tangents.zeros import NoTangent, ZeroTangent, is_zero
from chainrules_py.testing.data.coordinates import Coordinates
from chainrules_py.testing.data.values import fingerprint, resolution, value_vector
from chainrules_py.testing.errors import WrongError
from chainrules_py.testing.report.report import Finding, Report, RuleCheckError
from chainrules_py.values.structure import fields_of, is_structure_type


class _Space:
    """A point of a type, with three tangents there."""

    def __init__(self, primal: Any, seed: int) -> None:
        self.primal = primal
        self.of = Coordinates(primal)
        rng = np.random.default_rng(seed)
        self.vectors = rng.standard_normal((3, self.of.size))
        self.tolerance = 100 * max(1e-15, resolution(primal))

    def tangents(self) -> list[Any]:
        """Three tangents, made anew."""
        return [self.of.tangent(vector) for vector in self.vectors]

    def same(self, t: Any, vector: Any, what: str) -> None:
        """Demand that a tangent has these coordinates."""
        have = self.of.vector(t)
        limit = self.tolerance * (1.0 + np.max(np.abs(vector), initial=0.0))
        if not np.allclose(have, vector, rtol=0, atol=limit):
            msg = f"{what} is {describe(t)} with {have[:6]}, and has to be {vector[:6]}"
            raise WrongError(msg)


def _zero(s: _Space) -> None:
    """Zeros change nothing: the singletons, and the dense zero."""
    (a, _, _), (u, _, _) = s.tangents(), s.vectors
    dense = zero_tangent(s.primal)
    s.same(dense, 0 * u, "zero_tangent(primal)")
    zeros = [ZeroTangent(), dense] if s.of.size else [ZeroTangent()]
    for zero in zeros:
        s.same(add_tangents(a, zero), u, f"a + {describe(zero)}")
        s.same(add_tangents(zero, a), u, f"{describe(zero)} + a")
    if not is_zero(scale(ZeroTangent(), 2.0)):
        msg = "2 * ZeroTangent() is not zero"
        raise WrongError(msg)


def _add(s: _Space) -> None:
    """Addition is that of the coordinates: it commutes and associates."""
    (a, b, c), (u, v, w) = s.tangents(), s.vectors
    s.same(add_tangents(a, b), u + v, "a + b")
    s.same(add_tangents(b, a), u + v, "b + a")
    s.same(add_tangents(add_tangents(a, b), c), u + v + w, "(a + b) + c")
    s.same(add_tangents(a, add_tangents(b, c)), u + v + w, "a + (b + c)")
    s.same(unthunk(add_tangents(Thunk(lambda: a), b)), u + v, "thunk(a) + b")


def _scale(s: _Space) -> None:
    """Scaling is that of the coordinates, and distributes over addition."""
    (a, b, _), (u, v, _) = s.tangents(), s.vectors
    for factor in (2.0, -0.5, 0.0):
        s.same(scale(a, factor), factor * u, f"{factor} * a")
    s.same(scale(add_tangents(a, b), 3.0), 3.0 * (u + v), "3 * (a + b)")
    s.same(unthunk(scale(Thunk(lambda: a), 2.0)), 2.0 * u, "2 * thunk(a)")


def _move(s: _Space) -> None:
    """Check that moving along a tangent gives a value of the same type, further by the tangent."""
    (a, b, _), (u, v, _) = s.tangents(), s.vectors
    start = value_vector(s.primal)
    for t, step in ((ZeroTangent(), 0 * u), (a, u), (add_tangents(a, b), u + v)):
        moved = move(s.primal, t)
        # NumPy's arithmetic makes scalars of 0-d arrays.
        if type(moved) is not type(s.primal) and not isinstance(moved, np.generic):
            msg = f"moving a {type(s.primal).__qualname__} gives a {type(moved).__qualname__}"
            raise WrongError(msg)
        if not np.allclose(value_vector(moved), start + step, rtol=1e-6, atol=s.tolerance * 10):
            msg = f"moving along {describe(t)} does not add its coordinates"
            raise WrongError(msg)
    there = value_vector(move(move(s.primal, a), b))
    if not np.allclose(there, start + u + v, rtol=1e-6, atol=s.tolerance * 10):
        msg = "moving along a, then along b, is not moving along a + b"
        raise WrongError(msg)


def _accumulate(s: _Space) -> None:
    """Accumulating is adding, and writes only to what it owns."""
    (a, b, c), (u, v, w) = s.tangents(), s.vectors
    before = [fingerprint(t) for t in (a, b, c)]
    total, owned = accumulate(a, b, False)
    s.same(total, u + v, "accumulate(a, b)")
    total, owned = accumulate(total, c, owned)
    s.same(total, u + v + w, "accumulate(accumulate(a, b), c)")
    total, owned = accumulate(total, ZeroTangent(), owned)
    total, owned = accumulate(total, c, owned)
    s.same(total, u + v + 2 * w, "accumulating c twice")
    if before != [fingerprint(t) for t in (a, b, c)]:
        msg = "accumulate wrote to a tangent that it was given"
        raise WrongError(msg)


def _canonicalize(s: _Space) -> None:
    """Check that tangents as people may write them come to one form, which stays as it is."""
    (a, _, _), (u, _, _) = s.tangents(), s.vectors
    s.same(canonicalize(s.primal, a), u, "canonicalize(primal, a)")
    s.same(canonicalize(s.primal, canonicalize(s.primal, a)), u, "canonicalize, twice")
    if isinstance(a, Tangent):
        if type(s.primal) in (tuple, list, dict):
            parts = [a[key] for key, _ in fields_of(s.primal)]
            plain: Any = (
                dict(zip(s.primal, parts, strict=True))
                if type(s.primal) is dict
                else type(s.primal)(parts)
            )
            s.same(canonicalize(s.primal, plain), u, "a plain container of tangents")
        absent = Tangent.of(type(s.primal), {}, a._length)
        s.same(add_tangents(absent, a), u, "a tangent without entries + a")


def _project(s: _Space) -> None:
    """Check that a tangent is its own projection; what cannot be perturbed has `NoTangent()`."""
    (a, _, _), (u, _, _) = s.tangents(), s.vectors
    if is_zero(space(s.primal)):
        if not isinstance(a, NoTangent):
            msg = f"{describe(a)} for what cannot be perturbed: NoTangent()"
            raise WrongError(msg)
        return
    projected = project(a, s.primal)
    s.same(projected, u, "project(a, primal)")
    if type(projected) is not type(a):
        msg = f"the projection of a {type(a).__qualname__} is a {type(projected).__qualname__}"
        raise WrongError(msg)
    s.same(unthunk(project(Thunk(lambda: a), s.primal)), u, "project(thunk(a), primal)")


def _coordinates(s: _Space) -> None:
    """Tangents and their coordinates are the same thing, there and back."""
    for t, vector in zip(s.tangents(), s.vectors, strict=True):
        s.same(t, vector, "a tangent")
    if is_structure_type(type(s.primal)) != isinstance(s.tangents()[0], Tangent):
        msg = f"the tangent of {describe(s.primal)} is {describe(s.tangents()[0])}"
        raise WrongError(msg)


LAWS: dict[str, Callable[[_Space], None]] = {
    "coordinates": _coordinates,
    "zero": _zero,
    "add": _add,
    "scale": _scale,
    "move": _move,
    "accumulate": _accumulate,
    "canonicalize": _canonicalize,
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
        Where tangents are drawn from.

    Returns
    -------
    Report
        What each law said.

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
    the tangents of Layer: passed coordinates, zero, add, scale, move, accumulate, ...
    seed 0; rule: ...
    """
    primal = primal() if isinstance(primal, type) else primal
    cls = type(primal)
    report = Report(f"the tangents of {cls.__qualname__}", f"class {cls.__module__}", seed)
    judged = _Space(primal, seed)
    cause: BaseException | None = None
    for name, law in LAWS.items():
        try:
            law(judged)
        except WrongError as wrong:
            report.findings.append(Finding(name, "failed", wrong.text, f"breaks the law of {name}"))
        except Exception as error:
            cause = cause or error
            text = f"raised {type(error).__name__}: {error}"
            report.findings.append(Finding(name, "failed", text, f"raises {type(error).__name__}"))
        else:
            report.findings.append(Finding(name, "passed"))
    if report.failures:
        raise RuleCheckError(report) from cause
    return report
