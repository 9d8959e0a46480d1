"""The distributions of ``scipy.stats`` for traced values too, with their moments and fits."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.stats

from chainrules_py import ChainRulesError, TracerError, UnsupportedKeywordError
from chainrules_py import ops as v
from chainrules_py.extend import static_types, varies
from chainrules_scipy._private import common_base, private
from chainrules_scipy.composites_and_operand_conversions import (
    anchored,
    array_of,
    asked,
    method_of,
    nested,
    of_precision,
    readable,
    reject,
    truths,
)
from chainrules_scipy.installation import original
from chainrules_scipy.source_copies import beside, followed, instead_of
from chainrules_scipy.stats.formulas import (
    CUMULATIVE,
    ENDS,
    INTEGRATED,
    LOG_CUMULATIVE,
    LOG_DENSITIES,
    LOG_PROBABILITIES,
    POWERS,
    by_logarithm,
    chosen,
    exponential,
    integrated,
    log_of,
)

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
    if np.ndim(elements) == 0:  # all operands are numbers
        return v.where(inside, elements, known())
    places = np.where(inside, np.cumsum(inside).reshape(inside.shape) - 1, 0)
    return v.where(inside, v.take(elements, places, axis=0), known())


def _chosen(x: Any, inside: Any) -> Any:
    if np.ndim(x) == 0:
        return x
    return (x if np.shape(x) == inside.shape else v.broadcast_to(x, shape=inside.shape))[inside]


class _Call:
    """A call of a method of a distribution, and which of its elements are valid."""

    def __init__(self, dist: Any, x: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        shapes, loc, scale = dist._parse_args(*args, **options)
        self.dist, self.x, self.loc, self.scale = dist, array_of(x), array_of(loc), array_of(scale)
        self.shapes = tuple(map(array_of, shapes))
        self.plain_shapes = tuple(map(asked, self.shapes))
        self.valid = truths(method_of(dist, "_argcheck", *self.shapes)) & (asked(self.scale) > 0)
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

    def inside(self, mask: str = "_open_support_mask") -> Any:
        """Return which elements are in the support, by a method of the distribution."""
        z = (asked(self.x) - asked(self.loc)) / asked(self.scale)
        of = functools.partial(getattr(scipy.stats.rv_continuous, mask), self.dist)
        try:
            within = of(z, *self.plain_shapes)
        except ChainRulesError:  # SciPy writes into its own arrays
            within = of(z, *map(readable, self.shapes))
        return truths(within & self.valid & np.isfinite(z))

    def finite(self) -> Any:
        """Return which elements have a finite location and scale."""
        return np.isfinite(asked(self.loc)) & np.isfinite(asked(self.scale))

    def computed(
        self, inside: Any, known: Callable[[], Any], compute: _Compute, *first: Any
    ) -> Any:
        """Compute from its operands, after given first ones, at the elements that are inside."""
        return _where_inside(
            inside, known, compute, (*first, self.x, self.loc, self.scale, *self.shapes)
        )


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
    """Raise for a distribution without a derivative.

    Raises
    ------
    NotDifferentiableError
        If the distribution has none.
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
    if dist.name in LOG_DENSITIES:
        return LOG_DENSITIES[dist.name](z, *shapes)
    if not (_is_own(dist, "_pdf") or _is_own(dist, "_logpdf")):
        reject(f"SciPy has the density of {dist.name} by differences, which have no derivative")
    has_log = _is_own(dist, "_logpdf")
    return dist._logpdf(z, *shapes) if has_log else log_of(dist._pdf(z, *shapes))


def _is_users(dist: Any) -> bool:
    return not type(dist).__module__.startswith("scipy.")


def _is_own(dist: Any, name: str) -> bool:
    """Return whether a class of distributions has a method of its own, and not the general one."""
    return getattr(type(dist), name) not in [
        getattr(c, name, None) for c in (scipy.stats.rv_continuous, scipy.stats.rv_discrete)
    ]


def _named(method: Any, name: str, text: str) -> Any:
    """Set the name and the docstring of a method."""
    method.__name__, method.__doc__ = name, text
    return method


def _density(name: str, compute: _Compute) -> Any:
    @np.errstate(divide="ignore", invalid="ignore")  # as in SciPy's
    def method(dist: Any, x: Any, *args: Any, **options: Any) -> Any:
        call = _Call(dist, x, args, options)
        inside = call.inside("_support_mask") & call.finite()
        at_end, zero = inside & ~call.inside(), -np.inf if name == "logpdf" else 0.0

        def computed(known: Any, at_end: Any, *operands: Any) -> Any:
            y = compute(dist, at_end, *operands)
            # SciPy leaves out some ends, and has the limit where infinities cancel.
            none = at_end & ~(known > zero) & (asked(y) != zero)
            return v.where(none, zero, y) if none.any() else y

        at = array_of(call.plainly(name)) if at_end.any() else at_end
        return call.computed(inside, lambda: call.plainly(name), computed, at, at_end)

    return _named(method, name, f"Compute what ``rv_continuous.{name}`` does.")


def _standardised(z: Any, scale: Any) -> Any:
    """Divide by the scale; at 0 with derivative 0 in that, also if the slope is infinite."""
    zero = truths(asked(z) == 0)
    return v.where(zero, v.strong_multiply(z, 1 / scale), z / scale) if zero.any() else z / scale


def _log_density_at(dist: Any, _: Any, x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
    z = _standardised(x - loc, scale)
    y = _log_density(dist, z, *shapes) - v.log(scale)
    at_zero = truths((asked(z) == 0) & np.isinf(asked(y)))
    # The logarithm of a power p of x / scale has the derivative -p / scale, also at x = 0.
    for b, p in POWERS[dist.name](z, *shapes)[0] if dist.name in POWERS and at_zero.any() else ():
        y = y - v.where(at_zero & (asked(b) == 0), anchored(0.0, p * v.log(scale)), 0.0)
    return y


def _density_at(dist: Any, at_end: Any, x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
    z = _standardised(x - loc, scale)
    if _is_users(dist) and not _is_own(dist, "_logpdf"):  # no logarithm of 0 far out
        return dist._pdf(z, *shapes) / scale
    return exponential(
        dist.name,
        lambda z, scale, *shapes: _log_density(dist, z, *shapes) - v.log(scale),
        *(z, scale, *shapes),
        scaled=True,
        at_end=at_end,
    )


logpdf, pdf = _density("logpdf", _log_density_at), _density("pdf", _density_at)


def _cumulative(dist: Any, z: Any, *shapes: Any) -> Any:
    """Compute a standardised distribution function, up to a constant."""
    refuse(dist, density=False)
    if dist.name in CUMULATIVE:
        return CUMULATIVE[dist.name](z, *shapes)
    for name, sign in ((f"{dist.name}.logcdf", 1), (f"{dist.name}.logsf", -1)):
        if name in LOG_CUMULATIVE:
            return sign * by_logarithm(LOG_CUMULATIVE[name], False, z, *shapes)
    has_own = _is_own(dist, "_cdf")
    if dist.name in INTEGRATED or (_is_users(dist) and not has_own):
        return _integral(dist, z, *shapes)
    if not has_own:
        reject(f"SciPy integrates the density of {dist.name}, of which there is no derivative here")
    return dist._cdf(z, *shapes)


def _integral(dist: Any, z: Any, *shapes: Any) -> Any:
    """Integrate the density from the nearer end of the support, or of a period of a circle."""
    z = v.broadcast_to(array_of(z), shape=np.broadcast_shapes(*map(np.shape, (z, *shapes))))
    plain, at = tuple(map(readable, shapes)), readable(z)
    first, middle, last = (dist.ppf(q, *plain) for q in (0.25, 0.5, 0.75))
    low, high = dist._get_support(*plain)
    if dist.name == "vonmises":
        turn = 2 * np.pi * np.round(at / (2 * np.pi))
        low, middle, high = turn - np.pi, turn, turn + np.pi

    # If it is small beside that at z, second derivatives of its logarithm divide by 0.
    least = np.maximum(-700, np.nan_to_num(readable(_log_density(dist, at, *plain))) - 300)

    def density(x: Any, *s: Any) -> Any:
        """Return the density, and a constant 0 where it is too small for a number."""
        some = readable(_log_density(dist, readable(x), *map(readable, s))) > least
        inside = v.where(some, x, np.max(middle, initial=-np.inf))
        return v.where(some, v.exp(_log_density(dist, inside, *s)), 0.0)

    return integrated(
        *(density, (np.asarray(low, float), np.asarray(high, float))),
        *(at <= middle, np.asarray(last - first), z, *shapes),
    )


def _of_distribution(name: str, upper: bool, mask: str = "_open_support_mask") -> Any:
    def method(dist: Any, x: Any, *args: Any, **options: Any) -> Any:
        call = _Call(dist, x, args, options)
        known = call.plainly(name)

        def compute(known: Any, x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
            # Of the derivative alone, since SciPy's functions for it take no longer floats.
            below = _cumulative(dist, of_precision((x - loc) / scale, np.dtype(float)), *shapes)
            return anchored(known, -below if upper else below)

        return call.computed(call.inside(mask), lambda: known, compute, array_of(known))

    return _named(method, name, f"Compute what ``rv_continuous.{name}`` does.")


cdf, sf = _of_distribution("cdf", False), _of_distribution("sf", True)


def _with_value(known: Any, y: Any) -> Any:
    """Return SciPy's value with the derivatives of a logarithm, where that is finite."""
    finite = np.isfinite(asked(y))
    return v.where(finite, anchored(known, v.where(finite, y, 0.0)), y)


def _log_of(name: str, probability: _Compute) -> Any:
    def method(dist: Any, x: Any, *args: Any, **options: Any) -> Any:
        call, own = _Call(dist, x, args, options), LOG_CUMULATIVE.get(f"{dist.name}.{name}")
        known = call.plainly(name)

        def compute(known: Any, x: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
            return _with_value(
                known,
                own((x - loc) / scale, *shapes)
                if own
                else log_of(probability(dist, x, *shapes, loc=loc, scale=scale)),
            )

        return call.computed(call.inside(), lambda: known, compute, array_of(known))

    return _named(method, name, f"Compute what ``rv_continuous.{name}`` does.")


logcdf, logsf = _log_of("logcdf", cdf), _log_of("logsf", sf)


_GAUSS = [((1 + t) / 2, w / 2) for t, w in zip(*np.polynomial.legendre.leggauss(4), strict=True)]


def _quantile(name: str, probability: _Compute, sign: int) -> Any:
    def slope(dist: Any, x: Any, *shapes: Any, **place: Any) -> Any:
        density = pdf(dist, x, *shapes, **place)
        is_usable = np.all((asked(density) > 0) & np.isfinite(asked(density)))
        refusal = f"{dist.name}.{name} has no derivative where the density is 0 or infinite"
        return density if is_usable else reject(refusal)

    def method(dist: Any, q: Any, *args: Any, **options: Any) -> Any:
        call = _Call(dist, q, args, options)
        p, known = asked(call.x), call.plainly(name)
        inside = truths((p >= 0) & (p <= 1) & np.isfinite(known) & call.valid & call.finite())

        def between(x: Any, _: Any, q: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
            for _ in range(steps):  # Newton steps from the solution: each doubles the order
                # SciPy's solution stays the value, also where it has few digits.
                missing = anchored(0.0, q - probability(dist, x, *shapes, loc=loc, scale=scale))
                x = x + sign * missing / slope(dist, x, *shapes, loc=loc, scale=scale)
            return x

        def at_end(x: Any, is_low: Any, q: Any, loc: Any, scale: Any, *shapes: Any) -> Any:
            """Move with the end; in q by the integral of the density from there on."""
            ends = ENDS.get(dist.name) or functools.partial(followed(type(dist)._get_support), dist)
            end: Any = np.where(is_low, *ends(*shapes))
            gap = sign * anchored(0.0, q) / slope(dist, end, *shapes) if varies(q) else 0.0
            for _ in range(steps - 1 if varies(q) else 0):
                below = gap * sum(w * pdf(dist, end + t * gap, *shapes) for t, w in _GAUSS)
                gap = gap + (sign * anchored(0.0, q) - below) / slope(dist, end + gap, *shapes)
            return anchored(x, loc + scale * (end + gap))

        steps = nested(call.x, call.loc, call.scale, *call.shapes).bit_length()
        ends = method_of(dist, "support", *call.shapes, call.loc, call.scale)

        compute = lambda x, low, high, *operands: chosen(
            (x == low) | (x == high), at_end, between, x, x == low, *operands
        )
        return call.computed(inside, lambda: known, compute, *map(array_of, (known, *ends)))

    return _named(
        method, name, f"Compute what ``rv_continuous.{name}`` does: the inverse, by its equation."
    )


# A quantile that rounds to an end of the support has the derivatives from inside.
ppf = _quantile("ppf", _of_distribution("cdf", False, "_support_mask"), 1)
isf = _quantile("isf", _of_distribution("sf", True, "_support_mask"), -1)


def _of_counts(
    name: str, dist: Any, k: Any, args: tuple[Any, ...], options: dict[str, Any], computed: Any
) -> Any:
    """Compute at the integers of the support; k and loc have no derivative."""
    refuse(dist)
    shapes, loc, _ = dist._parse_args(*args, **options)
    k, loc = (asked(array_of(x, floating=False)) for x in (k, loc))
    k, shapes = k - loc, tuple(map(array_of, shapes))
    plain = tuple(map(asked, shapes))
    low, high = dist._get_support(*plain)
    inside = truths((low <= k) & (k <= high) & (np.floor(k) == k) & dist._argcheck(*plain))
    compute = computed(LOG_PROBABILITIES.get(dist.name, dist._logpmf))
    return _where_inside(
        inside & np.isfinite(k),
        lambda: method_of(dist, name, k, *plain),
        compute,
        (array_of(k), *shapes),
    )


def logpmf(dist: Any, k: Any, *args: Any, **options: Any) -> Any:
    """Compute the logarithm of a probability, as ``rv_discrete.logpmf`` does.

    It has derivatives in the shapes: k and loc are integers.
    """
    return _of_counts("logpmf", dist, k, args, options, lambda f: f)


def pmf(dist: Any, k: Any, *args: Any, **options: Any) -> Any:
    """Compute a probability, as ``rv_discrete.pmf`` does."""
    has_log = dist.name in LOG_PROBABILITIES or _is_own(dist, "_logpmf")
    # Else SciPy has the logarithm of the probability, whose slope overflows before that is 0.
    compute = lambda f: functools.partial(exponential, dist.name, f) if has_log else dist._pmf
    return _of_counts("pmf", dist, k, args, options, compute)


_NUMBERS = 100_000


def _gamma_ratio(a: Any, b: Any) -> Any:
    return v.exp(scipy.special.gammaln(a) - scipy.special.gammaln(b))


# Four moments, which SciPy computes in C, or of lists.
_STANDARD: dict[str, _Compute] = {
    "nbinom": lambda n, p: (
        *(n * (1 - p) / p, n * (1 - p) / p**2),
        *((2 - p) / v.sqrt(n * (1 - p)), 6 / n + p**2 / (n * (1 - p))),
    ),
    "lomax": lambda c: [m - (i == 0) for i, m in enumerate(_standard(scipy.stats.pareto, (c,)))],
    "truncnorm": lambda a, b: _by_text(
        type(scipy.stats.truncnorm)._stats,
        SimpleNamespace(pdf=functools.partial(pdf, scipy.stats.truncnorm)),
        tuple(np.broadcast_arrays(a, b)),
    ),
    "gennorm": lambda b: (
        *(0 * b, _gamma_ratio(3 / b, 1 / b)),
        *(0 * b, _gamma_ratio(5 / b, 3 / b) / _gamma_ratio(3 / b, 1 / b) - 3),
    ),
}
# Moments about 0 that SciPy's formula has as 0/0 at some shapes and as a constant there, or that
# SciPy computes of one number after the other.
_MUNP: dict[str, _Compute] = {
    "jf_skew_t": lambda _, n, a, b: chosen(
        (asked(a) > n / 2) & (asked(b) > n / 2),
        lambda a, b: (
            ((a + b) / 4) ** (n / 2)
            * sum(
                (-1) ** k * math.comb(n, k) * scipy.special.beta(a + n / 2 - k, b - n / 2 + k)
                for k in range(n + 1)
            )
            / scipy.special.beta(a, b)
        ),
        lambda a, b: math.nan * a * b,
        a,
        b,
    ),
    "fisk": lambda _, n, c: chosen(
        asked(c) > n,
        lambda c: scipy.special.beta(1 + n / c, 1 - n / c),
        lambda c: math.inf + 0 * c,
        c,
    ),
    "trapezoid": lambda _, n, c, d: (
        2 * (sum(d**k for k in range(n + 2)) - c ** (n + 1)) / ((1 + d - c) * (n + 1) * (n + 2))
    ),
    "truncexpon": lambda _, n, b: (
        math.factorial(n) * scipy.special.gammainc(n + 1, b) / -v.expm1(-b)
    ),
    "truncpareto": lambda _, n, b, c: (
        b * c**n * v.log(c) * scipy.special.exprel((b - n) * v.log(c)) / (c**b - 1)
    ),
}
_SUMMED = ("bernoulli", "zipfian", "nchypergeom_fisher")


def _probabilities(dist: Any, shapes: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the numbers of the support that have a part in sums, and their probabilities."""
    plain = tuple(map(readable, shapes))
    low, high = dist._get_support(*plain)
    if not np.max(high) - np.min(low) < _NUMBERS and not _is_users(dist):
        middle = dist.ppf(0.5, *plain)
        low, high = _lowest(dist, middle, *plain), _highest(dist, middle, *plain)
    if not np.max(high) - np.min(low) < _NUMBERS:
        reject(
            f"{dist.name} has a moment or entropy that is a sum of over {_NUMBERS} probabilities"
        )
    numbers = np.arange(np.min(low), np.max(high) + 1)
    return numbers, pmf(dist, numbers, *[v.expand_dims(s, axis=-1) for s in shapes])


def _of_sums(dist: Any, shapes: tuple[Any, ...]) -> list[Any]:
    """Compute four moments by sums."""
    numbers, p = _probabilities(dist, shapes)
    mean = v.sum(p * numbers, axis=-1)
    gaps = numbers - v.expand_dims(mean, axis=-1)
    var, third, fourth = (v.sum(p * gaps**k, axis=-1) for k in (2, 3, 4))
    return [mean, var, third / var**1.5, fourth / var**2 - 3]


def _by_text(function: _Compute, dist: Any, shapes: tuple[Any, ...], **options: Any) -> Any:
    """Follow a method of SciPy, which may write to its shapes: numbers get an axis."""
    many = [v.reshape(s, shape=(1,)) if s.ndim == 0 else s for s in shapes]
    with beside(many):
        found = followed(function)(dist, *many, **options)
    if any(s.ndim for s in shapes):
        return found
    first: _Compute = lambda y: y if y is None or np.ndim(y) == 0 else y[0]
    return tuple(map(first, found)) if isinstance(found, (tuple, list)) else first(found)


def _standard(dist: Any, shapes: tuple[Any, ...]) -> Any:
    """Return four moments of the standard distribution, by SciPy's source."""
    refuse(dist)
    if dist.name in _STANDARD:
        return _STANDARD[dist.name](*shapes)
    if dist.name in _SUMMED:
        return _of_sums(dist, shapes)
    if dist.name == "genextreme" and varies(shapes) and np.any(np.abs(asked(shapes[0])) < 1e-4):
        reject(
            "scipy.stats.genextreme has its moments as constants where abs(c) < 1e-4, of which "
            "there is no derivative here: choose another c, or gumbel_r, which is genextreme(0)"
        )
    if _is_own(dist, "_stats") and dist.name not in _MUNP:
        function = type(dist)._stats
        wanted = {"moments": "mvsk"} if "moments" in inspect.signature(function).parameters else {}
        return _by_text(function, dist, shapes, **wanted)
    if not _is_own(dist, "_munp"):
        return [None] * 4
    munp = _MUNP.get(dist.name) or followed(type(dist)._munp)
    m = [1.0, *(munp(dist, n, *shapes) for n in (1, 2, 3, 4))]
    var, third = m[2] - m[1] ** 2, m[3] - 3 * m[1] * m[2] + 2 * m[1] ** 3
    fourth = m[4] - 4 * m[1] * m[3] + 6 * m[1] ** 2 * m[2] - 3 * m[1] ** 4
    return [m[1], var, third / var**1.5, fourth / var**2 - 3]


@contextlib.contextmanager
def _of_plain(dist: Any, what: str) -> Iterator[None]:
    try:
        yield
    except (TracerError, TypeError, ValueError) as error:  # for an array of traced values
        if "Taylor series" in str(error):
            raise
        reject(f"SciPy computes the {what} of {dist.name} of plain numbers; hold its shapes fixed")


def stats(dist: Any, *args: Any, moments: str = "mv", **options: Any) -> Any:
    """Compute moments as functions of the parameters, as ``stats`` of a distribution does."""
    shapes, *place = dist._parse_args(*args, **options)
    loc, scale = map(array_of, place)
    with _of_plain(dist, "moments"):
        standard = _standard(dist, tuple(map(array_of, shapes)))
        found = {m: y if y is None else array_of(y) for m, y in zip("mvsk", standard, strict=True)}
    if any(found[m] is None for m in moments):
        reject(
            f"SciPy integrates the moments {moments!r} of {dist.name}, which has no derivative here"
        )
    found["m"] = None if found["m"] is None else loc + scale * found["m"]
    found["v"] = None if found["v"] is None else scale * scale * found["v"]
    shape = np.broadcast_shapes(*map(np.shape, (*shapes, readable(loc), readable(scale))))
    y = [
        x if np.shape(x) == shape else v.broadcast_to(x, shape=shape)
        for x in [array_of(found[m]) for m in moments]
    ]
    return tuple(y) if len(y) > 1 else y[0]


def mean(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the mean as a function of the parameters."""
    return stats(dist, *args, moments="m", **options)


def var(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the variance as a function of the parameters."""
    return stats(dist, *args, moments="v", **options)


def std(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the standard deviation as a function of the parameters."""
    return v.sqrt(var(dist, *args, **options))


def moment(dist: Any, order: int, *args: Any, **options: Any) -> Any:
    """Compute a moment, up to the fourth, as a function of the parameters."""
    if order not in range(5):
        reject(
            f"moment({order}) has no derivative here; it has up to the fourth",
            UnsupportedKeywordError,
        )
    found = stats(dist, *args, moments="mvsk"[: max(order, 1)], **options)
    m, var, skew, kurtosis = (*(found if order > 1 else (found,)), 0.0, 0.0, 0.0)[:4]
    central = {0: 1.0, 2: var, 3: skew * var**1.5, 4: (kurtosis + 3) * var**2}
    return functools.reduce(
        operator.add,
        [math.comb(order, k) * m ** (order - k) * c for k, c in central.items() if k <= order],
    )


# In the entropies of `gompertz` and `invgauss`: x exp(x) E1(x), where exp(x) may overflow.
instead_of(
    _scaled_exp1 := private("_scaled_exp1"),
    lambda x: anchored(_scaled_exp1(asked(x)), x * scipy.special.hyperu(1.0, 1.0, x)),
)


def entropy(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the entropy as a function of the parameters."""
    shapes, loc, scale = dist._parse_args(*args, **options)
    found = tuple(map(array_of, shapes))
    shape = np.broadcast_shapes(*map(np.shape, (*found, readable(loc), readable(scale))))
    with _of_plain(dist, "entropy"):
        y = array_of(_standard_entropy(dist, found)) + v.log(array_of(scale))
    return y if np.shape(y) == shape else v.broadcast_to(y, shape=shape)


def _standard_entropy(dist: Any, shapes: tuple[Any, ...]) -> Any:
    function, is_own = type(dist)._entropy, _is_own(dist, "_entropy")
    if dist.name in ("binom", "hypergeom") or (
        isinstance(dist, scipy.stats.rv_discrete) and not is_own
    ):
        numbers, p = _probabilities(dist, shapes)
        plain = [*map(readable, shapes)]
        logs = dist.logpmf(numbers, *[s[..., None] for s in plain])
        # One that underflows is a constant 0, and has no infinite slope.
        some = v.where((readable(p) == 0) & np.isfinite(logs), 1.0, p)
        return anchored(dist.entropy(*plain), v.sum(v.entr(some), axis=-1))
    if not is_own:
        reject(f"SciPy integrates the entropy of {dist.name}, which has no derivative here")
    if dist.name not in ("t", "tukeylambda"):
        return _by_text(function, dist, shapes)
    each = map(functools.partial(followed(function), dist), v.reshape(shapes[0], shape=(-1,)))
    return v.reshape(v.stack(*each), shape=shapes[0].shape)  # SciPy's text takes one number


def interval(dist: Any, confidence: Any, *args: Any, **options: Any) -> Any:
    """Compute the ends of an interval around the median."""
    tail = 0.5 * (1 - array_of(confidence))
    return tuple(ppf(dist, q, *args, **options) for q in (tail, 1 - tail))


def median(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the median as a function of the parameters."""
    jumps = isinstance(dist, scipy.stats.rv_discrete)
    if jumps and varies((args, options)):
        reject(f"the median of {dist.name} jumps: use ignore_derivatives(x) for its parameters")
    return dist.ppf(0.5, *args, **options) if jumps else ppf(dist, 0.5, *args, **options)


def nnlf(dist: Any, theta: Any, x: Any) -> Any:
    """Compute minus the logarithm of the likelihood."""
    return -v.sum(logpdf(dist, x, *theta[:-2], loc=theta[-2], scale=theta[-1]))


def rvs(dist: Any, *args: Any, **options: Any) -> Any:
    """Draw constant numbers, which are moved and scaled by the parameters."""
    seed, (*given, size) = (
        options.pop("random_state", None),
        args  # the size is the last
        if len(args) > dist.numargs + 1 + hasattr(dist, "pdf")
        else (*args, options.pop("size", None)),
    )
    shapes, loc, scale = dist._parse_args(*given, **options)
    if any(map(varies, shapes)):
        reject(
            f"draws of {dist.name} have no derivative in its shapes {dist.shapes}; hold them fixed"
        )
    if size is None:
        size = np.broadcast_shapes(*map(np.shape, (*shapes, readable(loc), readable(scale))))
    return loc + scale * array_of(dist.rvs(*shapes, size=size, random_state=seed))


def fit(dist: Any, data: Any, *args: Any, **options: Any) -> Any:
    """Fit the parameters to data; their derivatives are those of the maximum likelihood."""
    # The maximum does not depend on where the search for it begins.
    options = {k: x if k[0] == "f" else readable(x) for k, x in options.items()}
    held = [k for k in options if k[0] == "f" and k not in ("floc", "fscale")]
    if options.get("method", "MLE").lower() != "mle" or any(map(varies, options.values())) or held:
        reject(
            "fit of data that are differentiated takes constant floc, fscale and first guesses "
            "alone; for a floc=a that varies take fit(x - a, floc=0) and its loc plus a, for such "
            "an fscale=b fit(x / b, fscale=1) and its loc and scale times b",
            UnsupportedKeywordError,
        )
    x, known = array_of(data), dist.fit(readable(data), *map(readable, args), **options)
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

    from chainrules_scipy.optimize import located

    found = located(loss, np.array([known[i] for i in free]), polishes=True)
    return tuple(
        anchored(known[i], found[free.index(i)]) if i in free else (loc if i == n - 2 else known[i])
        for i in range(n)
    )


def expect(dist: Any, *args: Any, **options: Any) -> Any:
    """Compute the expected value of a function, in the parameters, by SciPy's source."""
    of = SimpleNamespace(
        pdf=functools.partial(pdf, dist),
        cdf=functools.partial(cdf, dist),
        _argcheck=lambda *xs: dist._argcheck(*map(readable, xs)),
        _get_support=functools.partial(followed(type(dist)._get_support), dist),
        _ppf=lambda *xs: dist._ppf(*map(readable, xs)),
    )
    with beside((args, options)):
        return followed(original(type(dist).expect))(of, *args, **options)


def _lowest(dist: Any, at: Any, *shapes: Any) -> int:
    """Return the lower end of the support, or a number below which probabilities are negligible."""
    low = np.min(dist._get_support(*shapes)[0])
    if np.isinf(low):
        width = np.max(dist.ppf(0.5, *shapes) - dist.ppf(1e-18, *shapes))
        low = min(np.min(dist.ppf(1e-18, *shapes)), np.min(at) - width)
    return int(low)


def _highest(dist: Any, at: Any, *shapes: Any) -> int:
    """Return the upper end of the support, or a number beyond which the rest is negligible.

    If that is farther away than sums go, return one that is too.
    """
    end, beyond, first = np.max(dist._get_support(*shapes)[1]), 16, dist.pmf(at + 1, *shapes)
    while beyond < _NUMBERS and np.any(dist.pmf(at + beyond, *shapes) > 1e-18 * first):
        beyond *= 2
    return int(min(end, np.max(at) + beyond))


def _summed(name: str, upper: bool, is_log: bool) -> Any:
    """Sum probabilities from that end of the support on which fewer of them are."""

    def method(dist: Any, k: Any, *args: Any, **options: Any) -> Any:
        refuse(dist)
        shapes, loc, _ = dist._parse_args(*args, **options)
        plain = tuple(map(readable, shapes))
        given = np.subtract(readable(k), readable(loc))
        whole, finite = np.floor(given), np.isfinite(given)
        at = np.where(finite, whole, 0.0)
        low, from_above = _lowest(dist, at, *plain), dist.cdf(at, *plain) > 0.5
        end = _highest(dist, at, *plain) if np.any(from_above) else low
        if end - low >= _NUMBERS:
            from_above, end = from_above & False, low
        high = max(int(np.max(at, initial=low)), end)
        if high - low >= _NUMBERS:
            reject(f"{dist.name}.{name} at {high + 1} is a sum of over {_NUMBERS} probabilities")
        places = low + np.arange(max(high - low + 1, 1))
        side = np.where(from_above, -1.0, 1.0)[..., None]
        wide = [places + 0 * at[..., None], *[v.expand_dims(array_of(s), axis=-1) for s in shapes]]
        some = ((places <= at[..., None]) == (side > 0)) & finite[..., None]
        total = v.sum(np.where(some, pmf(dist, *wide) * side, 0.0), axis=-1)
        native = getattr(dist, name.removeprefix("log"))
        known = native(whole, *plain)
        if not np.array_equal(known, native(given, *plain), equal_nan=True):
            reject(
                f"SciPy's {dist.name}.{name} of numbers that are not whole is no sum of "
                "probabilities: give it np.floor(k)"
            )
        y = anchored(known, -total if upper else total)
        if not is_log:
            return y
        own = LOG_CUMULATIVE.get(f"{dist.name}.{name}")
        log = log_of(y) if own is None else own(np.maximum(whole, low - 1), *map(array_of, shapes))
        return _with_value(getattr(dist, name)(whole, *plain), log)

    return _named(method, name, f"Compute what ``rv_discrete.{name}`` does, in the parameters.")


MOMENTS = (stats, mean, var, std, moment, entropy, interval, rvs, median)
SUMS = tuple(
    [_summed(name, "sf" in name, "log" in name) for name in ("cdf", "sf", "logcdf", "logsf")]
)
FITS = (fit, nnlf, expect)
