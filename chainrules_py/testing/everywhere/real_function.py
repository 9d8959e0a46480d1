"""A call as one real function of one real vector, and its derivatives by differences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, final

import numpy as np

from chainrules_py import ops as v
from chainrules_py.testing.cases.backends import to_numpy
from chainrules_py.testing.cases.coordinates import Coordinates
from chainrules_py.testing.cases.differences import power_of_two
from chainrules_py.testing.diagnosis import Table
from chainrules_py.testing.errors import WrongError, skip_if
from chainrules_py.values.pytree import flatten, partition, unflatten

_POINTS = np.arange(-4.0, 5.0)
# From the values at the points to the derivatives of order one, two and three at 0.
_STENCILS = np.linalg.inv(np.vander(_POINTS, increasing=True))[1:4] * [[1.0], [2.0], [6.0]]


@final
class Trial:
    """A call as a function of the displacements of its numbers, with one real number as result.

    A displacement of one is as large as the number, and the result is divided by its own size, so
    that derivatives are of order one. Complex numbers are displaced by two real ones, so that the
    result does not depend on the conventions of engines.

    Parameters
    ----------
    f, operands, options, gauge
        As in `check_rule`.
    moving : iterable of int, optional
        Indices of the leaves of the operands that are moved; by default all floating-point ones.
    seed : int
        Seed of the direction and the weights.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        operands: tuple[Any, ...],
        options: dict[str, Any],
        gauge: Callable[[Any], Any] | None = None,
        moving: Iterable[int] | None = None,
        seed: int = 0,
    ) -> None:
        self.f, self.options, self.gauge = f, options, gauge
        leaves, self.treedef = flatten(operands)
        self.leaves = [to_numpy(x) if hasattr(x, "shape") else x for x in leaves]
        places = range(len(leaves)) if moving is None else moving
        self.parts = {i: p for i in places if (p := Coordinates(self.leaves[i])).size}
        n, rng = sum(p.size for p in self.parts.values()), np.random.default_rng(seed)
        self.z, self.u = np.zeros(n), rng.choice([-1, 1], n) * rng.uniform(0.5, 1.5, n)
        self.basis = np.eye(n) if n <= 24 else rng.standard_normal((n, 4))
        y = f(*unflatten(self.treedef, list(self.leaves)), **options)
        self.results = [Coordinates(x) for x in flatten(y if gauge is None else gauge(y))[0]]
        kinds = {of.kind for of in (*self.parts.values(), *self.results)}
        self.is_complex = "complex" in kinds
        self.weights = [rng.uniform(0.5, 1.5, (2, *of.shape)) for of in self.results]

    def function(self, f: Callable[..., Any], asarray: Callable[[Any], Any]) -> Callable[..., Any]:
        """Return f, or its export to an engine, as a function of the vector and ``constants``."""
        moves, end = [], 0
        for i, p in self.parts.items():
            halves = 1 + (p.kind == "complex")
            moves.append((i, slice(end, end := end + p.size), (halves, *p.shape)))
        heights = [float(np.max(_sizes(of.x), initial=0.0)) or 1.0 for of in self.results]
        held = (
            [asarray(x) if isinstance(x, np.ndarray) else x for x in self.leaves],
            [asarray(_sizes(p.x)) for p in self.parts.values()],
            [[asarray(w) for w in pair] for pair in self.weights],
            asarray(np.asarray(1j)) if self.is_complex else None,
        )
        own = type(asarray(self.z))
        constants, layout = partition(held, lambda x: isinstance(x, own))

        def of_vector(z: Any, *constants: Any) -> Any:
            leaves, sizes, weights, i_unit = unflatten(layout, constants) if constants else held
            # Engines may refuse a constant function, as where f returns an integer.
            given, total = list(leaves), 1e-4 * _ask(z * (1.0 + z * (1.0 + z)), "sum")
            for (i, cut, shape), size in zip(moves, sizes, strict=True):
                steps = _ask(z[cut], "reshape", shape=shape)
                step = steps[0, ...] + i_unit * steps[1, ...] if shape[0] > 1 else steps[0, ...]
                given[i] = given[i] + size * step
            y = f(*unflatten(self.treedef, given), **self.options)
            y = flatten(y if self.gauge is None else self.gauge(y))[0]
            for x, of, height, pair in zip(y, self.results, heights, weights, strict=True):
                # The results of one library may be complex where those of another are real.
                is_complex = "complex" in str(getattr(x, "dtype", ""))
                halves = [_ask(x, "real"), _ask(x, "imag")] if is_complex else [x]
                halves = halves[: 1 + (of.kind == "complex")]
                for w, part in zip(pair, halves if of.size else (), strict=False):
                    part = part / height
                    bent = w * part * (1.0 + part * (0.5 + 0.25 * part))
                    total = total + _ask(bent, "sum")
            return total

        of_vector.constants = constants  # type: ignore[attr-defined]
        return of_vector

    @functools.cached_property
    def truth(self) -> dict[str, tuple[Any, Any]]:
        """The derivatives by differences of NumPy's values, each with its error, by name."""
        f = self.function(self.f, np.asarray)
        along: Callable[[Any], Any] = lambda d: _differences(lambda t: f(self.z + t * d))
        ahead = np.asarray([along(self.u + b) for b in self.basis.T]).reshape(-1, 3, 2)
        behind = np.asarray([along(self.u - b) for b in self.basis.T]).reshape(-1, 3, 2)
        apart, errors = ahead[..., 0] - behind[..., 0], ahead[..., 1] + behind[..., 1]
        slope, _, third = along(self.u)
        return {
            "value": (f(self.z), 0.0),
            "gradient": (apart[:, 0] / 2, errors[:, 0]),
            "slope": slope,
            "curvature": (apart[:, 1] / 4, errors[:, 1]),
            "third": third,
        }

    def judge(self, name: str, found: Any, digits: float = 2e-5) -> None:
        """Compare one of the derivatives that an engine gives with differences."""
        (want, error), have = self.truth[name], to_numpy(found)
        shape = self.z.shape if name in ("gradient", "curvature") else ()
        if have.shape != shape:
            raise WrongError(
                f"the {name} has the shape {have.shape}, and should have {shape}", "wrong shape"
            )
        scale = max(1e-3, float(np.max(np.abs(want), initial=0.0)))
        skip_if(
            not np.max(error, initial=0.0) <= 1e-3 * scale,
            f"differences of the values do not settle on the {name}",
        )
        have, want = np.atleast_2d(self.basis.T @ have if shape else have), np.atleast_2d(want)
        places = [f"z[{i}]" if shape else "u" for i in range(want.size)]
        limit = digits * scale + 20 * np.max(error, initial=0.0)
        table = Table(have, want, [name], places, limit, ("engine", "differences"))
        if not table.is_within:
            raise WrongError(f"the {name} is wrong\n{table}", f"wrong {name}")


def _sizes(x: Any) -> Any:
    """Return the magnitude of each number; that of the largest where it is negligible."""
    x = np.abs(x)
    largest = np.max(x, initial=0.0, where=np.isfinite(x)) or 1.0
    return power_of_two(np.where(x > 1e-4 * largest, x, largest))


def _ask(x: Any, name: str, **given: Any) -> Any:
    """Call a method of an array, or the operation of that name if the array lacks it."""
    if not hasattr(x, name):
        return getattr(v, name)(x, **given)
    return getattr(x, name) if name in ("real", "imag") else getattr(x, name)(*given.values())


def _differences(f: Callable[[float], Any]) -> list[tuple[float, float]]:
    """Compute the derivatives at 0 up to the third, each with its error, at its best step."""
    found, noise = [], []
    for h in 2.0 ** -np.arange(4, 15):
        try:
            y = np.asarray([float(f(t)) for t in _POINTS * h])
        except (np.linalg.LinAlgError, ArithmeticError, ValueError):
            y = np.full(9, np.nan)
        powers = h ** np.arange(1, 4)
        found.append(_STENCILS @ y / powers)
        noise.append(2.0**-50 * np.max(np.abs(y)) / powers)
    apart = np.nan_to_num(np.abs(np.diff(found, axis=0)) + noise[1:], nan=np.inf)
    best = np.argmin(apart, axis=0)
    return [(float(found[b + 1][i]), float(apart[b, i])) for i, b in enumerate(best)]
