"""The functions of ``scipy.integrate``, for traced values too.

An integrand may capture traced values, or take them as ``args``.
"""

from __future__ import annotations

import functools
import itertools
import math
import threading
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
import scipy.optimize
from scipy.integrate import DenseOutput, OdeSolution

from chainrules_py import (
    Array,
    LinearMap,
    NoTangent,
    UnsupportedKeywordError,
    linear_rule,
    primitive,
    rule,
)
from chainrules_py import ops as v
from chainrules_py.extend import (
    Tracer,
    Tree,
    closed,
    default_engine,
    joined,
    settled,
    untraced,
    varies,
)
from chainrules_scipy._private import private
from chainrules_scipy.composites_and_operand_conversions import (
    anchored,
    array_of,
    attribute,
    nested,
    numbers_of,
    of_precision,
    of_values,
    readable,
    refused,
    reject,
    stands_for,
)
from chainrules_scipy.installation import is_traced
from chainrules_scipy.interpolate import CubicHermiteSpline
from chainrules_scipy.result_checks import Beside, answer, plain, unstated
from chainrules_scipy.source_copies import (
    FLOAT64,
    INSTEAD,
    follow,
    follow_all,
    follow_class,
    instead_of,
    numpy_with,
)

__all__ = [
    "cubature",
    "odeint",
    "quad",
    "quad_vec",
    "solve_bvp",
    "solve_ivp",
]


# -------- integrals of functions, on intervals that are divided adaptively


# SciPy's functions as of now: ours may replace them later, and would call themselves.
NATIVE: Any = types.SimpleNamespace(**vars(scipy.integrate))

_STEP = 1 / 8
_GAUSS = tuple(
    ((1 + x) / 2, (1 - x) / 2, w / 2)
    for x, w in zip(*map(np.ndarray.tolist, np.polynomial.legendre.leggauss(24)), strict=True)
)
_WEIGHTED = (
    "write the weight into the function; up to an infinite limit, that has to decay within some "
    "periods"
)
_UNWEIGHTED = {
    "cauchy": "with g = lambda t: (f(t) - f(c)) / (t - c), write "
    "quad(g, a, c)[0] + quad(g, c, b)[0] + f(c) * np.log((b - c) / (c - a))"
}
# Parts of an interval before and behind a node, and weights: by Gauss, and, where a function may
# be singular at an end, by Takahasi and Mori, Publ. RIMS 9 (1974) 721.
_AT_ENDS = tuple(
    (s, r, _STEP * math.pi * math.cosh(_STEP * k) * s * r)
    for k in range(-34, 35)
    for s, r in [[1 / (1 + math.exp(sign * math.pi * math.sinh(_STEP * k))) for sign in (-1, 1)]]
)


@stands_for(scipy.integrate.quad)
def quad(
    func: Any,
    a: Any,
    b: Any,
    args: Any = (),
    full_output: int = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: Any = None,
    weight: Any = None,
    **options: Any,
) -> Any:
    """Integrate a function between two limits, each of which may be infinite.

    The value is QUADPACK's. Derivatives in the limits, the arguments and captured values are those
    of Gauss's formula on the final intervals of QUADPACK.
    """
    args = args if isinstance(args, tuple) else (args,)
    if options.pop("complex_func", False):
        real, imag = (
            quad(
                lambda x, part=part: getattr(func(x, *args), part),
                a, b, (), full_output, epsabs, epsrel, limit, points, weight, **options,
            )
            for part in ("real", "imag")
        )  # fmt: skip
        error = plain(real[1]) + 1j * plain(imag[1])
        return answer("quad(...)", (0.0, error), _0=real[0] + 1j * imag[0])
    if weight is not None or any(value is not None for value in options.values()):
        reject(
            f"quad(weight={weight!r}) has no derivative here: "
            f"{_UNWEIGHTED.get(str(weight), _WEIGHTED)}",
            UnsupportedKeywordError,
        )

    f = _Integrand(lambda x: func(x, *args))
    low, high = float(readable(a)), float(readable(b))
    if low > high:
        value, *more = quad(f.f, b, a, (), full_output, epsabs, epsrel, limit, points)
        return -value, *more
    places = None if points is None else sorted(array_of(points), key=readable)
    within = [p for p in places or () if low < readable(p) < high]
    found = NATIVE.quad(
        lambda x: float(f.seen(x)),
        low,
        high,
        full_output=1,
        epsabs=epsabs,
        epsrel=epsrel,
        limit=limit,
        points=None if places is None else list(map(readable, places)),
    )
    if not (f.moves or varies((a, b, within))):  # as in a nested integral, for its value
        return answer("quad(...)", found if full_output else found[:2], _0=found[0])
    edges = {x for k in ("alist", "blist") for x in found[2][k][: found[2]["last"]].tolist()}
    part = functools.partial(quad, epsabs=epsabs, epsrel=epsrel, limit=limit)
    moving = _over_all(f, part, a, b, low, high, sorted(edges), within)
    moving = _agreeing("quad", found[0], moving, found[1])
    return answer("quad(...)", found if full_output else found[:2], _0=moving)


def _agreeing(name: str, value: Any, moving: Any, error: Any) -> Any:
    """Return a value with the derivatives of a formula, if both are the same integral."""
    known = readable(moving)
    near = abs(known - value) <= np.maximum(100 * error, 1e-6 * np.max(np.abs(value)))
    if not np.all(near | ~np.isfinite(value)):
        reject(
            f"{name} gives {value}, and the formula that is differentiated {known}: the function "
            "is singular inside; integrate from each place where it is to the next"
        )
    return anchored(value, of_precision(moving, np.result_type(value)))


@primitive
def _numbers(x: Any) -> Any:
    """Return x, with 0 where it is NaN; its tangents and cotangents likewise, of any order."""
    return v.where(v.isnan(x), 0.0, x)


linear_rule(_numbers, lambda y_bar, x: _numbers(y_bar))


def _vanishing(f: Any, x: Any) -> Any:
    """Compute f where it is 0: NaN counts as 0, also in derivatives."""
    tree = Tree((closed(f), x))
    f, x = tree.build([z if readable(z) is z else _numbers(z) for z in tree.leaves])
    return _numbers(f(x))


class _Integrand:
    """An integrand, with the interval on which SciPy evaluated it.

    The formula evaluates it farther out than SciPy does. There ∞ times 0 is NaN, and 1 / ∞ is 0
    with a derivative that is NaN; both count as 0.
    """

    def __init__(self, f: Any) -> None:
        self.f, self.plain, self.ends = f, of_values(f), (math.inf, -math.inf)
        self.moves = is_traced([f])

    def seen(self, x: float) -> Any:
        self.ends = min(self.ends[0], x), max(self.ends[1], x)
        y = self.plain(x)
        self.moves = self.moves or varies(y)
        return readable(y)

    def at(self, x: Any) -> Any:
        """Compute the integrand, which is 0 where it overflows, in double precision for the sum."""
        signals: list[Any] = []
        try:
            with np.errstate(
                over="call", invalid="call", divide="call", call=lambda *kind: signals.append(kind)
            ):
                y = self.f(x)
        except OverflowError:  # from Python floats
            return 0.0
        known = readable(y)
        is_far = not self.ends[0] <= readable(x) <= self.ends[1]
        is_nothing = (is_far or signals) and np.all((known == 0) | (np.isnan(known) & is_far))
        return of_precision(_vanishing(self.f, x) if is_nothing else y, np.dtype(float))


def _parted(edges: list[Any], limit: Any, fixed: Any) -> tuple[list[float], list[Any]]:
    """Return distances from a limit, whose places move with it, and the places that stay.

    QUADPACK halves the intervals towards a limit at which the function is singular. If the places
    very near to it stayed, the derivative would be a difference of large numbers that are made of
    t - limit, which has few digits there. Other places stay, as jumps of the function do.
    """
    start, *_, end = map(readable, edges)
    others = [
        x
        for x in edges[1:]
        if not varies(limit) or abs(readable(x) - start) > 1e-10 * abs(end - start)
    ]
    away = [
        x - start
        for x, _ in itertools.takewhile(  # next to a jump there are shorter intervals
            lambda pair: (
                pair[0] not in fixed
                and (pair[1] - start) / (pair[0] - start) > 1.2
                and 16 * abs(pair[0] - start) < abs(end - start)
            ),
            itertools.pairwise(map(readable, others)),
        )
        if varies(limit)
    ]
    moving = away if len(away) > 9 else []
    return [0.0, *[x / 2 for x in away[:1]], *moving], others[len(moving) :]


def _over_all(
    f: _Integrand, part: Any, a: Any, b: Any, low: float, high: float, places: Any, points: Any
) -> Any:
    """Integrate over the intervals between places, of which those at the limits move with them.

    Where points of discontinuity move, ``part`` integrates from each of them to the next.
    """
    if varies(points):
        return sum([part(f.f, *ends)[0] for ends in itertools.pairwise([a, *points, b])])
    if low == high:  # the integral is 0, but has derivatives in both limits
        if not varies((a, b)) or math.isinf(low):
            return 0.0
        return (b - a) * sum([weight * f.at(a + (b - a) * before) for before, _, weight in _GAUSS])
    total: Any = 0.0
    if math.isfinite(low) and math.isfinite(high):
        for limit in (a, b):
            near, rest = _parted(places, limit, points)
            places = [*rest[::-1], *[limit + away for away in near[::-1]]]
        for left, right in itertools.pairwise(places):
            length, at_end = right - left, left is places[0] or right is places[-1]
            # Nearer to a limit that varies, terms that cancel are too large for their rounding.
            least = 1e-17 * (high - low) / readable(length) if varies((left, right)) else 0.0
            for before, behind, weight in _AT_ENDS if at_end else _GAUSS:
                x = left + length * before if before < behind else right - length * behind
                if low < readable(x) < high and least < min(before, behind):
                    total = total + weight * length * f.at(x)
        return total
    # x = (1 - t) / t away from the finite limit, or from 0 to both sides.
    limit = a if math.isfinite(low) else b if math.isfinite(high) else 0.0
    sign, last = -1.0 if math.isfinite(high) else 1.0, places[-1]
    near, rest = _parted(places[::-1], limit, ())
    for k, (end, start) in enumerate(itertools.pairwise([*[last + away for away in near], *rest])):
        origin, first = limit if k < len(near) else readable(limit), (last - end) / end
        scale = (
            1.0 - sign * (limit - readable(limit)) / ((last - start) / start - first)
            if start and k == len(near) - 1
            else 1.0
        )
        for before, behind, weight in _GAUSS if k and start else _AT_ENDS:
            at, beyond = start + (end - start) * before, last - end + (end - start) * behind
            away = first + (beyond / at - first) * scale
            x, width = origin + sign * away, (end - start) * weight / at**2 * scale
            if low < readable(x) < high and readable(away) > (1e-17 if varies(origin) else 0.0):
                total = total + width * (f.at(x) + f.at(-x) if low == -high else f.at(x))
    return total


@stands_for(scipy.integrate.quad_vec, without="full_output")
def quad_vec(
    f: Any, a: Any, b: Any, epsabs: float, epsrel: float, norm: str, cache_size: float, limit: Any,
    points: Any, quadrature: Any, args: Any,
) -> Any:  # fmt: skip
    """Integrate a function whose values are arrays."""
    args = args if isinstance(args, tuple) else (args,)
    low, high = float(readable(a)), float(readable(b))
    integrand = _Integrand(lambda x: joined(f(x, *args)))
    places = () if points is None else sorted(array_of(points), key=readable)
    run = functools.partial(
        NATIVE.quad_vec, integrand.seen, low, high, epsabs, epsrel, norm, cache_size, limit, 1,
        list(map(readable, places)), full_output=True,
    )  # fmt: skip
    value, error, info = run(quadrature=quadrature)
    if quadrature == "trapezoid":  # whose intervals are thousands
        info = run()[2]
    edges = {*info.intervals.reshape(-1).tolist()}
    if math.isinf(low) and math.isinf(high):  # SciPy's intervals are in [-1, 1] then
        edges = {0.0, 1.0, *map(abs, edges)}
    sign, ends = (-1.0, (b, a, high, low)) if low > high else (1.0, (a, b, low, high))
    within = [p for p in places if ends[2] < readable(p) < ends[3]]
    part = functools.partial(quad_vec, epsabs=epsabs, epsrel=epsrel)
    moving = _over_all(integrand, part, *ends, sorted(edges), within)
    return answer(
        "quad_vec(...)", (value, error), _0=_agreeing("quad_vec", value, sign * moving, error)
    )


# -------- differential equations: SciPy's solutions, with derivatives from an extended system

# The derivatives of a state solve a differential equation with the derivatives of the rate, which
# the engine computes at each state of LSODA, so that equations may be stiff. If a state and its
# derivatives are many numbers, or no NumPy floats, `v.odeint` solves it.


_lock = threading.Lock()
# Limit for a state with its derivatives: if it is stiff, LSODA solves systems of this size.
_MOST_NUMBERS = 400
_TRIES = 4


class _UnsolvedError(Exception):
    """LSODA cannot solve the problem, or its state and derivatives are too many numbers."""


class Problem(NamedTuple):
    """A problem without the initial state and the parameters.

    Parameters
    ----------
    tree : Tree
        The function and its arguments, including the parameters.
    times : tuple of float
        The times of the states; the first is that of the initial state.
    rtol, atol : float, or tuple of float
        The tolerances of LSODA.
    size : int
        The size of the state; its derivatives follow it.
    beside : tuple, optional
        The derivatives beside the state: see `rate_beside`.
    program : callable, optional
        The compiled rate of the state and its derivatives.
    """

    tree: Tree
    times: tuple[float, ...]
    rtol: float
    atol: float | tuple[float, ...]
    size: int
    beside: Any = None
    program: Any = None

    def parts(self, parameters: Any) -> Any:
        """Return the function and its arguments, with other parameters."""
        left = iter(parameters)
        return self.tree.build(
            [next(left) if isinstance(x, Tracer) else x for x in self.tree.leaves]
        )

    def rate(self, y: Any, t: Any, *parameters: Any) -> Any:
        """Compute the rate of the state, and of its derivatives if there are any."""
        f, args = self.parts(parameters)
        return rate_beside(self.beside, f, y, t, args)


@primitive
def flow(y0: Array, /, *parameters: Any, problem: Problem) -> Any:
    """Compute the states at the times, from the state at the first of them."""


@flow.implement
def flow_numpy(y0: np.ndarray, *parameters: Any, problem: Problem) -> Any:
    """Solve by LSODA, with tolerances of the derivatives relative to their largest values."""
    n = problem.size
    share = np.tile(problem.rtol * np.where(y0[:n] != 0, abs(y0[:n]), 1.0), len(y0) // n - 1)
    allowed = np.concatenate([np.full(n, problem.atol), share])
    for _ in range(_TRIES):
        found = _integrated(y0, parameters, problem, allowed)
        largest = np.max(abs(found), axis=0)
        wanted = np.maximum(problem.rtol * largest, 1e-12 * problem.rtol * largest.max())
        loose = (allowed > 10 * wanted) & (largest > 0)
        loose[:n] = False
        if not loose.any():
            return found
        allowed = np.where(loose, wanted, allowed)
    raise _UnsolvedError


def _integrated(y0: np.ndarray, parameters: Any, problem: Problem, atol: Any) -> np.ndarray:
    # LSODA overwrites y; a compiled program keeps no reference to it.
    rate: Any = problem.program or (lambda y, t: problem.rate(y.copy(), t, *parameters))
    # The message says whether LSODA failed. Another formula solves it then, without a warning.
    with _lock, warnings.catch_warnings(action="ignore", category=scipy.integrate.ODEintWarning):
        found, info = NATIVE.odeint(
            rate, y0, problem.times, rtol=problem.rtol, atol=atol, full_output=True, mxstep=20_000
        )
    if info["message"] != "Integration successful." or not np.isfinite(found).all():
        raise _UnsolvedError
    return found  # type: ignore[no-any-return]


@rule(flow)
def flow_rule(y0: Array, *parameters: Any, problem: Problem, wanted: Any) -> Any:
    """Solve Ṡ = S (∂f/∂y)ᵀ + (∂f/∂x)ᵀ for the derivatives S of the state in wanted operands."""
    n, operands = y0.shape[0], (y0, *parameters)
    sizes = [math.prod(np.shape(x)) for x in itertools.compress(operands, wanted)]
    count, own = sum(sizes), n * wanted[0]
    if n * (1 + count) > _MOST_NUMBERS:
        raise _UnsolvedError
    start = v.concat(y0, np.reshape(np.eye(count, n) * wanted[0], -1), axis=0)
    left = iter(wanted[1:])
    among = tuple([isinstance(x, Tracer) and next(left) for x in problem.tree.leaves])
    beside = n, own, among, problem.beside
    program = None if varies((y0, parameters)) else _compiled(problem, beside, start, parameters)
    both = flow(start, *parameters, problem=problem._replace(beside=beside, program=program))
    slopes = v.reshape(both[:, n:], shape=(-1, count, n))
    spans = iter(itertools.pairwise([0, *itertools.accumulate(sizes)]))
    maps = [
        LinearMap(_push, _pull, slopes[:, slice(*next(spans))], x) if is_wanted else NoTangent()
        for x, is_wanted in zip(operands, wanted, strict=True)
    ]
    return both[:, :n], tuple(maps)


def _compiled(problem: Problem, beside: Any, start: Any, parameters: Any) -> Any:
    """Return the compiled rate of a state and its derivatives; None if there is none."""
    from chainrules_kit.solvers.step_programs import program_of  # with all solvers

    f, args = problem.parts(parameters)

    def check(found: Any, f: Any, states: Any, t: float, args: Any) -> bool:
        rate = rate_beside(problem.beside, f, states[: beside[0]], t, args)
        return np.allclose(found[: beside[0]], rate, 1e-9, 0.0)

    times = np.linspace(problem.times[0], problem.times[-1], 17).tolist()
    program = program_of(rate_beside, beside, f, (start, times[0], args), times, check)
    return None if program is None else lambda y, t: program(y, t, args)


def rate_beside(beside: Any, f: Any, states: Any, t: Any, args: Any) -> Any:
    """Compute the rates of a state and of its derivatives: S (∂f/∂y)ᵀ + (∂f/∂x)ᵀ.

    Parameters
    ----------
    beside : tuple or None
        The size of the state, the number of directions of the initial state, which of the numbers
        of f and its arguments have derivatives, and ``beside`` of the state itself. None for a
        state without derivatives.
    f : callable
        The rate of change, ``f(y, t, *args)``.
    states : array
        The state, followed by its derivatives.
    t : float
        The time.
    args : tuple
        The arguments of f.
    """
    if beside is None:
        return v.reshape(array_of(f(states, t, *args)), shape=states.shape)
    n, own, wanted, inner = beside
    tree = Tree((f, args))

    def rate(y: Any, *some: Any) -> Any:
        left, pairs = iter(some), zip(tree.leaves, wanted, strict=True)
        f, args = tree.build([next(left) if is_wanted else x for x, is_wanted in pairs])
        return rate_beside(inner, f, y, t, args)

    value, pull = default_engine().vjp(rate, states[:n], *itertools.compress(tree.leaves, wanted))
    flat: Any = lambda x: x if np.ndim(x) == 1 else np.reshape(x, -1)
    # A row per state and parameter, a column per rate.
    partials = np.stack([np.concatenate([flat(x) for x in pull(e)]) for e in np.eye(n)], axis=1)
    moved = np.reshape(states[n:], (-1, n)) @ partials[:n]
    return np.concatenate([value, flat(moved + np.concatenate([np.zeros((own, n)), partials[n:]]))])


def _push(x_dot: Any, slopes: Any, x: Any) -> Any:
    return v.einsum(v.reshape(array_of(x_dot), shape=(-1,)), slopes, subscripts="k,mkn->mn")


def _pull(ys_bar: Any, slopes: Any, x: Any) -> Any:
    return v.reshape(v.einsum(ys_bar, slopes, subscripts="mn,mkn->k"), shape=np.shape(x))


def solved(func: Callable[..., Any], y0: Any, t: Any, args: Any, rtol: Any, atol: Any) -> Any:
    """Solve dy/dt = ``func(y, t, *args)`` by LSODA; None where it cannot.

    Parameters
    ----------
    func : callable
        The rate of change, which may capture traced values.
    y0 : array
        The state at the first time.
    t : array
        The times.
    args : tuple
        Further arguments of the function.
    rtol, atol : float, or array
        The allowed errors.

    Returns
    -------
    array or None
        The states; None if the times are differentiated, or if LSODA fails.
    """
    if isinstance(t, Tracer) or not len(t) or np.ndim(rtol) or not _is_plain(y0):
        return None
    tree = Tree((closed(settled(func)), args))
    traced: list[Any] = [x for x in tree.leaves if isinstance(x, Tracer)]
    if not all(map(_is_plain, traced)):
        return None

    errors = atol if np.ndim(atol) == 0 else tuple(np.ravel(atol).tolist())
    times = tuple(np.ravel(t).tolist())
    try:
        return flow(y0, *traced, problem=Problem(tree, times, float(rtol), errors, y0.shape[0]))
    except _UnsolvedError:
        return None


def _is_plain(x: Any) -> bool:
    return type(x := readable(x)) is float or getattr(x, "dtype", None) == np.dtype(float)


_HINTS = {"Dfun", "col_deriv", "h0", "hmax", "hmin", "ixpr", "ml", "mu", "mxhnil", "mxordn"} | {
    *("atol", "full_output", "mxords", "mxstep", "printmessg", "rtol"),
}
# The default tolerances of ``odeint``.
_OF_LSODA = 2.0**-26
_root: Any = scipy.optimize.root


for _cls in (DenseOutput, *DenseOutput.__subclasses__()):
    follow_class(_cls, constructs=False)
follow_class(OdeSolution, "__call__", constructs=False)


@stands_for(scipy.integrate.odeint)
def odeint(
    func: Any, y0: Any, t: Any, args: Any = (), *given: Any, tfirst: bool = False, **options: Any
) -> Any:
    """Solve dy/dt = ``func(y, t, *args)`` from y0 at the first time on.

    The values are SciPy's. LSODA solves for the derivatives beside the state, if they are few;
    otherwise they are those of `chainrules_py.ops.odeint`, a Runge-Kutta formula.
    """
    args = args if isinstance(args, tuple) else (args,)
    rest = {k for k in options.keys() - _HINTS if options[k] not in (None, 0, False)}
    if given or rest:
        reject(
            f"odeint takes rtol, atol and tfirst with traced values, and not {sorted(rest)}",
            UnsupportedKeywordError,
        )
    if not is_traced((func, y0, t, args, options)):
        return NATIVE.odeint(func, y0, t, args, tfirst=tfirst, **options)
    y0, t = v.reshape(array_of(y0), shape=(-1,)), array_of(t)
    turned = (lambda y, at, *args: func(at, y, *args)) if tfirst else func
    rate = of_values(func, args)
    if options.get("Dfun") is not None:
        options["Dfun"] = of_values(options["Dfun"], args)
    found = NATIVE.odeint(
        lambda *at: numbers_of(rate(*at)), readable(y0), readable(t), tfirst=tfirst, **options
    )
    ys = _states(turned, y0, t, args, rtol=options.get("rtol"), atol=options.get("atol"))
    return (
        answer("odeint(...)", found, _0=anchored(found[0], ys))
        if isinstance(found, tuple)
        else anchored(found, ys)
    )


def _states(f: Any, y0: Any, t: Any, args: Any, *, rtol: Any = None, atol: Any = None) -> Any:
    """Solve by LSODA, or by `v.odeint`, whose derivative goes back through its steps."""
    lsoda = (_OF_LSODA if x is None else x for x in (rtol, atol))
    if (found := solved(f, y0, t, args, *lsoda)) is not None:
        return found

    moves = varies(t)  # otherwise f may index a table with the plain time
    rtol, atol = (x if x is None else float(np.min(x)) for x in (rtol, atol))
    return v.odeint(
        lambda y, at: v.reshape(
            array_of(f(y, at if moves else untraced(at), *args)), shape=y.shape
        ),
        _varying(y0, f, args, t),
        t,
        rtol=rtol,
        atol=atol,
    )


def _varying(y: Any, f: Any, *given: Any) -> Any:
    """Return a state that is traced if its rate is: f may write the rate into an array like it."""
    traced = [x for x in Tree((closed(f), given)).leaves if isinstance(x, Tracer)]
    return sum([np.zeros_like(array_of(x).real, shape=y.shape) for x in traced], start=y)


def _step(f: Any, y: Any, t: Any, length: Any, args: Any) -> Any:
    """Take a step by the formula of fourth order, whose derivatives are exact at length 0."""
    rate: Any = lambda y, t: v.reshape(array_of(f(y, t, *args)), shape=y.shape)
    slopes = [rate(y, t)]
    for part in (0.5, 0.5, 1.0):
        slopes.append(rate(y + part * length * slopes[-1], t + part * length))
    return y + length / 6 * (slopes[0] + 2 * slopes[1] + 2 * slopes[2] + slopes[3])


def _of_numbers(event: Any, args: Any) -> Any:
    """Return an event for plain numbers, which ends the integration as the given one does."""
    known = of_values(event, args)
    plain = lambda t, y: float(readable(known(t, y)))
    vars(plain).update({k: getattr(event, k, 0) for k in ("terminal", "direction")})
    return plain


@stands_for(scipy.integrate.solve_ivp)
def solve_ivp(
    fun: Any,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """Solve dy/dt = ``fun(t, y, *args)`` over an interval.

    The values are SciPy's, with its method and tolerances. Derivatives are those of the solution
    by `odeint`, with LSODA or a Runge-Kutta formula, and tolerances of at most 1e-6 and 1e-9:
    SciPy's default ones leave three digits.
    """
    if not is_traced((fun, t_span, y0, t_eval, events, args, options)):
        return NATIVE.solve_ivp(
            fun, t_span, y0, method, t_eval, dense_output, events, vectorized, args, **options
        )
    asked_for = (events or ()) if isinstance(events, (list, tuple, type(None))) else (events,)
    start, end = map(array_of, t_span)
    args = () if args is None else tuple(args)

    def turned(y: Any, t: Any, *args: Any) -> Any:
        return fun(t, y[:, None] if vectorized else y, *args)

    how: dict[str, Any] = {
        "rtol": min(np.min(options.get("rtol", 1e-3)), 1e-6),
        "atol": min(np.min(options.get("atol", 1e-6)), 1e-9),
    }

    def states(times: Any) -> Any:
        """Return the states at times in one direction, from the start on."""
        first = times.shape[0] and readable(times)[0] == readable(start)
        asked = times if first else v.concat(v.reshape(start, shape=(1,)), times, axis=0)
        begun = array_of(y0)
        if first and varies((start, times)):  # which may vary in two ways
            y = _varying(begun, turned, args, start, times)
            begun = _step(turned, y, start, times[0] - start, args)
        ys = _states(turned, begun, asked, args, **how)
        return v.matrix_transpose(ys if first else ys[1:])

    plain = _as_scipy(
        fun, t_span, y0, args, method=method, t_eval=t_eval, dense_output=dense_output,
        vectorized=vectorized, events=asked_for, **options,
    )  # fmt: skip

    def at(t: Any) -> Any:
        """Return the state at any time."""
        t = array_of(t)
        flat = v.reshape(t, shape=(-1,))
        steps = 0 < nested(flat) <= 4  # the orders to which `_step` is exact
        known = readable(flat) if steps else flat
        order = np.argsort(readable(flat) * np.sign(readable(end) - readable(start)))
        y = v.take(states(v.take(known, order, axis=0)), np.argsort(order), axis=1)
        if steps:
            begun = v.matrix_transpose(_varying(y, turned, args, flat))
            pairs = zip(begun, known, flat - known, strict=True)
            y = v.stack(*[_step(turned, *each, args) for each in pairs], axis=1)
        return y if t.ndim else y[:, 0]

    def when(event: Any, near: Any) -> Any:
        """Return the times near given ones at which an event is 0."""

        def g(s: Any) -> Any:
            pairs = zip(s, v.matrix_transpose(at(s)), strict=True)
            return v.stack(*[v.reshape(array_of(event(*p, *args)), shape=()) for p in pairs])

        s = near
        for _ in range(nested(g(s)).bit_length()):  # Newton steps from the solution
            value, slope = default_engine().jvp(g, (s,), (np.ones(len(near)),))
            s = s - value / slope
        return s

    t_events = [
        anchored(ts, when(e, ts)) if len(ts) else np.zeros(0)
        for e, ts in zip(asked_for, plain.t_events or [], strict=True)
    ]
    if plain.status == 1:
        end = _last(t_events, plain, np.sign(readable(end) - readable(start)))
    times = _times(plain, t_eval, start, end)
    states_then = [
        anchored(ys, v.matrix_transpose(at(t))) if t.shape[0] else ys
        for t, ys in zip(t_events, plain.y_events or [], strict=True)
    ]
    return scipy.optimize.OptimizeResult(
        t=times,
        y=anchored(plain.y, states(times)),
        sol=_Solution(at, start, end, plain.sol) if dense_output else None,
        t_events=t_events if asked_for else None,
        y_events=states_then if asked_for else None,
        **{name: plain[name] for name in ("nfev", "njev", "nlu", "status", "message", "success")},
    )


def _as_scipy(
    fun: Any,
    t_span: Any,
    y0: Any,
    args: Any,
    *,
    vectorized: bool,
    t_eval: Any,
    events: Any,
    jac: Any = None,
    **how: Any,
) -> Any:
    """Solve as SciPy does, by its own steps, with plain numbers for traced ones."""
    if varies(how):  # steps that depend on it would move the solution
        reject(
            "solve_ivp has no derivative in max_step, first_step, rtol or atol: give it "
            "ignore_derivatives(x) for such an option x"
        )
    rate = of_values(fun, args)
    if callable(jac):
        how["jac"] = of_values(jac, args)
    elif jac is not None:
        how["jac"] = readable(array_of(jac)) if varies(jac) else jac  # which may be sparse

    def plain(t: Any, y: Any) -> Any:
        return np.reshape(numbers_of(rate(t, y[:, None] if vectorized else y)), y.shape)

    return NATIVE.solve_ivp(
        plain,
        tuple(map(readable, t_span)),
        readable(array_of(y0)),
        t_eval=None if t_eval is None else readable(array_of(t_eval)),
        events=[_of_numbers(e, args) for e in events] or None,
        **how,
    )


def _times(plain: Any, t_eval: Any, start: Any, end: Any) -> Any:
    """Return the requested times, or those at which SciPy's steps end."""
    if t_eval is not None:
        return array_of(t_eval)[: len(plain.t)]
    if plain.status < 0 or not varies((start, end)):
        return plain.t
    length = plain.t[-1] - plain.t[0]
    share = (plain.t - plain.t[0]) / length if length else np.linspace(0.0, 1.0, len(plain.t))
    return anchored(plain.t, start + share * (end - start))


def _last(t_events: Any, plain: Any, way: float) -> Any:
    """Return the time of the event that ended the integration, the last one in its direction."""
    pairs = [pair for pair in zip(t_events, plain.t_events, strict=True) if len(pair[1])]
    return max(pairs, key=lambda pair: way * pair[1][-1])[0][-1]


class _Solution(Beside):
    """The state at any time of an interval, as SciPy's ``OdeSolution``, without its steps."""

    def __init__(self, at: Any, start: Any, end: Any, known: Any) -> None:
        self.at, self.theirs = at, known
        self.t_min, self.t_max = sorted((start, end), key=readable)

    def __call__(self, t: Any) -> Any:
        return anchored(self.theirs(readable(array_of(t))), self.at(t))


@stands_for(scipy.integrate.solve_bvp, without="S")
def solve_bvp(
    fun: Any, bc: Any, x: Any, y: Any, p: Any, tol: float, max_nodes: int, verbose: int, bc_tol: Any
) -> Any:
    """Solve a boundary value problem: as ``scipy.integrate.solve_bvp``.

    SciPy finds nodes and solution; derivatives are those of the collocation equations on them.
    Nodes that SciPy adds stay at their part of the interval between two given ones.
    """
    wants, x = p is not None, array_of(x)

    def rate(at: Any, z: Any, q: Any) -> Any:
        return array_of(fun(at, z, q) if wants else fun(at, z))

    def ends(a: Any, b: Any, q: Any) -> Any:
        return v.reshape(array_of(bc(a, b, q) if wants else bc(a, b)), shape=(-1,))

    plain = NATIVE.solve_bvp(
        (lambda at, z, *q: readable(rate(at, z, *(q or (None,))))),
        (lambda a, b, *q: readable(ends(a, b, *(q or (None,))))),
        readable(x), readable(array_of(y)), None if p is None else readable(array_of(p)),
        tol=tol, max_nodes=max_nodes, verbose=verbose, bc_tol=bc_tol,
    )  # fmt: skip
    nodes, size = _moved(x, plain.x), plain.y.size
    h = nodes[1:] - nodes[:-1]

    def parts(z: Any) -> tuple[Any, Any]:
        return v.reshape(z[:size], shape=plain.y.shape), z[size:] if wants else None

    def system(z: Any) -> Any:
        states, q = parts(z)
        f = rate(nodes, states, q)
        middle = 0.5 * (states[:, 1:] + states[:, :-1]) - 0.125 * h * (f[:, 1:] - f[:, :-1])
        inner = rate(nodes[:-1] + 0.5 * h, middle, q)
        rest = states[:, 1:] - states[:, :-1] - h / 6 * (f[:, :-1] + f[:, 1:] + 4 * inner)
        return v.concat(v.reshape(rest, shape=(-1,)), ends(states[:, 0], states[:, -1], q), axis=0)

    def found(residual: Any, z0: Any) -> Any:
        return _root(lambda z: readable(residual(z)), z0, tol=1e-13).x

    start = np.concatenate([plain.y.reshape(-1), plain.p if wants else np.zeros(0)])
    z = v.root(system, start, solver=found, linear_solver="dense", tol=1e-5)
    states, q = parts(z)
    slopes = rate(nodes, states, q)
    return scipy.optimize.OptimizeResult(
        sol=CubicHermiteSpline(nodes, states, slopes, axis=1),
        p=q,
        x=nodes,
        y=states,
        yp=slopes,
        rms_residuals=unstated("solve_bvp(...).rms_residuals", plain.rms_residuals, z),
        niter=plain.niter,
        status=plain.status,
        message=plain.message,
        success=plain.success,
    )


def _moved(given: Any, nodes: Any) -> Any:
    """Return nodes that move with the given ones, between which they are."""
    known = readable(given)
    k = np.clip(np.searchsorted(known, nodes, "right") - 1, 0, len(known) - 2)
    part = (nodes - known[k]) / (known[k + 1] - known[k])
    return anchored(nodes, given[k] + part * (given[k + 1] - given[k])) if varies(given) else nodes


# It keeps the nodes for all later calls: those of a copy would be traced arrays.
instead_of(private("_cached_roots_legendre"), private("_cached_roots_legendre"))
if private("_NQuad") is not None:
    follow_class(private("_NQuad"))
_FOLLOWED: dict[str, Any] = follow_all(
    scipy.integrate,
    *("cumulative_simpson", "cumulative_trapezoid", "dblquad", "fixed_quad", "nquad", "romb"),
    *("tplquad", "trapezoid"),
) | {
    "simpson": follow(
        scipy.integrate.simpson,
        # A traced distance is multiplied into a sum of plain values in place.
        np=numpy_with(float64=FLOAT64, sum=lambda y, axis: np.sum(y, axis) + INSTEAD[np.zeros](())),
    )
}


_cubature = follow(scipy.integrate.cubature)


@stands_for(scipy.integrate.cubature)
def cubature(f: Any, a: Any, b: Any, **how: Any) -> Any:
    """Integrate over a box, as ``scipy.integrate.cubature``."""
    if varies((a, b)) and np.any(np.equal(readable(a), readable(b))):
        reject("cubature over no extent has no derivative in its limits; quad has one")
    if varies((a, b)) and not np.all(np.isfinite([*readable(a), *readable(b)])):
        reject(
            "cubature has no derivative in limits beside infinite ones: write "
            "cubature(lambda u: f(a + u), [0.0], [np.inf]) for the interval from a to infinity"
        )
    return _cubature(f, a, b, **how)


refused(
    scipy.integrate,
    dict.fromkeys(
        ("tanhsinh", "nsum"),
        "it goes on as it finds values, which are plain numbers there; write quad(f, a, b)[0], of "
        "chainrules_scipy.integrate, or np.sum of as many terms as are needed",
    ),
)


__getattr__ = functools.partial(attribute, __name__, _FOLLOWED)
