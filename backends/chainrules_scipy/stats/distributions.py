"""The distributions of ``scipy.stats``, of traced values too, their moments and fits."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from chainrules_py import ChainRulesError, UnsupportedKeywordError
from chainrules_py import vocabulary as v
from chainrules_py.extend import static_types, varies
from chainrules_scipy._private import common_base
from chainrules_scipy.following import beside, followed
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
from chainrules_scipy.stats.formulas import (
    CUMULATIVE,
    INTEGRATED,
    LOG_DENSITIES,
    LOG_PROBABILITIES,
    integrated,
)
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


_NUMBERS = 100_000


def _of_negative_binomial(n: Any, p: Any) -> Any:
    """SciPy has them in C."""
    failing = n * (1 - p)
    return failing / p, failing / p**2, (2 - p) / v.sqrt(failing), 6 / n + p**2 / failing


_STANDARD = {"nbinom": _of_negative_binomial}
_SUMMED = ("bernoulli", "zipfian", "nchypergeom_fisher")


def _probabilities(dist: Any, shapes: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the numbers of a finite support, and their probabilities on a new axis."""
    low, high = dist._get_support(*map(readable, shapes))
    if not np.max(high) - np.min(low) < _NUMBERS:
        reject(
            f"{dist.name} has a moment or entropy that is a sum of over {_NUMBERS} probabilities"
        )
    numbers = np.arange(np.min(low), np.max(high) + 1)
    wide = [v.expand_dims(s, axis=-1) for s in shapes]
    return numbers, pmf(dist, numbers, *wide)


def _of_sums(dist: Any, shapes: tuple[Any, ...]) -> list[Any]:
    """Sum four moments."""
    numbers, p = _probabilities(dist, shapes)
    mean = v.sum(p * numbers, axis=-1)
    gaps = numbers - v.expand_dims(mean, axis=-1)
    var, third, fourth = (v.sum(p * gaps**k, axis=-1) for k in (2, 3, 4))
    return [mean, var, third / var**1.5, fourth / var**2 - 3]


def _standard(dist: Any, shapes: tuple[Any, ...]) -> list[Any]:
    """Return four moments of the standard distribution, by SciPy's text."""
    refuse(dist)
    if dist.name in _STANDARD:
        return list(_STANDARD[dist.name](*shapes))
    if dist.name in _SUMMED:
        return _of_sums(dist, shapes)
    function = type(dist)._stats
    general = (scipy.stats.rv_discrete if _is_discrete(dist) else scipy.stats.rv_continuous)._stats
    known = [None] * 4 if function is general else None
    if known is not None and type(dist)._munp is not _general_munp(dist):
        m = [1.0, *(followed(type(dist)._munp)(dist, n, *shapes) for n in (1, 2, 3, 4))]
        var = m[2] - m[1] ** 2
        third = m[3] - 3 * m[1] * m[2] + 2 * m[1] ** 3
        fourth = m[4] - 4 * m[1] * m[3] + 6 * m[1] ** 2 * m[2] - 3 * m[1] ** 4
        return [m[1], var, third / var**1.5, fourth / var**2 - 3]
    if known is None:
        wanted = {"moments": "mvsk"} if "moments" in inspect.signature(function).parameters else {}
        many = [v.reshape(s, shape=(1,)) if s.ndim == 0 else s for s in shapes]  # written to
        with beside(many):
            found: list[Any] = list(followed(function)(dist, *many, **wanted))
        if all(s.ndim == 0 for s in shapes):
            return [m if m is None or np.ndim(m) == 0 else m[0] for m in found]
        return found
    return known


def _general_munp(dist: Any) -> Any:
    """Return the general way to moments, by integrals."""
    return (scipy.stats.rv_discrete if _is_discrete(dist) else scipy.stats.rv_continuous)._munp


def _is_discrete(dist: Any) -> bool:
    return isinstance(dist, scipy.stats.rv_discrete)


def stats(dist: Any, *args: Any, moments: str = "mv", **options: Any) -> Any:
    """Compute moments in the parameters, as ``stats`` of a distribution does."""
    shapes, loc, scale = dist._parse_args(*args, **options)
    found = dict(zip("mvsk", _standard(dist, tuple(map(array_of, shapes))), strict=True))
    if any(found[m] is None for m in moments):
        reject(
            f"SciPy integrates the moments {moments!r} of {dist.name}, which has no derivative here"
        )
    found["m"] = None if found["m"] is None else loc + scale * found["m"]
    found["v"] = None if found["v"] is None else scale * scale * found["v"]
    y = [array_of(found[m]) for m in moments]
    return tuple(y) if len(y) > 1 else y[0]


def mean(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the mean in the parameters."""
    return stats(dist, *args, moments="m", **options)


def var(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the variance in the parameters."""
    return stats(dist, *args, moments="v", **options)


def std(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the standard deviation in the parameters."""
    return v.sqrt(var(dist, *args, **options))


def moment(dist: Any, order: int, *args: Any, **options: Any) -> Any:
    """Compute a moment up to the fourth in the parameters."""
    if order not in range(5):
        reject(
            f"moment({order}) has no derivative here; it has up to the fourth",
            UnsupportedKeywordError,
        )
    wanted = "mvsk"[: max(order, 1)]
    found = stats(dist, *args, moments=wanted, **options)
    m, *rest = found if len(wanted) > 1 else (found,)
    central = {0: 1.0, 2: rest[0] if rest else 0.0}
    if order > 2:
        central[3] = rest[1] * rest[0] ** 1.5
    if order > 3:
        central[4] = (rest[2] + 3) * rest[0] ** 2
    terms = [math.comb(order, k) * m ** (order - k) * c for k, c in central.items() if k <= order]
    return functools.reduce(operator.add, terms)


def entropy(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the entropy in the parameters."""
    shapes, _, scale = dist._parse_args(*args, **options)
    general = scipy.stats.rv_discrete if _is_discrete(dist) else scipy.stats.rv_continuous
    found = tuple(map(array_of, shapes))
    if dist.name == "binom" or (_is_discrete(dist) and type(dist)._entropy is general._entropy):
        return v.sum(v.entr(_probabilities(dist, found)[1]), axis=-1)
    if type(dist)._entropy is general._entropy:
        reject(f"SciPy integrates the entropy of {dist.name}, which has no derivative here")
    is_integral = dist.name == "tukeylambda"  # of numbers
    many = [v.reshape(s, shape=(1,)) if s.ndim == 0 and not is_integral else s for s in found]
    with beside(many):
        y = array_of(followed(type(dist)._entropy)(dist, *many))
    y = y[0] if y.ndim and all(s.ndim == 0 for s in found) else y
    return y + v.log(array_of(scale))


def interval(dist: Any, confidence: Any, *args: Any, **options: Any) -> Any:
    """Compute the ends of an interval around the median."""
    tail = 0.5 * (1 - array_of(confidence))
    return tuple(ppf(dist, q, *args, **options) for q in (tail, 1 - tail))


def nnlf(dist: Any, theta: Any, x: Any) -> Any:
    """Compute minus the logarithm of the likelihood."""
    return -v.sum(logpdf(dist, x, *theta[:-2], loc=theta[-2], scale=theta[-1]))


def rvs(dist: Any, *args: Any, **options: Any) -> Any:
    """Draw: the same numbers, moved and scaled."""
    size, seed = options.pop("size", None), options.pop("random_state", None)
    shapes, loc, scale = dist._parse_args(*args, **options)
    if any(map(varies, shapes)):
        reject(
            f"draws of {dist.name} have no derivative in its shapes {dist.shapes}; hold them fixed"
        )
    if size is None:
        size = np.broadcast_shapes(*map(np.shape, (*shapes, readable(loc), readable(scale))))
    return loc + scale * array_of(dist.rvs(*shapes, size=size, random_state=seed))


def fit(dist: Any, data: Any, *args: Any, **options: Any) -> Any:
    """Fit the parameters to data: they are differentiated where the likelihood is greatest."""
    held = {k: x for k, x in options.items() if k[0] == "f" and k not in ("floc", "fscale")}
    if (
        options.get("method", "MLE").lower() != "mle"
        or any(map(varies, (*args, *options.values())))
        or held
    ):
        reject(
            "fit of data that are differentiated takes floc, fscale and first guesses alone",
            UnsupportedKeywordError,
        )
    x, known = array_of(data), dist.fit(readable(data), *args, **options)
    if dist.name == "norm":
        loc, scale = options.get("floc", v.mean(x)), options.get("fscale")
        scale = v.sqrt(v.mean((x - loc) ** 2)) if scale is None else scale
        return anchored(known[0], array_of(loc)), anchored(known[1], array_of(scale))
    n = len(known)
    at_end = "floc" not in options and known[-2] in (np.min(readable(x)), np.max(readable(x)))
    held_ends = {n - 2: "floc" in options or at_end, n - 1: "fscale" in options}
    free = [i for i in range(n) if not held_ends.get(i)]
    loc = known[-2] if not at_end else (np.min if known[-2] == np.min(readable(x)) else np.max)(x)

    def loss(theta: Any) -> Any:
        values = [*known[:-2], loc, known[-1]]
        for k, i in enumerate(free):
            values[i] = theta[k]
        return nnlf(dist, values, x)

    from chainrules_scipy.optimize.least import minimized

    found = minimized(loss, np.array([known[i] for i in free]))
    return tuple(
        anchored(known[i], found[free.index(i)]) if i in free else (loc if i == n - 2 else known[i])
        for i in range(n)
    )


def expect(
    dist: Any,
    func: Any = None,
    args: Any = (),
    loc: Any = 0,
    scale: Any = 1,
    *rest: Any,
    **how: Any,
) -> Any:
    """Compute the mean of a function of a draw, in the parameters."""
    ends: list[Any] = [*rest, *(None, None, False)[len(rest) :]]
    lb, ub, conditional = ends
    lb, ub = how.pop("lb", lb), how.pop("ub", ub)
    if how.pop("conditional", conditional):
        reject(
            "expect(conditional=True) has no derivative here; divide by the probability",
            UnsupportedKeywordError,
        )
    args = args if isinstance(args, tuple) else (args,)
    low, high = (loc + scale * end for end in dist._get_support(*map(readable, args)))
    low, high = (low if lb is None else lb), (high if ub is None else ub)
    plain = {"loc": readable(loc), "scale": readable(scale)}
    inner = [float(dist.ppf(q, *map(readable, args), **plain)) for q in (0.025, 0.975)]
    inner = [x for x in inner if readable(low) < x < readable(high)]
    ends = [low, *inner, high]

    def density(x: Any) -> Any:
        p = pdf(dist, x, *args, loc=loc, scale=scale)
        return p if func is None else func(x) * p

    from chainrules_scipy.integrate import quad

    return sum(quad(density, a, b, **how)[0] for a, b in itertools.pairwise(ends))


def _lowest(dist: Any, at: Any, *shapes: Any) -> int:
    """Return the lower end of the support, or one below which is nothing beside what is at it."""
    low = np.min(dist._get_support(*shapes)[0])
    if np.isinf(low):
        width = np.max(dist.ppf(0.5, *shapes) - dist.ppf(1e-18, *shapes))
        low = min(np.min(dist.ppf(1e-18, *shapes)), np.min(at) - width)
    return int(low)


def _summed(name: str, upper: bool, is_log: bool) -> Any:
    """Sum probabilities from the lower end of the support."""

    def method(dist: Any, k: Any, *args: Any, **options: Any) -> Any:
        shapes, loc, _ = dist._parse_args(*args, **options)
        plain = tuple(map(readable, shapes))
        at = np.floor(np.asarray(readable(k)) - readable(loc))
        low = _lowest(dist, at, *plain)
        count = int(np.max(at, initial=low)) - low + 1
        if count > _NUMBERS:
            reject(f"{dist.name}.{name} at {low + count} is a sum of over {_NUMBERS} probabilities")
        places = low + np.arange(max(count, 1))
        shapes = [v.expand_dims(array_of(s), axis=-1) for s in shapes]
        below = np.where(
            places <= at[..., None], pmf(dist, places + 0 * at[..., None], *shapes), 0.0
        )
        total = v.sum(below, axis=-1)
        native = getattr(dist, name.removeprefix("log"))
        known = native(at, *plain)
        if not np.array_equal(known, native(readable(k) - readable(loc), *plain), equal_nan=True):
            reject(
                f"SciPy's {dist.name}.{name} of numbers that are not whole is no sum of "
                "probabilities: give it np.floor(k)"
            )
        y = anchored(known, -total if upper else total)
        return v.log(y) if is_log else y

    method.__name__ = name
    method.__doc__ = f"Compute what ``rv_discrete.{name}`` does, in the parameters."
    return method


MOMENTS = (stats, mean, var, std, moment, entropy, interval, rvs)
SUMS = tuple(
    [_summed(name, "sf" in name, "log" in name) for name in ("cdf", "sf", "logcdf", "logsf")]
)
FITS = (fit, nnlf, expect)
