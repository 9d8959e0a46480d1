"""The distributions of ``scipy.stats``, of traced values too.

SciPy's own formula of a distribution, ``_logpdf`` and its kin, is called on traced values where it
takes them, and one of ours where it does not. What is outside of the support, and beside the range
of the shapes, is constant, and as SciPy has it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from chainrules_py import ChainRulesError
from chainrules_py import vocabulary as v
from chainrules_py.extend import static_types
from chainrules_scipy._private import common_base
from chainrules_scipy.rows import (
    anchored,
    array_of,
    asked,
    method_of,
    nested,
    readable,
    reject,
    truths,
)
from chainrules_scipy.stats.cumulative import CUMULATIVE, INTEGRATED, integrated
from chainrules_scipy.stats.densities import LOG_DENSITIES
from chainrules_scipy.stats.discrete import LOG_PROBABILITIES
from chainrules_scipy.stats.powers import exponential

_Compute = Callable[..., Any]
static_types.add(common_base(scipy.stats.rv_continuous, scipy.stats.rv_discrete))


def _where_inside(
    inside: Any, known: Callable[[], Any], compute: _Compute, operands: tuple[Any, ...]
) -> Any:
    """Compute at the elements that are inside; the others are known, and constant."""
    if inside.all():
        return compute(*operands)
    if not inside.any():
        y = known()
        return y if isinstance(y, np.generic) else array_of(y)
    elements = compute(*[_chosen(x, inside) for x in operands])
    if np.ndim(elements) == 0:  # of numbers alone
        return v.where(inside, elements, known())
    places = np.where(inside, np.cumsum(inside).reshape(inside.shape) - 1, 0)
    return v.where(inside, v.take(elements, places, axis=0), known())


def _chosen(x: Any, inside: Any) -> Any:
    if np.ndim(x) == 0:
        return x
    whole = x if np.shape(x) == inside.shape else v.broadcast_to(x, shape=inside.shape)
    return whole[inside]


class _Call:
    """A call of a method of a distribution, with what tells which elements are inside."""

    def __init__(self, dist: Any, x: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        shapes, loc, scale = dist._parse_args(*args, **options)
        self.dist, self.x, self.loc, self.scale = dist, array_of(x), array_of(loc), array_of(scale)
        self.shapes = tuple(map(array_of, shapes))
        self.plain_shapes = tuple(map(asked, self.shapes))
        valid = method_of(dist, "_argcheck", *self.shapes)
        self.valid = truths(valid) & (asked(self.scale) > 0)
        place = (self.x, self.loc, self.scale)
        shape = np.broadcast_shapes(*map(np.shape, (*place, *self.shapes)))
        if np.broadcast_shapes(self.valid.shape, *map(np.shape, place)) != shape:
            reject(
                f"scipy.stats.{dist.name} looks at one element of a shape parameter that is an "
                f"array, as its conditions leave it out; give it an x of shape {shape}"
            )

    def plainly(self, name: str) -> Any:
        """Call SciPy's own method on the values."""
        return method_of(self.dist, name, self.x, *self.shapes, self.loc, self.scale)

    def inside(self, ends: bool) -> Any:
        """Tell which elements are in the support, with or without its ends, or between 0 and 1."""
        z = (asked(self.x) - asked(self.loc)) / asked(self.scale)
        try:
            low, high = self.dist._get_support(*self.plain_shapes)
        except ChainRulesError:  # it writes into arrays of its own
            low, high = self.dist._get_support(*map(readable, self.shapes))
        within = (low <= z) & (z <= high) if ends else (low < z) & (z < high)
        return truths(within & self.valid & np.isfinite(z))

    def finite(self) -> Any:
        """Tell which elements have a place and a scale that are finite."""
        return np.isfinite(asked(self.loc)) & np.isfinite(asked(self.scale))


_ALL = "the density and the distribution function"
_REFUSED = {
    "irwinhall": (_ALL, "SciPy makes splines of its shape"),
    "ksone": (_ALL, "it is a sum whose length is the shape"),
    "kstwo": (_ALL, "it is a sum whose length is the shape"),
    "landau": (_ALL, "SciPy has tables of it"),
    "levy_stable": (_ALL, "SciPy integrates it"),
    "studentized_range": (_ALL, "SciPy integrates it"),
    "tukeylambda": ("the density", "it has the inverse of the distribution function inside"),
    "ncf": ("the density", "SciPy has its sums in C alone"),
    "nct": ("the density", "SciPy has its sums in C alone"),
    "poisson_binom": (_ALL, "SciPy computes it of plain numbers, by a transform"),
    "nchypergeom_wallenius": ("the probabilities and moments", "SciPy integrates them in C"),
}


def refuse(dist: Any, density: bool = True) -> None:
    """Refuse a distribution without a derivative.

    Raises
    ------
    NotDifferentiableError
        If it is one.
    """
    what, why = _REFUSED.get(dist.name, ("", ""))
    if what and (density or what == _ALL):
        reject(
            f"scipy.stats.{dist.name} has no derivative here of {what}: {why}; hold its arguments "
            "fixed, or draw from it"
        )


def _log_density(dist: Any, z: Any, *shapes: Any) -> Any:
    """Compute the logarithm of the standardised density."""
    refuse(dist)
    own = LOG_DENSITIES.get(dist.name)
    if own is not None:
        return own(z, *shapes)
    if not (_is_own(dist, "_pdf") or _is_own(dist, "_logpdf")):
        reject(f"SciPy has the density of {dist.name} by differences, which have no derivative")
    return dist._logpdf(z, *shapes)


def _is_own(dist: Any, name: str) -> bool:
    general = (
        scipy.stats.rv_discrete
        if isinstance(dist, scipy.stats.rv_discrete)
        else (scipy.stats.rv_continuous)
    )
    return getattr(type(dist), name) is not getattr(general, name)


def logpdf(dist: Any, x: Any, *args: Any, **options: Any) -> Any:
    """Compute the logarithm of the density at x, as ``rv_continuous.logpdf`` does."""
    call = _Call(dist, x, args, options)

    def compute(x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
        return _log_density(dist, (x - loc) / scale, *shapes) - v.log(scale)

    operands = (call.x, call.loc, call.scale, *call.shapes)
    inside = call.inside(True) & call.finite()
    return _where_inside(inside, lambda: call.plainly("logpdf"), compute, operands)


def _standardised(x: Any, scale: Any) -> Any:
    """x / scale, which at x = 0 does not move with the scale, also where the slope is infinite."""
    z, zero = x / scale, truths(asked(x) == 0)
    return v.where(zero, v.strong_multiply(x, 1 / scale), z) if zero.any() else z


def pdf(dist: Any, x: Any, *args: Any, **options: Any) -> Any:
    """Compute the density at x, as ``rv_continuous.pdf`` does."""
    call = _Call(dist, x, args, options)

    def compute(x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
        return exponential(
            dist.name,
            lambda z, scale, *shapes: _log_density(dist, z, *shapes) - v.log(scale),
            _standardised(x - loc, scale),
            *shapes,
            scale=scale,
        )

    operands = (call.x, call.loc, call.scale, *call.shapes)
    inside = call.inside(True) & call.finite()
    return _where_inside(inside, lambda: np.exp(call.plainly("logpdf")), compute, operands)


def _cumulative(dist: Any, z: Any, *shapes: Any) -> Any:
    """Compute a standardised distribution function, up to a constant."""
    refuse(dist, density=False)
    own = CUMULATIVE.get(dist.name)
    if own is not None:
        return own(z, *shapes)
    if dist.name in INTEGRATED:
        return _integral(dist, z, *shapes)
    if not _is_own(dist, "_cdf"):
        reject(f"SciPy integrates the density of {dist.name}, of which there is no derivative here")
    return dist._cdf(z, *shapes)


def _integral(dist: Any, z: Any, *shapes: Any) -> Any:
    """Integrate the density from the nearer end of the support, or of the turn of a circle."""
    z = v.broadcast_to(array_of(z), shape=np.broadcast_shapes(*map(np.shape, (z, *shapes))))
    plain, at = tuple(map(readable, shapes)), readable(z)
    first, middle, last = (dist.ppf(q, *plain) for q in (0.25, 0.5, 0.75))
    low, high = dist._get_support(*plain)
    if dist.name == "vonmises":
        turn = 2 * np.pi * np.round(at / (2 * np.pi))
        low, middle, high = turn - np.pi, turn, turn + np.pi

    # Where it is small beside that at z, second derivatives of its logarithm divide by nothing.
    least = np.maximum(-700, np.nan_to_num(readable(_log_density(dist, at, *plain))) - 300)

    def density(x: Any, *s: Any) -> Any:
        """0, and constant, where it is too small for a number."""
        some = readable(_log_density(dist, readable(x), *map(readable, s))) > least
        inside = v.where(some, x, np.max(middle, initial=-np.inf))
        return v.where(some, v.exp(_log_density(dist, inside, *s)), 0.0)

    ends = (np.asarray(low, float), np.asarray(high, float))
    return integrated(density, ends, at <= middle, np.asarray(last - first), z, *shapes)


def _of_distribution(name: str, upper: bool) -> _Compute:
    def method(dist: Any, x: Any, *args: Any, **options: Any) -> Any:
        call = _Call(dist, x, args, options)
        known = call.plainly(name)

        def compute(known: Any, x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
            below = _cumulative(dist, (x - loc) / scale, *shapes)
            return anchored(known, -below if upper else below)

        operands = (array_of(known), call.x, call.loc, call.scale, *call.shapes)
        return _where_inside(call.inside(False), lambda: known, compute, operands)

    method.__name__ = name
    method.__doc__ = f"Compute what ``rv_continuous.{name}`` does."
    return method


cdf, sf = _of_distribution("cdf", False), _of_distribution("sf", True)


def _log_of(name: str, probability: _Compute) -> _Compute:
    def method(dist: Any, x: Any, *args: Any, **options: Any) -> Any:
        if _is_own(dist, f"_{name}") and dist.name in LOG_CUMULATIVE:
            call = _Call(dist, x, args, options)
            operands = (call.x, call.loc, call.scale, *call.shapes)
            return _where_inside(
                call.inside(False),
                lambda: call.plainly(name),
                lambda x, loc, scale, *shapes: getattr(dist, f"_{name}")(
                    (x - loc) / scale, *shapes
                ),
                operands,
            )
        inside = _Call(dist, x, args, options).inside(False)
        y = probability(dist, x, *args, **options)
        return v.where(inside, v.log(v.where(inside, y, 1.0)), np.log(asked(y)))

    method.__name__ = name
    method.__doc__ = f"Compute what ``rv_continuous.{name}`` does."
    return method


LOG_CUMULATIVE = frozenset({"norm", "expon", "gumbel_r", "gumbel_l", "logistic", "genlogistic"})
"""Distributions whose own logarithms take traced values, and know the tails."""

logcdf, logsf = _log_of("logcdf", cdf), _log_of("logsf", sf)


def _quantile(name: str, probability: _Compute, sign: int) -> _Compute:
    def method(dist: Any, q: Any, *args: Any, **options: Any) -> Any:
        call = _Call(dist, q, args, options)
        p = asked(call.x)
        inside = truths((p > 0) & (p < 1) & call.valid & call.finite())
        known = call.plainly(name)

        def compute(q: Any, x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
            for _ in range(steps):  # Newton's, from where it has arrived: each doubles the order
                missing = q - probability(dist, x, *shapes, loc=loc, scale=scale)
                density = pdf(dist, x, *shapes, loc=loc, scale=scale)
                if not np.all((asked(density) > 0) & np.isfinite(asked(density))):
                    reject(
                        f"{dist.name}.{name} has no derivative where the density is 0 or infinite"
                    )
                x = x + sign * missing / density
            return x

        operands = (call.x, array_of(known), call.loc, call.scale, *call.shapes)
        steps = max(map(nested, operands)).bit_length()
        return _where_inside(inside, lambda: known, compute, operands)

    method.__name__ = name
    method.__doc__ = f"Compute what ``rv_continuous.{name}`` does: the inverse, by its equation."
    return method


ppf, isf = _quantile("ppf", cdf, 1), _quantile("isf", sf, -1)


def _of_counts(
    dist: Any, k: Any, args: tuple[Any, ...], options: dict[str, Any], computed: Any, known: Any
) -> Any:
    """Compute at the whole numbers of the support; k and loc have no derivative."""
    refuse(dist)
    shapes, loc, _ = dist._parse_args(*args, **options)
    k, loc = (asked(array_of(x, floating=False)) for x in (k, loc))
    k, shapes = k - loc, tuple(map(array_of, shapes))
    plain = tuple(map(asked, shapes))
    low, high = dist._get_support(*plain)
    inside = truths((low <= k) & (k <= high) & (np.floor(k) == k) & dist._argcheck(*plain))
    compute = computed(LOG_PROBABILITIES.get(dist.name, dist._logpmf))
    return _where_inside(
        inside, lambda: known(method_of(dist, "logpmf", k, *plain)), compute, (array_of(k), *shapes)
    )


def logpmf(dist: Any, k: Any, *args: Any, **options: Any) -> Any:
    """Compute the logarithm of a probability, as ``rv_discrete.logpmf`` does.

    It is differentiated in the shapes: k and loc are whole numbers.
    """
    return _of_counts(dist, k, args, options, lambda f: f, lambda y: y)


def pmf(dist: Any, k: Any, *args: Any, **options: Any) -> Any:
    """Compute a probability, as ``rv_discrete.pmf`` does."""
    computed = lambda f: functools.partial(exponential, dist.name, f)
    return _of_counts(dist, k, args, options, computed, np.exp)
