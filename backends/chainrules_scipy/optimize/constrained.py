"""Least places under bounds and constraints, by the equations of Karush, Kuhn and Tucker.

SciPy finds the place, and which constraints hold it; these are equations then, and their
multipliers are unknowns beside the place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from chainrules_py import vocabulary as v
from chainrules_py.extend import default_engine
from chainrules_scipy.rows import array_of, readable, reject

_root: Any = scipy.optimize.root
_NEAR = 1e-6


class Constraints:
    """Constraints of all kinds that SciPy takes, of functions that hold traced values.

    Parameters
    ----------
    given : sequence
        Dictionaries, ``LinearConstraint`` and ``NonlinearConstraint``.
    bounds : sequence or Bounds, optional
        Of the numbers themselves.
    n : int
        How many there are.
    """

    def __init__(self, given: Any, bounds: Any, n: int) -> None:
        many = given if isinstance(given, (list, tuple)) else [given]
        self.parts = [_part(c) for c in many]
        self.bounds: Any = None if bounds is None else ends(bounds, n)

    def plain(self) -> Any:
        """Return the constraints as SciPy takes them, of plain numbers."""
        return [
            scipy.optimize.NonlinearConstraint(
                lambda x, f=f: np.atleast_1d(readable(f(x))), readable(low), readable(high)
            )
            for f, low, high in self.parts
        ]

    def held(self, x: Any) -> Any:
        """Return the function of what is 0 at the place x, and which of it are inequalities."""
        near, plain = _NEAR * (1 + np.abs(x)), readable
        rows: list[tuple[Any, Any, Any, int]] = []
        for f, low, high in self.parts:
            y = np.atleast_1d(plain(f(x)))
            for sign, end in ((1, low), (-1, high)):
                e = np.broadcast_to(plain(end), y.shape)
                equal = np.broadcast_to(plain(low), y.shape) == np.broadcast_to(
                    plain(high), y.shape
                )
                tight = np.isfinite(e) & (np.abs(y - e) <= 1e-5 * (1 + np.abs(y)))
                tight = tight & (~equal if sign < 0 else True)
                rows += [(f, end, i, 0 if equal[i] else sign) for i in np.flatnonzero(tight)]
        for sign, end in zip((1, -1), self.bounds or (), strict=False):
            e = np.broadcast_to(plain(end), x.shape)
            rows += [(None, end, i, sign) for i in np.flatnonzero(np.abs(x - e) <= near)]

        def equations(z: Any) -> Any:
            values = []
            for f, end, i, _ in rows:
                y = z if f is None else v.reshape(array_of(f(z)), shape=(-1,))
                e = array_of(end)
                values.append(
                    y[i] - (e[i] if e.ndim and e.shape[0] > 1 else v.reshape(e, shape=()))
                )
            return v.stack(*values)

        return equations, np.array([sign for *_, sign in rows])


def _part(c: Any) -> tuple[Any, Any, Any]:
    if isinstance(c, dict):
        args = c.get("args", ())
        args = args if isinstance(args, tuple) else (args,)
        return lambda x: c["fun"](x, *args), 0.0, 0.0 if c["type"] == "eq" else np.inf
    if hasattr(c, "A"):
        return lambda x: v.matmul(array_of(c.A), x), c.lb, c.ub
    return c.fun, c.lb, c.ub


def ends(bounds: Any, n: int) -> tuple[Any, Any]:
    """Return the lower and the upper bounds of n numbers."""
    if hasattr(bounds, "lb"):
        return array_of(bounds.lb), array_of(bounds.ub)
    pairs = [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in bounds]
    if len(pairs) != n:
        reject(f"{len(pairs)} bounds for {n} numbers", ValueError)
    low, high = zip(*pairs, strict=True)
    return v.stack(*map(array_of, low)), v.stack(*map(array_of, high))


def held_place(f: Any, constraints: Constraints, x: Any) -> Any:
    """Return the place x, as the solution of what holds it; None if nothing does.

    Raises
    ------
    NotDifferentiableError
        If a constraint that is met has no force: there the derivatives of both sides differ.
    """
    equations, signs = constraints.held(x)
    if not signs.size:
        return None
    n, engine = len(x), default_engine()

    def slope(z: Any, forces: Any) -> Any:
        return engine.grad(lambda p: array_of(f(p)) - v.vecdot(forces, equations(p)))(z)

    def system(z: Any) -> Any:
        place, forces = z[:n], z[n:]
        return v.concat(slope(place, forces), equations(place), axis=0)

    at = readable(slope(x, np.zeros(len(signs))))
    columns = np.stack([readable(slope(x, e)) for e in np.eye(len(signs))], axis=1)
    forces = np.linalg.lstsq(at[:, None] - columns, at, rcond=None)[0]

    def found(residual: Any, z0: Any) -> Any:
        return _root(lambda z: readable(residual(z)), z0, tol=1e-13).x

    start = np.concatenate([x, forces])
    weak = (signs != 0) & (np.abs(forces) <= 1e-7 * (1 + np.max(np.abs(at), initial=0)))
    if weak.any() or np.any((signs * forces) < 0):
        reject("a constraint is met at the solution, and does not hold it: its sides differ there")
    return v.root(system, start, solver=found, tol=1e-5)[:n]
